"""Leaving and coming back, from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.support.git import Repository
from tests.surfaces.conftest import Cli


def test_prepare_says_what_it_wrote_and_the_file_is_there(started: Cli) -> None:
    out = started("prepare", "--reason", "before exit").out
    path = Path(out.partition("prepared: ")[2].splitlines()[0])
    assert json.loads(path.read_text())["prepared"]["reason"] == "before exit"
    value = started("prepare", "--json").value
    assert value["path"] == str(path) and value["session"] == "jwt"
    assert set(value) == {"path", "reason", "session", "run", "bytes", "tokens", "seconds"}


def test_prepare_here_writes_into_the_project(started: Cli, project: Path) -> None:
    started("prepare", "--here")
    found = json.loads((project / "session_recovery_latest.json").read_text())
    assert found["active_state"]["current_work"] == "auth middleware"


def test_prepare_of_an_unknown_session_is_refused(cli: Cli) -> None:
    assert "nobody" in cli("prepare", "nobody", code=64).err


def test_since_says_what_changed_and_what_to_do_first(started: Cli, project: Path) -> None:
    started("prepare", "--reason", "before exit")
    (project / "new.py").write_text("x = 1\n")
    out = started("since").out
    assert "since you left" in out and "(before exit)" in out and "A new.py" in out
    value = started("since", "--json").value
    assert value["files"]["created"] == ["new.py"] and value["nothing"] is False


def test_since_without_anything_to_compare_with_says_what_to_do(cli: Cli) -> None:
    assert "segue prepare" in cli("since").err


def test_no_control_sequence_of_a_commit_reaches_the_terminal(started: Cli, project: Path) -> None:
    repository = Repository(project)
    repository.commit("first", {"a": "a\n"})
    started("prepare")
    repository.commit("\x1b[31mred\x1b[0m and \x07loud", {"a": "b\n"}, author="\x1b[2JEve")
    assert "\x1b" not in started("since").out and "red" in started("since").out


def test_bootstrap_says_ready_and_exits_0_or_what_differs_and_exits_1(started: Cli, project: Path) -> None:
    repository = Repository(project)
    repository.commit("first", {"a": "a\n"})
    started("prepare", "--reason", "before exit")
    out = started("bootstrap").out
    for line in ("project      shop", "phase        active, 1 of 4 done", "done         1", "pending      3"):
        assert line in out
    assert "next         Continue: auth middleware" in out and "environment  main @ " in out
    assert out.splitlines()[-1].startswith("ready in ")
    repository.git("switch", "-qc", "other")
    out = started("bootstrap", code=1).out
    assert "-> `git switch main`" in out and out.splitlines()[-1].startswith("not ready: 1 differ in ")
    value = started("bootstrap", "--json", code=1).value
    assert value["ready"] is False and value["session"] == "jwt"


@pytest.mark.parametrize("pages", [slice(0, 64), slice(2 * 4096, 22 * 4096)])
def test_bootstrap_goes_by_the_manifest_whatever_of_the_store_is_damaged(
    started: Cli, home: Path, pages: slice
) -> None:
    started("prepare")
    store = home / "segue" / "segue.db"
    body = bytearray(store.read_bytes())
    body[pages] = bytes(range(7, 256)) * (len(body[pages]) // 249) + bytes(len(body[pages]) % 249)
    store.write_bytes(body)
    ran = started("bootstrap", "--no-checks")
    assert "the store cannot be read" in ran.err and "using the manifest instead" in ran.err
    assert "Refactor authentication to JWT" in ran.out
    assert "using the agents' files instead" in started("runs").err


def test_bootstrap_goes_by_the_manifest_when_the_store_is_damaged(started: Cli, home: Path) -> None:
    started("prepare")
    for path in (home / "segue").glob("segue.db*"):
        path.write_bytes(b"this is no database" * 100)
    ran = started("bootstrap", "--no-checks")
    assert "the store cannot be read" in ran.err
    assert "Refactor authentication to JWT" in ran.out and "next         Continue: auth middleware" in ran.out


# -- a conversation that somebody names

MESSAGES = [
    {"role": "user", "content": "Port the billing module to Decimal"},
    {
        "role": "assistant",
        "content": "I begin with the totals.",
        "tool_calls": [
            {
                "id": "c1",
                "type": "function",
                "function": {"name": "bash", "arguments": '{"command": "pytest -q billing"}'},
            }
        ],
    },
]
LOG = "User: Port the billing module to Decimal\nAssistant: I begin with the totals.\n$ pytest -q billing\n"


def test_prepare_takes_a_list_of_messages_and_a_plain_log(cli: Cli, project: Path) -> None:
    (project / "talk.json").write_text(json.dumps(MESSAGES))
    (project / "talk.log").write_text(LOG)
    for words in (("talk.json",), ("talk.json", "--agent", "messages"), ("talk.log", "--agent", "log")):
        value = cli("prepare", "--json", "--transcript", *words).value
        found = json.loads(Path(value["path"]).read_text())
        assert found["session_metadata"]["goal"] == "Port the billing module to Decimal"
        assert found["active_state"]["last_command_run"].startswith("pytest -q billing (")
        assert found["memory_pointers"]["session_logs"] == [str(project / words[0])]
    assert "Port the billing module" in cli("brief", "talk.json").out
    assert "Port the billing module" in cli("brief", "talk.log", "--agent", "log").out


WRONG = {
    "nowhere.jsonl": (("--transcript", "nowhere.jsonl"), 69),
    "a text": (("--transcript", "notes.txt"), 69),
    "markdown": (("--transcript", "PROJECT_STATE.md"), 69),
    "a folder": (("--transcript", "."), 69),
    "empty": (("--transcript", "empty.json"), 69),
    "binary": (("--transcript", "binary", "--agent", "log"), 69),
    "another JSON": (("--transcript", "package.json"), 69),
    "not all messages": (("--transcript", "mixed.json", "--agent", "messages"), 69),
    "a text as a transcript of Codex": (("--transcript", "notes.txt", "--agent", "codex"), 69),
    "an unknown agent": (("--transcript", "notes.txt", "--agent", "nosuch"), 64),
    "an unknown agent without a file": (("--agent", "nosuch"), 64),
    "an agent without a run": (("--agent", "codex"), 64),
}


@pytest.mark.parametrize(("words", "code"), WRONG.values(), ids=WRONG)
def test_a_conversation_that_cannot_be_read_is_an_error_and_the_manifest_stays(
    started: Cli, project: Path, words: tuple[str, ...], code: int
) -> None:
    (project / "notes.txt").write_text("Remember the milk.\n")
    (project / "PROJECT_STATE.md").write_text("# State\n\nUser: hello\n")
    (project / "empty.json").touch()
    (project / "binary").write_bytes(bytes(range(256)))
    (project / "package.json").write_text('{"name": "shop", "messages": ["a"]}')
    (project / "mixed.json").write_text(json.dumps([*MESSAGES, {"name": "x"}]))
    paths = [Path(started("prepare", *more, "--json").value["path"]) for more in ((), ("--here",))]
    before = [path.read_bytes() for path in paths]
    for more in ((), ("--here",)):
        error = started("prepare", *words, *more, "--json", code=code).value["error"]
        assert error["message"] and error["hint"]
        assert "rm " not in error["hint"]
    assert [path.read_bytes() for path in paths] == before


def test_pressure_refuses_numbers_that_are_none_of_tokens(cli: Cli) -> None:
    for words in (("--tokens", "-5"), ("--window", "0"), ("--tokens", "5", "--window", "-1")):
        assert cli("pressure", *words, code=64).err
    assert "ELEVATED: 159,999 of 200,000 tokens (79.9 %)" in cli("pressure", "--tokens", "159999").out
