"""Chains: proof of a whole stream, and the best stream of what is left of one."""

from __future__ import annotations

import msgspec
import pytest

from segue.core import event_kinds as ev
from segue.core.base import canonical
from segue.core.journal.chain import assemble, faults
from segue.core.journal.event import Event

AT = "2026-11-15T10:00:00.000000Z"


def stream_of(*texts: str, name: str = "session/a") -> list[Event]:
    events: list[Event] = []
    prev = canonical.GENESIS
    for text in texts:
        drafts = [ev.draft(ev.Noted(text), at=AT, actor="user")]
        events += ev.seal(name, len(events), prev, drafts)
        prev = events[-1].hash
    return events


def assembled(*sources: list[Event]) -> tuple[list[str], list[tuple[int, int]]]:
    whole = assemble("session/a", sources, at=AT, actor="test")
    assert [f for f in faults("session/a", whole.events) if "rest of its commit" not in f.reason] == []
    return [event.kind for event in whole.events], [(m.first, m.last) for m in whole.missing]


def test_a_stream_as_it_was_written_has_no_faults() -> None:
    assert faults("session/a", stream_of("one", "two", "three")) == []


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"body": b'{"text":"xxx"}'}, "body was changed"),
        ({"at": "2027-01-01T00:00:00.000000Z"}, "envelope was changed"),
        ({"actor": "mallory"}, "envelope was changed"),
        ({"prev": bytes(31) + b"\x01"}, "does not follow"),
    ],
)
def test_any_change_of_an_event_is_a_fault(change: dict[str, object], reason: str) -> None:
    events = stream_of("one", "two", "three")
    events[1] = msgspec.structs.replace(events[1], **change)
    assert any(reason in fault.reason for fault in faults("session/a", events))


def test_a_missing_event_is_a_fault_at_its_version() -> None:
    events = stream_of("one", "two", "three")
    assert [(f.version, f.reason) for f in faults("session/a", [events[0], events[2]])] == [
        (2, "an event is missing")
    ]


def test_an_erased_body_needs_a_record_in_the_stream() -> None:
    events = stream_of("one", "secret", "three")
    body = b'{"text":"[scrubbed]"}'
    events[1] = msgspec.structs.replace(events[1], body=body, erased=True)
    assert [f.reason for f in faults("session/a", events)] == ["its body was changed"]
    record = ev.draft(ev.Erased([2], [canonical.digest(body).hex()]), at=AT, actor="user")
    events += ev.seal("session/a", 3, events[-1].hash, [record])
    assert faults("session/a", events) == []


def test_sources_that_overlap_give_the_whole_stream_once() -> None:
    events = stream_of("one", "two", "three", "four")
    assert assembled(events[2:], events[:3]) == (["note.taken"] * 4, [])


def test_what_no_source_has_is_named_and_what_follows_is_kept() -> None:
    events = stream_of("one", "two", "three", "four", "five")
    kinds, missing = assembled([events[0], events[3]], [events[4]])
    assert kinds == ["note.taken", "session.gap", "note.taken", "note.taken"]
    assert missing == [(2, 3)]


def test_an_event_of_another_history_is_not_taken_in() -> None:
    events, other = stream_of("one", "two", "three"), stream_of("uno", "due", "tre")
    kinds, missing = assembled([events[0], events[1]], [other[2]])
    assert kinds == ["note.taken"] * 2
    assert missing == [(3, 3)]


def test_a_changed_event_counts_as_missing() -> None:
    events = stream_of("one", "two", "three")
    events[1] = msgspec.structs.replace(events[1], at="2027-01-01T00:00:00.000000Z")
    assert assembled(events)[1] == [(2, 2)]


def test_half_a_commit_at_the_end_is_named() -> None:
    drafts = [ev.draft(ev.Noted(text), at=AT, actor="user") for text in ("one", "two", "three")]
    events = ev.seal("session/a", 0, canonical.GENESIS, drafts)
    assert assembled(events[:2])[1] == [(3, 3)]
