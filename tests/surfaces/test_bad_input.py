"""Ids that would leave the folder, texts that are too long, and characters that are none."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest
from tests.surfaces.conftest import Cli

from segue.surfaces.cli.command import find
from segue.surfaces.cli.main import main
from segue.surfaces.cli.table import TABLE

BAD_IDS = ["../x", "..", "a/b", "/etc/passwd", "a\\b", "a b", "con", "x" * 200, "-x", "a\x00b", "ä", "a\nb"]


@pytest.mark.parametrize("id", BAD_IDS)
def test_an_id_that_cannot_be_one_is_refused_everywhere(cli: Cli, home: Path, id: str) -> None:
    for words in (["status"], ["show"], ["log"], ["resume"], ["export"], ["hold"], ["complete"]):
        cli(*words, f"--session={id}", code=64)
    for words in ([f"--id={id}"], ["--item=x", f"--id={id}"]):
        cli("start", "g", *words, code=64)
    cli("cleanup", f"--restore={id}", code=64)
    cli("start", "g", "--id", "good")
    cli("checkpoint", f"--name={id}", code=64)
    cli("agent", "save", "--", id, code=64, stdin=b"{}")
    assert {path.name for path in home.iterdir()} <= {"segue", "runtime", "gitconfig"}


def test_a_note_of_ten_megabytes_is_refused_whole(started: Cli) -> None:
    big = "x" * 10_000_000
    for ran in (started("note", big, code=64), started("note", "-", code=64, stdin=big.encode())):
        assert "10,000,000 bytes; the limit is 262,144" in ran.err
        assert len(ran.err) < 300
    assert started("status", "--json").value["version"] == 8


def test_nul_and_control_characters_do_not_reach_store_or_terminal(started: Cli) -> None:
    started("note", "a\x00b\x1b[31mred\x07\u202egnp")
    assert started("status", "--json").value["last_action"] == "abredgnp"
    started("start", "g\x1b]0;title\x07oal", "--id", "b", "--item", "i\x9btem")
    out = started("show").out + started("list").out + started("log").out
    assert not set(out) & set(map(chr, [*range(9), *range(11, 32), *range(127, 160), 0x202E]))


def test_text_that_came_into_the_store_by_another_way_is_cleaned_at_output(started: Cli) -> None:
    from segue import Segue
    from segue.core import event_kinds as ev
    from segue.stores.base import Append

    evil = "x\x1b[2J\x1b]0;t\x07\u202ey\rz\x9b1m"
    at = "2026-11-15T00:00:00.000000Z"
    bodies: list[ev.Body] = [
        ev.ItemAdded(evil + "1"),
        ev.ItemBegun(evil + "2"),
        ev.ItemDone(evil + "3"),
        ev.ItemBlocked(evil, evil),
        ev.Noted(evil),
        ev.Decided(evil, evil),
        ev.Asked(evil),
        ev.Learnt(evil),
        ev.ErrorSeen(evil),
        ev.ThreadMoved(evil, evil),
        ev.FocusSet(file=evil, position=evil),
        ev.AgentNoted(evil, {"mode": evil}),
        ev.Marked(evil, evil),
        ev.Handed(evil, evil),
        ev.SessionPaused(evil),
        ev.Described(evil, evil),
    ]
    with Segue() as segue:
        version = segue.session("jwt").state.version
        drafts = [ev.draft(body, at=at, actor=evil) for body in bodies]
        segue.workspace.store.append(
            Append("session/jwt", version, [*drafts, ev.Draft(evil, b"{}", at, evil)])
        )
    out = "".join(
        started(*w).out for w in (["status"], ["show"], ["list"], ["log"], ["checkpoints"], ["agent", "list"])
    )
    assert not set(out) & set(map(chr, [*range(9), *range(11, 32), *range(127, 160), 0x202E]))


@pytest.mark.parametrize("text", ["🦊 emoji 👩‍👩‍👧", "שלום עולם", "مرحبا بالعالم", "日本語のテキスト", "é"])
def test_text_of_any_script_comes_back_as_it_was(cli: Cli, text: str) -> None:
    cli("start", text, "--id", "a", "--item", text)
    cli("checkpoint", "--decide", text, "--why", text, "--note", text)
    value = cli("status", "--json").value
    assert value["goal"] == value["next"][0] == value["last_action"] == value["decisions"][0]["why"] == text
    assert text in cli("status").out
    assert text in cli("list").out


def test_bytes_that_are_no_text_become_marked_holes(started: Cli) -> None:
    started("note", "bad \udcff byte")
    assert started("status", "--json").value["last_action"] == "bad \ufffd byte"
    started("note", "-", stdin=b"bad \xff byte")
    assert started("status", "--json").value["last_action"] == "bad \ufffd byte"
    started("status", "\udcff", code=64)
    assert started("status", "--json", "\udcff", code=64).value["error"]["code"] == "bad_name"


@pytest.mark.parametrize(
    "command", ["note", "decide", "ask", "learn", "done", "begin", "add", "drop", "block"]
)
def test_an_empty_text_is_refused(started: Cli, command: str) -> None:
    before = started("status", "--json").value["version"]
    assert "empty" in started(command, "", code=64).err
    assert "empty" in started(command, "   ", code=64).err
    assert started("status", "--json").value["version"] == before


def test_an_actor_cannot_smuggle_control_characters(cli: Cli) -> None:
    cli("start", "g", "--id", "a", "--actor", "co\x1b[31mdex")
    assert cli("log", "--json").value[0]["actor"] == "codex"


ODD_VALUES = (
    "99999999999999999999999",
    "-1",
    "1e400",
    "nan",
    "99999-01-01T00:00:00Z",
    "",
    "x" * 5_000,
)
WAITING = {"serve", "ui", "mcp", "run", "continue", "hold"}
"""Commands that do not end by themselves, or start another program."""


def options_of(name: str) -> list[tuple[str, int]]:
    """The options of a command that take a value, with how many they take."""
    parser = find(name).parser()
    found = [*parser.options(), *parser.options(shared=True)]
    takes = [one for one in found if one.nargs != 0]
    return [(one.option_strings[-1], one.nargs if isinstance(one.nargs, int) else 1) for one in takes]


def arguments_of(name: str) -> list[list[str]]:
    """What a command may be called with: each of its actions, and something for what it needs."""
    needed = [one for one in find(name).parser().positionals() if one.nargs not in ("?", "*")]
    lines: list[list[str]] = [[]]
    for one in needed:
        words = [str(choice) for choice in one.choices] if one.choices else ["analyse codebase"]
        lines = [[*line, word] for line in lines for word in words]
    return lines


@pytest.mark.parametrize("name", sorted(set(TABLE) - WAITING))
def test_no_value_of_any_option_is_a_fault_of_ours(
    started: Cli, name: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"{}"), encoding="utf-8"))
    for line in arguments_of(name):
        for option, count in options_of(name):
            for value in ODD_VALUES:
                code = main([name, *line, *(f"{option}={value}" for _ in range(1)), *[value] * (count - 1)])
                said = capfd.readouterr().err
                assert "unexpected error" not in said and "Traceback" not in said, (line, option, value, said)
                assert code in range(0, 80), (line, option, value)
