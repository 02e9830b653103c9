"""A checkpoint is one shape: what the library, the command line and Aegis' clients say comes to the same
commands."""

from __future__ import annotations

import argparse
import inspect
from typing import Any

import pytest

from segue import Segue, Session, UsageError
from segue.core.sessions import commands as do
from segue.core.sessions.checkpoint import Checkpoint, commands, focus_in
from segue.core.sessions.state import SessionState
from segue.surfaces.cli.command import find
from segue.surfaces.cli.commands.checkpoint import commands_of
from segue.surfaces.http.routes.checkpoints import NewCheckpoint
from segue.surfaces.mcp.tools import BY_NAME

FIELDS: dict[str, tuple[list[str], Any]] = {
    "done": (["--done", "model"], "model"),
    "begin": (["--begin", "routes"], ["routes"]),
    "add": (["--add", "docs", "--add", "tests"], ["docs", "tests"]),
    "block": (["--block", "routes", "--reason", "no schema"], [("routes", "no schema")]),
    "unblock": (["--unblock", "routes"], "routes"),
    "drop": (["--drop", "docs", "--reason", "not asked for"], [("docs", "not asked for")]),
    "stay": (["--stay", "--block", "routes"], True),
    "new": (["--new", "--block", "routes"], True),
    "note": (["--note", "wrote the model"], "wrote the model"),
    "decide": (["--decide", "HS256", "--why", "one issuer"], [("HS256", "one issuer")]),
    "ask": (["--ask", "which port?"], "which port?"),
    "answer": (["--answer", "which port?", "8080"], [("which port?", "8080")]),
    "thread": (["--thread", "naming=done"], [("naming", "done")]),
    "focus": (["--focus", "a.py:check_token"], "a.py:check_token"),
    "learn": (["--learn", "ports are shared"], "ports are shared"),
    "error": (["--error", "timeout"], "timeout"),
    "solved": (["--solved", "timeout", "waited longer"], [("timeout", "waited longer")]),
    "summary": (["--summary", "half way"], "half way"),
    "goal": (["--goal", "JWT everywhere"], "JWT everywhere"),
    "name": (["--name", "half"], "half"),
}


def of_command_line(words: list[str]) -> list[do.Command]:
    args: argparse.Namespace = find("checkpoint").parser().read(words)
    return commands_of(args, SessionState)


def of_library(monkeypatch: pytest.MonkeyPatch, seg: Segue, **fields: Any) -> list[do.Command]:
    session = seg.start("Refactor auth")
    made: list[do.Command] = []
    monkeypatch.setattr(session, "commit_trusted", lambda given: made.extend(given))
    session.checkpoint(**fields)
    return made


def test_every_field_of_a_checkpoint_is_tried_here() -> None:
    assert set(FIELDS) == set(Checkpoint.__struct_fields__)


def test_every_surface_has_every_field_of_a_checkpoint() -> None:
    fields = set(Checkpoint.__struct_fields__)
    assert {*BY_NAME["checkpoint"].takes, *BY_NAME["plan"].takes} == fields
    assert set(NewCheckpoint.__struct_fields__) == fields | {"since", "fence"}
    assert set(inspect.signature(Session.checkpoint).parameters) == fields | {"self"}


@pytest.mark.parametrize("field", sorted(FIELDS))
def test_a_field_means_the_same_in_the_library_and_on_the_command_line(
    field: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    words, value = FIELDS[field]
    more = {"block": "routes"} if field in ("stay", "new") else {}
    with Segue(home=tmp_path / "home", folder=tmp_path) as seg:
        assert of_library(monkeypatch, seg, **{field: value}, **more) == of_command_line(words)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("a.py:12", ("a.py", "12")),
        ("a.py:check_token", ("a.py", "check_token")),
        ("src/a.py", ("src/a.py", "")),
        ("c:\\code\\a.py", ("c:\\code\\a.py", "")),
        ("http://x/y", ("http://x/y", "")),
        (":12", (":12", "")),
        ("", ("", "")),
    ],
)
def test_a_focus_is_a_file_and_a_place_in_it(text: str, place: tuple[str, str]) -> None:
    assert focus_in(text) == place


def test_what_is_dropped_and_added_again_is_planned_anew() -> None:
    made = commands(Checkpoint(drop=(("x", "later"),), add=("x",), done=("y",), begin=("z",)))
    assert made == [do.Drop("x", "later"), do.Add("x"), do.Done("y"), do.Begin("z", True)]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (Checkpoint(), "the checkpoint is empty"),
        (Checkpoint(stay=True), "the checkpoint is empty"),
        (Checkpoint(goal="  "), "the goal is empty"),
        (Checkpoint(name="../up"), "cannot be used as the checkpoint's name"),
    ],
)
def test_what_cannot_be_is_refused(wrong: Checkpoint, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        commands(wrong)


def test_an_item_that_is_begun_is_the_last_action_unless_something_is_done_or_noted_with_it() -> None:
    assert commands(Checkpoint(begin=("z",))) == [do.Begin("z", False)]
    assert commands(Checkpoint(begin=("z",), note="n")) == [do.Begin("z", True), do.Note("n")]


def test_a_name_carries_the_note_and_a_goal_comes_with_the_summary() -> None:
    made = commands(Checkpoint(name="half", note="n", goal="g", summary="s", focus="a.py:3"))
    assert made == [
        do.Focus(file="a.py", position="3"),
        do.Describe(goal="g", summary="s"),
        do.Note("n"),
        do.Mark("half", "n"),
    ]
    assert commands(Checkpoint(name="half")) == [do.Mark("half", "")]
    assert commands(Checkpoint(summary="")) == [do.Describe(goal=None, summary="")]


def test_a_thread_without_a_status_is_in_progress() -> None:
    made = commands(Checkpoint(thread=(("a", ""), ("b", "done"))))
    assert made == [do.Thread("a", "in_progress"), do.Thread("b", "done")]
