"""`segue mcp`: twelve tools that are commands, a list that is small, a handshake that does not wait."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS
from tests.surfaces.conftest import Cli, Ran

from segue import Segue
from segue.surfaces.mcp import early_answers
from segue.surfaces.mcp.calls import Calls
from segue.surfaces.mcp.tools import BRIEF_URI, INSTRUCTIONS, TOOLS, listed

TWELVE = [
    "resume", "checkpoint", "plan", "feature", "ledger", "remember", "recall", "search", "map", "since",
    "handoff", "recovery",
]  # fmt: skip
TOKENS_MAX = 2_250


def tokens_at_most(text: str) -> int:
    """No tokenizer makes more of it: four letters, a digit or a sign are at least one token."""
    return sum(
        -(-len(piece) // 4) if piece[0].isalpha() else len(piece)
        for piece in re.findall(r"[A-Za-z]+|[^A-Za-z\s]+", text)
    )


def test_there_are_twelve_tools_and_their_list_is_small() -> None:
    assert [tool.name for tool in TOOLS] == TWELVE
    size = tokens_at_most(json.dumps(listed(), separators=(",", ":")) + INSTRUCTIONS)
    assert size < TOKENS_MAX, f"{size} tokens at most"


# -- a tool is a command -----------------------------------------------------------------------

PARITY: list[tuple[str, dict[str, Any], str]] = [
    ("resume", {}, "resume"),
    ("resume", {"budget": "minimal"}, "resume --budget minimal"),
    ("search", {"query": "token -redis"}, "search 'token -redis' --project=."),
    (
        "search",
        {"query": "token", "in": "commands", "failed": True},
        "search token --project=. --in=commands --failed",
    ),
    ("map", {}, "map"),
    ("map", {"question": "users", "name": "greet"}, "map users greet"),
    ("map", {"task": "greet louder", "tokens": 200}, "map --task 'greet louder' --tokens 200"),
    ("since", {}, "since"),
    ("since", {"from": "1h"}, "since --from 1h"),
    ("plan", {}, "status"),
    (
        "plan",
        {"add": ["a", "-b"], "block": {"a": "x=y"}},
        "checkpoint --add=a --add=-b --block=a --reason=x=y",
    ),
    ("plan", {"done": ["#1"], "drop": {"#2": ""}}, "checkpoint --done=#1 --drop=#2"),
    ("plan", {"goal": "tokens"}, "checkpoint --goal tokens"),
    ("plan", {"done": ["auth midleware", "docs"], "new": True}, "done 'auth midleware' docs --new"),
    (
        "checkpoint",
        {"note": "n", "decide": {"HS256": "one issuer"}, "learn": ["l"], "name": "here"},
        "checkpoint --note=n --decide=HS256 --why='one issuer' --learn=l --name=here",
    ),
    (
        "feature",
        {
            "action": "add",
            "name": "f",
            "text": "works",
            "checks": ["true"],
            "steps": ["s"],
            "covers": ["*.py"],
        },
        "feature add f works --check=true --step=s --covers=*.py",
    ),
    (
        "checkpoint",
        {"done": ["x"], "begin": ["y"], "focus": "a.py:12", "error": ["e"], "ask": ["q?"], "summary": "s"},
        "checkpoint --done=x --begin=y --focus=a.py:12 --error=e --ask=q? --summary=s",
    ),
    ("checkpoint", {"focus": "a/b:c/d"}, "checkpoint --focus=a/b:c/d"),
    ("plan", {"add": [], "drop": {}}, "status"),
    ("plan", {"unblock": ["a"], "begin": ["b"]}, "checkpoint --unblock=a --begin=b"),
    ("feature", {"action": "list"}, "feature list"),
    ("feature", {"action": "verify"}, "verify"),
    ("ledger", {"action": "list"}, "ledger"),
    ("ledger", {"action": "list", "all": True, "kind": "rule"}, "ledger --all --kind rule"),
    ("ledger", {"action": "add", "kind": "rule", "text": "-x"}, "ledger add rule -- -x"),
    ("remember", {"text": "-it lasts", "type": "strategy"}, "remember --type=strategy -- '-it lasts'"),
    ("recall", {"query": "tokens", "limit": 3}, "recall tokens --limit=3"),
    ("handoff", {"to": "codex", "note": "look"}, "handoff --to=codex --note=look"),
    ("recall", {"query": "*", "type": "standard"}, "recall * --type=standard"),
    ("remember", {"text": "it lasts", "scope": "session"}, "remember --scope=session 'it lasts'"),
    ("recovery", {"action": "prepare"}, "prepare"),
    ("recovery", {"action": "prepare", "reason": "before exit"}, "prepare --reason='before exit'"),
    (
        "recovery",
        {"action": "prepare", "transcript": "talk.json", "agent": "messages"},
        "prepare --transcript=talk.json --agent=messages",
    ),
    (
        "recovery",
        {"action": "prepare", "transcript": "talk.log", "agent": "log"},
        "prepare --transcript=talk.log --agent=log",
    ),
    ("recovery", {"action": "bootstrap"}, "bootstrap"),
    ("recovery", {"action": "bootstrap", "checks": False}, "bootstrap --no-checks"),
    ("recovery", {"action": "bootstrap", "manifest": "manifest.json"}, "bootstrap manifest.json"),
    ("recovery", {"action": "pressure"}, "pressure"),
    ("recovery", {"action": "pressure", "tokens": 165_000}, "pressure --tokens=165000"),
    ("recovery", {"action": "check"}, "handover check"),
    ("recovery", {"action": "habits"}, "habits"),
    ("recovery", {"action": "stats"}, "stats"),
]
REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("checkpoint", {}, "checkpoint"),
    ("checkpoint", {"note": ""}, "checkpoint --note="),
    ("checkpoint", {"name": "a/b"}, "checkpoint --name=a/b"),
    ("plan", {"goal": " "}, "checkpoint --goal=' '"),
    ("plan", {"done": ["auth midleware"]}, "done 'auth midleware'"),
    ("plan", {"drop": {"auth": "no"}}, "drop auth --reason=no"),
    ("checkpoint", {"begin": ["#2=x"]}, "begin '#2=x'"),
    ("resume", {"budget": "huge"}, "resume --budget=huge"),
    ("since", {"from": "never"}, "since --from=never"),
    ("recall", {"query": " "}, "recall ' '"),
    ("feature", {"action": "show"}, "feature show"),
    ("feature", {"action": "show", "name": "nowhere"}, "feature show nowhere"),
    ("feature", {"action": "begin", "name": "nowhere"}, "feature begin nowhere"),
    ("feature", {"action": "block", "name": "nowhere", "text": "t"}, "feature block nowhere t"),
    ("feature", {"action": "fail", "name": "nowhere"}, "feature fail nowhere"),
    ("feature", {"action": "add", "name": "f", "text": " "}, "feature add f ' '"),
    (
        "feature",
        {"action": "add", "name": "f", "text": "t", "checks": ["a|b"]},
        "feature add f t --check='a|b'",
    ),
    ("ledger", {"action": "done", "ids": []}, "ledger done"),
    ("ledger", {"action": "done", "ids": ["zzzz"]}, "ledger done zzzz"),
    ("ledger", {"action": "drop", "ids": ["zz"], "text": "why"}, "ledger drop zz --why why"),
    ("ledger", {"action": "reopen", "ids": ["zzzz", "yyyy"]}, "ledger reopen zzzz yyyy"),
    ("ledger", {"action": "edit", "text": "x"}, "ledger edit"),
    ("ledger", {"action": "add", "kind": "list", "text": "x"}, "ledger add list x"),
    ("ledger", {"action": "add", "text": "x"}, "ledger add"),
    ("handoff", {"to": "a/b"}, "handoff --to=a/b"),
    (
        "recovery",
        {"action": "prepare", "transcript": "nowhere.jsonl"},
        "prepare --transcript=nowhere.jsonl",
    ),
    ("recovery", {"action": "prepare", "transcript": "notes.txt"}, "prepare --transcript=notes.txt"),
    ("recovery", {"action": "prepare", "agent": "nosuch"}, "prepare --agent=nosuch"),
    ("recovery", {"action": "bootstrap", "manifest": "notes.txt"}, "bootstrap notes.txt"),
    ("recovery", {"action": "pressure", "tokens": -1}, "pressure --tokens=-1"),
]


@pytest.mark.parametrize(("tool", "given", "command"), [*PARITY, *REFUSED], ids=lambda one: str(one)[:60])
def test_a_tool_gives_the_json_of_its_command(
    started: Cli, home: Path, project: Path, tool: str, given: dict[str, Any], command: str
) -> None:
    started("remember", "tokens last 15 minutes")
    _conversations(project)
    shutil.copytree(home / "segue", home / "twin")
    name, *rest = shlex.split(command)
    where = ("check",) if rest[:1] == ["check"] else ()
    by_command = main_with(
        started, f"--home={home / 'twin'}", name, *where, "--json", "--actor=agent", *rest[len(where) :]
    )
    by_tool = Calls().call(tool, given)
    same = json.loads(json.dumps(by_command.value).replace(str(home / "twin"), str(home / "segue")))
    assert _timeless(by_tool.value) == _timeless(same)
    assert by_tool.failed == bool(by_command.code) == ((tool, given, command) in REFUSED)


def test_a_model_reads_and_corrects_the_ledger_in_its_own_name(started: Cli) -> None:
    calls = Calls()
    [rule] = calls.call("ledger", {"action": "add", "kind": "rule", "text": "No tabs."}).value["entries"]
    assert rule["by"] == "agent"
    [item] = calls.call("ledger", {"action": "add", "kind": "item", "text": "tell them"}).value["entries"]
    done = calls.call("ledger", {"action": "done", "ids": [item["handle"]]}).value["entries"]
    assert [(one["text"], one["state"], one["corrected"]) for one in done] == [("tell them", "done", "agent")]
    calls.call("ledger", {"action": "drop", "ids": [rule["id"]], "text": "the user said so"})
    assert calls.call("ledger", {"action": "list"}).value == []
    told = {one["text"]: one["why"] for one in calls.call("ledger", {"action": "list", "all": True}).value}
    assert told == {"No tabs.": "the user said so", "tell them": ""}
    assert calls.call("ledger", {"action": "reopen", "ids": [rule["id"]]}).value["events"] == 1
    edited = calls.call("ledger", {"action": "edit", "ids": [rule["id"]], "text": "No tabs in YAML."})
    assert edited.value["entries"][0]["text"] == "No tabs in YAML."


def _conversations(project: Path) -> None:
    """Files of a program of one's own, a manifest of another, and something that is neither."""
    said = [{"role": "user", "content": "Port billing"}, {"role": "assistant", "content": "I begin."}]
    (project / "talk.json").write_text(json.dumps(said))
    (project / "talk.log").write_text("User: Port billing\nAssistant: I begin.\n")
    (project / "manifest.json").write_text(json.dumps({"session_metadata": {"goal": "Port billing"}}))
    (project / "notes.txt").write_text("Remember the milk.\n")
    (project / "greeting.py").write_text(
        "def greet():\n    return shout()\n\n\ndef shout():\n    return greet()\n"
    )


def main_with(cli: Cli, *words: str) -> Ran:
    """A command that may be refused."""
    for code in (0, 64, 65):
        try:
            return cli(*words, code=code)
        except AssertionError:
            continue
    return cli(*words, code=69)


def _timeless(value: Any) -> Any:
    """Without moments, scores and counts that another call of the same must change."""
    if isinstance(value, dict):
        gone = (
            "now",
            "left",
            "away_seconds",
            "seconds",
            "at",
            "id",
            "created",
            "score",
            "recalled",
            "last_recalled",
            "last_active",
            "timestamp",
            *("until", "mark", "memories", "file", "start"),  # of an offer
        )
        return {key: _timeless(one) for key, one in value.items() if key not in gone}
    return [_timeless(one) for one in value] if isinstance(value, list) else value


@pytest.mark.parametrize(
    ("tool", "given", "says"),
    [
        ("nothing", {}, "there is no tool"),
        ("recall", {}, "needs query"),
        ("recall", {"query": "x", "limit": "many"}, "has the wrong type"),
        ("plan", {"goals": "x"}, "takes no goals"),
        ("feature", {"action": "attest", "name": "f"}, "has the wrong type"),
        ("checkpoint", {"done": [1]}, "has the wrong type"),
        ("checkpoint", {"note": "-"}, "the text is empty"),  # it reads no standard input
        ("recovery", {}, "needs action"),
        ("recovery", {"action": "recover"}, "has the wrong type"),
        ("recovery", {"action": "bootstrap", "checks": "no"}, "has the wrong type"),
    ],
)
def test_bad_arguments_are_an_error_that_says_what_to_do(
    started: Cli, tool: str, given: dict[str, Any], says: str
) -> None:
    outcome = Calls().call(tool, given)
    assert outcome.failed and says in outcome.value["error"]["message"] and outcome.value["error"]["hint"]


def test_a_plan_with_a_goal_begins_a_session_where_there_is_none(cli: Cli) -> None:
    calls = Calls()
    made = calls.call("plan", {"goal": "-- make it work", "add": ["one", "--two"]})
    assert not made.failed, made.text
    shown = calls.call("plan", {}).value
    assert shown["goal"] == "-- make it work" and shown["next"] == ["one", "--two"]
    replaced = calls.call("plan", {"goal": "make it work well"})
    assert not replaced.failed and replaced.value["replaced_goal"] == "-- make it work"
    assert calls.call("plan", {}).value["goal"] == "make it work well"
    assert cli("list", "--json").value[0]["id"] == made.value["session"]


def test_a_word_that_is_none_of_the_choices_is_answered_with_them(started: Cli) -> None:
    error = Calls().call("feature", {"action": "attest", "name": "f"}).value["error"]
    assert error["hint"].startswith("it is one of ") and "verify" in error["hint"]


@pytest.mark.parametrize(
    ("given", "hint"),
    [
        ({"decide": ["HS256"]}, 'it is an object of texts, as in {"HS256": "one issuer only"}'),
        ({"done": "model"}, 'it is a list of texts, as in ["user model"]'),
    ],
)
def test_an_argument_of_a_wrong_type_is_answered_with_an_example(
    started: Cli, given: dict[str, Any], hint: str
) -> None:
    assert Calls().call("checkpoint", given).value["error"]["hint"] == hint


def test_what_a_model_declares_is_never_a_persons_word(started: Cli) -> None:
    Calls().call("feature", {"action": "add", "name": "f", "text": "works", "checks": ["true"]})
    shown = Calls().call("feature", {"action": "verify"}).value
    assert not shown["ok"] and shown["ran"] == 0 and len(shown["untrusted"]) == 1


def _sums(folder: Path) -> str:
    """Of all files, by a process of its own: to open a database's file here would lose its locks."""
    words = ["find", str(folder), "-type", "f", "-exec", "cksum", "{}", "+"]
    return "\n".join(sorted(subprocess.run(words, capture_output=True, text=True).stdout.splitlines()))


@pytest.mark.parametrize("what", ["tree", "session"])
def test_where_segue_is_off_no_tool_tells_or_stores_anything(started: Cli, home: Path, what: str) -> None:
    started("remember", "the issuer is one")
    started("off", *(["--session", "jwt"] if what == "session" else []))
    before = _sums(home)
    looks: list[tuple[str, dict[str, Any]]] = [
        ("resume", {}), ("plan", {}), ("recall", {"query": "issuer"}), ("since", {}),
        ("feature", {"action": "list"}), ("recovery", {"action": "bootstrap"}),
        ("recovery", {"action": "pressure"}), ("recovery", {"action": "check"}),
    ]  # fmt: skip
    for tool, given in looks:
        outcome = Calls().call(tool, given)
        assert not outcome.failed and outcome.value["off"] is True, outcome.text
        assert "JWT" not in outcome.text and "issuer" not in outcome.text
    writes: list[tuple[str, dict[str, Any]]] = [
        ("checkpoint", {"done": ["auth middleware"]}), ("plan", {"goal": "another"}),
        ("feature", {"action": "add", "name": "f", "text": "works"}), ("feature", {"action": "verify"}),
        ("remember", {"text": "never"}), ("handoff", {"to": "codex"}), ("recovery", {"action": "prepare"}),
    ]  # fmt: skip
    for tool, given in writes:
        outcome = Calls().call(tool, given)
        assert outcome.failed and "Segue is off" in outcome.value["error"]["message"], outcome.text
        assert "segue on" not in outcome.text, "an agent would run it"
    assert "Segue is off" in Calls().brief() and "JWT" not in Calls().brief()
    assert _sums(home) == before
    started("on", *(["--session", "jwt"] if what == "session" else []))
    assert not Calls().call("checkpoint", {"done": ["auth middleware"]}).failed


def test_a_model_prepares_checks_and_starts_from_what_was_prepared(started: Cli, project: Path) -> None:
    calls = Calls()
    path = Path(calls.call("recovery", {"action": "prepare", "reason": "window"}).value["path"])
    before = path.read_bytes()
    wrong = calls.call("recovery", {"action": "prepare", "transcript": "nowhere.jsonl"})
    assert wrong.failed and wrong.value["error"]["hint"] and path.read_bytes() == before
    boot = calls.call("recovery", {"action": "bootstrap"}).value
    assert boot["reason"] == "window" and boot["next_action"] == "Continue: auth middleware"
    checkpoint = {"status": "in_progress", "steps": {"note": "done", "publish": "pending"}}
    (project / ".agent-handover").mkdir()
    (project / ".agent-handover" / "checkpoint.json").write_text(json.dumps(checkpoint))
    assert calls.call("recovery", {"action": "check"}).value["code"] == 1
    assert calls.call("recovery", {"action": "pressure", "tokens": 165_000}).value["should_prepare"] is True


# -- over the wire -----------------------------------------------------------------------------


def _parameters(folder: Path, **environment: str) -> StdioServerParameters:
    env = {**os.environ, **environment}
    return StdioServerParameters(command=sys.executable, args=["-m", "segue", "mcp"], env=env, cwd=folder)


def test_the_sdks_own_client_uses_tools_prompt_and_resource(started: Cli, project: Path) -> None:
    async def use() -> None:
        async with stdio_client(_parameters(project)) as streams, ClientSession(*streams) as client:
            await client.initialize()
            tools = await client.list_tools()
            assert [tool.name for tool in tools.tools] == TWELVE
            called = await client.call_tool("checkpoint", {"done": ["auth middleware"]})
            assert not called.is_error and called.structured_content
            assert called.structured_content["events"] >= 1
            wrong = await client.call_tool("recall", {})
            assert wrong.is_error
            prompt = await client.get_prompt("brief")
            resource = await client.read_resource(BRIEF_URI)
            texts = [prompt.messages[0].content.text, resource.contents[0].text]  # type: ignore[union-attr]
            assert all("Refactor authentication to JWT" in text for text in texts)

    anyio.run(use)
    assert "auth middleware" in started("status", "--json").value["done"]


class Raw:
    """The protocol by hand."""

    def __init__(self, folder: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "segue", "mcp"], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def ask(self, id: int, method: str, **params: Any) -> Any:
        assert self.process.stdin and self.process.stdout
        line = json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        assert answer["id"] == id, answer
        return answer["result"]

    def close(self) -> int:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.close()
        self.process.stdout.close()
        return self.process.wait(30)


@pytest.fixture
def raw(started: Cli, project: Path) -> Iterator[Raw]:
    made = Raw(project)
    yield made
    assert made.close() == 0


def test_the_front_answers_as_the_sdk_does(raw: Raw) -> None:
    client = {"name": "test", "version": "1"}
    asked = {"protocolVersion": early_answers.HANDSHAKES[-1], "capabilities": {}, "clientInfo": client}
    first = raw.ask(1, "initialize", **asked)
    assert first == early_answers.answer("initialize", asked), "the front answers first"
    assert raw.ask(2, "tools/call", name="plan", arguments={})["isError"] is False
    for number, method in enumerate(
        ("initialize", "tools/list", "prompts/list", "resources/list", "ping"), 3
    ):
        params = asked if method == "initialize" else {}
        by_sdk = raw.ask(number, method, **params)
        assert early_answers.answer(method, params) == {k: v for k, v in by_sdk.items() if k != "_meta"}, (
            method
        )


def test_the_front_speaks_the_protocol_without_a_handshake_as_the_sdk_does(raw: Raw) -> None:
    meta = {
        f"{early_answers.META}protocolVersion": early_answers.MODERN,
        f"{early_answers.META}clientCapabilities": {},
    }
    methods = ("server/discover", "tools/list", "prompts/list", "resources/list")
    first = [raw.ask(n, method, _meta=meta) for n, method in enumerate(methods)]
    assert raw.ask(9, "tools/call", _meta=meta, name="plan", arguments={})["isError"] is False
    assert [raw.ask(n, method, _meta=meta) for n, method in enumerate(methods, 10)] == first
    assert first == [early_answers.answer(method, {"_meta": meta}) for method in methods]


def test_a_client_that_asked_for_the_newest_protocol_may_go_on_with_an_older_one(raw: Raw) -> None:
    meta = {
        f"{early_answers.META}protocolVersion": early_answers.MODERN,
        f"{early_answers.META}clientCapabilities": {},
    }
    raw.ask(0, "server/discover", _meta=meta)
    client = {"name": "t", "version": "1"}
    raw.ask(1, "initialize", protocolVersion=early_answers.HANDSHAKES[-1], capabilities={}, clientInfo=client)
    assert raw.ask(2, "tools/call", name="plan", arguments={})["isError"] is False


def test_whoever_asks_and_closes_its_end_still_gets_the_answer(started: Cli, project: Path) -> None:
    client = {"name": "test", "version": "1"}
    hello = {"protocolVersion": early_answers.HANDSHAKES[-1], "capabilities": {}, "clientInfo": client}
    asked: list[dict[str, Any]] = [
        {"id": 1, "method": "initialize", "params": hello},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": {"name": "plan", "arguments": {}}},
    ]
    lines = "".join(json.dumps({"jsonrpc": "2.0", **one}) + "\n" for one in asked)
    done = subprocess.run(
        [sys.executable, "-m", "segue", "mcp"], cwd=project, input=lines, capture_output=True, text=True,
        timeout=60,
    )  # fmt: skip
    assert [json.loads(line)["id"] for line in done.stdout.splitlines()] == [1, 2] and done.returncode == 0


def test_the_front_knows_every_handshake_that_the_sdk_knows() -> None:
    assert set(early_answers.HANDSHAKES) == set(HANDSHAKE_PROTOCOL_VERSIONS)
    assert set(MODERN_PROTOCOL_VERSIONS) == {early_answers.MODERN}
    assert early_answers.answer("initialize", {"protocolVersion": "2099-01-01"}) is None
    assert early_answers.answer("tools/list", {"cursor": "x"}) is None


def test_what_is_asked_before_the_sdk_is_there_is_answered_once(raw: Raw) -> None:
    asked = {
        "protocolVersion": early_answers.HANDSHAKES[0],
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    }
    assert raw.ask(1, "initialize", **asked)["protocolVersion"] == early_answers.HANDSHAKES[0]
    assert len(raw.ask(2, "tools/list")["tools"]) == len(TOOLS)
    assert raw.ask(3, "tools/call", name="resume", arguments={})["content"]
    assert len(raw.ask(4, "tools/list")["tools"]) == len(TOOLS)


def test_a_child_of_an_agent_finds_the_agents_session(
    started: Cli, project: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.support.runs import place

    native = "11111111-2222-4333-8444-555555555555"
    place(home, project, "claude-code", native=native, prompt="Make the login use tokens", old=5)
    started("start", "Something else here", "--id", "other")
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", native)
    calls = Calls()
    saved = calls.call("checkpoint", {"note": "from within"}).value
    runs = {run["id"]: run["session"] for run in started("runs", "--json").value}
    assert saved["session"] == runs[native]


def test_a_call_opens_the_store_once_when_it_is_known_who_calls(
    started: Cli, project: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.support.runs import place

    from segue.api import for_command

    native = "11111111-2222-4333-8444-555555555555"
    place(home, project, "claude-code", native=native, prompt="Make the login use tokens", old=5)
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", native)
    actors: list[str] = []
    really_open = for_command.segue_for_command

    def count(folder: Path, environment: Mapping[str, str], actor: str = "") -> Segue:
        actors.append(actor)
        return really_open(folder, environment, actor)

    monkeypatch.setattr(for_command, "segue_for_command", count)
    calls = Calls()
    assert not calls.call("checkpoint", {"note": "first"}).failed
    actors.clear()
    looks: list[tuple[str, dict[str, Any]]] = [
        ("checkpoint", {"note": "n"}), ("plan", {}), ("recall", {"query": "x"}),
    ]  # fmt: skip
    for tool, given in looks:
        assert not calls.call(tool, given).failed
    assert actors == ["claude-code"] * 3


def test_without_a_session_resume_tells_of_the_last_run(cli: Cli, project: Path, home: Path) -> None:
    from tests.support.runs import place

    place(home, project, "codex", prompt="Make the login use tokens")
    told = Calls().call("resume", {})
    assert not told.failed and "Make the login use tokens" in told.text
