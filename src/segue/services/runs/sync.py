"""Syncing runs: what is new in each transcript is read once, masked, folded into a digest, copied and stored.

The order is: the copy and the row with the cursor, every few seconds; in the end the sessions, the rows again
and the copies' sessions. A process that is killed in between leaves a copy without a row, rows without a
session or a session without runs. The next sync goes on behind the rows and arrives at the same result,
because what each step writes depends on the transcript alone. A transcript that cannot be read affects no
other.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from ...agents import agent as agent_of, agent_name
from ...agents.base import Found
from ...core.base.values import Progress, Value, count
from ...core.runs.digest import FORMAT
from ...core.runs.model import RunDigest
from ...core.sessions.state import OPEN
from ...effects.deadline import NEVER, Deadline
from ...effects.files.archive import CopyOwner, to_drop
from ...effects.files.atomic import file_lock
from ...errors import SegueError
from ...stores.base import RunRow
from ..workspace.on_off import refuse_if_off, session_mark
from ..workspace.workspace import Workspace
from . import cursor
from .assign_session import SessionAssigner, close_empty_session
from .cursor import FileStamp
from .discovery import found_of
from .duplicates import RunsSeen
from .observed import runs_of
from .read_transcript import recognised, sayings_of
from .run import Run, RunFacts, facts_of, goal_of, lead_of, refreshed, row_of, run_of, stored_usage
from .said import decode_sayings, encode_sayings, keep_said
from .select import newest_unread
from .shared_copies import Unreadable, forget, share_runs
from .sync_workers import NO_JOB, ImportedTranscript, Job, JobQueue, TranscriptImporter, Worker

WAIT_SECONDS = 300.0
FORK_BYTES_MIN = 4 << 20
"""With less to read, another process is not worth its start."""
SAVE_SECONDS = 2.0
"""How often copies and rows are stored: a kill costs no more than that, and the transcript being read."""


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
    searchable: int = 0
    """How many runs of other projects can be searched, where these were looked for."""


def retention_notice(agent: str, days: int, *, kept: bool) -> str:
    """A sentence on when an agent deletes its transcripts, and whether Segue keeps copies."""
    deleted = f"{agent} deletes its transcripts after {count(days, 'day')}"
    return f"{deleted}; Segue has copies" if kept else f"{deleted}, and no copies are kept"


def sync(
    workspace: Workspace, *, agent: str = "", paths: Sequence[Path] = (), session: str = "",
    progress: Progress | None = None, workers: int = 1, found: Sequence[Found] = (),
    wait_seconds: float = WAIT_SECONDS, shares: bool = False, until: Deadline = NEVER,
) -> Synced:  # fmt: skip
    """Read and store all runs of the project, or only the transcripts at ``paths`` or in ``found``.
    ``shares`` also puts copies into a shared store where the settings allow it. With ``until`` the first of
    them comes first, and what cannot be read in time is left, as are the limits of the archive. Raises
    RefusedError where Segue is off."""
    workspace.pause_file.check()
    agent = agent_name(agent)
    refuse_if_off(workspace.home, workspace.working_tree.root, session)
    lock = workspace.home.path / "sync.lock"
    with file_lock(lock, timeout_seconds=wait_seconds, what="segue sync"):
        return _Sync(workspace, session, progress, shares, until).run(agent, paths, workers, found)


def take_in_newest(workspace: Workspace) -> None:
    """Read what is new in the newest runs of this project. Whatever stands in the way (nothing can be
    written, Segue is off, somebody else syncs), the runs that are known already stay as they are."""
    if workspace.only_looks:
        return
    with suppress(SegueError, OSError):
        new = newest_unread(runs_of(workspace).finder())
        if new:
            sync(workspace, found=new, wait_seconds=0.1)


def take_in(workspace: Workspace, row: RunRow) -> None:
    """Read what is new in one run of this project that was synced before; as ``take_in_newest``, whatever
    stands in the way."""
    agent, facts, found = agent_of(row.agent), facts_of(row), found_of(row)
    stamp = cursor.stamp_of(found, agent)
    if facts is None or not stamp.inode or cursor.is_unchanged(facts.stamp, stamp, agent):
        return
    with suppress(SegueError, OSError):
        if row.project in workspace.working_tree.project_keys(workspace.settings):
            sync(workspace, found=[found], wait_seconds=0.1)


class _Sync:
    """One sync, from discovery to the limits of the archive."""

    def __init__(
        self, workspace: Workspace, session: str, progress: Progress | None, shares: bool, until: Deadline
    ) -> None:
        self.workspace = workspace
        self.until = until
        self.shares = shares
        self.session = session
        self.progress = progress
        keeps = workspace.settings.number("archive_bytes_max") > 0
        self.archive = runs_of(workspace).archive if keeps else None
        self.finder = runs_of(workspace).finder(every_file=True)
        redacts = bool(workspace.settings["redact"])
        index = runs_of(workspace).search_index if keeps else None
        self.importer = TranscriptImporter(self.finder.host, self.archive, index, self._about, redacts, until)
        self.rows = {row.key: row for row in runs_of(workspace).runs.rows()}
        self.project = workspace.working_tree.project_key(workspace.settings)[0]
        self.new = 0
        self.unreadable: list[Unreadable] = []
        self.duplicates: dict[str, str] = {}
        """The keys of rows that are a run's under another key, which is the value."""
        self._listed: dict[str, list[Found]] = {}

    def run(self, agent: str, paths: Sequence[Path], workers: int, chosen: Sequence[Found]) -> Synced:
        transcripts = list(chosen) or (self._at(paths, agent) if paths else list(self.finder.found(agent)))
        transcripts = [found for found in transcripts if not self._is_off(found)]
        jobs, unwritten, same = self._jobs(transcripts)
        read = [*self._import(jobs, workers), *map(self._seen_by_hooks, unwritten)]
        self._duplicates(transcripts)
        names = sorted({found.agent for found in transcripts})
        known = {row.agent for row in self.rows.values()}
        kept = {name: agent_of(name).retention(self.finder.scope) for name in names}
        sessions = self._store(read, same)
        runs = (result.run for result in read if result.run is not None and result.run.written)
        answered = {(run.agent, run.id) for run in runs if run.calls or run.left != "middle"}
        runs_of(self.workspace).unwritten.forget(answered)
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
                    found = self.finder.transcripts_at(file, author)
                except (SegueError, OSError) as fault:
                    if file is path:
                        self.unreadable.append(Unreadable(agent, str(file), _reason(fault)))
                    continue
                if not found and file is path:
                    reason = "it has no conversation of this project"
                    self.unreadable.append(Unreadable(author.name, str(file), reason))
                transcripts += [self._original(one) for one in found]
        return transcripts

    def _original(self, found: Found) -> Found:
        """The same conversation where its agent keeps it, if the transcript is only a copy of that."""
        if found.parent:
            return found
        same = [one for one in self._all(found.agent) if one.native == found.native]
        return found if not same or any(one.path == found.path for one in same) else same[0]

    def _all(self, agent: str) -> list[Found]:
        """The transcripts of the project that an agent keeps."""
        if agent not in self._listed:
            self._listed[agent] = list(self.finder.found(agent))
        return self._listed[agent]

    def _files(self, path: Path, agent: str) -> list[Path]:
        """The file itself, or all files below a folder; folders that cannot be read are reported."""
        if not path.is_dir():
            return [path]

        def refused(fault: OSError) -> None:
            self.unreadable.append(Unreadable(agent, str(fault.filename), fault.strerror or _reason(fault)))

        walked = os.walk(path, onerror=refused)
        names = (os.path.join(folder, name) for folder, _, names in walked for name in names)
        return sorted(Path(name) for name in names if os.path.isfile(name))

    def _jobs(
        self, transcripts: Iterable[Found]
    ) -> tuple[list[Job], list[Found], list[tuple[Found, RunFacts]]]:
        """The transcripts that must be read, the largest first unless somebody waits, runs without one that
        only hooks saw, and those that have not changed."""
        jobs, unwritten, same = [], [], []
        keyed: dict[str, Found] = {}
        for found in transcripts:
            keyed.setdefault(self.finder.key(found), found)
        for key, found in keyed.items():
            stamp = cursor.stamp_of(found, agent_of(found.agent))
            facts = facts_of(self.rows[key]) if key in self.rows else None
            is_read_otherwise = facts is not None and facts.run.side != bool(found.parent)
            is_new = facts is None or facts.format != FORMAT or is_read_otherwise
            if is_new and not stamp.inode and not self.finder.is_written(found):
                unwritten.append(found)
            elif facts is None or is_new:
                jobs.append(Job(found, stamp, None, facts.run if facts is not None else None))
            elif cursor.is_unchanged(facts.stamp, stamp, agent_of(found.agent)):
                same.append((found, facts))
            else:
                full = runs_of(self.workspace).runs.get(key)
                jobs.append(Job(found, stamp, full.reading if full else None, facts.run))
        if not self.until.is_set:
            jobs.sort(key=lambda job: -job.stamp.size)
        return jobs, unwritten, same

    def _about(self, copied: CopyOwner, run: Run) -> CopyOwner:
        return msgspec.structs.replace(
            copied, cwd=run.cwd, project=self.project, store=str(self.workspace.home.database),
            project_name=self.workspace.working_tree.project_name(self.project),
            parent=lead_of(run),
        )  # fmt: skip

    # -- reading -------------------------------------------------------------------------------

    def _import(self, jobs: list[Job], workers: int) -> list[ImportedTranscript]:
        total = sum(job.stamp.size for job in jobs)
        forks = workers > 1 and total >= FORK_BYTES_MIN and len(jobs) > 1 and hasattr(os, "fork")
        imports = _Imports(self, jobs)
        try:
            if forks:
                imports.in_parallel(min(workers, len(jobs)))
            imports.here(imports.missing())  # all of them, or those of workers that died
        finally:
            imports.save()  # also what was read before an interruption
        for result in imports.results:
            if result.fault:
                found = jobs[result.job].found
                self.unreadable.append(Unreadable(found.agent, found.path, result.fault))
            elif result.run is not None:
                found = jobs[result.job].found
                result.run = self._with_goal_seen(result.run, found)
                if result.run.goal and not result.said and not result.run.side:
                    result.said = self._said_to_hooks(found)
        return [result for result in imports.results if result.run is not None]

    def _with_goal_seen(self, run: Run, found: Found) -> Run:
        """The run; of one that died before its prompt was written, with the goal that a hook saw."""
        oldest = time.time() - 86_400 * self.workspace.settings.number("resumable_days")
        if run.goal or run.calls or found.sign == "alive" or found.changed < oldest:
            return run
        return msgspec.structs.replace(run, goal=goal_of(self.finder.with_prompts_seen(found, RunDigest())))

    def _said_to_hooks(self, found: Found) -> bytes:
        """What a run said that died before its prompt was written."""
        seen = self.finder.prompted(found)
        return encode_sayings(sayings_of(seen, agent_of(found.agent))) if seen is not None else b""

    def _seen_by_hooks(self, found: Found) -> ImportedTranscript:
        """A run whose agent died before it wrote anything."""
        reading, agent = self.finder.reading(found), agent_of(found.agent)
        run = run_of(found, reading, reading.digest, host=self.finder.host, now=time.time())
        run = msgspec.structs.replace(run, present=False, written=False)
        packed, usage = cursor.packed(reading, FileStamp(), agent), stored_usage(reading.digest.usage)
        said = encode_sayings(sayings_of(reading, agent))
        return ImportedTranscript(NO_JOB, run, reading=packed, usage=usage, said=said)

    # -- storing -------------------------------------------------------------------------------

    def save(self, imported: list[ImportedTranscript]) -> None:
        """Store rows in the middle of a sync; runs that had a session keep it, others get theirs at the
        end."""
        self.importer.flush()
        rows = [
            self._row(result, self._session_before(result.run), result.run.parent)
            for result in imported
            if result.run
        ]
        if rows:
            runs_of(self.workspace).runs.put(rows)

    def _session_before(self, run: Run | None) -> str:
        row = self.rows.get(run.key) if run is not None else None
        return row.session if row is not None else ""

    def _duplicates(self, transcripts: Iterable[Found]) -> None:
        """Find the rows of runs that were read under another id or path before. The run takes over the
        session of such a row where it has none of its own, or where only that one was declared."""
        seen = RunsSeen(transcripts, self.finder.key)
        for row in self.rows.values():
            found = seen.same_run(row, is_gone=self._is_gone)
            if found is not None:
                self.duplicates[row.key] = self.finder.key(found)

    def _is_gone(self, row: RunRow) -> bool:
        """Whether the transcript of a row was on this machine, and is no more."""
        facts = facts_of(row) if self.workspace.home.shared_store else None
        is_elsewhere = facts is not None and facts.run.host != self.finder.host
        return not is_elsewhere and not os.path.exists(row.path)

    def _row(self, imported: ImportedTranscript, session: str, parent: str) -> RunRow:
        assert imported.run is not None
        run = msgspec.structs.replace(imported.run, project=self.project, session=session, parent=parent)
        return row_of(run, imported.stamp, imported.reading, imported.usage, unsaid=bool(imported.said))

    def _store(self, imported: list[ImportedTranscript], same: list[tuple[Found, RunFacts]]) -> list[str]:
        """Assign sessions to runs, then store the rows of those that were read or whose status has changed.
        Returns the sessions that were begun."""
        archived = self.archive.sessions() if self.archive else {}
        twins = {key: self.rows.pop(key) for key in self.duplicates}
        runs: dict[str, Run] = {}
        for result in imported:
            assert result.run is not None
            self.new += result.run.key not in self.rows
            before = self._session_before(result.run) or archived.get(result.run.key, "")
            runs[result.run.key] = msgspec.structs.replace(result.run, project=self.project, session=before)
        unchanged = {
            facts.run.key: self._with_goal_seen(refreshed(facts.run, found, now=time.time()), found)
            for found, facts in same
        }
        merged = set(self.duplicates.values())
        unattached = {
            key: run for key, run in unchanged.items() if (not run.session and run.goal) or key in merged
        }
        known = (facts.run for row in self.rows.values() if (facts := facts_of(row)) is not None)
        settled = [unchanged.get(run.key, run) for run in known if run.key not in runs]
        settled += (run for run in runs.values() if self._session_before(run))
        assigner = SessionAssigner(self.workspace, self.finder.scope.roots, settled, session=self.session)
        for key, twin in twins.items():
            assigner.merge(self.duplicates[key], twin.session)
        wanted = sorted(
            [*runs.values(), *unattached.values()], key=lambda run: (run.side, run.began, run.key)
        )
        sessions: dict[str, str] = {}
        leads: dict[str, str] = {}
        for run in wanted:  # sub-agents come after the runs that they may work for
            leads[run.key] = assigner.lead_of(run)
            sessions[run.key] = assigner.session_of(msgspec.structs.replace(run, parent=leads[run.key]))
        begun = assigner.commit()
        self._keep_said(imported, sessions, assigner.came_after)
        rows = [
            self._row(result, sessions[result.run.key], leads[result.run.key])
            for result in imported
            if result.run is not None
        ]
        rows += (
            row
            for found, facts in same
            if (row := self._row_if_changed(found, facts, unchanged[facts.run.key], sessions, leads))
            is not None
        )
        if rows:
            runs_of(self.workspace).runs.put(rows)
        self._drop(twins)
        left = {run.session for run in wanted if run.session and run.session != sessions[run.key]}
        for session in left | {row.session for row in twins.values() if row.session}:
            if not runs_of(self.workspace).runs.rows(session=session):
                close_empty_session(self.workspace, session)
        if self.archive:
            copied = {key: session for key, session in sessions.items() if key in archived or key in runs}
            self.archive.name_sessions({k: s for k, s in copied.items() if archived.get(k, "") != s})
        return begun

    def _row_if_changed(
        self, found: Found, facts: RunFacts, run: Run, sessions: Mapping[str, str], leads: Mapping[str, str]
    ) -> RunRow | None:
        """The row of a run whose transcript is as it was, if anything else about it has changed."""
        key = facts.run.key
        named = {
            "session": sessions.get(key, facts.run.session),
            "parent": leads.get(key, facts.run.parent),
        }
        present = msgspec.structs.replace(run, **named)
        if present.goal and not facts.run.goal:
            said = decode_sayings(self._said_to_hooks(found))
            keep_said(self.workspace, {key: present.session}, [(present, said)])
        waiting = self._keep_waiting(present, facts)
        if present == facts.run and waiting is None:
            return None
        unsaid = facts.unsaid and waiting is None
        return row_of(present, facts.stamp, waiting, facts.usage, unsaid=unsaid)

    def _keep_said(
        self, imported: list[ImportedTranscript], sessions: Mapping[str, str], came_after: Mapping[str, str]
    ) -> None:
        """Bring what runs said into the ledgers of their sessions; what is there no longer waits in a row."""
        said = [(one.run, decode_sayings(one.said)) for one in imported if one.run is not None]
        in_order = sorted(said, key=lambda pair: pair[0].began)
        kept = keep_said(self.workspace, sessions, in_order, came_after)
        for result in imported:
            if result.run is not None and result.run.key in kept:
                result.said, result.reading = b"", cursor.without_sayings(result.reading)

    def _keep_waiting(self, run: Run, facts: RunFacts) -> bytes | None:
        """Bring what waits in the row of an unchanged run into the ledger of its session; the reading without
        it, or None if nothing waits or it could not be kept."""
        row = runs_of(self.workspace).runs.get(run.key) if facts.unsaid and run.session else None
        reading = cursor.reading_of(cursor.unpacked(row.reading)) if row is not None else None
        if row is None or not row.reading or reading is None:
            return None
        said = sayings_of(reading, agent_of(run.agent))
        is_kept = keep_said(self.workspace, {run.key: run.session}, [(run, said)])
        return cursor.without_sayings(row.reading) if is_kept else None

    def _drop(self, twins: Mapping[str, RunRow]) -> None:
        """Remove rows and copies of runs that are stored under another key by now."""
        if not twins:
            return
        runs_of(self.workspace).runs.drop(twins)
        if self.archive:
            self.archive.drop(twins)
            runs_of(self.workspace).search_index.drop(twins)
        for key in twins:
            forget(self.workspace.store, key)

    def _share(self, imported: list[ImportedTranscript]) -> tuple[int, list[Unreadable]]:
        if not (self.shares and self.workspace.settings["share_transcripts"]):
            return 0, []
        changed = {result.run.key for result in imported if result.run is not None}
        return share_runs(self.workspace, self.archive, self.project, changed)

    def _enforce_limits(self) -> int:
        """Drop the copies that exceed the limits of the archive. Returns how many."""
        if self.archive is None or self.until.is_set:  # what has no end in sight is left to a command
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
            runs_of(self.workspace).search_index.drop(gone)
        return len(gone)

    def _is_open(self, session: str) -> bool:
        repository = self.workspace.repository
        return repository.exists(session) and repository.state(session).status in OPEN


class _Imports:
    """The jobs of a sync that were done, by this process and by others, stored every few seconds."""

    def __init__(self, sync: _Sync, jobs: list[Job]) -> None:
        self._sync, self._jobs = sync, jobs
        self.results: list[ImportedTranscript] = []
        self._saved = 0
        self._due = time.monotonic() + SAVE_SECONDS
        self._bytes = [job.stamp.size for job in jobs]
        self._total_bytes, self._done_bytes = sum(self._bytes), 0

    def missing(self) -> list[int]:
        """The jobs that nobody has done yet."""
        done = {result.job for result in self.results}
        return [index for index in range(len(self._jobs)) if index not in done]

    def in_parallel(self, workers: int) -> None:
        """Do the jobs together with other processes; what those have done is taken in as it comes."""
        queue = JobQueue(len(self._jobs))
        others = [Worker(self._sync.importer, self._jobs, queue) for _ in range(workers - 1)]
        for worker in others:
            worker.listen()
        try:
            self.here(queue, others)
        finally:
            queue.close()
            for worker in others:
                self._add(worker.rest())

    def here(self, indices: Iterable[int], others: Sequence[Worker] = ()) -> None:
        """Do jobs in this process."""
        for number, index in enumerate(indices):
            if number and self._sync.until.is_over:
                break
            self._tell(index)
            self._add([self._sync.importer.read(index, self._jobs[index])])
            for worker in others:
                self._add(worker.ready())
            if time.monotonic() > self._due:
                self.save()
        self._sync.importer.finish()

    def save(self) -> None:
        """Store what was read since the last time."""
        self._sync.save(self.results[self._saved :])
        self._saved = len(self.results)
        self._due = time.monotonic() + SAVE_SECONDS

    def _add(self, results: Iterable[ImportedTranscript]) -> None:
        for result in results:
            self.results.append(result)
            self._done_bytes += self._bytes[result.job]

    def _tell(self, index: int) -> None:
        if self._sync.progress:
            what = f"{len(self.results) + 1:,} of {count(len(self._jobs), 'file')}  "
            self._sync.progress(self._done_bytes, self._total_bytes, what + self._jobs[index].found.path)


def _reason(fault: Exception) -> str:
    return fault.message if isinstance(fault, SegueError) else str(fault)
