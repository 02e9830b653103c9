"""Histories: the best stream of what is left of one, and every other one that was found under its name."""

from __future__ import annotations

import msgspec
from hypothesis import given, settings, strategies as st

from segue.core import event_kinds as ev
from segue.core.base import canonical
from segue.core.journal.chain import faults
from segue.core.journal.event import Event
from segue.core.journal.histories import Assembled, assemble, held_in

NAME = "session/a"


def stream_of(*texts: str, behind: list[Event] | None = None, hour: int = 10) -> list[Event]:
    """Notes behind others, each a second after the one before it."""
    events = list(behind or [])
    for text in texts:
        at = f"2026-11-15T{hour:02d}:00:{len(events):02d}.000000Z"
        prev = events[-1].hash if events else canonical.GENESIS
        events += ev.seal(NAME, len(events), prev, [ev.draft(ev.Noted(text), at=at, actor="user")])
    return events


def whole_of(*sources: list[Event], doubtful: frozenset[bytes] = frozenset()) -> Assembled:
    at = "2026-11-16T10:00:00.000000Z"
    whole = assemble(NAME, sources, at=at, actor="test", doubtful=doubtful)
    assert [f for f in faults(NAME, whole.events) if "rest of its commit" not in f.reason] == []
    return whole


def assembled(*sources: list[Event]) -> tuple[list[str], list[tuple[int, int]]]:
    whole = whole_of(*sources)
    assert whole.others == []
    return [event.kind for event in whole.events], [(m.first, m.last) for m in whole.missing]


def texts(events: list[Event]) -> list[str]:
    return [str(canonical.decode(event.body).get("text", event.kind)) for event in events]


def test_sources_that_overlap_give_the_whole_stream_once() -> None:
    events = stream_of("one", "two", "three", "four")
    assert assembled(events[2:], events[:3]) == (["note.taken"] * 4, [])


def test_what_no_source_has_is_named_and_what_follows_is_kept() -> None:
    events = stream_of("one", "two", "three", "four", "five")
    kinds, missing = assembled([events[0], events[3]], [events[4]])
    assert kinds == ["note.taken", "session.gap", "note.taken", "note.taken"]
    assert missing == [(2, 3)]


def test_an_event_whose_predecessor_is_another_one_is_kept_apart() -> None:
    events, other = stream_of("one", "two", "three"), stream_of("uno", "due", "tre")
    whole = whole_of([events[0], events[1]], [other[2]])
    assert texts(whole.events) == ["one", "two"] and whole.missing == []
    assert [texts(one.events) for one in whole.others] == [["tre"]]


def test_a_changed_event_counts_as_missing() -> None:
    events = stream_of("one", "two", "three")
    events[1] = msgspec.structs.replace(events[1], at="2027-01-01T00:00:00.000000Z")
    assert assembled(events)[1] == [(2, 2)]


def test_half_a_commit_at_the_end_is_named() -> None:
    at = "2026-11-15T10:00:00.000000Z"
    drafts = [ev.draft(ev.Noted(text), at=at, actor="user") for text in ("one", "two", "three")]
    events = ev.seal(NAME, 0, canonical.GENESIS, drafts)
    assert assembled(events[:2])[1] == [(3, 3)]


def test_of_two_histories_that_of_the_first_source_stays_and_the_other_is_whole_beside_it() -> None:
    shared = stream_of("one", "two")
    new = stream_of("new 3", "new 4", behind=shared, hour=12)
    old = stream_of("old 3", "old 4", "old 5", "old 6", behind=shared)
    whole = whole_of(new, old)
    assert texts(whole.events) == ["one", "two", "new 3", "new 4"] and whole.missing == []
    [other] = whole.others
    assert other.events == old and other.parts == old[2]
    assert whole_of(old, new).events == old and whole_of(old, new).others[0].events == new


def test_two_sessions_of_one_id_are_two_histories_from_the_first_event_on() -> None:
    one, two = stream_of("one", "two"), stream_of("uno", "due", "tre", hour=11)
    whole = whole_of(one, two)
    assert whole.events == one and [other.events for other in whole.others] == [two]
    assert whole.others[0].parts == two[0]


def test_three_histories_are_three() -> None:
    shared = stream_of("one", "two")
    a, b = stream_of("a3", "a4", behind=shared), stream_of("b3", behind=shared, hour=11)
    c = stream_of("c5", behind=a, hour=12)
    d = stream_of("d5", "d6", behind=a, hour=13)
    whole = whole_of(c, b, d)
    assert whole.events == c
    assert sorted(texts(one.events)[-1] for one in whole.others) == ["b3", "d6"]


def test_the_rest_of_another_history_behind_a_gap_is_not_put_behind_this_one() -> None:
    shared = stream_of("one", "two")
    old = stream_of("old 3", "old 4", "old 5", "old 6", behind=shared)
    new = stream_of("new 3", "new 4", behind=shared, hour=12)
    for lost in (2, 3, 4):  # the first event that is readable of what is left of the old one
        whole = whole_of(new, old[lost:])
        assert whole.events == new
        assert [one.events for one in whole.others] == [[*(shared if lost == 2 else []), *old[lost:]]]


def test_what_a_scrub_appended_to_a_backup_is_no_history() -> None:
    events = stream_of("one", "two", "three", "four")
    record = ev.draft(ev.Erased([1], ["00"]), at=events[1].at, actor="user")
    backup = [*events[:2], *ev.seal(NAME, 2, events[1].hash, [record])]
    for sources in ((events, backup), (backup, events)):
        assert whole_of(*sources).events == events and whole_of(*sources).others == []
    whole = whole_of(backup, events[3:])
    assert texts(whole.events) == ["one", "two", "journal.erased", "session.gap", "four"]
    assert whole.others == [] and [(m.first, m.last) for m in whole.missing] == [(3, 3)]


def test_what_was_never_committed_makes_no_history_and_is_told() -> None:
    shared = stream_of("one", "two")
    good, undone = stream_of("three", behind=shared), stream_of("undone", behind=shared, hour=9)
    doubtful = frozenset({undone[2].hash})
    whole = whole_of([*undone, *good], doubtful=doubtful)
    assert whole.events == good and whole.others == [] and whole.left_out == 1
    assert whole_of(undone, doubtful=doubtful).events == undone
    later = stream_of("four", behind=good)
    whole = whole_of(undone, [later[3]], doubtful=doubtful)
    assert texts(whole.events) == ["one", "two", "session.gap", "four"] and whole.left_out == 1


def test_what_an_earlier_recovery_sealed_again_is_not_found_twice() -> None:
    events = stream_of("one", "two", "three", "four", "five")
    mended = whole_of([events[0], *events[3:]]).events
    assert whole_of(mended, events[3:]).events == mended
    assert whole_of(mended, events[3:]).others == []


histories = st.lists(st.tuples(st.integers(0, 8), st.integers(1, 5)), min_size=1, max_size=4)


@settings(max_examples=150, deadline=None)
@given(histories, st.data())
def test_nothing_that_was_read_is_lost_and_nothing_is_mixed(
    shapes: list[tuple[int, int]], data: st.DataObject
) -> None:
    made: list[list[Event]] = []
    for number, (shared, more) in enumerate(shapes):
        beginning = made[-1][:shared] if made else []
        names = [f"{number}.{place}" for place in range(more)]
        made.append(stream_of(*names, behind=beginning, hour=10 + number))
    sources = data.draw(st.permutations(made))
    keep = data.draw(st.lists(st.booleans(), min_size=60, max_size=60))
    sources = [[event for event in source if keep[event.version % 60]] for source in sources]
    whole = whole_of(*sources)
    everything = [*whole.events, *(event for one in whole.others for event in one.events)]
    found = {event.hash: event for source in sources for event in source}
    for event in found.values():
        assert held_in([event], everything)
    for events in (whole.events, *(one.events for one in whole.others)):
        told = "\n".join(["", *texts(events), ""])
        for piece in told.split("\nsession.gap"):
            assert any(piece.rstrip() in "\n".join(["", *texts(history)]) for history in made), piece
