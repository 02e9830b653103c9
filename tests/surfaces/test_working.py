"""checkpoint, its short forms, rewind and undo."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.surfaces.conftest import Cli

from segue import Segue
from segue.core.sessions import commands as do


def test_a_checkpoint_takes_any_mix_and_is_one_commit(started: Cli) -> None:
    before = started("log", "--json").value[-1]["version"]
    saved = started(
        "checkpoint",
        "--json",
        "--done",
        "auth middleware",
        "--begin",
        "token validation",
        "--add",
        "docs",
        "--block",
        "oauth=waiting for credentials",
        "--note",
        "edited middleware.py",
        "--decide",
        "HS256",
        "--why",
        "one issuer",
        "--decide",
        "no refresh tokens",
        "--ask",
        "Who owns OAuth?",
        "--learn",
        "tokens expire",
        "--thread",
        "design=done",
        "--thread",
        "naming",
        "--focus",
        "src/a.py:45-89",
        "--error",
        "KeyError: sub",
        "--solved",
        "ImportError",
        "added the extra",
        "--summary",
        "half way",
        "--goal",
        "JWT everywhere",
        "--name",
        "half-way",
        "--answer",
        "When?",
        "today",
    ).value
    events = started("log", "--json", "--after", str(before)).value
    assert saved["events"] == len(events)
    assert [e["left"] for e in events] == list(range(len(events) - 1, -1, -1))
    status = started("status", "--json").value
    assert status["active"] == ["token validation"]
    assert status["done"] == ["user model", "auth middleware"]
    assert status["blocked"] == [{"item": "oauth", "reason": "waiting for credentials"}]
    assert [(d["text"], d["why"]) for d in status["decisions"]] == [
        ("HS256", "one issuer"),
        ("no refresh tokens", ""),
    ]
    assert {t["topic"]: t["status"] for t in status["threads"]} == {"design": "done", "naming": "in_progress"}
    assert (status["focus"]["file"], status["focus"]["position"]) == ("src/a.py", "45-89")
    assert [e["text"] for e in status["errors"]] == ["KeyError: sub"]
    assert (status["goal"], status["summary"]) == ("JWT everywhere", "half way")
    assert (status["last_action"], status["checkpoints"]) == ("edited middleware.py", ["half-way"])


def test_a_checkpoint_says_what_happened_and_how_far_it_is(started: Cli) -> None:
    out = started("checkpoint", "--done", "auth middleware", "--decide", "HS256", "--why", "one issuer").out
    assert out.splitlines() == [
        "done: auth middleware",
        "decided: HS256, because: one issuer",
        "2/4 done (50%) · next: analyse codebase",
    ]


def test_reason_belongs_to_the_block_or_drop_before_it(started: Cli) -> None:
    words = "--block a=b --reason r1 --drop c --reason r2 --block d --block e=f".split()
    started("checkpoint", "--stay", *words)
    status = started("status", "--json").value
    assert [(b["item"], b["reason"]) for b in status["blocked"]] == [("a=b", "r1"), ("d", ""), ("e", "f")]
    assert status["dropped"] == ["c"]
    assert status["active"] == ["auth middleware"]


def test_an_item_with_an_equals_sign_in_its_text_is_blocked_whole(started: Cli) -> None:
    started("add", "set DEBUG=1")
    started("checkpoint", "--block", "set DEBUG=1")
    assert started("status", "--json").value["blocked"] == [{"item": "set DEBUG=1", "reason": ""}]


@pytest.mark.parametrize(
    "words", [["--why", "x"], ["--reason", "x"], ["--decide", "a", "--why", "b", "--why", "c"]]
)
def test_a_reason_without_anything_before_it_is_a_usage_error(started: Cli, words: list[str]) -> None:
    assert "must follow" in started("checkpoint", *words, code=64).err


def test_an_empty_checkpoint_is_a_usage_error(started: Cli) -> None:
    assert "the checkpoint is empty" in started("checkpoint", code=64).err


def test_a_checkpoint_is_all_or_nothing(started: Cli) -> None:
    before = started("status", "--json").value["version"]
    started("checkpoint", "--done", "auth middleware", "--begin", "#99", code=64)
    assert started("status", "--json").value["version"] == before


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["done", "auth middleware", "analyse codebase"], "done: analyse codebase"),
        (["done", "#4"], "done: token validation"),
        (["begin", "token validation"], "begun: token validation"),
        (["add", "docs", "-s", "jwt", "release"], "planned: release"),
        (["block", "oauth", "--reason", "no key"], "blocked: oauth, because: no key"),
        (["block", "auth middleware"], "begun: analyse codebase"),
        (["unblock", "new one"], "unblocked: new one"),
        (
            ["drop", "token validation", "--reason", "not needed"],
            "dropped: token validation, because: not needed",
        ),
        (["note", "edited a.py"], "note: edited a.py"),
        (["decide", "HS256", "--why", "one issuer"], "decided: HS256, because: one issuer"),
        (["ask", "Who?"], "asked: Who?"),
        (["answer", "Who?", "me"], "answered: Who?: me"),
        (["learn", "tokens expire"], "learnt: tokens expire"),
        (["note", "--", "--looks like an option"], "note: --looks like an option"),
    ],
)
def test_a_short_form_says_what_it_did(started: Cli, words: list[str], told: str) -> None:
    assert told in started(*words).out
    again = [words[0], "--json", *words[1:]]
    assert set(started(*again).value) == {"session", "version", "events", "warnings", "new", "replaced_goal"}


def test_block_with_stay_does_not_begin_the_next_item(started: Cli) -> None:
    started("block", "auth middleware", "--stay")
    assert started("status", "--json").value["active"] == []


def test_what_is_so_already_changes_nothing_and_says_so(started: Cli) -> None:
    assert started("done", "user model").out.startswith("nothing changed\n")
    assert started("done", "user model", "--json").value["events"] == 0


def test_text_is_read_from_stdin_for_a_dash(started: Cli) -> None:
    started("note", "-", stdin="line one\nline two ✓\n".encode())
    assert started("status", "--json").value["last_action"] == "line one\nline two ✓"
    assert "line one line two" in started("status").out


def test_rewind_brings_back_a_named_checkpoint_and_keeps_the_log(started: Cli) -> None:
    started("checkpoint", "--name", "before", "--note", "all green")
    started("done", "auth middleware", "token validation")
    assert "back at checkpoint before" in started("rewind", "before").out
    assert started("status", "--json").value["active"] == ["auth middleware"]
    assert "done: token validation" in started("log").out
    assert "back to checkpoint before" in started("log").out


def test_checkpoints_lists_those_with_a_name(started: Cli) -> None:
    assert "no named checkpoints" in started("checkpoints").out
    started("checkpoint", "--name", "before", "--note", "all green")
    [mark] = started("checkpoints", "--json").value
    assert (mark["name"], mark["note"]) == ("before", "all green")
    assert "all green" in started("checkpoints").out


def test_undo_takes_the_last_command_back_whole_and_says_what_it_was(started: Cli) -> None:
    started("checkpoint", "--done", "auth middleware", "--learn", "x")
    assert started("undo").out.splitlines()[:2] == [
        "undone: done: auth middleware",
        "undone: learnt: x",
    ]
    value = started("undo", "--json").value
    assert value["undone"] == ["done: user model", "begun: auth middleware"]


def test_undo_behind_a_resume_takes_back_what_the_user_did_and_not_what_segue_recorded(started: Cli) -> None:
    started("note", "by the user")
    started("resume", "--budget", "minimal")
    before = started("show", "--json").value
    out = started("undo").out
    assert "undone: note: by the user" in out and "context" not in out
    assert started("status", "--json").value["last_action"] != "by the user"
    assert started("show", "--json").value["context"] == before["context"]
    started("note", "one more")
    started("resume", "--budget", "minimal")
    assert "one more" in started("undo").out


def test_undo_of_a_completion_makes_the_session_open_again(started: Cli) -> None:
    started("complete")
    started("undo")
    assert started("status", "--json").value["status"] == "active"


@pytest.mark.parametrize("typed", ["auth midleware", "2"])
@pytest.mark.parametrize("verb", ["done", "begin", "block", "drop"])
def test_an_item_that_is_much_like_one_of_the_plan_is_refused_with_the_candidates(
    started: Cli, typed: str, verb: str
) -> None:
    before = started("status", "--json").value["version"]
    refused = started(verb, typed, "--json", code=65).value["error"]
    assert refused["code"] == "misspelt_item" and refused["item"] == typed and refused["candidates"]
    assert "--new" in started("checkpoint", f"--{verb}", typed, code=65).err
    assert started("status", "--json").value["version"] == before
    assert "was not in the plan: it is a new item" in started(verb, typed, "--new").out


def test_a_number_beyond_the_plan_is_said_to_be_a_new_item_unless_it_was_to_be_added(started: Cli) -> None:
    told = started("done", "9").out
    assert "done: 9" in told and "'9' was not in the plan: it is a new item" in told
    assert "new item" not in started("add", "8").out + started("drop", "9").out


@pytest.mark.parametrize("typed", ["#2=no schema", "auth middleware=no schema"])
def test_block_takes_an_item_of_the_plan_with_its_reason(started: Cli, typed: str) -> None:
    started("block", typed)
    blocked = started("status", "--json").value["blocked"]
    assert [row["reason"] for row in blocked] == ["no schema"] and len(blocked) == 1


def test_block_keeps_an_equals_sign_that_belongs_to_the_item(started: Cli) -> None:
    started("add", "x=1 is slow")
    started("block", "x=1 is slow")
    assert [row["item"] for row in started("status", "--json").value["blocked"]] == ["x=1 is slow"]


def test_a_goal_that_is_replaced_is_told(started: Cli) -> None:
    assert "the goal was: " in started("checkpoint", "--goal", "another").out


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("Who own it?", "if you meant #1 (Who owns it?)"),
        ("1", "if you meant #1 "),
        ("Why?", "it was recorded"),
    ],
)
def test_an_answer_to_what_was_never_asked_is_kept_and_said_to_be_one(
    started: Cli, typed: str, told: str
) -> None:
    started("ask", "Who owns it?")
    out = started("answer", typed, "we").out
    assert f"answered: {typed}: we" in out and "this question was not asked before" in out and told in out
    assert "not asked" in started("checkpoint", "--answer", "And when?", "soon").out
    assert "not asked" not in started("answer", "who owns it?", "we").out + started("answer", "#1", "all").out


def test_a_number_of_thousands_of_digits_is_no_number_of_anything(started: Cli) -> None:
    for command in (["done"], ["drop"], ["answer", "x"]):
        run = started(command[0], "#" + "9" * 5_000, *command[1:], code=64)
        assert "there is no" in run.err and len(run.err) < 300
    assert "unknown budget" in started("resume", "--budget", "9" * 5_000, code=64).err
    assert "days ago" in started("since", "--from", "9" * 5_000 + "d").out
    assert started("checkpoint", "--focus", "a.py:" + "9" * 5_000).code == started("resume").code == 0


def test_one_of_a_thing_is_said_as_one(started: Cli) -> None:
    started("checkpoint", "--decide", "HS256", "--ask", "Who?")
    assert "so far: 1 item done, 1 decision, 1 question open" in started("pause").out


def test_undo_refuses_what_stays_instead_of_taking_something_else_back(started: Cli) -> None:
    started("begin", "token validation")
    started("feature", "add", "f1", "it works", "--check", "true")
    told = started("undo", code=65).err
    assert "feature f1 was added" in told and "segue feature" in told
    assert started("status", "--json").value["active"] == ["auth middleware", "token validation"]


def test_undo_of_a_handoff_withdraws_it_with_its_checkpoint_and_its_memory(
    started: Cli, project: Path
) -> None:
    started("handoff", "--to", "codex", "--note", "xyzzy", "--rules")
    offer = started("handoff", "--list", "--json").value[0]
    assert (project / "AGENTS.md").exists()
    told = started("undo").out
    assert "undone: handed to codex" in told
    assert started("handoff", "--list", "--json").value[0]["status"] == "withdrawn"
    assert not started("status", "--json").value["checkpoints"]
    assert not (project / "AGENTS.md").exists()
    assert "withdrawn" in started("handoff", "--accept", offer["id"], "--actor", "codex", code=66).err
    assert not started("recall", "xyzzy", "--actor", "codex", "--json").value


def test_undo_refuses_a_handoff_that_was_taken(started: Cli) -> None:
    started("handoff", "--to", "codex")
    started("handoff", "--accept", "--actor", "codex")
    started("undo")
    assert "codex took" in started("undo", code=65).err


def test_undo_of_what_was_learnt_takes_the_memory_too_unless_it_was_learnt_before(started: Cli) -> None:
    started("learn", "xyzzy opens the door")
    started("note", "in between")
    started("learn", "xyzzy opens the door")
    started("undo")
    assert "xyzzy" in started("recall", "xyzzy").out
    started("undo")
    started("undo")
    assert not started("recall", "xyzzy", "--json").value
    started("learn", "xyzzy opens the door")
    assert "xyzzy" in started("recall", "xyzzy").out


def test_undo_takes_a_limit_and_a_name_back(started: Cli) -> None:
    started("budget", "--limit", "5")
    assert "undone: budget" in started("undo").out
    assert started("budget", "--json").value["limit"] == 0
    started("checkpoint", "--name", "here")
    assert "undone: checkpoint here" in started("undo").out
    started("rewind", "here", code=64)


def test_undo_of_what_changed_nothing_is_not_done_again_and_again(started: Cli) -> None:
    started("note", "once")
    started("note", "twice")
    started("note", "twice")
    for text in ("twice", "twice", "once"):
        assert f"undone: note: {text}" in started("undo").out


def test_undo_says_what_of_a_command_stays(started: Cli) -> None:
    with Segue() as segue:
        segue.session("jwt").apply(do.Note("counting"), do.Count({"decisions_made": 2}))
    told = started("undo", "--json").value
    assert told["undone"] == ["note: counting"] and told["stays"] == ["counted: decisions_made=2.0"]
    started("budget", "--spent", "1")
    assert "something was spent" in started("undo", code=65).err


def test_the_log_leaves_out_what_segue_keeps_for_itself_and_says_so(started: Cli) -> None:
    started("recall", "pool connections")
    started("agent", "save", "planner", stdin=b"[1]")
    started("agent", "save", "supervisor", stdin=b"[1]")
    whole = started("log", "--all").out
    assert "counted: searches_performed" in whole and "agent supervisor: state saved" in whole
    shown = started("log").out
    assert "counted:" not in shown and "supervisor" not in shown and "agent planner: state saved" in shown
    assert shown.endswith("left out: 2 events that Segue keeps for itself (`--all` shows them)\n")
    assert len(started("log", "--json").value) == len(whole.splitlines()) - 1


def test_a_limit_of_the_log_counts_only_what_is_shown(started: Cli) -> None:
    for _ in range(6):
        started("recall", "pool connections")
    _, one, two, said = started("log", "--limit", "2").out.splitlines()
    assert one.endswith("done: user model") and two.endswith("begun: auth middleware") and "6 events" in said
    assert started("log", "--limit", "1", "--json").value[0]["kind"] == "metrics.counted"
