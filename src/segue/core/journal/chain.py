"""The chain of hashes of a stream: verifying it, and rebuilding it from what is left after damage.

``faults`` verifies a whole stream. ``assemble`` makes the best possible stream from events that were
found in several places, and names the versions that none of them had.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...errors import DamagedError
from ..base import canonical
from ..base.values import Value
from .event import Draft, Erased, Event, Gap, draft, read_body, seal


class ChainFault(Value):
    """A place in a stream that is not as it was written."""

    stream: str
    version: int
    reason: str


def faults(stream: str, events: Sequence[Event]) -> list[ChainFault]:
    """Everything that is wrong with a stream from version 1 on; empty if it is intact."""
    found: list[ChainFault] = []
    prev = canonical.GENESIS
    scrubbed = _scrubbed_bodies(events)
    for expected, event in enumerate(events, 1):
        if event.version != expected:
            found.append(ChainFault(stream, expected, "an event is missing"))
            break
        if event.prev != prev:
            found.append(ChainFault(stream, expected, "it does not follow its predecessor"))
        if not event.chained():
            found.append(ChainFault(stream, expected, "its envelope was changed"))
        body_hash = canonical.digest(event.body)
        if body_hash != event.body_hash and scrubbed.get(event.version) != body_hash.hex():
            found.append(ChainFault(stream, expected, "its body was changed"))
        prev = event.hash
    if events and events[-1].left:
        found.append(ChainFault(stream, events[-1].version, "the rest of its commit is missing"))
    return found


def linked(stream: str, after: int, events: Sequence[Event]) -> None:
    """Raises DamagedError unless each event follows the one before it.

    The first event is not compared with its predecessor, unless ``after`` is 0.
    """
    version, prev = after, b"" if after else canonical.GENESIS
    for event in events:
        version += 1
        if event.version != version or (prev and event.prev != prev):
            where = f"{stream} version {version}"
            raise DamagedError("the journal", where, "it does not follow its predecessor")
        prev = event.hash


def _scrubbed_bodies(events: Iterable[Event]) -> dict[int, str]:
    """The hashes of the bodies that recorded scrubs wrote, by version."""
    scrubbed: dict[int, str] = {}
    for event in events:
        if event.kind == Erased.KIND:
            body = read_body(event)
            if isinstance(body, Erased):
                scrubbed.update(zip(body.versions, body.bodies, strict=False))
    return scrubbed


class Missing(Value):
    """Versions of a stream that no source had."""

    stream: str
    first: int
    last: int
    reason: str


class Assembled(Value):
    """A rebuilt stream, and what is missing in it."""

    stream: str
    events: list[Event]
    missing: list[Missing]


def assemble(stream: str, sources: Sequence[Iterable[Event]], *, at: str, actor: str) -> Assembled:
    """The stream rebuilt from all sources; where they differ, an earlier source wins.

    Events after a gap cannot be verified against what came before it. They are kept all the same: they are
    appended anew, after an event that says which versions are missing.
    """
    by_version: dict[int, list[Event]] = {}
    for source in sources:
        for event in source:
            if event.stream == stream and event.chained():
                by_version.setdefault(event.version, []).append(event)
    chosen, version, prev = [], 1, canonical.GENESIS
    while following := next((e for e in by_version.get(version, ()) if e.prev == prev), None):
        chosen.append(following)
        version, prev = version + 1, following.hash
    later = sorted(v for v in by_version if v >= version)
    if not later:
        return Assembled(stream, chosen, _torn_end(stream, chosen))
    rest: list[Event] = []
    for later_version in later:
        candidates = by_version[later_version]
        if later_version == version:
            continue  # its predecessor belongs to another history, so it counts as missing
        followers = (e for e in candidates if rest and e.prev == rest[-1].hash)
        rest.append(next(followers, candidates[0]))
    return _with_gaps(stream, chosen, rest, at=at, actor=actor)


def _torn_end(stream: str, events: list[Event]) -> list[Missing]:
    if not events or not events[-1].left:
        return []
    last = events[-1]
    return [Missing(stream, last.version + 1, last.version + last.left, "the rest of a commit")]


def _with_gaps(stream: str, chosen: list[Event], later: list[Event], *, at: str, actor: str) -> Assembled:
    missing: list[Missing] = []
    drafts: list[Draft] = []
    expected = len(chosen) + 1
    if not later:
        missing.append(Missing(stream, expected, expected, "it does not follow its predecessor"))
    for event in later:
        if event.version > expected:
            missing.append(Missing(stream, expected, event.version - 1, "no source had them"))
            gap = Gap(expected, event.version - 1, "not readable at recovery")
            drafts.append(draft(gap, at=at, actor=actor))
        drafts.append(Draft(event.kind, event.body, event.at, event.actor, event.run, event.format))
        expected = event.version + 1
    prev = chosen[-1].hash if chosen else canonical.GENESIS
    events = list(chosen)
    for draft_event in drafts:
        events += seal(stream, len(events), prev, [draft_event])
        prev = events[-1].hash
    return Assembled(stream, events, missing + _torn_end(stream, later[-1:]))
