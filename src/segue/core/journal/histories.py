"""The histories of a stream: rebuilding it from events that were found in several places.

Every event names the hash of its predecessor, so events that belong together form chains, and chains that
share a beginning form a tree. A place where two events follow the same one is a *fork*: the stream was
continued twice, for example after an older copy of the store was put in place of the newer one. Histories
are never mixed. One of them stays under the stream's name, each other one is handed back whole, from its
first event on, and so is what belongs to neither for sure.

Two kinds of branches are no histories. A scrub of a backup appends its record there, behind the backup's last
event: a branch of nothing but such records is left out. And a log may still have what was written and never
committed: a branch of nothing but events that are *doubtful* in this way counts only where nothing else does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import takewhile

from ..base import canonical
from ..base.values import Value
from .event import Draft, Erased, Event, Gap, draft, seal


class Missing(Value):
    """Versions of a stream that no source had."""

    stream: str
    first: int
    last: int
    reason: str


class OtherHistory(Value):
    """A history of a stream beside the one that keeps its name."""

    events: list[Event]
    """From version 1 on, as far as they were found."""
    parts: Event
    """Its first event that the history under the stream's name does not have."""


class Assembled(Value):
    """A rebuilt stream, what is missing in it, and what else was found under its name."""

    stream: str
    events: list[Event]
    missing: list[Missing]
    others: list[OtherHistory] = []
    left_out: int = 0
    """How many doubtful events were found in places that others have, and are nowhere in the above."""


def held_in(events: Iterable[Event], among: Iterable[Event]) -> bool:
    """Whether events are among others, though sealed again there: behind a gap, or in another stream."""
    return not Counter(map(_identity, events)) - Counter(map(_identity, among))


def _identity(event: Event) -> tuple[str, str, str, str]:
    return event.kind, event.at, event.actor, event.run


def assemble(
    stream: str, sources: Sequence[Iterable[Event]], *, at: str, actor: str, doubtful: Collection[bytes] = ()
) -> Assembled:
    """The stream rebuilt from all sources; where histories part, that of the earliest source stays.

    Events behind a gap cannot be verified against what came before it. They are kept all the same: they are
    appended anew, after an event that says which versions are missing. If they are of another history for
    sure, or were written before what they would follow, they are handed back as one; and where histories are
    known to part, if no source has them together with what is only in this one.
    """
    tree = _Tree(stream, sources, doubtful)
    begun = tree.in_order(root for root in tree.roots if root.version == 1 and root.prev == canonical.GENESIS)
    main = tree.path(begun[0]) if begun else []
    others = list(tree.forks(main)) + [
        other for root in begun[1:] if tree.counts(root) for other in tree.histories([], root)
    ]
    parted = min((other.parts.version for other in others), default=0)
    known = {event.hash for event in begun}
    rest: list[Event] = []
    for root in tree.in_order(root for root in tree.roots if root.hash not in known):
        found = tree.path(root)
        if held_in(found, main):
            continue
        follows = _may_follow(found, tree.sure_part(main)) and all(
            _apart(found, part) for part in _runs(rest)
        )
        if follows and (not parted or tree.together(found, main[parted - 1 :])):
            rest = sorted([*rest, *found], key=lambda event: event.version)
            others += tree.forks(found)
        elif tree.counts(root):
            others += tree.histories([], root)
    others = [one for one in others if not held_in(one.events, [*main, *rest])]
    end = len(tree.sure_part(main))
    chosen = [*main[:end], *takewhile(lambda event: event.kind == Erased.KIND, main[end:])] if rest else main
    left_out = tree.beside([*chosen, *rest, *(event for one in others for event in one.events)])
    if not rest:
        return Assembled(stream, main, _torn_end(stream, main), others, left_out)
    whole = sealed_again(stream, rest, at=at, actor=actor, behind=chosen, expected=end + 1)
    return Assembled(stream, whole.events, whole.missing, others, left_out)


class _Tree:
    """Events of a stream as a forest: by their hashes, each with those that follow it."""

    def __init__(self, stream: str, sources: Sequence[Iterable[Event]], doubtful: Collection[bytes]) -> None:
        self._events: dict[bytes, Event] = {}
        self._sources: dict[bytes, list[int]] = {}
        for number, source in enumerate(sources):
            for event in source:
                if event.hash in self._events or (event.stream == stream and event.chained()):
                    self._events.setdefault(event.hash, event)
                    self._sources.setdefault(event.hash, []).append(number)
        self._doubtful = frozenset(doubtful)
        self._following: dict[bytes, list[Event]] = {}
        self.roots: list[Event] = []
        for event in self._events.values():
            before = self._events.get(event.prev)
            if before is not None and before.version == event.version - 1:
                self._following.setdefault(event.prev, []).append(event)
            else:
                self.roots.append(event)
        self._weights = self._weighed()

    def _weighed(self) -> dict[bytes, tuple[bool, bool, int, str]]:
        """Of each event with all that follows it: whether it is nothing but records of scrubs, whether it is
        all doubtful, the earliest source that has any of it, and when the last was written."""
        weights: dict[bytes, tuple[bool, bool, int, str]] = {}
        for event in sorted(self._events.values(), key=lambda event: -event.version):
            place = self._sources[event.hash][0]
            own = (event.kind == Erased.KIND, event.hash in self._doubtful, place, event.at)
            below = [weights[child.hash] for child in self._following.get(event.hash, ())]
            scrubs, doubts, places, times = zip(own, *below, strict=True)
            weights[event.hash] = (all(scrubs), all(doubts), min(places), max(times))
        return weights

    def in_order(self, events: Iterable[Event]) -> list[Event]:
        """Events, the one that begins the best history first: that of the earliest source, and of those the
        newest."""
        newest = sorted(events, key=lambda event: self._weights[event.hash][3], reverse=True)
        return sorted(newest, key=lambda event: self._weights[event.hash][:3])

    def counts(self, event: Event) -> bool:
        """Whether an event and all that follows it are a history: not only scrubs, and not all doubtful."""
        scrubs, doubts, *_ = self._weights[event.hash]
        return not scrubs and not doubts

    def path(self, event: Event) -> list[Event]:
        """An event and what follows it; at a fork the best."""
        found = [event]
        while following := self._following.get(found[-1].hash):
            found.append(self.in_order(following)[0])
        return found

    def forks(self, path: Sequence[Event]) -> Iterator[OtherHistory]:
        """The histories that part from a path."""
        for number, event in enumerate(path, 1):
            following = self._following.get(event.hash, ())
            if len(following) > 1:
                for child in self.in_order(following)[1:]:
                    if self.counts(child):
                        yield from self.histories(path[:number], child)

    def histories(self, before: Sequence[Event], event: Event) -> Iterator[OtherHistory]:
        """The history that an event begins behind others, and those that part from it in turn."""
        found = self.path(event)
        yield OtherHistory([*before, *found], event)
        for fork in self.forks(found):
            yield OtherHistory([*before, *fork.events], fork.parts)

    def beside(self, taken: Sequence[Event]) -> int:
        """How many events are not among those that were taken, records of scrubs aside."""
        hashes = {event.hash for event in taken}
        left = [event for own, event in self._events.items() if own not in hashes]
        held = Counter(map(_identity, taken)) if left else Counter()
        return sum(event.kind != Erased.KIND and not held[_identity(event)] for event in left)

    def together(self, one: Iterable[Event], other: Iterable[Event]) -> bool:
        """Whether a source has events of both: it has one history."""
        places = {number for event in other for number in self._sources[event.hash]}
        return any(number in places for event in one for number in self._sources[event.hash])

    def sure_part(self, path: Sequence[Event]) -> list[Event]:
        """A path without its end if that is doubtful, or only records scrubs: what follows a gap may follow
        an event that this end stands in the place of."""
        end = len(path)
        while end and (path[end - 1].kind == Erased.KIND or path[end - 1].hash in self._doubtful):
            end -= 1
        return list(path[:end])


def _may_follow(found: Sequence[Event], path: Sequence[Event]) -> bool:
    """Whether events can be what came behind a path and a gap. The predecessor of the first is known to be
    none of the path's."""
    if not path:
        return True
    return found[0].version > path[-1].version + 1 and found[0].at >= path[-1].at


def _runs(events: Sequence[Event]) -> Iterator[list[Event]]:
    """Events in pieces without gaps."""
    piece: list[Event] = []
    for event in events:
        if piece and event.version != piece[-1].version + 1:
            yield piece
            piece = []
        piece.append(event)
    if piece:
        yield piece


def _apart(one: Sequence[Event], other: Sequence[Event]) -> bool:
    """Whether two pieces of a stream can be of the same history: one lies behind the other, with a gap."""
    first, second = sorted((one, other), key=lambda events: events[0].version)
    return _may_follow(second, first)


def _torn_end(stream: str, events: Sequence[Event]) -> list[Missing]:
    if not events or not events[-1].left:
        return []
    last = events[-1]
    return [Missing(stream, last.version + 1, last.version + last.left, "the rest of a commit")]


def sealed_again(
    stream: str, found: Sequence[Event], *, at: str, actor: str, behind: Sequence[Event] = (),
    expected: int = 1,
) -> Assembled:  # fmt: skip
    """A stream of events that are appended anew behind others, with an event for each gap between them; the
    first of them should have had the version ``expected``."""
    missing: list[Missing] = []
    drafts: list[Draft] = []
    for event in found:
        if event.version > expected:
            missing.append(Missing(stream, expected, event.version - 1, "not found anywhere"))
            gap = Gap(expected, event.version - 1, "not readable at recovery")
            drafts.append(draft(gap, at=at, actor=actor))
        drafts.append(Draft(event.kind, event.body, event.at, event.actor, event.run, event.format))
        expected = event.version + 1
    events = list(behind)
    prev = events[-1].hash if events else canonical.GENESIS
    for draft_event in drafts:
        events += seal(stream, len(events), prev, [draft_event])
        prev = events[-1].hash
    return Assembled(stream, events, missing + _torn_end(stream, found[-1:]))
