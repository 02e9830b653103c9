"""Chains: proof of a whole stream."""

from __future__ import annotations

import msgspec
import pytest

from segue.core import event_kinds as ev
from segue.core.base import canonical
from segue.core.journal.chain import faults
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
