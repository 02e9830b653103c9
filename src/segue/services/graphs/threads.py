"""Threads of graphs in a store: each is a session, and its checkpoints are in streams beside that.

A put is one commit and demands that nobody else put to the same namespace since, nor deleted anything of the
thread: two processes on one thread never mix, and whoever was slower looks again and puts behind the other.
What is deleted leaves by a new generation (``rewriting``).
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress

from ...core.base.text import clean_name
from ...core.base.values import Value
from ...core.graphs.events import (
    PREFIX,
    CheckpointPut,
    GraphBegun,
    NamespaceAdded,
    WritesPut,
    late_stream,
    register_stream,
    series_stream,
)
from ...core.graphs.saved_values import SavedValues, State, Typed
from ...core.journal.event import Body, Draft, Event, draft, read_body
from ...effects.clock import now
from ...errors import BadName, ConflictError, SegueError, StaleVersion
from ...stores.base import Append, Snapshot
from ..workspace.workspace import Workspace
from .loading import GENERATION_BYTES, PACK_FORMAT, Loader, TaskWrites, sealed, sealed_pack, writes_piece
from .series import Entry, Series

_RETRIES = 200
_TOLD_EVERY_PUTS = 8
"""How often it is looked whether a backup is due: less often than with commands, which are fewer."""
_THREADS_MAX = 256
_UNPACKED_MAX, _BYTES_A_PIECE = 32, 8_192
"""A state is packed when so many of its pieces are not, or one for each so many bytes if that is more."""
_PACKED_BYTES_EACH = 400
"""How many bytes, before they are compressed, may be packed for each checkpoint of a series."""


class Found(Value):
    """A checkpoint as it is stored."""

    namespace: str
    id: str
    parent: str
    state: State
    writes: list[tuple[str, str, int, str, Typed]]
    """(path, task, place, channel, value) of what was written behind it."""


def session_of(thread: str) -> str:
    """The session that a thread is. A thread's id may be any text; where it cannot be the id of a session,
    the session is named after what is left of it and its hash."""
    try:
        return clean_name(thread)
    except BadName:
        kept = "".join(c if c.isascii() and (c.isalnum() or c in "_-") else "-" for c in thread[:40]).strip(
            "-_"
        )
        mark = hashlib.sha256(thread.encode("utf-8", "surrogatepass")).hexdigest()[:12]
        return f"thread-{kept}-{mark}" if kept else f"thread-{mark}"


class GraphThread:
    """One thread: its register, and the namespaces that were used here."""

    def __init__(self, workspace: Workspace, thread: str) -> None:
        self._workspace = workspace
        self._store = workspace.store
        self.thread = thread
        self.session = session_of(thread)
        self.register = register_stream(self.session)
        self.lock = threading.RLock()
        self.version = 0
        """The version of the register that is known here."""
        self._head = b""
        self._put_since = 0
        self.generation = ""
        self.namespaces: list[str] = []
        self._series: dict[str, Series] = {}

    # -- where it is --------------------------------------------------------------------------------

    def refresh(self) -> bool:
        """Look where the checkpoints are now; says whether there are any."""
        head = self._store.head(self.register)
        if head.version != self.version or head.hash != self._head:
            self._read_register()
        return bool(self.generation)

    def _read_register(self) -> None:
        self.forget()
        for event in self._store.read(self.register):
            body = read_body(event)
            if isinstance(body, GraphBegun):
                if body.thread != self.thread:
                    told = f"the thread {self.thread[:60]!r} clashes with another one, {body.thread[:60]!r}"
                    raise ConflictError(told, hint="give one of the two another id")
                self.generation, self.namespaces = body.generation, list(body.namespaces)
            elif isinstance(body, NamespaceAdded):
                self.namespaces.append(body.namespace)
            self.version, self._head = event.version, event.hash

    def forget(self) -> None:
        """Drop what is known, because the store may hold something else."""
        self.version, self._head, self.generation, self.namespaces = 0, b"", "", []
        self._series = {}

    def series(self, namespace: str) -> Series:
        """The checkpoints of a namespace, as far as they were read."""
        found = self._series.get(namespace)
        if found is None:
            names = (self.session, self.generation, namespace)
            found = self._series[namespace] = Series(self._store, series_stream(*names), late_stream(*names))
            if namespace in self.namespaces:
                found.refresh()
        return found

    # -- putting ------------------------------------------------------------------------------------

    def put(self, namespace: str, id: str, state: State) -> None:
        """Make a checkpoint durable."""
        self._again(lambda: self._put(namespace, id, state))

    def put_writes(self, namespace: str, id: str, writes: TaskWrites) -> None:
        """Make what a task wrote behind a checkpoint durable."""
        self._again(lambda: self._put_writes(namespace, id, writes))

    def _again(self, attempt: Callable[[], None]) -> None:
        self._workspace.pause_file.check()
        with self.lock:
            for left in reversed(range(_RETRIES)):
                try:
                    attempt()
                    break
                except StaleVersion:  # somebody else was faster
                    if not left:
                        raise
                    self._read_register()
                except BaseException:
                    self.forget()  # whether it is durable is not known
                    raise
            self._put_since += 1
            if self._put_since % _TOLD_EVERY_PUTS == 1:
                self._workspace.backups.written(1)

    def _put(self, namespace: str, id: str, state: State) -> None:
        series = self._ready(namespace)
        values = self._values(series)
        saving = values.save(state)
        name, piece = sealed(self._salt(), saving.body)
        put = series.newest is not None and series.newest.id == id
        disordered = series.disordered or put or id < series.greatest
        event = self._append(series, namespace, CheckpointPut(id, name, "", disordered), {name: piece})
        saving.settle(bytes.fromhex(name))
        series.put(Entry(event.version, id, name), disordered)
        series.state, series.values = state, values
        if saving.is_base:
            self._pack(series, values)

    def _put_writes(self, namespace: str, id: str, writes: TaskWrites) -> None:
        series = self._ready(namespace)
        name, piece = writes_piece(self._salt(), writes)
        if id >= series.greatest:
            event = self._append(series, namespace, WritesPut(id, name), {name: piece})
            series.add_writes(event.version, id, name)
            return
        late = self._store.head(series.late).version
        drafts = [self._draft(WritesPut(id, name))]
        guards = [Append(series.stream, series.version), Append(self.register, self.version)]
        if namespace not in self.namespaces:
            guards[1] = self._adding(namespace)
        events = self._store.append(Append(series.late, late, drafts), *guards, pieces={name: piece})
        self._added(namespace, events)

    def _ready(self, namespace: str) -> Series:
        """The series to put into; the thread is begun if it is new."""
        if not self.generation:
            self._read_register()
            if not self.generation:
                self._begin()
        return self.series(namespace)

    def _begin(self) -> None:
        body = GraphBegun(self.thread, new_generation())
        self._store.append(Append(self.register, self.version, [self._draft(body)]))
        self._read_register()

    def _values(self, series: Series) -> SavedValues:
        if series.values is None:
            series.values = SavedValues()
            if series.newest is not None:
                self._load_newest(series, Loader(self._store))
        return series.values

    def _load_newest(self, series: Series, loader: Loader) -> State:
        assert series.newest is not None
        state, series.values = loader.state_and_values(series.newest.piece, series.stream)
        series.state = state
        if (pack := loader.packs.get(series.stream)) is not None:
            series.packed = frozenset(pack.addresses())
        return state

    def _pack(self, series: Series, values: SavedValues) -> None:
        """Keep a copy of the values if whoever reads them would have to read many pieces. It is only a copy,
        so failing to store it is not an error."""
        named = {place[0] for places in values.base_places.values() for place in places}
        size = sum([len(kept.body) for kept in values.kept.values()])
        if size > series.version * _PACKED_BYTES_EACH:
            return
        if len(named - series.packed) > max(_UNPACKED_MAX, size // _BYTES_A_PIECE):
            with suppress(SegueError):
                self._store.keep(Snapshot(series.stream, series.version, PACK_FORMAT, sealed_pack(values)))
                series.packed = frozenset(named)

    def _append(self, series: Series, namespace: str, body: Body, pieces: dict[str, bytes]) -> Event:
        own = Append(series.stream, series.version, [self._draft(body)])
        known = namespace in self.namespaces
        register = Append(self.register, self.version) if known else self._adding(namespace)
        events = self._store.append(own, register, pieces=pieces)
        self._added(namespace, events)
        return events[0]

    def _adding(self, namespace: str) -> Append:
        return Append(self.register, self.version, [self._draft(NamespaceAdded(namespace))])

    def _added(self, namespace: str, events: Sequence[Event]) -> None:
        """Take in that a namespace is in the register now, if it is new."""
        for event in events:
            if event.stream == self.register:
                self.version, self._head = event.version, event.hash
                self.namespaces.append(namespace)

    def _draft(self, body: Body) -> Draft:
        return draft(body, at=now(), actor=self._workspace.repository.actor)

    def _salt(self) -> bytes:
        return bytes.fromhex(self.generation)[:GENERATION_BYTES]

    # -- reading ------------------------------------------------------------------------------------

    def get(self, namespace: str, id: str = "") -> Found | None:
        """The checkpoint of an id, or the newest one."""
        with self.lock:
            if not self.refresh() or namespace not in self.namespaces:
                return None
            series = self.series(namespace)
            series.refresh()
            entry = series.find(id) if id else series.latest()
            if entry is None:
                return None
            loader = Loader(self._store)
            if series.newest is not None and entry.piece == series.newest.piece:
                state = series.state if series.state is not None else self._load_newest(series, loader)
            else:
                state = loader.state(entry.piece, series.stream)
            return self.found(namespace, entry, state, loader)

    def found(self, namespace: str, entry: Entry, state: State, loader: Loader) -> Found:
        """A checkpoint with its writes."""
        writes = loader.writes(entry.writes) if entry.writes else []
        return Found(namespace, entry.id, state.parent or entry.parent, state, writes)

    def stream(self, namespace: str) -> str:
        """The stream of a namespace's checkpoints."""
        return series_stream(self.session, self.generation, namespace)

    def entries(self, namespace: str, below: str = "") -> Iterator[Entry]:
        """The checkpoints of a namespace, the greatest id first; with ``below`` those that are smaller."""
        with self.lock:
            if not self.refresh() or namespace not in self.namespaces:
                return
            series = self.series(namespace)
            series.refresh()
        yield from series.entries(below)


def new_generation() -> str:
    """The name of a new generation, which no other has."""
    return os.urandom(GENERATION_BYTES).hex()


class GraphThreads:
    """The threads of a store."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self._threads: OrderedDict[str, GraphThread] = OrderedDict()
        self._lock = threading.Lock()

    def thread(self, thread: str) -> GraphThread:
        """A thread by its id, whether there is one or not."""
        with self._lock:
            found = self._threads.get(thread)
            if found is None:
                found = self._threads[thread] = GraphThread(self.workspace, thread)
                if len(self._threads) > _THREADS_MAX:
                    self._threads.popitem(last=False)
            else:
                self._threads.move_to_end(thread)
            return found

    def all(self) -> list[str]:
        """The id of every thread in the store that was not deleted."""
        store, found = self.workspace.store, []
        for stream, _ in store.streams(PREFIX):
            if "/" in stream.removeprefix(PREFIX):
                continue
            begun = [body for e in store.read(stream) if isinstance(body := read_body(e), GraphBegun)]
            if begun and begun[-1].generation:
                found.append(begun[-1].thread)
        return found
