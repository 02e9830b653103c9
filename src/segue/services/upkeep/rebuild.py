"""Snapshots and digests of runs are a cache: proof that they are, and new ones if they are not."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from ...agents import agent as agent_of
from ...core.base.values import Progress, Value, counted
from ...core.journal.event import Event
from ...core.runs.digest import encode
from ...effects.files.maintenance import maintaining
from ...effects.redaction.redact import redact_bytes
from ...errors import DamagedError, SegueError
from ...stores.base import Journal, RunRow, Snapshot
from ..runs import cursor
from ..runs.discovery import found_of, read_blocks
from ..runs.observed import runs_of
from ..runs.read_transcript import Reading, final, read
from ..runs.run import facts_of, row_of, stored_usage
from ..sessions.repository import fold_all, snapshot_of, stream_of
from ..workspace.workspace import Workspace

_LOOKS_MAX = 5


class Rebuilt(Value):
    """What a rebuild found."""

    sessions: int
    same: int
    different: list[str]
    missing: int
    """Sessions that had no snapshot; no fault."""
    runs: int = 0
    """Runs whose transcript, or a copy of it, could be read again as far as it was read before."""
    runs_different: list[str] = []
    """Ids of those of which the digest came out differently."""


def rebuild(workspace: Workspace, *, check: bool = False, progress: Progress | None = None) -> Rebuilt:
    """Fold every session from its first event; compare with its snapshot, or replace that."""
    if check:
        return _rebuild(workspace, True, progress)
    workspace.pause_file.check()
    with maintaining(workspace.home.database, "segue rebuild", journal=workspace.store):
        return _rebuild(workspace, False, progress)


def _rebuild(workspace: Workspace, check: bool, progress: Progress | None) -> Rebuilt:
    same, missing, different = 0, 0, []
    sessions = [stream.removeprefix("session/") for stream, _ in workspace.store.streams("session/")]
    for session in counted(sessions, progress):
        look = judged(workspace.store, session)
        if not look.events:  # it was archived meanwhile
            continue
        if look.kept is None:
            missing += 1
        elif look.right:
            same += 1
        else:
            different.append(session)
        if not check:
            _replace(workspace.store, session, look.events)
            workspace.repository.forget(session)
    runs, other = _rebuild_runs(workspace, check, progress)
    return Rebuilt(same + missing + len(different), same, different, missing, runs, other)


class SnapshotLook(NamedTuple):
    """A snapshot beside the events that it should be the fold of, which others may be writing to."""

    kept: Snapshot | None
    events: list[Event]
    right: bool


def judged(journal: Journal, session: str) -> SnapshotLook:
    """A look at a session's snapshot. It is called wrong only if it was so twice in a row: a scrub, a cleanup
    or a writer may come between reading the one and the other."""
    look = _look(journal, session)
    for _ in range(_LOOKS_MAX):
        if look.right:
            break
        before, look = look, _look(journal, session)
        if look == before:
            break
    return look


def _look(journal: Journal, session: str) -> SnapshotLook:
    stream = stream_of(session)
    kept = journal.snapshots([stream]).get(stream)
    events = journal.read(stream)
    if kept is None or not events:
        return SnapshotLook(kept, events, True)
    return SnapshotLook(kept, events, snapshot_of(session, fold_all(events[: kept.version])) == kept)


def _replace(journal: Journal, session: str, events: list[Event]) -> None:
    """Keep the fold of these events, unless a newer one is there. DamagedError if neither is there, although
    that was tried twice and the session is there."""
    stream, made = stream_of(session), snapshot_of(session, fold_all(events))
    for _ in range(2):
        journal.keep(made)
        after = journal.snapshots([stream]).get(stream)
        if after is not None and (after.fold, after.version) >= (made.fold, made.version):
            return
    if journal.head(stream).version:
        raise DamagedError("a snapshot", stream, "it was not replaced")


def _rebuild_runs(workspace: Workspace, check: bool, progress: Progress | None) -> tuple[int, list[str]]:
    """Read every run from its start; one that cannot be read as it was is left as it is."""
    rows = runs_of(workspace).runs.rows()
    read, different = 0, []
    for listed in counted(rows, progress, lambda row: row.native):
        row = runs_of(workspace).runs.get(listed.key)
        kept = cursor.unpacked(row.reading) if row is not None else None
        anew = _read_anew(workspace, listed, kept)
        if row is None or anew is None:
            continue
        read += 1
        if kept is not None and encode(anew.digest) == kept.digest:
            continue
        different.append(listed.native)
        facts = facts_of(row)
        if not check and facts is not None:
            body = cursor.packed(anew, kept.stamp if kept else cursor.FileStamp(), agent_of(row.agent))
            usage = stored_usage(final(anew, agent_of(row.agent)).usage)
            runs_of(workspace).runs.put([row_of(facts.run, facts.stamp, body, usage)])
    return read, different


def _read_anew(workspace: Workspace, row: RunRow, kept: cursor.StoredReading | None) -> Reading | None:
    """A reading from the start up to where the cursor is: of the copy, else of the transcript."""
    agent, found = agent_of(row.agent), found_of(row)
    copy = runs_of(workspace).archive.find(row.key)
    with suppress(SegueError):
        if copy is not None and (kept is None or copy.about.offset == kept.offset):
            blocks = runs_of(workspace).archive.read(row.key)
            reading = read_blocks(blocks, found, agent)
            reading.offset = copy.about.offset
            return reading
        clean = redact_bytes if workspace.settings["redact"] else None
        reading = read(Path(row.path), agent, row.native, clean)
        return reading if kept is None or reading.offset == kept.offset else None
    return None


def tally(journal: Journal) -> tuple[int, int]:
    """How many sessions and events a store has."""
    heads = journal.streams()
    return sum(name.startswith("session/") for name, _ in heads), sum(version for _, version in heads)


def stale_snapshots(journal: Journal, *, mend: bool = False) -> list[str]:
    """Sessions whose snapshot is not what a refold gives; made anew if asked."""
    stale = []
    for stream, _ in journal.streams("session/"):
        session = stream.removeprefix("session/")
        look = judged(journal, session)
        if not look.right:
            stale.append(session)
            if mend:
                journal.keep(snapshot_of(session, fold_all(look.events)))
    return stale
