"""Taking runs in: what is new of each transcript is read once, masked, folded, copied and kept.

In this order: the copy, the session, the row with the cursor, the copy's session. Whoever is killed in
between leaves a copy without a row, or a session without runs; the next sync comes to the same end, since
what each step writes depends on the transcript alone. A transcript that cannot be read costs no other one.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ...agents import agent as agent_of
from ...agents.base import Found
from ...core.base.values import Value, count
from ...core.runs.digest import FORMAT
from ...core.sessions.state import OPEN
from ...effects.files.archive import CopyOwner, to_drop
from ...effects.files.atomic import file_lock
from ...errors import SegueError
from ...stores.base import RunRow
from ..workspace.on_off import refuse_if_off, session_mark
from . import cursor
from .assign_session import Attaching
from .cursor import FileStamp
from .observed import runs_of
from .read_transcript import recognised
from .run import Run, facts_of, row_of, seen
from .sync_workers import Job, Shares, Taken, Taker, Worker

if TYPE_CHECKING:
    from ..workspace.workspace import Workspace

Progress = Callable[[int, int, str], None]
WAIT_SECONDS = 300.0
FORK_BYTES_MIN = 4 << 20
"""Below this another process is not worth its start."""
ROWS_BYTES = 256 << 20
"""After so many bytes read, rows are kept in between: a kill then costs no more than that."""


class Unreadable(Value):
    """A transcript that could not be taken in."""

    agent: str
    path: str
    reason: str


class Synced(Value):
    """What a sync did."""

    read: int
    """Transcripts of which something was read."""
    new: int
    """Of those, how many were not known before."""
    unchanged: int
    unreadable: list[Unreadable]
    bytes_read: int

    sessions: list[str]
    """Sessions that were begun for runs that had none."""
    dropped: int
    """Copies that the limits of the archive removed."""
    archive_bytes: int
    retention: dict[str, int]
    """Agent to the days after which it deletes its transcripts."""
    shared: int = 0
    """Copies of which something was put into a store that others share."""
    unshared: list[Unreadable] = []
    """Those that were to be, and why they were not."""
    first: list[str] = []
    """Agents of which nothing had been read before, on this machine."""


def deletes(agent: str, days: int, *, kept: bool) -> str:
    """What an agent does with its transcripts in time, and whether copies are kept."""
    told = f"{agent} deletes its transcripts after {count(days, 'day')}"
    return f"{told}; Segue has copies" if kept else f"{told}, and no copies are kept"


def sync(
    workspace: Workspace, *, agent: str = "", paths: Sequence[Path] = (), session: str = "",
    progress: Progress | None = None, workers: int = 1, found: Sequence[Found] = (),
    wait_seconds: float = WAIT_SECONDS, shares: bool = False,
) -> Synced:  # fmt: skip
    """Take in all runs of the project, or the transcripts at these paths, or those that were found.
    ``shares``: and put copies into a store that others share, if that is set."""
    workspace.pause_file.check()
    refuse_if_off(workspace.home, workspace.working_tree.root, session)
    lock = workspace.home.path / "sync.lock"
    with file_lock(lock, timeout_seconds=wait_seconds, what="segue sync"):
        return _Sync(workspace, session, progress, shares).run(agent, paths, workers, found)


class _Sync:
    """One sync, from discovery to the limits of the archive."""

    def __init__(self, workspace: Workspace, session: str, progress: Progress | None, shares: bool) -> None:
        self.workspace = workspace
        self.shares = shares
        self.session = session
        self.progress = progress
        keeps = workspace.settings.number("archive_bytes_max") > 0
        self.archive = runs_of(workspace).archive if keeps else None
        self.capture = runs_of(workspace).capture()
        self.rows = {row.key: row for row in runs_of(workspace).runs.rows()}
        self.project = workspace.working_tree.project_key(workspace.settings)[0]
        self.new = 0
        self.unreadable: list[Unreadable] = []

    def run(self, agent: str, paths: Sequence[Path], workers: int, given: Sequence[Found]) -> Synced:
        found = list(given) or (self._given(paths, agent) if paths else list(self.capture.found(agent)))
        found = [one for one in found if not self._is_off(one)]
        jobs, same = self._jobs(found)
        taker = Taker(self.capture.host, self.archive, self._about, bool(self.workspace.settings["redact"]))
        read = self._take(jobs, taker, workers)
        names, known = sorted({one.agent for one in found}), {row.agent for row in self.rows.values()}
        kept = {name: agent_of(name).retention(self.capture.where) for name in names}
        sessions = self._keep([taken for taken in read if taken.run is not None], same)
        shared, unshared = self._share(read)
        dropped = self._limit()
        self.unreadable += [Unreadable("", "", fault.message) for fault in self.capture.faults]
        return Synced(
            read=sum(taken.run is not None for taken in read), new=self.new, unchanged=len(same),
            unreadable=self.unreadable, bytes_read=sum(taken.size for taken in read), sessions=sessions,
            dropped=dropped, archive_bytes=self.archive.size() if self.archive else 0,
            retention={name: days for name, days in kept.items() if days is not None},
            shared=shared, unshared=unshared, first=[name for name in names if name not in known],
        )  # fmt: skip

    def _is_off(self, found: Found) -> bool:
        """Whether the run belongs to a session that was switched off."""
        row = self.rows.get(self.capture.key(found))
        return (
            row is not None and bool(row.session) and session_mark(self.workspace.home, row.session).exists()
        )

    # -- what there is to do -------------------------------------------------------------------

    def _given(self, paths: Sequence[Path], agent: str) -> list[Found]:
        """The transcripts at these paths; in a folder, all that some agent wrote."""
        found = []
        for path in paths:
            for one in self._files(path, agent):
                try:
                    whose = recognised(one, agent)
                    stat = one.stat()
                except (SegueError, OSError) as fault:
                    if one is path:
                        self.unreadable.append(Unreadable(agent, str(one), _why(fault)))
                    continue
                parent = one.parents[1].name if one.parent.name == "subagents" else ""
                found.append(
                    Found(whose.name, str(one), one.stem, stat.st_mtime, stat.st_size, parent=parent)
                )
        return found

    def _files(self, path: Path, agent: str) -> list[Path]:
        """A file, or all of a folder; of that, what may not be looked into is named."""
        if not path.is_dir():
            return [path]

        def refused(fault: OSError) -> None:
            self.unreadable.append(Unreadable(agent, str(fault.filename), fault.strerror or _why(fault)))

        walked = os.walk(path, onerror=refused)
        names = (os.path.join(folder, name) for folder, _, names in walked for name in names)
        return sorted(Path(name) for name in names if os.path.isfile(name))

    def _jobs(self, found: Iterable[Found]) -> tuple[list[Job], list[tuple[Found, RunRow, Run]]]:
        """What must be read, the largest first, and what has not changed since."""
        jobs, same, twice = [], [], set()
        for one in found:
            key = self.capture.key(one)
            if key in twice:
                continue
            twice.add(key)
            stamp = cursor.stamp_of(one, agent_of(one.agent))
            row = self.rows.get(key)
            facts = facts_of(row) if row is not None else None
            known = facts is not None and facts.format == FORMAT
            if row is not None and facts is not None and known:
                if cursor.is_unchanged(facts.stamp, stamp, agent_of(one.agent)):
                    same.append((one, row, facts.run))
                    continue
                full = runs_of(self.workspace).runs.get(key)
                jobs.append(Job(one, stamp, full.reading if full else None, stamp.size))
            else:
                jobs.append(Job(one, stamp, None, stamp.size))
        return sorted(jobs, key=lambda job: -job.size), same

    def _about(self, found: Found, run: Run) -> CopyOwner:
        return CopyOwner(
            key=run.key, agent=found.agent, native=found.native, path=found.path, cwd=run.cwd,
            project=self.project, project_name=self.workspace.working_tree.project_name(self.project),
            store=str(self.workspace.home.database), parent=run.parent if run.side else "",
        )  # fmt: skip

    # -- reading -------------------------------------------------------------------------------

    def _take(self, jobs: list[Job], taker: Taker, workers: int) -> list[Taken]:
        total = sum(job.size for job in jobs)
        if workers > 1 and total >= FORK_BYTES_MIN and len(jobs) > 1 and hasattr(os, "fork"):
            taken = self._take_shared(jobs, taker, min(workers, len(jobs)))
        else:
            taken = self._take_here(jobs, range(len(jobs)), taker)
        for one in taken:
            if one.fault:
                found = jobs[one.job].found
                self.unreadable.append(Unreadable(found.agent, found.path, one.fault))
        return taken

    def _take_shared(self, jobs: list[Job], taker: Taker, workers: int) -> list[Taken]:
        shares = Shares(len(jobs))
        others = [Worker(taker, jobs, shares) for _ in range(workers - 1)]
        told: list[Taken] = []
        try:
            taken = self._take_here(jobs, shares, taker)
        finally:
            shares.close()
            for worker in others:
                told += worker.results()
        done = {one.job for one in (*taken, *told)}
        left = [place for place in range(len(jobs)) if place not in done]
        return [*taken, *told, *self._take_here(jobs, left, taker)]

    def _take_here(self, jobs: list[Job], places: Iterable[int], taker: Taker) -> list[Taken]:
        taken: list[Taken] = []
        ahead = [0, *accumulate(job.size for job in jobs)]
        saved = unsaved = 0
        for place in places:
            if self.progress:
                self.progress(ahead[place], ahead[-1], jobs[place].found.path)
            taken.append(taker.take(place, jobs[place]))
            unsaved += taken[-1].size
            if unsaved > ROWS_BYTES:
                taker.flush()
                self._save([one for one in taken[saved:] if one.run is not None])
                saved, unsaved = len(taken), 0
        taker.flush()
        return taken

    # -- keeping -------------------------------------------------------------------------------

    def _save(self, taken: list[Taken]) -> None:
        """Rows without sessions, in between; those that had one keep it."""
        runs_of(self.workspace).runs.put(
            [self._row(one, self._session_before(one.run)) for one in taken if one.run]
        )

    def _session_before(self, run: Run | None) -> str:
        row = self.rows.get(run.key) if run is not None else None
        return row.session if row is not None else ""

    def _row(self, taken: Taken, session: str) -> RunRow:
        assert taken.run is not None
        run = msgspec.structs.replace(taken.run, project=self.project, session=session)
        return row_of(run, taken.stamp, taken.reading)

    def _keep(self, taken: list[Taken], same: list[tuple[Found, RunRow, Run]]) -> list[str]:
        """Sessions for runs, then the rows of what was read or stands differently now."""
        named = self.archive.sessions() if self.archive else {}
        runs: dict[str, Run] = {}
        for one in taken:
            assert one.run is not None
            self.new += one.run.key not in self.rows
            before = self._session_before(one.run) or named.get(one.run.key, "")
            runs[one.run.key] = msgspec.structs.replace(one.run, project=self.project, session=before)
        stands = {run.key: seen(run, found, now=time.time()) for found, _, run in same}
        unattached = {key: run for key, run in stands.items() if not run.session and run.goal}
        known = (facts.run for row in self.rows.values() if (facts := facts_of(row)) is not None)
        settled = [stands.get(run.key, run) for run in known if run.key not in runs]
        attaching = Attaching(self.workspace, self.capture.where.roots, settled, given=self.session)
        wanted = sorted(
            [*runs.values(), *unattached.values()], key=lambda run: (run.side, run.began, run.key)
        )
        sessions = {run.key: attaching.session_of(run) for run in wanted}
        made = attaching.commit()
        rows = [self._row(one, sessions[one.run.key]) for one in taken if one.run is not None]
        for _, row, run in same:
            now_stands = msgspec.structs.replace(stands[run.key], session=sessions.get(run.key, run.session))
            if now_stands != run:
                rows.append(msgspec.structs.replace(_restamped(row, now_stands), reading=None))
        if rows:
            runs_of(self.workspace).runs.put(rows)
        if self.archive:
            told = {key: s for key, s in sessions.items() if key in named or key in runs}
            self.archive.name_sessions({k: s for k, s in told.items() if named.get(k, "") != s})
        return made

    def _share(self, taken: list[Taken]) -> tuple[int, list[Unreadable]]:
        """Copies for others, if that is set."""
        if not (self.shares and self.workspace.settings["share_transcripts"]):
            return 0, []
        from .shared_copies import share_runs

        changed = {one.run.key for one in taken if one.run is not None}
        shared, unshared = share_runs(self.workspace, self.archive, self.project, changed)
        return shared, [Unreadable(*one) for one in unshared]

    def _limit(self) -> int:
        """Copies that must go, so that the archive keeps to its limits."""
        if self.archive is None:
            return 0
        settings = self.workspace.settings
        most, days = settings.number("archive_bytes_max"), settings.number("archive_days_max")
        copies = self.archive.copies()
        oldest = copies[0].last if copies else time.time()
        if self.archive.size() <= most and (not days or time.time() - oldest <= days * 86400):
            return 0
        newest = {copy.session: copy.about.key for copy in copies if copy.session}
        stays = {key for session, key in newest.items() if self._is_open(session)}
        weights = self.archive.weights()
        gone = to_drop(copies, weights, bytes_max=most, days_max=days, stays=stays)
        if gone:
            self.archive.drop(gone)
            self.archive.compact()
        return len(gone)

    def _is_open(self, session: str) -> bool:
        book = self.workspace.repository
        return book.exists(session) and book.state(session).status in OPEN


def _restamped(row: RunRow, run: Run) -> RunRow:
    facts = facts_of(row)
    return row_of(run, facts.stamp if facts else FileStamp(), None)


def _why(fault: Exception) -> str:
    return fault.message if isinstance(fault, SegueError) else str(fault)
