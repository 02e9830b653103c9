"""A store copied into another: every event as it is, with its hash, and what is kept beside the journal.

The source is only read. A stream is copied in whole commits behind what the target has of it already, so that
a migration that was killed goes on where it stopped, and one that was done finds nothing to do. Pieces come
before the events that name them: at every moment what the target has is whole. A session that the target
has with another history is left alone, and named. At the end every session is folded anew from the events of
the target and compared with the source, byte for byte.

What belongs to a machine (which session is current in a working tree, what was trusted) has another name in a
store that machines share; it is written anew under that name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, suppress
from typing import Any

from msgspec.structs import replace

from ..._failpoints import trip
from ...core import event_kinds as ev
from ...core.base.values import Progress, Value, counted
from ...core.graphs.events import PREFIX as GRAPHS
from ...core.journal.event import Draft, Event
from ...core.runs.shared_copies import PREFIX
from ...effects.files.maintenance import maintaining
from ...effects.pause_file import PauseFile
from ...errors import DamagedError, RefusedError, StaleVersion, UsageError
from ...settings import Settings
from ...stores.base import Append, Runs, Store
from ...stores.memory_changes import MemoryChange
from ..graphs.series import checkpoint_pieces
from ..habits.rows import HABITS, HITS, WORDS
from ..handoff.export import named_pieces
from ..memories.service import search_words
from ..resume.timings import TIMING
from ..runs.shared_copies import piece_addresses
from ..sessions import archived
from ..sessions.repository import fold_all, snapshot_of
from ..stats.measured import RECOVERY
from ..workspace.data_folder import DataFolder, is_remote
from ..workspace.open_store import KINDS, check_kind, open_store, shown
from ..workspace.working_tree import TRUST_STREAM, tree_stream

BATCH_EVENTS = 400
BATCH_PIECES = 100
BATCH_MEMORIES = 200
BATCH_RUNS = 50
FACT_KINDS = (HABITS, WORDS, HITS, RECOVERY, TIMING)


class Migrated(Value):
    """What a migration did, and what it found."""

    source: str
    target: str
    sessions: int
    """Of the source."""
    events: int
    """Copied by this call."""
    events_there: int
    """That the target had already."""
    pieces: int
    runs: int
    memories: int
    verified: int
    """Sessions that are the same in both, folded anew from their events."""
    conflicts: list[str] = []
    """Sessions that the target has with another history: left alone."""
    kept: list[str] = []
    """Other streams of which the target has its own: left alone."""
    behind: list[str] = []
    """Sessions that somebody wrote to meanwhile: the same call once more takes the rest."""


def migrate(
    source: str, target: str, home: DataFolder, settings: Settings, *, dry_run: bool = False,
    progress: Progress | None = None,
) -> Migrated:  # fmt: skip
    """Copy all of a store into another; addresses as in SEGUE_STORE, an empty one is the home's own."""
    if not dry_run:
        PauseFile([home.path / "PAUSE"]).check()
    for where in (source, target):
        check_kind(where)
    if is_remote(target):
        hint = "run `segue migrate` there; --to names the store that the server uses"
        raise RefusedError("a store is migrated on the machine of the Segue server", hint=hint)
    timeout_ms = int(settings.number("busy_timeout_ms"))
    places = [home.for_store(where) for where in (source, target)]
    names = [place.shared_store or str(place.database) for place in places]
    if names[0] == names[1]:
        raise UsageError(f"source and target are the same store: {names[0]}", hint=KINDS)
    if not places[0].has_store():
        text = shown(source) if source else str(places[0].database)
        raise UsageError(f"there is no store at {text}", hint=f"give the one to copy with --from {KINDS}")
    there = open_store(places[0], source, busy_timeout_ms=timeout_ms, key=settings.text("api_key"))
    if dry_run and not places[1].has_store():
        from ...stores.memory.store import VolatileStore

        here: Store = VolatileStore()
    else:
        here = open_store(places[1], target, busy_timeout_ms=timeout_ms)
    with ExitStack() as stack:
        stack.enter_context(closing(there))
        stack.enter_context(closing(here))
        for place in sorted(places, key=lambda place: place.database) if not dry_run else ():
            stack.enter_context(maintaining(place.database, "segue migrate"))
        return _Move(there, here, dry_run, progress).all(names[0], names[1])


class _Move:
    def __init__(self, source: Store, target: Store, dry_run: bool, progress: Progress | None) -> None:
        self.source, self.target = source, target
        self.dry_run = dry_run
        self.progress = progress or (lambda *_: None)
        self.events = self.events_there = self.pieces = 0
        self.conflicts: list[str] = []
        self.kept: list[str] = []

    def all(self, source: str, target: str) -> Migrated:
        heads = self.source.streams()
        owns = _owned(self.source, self.source.machine, self.target.machine)
        for stream, version in counted(heads, self.progress, lambda head: head[0]):
            if stream in owns:
                self._write_anew(stream, owns[stream])
            else:
                self._copy(stream, version)
        runs, memories = self._runs(self.source.runs, self.target.runs), self._memories()
        self._project_facts()
        sessions = [name for name, _ in heads if name.startswith("session/")]
        verified, behind = (0, []) if self.dry_run else self._verify(sessions)
        return Migrated(
            source, target, len(sessions), self.events, self.events_there, self.pieces, runs, memories,
            verified, self.conflicts, self.kept, behind,
        )  # fmt: skip

    def _copy(self, stream: str, version: int) -> None:
        """One stream, behind what the target has of it."""
        head = self.target.head(stream)
        if head.version:
            same = self.source.read(stream, after=head.version - 1, limit=1)
            if not same or same[0].hash != head.hash:
                self._differs(stream)
                return
        self.events_there += head.version
        after = head.version
        while after < version:
            batch = self._whole_commits(stream, after)
            if stream.startswith("session/"):
                self._copy_pieces(named_pieces(batch))
            elif stream.startswith(PREFIX):
                self._copy_pieces(piece_addresses(batch))
            elif stream.startswith(archived.PREFIX):
                self._copy_pieces(archived.piece_addresses(batch))
            elif stream.startswith(GRAPHS):
                self._copy_pieces(checkpoint_pieces(batch))
            if not self.dry_run:
                try:
                    _upkeep_of(self.target).copy_in(self.target, stream, after, batch)
                except StaleVersion:  # another migration, or somebody who writes there already
                    self._differs(stream)
                    return
                trip("migrate.after_batch")
            self.events += len(batch)
            after = batch[-1].version

    def _differs(self, stream: str) -> None:
        left = self.conflicts if stream.startswith("session/") else self.kept
        left.append(stream.removeprefix("session/"))

    def _whole_commits(self, stream: str, after: int) -> list[Event]:
        """The next events, up to the end of a commit; of one that a recovery tore, what there is."""
        limit = BATCH_EVENTS
        while True:
            batch = self.source.read(stream, after=after, limit=limit)
            ends = [place for place, event in enumerate(batch, 1) if not event.left]
            if len(batch) < limit:
                return batch
            if ends:
                return batch[: ends[-1]]
            limit *= 2

    def _copy_pieces(self, addresses: Sequence[str]) -> None:
        for at in range(0, len(addresses), BATCH_PIECES):
            wanted = addresses[at : at + BATCH_PIECES]
            there = self.target.pieces(wanted)
            found = self.source.pieces(address for address in wanted if address not in there)
            if found and not self.dry_run:
                _upkeep_of(self.target).copy_pieces(self.target, found)
            self.pieces += len(found)

    def _write_anew(self, stream: str, own: str) -> None:
        events, there = self.source.read(stream), self.target.read(own)
        if [_said(e) for e in there] != [_said(e) for e in events[: len(there)]]:
            self.kept.append(own)
            return
        self.events_there += len(there)
        rest = [Draft(e.kind, e.body, e.at, e.actor, e.run, e.format) for e in events[len(there) :]]
        if rest and not self.dry_run:
            self.target.append(Append(own, len(there), rest))
        self.events += len(rest)

    def _runs(self, source: Runs, target: Runs) -> int:
        keys = [row.key for row in source.rows()]
        waiting, count = [], 0
        for key in counted(keys, self.progress, lambda _: "runs"):
            row = source.get(key)
            if row is not None and target.get(key) != row:
                waiting.append(row)
                count += 1
            if waiting and (len(waiting) >= BATCH_RUNS or key == keys[-1]):
                if not self.dry_run:
                    target.put(waiting)
                waiting = []
        return count

    def _project_facts(self) -> None:
        """What was counted of projects, but for what transcripts tell again. A server of an older version has
        none."""
        with suppress(UsageError):
            for kind in FACT_KINDS:
                facts = self.source.project_facts.rows(kind)
                if facts and not self.dry_run:
                    self.target.project_facts.put(facts)

    def _memories(self) -> int:
        source, target = self.source.memories, self.target.memories
        there = {kept.memory.id for kept in target.everything()}
        count, after = 0, 0
        while found := source.carried(after, BATCH_MEMORIES):
            after = found[-1].no
            self.progress(after, after, "memories")
            new = [one for one in found if one.kept.memory.id not in there]
            count += len(new)
            if not new or self.dry_run:
                continue
            adds = [replace(one.kept, words=search_words(one.kept.memory)) for one in new]
            votes = [vote for one in new for vote in one.votes]
            target.write(MemoryChange(adds=adds, votes=votes, trail=[t for one in new for t in one.trail]))
            trip("migrate.after_memories")
        return count

    def _verify(self, sessions: Sequence[str]) -> tuple[int, list[str]]:
        """How many sessions a refold of the target gives as the source has them; those that moved on."""
        verified, behind = 0, []
        for stream in counted(sessions, self.progress, lambda stream: f"proving {stream}"):
            session = stream.removeprefix("session/")
            if session in self.conflicts:
                continue
            same = self._is_same(stream)
            if same is False:
                same = self._is_same(stream)  # a scrub may have been at work on one of them
            if same is False:
                raise DamagedError("the copy", stream, "rebuilt, it differs from the source")
            if same is None:
                behind.append(session)
            else:
                verified += 1
        return verified, behind

    def _is_same(self, stream: str) -> bool | None:
        """Whether a refold of the target gives what the source has; None if the source has moved on."""
        session = stream.removeprefix("session/")
        theirs, ours = self.source.read(stream), self.target.read(stream)
        if len(theirs) != len(ours):
            return None
        made, addresses = snapshot_of(session, fold_all(ours)), named_pieces(theirs)
        if ours != theirs or made != snapshot_of(session, fold_all(theirs)):
            return False
        if self.source.pieces(addresses) != self.target.pieces(addresses):
            return False
        self.target.keep(made)
        return True


def _owned(source: Store, theirs: str, ours: str) -> dict[str, str]:
    """Streams of this machine in the source, and what they are called in the target."""
    if theirs == ours:
        return {}
    ledger = f"{TRUST_STREAM}/{{}}"
    owns = {ledger.format(theirs) if theirs else TRUST_STREAM: ledger.format(ours) if ours else TRUST_STREAM}
    for stream, path in _trees(source):
        if stream == tree_stream(path, theirs):
            new = tree_stream(path, ours)
            owns[stream] = new
            owns[stream.replace("tree/", "handover/", 1)] = new.replace("tree/", "handover/", 1)
    return owns


def _trees(journal: Store) -> Iterator[tuple[str, str]]:
    for stream, _ in journal.streams("tree/"):
        for event in journal.read(stream):
            body = ev.read_body(event)
            if isinstance(body, ev.TreeBound):
                yield stream, body.path
                break


def _said(event: Event) -> tuple[Any, ...]:
    return event.kind, event.body, event.at, event.actor


def _upkeep_of(target: Store) -> Any:
    """The module that puts into a store what another one has, as it is."""
    from ...stores.sqlite import SqliteStore, upkeep

    if isinstance(target, SqliteStore):
        return upkeep
    from ...stores import postgres
    from ...stores.postgres import upkeep as of_server

    if not isinstance(target, postgres.PostgresStore):
        raise UsageError("this kind of store cannot be migrated to", hint=KINDS)
    return of_server
