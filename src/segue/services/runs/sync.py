"""Syncing runs: what is new in each transcript is read once, masked, folded into a digest, copied and stored.

The order is: the copy, the session, the row with the cursor, the copy's session. A process that is killed in
between leaves a copy without a row or a session without runs. The next sync arrives at the same result,
because what each step writes depends on the transcript alone. A transcript that cannot be read affects no
other.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence
from itertools import accumulate
from pathlib import Path

import msgspec

from ...agents import agent as agent_of
from ...agents.base import Agent, Found
from ...core.base.values import Progress, Value, count
from ...core.runs.digest import FORMAT
from ...core.sessions.state import OPEN
from ...effects.files.archive import CopyOwner, to_drop
from ...effects.files.atomic import file_lock
from ...errors import SegueError
from ...stores.base import RunRow
from ..workspace.on_off import refuse_if_off, session_mark
from ..workspace.workspace import Workspace
from . import cursor
from .assign_session import SessionAssigner
from .observed import runs_of
from .read_transcript import recognised
from .run import Run, RunFacts, facts_of, refreshed, row_of
from .select import run_of_transcript
from .shared_copies import Unreadable, share_runs
from .sync_workers import ImportedTranscript, Job, JobQueue, TranscriptImporter, Worker

WAIT_SECONDS = 300.0
FORK_BYTES_MIN = 4 << 20
"""With less to read, another process is not worth its start."""
ROWS_BYTES = 256 << 20
"""Rows are stored each time so many bytes were read: a kill costs no more than that."""


class Synced(Value):
    """The result of a sync."""

    read: int
    """How many transcripts had something new."""
    new: int
    """Of those, how many were not known before."""
    unchanged: int
    unreadable: list[Unreadable]
    bytes_read: int

    sessions: list[str]
    """Sessions that were begun for runs without one."""
    dropped: int
    """How many copies were dropped to keep the archive within its limits."""
    archive_bytes: int
    retention: dict[str, int]
    """For each agent the number of days after which it deletes its transcripts."""
    shared: int = 0
    """How many copies were added to, or extended in, a shared store."""
    unshared: list[Unreadable] = []
    """Copies that should have been shared, and why they were not."""
    first: list[str] = []
    """Agents of which no run was stored before."""


def retention_notice(agent: str, days: int, *, kept: bool) -> str:
    """A sentence on when an agent deletes its transcripts, and whether Segue keeps copies."""
    deleted = f"{agent} deletes its transcripts after {count(days, 'day')}"
    return f"{deleted}; Segue has copies" if kept else f"{deleted}, and no copies are kept"


def sync(
    workspace: Workspace, *, agent: str = "", paths: Sequence[Path] = (), session: str = "",
    progress: Progress | None = None, workers: int = 1, found: Sequence[Found] = (),
    wait_seconds: float = WAIT_SECONDS, shares: bool = False,
) -> Synced:  # fmt: skip
    """Read and store all runs of the project, or only the transcripts at ``paths`` or in ``found``.
    ``shares`` also puts copies into a shared store where the settings allow it. Raises RefusedError where
    Segue is off."""
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
        self.finder = runs_of(workspace).finder()
        redacts = bool(workspace.settings["redact"])
        self.importer = TranscriptImporter(self.finder.host, self.archive, self._about, redacts)
        self.rows = {row.key: row for row in runs_of(workspace).runs.rows()}
        self.project = workspace.working_tree.project_key(workspace.settings)[0]
        self.new = 0
        self.unreadable: list[Unreadable] = []

    def run(self, agent: str, paths: Sequence[Path], workers: int, chosen: Sequence[Found]) -> Synced:
        transcripts = list(chosen) or (self._at(paths, agent) if paths else list(self.finder.found(agent)))
        transcripts = [found for found in transcripts if not self._is_off(found)]
        jobs, same = self._jobs(transcripts)
        read = self._import(jobs, workers)
        names = sorted({found.agent for found in transcripts})
        known = {row.agent for row in self.rows.values()}
        kept = {name: agent_of(name).retention(self.finder.scope) for name in names}
        sessions = self._store(read, same)
        shared, unshared = self._share(read)
        dropped = self._enforce_limits()
        self.unreadable += [Unreadable("", "", fault.message) for fault in self.finder.faults]
        return Synced(
            read=len(read), new=self.new, unchanged=len(same),
            unreadable=self.unreadable, bytes_read=sum(imported.size for imported in read), sessions=sessions,
            dropped=dropped, archive_bytes=self.archive.size() if self.archive else 0,
            retention={name: days for name, days in kept.items() if days is not None},
            shared=shared, unshared=unshared, first=[name for name in names if name not in known],
        )  # fmt: skip

    def _is_off(self, found: Found) -> bool:
        """Whether the run belongs to a session that is switched off."""
        row = self.rows.get(self.finder.key(found))
        return (
            row is not None and bool(row.session) and session_mark(self.workspace.home, row.session).exists()
        )

    # -- what there is to do -------------------------------------------------------------------

    def _at(self, paths: Sequence[Path], agent: str) -> list[Found]:
        """The transcripts at these paths; of a folder, every file that some agent wrote."""
        transcripts = []
        for path in paths:
            for file in self._files(path, agent):
                try:
                    author = recognised(file, agent)
                    stat = file.stat()
                except (SegueError, OSError) as fault:
                    if file is path:
                        self.unreadable.append(Unreadable(agent, str(file), _reason(fault)))
                    continue
                parent = file.parents[1].name if file.parent.name == "subagents" else ""
                known = None if parent else self._known(str(file), author)
                transcripts.append(
                    known
                    or Found(author.name, str(file), file.stem, stat.st_mtime, stat.st_size, parent=parent)
                )
        return transcripts

    def _known(self, path: str, author: Agent) -> Found | None:
        """The transcript as the agent's own discovery finds it, under the id that the agent gave it."""
        return run_of_transcript(self.finder, path, agent=author.name) if author.form != "database" else None

    def _files(self, path: Path, agent: str) -> list[Path]:
        """The file itself, or all files below a folder; folders that cannot be read are reported."""
        if not path.is_dir():
            return [path]

        def refused(fault: OSError) -> None:
            self.unreadable.append(Unreadable(agent, str(fault.filename), fault.strerror or _reason(fault)))

        walked = os.walk(path, onerror=refused)
        names = (os.path.join(folder, name) for folder, _, names in walked for name in names)
        return sorted(Path(name) for name in names if os.path.isfile(name))

    def _jobs(self, transcripts: Iterable[Found]) -> tuple[list[Job], list[tuple[Found, RunFacts]]]:
        """The transcripts that must be read, the largest first, and those that have not changed."""
        jobs, same = [], []
        keyed: dict[str, Found] = {}
        for found in transcripts:
            keyed.setdefault(self.finder.key(found), found)
        for key, found in keyed.items():
            stamp = cursor.stamp_of(found, agent_of(found.agent))
            facts = facts_of(self.rows[key]) if key in self.rows else None
            if facts is None or facts.format != FORMAT:
                jobs.append(Job(found, stamp, None))
            elif cursor.is_unchanged(facts.stamp, stamp, agent_of(found.agent)):
                same.append((found, facts))
            else:
                full = runs_of(self.workspace).runs.get(key)
                jobs.append(Job(found, stamp, full.reading if full else None))
        return sorted(jobs, key=lambda job: -job.stamp.size), same

    def _about(self, copied: CopyOwner, run: Run) -> CopyOwner:
        return msgspec.structs.replace(
            copied, cwd=run.cwd, project=self.project, store=str(self.workspace.home.database),
            project_name=self.workspace.working_tree.project_name(self.project),
            parent=run.parent if run.side else "",
        )  # fmt: skip

    # -- reading -------------------------------------------------------------------------------

    def _import(self, jobs: list[Job], workers: int) -> list[ImportedTranscript]:
        total = sum(job.stamp.size for job in jobs)
        if workers > 1 and total >= FORK_BYTES_MIN and len(jobs) > 1 and hasattr(os, "fork"):
            results = self._import_in_parallel(jobs, min(workers, len(jobs)))
        else:
            results = self._import_here(jobs, range(len(jobs)))
        for result in results:
            if result.fault:
                found = jobs[result.job].found
                self.unreadable.append(Unreadable(found.agent, found.path, result.fault))
        return [result for result in results if result.run is not None]

    def _import_in_parallel(self, jobs: list[Job], workers: int) -> list[ImportedTranscript]:
        queue = JobQueue(len(jobs))
        others = [Worker(self.importer, jobs, queue) for _ in range(workers - 1)]
        results: list[ImportedTranscript] = []
        try:
            results += self._import_here(jobs, queue)
        finally:
            queue.close()
            for worker in others:
                results += worker.results()
        done = {result.job for result in results}
        missing = [index for index in range(len(jobs)) if index not in done]  # of workers that died
        return [*results, *self._import_here(jobs, missing)]

    def _import_here(self, jobs: list[Job], indices: Iterable[int]) -> list[ImportedTranscript]:
        results: list[ImportedTranscript] = []
        bytes_before = [0, *accumulate(job.stamp.size for job in jobs)]
        saved = unsaved = 0
        for index in indices:
            if self.progress:
                self.progress(bytes_before[index], bytes_before[-1], jobs[index].found.path)
            results.append(self.importer.read(index, jobs[index]))
            unsaved += results[-1].size
            if unsaved > ROWS_BYTES:
                self.importer.flush()
                self._save(results[saved:])
                saved, unsaved = len(results), 0
        self.importer.flush()
        return results

    # -- storing -------------------------------------------------------------------------------

    def _save(self, imported: list[ImportedTranscript]) -> None:
        """Store rows in the middle of a sync; runs that had a session keep it, others get theirs at the
        end."""
        runs_of(self.workspace).runs.put(
            [self._row(result, self._session_before(result.run)) for result in imported if result.run]
        )

    def _session_before(self, run: Run | None) -> str:
        row = self.rows.get(run.key) if run is not None else None
        return row.session if row is not None else ""

    def _row(self, imported: ImportedTranscript, session: str) -> RunRow:
        assert imported.run is not None
        run = msgspec.structs.replace(imported.run, project=self.project, session=session)
        return row_of(run, imported.stamp, imported.reading)

    def _store(self, imported: list[ImportedTranscript], same: list[tuple[Found, RunFacts]]) -> list[str]:
        """Assign sessions to runs, then store the rows of those that were read or whose status has changed.
        Returns the sessions that were begun."""
        archived = self.archive.sessions() if self.archive else {}
        runs: dict[str, Run] = {}
        for result in imported:
            assert result.run is not None
            self.new += result.run.key not in self.rows
            before = self._session_before(result.run) or archived.get(result.run.key, "")
            runs[result.run.key] = msgspec.structs.replace(result.run, project=self.project, session=before)
        unchanged = {facts.run.key: refreshed(facts.run, found, now=time.time()) for found, facts in same}
        unattached = {key: run for key, run in unchanged.items() if not run.session and run.goal}
        known = (facts.run for row in self.rows.values() if (facts := facts_of(row)) is not None)
        settled = [unchanged.get(run.key, run) for run in known if run.key not in runs]
        assigner = SessionAssigner(self.workspace, self.finder.scope.roots, settled, session=self.session)
        wanted = sorted(
            [*runs.values(), *unattached.values()], key=lambda run: (run.side, run.began, run.key)
        )
        sessions = {run.key: assigner.session_of(run) for run in wanted}
        begun = assigner.commit()
        rows = [self._row(result, sessions[result.run.key]) for result in imported if result.run is not None]
        for _, facts in same:
            session = sessions.get(facts.run.key, facts.run.session)
            present = msgspec.structs.replace(unchanged[facts.run.key], session=session)
            if present != facts.run:
                rows.append(row_of(present, facts.stamp, None))
        if rows:
            runs_of(self.workspace).runs.put(rows)
        if self.archive:
            copied = {key: session for key, session in sessions.items() if key in archived or key in runs}
            self.archive.name_sessions({k: s for k, s in copied.items() if archived.get(k, "") != s})
        return begun

    def _share(self, imported: list[ImportedTranscript]) -> tuple[int, list[Unreadable]]:
        if not (self.shares and self.workspace.settings["share_transcripts"]):
            return 0, []
        changed = {result.run.key for result in imported if result.run is not None}
        return share_runs(self.workspace, self.archive, self.project, changed)

    def _enforce_limits(self) -> int:
        """Drop the copies that exceed the limits of the archive. Returns how many."""
        if self.archive is None:
            return 0
        settings = self.workspace.settings
        bytes_max, days = settings.number("archive_bytes_max"), settings.number("archive_days_max")
        copies = self.archive.copies()
        oldest = copies[0].last if copies else time.time()
        if self.archive.size() <= bytes_max and (not days or time.time() - oldest <= days * 86400):
            return 0
        newest = {copy.session: copy.about.key for copy in copies if copy.session}
        stays = {key for session, key in newest.items() if self._is_open(session)}
        weights = self.archive.weights()
        gone = to_drop(copies, weights, bytes_max=bytes_max, days_max=days, stays=stays)
        if gone:
            self.archive.drop(gone)
            self.archive.compact()
        return len(gone)

    def _is_open(self, session: str) -> bool:
        repository = self.workspace.repository
        return repository.exists(session) and repository.state(session).status in OPEN


def _reason(fault: Exception) -> str:
    return fault.message if isinstance(fault, SegueError) else str(fault)
