"""`segue ledger`: what was said and holds, whole and with handles; and what people correct in it stays."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from tests.support.said_runs import LATER, PERMISSION, REQUEST, RULE, place_first, place_steps, said_run
from tests.surfaces.conftest import Cli

from segue import Segue, UnknownEntry
from segue.core.base.values import iso
from segue.core.ledger.model import Entry
from segue.services.ledger.ledger_service import LedgerView, ShownEntry
from segue.services.runs.observed import runs_of
from segue.surfaces.cli.views.ledger import ledger_lines
from segue.surfaces.render import Style

FIRST_POINT, SECOND_POINT, THIRD_POINT = (
    "write the token signer", "write the middleware", "document it in docs/auth.md",
)  # fmt: skip


def entries(cli: Cli, *options: str) -> dict[str, dict[str, Any]]:
    """The entries by their texts."""
    return {one["text"]: one for one in cli("ledger", "--json", *options).value}


def handle(cli: Cli, text: str, *options: str) -> str:
    return str(entries(cli, *options)[text]["handle"])


@pytest.fixture
def said(cli: Cli, home: Path, project: Path) -> Cli:
    """A run was synced in which a lot was said."""
    place_first(home, project)
    cli("sync")
    return cli


# -- looking


def test_what_was_said_is_shown_in_groups_with_points_and_handles(said: Cli) -> None:
    out, known = said("ledger").out, entries(said)
    heads = [line for line in out.splitlines() if line[:1].isupper() and line[:3].isupper()]
    assert heads == ["REQUESTS", "RULES", "CHOICES", "LISTS", "TRIED IN VAIN", "FAILING"]
    assert f"[x] {known[FIRST_POINT]['handle']}  1. {FIRST_POINT}" in out
    assert f"[ ] {known[THIRD_POINT]['handle']}  3. {THIRD_POINT}" in out
    assert f"  {known[RULE]['handle']}  {RULE} (user, " in out
    assert f"but {known[PERMISSION]['handle']}  {PERMISSION}" in out
    assert "todo list: 0 done, 1 left" in out and "[ ] " in out
    assert out.count("write the token signer") == 1, "a point is not told twice"


def test_lines_fit_80_columns_and_long_texts_are_whole(cli: Cli, home: Path, project: Path) -> None:
    long = " ".join(f"Make the button number {number} of the form blue and wide." for number in range(60))
    place_steps(home, project, said_run(time.time() - 900, "long", str(project), long), "long")
    for options in ((), ("--explain",), ("--all",)):
        out = cli("ledger", *options).out
        assert max(map(len, out.splitlines())) <= 80
        assert long in " ".join(out.split()), "nothing of it is cut"
        assert "\x1b" not in out


def test_what_runs_said_since_the_last_sync_is_there_and_marked(said: Cli, home: Path, project: Path) -> None:
    steps = said_run(time.time() - 600, "run-2", str(project), LATER)
    place_steps(home, project, steps, "run-2", old=500)
    shown = entries(said)[LATER]
    assert shown["waits"] and not entries(said)[RULE]["waits"]
    assert "new: said since the last sync" in said("ledger").out
    said("sync")
    kept = entries(said)[LATER]
    assert (kept["id"], kept["waits"]) == (shown["id"], False)


def moment(seconds_ago: float) -> str:
    return iso(time.time() - seconds_ago)


def view_of(*said: Entry) -> LedgerView:
    fields = [{name: getattr(one, name) for name in one.__struct_fields__} for one in said]
    return LedgerView("s", "A goal", tuple(ShownEntry(**one, handle=one["id"][:4]) for one in fields))


def test_what_was_answered_is_told_in_a_line_and_a_list_with_its_age() -> None:
    long = "Rename the helper in utils.py to something that says what it does, everywhere it is used, please."
    view = view_of(
        Entry("aaaa1", "request", long, "answered", "user", moment(7200), since=moment(3600)),
        Entry("bbbb1", "list", "todo list", by="codex", at=moment(7300)),
        Entry("cccc1", "item", "sign", "done", "codex", moment(7300), of="bbbb1", since=moment(300)),
        Entry("dddd1", "item", "rotate", "active", "codex", moment(7300), of="bbbb1"),
        Entry("eeee1", "item", "loose end", by="user", at=moment(60)),
    )
    lines = ledger_lines(view, Style())
    [answered] = [line for line in lines if "Rename the helper" in line]
    assert "ANSWERED, CONFIRMED BY NOBODY" in lines and len(answered) <= 80 and "…" in answered
    assert "  bbbb  todo list: 1 done, 1 left (codex, 2 h ago, changed 5 min ago)" in lines
    assert "        [>] dddd  rotate" in lines
    assert "  items of no list: 0 done, 1 left" in lines
    assert long in " ".join(" ".join(ledger_lines(view, Style(), explain=True)).split())


def test_colours_only_where_the_stream_shows_them() -> None:
    view = view_of(Entry("aaaa1", "rule", "No \x1b[31mred\x1b[0m tabs.", by="user"))
    plain, painted = (ledger_lines(view, Style(colour=colour)) for colour in (False, True))
    assert "\x1b" not in "".join(plain) and "No red tabs." in "".join(plain)
    assert "\x1b[36maaaa\x1b[0m" in "".join(painted) and "\x1b[31m" not in "".join(painted)


def test_before_any_session_the_newest_run_tells_it(cli: Cli, home: Path, project: Path) -> None:
    place_first(home, project)
    assert RULE in cli("ledger").out and "no session has it yet" in cli("ledger").out
    assert not (home / "segue" / "segue.db").exists(), "looking makes no store"


def test_all_shows_what_is_settled_and_what_settled_it(said: Cli) -> None:
    said("ledger", "drop", handle(said, RULE), "--why", "the bot pushes")
    assert RULE not in entries(said) and "settled; `segue ledger --all`" in said("ledger").out
    assert entries(said, "--all")[RULE]["state"] == "withdrawn"
    out = " ".join(said("ledger", "--all").out.split())
    assert "withdrawn just now: the bot pushes, by the word of user" in out
    assert f"[-] {handle(said, PERMISSION, '--all')} {PERMISSION}" in out


def test_explain_says_what_an_entry_rests_on(said: Cli) -> None:
    said("ledger", "done", handle(said, THIRD_POINT))
    out = " ".join(said("ledger", "--explain").out.split())
    known = entries(said, "--all")
    assert f"{known[REQUEST]['id']}: said in claude-code run-1#2; " in out and "new work" in out
    assert f"belongs to {known[REQUEST]['handle']} (request)" in out
    assert "done since" in out and ": in the todo list" in out and "corrected by user" in out
    assert "said in claude-code run-1#2" in said("show", "run-1#2").out or RULE in said("show", "run-1#2").out


@pytest.mark.parametrize(
    ("kind", "texts"),
    [
        ("rule", {RULE}), ("permission", {PERMISSION}),
        ("item", {SECOND_POINT, THIRD_POINT, "rotate the keys of the shop"}),
        ("question", set()),
    ],
)  # fmt: skip
def test_one_kind_can_be_looked_at(said: Cli, kind: str, texts: set[str]) -> None:
    assert set(entries(said, "--kind", kind)) == texts
    assert said("ledger", "--kind", kind).code == 0


def test_another_session_is_named_by_its_id(said: Cli) -> None:
    [first] = said("list", "--ids", "--json").value
    said("start", "Something else", "--id", "else")
    assert set(entries(said)) == {RULE, PERMISSION}, "rules hold for any work here"
    assert RULE in said("ledger", first).out and RULE in said("ledger", "-s", first).out
    assert "two different sessions" in said("ledger", first, "-s", "else", code=64).err
    assert "there is no session" in said("ledger", "nowhere", code=64).err


# -- correcting


def test_several_entries_are_done_at_once_and_all_or_none(said: Cli) -> None:
    second, third = handle(said, SECOND_POINT), handle(said, THIRD_POINT)
    assert said("ledger", "done", second, "ffff", code=64).out == ""
    assert entries(said)[SECOND_POINT]["state"] == "open"
    done = said("ledger", "done", second, third)
    assert done.out.splitlines() == [f"done: {second} {SECOND_POINT}", f"done: {third} {THIRD_POINT}"]
    assert said("ledger", "done", second).out == "nothing changed\n"


def test_a_request_is_settled_and_opened_with_its_points(said: Cli) -> None:
    id = handle(said, REQUEST)
    assert "what belongs to one goes with it" in said("ledger", "drop", id).out
    assert {SECOND_POINT, REQUEST}.isdisjoint(entries(said))
    reopened = said("ledger", "reopen", id, "--json").value
    assert [one["text"] for one in reopened["entries"]] == [REQUEST, SECOND_POINT, THIRD_POINT]
    assert entries(said)[THIRD_POINT]["state"] == "open"


def test_a_text_is_edited_and_one_may_come_from_stdin(said: Cli) -> None:
    id = handle(said, RULE)
    said("ledger", "edit", id, "Never push to", "main or release.")
    assert entries(said)["Never push to main or release."]["corrected"] == "user"
    said("ledger", "edit", id, "-", stdin=b"Never push.\n")
    assert entries(said)["Never push."]["id"].startswith(id)


@pytest.mark.parametrize("kind", ["request", "rule", "permission", "choice", "item", "attempt"])
def test_people_add_what_was_not_recognised(started: Cli, kind: str) -> None:
    added = started("ledger", "add", kind, "Something that was", "said by phone", "--json").value
    [entry] = added["entries"]
    assert (entry["kind"], entry["text"], entry["by"]) == (kind, "Something that was said by phone", "user")
    assert entry["at"] and "Something that was said by phone" in started("ledger").out
    assert started("ledger", "add", kind, "something that was said by phone").out == "nothing changed\n"


def test_a_declared_choice_is_shown_and_corrected_like_one_that_was_said(started: Cli) -> None:
    started("decide", "HS256", "--why", "one issuer")
    choice = handle(started, "HS256 (one issuer)", "--kind", "choice")
    started("ledger", "drop", choice, "--why", "there are two")
    assert "HS256" not in started("brief").out + started("status").out + started("ledger").out
    assert "withdrawn just now: there are two" in started("ledger", "--all").out
    started("decide", "HS256", "--why", "one issuer")
    assert "DECIDED: HS256 (one issuer)\n" in started("brief").out
    started("ledger", "edit", choice, "RS256")
    for command in ("brief", "status", "ledger"):
        assert "RS256" in started(command).out and "HS256" not in started(command).out


def test_a_point_is_added_to_its_request(said: Cli) -> None:
    request = handle(said, REQUEST)
    said("ledger", "add", "item", "tell the team", "--of", request)
    assert entries(said)["tell the team"]["of"].startswith(request)
    assert "tell the team" in said("ledger").out


def test_corrections_stay_when_the_transcript_is_read_again(said: Cli, project: Path) -> None:
    said("ledger", "done", handle(said, REQUEST))
    said("ledger", "drop", handle(said, RULE), "--why", "it moved")
    said("ledger", "edit", handle(said, "rotate the keys of the shop"), "rotate the keys")
    said("ledger", "add", "rule", "Answer in French.")
    before = said("ledger", "--all", "--json").value
    with Segue(folder=project) as segue:
        runs = runs_of(segue.workspace).runs
        runs.drop([row.key for row in runs.rows()])
    assert "1 run read (1 new" in said("sync").out
    assert said("ledger", "--all", "--json").value == before


def test_what_waits_can_be_corrected(said: Cli, home: Path, project: Path) -> None:
    steps = said_run(time.time() - 600, "run-2", str(project), LATER)
    place_steps(home, project, steps, "run-2", old=500)
    said("ledger", "drop", handle(said, LATER), "--why", "not now")
    dropped = entries(said, "--all")[LATER]
    assert (dropped["state"], dropped["waits"], dropped["corrected"]) == ("withdrawn", False, "user")


def test_a_session_that_is_over_can_be_corrected(said: Cli) -> None:
    said("complete", "--force", "enough")
    said("ledger", "drop", handle(said, RULE))
    assert entries(said, "--all")[RULE]["state"] == "withdrawn"


def test_a_correction_declares_nothing_so_that_runs_are_still_told_apart(
    said: Cli, home: Path, project: Path
) -> None:
    said("ledger", "done", handle(said, THIRD_POINT))
    other = "Convert the photos of the summer festival to thumbnails with a small Go script."
    steps = said_run(time.time() - 600, "run-2", str(project), other)
    place_steps(home, project, steps, "run-2", old=500)
    said("sync")
    assert len(said("list", "--json").value) == 2


def test_an_undo_does_not_undo_a_correction(said: Cli) -> None:
    said("ledger", "drop", handle(said, RULE))
    assert "of the ledger was corrected" in said("undo", code=65).err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("done",), "which entry?"), (("drop",), "which entry?"), (("edit", "abcd"), "which entry, and what"),
        (("add",), "what should be added?"), (("add", "list", "x"), "what should be added?"),
        (("add", "rule", " "), "the text is empty"), (("a", "b"), "unknown: b"),
        (("--why", "x"), "--why and --of are for changes"), (("done", "1"), "there is no entry '1'"),
        (("done", "zzzz"), "there is no entry 'zzzz'"), (("add", "item", "x", "--of", "zzzz"), "no entry"),
        (("done", "RULE"), "a rule is not done"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused_with_a_next_step(
    said: Cli, words: tuple[str, ...], told: str
) -> None:
    given = [handle(said, RULE) if word == "RULE" else word for word in words]
    ran = said("ledger", *given, code=64)
    assert told in ran.err and "hint: " in ran.err


def test_an_unknown_entry_is_told_with_those_that_may_be_meant(said: Cli) -> None:
    short = handle(said, RULE)[:3]
    error = said("ledger", "drop", short, "--json", code=64).value["error"]
    assert error["code"] == "unknown_entry" and error["entry"] == short
    assert {"handle": handle(said, RULE), "kind": "rule", "text": RULE} in error["candidates"]


def test_a_pause_stops_corrections_and_looking_goes_on(said: Cli, project: Path) -> None:
    rule = handle(said, RULE)
    (project / "PAUSE").touch()
    for words in (
        ("done", rule),
        ("drop", rule),
        ("reopen", rule),
        ("edit", rule, "x"),
        ("add", "rule", "x"),
    ):
        assert "PAUSE" in said("ledger", *words, code=65).err
    assert RULE in said("ledger").out


# -- the library


def test_the_library_reads_and_corrects_the_ledger(said: Cli, project: Path) -> None:
    with Segue(folder=project) as segue:
        ledger = segue.session().ledger
        [rule] = ledger.entries(kind="rule")
        assert rule.text == RULE and ledger.standing().rules[0].permissions[0].text == PERMISSION
        saved = ledger.drop(rule.handle, why="it moved")
        assert (saved.events, ledger.changed(saved)[0].why) == (2, "it moved")
        assert ledger.reopen(rule.id).events == 2
        assert ledger.edit(rule.id, "Never push.").events == 1
        added = ledger.changed(ledger.add("item", "tell the team"))
        assert ledger.done(added[0].id).events == 1
        assert ledger.standing().rules[0].entry.text == "Never push."
        with pytest.raises(UnknownEntry) as fault:
            ledger.done("zzzz")
        assert fault.value.facts() == {"entry": "zzzz", "candidates": []}
        assert segue.ledger().session == segue.session().id
