"""Finding the runs of a project, whichever agent made them, and reading what each of them says.

No store is needed. Where there is one, its index of transcripts and its cursors save opening files, the
archive supplies transcripts that an agent has deleted, and copies in a shared store those of other machines.
No more files are opened than the agents' own discovery opens. Which of the runs is meant is decided in
``select.py``.
"""

from __future__ import annotations

import heapq
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path

from msgspec.structs import replace

from ..._files import is_file
from ...agents import agent as agent_of, agents, conversation_formats, traits_of
from ...agents.base import HEADS_MAX, Agent, Found, SearchScope
from ...core.base.lazy import regex
from ...core.base.record_lines import PassedLines, record_lines
from ...core.base.values import seconds_of
from ...core.ledger.sayings import Saying
from ...core.runs.digest import decode, encode, fold
from ...core.runs.events import BriefGiven
from ...core.runs.model import RunDigest
from ...core.runs.steps import Call, Report, Result, Step
from ...effects.deadline import NEVER, Deadline
from ...effects.files.archive import Archive
from ...effects.files.growing_file import chunks
from ...effects.git import repository as git
from ...effects.processes.identity import ancestors, host_name, is_alive, open_files
from ...errors import SegueError
from ...stores.base import RunRow, Runs
from . import cursor
from .read_transcript import Clean, Reading, read_in_time, read_on, sayings_of, unreadable
from .run import facts_of, key_of, lead_of, run_in
from .shared_copies import SharedCopies
from .unwritten_runs import UnwrittenRuns

ASKING_SECONDS = 120.0
"""How old the call of this very command can be in the transcript that gave it."""
_END_BYTES = 16_384
_TAIL_BYTES = 65_536
_SEGUE = regex(r"(?:^|[\s;&|(/])segue\s")
_LOOKAHEAD = 32


class RunFinder:
    """The runs of the project that holds a folder, or of all projects."""

    def __init__(
        self, folder: Path, environment: Mapping[str, str], *, runs: Runs | None = None,
        archive: Archive | None = None, copies: SharedCopies | None = None, everywhere: bool = False,
        every_file: bool = False, data: Path | None = None, until: Deadline = NEVER,
        cut_readings: dict[str, Reading] | None = None,
    ) -> None:  # fmt: skip
        self.until = until
        """When nothing more is read, because an agent waits."""
        self.cut_readings = cut_readings if cut_readings is not None else {}
        """What was read of transcripts that there was no time for, by the keys of their runs."""
        self.folder = folder.absolute()
        self.environment = environment
        self.runs = runs
        self.archive = archive
        self.copies = copies
        """Copies of transcripts in a shared store."""
        self.everywhere = everywhere
        self.data = data
        """The data folder, in which the conversations of programs are told."""
        self.unwritten: UnwrittenRuns | None = None
        """Runs that only hooks know of."""
        self.every_file = every_file
        """Whether files of unknown projects are all opened, and not only the newest of them."""
        self.host = host_name()
        self._cached: list[Found] | None = None
        self._rest: Iterator[Found] = iter(())
        self._readings: dict[str, Reading] = {}
        self.asking = ""
        """The id of the run that is about to be told something: what it says is not told to itself."""
        self.digests: dict[str, RunDigest] = {}
        """A cache of masked digests."""
        self.briefs: dict[str, BriefGiven | None] = {}
        """A cache of the briefs whose work runs took up."""
        self.faults: list[SegueError] = []
        """Errors of agents whose transcripts could not be looked for or read."""

    def elsewhere(self) -> RunFinder | None:
        """The same for the runs of every project on this machine; None if these are looked for already."""
        if self.everywhere:
            return None
        finder = RunFinder(
            self.folder, self.environment, runs=self.runs, archive=self.archive, copies=self.copies,
            everywhere=True, every_file=True, until=self.until, cut_readings=self.cut_readings,
        )  # fmt: skip
        finder.unwritten = self.unwritten
        return finder

    # -- discovery -----------------------------------------------------------------------------

    @cached_property
    def scope(self) -> SearchScope:
        """Where the agents look for transcripts."""
        repository = git.find(self.folder)
        trees = git.worktrees(repository) if repository else (self.folder,)
        roots = () if self.everywhere else tuple(dict.fromkeys((*trees, *(t.resolve() for t in trees))))
        remote = git.normalise_url(git.remote_url(repository)) if repository else ""
        home = Path(self.environment.get("HOME") or Path.home())
        return SearchScope(
            env=self.environment, home=home, roots=roots, remote=remote, is_alive=is_alive,
            known=self.runs.known() if self.runs is not None else {},
            heads_max=0 if self.every_file else HEADS_MAX, data=self.data,
        )  # fmt: skip

    def found(self, agent: str = "") -> Iterator[Found]:
        """The transcripts of the project, of one agent or of all: lazily, the newest first."""
        if agent or self._cached is None:
            chosen = [agent_of(agent)] if agent else [*agents(), *conversation_formats(self.data)]
            unwritten = self._unwritten({one.name for one in chosen})
            sources = (*map(self._of, chosen), unwritten, self._deleted(chosen))
            return heapq.merge(*sources, key=lambda found: -found.changed)
        return self._replay(self._cached)

    @property
    def remembers(self) -> bool:
        """Whether transcripts and readings are cached."""
        return self._cached is not None

    def remember(self) -> None:
        """Cache from now on which transcripts there are and what was read of them."""
        if self._cached is None:
            self._rest = self.found()
            self._cached = []

    def _replay(self, cached: list[Found]) -> Iterator[Found]:
        index = 0
        while True:
            if index == len(cached):
                following = next(self._rest, None)
                if following is None:
                    return
                cached.append(following)
            yield cached[index]
            index += 1

    def _of(self, agent: Agent) -> Iterator[Found]:
        """The transcripts of an agent. If its discovery fails, only its own runs are missing.

        An agent's order is nearly right (a resumed conversation may be listed where it began), so a few are
        read ahead and the newest of them is yielded."""
        ahead: list[tuple[float, int, Found]] = []
        try:
            for number, found in enumerate(agent.find(self.scope)):
                if not is_file(found.path):
                    continue  # a folder, a pipe or a device in the place of a transcript
                heapq.heappush(ahead, (-found.changed, number, found))
                if len(ahead) > _LOOKAHEAD:
                    yield heapq.heappop(ahead)[2]
        except SegueError as fault:
            self.faults.append(fault)
        except Exception as fault:
            self.faults.append(unreadable(Path(agent.name), f"searching for its transcripts failed: {fault}"))
        while ahead:
            yield heapq.heappop(ahead)[2]

    def _unwritten(self, agents: set[str]) -> list[Found]:
        """The runs of agents that died before they wrote anything."""
        runs = self.unwritten.found(self.scope) if self.unwritten is not None else []
        return [found for found in runs if found.agent in agents]

    def _deleted(self, agents: Sequence[Agent]) -> list[Found]:
        """The runs whose transcripts their agents deleted by themselves; what was read of them is kept."""
        patterns = [pattern for one in agents if (pattern := traits_of(one).deletes)]
        if not patterns or self.runs is None:
            return []
        gone = {
            path for path, cwd in self.scope.known.items()
            if any(fnmatchcase(path, pattern) for pattern in patterns)
            and self.scope.holds(cwd) and not os.path.exists(path)
        }  # fmt: skip
        return [found_of(row) for row in self.runs.rows() if row.path in gone] if gone else []

    def transcripts_at(self, path: Path, agent: Agent) -> list[Found]:
        """The transcripts in a file of an agent, as the agent's own discovery finds them."""
        own = getattr(agent, "transcripts_at", None)
        if own is not None:
            return list(own(path, self.scope))
        listed = [found for found in self.found(agent.name) if found.path == str(path)]
        if listed or not path.exists():
            return listed
        stat = path.stat()
        return [Found(agent.name, str(path), path.stem, stat.st_mtime, stat.st_size)]

    def rows(self) -> list[RunRow]:
        """All runs that the store knows."""
        return self.runs.rows() if self.runs is not None else []

    def row(self, found: Found) -> RunRow | None:
        """The row of a run in the store; None if there is none."""
        return self.runs.get(self.key(found)) if self.runs is not None else None

    def key(self, found: Found) -> str:
        return key_of(found.agent, found.native, found.path)

    # -- the caller ----------------------------------------------------------------------------

    def is_caller(self, found: Found) -> bool:
        """Whether this is the run, or a sub-agent of the run, that gave the present command."""
        variables = traits_of(agent_of(found.agent)).conversation_variables
        named = {self.environment.get(name, "") for name in variables} - {""}
        if found.native in named or found.parent in named:
            return True
        if found.pid and found.pid in self._ancestors:
            return True
        return os.path.realpath(found.path) in self._open or self._runs_us(found)

    @cached_property
    def _ancestors(self) -> tuple[int, ...]:
        return ancestors(os.getpid())[1:]

    @cached_property
    def _open(self) -> set[str]:
        """Files that an ancestor process has open; not databases, which hold all conversations of an
        agent."""
        paths = set[str]().union(*map(open_files, self._ancestors))
        return {path for path in paths if not path.endswith(".db")}

    def _runs_us(self, found: Found) -> bool:
        """Whether the transcript ends with a command that runs Segue and has no result yet."""
        if found.sign in ("crashed", "ended") or time.time() - found.changed > ASKING_SECONDS:
            return False
        waiting: dict[str, str] = {}
        agent = agent_of(found.agent)
        try:
            if agent.form != "lines" and self._cached is not None:  # it has to be read as a whole anyway
                pending = self.reading(found).digest.pending
                return any(_SEGUE.search(f"{call.line} ") for call in pending.values())
            for step in last_steps(found, agent, _TAIL_BYTES):
                if isinstance(step, Call):
                    waiting[step.id] = step.command
                elif isinstance(step, Result):
                    waiting.pop(step.id, None)
                elif isinstance(step, Report):
                    waiting.pop(step.call, None)
        except (OSError, SegueError):
            return False
        return any(_SEGUE.search(f"{command} ") for command in waiting.values())

    def last_active(self, found: Found) -> float:
        """When something last happened in a run, by its own records; by its file where those say nothing. Of
        a file in lines that was not read before, only the end is read."""
        agent = agent_of(found.agent)
        if agent.form != "lines" or not found.size:
            return found.changed
        row = self.row(found)
        facts = facts_of(row) if row is not None else None
        if (
            facts is not None
            and facts.run.last
            and cursor.is_unchanged(facts.stamp, cursor.stamp_of(found, agent), agent)
        ):
            return min(found.changed, seconds_of(facts.run.last))
        try:
            times = [step.at for step in last_steps(found, agent, _END_BYTES) if step.at]
        except (OSError, SegueError):
            return found.changed
        return min(found.changed, max(times)) if times else found.changed

    # -- reading -------------------------------------------------------------------------------

    def reading(self, found: Found, clean: Clean | None = None) -> Reading:
        """A run as it was read: from the cursor on, from the start, or from a copy."""
        if self._cached is None:
            return self._read(found, clean)
        key = self.key(found)
        if key not in self._readings:
            self._readings[key] = self._read(found, clean)
        return self._readings[key]

    def _read(self, found: Found, clean: Clean | None) -> Reading:
        agent = agent_of(found.agent)
        row = self.row(found)
        kept = cursor.unpacked(row.reading) if row is not None else None
        known = cursor.reading_of(kept)
        now = cursor.stamp_of(found, agent)
        if now.inode:
            if kept is not None and known is not None:
                if cursor.is_unchanged(kept.stamp, now, agent):
                    return known
                if cursor.is_continued(kept, now, agent):
                    return self._read_on(known, agent, clean)
            try:
                return self._read_on(Reading(agent.name, found.path, found.native), agent, clean)
            except SegueError:
                is_known = known is not None and self.until.is_set
                if not is_known and not self._is_archived(found):
                    raise
        if known is None and (seen := self._seen_by_hooks(found)) is not None:
            return seen
        if known is None or (self._is_archived(found) and not self.until.is_set):
            return read_blocks(self.blocks(found), found, agent, self.until)
        return known

    def _read_on(self, reading: Reading, agent: Agent, clean: Clean | None) -> Reading:
        """What was added since; as much of it as there is time for."""
        if not self.until.is_set:
            return read_on(reading, agent, clean)
        key = key_of(reading.agent, reading.native, reading.path)
        if (cut := self.cut_readings.get(key)) is not None and cut.digest.steps:
            return replace(cut, digest=decode(encode(cut.digest)) or RunDigest())
        try:
            return read_in_time(reading, agent, self.until, clean)
        finally:
            if reading.left_out:
                digest = decode(encode(reading.digest)) or RunDigest()
                self.cut_readings[key] = replace(reading, digest=digest)

    def _seen_by_hooks(self, found: Found) -> Reading | None:
        if self.unwritten is None or self._is_archived(found):
            return None
        return self.unwritten.reading(found)

    def is_written(self, found: Found) -> bool:
        """Whether the agent of a run wrote a transcript, as far as is known."""
        return self.unwritten is None or not self.unwritten.steps(found)

    def with_prompts_seen(self, found: Found, digest: RunDigest) -> RunDigest:
        """The digest of a run; where the transcript of one that died at once has no prompt yet, a copy with
        those that hooks saw."""
        if digest.prompts or digest.calls or found.parent or self.unwritten is None:
            return digest
        seen = self.unwritten.prompts(found.agent, found.native)
        return fold(seen, decode(encode(digest))) if seen else digest

    def sayings(self, found: Found) -> list[Saying]:
        """What a run said that is not in the ledger yet; of one that died before its prompt was written, what
        hooks saw. Raises SegueError."""
        reading = self.reading(found)
        if not (reading.digest.prompts or reading.digest.calls):
            reading = self.prompted(found) or reading
        return sayings_of(reading, agent_of(found.agent))

    def prompted(self, found: Found) -> Reading | None:
        """A run as hooks saw it; None if they saw no prompt in it."""
        if self.unwritten is None or found.parent:
            return None
        return self.unwritten.prompted(found)

    def steps(self, found: Found, clean: Clean | None = None) -> Iterator[Step]:
        """The steps of a run, in order, from the transcript or its copy."""
        if self.unwritten is not None and not os.path.exists(found.path):
            yield from (seen := self.unwritten.steps(found))
            if seen:
                return
        agent = agent_of(found.agent)
        reader = agent.reader()
        blocks = map(clean, self.blocks(found)) if clean is not None else self.blocks(found)
        for block in blocks if agent.form == "lines" else (b"".join(blocks),):
            for record in record_lines(block, PassedLines()) if agent.form == "lines" else (block,):
                yield from reader.read(bytes(record))

    def blocks(self, found: Found) -> Iterator[bytes]:
        """The bytes of a transcript or, if it is gone, of its copy in the archive or in the store."""
        agent, path = agent_of(found.agent), Path(found.path)
        if path.exists():
            try:
                if agent.form == "lines":
                    yield from (block for block, _ in chunks(path))
                else:
                    yield agent.load(path, found.native)
                return
            except (OSError, SegueError) as fault:
                if not self._is_archived(found):
                    raise unreadable(path, str(fault)) from fault
        key = self.key(found)
        if self.archive is not None and self._is_archived(found):
            yield from self.archive.read(key)
        elif self.copies is not None and self.copies.has(key):
            yield from self.copies.read(key)
        else:
            raise unreadable(path, "the file is gone, and no copy was kept")

    def _is_archived(self, found: Found) -> bool:
        return self.archive is not None and self.archive.find(self.key(found)) is not None


class SentRunFinder(RunFinder):
    """Finds runs only in the store of a server, to which they were sent: no agent works on that machine."""

    def found(self, agent: str = "") -> Iterator[Found]:
        return iter(())

    def elsewhere(self) -> RunFinder | None:
        return None

    def is_caller(self, found: Found) -> bool:
        return False

    def _read(self, found: Found, clean: Clean | None) -> Reading:
        row = self.row(found)
        reading = cursor.reading_of(cursor.unpacked(row.reading)) if row is not None else None
        if reading is None:
            raise unreadable(Path(found.path), "its digest was not sent, or is in another format")
        return reading

    def blocks(self, found: Found) -> Iterator[bytes]:
        raise unreadable(Path(found.path), "transcripts stay on the agent's machine")


def found_of(row: RunRow) -> Found:
    """A run in the store, in the form in which discovery returns transcripts."""
    run = run_in(row)
    parent = lead_of(run) if run is not None else ""
    return Found(row.agent, row.path, row.native, row.last, 0, row.cwd, parent)


def read_blocks(blocks: Iterator[bytes], found: Found, agent: Agent, until: Deadline = NEVER) -> Reading:
    """Read a transcript from bytes, wherever they are kept, or its beginning if there is no time for more."""
    reading = Reading(agent.name, found.path, found.native)
    reader, passed = agent.reader(), PassedLines()
    if agent.form != "lines":
        reading.start_over(reader.read(b"".join(blocks)))
        blocks = iter(())
    for block in blocks:
        if not block.endswith(b"\n"):
            reading.torn = block
            break
        for record in record_lines(block, passed):
            for step in reader.read(bytes(record)):
                reading.take(step)
        if until.is_over:
            reading.unread = max(1, found.size)
            break
    reading.kept = reader.keep()
    reading.malformed = reader.malformed + passed.malformed
    reading.skipped = reader.skipped + passed.skipped
    return reading


def last_steps(found: Found, agent: Agent, size: int) -> Iterator[Step]:
    """The steps of a transcript as it is on disk; of one in lines, those in so many bytes at its end."""
    reader = agent.reader()
    if agent.form != "lines":
        yield from reader.read(agent.load(Path(found.path), found.native))
        return
    beyond = max(0, os.path.getsize(found.path) - size)
    is_cut = beyond > 0
    for block, _ in chunks(Path(found.path), beyond):
        lines = block[block.find(b"\n") + 1 :] if is_cut else block  # the first one is only the end of a line
        for line in record_lines(lines, PassedLines()):
            yield from reader.read(bytes(line))
        is_cut = False
