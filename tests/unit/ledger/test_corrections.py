"""What somebody corrects in a ledger stays, and what belongs to an entry goes with it."""

from __future__ import annotations

from typing import Any

import pytest

from segue.core.base.values import seconds_of
from segue.core.ledger.events import EntryCorrected, LedgerJoined, SaidKept
from segue.core.ledger.model import TEXT_CHARS, Change, Entry, HeardUpTo
from segue.core.ledger.sayings import Listed, Message, Saying
from segue.core.sessions import commands as do
from segue.core.sessions.command import Command, Refusal
from segue.core.sessions.fold import fold_body
from segue.core.sessions.ledger_commands import AddEntry, CorrectEntry, JoinLedger, KeepSaid
from segue.core.sessions.offline import in_words, may_wait, spelt_out
from segue.core.sessions.state import SessionState

RUN = "codex/run-1"
BEGAN = seconds_of("2026-11-01T10:00:00+00:00")
LATER = seconds_of("2026-11-03T10:00:00+00:00")
REQUEST = "Do these:\n1. write the parser\n2. write the printer"
SAYINGS: tuple[Saying, ...] = (
    Message(1, BEGAN, 1, REQUEST),
    Listed(2, BEGAN + 60, 4, "todo", "", [("write the lexer", "active"), ("write tests", "pending")]),
)


class Ledgered:
    """A session, with commands decided and folded one after the other."""

    def __init__(self, *commands: Command) -> None:
        self.state = SessionState(version=1, id="s", status="active")
        self.minutes = 0
        for command in commands:
            self(command)

    def __call__(self, command: Command, *, actor: str = "user") -> int:
        """How many events it gave."""
        self.minutes += 1
        at = f"2026-11-02T10:{self.minutes:02d}:00.000000Z"
        outcome = do.decide_all(self.state, [command], at=at, actor=actor, run="")
        assert isinstance(outcome, do.DecidedBatch), outcome
        self.state = outcome.state
        return len(outcome.drafts)

    def refused(self, command: Command) -> Refusal:
        outcome = do.decide(self.state, command)
        assert isinstance(outcome, Refusal)
        return outcome

    def entry(self, text: str) -> Entry:
        [found] = [one for one in self.state.said if one.text == text]
        return found

    def states(self) -> dict[str, str]:
        return {entry.text: entry.state for entry in self.state.said}


def test_a_correction_sets_state_reason_time_and_who_did_it() -> None:
    ledger = Ledgered(KeepSaid(RUN, SAYINGS))
    assert ledger(CorrectEntry(ledger.entry("write the lexer").id, "withdrawn", why="a library does it")) == 1
    entry = ledger.entry("write the lexer")
    assert (entry.state, entry.why, entry.corrected) == ("withdrawn", "a library does it", "user")
    assert entry.since == "2026-11-02T10:02:00.000000Z" and entry.at.startswith("2026-11-01T10:01")


def test_hearing_the_same_run_again_changes_no_correction() -> None:
    ledger = Ledgered(KeepSaid(RUN, SAYINGS))
    ledger(CorrectEntry(ledger.entry("write the parser").id, "done"))
    ledger(CorrectEntry(ledger.entry("write tests").id, text="write tests of the printer"))
    before = ledger.state.said
    later = (*SAYINGS, Listed(3, BEGAN + 90, 6, "todo", "", [("write tests", "done")]))
    ledger.state = SessionState(version=9, id="s", status="active", said=before)  # as if nothing was heard
    ledger(KeepSaid(RUN, later))
    assert ledger.entry("write the parser").state == "done"
    assert ledger.entry("write tests of the printer").state == "open"


def test_a_session_that_is_over_can_be_corrected() -> None:
    ledger = Ledgered(KeepSaid(RUN, SAYINGS), do.Complete())
    assert ledger(CorrectEntry(ledger.entry("write tests").id, "done")) == 1
    assert ledger(AddEntry("rule", "Never push to main.")) == 1


@pytest.mark.parametrize("state", ["done", "withdrawn"])
def test_the_points_of_a_request_are_settled_and_opened_with_it(state: str) -> None:
    ledger = Ledgered(KeepSaid(RUN, SAYINGS))
    ledger(CorrectEntry(ledger.entry("write the printer").id, "done"))
    request = ledger.entry(REQUEST).id
    ledger(CorrectEntry(request, state))  # type: ignore[arg-type]
    assert (ledger.entry(REQUEST).state, ledger.entry("write the parser").state) == (state, state)
    assert ledger.entry("write the lexer").state == "active", "the agent's own list is another thing"
    ledger(CorrectEntry(request, "open"))
    assert (ledger.entry(REQUEST).state, ledger.entry("write the parser").state) == ("open", "open")
    assert ledger.entry("write the printer").state == "done", "it was done before"


def test_a_list_is_dropped_with_its_items() -> None:
    ledger = Ledgered(KeepSaid(RUN, SAYINGS))
    [listed] = [entry for entry in ledger.state.said if entry.kind == "list"]
    assert ledger(CorrectEntry(listed.id, "withdrawn")) == 3
    assert ledger.states()["write tests"] == ledger.states()["write the lexer"] == "withdrawn"


def test_what_is_so_already_is_not_corrected_again() -> None:
    ledger = Ledgered(KeepSaid(RUN, SAYINGS))
    id = ledger.entry("write tests").id
    ledger(CorrectEntry(id, "done"))
    assert ledger(CorrectEntry(id, "done")) == ledger(CorrectEntry(id, text="write tests")) == 0


def test_a_rule_is_dropped_and_never_done() -> None:
    ledger = Ledgered(AddEntry("rule", "Never push to main."))
    refusal = ledger.refused(CorrectEntry(ledger.state.said[0].id, "done"))
    assert refusal.code == "usage" and "segue ledger drop" in refusal.hint


def test_an_entry_is_named_by_a_handle_and_refused_with_candidates() -> None:
    ledger = Ledgered()
    said = [Entry("abcd111111", "rule", "No tabs."), Entry("abcd222222", "rule", "No spaces.")]
    ledger.state = fold_body(ledger.state, SaidKept(entries=said), version=2, at="", actor="")
    ledger(CorrectEntry("abcd1", "withdrawn"))
    assert ledger.states() == {"No tabs.": "withdrawn", "No spaces.": "open"}
    several = ledger.refused(CorrectEntry("abcd", "withdrawn"))
    assert several.code == "unknown_entry" and "2 entries begin with 'abcd'" in several.message
    assert [one["handle"] for one in several.facts["candidates"]] == ["abcd1", "abcd2"]
    short = ledger.refused(CorrectEntry("ab", "withdrawn"))
    assert "at least 4 characters" in short.hint and len(short.facts["candidates"]) == 2
    unknown = ledger.refused(CorrectEntry("9999", "withdrawn"))
    assert unknown.facts["candidates"] == [] and "segue ledger --all" in unknown.hint


def test_what_is_added_is_dated_and_may_be_settled_by_what_is_heard_later() -> None:
    ledger = Ledgered(AddEntry("item", "write tests"))
    entry = ledger.entry("write tests")
    assert (entry.by, entry.corrected, entry.at) == ("user", "", "2026-11-02T10:01:00.000000Z")
    ledger(KeepSaid(RUN, (Listed(1, LATER, 2, "todo", "", [("write tests", "done"), ("ship", "pending")]),)))
    assert ledger.entry("write tests").state == "done"


def test_adding_what_holds_changes_nothing_and_what_was_dropped_is_opened() -> None:
    ledger = Ledgered(AddEntry("rule", "Never push to main."))
    assert ledger(AddEntry("rule", "never  push to **main**.")) == 0
    ledger(CorrectEntry(ledger.state.said[0].id, "withdrawn"))
    assert ledger(AddEntry("rule", "Never push to main.")) == 1
    assert [entry.state for entry in ledger.state.said] == ["open"]


def test_a_text_that_an_edited_entry_had_can_be_added_again() -> None:
    ledger = Ledgered(AddEntry("rule", "Never push to main."))
    ledger(CorrectEntry(ledger.state.said[0].id, text="Never push."))
    ledger(AddEntry("rule", "Never push to main."))
    assert len({entry.id for entry in ledger.state.said}) == 2


def test_what_is_added_may_belong_to_another_entry() -> None:
    ledger = Ledgered(AddEntry("rule", "Never push to main."))
    rule = ledger.state.said[0]
    ledger(AddEntry("permission", "You may push the docs.", of=rule.id[:5]))
    assert ledger.state.said[1].of == rule.id
    assert ledger.refused(AddEntry("item", "x y", of="9999")).code == "unknown_entry"


@pytest.mark.parametrize("kind", ["list", "failing", "question"])
def test_nobody_adds_what_only_runs_can_tell(kind: str) -> None:
    assert "by hand" in Ledgered().refused(AddEntry(kind, "x")).message  # type: ignore[arg-type]


def test_a_text_that_is_too_long_is_refused_and_not_cut() -> None:
    ledger = Ledgered(AddEntry("rule", "Never push to main."))
    long = "x" * (TEXT_CHARS + 1)
    assert ledger.refused(AddEntry("rule", long)).code == "text_too_long"
    assert ledger.refused(CorrectEntry(ledger.state.said[0].id, text=long)).code == "text_too_long"


def entry(id: str, day: int, **more: Any) -> Entry:
    return Entry(
        id, "request", f"request {id}", at=f"2026-11-{day:02d}T00:00:00.000000Z" if day else "", **more
    )


def test_a_joined_ledger_has_each_entry_once_in_the_order_in_which_it_was_said() -> None:
    ledger = Ledgered()
    mine = [entry("aaaaaaaaaa", 1), entry("cccccccccc", 3), entry("dddddddddd", 0)]
    ledger.state = fold_body(ledger.state, SaidKept("r", entries=mine), version=2, at="", actor="")
    theirs = (entry("bbbbbbbbbb", 2), entry("cccccccccc", 3), entry("eeeeeeeeee", 4))
    assert ledger(JoinLedger("other", theirs, {RUN: HeardUpTo(7)})) == 1
    assert [one.id[0] for one in ledger.state.said] == ["a", "b", "c", "d", "e"]
    assert ledger.state.heard[RUN] == HeardUpTo(7)
    assert ledger(JoinLedger("other", theirs, {RUN: HeardUpTo(7)})) == 0, "a second time brings nothing"


def test_a_rule_in_the_same_words_is_joined_once_and_keeps_what_softens_it() -> None:
    ledger = Ledgered(AddEntry("rule", "Never push to main."))
    mine = ledger.state.said[0].id
    theirs = (
        Entry("bbbbbbbbbb", "rule", "Never push to **main**."), Entry("cccccccccc", "rule", "No tabs."),
        Entry("dddddddddd", "permission", "You may push the docs.", of="bbbbbbbbbb"),
        Entry("eeeeeeeeee", "rule", "Never push to main.", state="withdrawn"),
    )  # fmt: skip
    ledger(JoinLedger("other", theirs))
    assert sorted(one.id[0] for one in ledger.state.said) == sorted([mine[0], "c", "d", "e"])
    assert {one.id: one.of for one in ledger.state.said}["dddddddddd"] == mine


def test_of_an_entry_that_both_have_the_corrected_or_newer_state_counts() -> None:
    ledger = Ledgered()
    mine = [
        entry("aaaaaaaaaa", 1, since="2026-11-02"), entry("bbbbbbbbbb", 1, corrected="user"),
        entry("cccccccccc", 1),
    ]  # fmt: skip
    ledger.state = fold_body(ledger.state, SaidKept(entries=mine), version=2, at="", actor="")
    gone = {"state": "withdrawn", "since": "2026-11-05"}
    theirs = (*(entry(id * 10, 1, **gone) for id in "ab"), entry("cccccccccc", 1, corrected="user"))
    ledger(JoinLedger("other", theirs))
    assert [one.state for one in ledger.state.said] == ["withdrawn", "open", "open"]
    assert ledger.state.said[2].corrected == "user"


def test_corrections_may_wait_for_a_server_with_whole_ids() -> None:
    ledger = Ledgered(AddEntry("rule", "Never push to main."))
    id = ledger.state.said[0].id
    drop = CorrectEntry(id[:4], "withdrawn", why="it moved")
    assert may_wait([drop, AddEntry("rule", "x")], ledger.state) and not may_wait([drop], None)
    assert spelt_out(ledger.state, drop) == CorrectEntry(id, "withdrawn", why="it moved")
    assert isinstance(spelt_out(ledger.state, CorrectEntry("9999", "done")), Refusal)
    assert in_words([drop]) == f"ledger {id[:4]} · withdrawn · it moved"


def test_events_of_the_ledger_in_words() -> None:
    from segue.core.event_words import WORDS

    heard = [Entry(kind, kind, "x", run="r") for kind in ("request", "rule")]
    heard.insert(0, Entry("another", "request", "y", run="r"))
    changes = [Change("d", "done"), Change("e", "open"), Change("f", reply="plan")]
    assert WORDS[SaidKept](SaidKept("r", 3, entries=heard)) == "said: 2 requests, 1 rule kept"
    assert WORDS[SaidKept](SaidKept("r", 3, entries=heard[:1], changes=changes)) == (
        "said: 1 request kept, 1 settled, 1 opened, 1 more known of"
    )
    assert WORDS[SaidKept](SaidKept(entries=[Entry("a", "rule", "No tabs.")])) == (
        "rule added to the ledger: No tabs."
    )
    corrected = EntryCorrected(Change("abcd", "withdrawn", "it moved"), "user")
    assert WORDS[EntryCorrected](corrected) == "ledger: abcd is withdrawn, because: it moved"
    assert WORDS[EntryCorrected](EntryCorrected(Change("abcd", text="No."))) == "ledger: abcd now reads: No."
    assert WORDS[LedgerJoined](LedgerJoined("other", heard)) == (
        "session other was joined into this one: 2 requests, 1 rule"
    )
