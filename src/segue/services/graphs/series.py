"""The checkpoints of one namespace of a thread, in the order in which they were put.

Ids of checkpoints grow, so that a place in the stream is found by halving. A stream into which one was put
that is not greater says so in every event from there on, and is read as a whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...core.base.values import Value
from ...core.graphs.events import CheckpointPut, WritesPut
from ...core.graphs.saved_values import SavedValues, State
from ...core.journal.event import Event, read_body
from ...errors import DamagedError
from ...stores.base import Journal

_TAIL_EVENTS = 4
_FIRST_EVENTS, _BLOCK_EVENTS = 16, 256
"""How many events are read at once by whoever goes back: few at first, since few may be wanted."""
_PLACES_MAX = 20_000


class Entry(Value):
    """A checkpoint in its stream, and the pieces of the writes behind it."""

    version: int
    id: str
    piece: str
    parent: str = ""
    writes: tuple[str, ...] = ()


class Series:
    """The stream of a namespace, as far as it was read."""

    def __init__(self, store: Journal, stream: str, late: str) -> None:
        self._store = store
        self.stream, self.late = stream, late
        self.version = 0
        self.newest: Entry | None = None
        """The newest checkpoint, with the writes behind it in the same stream."""
        self.state: State | None = None
        self.values: SavedValues | None = None
        """The newest checkpoint's values; None if they were not read yet."""
        self.packed: frozenset[bytes] = frozenset()
        """The addresses of the pieces whose bytes are packed, as far as it is known."""
        self.disordered = False
        self._places: dict[str, int] = {}
        self.greatest = ""
        """The greatest id that the stream tells of; that of writes may be of a checkpoint yet to be put."""
        self._early: list[str] = []
        """The pieces of writes behind a checkpoint that is yet to be put."""
        self._known = False

    def refresh(self) -> None:
        """Take in what others put meanwhile."""
        events = self._tail() if not self._known else self._store.read(self.stream, after=self.version)
        for event in events:
            self.take(event)
        self._known = True

    def _tail(self) -> list[Event]:
        """The events about the newest checkpoint, and those behind them."""
        head, back = self._store.head(self.stream).version, _TAIL_EVENTS
        while True:
            events = self._store.read(self.stream, after=max(0, head - back))
            bodies = [body_of(event) for event in events]
            puts = [body.id for body in bodies if isinstance(body, CheckpointPut)]
            first = next((n for n, body in enumerate(bodies) if puts and body.id == puts[-1]), 0)
            if first or back >= head:
                return events[first:]
            back *= 4

    def take(self, event: Event) -> None:
        """One more event, which is in the store."""
        body = body_of(event)
        if isinstance(body, CheckpointPut):
            self.put(Entry(event.version, body.id, body.piece, body.parent), body.disordered)
        else:
            self.add_writes(event.version, body.id, body.piece)

    def put(self, entry: Entry, disordered: bool) -> None:
        """A checkpoint was put; its values are not known."""
        if len(self._places) > _PLACES_MAX:
            self._places.clear()
        early = tuple(self._early) if entry.id == self.greatest else ()
        self._places[entry.id] = entry.version - len(early)
        self.newest = _more(entry, *early)
        self.state, self.values, self.disordered = None, None, disordered
        self._saw(entry.version, entry.id)

    def add_writes(self, version: int, id: str, piece: str) -> None:
        """Writes behind the newest checkpoint were put, or behind one that is about to be put."""
        if self.newest is not None and self.newest.id == id:
            self.newest = _more(self.newest, piece)
        else:
            self._early = [*self._early, piece] if id == self.greatest else [piece]
        self._saw(version, id)

    def _saw(self, version: int, id: str) -> None:
        self.version, self._known = version, True
        self.greatest = max(self.greatest, id)

    # -- reading ------------------------------------------------------------------------------------

    def latest(self) -> Entry | None:
        """The checkpoint with the greatest id, with all of its writes."""
        found = next(self.entries(), None) if self.disordered else self.newest
        return self._with_late(found, self._late_writes()) if found is not None else None

    def find(self, id: str) -> Entry | None:
        """The checkpoint of an id, with all of its writes."""
        if self.disordered:
            return next((entry for entry in self.entries() if entry.id == id), None)
        if self.newest is not None and self.newest.id == id:
            return self._with_late(self.newest, self._late_writes())
        version = self._places.get(id) or self._halved(id)
        found = self._at(version, id) if version else None
        return self._with_late(found, self._late_writes()) if found is not None else None

    def _halved(self, id: str) -> int:
        """The version of the first event about a checkpoint, which is the one that puts it; 0 if none is."""
        low, high = 1, self.version + 1
        while low < high:
            middle = (low + high) // 2
            events = self._store.read(self.stream, after=middle - 1, limit=1)
            if not events:
                return 0
            if body_of(events[0]).id < id:
                low = middle + 1
            else:
                high = middle
        return low if low <= self.version else 0

    def _at(self, version: int, id: str) -> Entry | None:
        """The checkpoint of an id, told of from a version on."""
        found, after, limit = _Group(id), version - 1, 8
        while True:
            events = self._store.read(self.stream, after=after, limit=limit)
            for event in events:
                body = body_of(event)
                if body.id != id:
                    return found.entry()
                found.add(event.version, body)
            if len(events) < limit:
                return found.entry()
            after, limit = events[-1].version, _FIRST_EVENTS

    def entries(self, below: str = "") -> Iterator[Entry]:
        """Every checkpoint with all of its writes, the greatest id first; with ``below`` those that are
        smaller."""
        if self.disordered:
            found = [e for e in self.in_order() if not below or e.id < below]
            yield from sorted(found, key=lambda entry: entry.id, reverse=True)
            return
        late = self._late_writes()
        for group in self._groups(below):
            entry = group.entry(backwards=True)
            if entry is not None:
                yield self._with_late(entry, late)

    def _groups(self, below: str) -> Iterator[_Group]:
        """What the stream says of each checkpoint, the greatest id first."""
        group, end, size = _Group(""), self.version, _FIRST_EVENTS
        if below:
            end = (self._halved(below) or self.version + 1) - 1
        while end > 0:
            start = max(0, end - size)
            size = min(size * 2, _BLOCK_EVENTS)
            for event in reversed(self._store.read(self.stream, after=start, limit=end - start)):
                body = body_of(event)
                if body.id != group.id:
                    yield group
                    group = _Group(body.id)
                group.add(event.version, body)
            end = start
        yield group

    def in_order(self) -> list[Entry]:
        """Every checkpoint with all of its writes, as they were put; of two with the same id the last one."""
        groups: dict[str, _Group] = {}
        for event in self._store.read(self.stream):
            body = body_of(event)
            if isinstance(body, CheckpointPut) and body.id in groups:
                groups[body.id] = groups.pop(body.id)
            groups.setdefault(body.id, _Group(body.id)).add(event.version, body)
        late, found = self._late_writes(), [group.entry() for group in groups.values()]
        return [self._with_late(entry, late) for entry in found if entry is not None]

    def _late_writes(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for event in self._store.read(self.late):
            body = body_of(event)
            found.setdefault(body.id, []).append(body.piece)
        return found

    @staticmethod
    def _with_late(entry: Entry, late: dict[str, list[str]]) -> Entry:
        return _more(entry, *late[entry.id]) if entry.id in late else entry

    def pieces(self) -> list[str]:
        """The address of every piece that the streams name."""
        return checkpoint_pieces([*self._store.read(self.stream), *self._store.read(self.late)])


class _Group:
    """What a stream says of one checkpoint."""

    def __init__(self, id: str) -> None:
        self.id = id
        self._put: Entry | None = None
        self._writes: list[str] = []

    def add(self, version: int, body: CheckpointPut | WritesPut) -> None:
        """One more event about it."""
        if isinstance(body, CheckpointPut):
            self._put = Entry(version, body.id, body.piece, body.parent)
        else:
            self._writes.append(body.piece)

    def entry(self, *, backwards: bool = False) -> Entry | None:
        """The checkpoint, if it was put; ``backwards`` if the events were added from the last one on."""
        writes = reversed(self._writes) if backwards else self._writes
        return _more(self._put, *writes) if self._put is not None else None


def _more(entry: Entry, *pieces: str) -> Entry:
    return Entry(entry.version, entry.id, entry.piece, entry.parent, (*entry.writes, *pieces))


def checkpoint_pieces(events: Iterable[Event]) -> list[str]:
    """The addresses of the pieces that events of threads name."""
    bodies = map(read_body, events)
    return [body.piece for body in bodies if isinstance(body, CheckpointPut | WritesPut)]


def body_of(event: Event) -> CheckpointPut | WritesPut:
    """What an event of such a stream says. Raises DamagedError."""
    body = read_body(event)
    if isinstance(body, CheckpointPut | WritesPut):
        return body
    raise DamagedError("a thread", f"{event.stream} version {event.version}", f"{event.kind} is not known")
