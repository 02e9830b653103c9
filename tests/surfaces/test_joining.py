"""`segue sessions join`: sessions that are one piece of work become one, and nothing of them is lost."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from tests.support.said_runs import (
    LATER,
    MORE,
    REQUEST,
    RULE,
    place_first,
    place_split,
    place_steps,
    said_run,
)
from tests.surfaces.conftest import Cli

from segue import Segue
from segue.services.runs import sync as syncing
from segue.surfaces.cli.commands import sessions


def ids(cli: Cli) -> list[str]:
    """All sessions, the oldest first."""
    cards = cli("list", "--json").value
    return [card["id"] for card in sorted(cards, key=lambda card: card["created"])]


@pytest.fixture
def split(cli: Cli, home: Path, project: Path) -> Cli:
    """Three sessions that are one piece of work."""
    place_split(home, project)
    cli("sync")
    assert len(ids(cli)) == 3
    return cli


def texts(cli: Cli, session: str) -> list[str]:
    return [entry["text"] for entry in cli("ledger", session, "--json", "--all").value]


def everything(cli: Cli) -> list[object]:
    """The events of every session, and the sessions of all runs."""
    return [cli("log", id, "--json").value for id in ids(cli)] + [
        (run["id"], run["session"]) for run in cli("runs", "--json").value
    ]


def test_joined_sessions_have_one_ledger_in_the_order_in_which_things_were_said(split: Cli) -> None:
    first, *others = ids(split)
    before = {one: split("ledger", one, "--json", "--all").value for one in (first, *others)}
    done = split("sessions", "join", first, *others, "--yes", "--json").value
    assert done["joined"] and [one["runs"] for one in done["others"]] == [["run-2"], ["run-3"]]
    joined = split("ledger", first, "--json", "--all").value
    assert [entry["text"] for entry in joined if entry["kind"] == "request"] == [REQUEST, LATER, MORE]
    assert [entry["text"] for entry in joined].count(RULE) == 1, "the others had taken it over"
    known = {entry["id"]: entry for one in (*others, first) for entry in before[one]}
    for entry in joined:
        assert {**entry, "handle": ""} == {**known[entry["id"]], "handle": ""}, "ids and words stay"
    assert sorted(known) == sorted(entry["id"] for entry in joined)


def test_the_runs_move_the_others_are_closed_and_can_still_be_read(split: Cli) -> None:
    first, *others = ids(split)
    split("sessions", "join", first, *others, "--yes")
    cards = {card["id"]: card for card in split("list", "--json").value}
    assert [run["id"] for run in cards[first]["runs"]] == ["run-3", "run-2", "run-1"]
    for other, said in zip(others, (LATER, MORE), strict=True):
        assert cards[other]["status"] == "abandoned" and cards[other]["runs"] == []
        shown = split("show", other, "--json").value
        assert shown["end_reason"] == f"joined into {first}" and said in texts(split, other)
    assert split("status", "--json").value["id"] == first, "it is the current one here"
    assert split("rebuild", "--check", "--json").value["different"] == []


def test_later_syncs_find_the_runs_in_the_session_that_stayed(split: Cli, home: Path, project: Path) -> None:
    first, *others = ids(split)
    split("sessions", "join", first, *others, "--yes")
    before = texts(split, first)
    said = (LATER, "Always answer in French.", "Use a red button, please.")
    steps = said_run(time.time() - 200, "run-2", str(project), *said, branch="x")
    place_steps(home, project, steps, "run-2", old=10)
    split("sync")
    assert texts(split, first) == [*before, "Use a red button, please."]
    assert len(ids(split)) == 3, "no session was begun for it"


def test_what_was_declared_comes_along_unless_it_is_there(split: Cli) -> None:
    first, second, third = ids(split)
    split("checkpoint", "-s", first, "--add", "sign", "--ask", "Who rotates the key?")
    split(
        "checkpoint", "-s", second, "--done", "sign", "--begin", "button", "--decide", "HS256", "--why", "one"
    )
    split("block", "-s", second, "docs", "--reason", "the wiki is down")
    split("drop", "-s", second, "SAML", "--reason", "nobody asked")
    split("answer", "-s", third, "Which curve?", "P-256")
    split("ask", "-s", third, "who rotates  the key?")
    split("learn", "-s", third, "the pool has ten connections")
    shown = split("sessions", "join", first, second, third, "--dry-run").out
    assert "3 items, 1 decision added" in shown and "1 question, 1 finding added" in shown
    split("sessions", "join", first, second, third, "--yes")
    status = split("status", first, "--json").value
    assert (status["next"], status["active"], status["done"]) == (["sign"], ["button"], [])
    assert status["blocked"] == [{"item": "docs", "reason": "the wiki is down"}]
    assert [(one["text"], one["why"]) for one in status["decisions"]] == [("HS256", "one")]
    assert [one["text"] for one in status["questions"]] == ["Who rotates the key?"]
    assert [one["text"] for one in status["findings"]] == ["the pool has ten connections"]
    assert "Which curve?: P-256" in split("show", first).out
    assert len(split("recall", "*", "--json").value) == 1, "what was learnt is one memory, as before"


def test_what_is_not_moved_is_named(split: Cli) -> None:
    first, second, _ = ids(split)
    split("feature", "add", "f", "It works", "-s", second)
    split("checkpoint", "--name", "here", "-s", second)
    assert "stays there, to be read: 1 feature, 1 checkpoint" in (
        split("sessions", "join", first, second, "--dry-run").out
    )


def test_a_dry_run_and_no_answer_change_nothing(split: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    first, *others = ids(split)
    before = everything(split)
    shown = split("sessions", "join", first, *others, "--dry-run")
    assert "1 run moves: run-2" in shown.out and "2 entries of the ledger added" in shown.out
    assert "it is then closed, not deleted" in shown.out and "nothing was changed" in shown.out
    refused = split("sessions", "join", first, *others, code=65)
    assert "1 run moves: run-2" in refused.out and "add --yes" in refused.err
    monkeypatch.setattr(sessions, "can_ask", lambda: True)
    monkeypatch.setattr(sessions, "confirm", lambda question: False)
    assert "nothing was changed" in split("sessions", "join", first, *others, code=1).out
    assert everything(split) == before
    monkeypatch.setattr(sessions, "confirm", lambda question: True)
    assert "joined: " in split("sessions", "join", first, *others).out


def test_a_second_join_adds_nothing(split: Cli, home: Path) -> None:
    first, *others = ids(split)
    split("sessions", "join", first, *others, "--yes")
    events = split("log", first, "--json").value
    again = split("sessions", "join", first, *others, "--yes").out
    assert "nothing is added that is not there" in again and "it is abandoned, and stays so" in again
    assert split("log", first, "--json").value == events


def test_sessions_of_an_earlier_version_have_no_ledger_and_their_runs_are_read(
    cli: Cli, home: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place_split(home, project)
    with monkeypatch.context() as patch:
        patch.setattr(syncing, "keep_said", lambda *_: set())
        cli("sync")
    first, *others = ids(cli)
    with Segue(folder=project) as segue:
        assert [list(segue.session(id).state.said) for id in (first, *others)] == [[], [], []]
    cli("sessions", "join", first, *others, "--yes")
    cli("sync")
    requests = [e["text"] for e in cli("ledger", first, "--json", "--kind", "request").value]
    assert sorted(requests) == sorted([REQUEST, LATER, MORE])


# -- which belong together


def test_sessions_that_look_like_one_work_are_suggested(split: Cli) -> None:
    [work] = split("sessions", "join", "--json").value
    assert work["sessions"] == ids(split)
    out = split("sessions", "join").out
    assert "3 sessions that look like one piece of work" in out and "--dry-run" in out
    assert "3 sessions look like parts of the same work: `segue sessions join`" in split("list").out
    split("sessions", "join", *work["sessions"], "--yes")
    assert split("sessions", "join", "--json").value == []
    assert "look like parts" not in split("list").out


def test_other_work_and_declared_sessions_are_not_suggested(cli: Cli, home: Path, project: Path) -> None:
    place_first(home, project)
    other = "Convert the photos of the summer festival to thumbnails with a small Go script."
    steps = said_run(time.time() - 900, "run-2", str(project), other, branch="photos")
    place_steps(home, project, steps, "run-2", old=800)
    cli("sync")
    assert len(ids(cli)) == 2 and cli("sessions", "join", "--json").value == []
    assert "no open sessions here look like" in cli("sessions", "join").out


def test_a_declared_session_is_nobodys_part(split: Cli) -> None:
    _, second, _ = ids(split)
    split("note", "-s", second, "this is a thing of its own")
    [work] = split("sessions", "join", "--json").value
    assert second not in work["sessions"]


def test_sessions_alone_lists_them_as_before(split: Cli) -> None:
    assert split("sessions").out == split("list").out
    assert split("sessions", "list", "--json").out == split("list", "--json").out
    assert split("sessions", "--ids").out == split("list", "--ids").out


# -- refused


def test_what_cannot_be_joined_is_refused(split: Cli, project: Path, tmp_path: Path) -> None:
    first, second, _ = ids(split)
    assert "at least one other" in split("sessions", "join", first, code=64).err
    assert "at least one other" in split("sessions", "join", first, first, code=64).err
    assert "there is no session" in split("sessions", "join", first, "nowhere", code=64).err
    assert "takes no ids" in split("sessions", "list", first, code=64).err
    (tmp_path / "site").mkdir()
    split("start", "Elsewhere", "--id", "elsewhere", "-C", str(tmp_path / "site"))
    assert "belongs to another project" in split("sessions", "join", first, "elsewhere", code=66).err
    split("complete", "-s", first, "--force", "enough")
    assert "is completed" in split("sessions", "join", first, second, "--yes", code=65).err


def test_a_session_that_a_living_run_holds_is_left_alone(split: Cli, project: Path) -> None:
    first, second, _ = ids(split)
    with Segue(folder=project, run="another") as segue, segue.session(second).hold():
        assert "is held by" in split("sessions", "join", first, second, "--yes", code=65).err
    assert split("sessions", "join", first, second, "--yes").code == 0


def test_a_pause_stops_a_join(split: Cli, project: Path) -> None:
    first, second, _ = ids(split)
    (project / "PAUSE").touch()
    assert "PAUSE" in split("sessions", "join", first, second, "--yes", code=65).err
    assert split("sessions", "join", first, second, "--dry-run").code == 0


def test_a_completed_session_stays_completed(split: Cli) -> None:
    first, second, _ = ids(split)
    split("complete", "-s", second, "--force", "enough")
    assert "it is completed, and stays so" in split("sessions", "join", first, second, "--yes").out
    assert LATER in texts(split, first)
