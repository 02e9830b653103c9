"""What deletes checkpoints, or copies them: a thread written anew, in one commit.

Those that stay are put into the streams of a new generation; the commit demands that nobody put anything to
the old ones meanwhile. Only then are the old streams and their pieces removed. Whoever dies in between, or
has a key that may not remove anything, leaves them for the next time.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from ...core.graphs.events import PREFIX, CheckpointPut, GraphBegun, WritesPut, series_stream
from ...core.graphs.saved_values import SavedValues
from ...core.journal.event import Draft, draft
from ...effects.clock import now
from ...errors import AccessError, StaleVersion
from ...stores.base import Append, Journal
from ..workspace.workspace import Workspace
from .loading import GENERATION_BYTES, Loader, sealed, writes_piece
from .series import Entry, Series
from .threads import GraphThread, new_generation

_RETRIES = 50
Keeps = Callable[[str, list[Entry], Loader], list[Entry]]
"""Of a namespace's checkpoints, in the order in which they were put, those that stay."""


def keep_all(namespace: str, entries: list[Entry], loader: Loader) -> list[Entry]:
    """Nothing goes."""
    return entries


def keep_none(namespace: str, entries: list[Entry], loader: Loader) -> list[Entry]:
    """Everything goes."""
    return []


def rewrite(workspace: Workspace, source: GraphThread, target: GraphThread, keeps: Keeps) -> bool:
    """Put what is kept of a thread into a new generation of the target, which may be the same thread, and
    remove what the target had before. Says whether anything had to be done."""
    workspace.pause_file.check()
    done = False
    first, second = sorted((source, target), key=lambda thread: thread.session)
    for left in reversed(range(_RETRIES)):
        try:
            with first.lock, second.lock:
                done = _rewritten(workspace, source, target, keeps)
            break
        except StaleVersion:
            if not left:
                raise
    if done:
        _remove_old(workspace, target)
    return done


def _rewritten(workspace: Workspace, source: GraphThread, target: GraphThread, keeps: Keeps) -> bool:
    store = workspace.store
    if not source.refresh():
        return False
    target.refresh()
    new = _Generation(workspace, target, store)
    loader, demands, whole = Loader(store), list[Append](), True
    for namespace in source.namespaces:
        series = source.series(namespace)
        series.refresh()
        entries = series.in_order()
        kept = keeps(namespace, entries, loader)
        whole = whole and len(kept) == len(entries)
        demands += [
            Append(series.stream, series.version),
            Append(series.late, store.head(series.late).version),
        ]
        new.put_all(namespace, kept, loader, series.stream)
    if whole and source is target:
        return False
    demands += [] if source is target else [Append(source.register, source.version)]
    store.append(*new.appends(), *demands, pieces=new.pieces)
    target.forget()
    workspace.backups.written(1)
    return True


class _Generation:
    """A generation that is being made."""

    def __init__(self, workspace: Workspace, thread: GraphThread, store: Journal) -> None:
        self._workspace, self._thread, self._store = workspace, thread, store
        self.name = new_generation()
        self.pieces: dict[str, bytes] = {}
        self._drafts: dict[str, list[Draft]] = {}

    def put_all(self, namespace: str, entries: list[Entry], loader: Loader, stream: str) -> None:
        """Put checkpoints of a stream and their writes, in this order."""
        values, greatest, disordered = SavedValues(), "", False
        for entry in entries:
            state = loader.state(entry.piece, stream)
            saving = values.save(state)
            name = self._keep(*sealed(self._salt, saving.body))
            saving.settle(bytes.fromhex(name))
            disordered = disordered or entry.id <= greatest
            greatest = max(greatest, entry.id)
            self._add(namespace, CheckpointPut(entry.id, name, entry.parent, disordered))
            for writes in loader.task_writes(entry.writes):
                self._add(namespace, WritesPut(entry.id, self._keep(*writes_piece(self._salt, writes))))

    def _keep(self, name: str, piece: bytes) -> str:
        self.pieces[name] = piece
        return name

    def _add(self, namespace: str, body: CheckpointPut | WritesPut) -> None:
        self._drafts.setdefault(namespace, []).append(self._draft(body))

    def _draft(self, body: CheckpointPut | WritesPut | GraphBegun) -> Draft:
        return draft(body, at=now(), actor=self._workspace.repository.actor)

    @property
    def _salt(self) -> bytes:
        return bytes.fromhex(self.name)[:GENERATION_BYTES]

    def appends(self) -> list[Append]:
        """The register's new generation, and its streams."""
        thread = self._thread
        name = self.name if self._drafts else ""
        body = GraphBegun(thread.thread, name, tuple(self._drafts))
        streams = [
            Append(series_stream(thread.session, self.name, namespace), 0, drafts)
            for namespace, drafts in self._drafts.items()
        ]
        return [Append(thread.register, thread.version, [self._draft(body)]), *streams]


def _remove_old(workspace: Workspace, thread: GraphThread) -> None:
    """Remove the streams of generations that hold no more, and their pieces."""
    store = workspace.store
    thread.refresh()
    own = f"{PREFIX}{thread.session}/"
    current = (f"{own}{thread.generation}/", f"{own}{thread.generation}.late/")
    old = [(name, version) for name, version in store.streams(own) if not name.startswith(current)]
    if not old:
        return
    pieces = [piece for name, _ in old for piece in Series(store, name, "").pieces()]
    workspace.backups.note_store(less_events=sum(version for _, version in old))
    with suppress(AccessError, StaleVersion):  # a key that may not, or somebody who does the same
        store.drop(*[Append(name, version) for name, version in old], pieces=pieces)
    workspace.backups.note_store()
