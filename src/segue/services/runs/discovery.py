"""Which runs there are in a project, whichever agent made them, and what each of them says.

Looking needs no store and makes none; where there is one, it saves opening files (its index of known
transcripts, and the cursors) and brings back what the agent has deleted (the archive), or what an agent on
another machine wrote (copies in a store that machines share). No more files are opened than the agents'
discovery opens. The run that asks is never the answer.
"""

from __future__ import annotations

import heapq
import os
import time
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from ...agents import agent as agent_of
from ...agents import agents
from ...agents.base import Agent, Found, SearchScope
from ...core.base.lazy import regex
from ...core.runs.digest import fold, take
from ...core.runs.model import RunDigest
from ...core.runs.steps import Call, Report, Result, Step
from ...effects.files.archive import Archive
from ...effects.files.growing_file import chunks
from ...effects.git import repository as git
from ...effects.processes.identity import ancestors, host_name, is_alive, open_files
from ...errors import SegueError, StoreUnavailable, UnknownRun, UsageError
from ...settings import api_key_of, data_folder, store_of
from ...stores.base import RunRow, Runs
from ..workspace.data_folder import DataFolder
from . import cursor
from .read_transcript import Clean, Reading, read, read_on, unreadable
from .run import key_of, run_in

if TYPE_CHECKING:
    from .shared_copies import SharedCopies

ASKING = {
    "claude-code": ("CLAUDE_CODE_SESSION_ID",),
    "gemini-cli": ("GEMINI_SESSION_ID",),
    "codex": ("CODEX_THREAD_ID", "CODEX_SESSION_ID"),
    "opencode": ("OPENCODE_SESSION_ID",),
    "copilot-cli": ("COPILOT_SESSION_ID",),
}
"""Where agents tell the commands that they run which conversation it is."""
ASKING_SECONDS = 120.0
"""A call that asked us was written at most so long ago."""
_TAIL_BYTES = 65_536
_SEGUE = regex(r"(?:^|[\s;&|(/])segue\s")
_MANY = 8
_AHEAD = 32


def _elsewhere(home: DataFolder, where: str, key: str) -> tuple[Runs, SharedCopies] | tuple[None, None]:
    """What a server keeps of runs, and copies of transcripts; None while it is down: agents' own files tell
    enough to go on."""
    from ..workspace.open_store import open_store
    from .shared_copies import SharedCopies

    journal = open_store(home, where, key=key)
    runs: Runs = journal.runs
    try:
        runs.get("")
    except StoreUnavailable:
        return None, None
    return runs, SharedCopies(journal)


class RunFinder:
    """The runs of the project that holds a folder, or of all projects."""

    def __init__(
        self, folder: Path, environment: Mapping[str, str], *, runs: Runs | None = None,
        archive: Archive | None = None, shelf: SharedCopies | None = None, everywhere: bool = False,
    ) -> None:  # fmt: skip
        self.folder = folder.absolute()
        self.environment = environment
        self.runs = runs
        self.archive = archive
        self.shelf = shelf
        """Copies that others can read, too."""
        self.everywhere = everywhere
        self.host = host_name()
        self._seen: list[Found] | None = None
        self._rest: Iterator[Found] = iter(())
        self._readings: dict[str, Reading] = {}
        self.told: dict[str, RunDigest] = {}
        """Masked digests, while it remembers."""
        self.faults: list[SegueError] = []
        """What agents could not tell us."""

    @classmethod
    def here(cls, folder: Path, environment: Mapping[str, str]) -> RunFinder:
        """With the store and the archive of the environment, if they are there; nothing is made."""
        where = store_of(environment)
        home = DataFolder(data_folder(environment)).for_store(where)
        archive = Archive(home.transcripts) if home.transcripts.is_file() else None
        if not home.has_store():
            return cls(folder, environment, archive=archive)
        if home.elsewhere:
            there, shelf = _elsewhere(home, where, api_key_of(environment))
            return cls(folder, environment, runs=there, archive=archive, shelf=shelf)
        from ...stores.sqlite import SqliteStore

        return cls(folder, environment, runs=SqliteStore(home.database, lock=True).runs, archive=archive)

    # -- discovery -----------------------------------------------------------------------------

    @cached_property
    def where(self) -> SearchScope:
        """What the agents are asked."""
        repository = git.find(self.folder)
        trees = git.worktrees(repository) if repository else (self.folder,)
        roots = () if self.everywhere else tuple(dict.fromkeys((*trees, *(t.resolve() for t in trees))))
        remote = git.normalise_url(git.remote_url(repository)) if repository else ""
        home = Path(self.environment.get("HOME") or Path.home())
        return SearchScope(
            env=self.environment, home=home, roots=roots, remote=remote, is_alive=is_alive,
            known=self.runs.known() if self.runs is not None else {},
        )  # fmt: skip

    def found(self, agent: str = "") -> Iterator[Found]:
        """The transcripts of the project, newest first, lazily; of one agent, or of all."""
        if agent or self._seen is None:
            chosen = [agent_of(agent)] if agent else list(agents())
            return heapq.merge(*map(self._of, chosen), key=lambda one: -one.changed)
        return self._again(self._seen)

    @property
    def remembers(self) -> bool:
        """Whether what was found and read is given again from memory."""
        return self._seen is not None

    def remember(self) -> None:
        """From now on, look for transcripts once; those asked for again are given from memory."""
        if self._seen is None:
            self._rest = self.found()
            self._seen = []

    def _again(self, seen: list[Found]) -> Iterator[Found]:
        at = 0
        while True:
            if at == len(seen):
                following = next(self._rest, None)
                if following is None:
                    return
                seen.append(following)
            yield seen[at]
            at += 1

    def _of(self, agent: Agent) -> Iterator[Found]:
        """What an agent finds; one that fails costs its own runs, not those of others.

        An agent's order is nearly right (a resumed conversation may stand where it began), so a few
        are looked at before the newest of them is given."""
        ahead: list[tuple[float, int, Found]] = []
        try:
            for number, one in enumerate(agent.find(self.where)):
                heapq.heappush(ahead, (-one.changed, number, one))
                if len(ahead) > _AHEAD:
                    yield heapq.heappop(ahead)[2]
        except SegueError as fault:
            self.faults.append(fault)
        except Exception as fault:
            self.faults.append(unreadable(Path(agent.name), f"looking for its transcripts failed: {fault}"))
        while ahead:
            yield heapq.heappop(ahead)[2]

    def newest(self, agent: str = "") -> Found:
        """The newest run of the project that is no sub-agent's and not the one that asks."""
        for one in self.found(agent):
            if not one.parent and not _is_empty(one) and not self.asks(one):
                return one
        raise UnknownRun(
            "no agent has left a run in this project", hint="`segue runs --all` looks in every project"
        )

    def find_run(self, id: str) -> Found:
        """The run with this id, or the one whose id begins so; also ``agent/id`` and a transcript's path.
        UnknownRun if there is none, UsageError if there are several."""
        agent, slash, rest = id.partition("/")
        wanted = rest if slash and rest and "/" not in rest else id
        agent = agent if wanted is rest and slash else ""
        hits: dict[tuple[str, str], Found] = {}
        for one in (*self.found(), *map(found_of, self.rows())):
            if agent in ("", one.agent) and (one.native.startswith(wanted) or one.path == id):
                hits.setdefault((one.agent, one.native), one)
        exact = [one for one in hits.values() if one.native == wanted]
        matches = exact or list(hits.values())
        if len(matches) == 1 and id:
            return matches[0]
        if not matches:
            raise UnknownRun(f"no run is called {id!r}", hint="`segue runs` lists those of this project")
        names = ", ".join(f"{one.agent}/{one.native}" for one in matches[:_MANY])
        raise UsageError(f"{len(matches)} runs are called {id!r}…", hint=f"give more of the id: {names}")

    def rows(self) -> list[RunRow]:
        """All runs that the store knows."""
        return self.runs.rows() if self.runs is not None else []

    def row(self, found: Found) -> RunRow | None:
        """What the store knows of a run."""
        return self.runs.get(self.key(found)) if self.runs is not None else None

    def key(self, found: Found) -> str:
        return key_of(found.agent, found.native, found.path)

    # -- who asks ------------------------------------------------------------------------------

    def asks(self, found: Found) -> bool:
        """Is this the run, or a sub-agent of the run, in which this command was given?"""
        told = {self.environment.get(name, "") for name in ASKING.get(found.agent, ())} - {""}
        if found.native in told or found.parent in told:
            return True
        if found.pid and found.pid in self._ancestors:
            return True
        return os.path.realpath(found.path) in self._open or self._runs_us(found)

    @cached_property
    def _ancestors(self) -> tuple[int, ...]:
        return ancestors(os.getpid())[1:]

    @cached_property
    def _open(self) -> set[str]:
        """Files that an ancestor has open; a database is no sign, all conversations are in it."""
        found = set[str]().union(*map(open_files, self._ancestors))
        return {path for path in found if not path.endswith(".db")}

    def _runs_us(self, found: Found) -> bool:
        """Whether its last words are a command that runs us and has no result yet."""
        if found.sign in ("crashed", "ended") or time.time() - found.changed > ASKING_SECONDS:
            return False
        agent = agent_of(found.agent)
        waiting: dict[str, str] = {}
        try:
            for step in _last_steps(found, agent):
                if isinstance(step, Call):
                    waiting[step.id] = step.command
                elif isinstance(step, Result):
                    waiting.pop(step.id, None)
                elif isinstance(step, Report):
                    waiting.pop(step.call, None)
        except (OSError, SegueError):
            return False
        return any(_SEGUE.search(f"{command} ") for command in waiting.values())

    # -- what a run says -----------------------------------------------------------------------

    def reading(self, found: Found, clean: Clean | None = None) -> Reading:
        """A run's reading: from the cursor on, from the start, or of a copy."""
        if self._seen is None:
            return self._read(found, clean)
        key = self.key(found)
        if key not in self._readings:
            self._readings[key] = self._read(found, clean)
        return self._readings[key]

    def _read(self, found: Found, clean: Clean | None) -> Reading:
        agent = agent_of(found.agent)
        row = self.row(found)
        kept = cursor.unpacked(row.reading) if row is not None else None
        now = cursor.stamp_of(found, agent)
        if now.inode:
            known = cursor.reading_of(kept) if kept is not None else None
            if kept is not None and known is not None:
                if cursor.is_unchanged(kept.stamp, now, agent):
                    return known
                if cursor.goes_on(kept, now, agent):
                    return read_on(known, agent, clean)
            try:
                return read(Path(found.path), agent, found.native, clean)
            except SegueError:
                if not self._is_archived(found):
                    raise
        if self._is_archived(found):
            return read_blocks(self.blocks(found), found, agent)
        known = cursor.reading_of(kept) if kept is not None else None
        return known if known is not None else read_blocks(self.blocks(found), found, agent)

    def steps(self, found: Found, clean: Clean | None = None) -> Iterator[Step]:
        """The steps of a run, in order, from the transcript or its copy."""
        agent = agent_of(found.agent)
        reader = agent.reader()
        blocks = self.blocks(found)
        for record in _records(map(clean, blocks) if clean is not None else blocks, agent):
            yield from reader.read(record)

    def blocks(self, found: Found) -> Iterator[bytes]:
        """The bytes of a transcript, or if it is gone of its copy: in the archive, or in the store."""
        agent = agent_of(found.agent)
        if Path(found.path).exists():
            try:
                yield from _transcript(found, agent)
                return
            except (OSError, SegueError) as fault:
                if not self._is_archived(found):
                    raise unreadable(Path(found.path), str(fault)) from fault
        key = self.key(found)
        if self.archive is not None and self._is_archived(found):
            yield from self.archive.read(key)
        elif self.shelf is not None and self.shelf.has(key):
            yield from self.shelf.read(key)
        else:
            raise unreadable(Path(found.path), "it is gone, and no copy was kept")

    def _is_archived(self, found: Found) -> bool:
        return self.archive is not None and self.archive.find(self.key(found)) is not None


def found_of(row: RunRow) -> Found:
    """A run that the store knows, as discovery would give it."""
    run = run_in(row)
    parent = run.parent if run is not None and run.side else ""
    return Found(row.agent, row.path, row.native, row.last, 0, row.cwd, parent)


def read_blocks(blocks: Iterator[bytes], found: Found, agent: Agent) -> Reading:
    """A reading of bytes that are not where the agent keeps them."""
    reading = Reading(agent.name, found.path, found.native)
    reader = agent.reader()
    if agent.form != "lines":
        reading.digest = fold(reader.read(b"".join(blocks)))
        blocks = iter(())
    for block in blocks:
        if not block.endswith(b"\n"):
            reading.torn = block
            break
        for record in filter(None, block.split(b"\n")):
            for step in reader.read(record):
                take(reading.digest, step)
    reading.kept, reading.malformed, reading.skipped = reader.keep(), reader.malformed, reader.skipped
    return reading


def _records(blocks: Iterator[bytes], agent: Agent) -> Iterator[bytes]:
    if agent.form != "lines":
        yield b"".join(blocks)
        return
    for block in blocks:
        yield from filter(None, block.split(b"\n"))


def _transcript(found: Found, agent: Agent) -> Iterator[bytes]:
    path = Path(found.path)
    if agent.form != "lines":
        yield agent.load(path, found.native)
        return
    for block, _ in chunks(path):
        yield block


def _last_steps(found: Found, agent: Agent) -> Iterator[Step]:
    reader = agent.reader()
    if agent.form != "lines":
        yield from reader.read(agent.load(Path(found.path), found.native))
        return
    with open(found.path, "rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - _TAIL_BYTES))
        tail = file.read()
    for line in tail.split(b"\n")[1 if size > _TAIL_BYTES else 0 :]:
        if line:
            yield from reader.read(line)


def _is_empty(found: Found) -> bool:
    return not found.size and agent_of(found.agent).form == "lines"
