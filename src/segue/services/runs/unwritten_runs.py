"""Runs that only hooks know of: their agents died before they wrote anything.

A small file in the data folder names such a run and where it worked, without a word of it; what the user
typed is in the stream of the run. Once there is a transcript, only that counts. The file is removed when an
answer of the agent was read there, as Gemini CLI deletes what has none, or when the run is too old to be
continued.
"""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path

import msgspec

from ..._files import read_bytes
from ...agents import agent as agent_of
from ...agents.base import Found, SearchScope
from ...core.base.values import Value
from ...core.runs.steps import Start, Step
from ...effects.files.atomic import write_whole
from ...effects.processes.identity import start_of
from ...errors import SegueError
from ...stores.base import Journal
from .read_transcript import Reading
from .run import key_of
from .run_stream import prompts_seen, stream_of_run

RUNS_MAX = 64
"""How many are remembered, the newest."""


class UnwrittenRun(Value):
    """A run whose agent had written no transcript when a hook was told its prompt."""

    agent: str
    native: str
    cwd: str
    transcript: str = ""
    """Where its agent means to write; empty if the hook was not told."""
    at: float = 0.0
    """When the prompt was given."""
    pid: int = 0
    """Its process; 0 if it is not known, or was gone already."""
    pid_start: str = ""

    @property
    def path(self) -> str:
        """Where the transcript would be; without that, the run's stream stands for it."""
        return self.transcript or stream_of_run(self.agent, self.native)

    @property
    def key(self) -> str:
        return key_of(self.agent, self.native, self.path)


class UnwrittenRuns:
    """The unwritten runs of a data folder, with their prompts from a journal."""

    def __init__(self, home: Path, journal: Journal) -> None:
        self._folder = home / "hook" / "unwritten"
        self._journal = journal

    def note(self, run: UnwrittenRun) -> None:
        """Remember a run, unless its transcript is there."""
        if not _has_content(run.transcript):
            start = start_of(run.pid) if run.pid else ""
            run = msgspec.structs.replace(run, pid=run.pid if start else 0, pid_start=start)
            write_whole(self._folder / run.key, msgspec.json.encode(run))

    def forget(self, written: Collection[tuple[str, str]]) -> None:
        """Forget runs, given by agent and id, whose transcripts will stay."""
        for run in self._noted():
            if (run.agent, run.native) in written:
                self._drop(run)

    def tidy(self, *, days_max: float) -> None:
        """Forget those that are older than so many days, or too many."""
        since = time.time() - 86_400 * days_max
        runs = sorted(self._noted(), key=lambda run: -run.at)
        for number, run in enumerate(runs):
            if number >= RUNS_MAX or run.at < since:
                self._drop(run)

    def found(self, scope: SearchScope) -> list[Found]:
        """Those of a project that were asked for something, the newest first, in the form in which discovery
        returns transcripts."""
        runs = (run for run in self._noted() if scope.holds(run.cwd) and not _is_written(run, scope))
        asked = [(run, steps) for run in runs if (steps := self.prompts(run.agent, run.native))]
        return [
            Found(
                run.agent, run.path, run.native, run.at, len(steps), run.cwd,
                sign="alive" if run.pid and start_of(run.pid) == run.pid_start else "", pid=run.pid,
            )
            for run, steps in sorted(asked, key=lambda pair: -pair[0].at)
        ]  # fmt: skip

    def steps(self, found: Found) -> list[Step]:
        """What hooks saw of a run that is one of these; empty if it is not, or nothing is known."""
        run = self._named(self._folder / key_of(found.agent, found.native, found.path))
        return self._seen(found) if run is not None else []

    def _seen(self, found: Found) -> list[Step]:
        prompts = self.prompts(found.agent, found.native)
        return [Start(prompts[0].at, "start", found.native, found.cwd), *prompts] if prompts else []

    def reading(self, found: Found) -> Reading | None:
        """A run as hooks saw it; None if it is none of these."""
        return _reading(found, self.steps(found))

    def prompted(self, found: Found) -> Reading | None:
        """Any run as hooks saw it; None if they saw no prompt."""
        return _reading(found, self._seen(found))

    def prompts(self, agent: str, native: str) -> list[Step]:
        """What hooks saw the user type in a run; empty if that is not known."""
        with suppress(SegueError):
            return prompts_seen(self._journal, agent, native)
        return []

    def _noted(self) -> Iterator[UnwrittenRun]:
        with suppress(OSError):
            for name in os.listdir(self._folder):
                if (run := self._named(self._folder / name)) is not None:
                    yield run

    def _named(self, file: Path) -> UnwrittenRun | None:
        with suppress(OSError, msgspec.DecodeError, UnicodeDecodeError):
            return msgspec.json.decode(read_bytes(file), type=UnwrittenRun)
        return None

    def _drop(self, run: UnwrittenRun) -> None:
        with suppress(OSError):
            os.unlink(self._folder / run.key)


def _reading(found: Found, steps: list[Step]) -> Reading | None:
    if not steps:
        return None
    reading = Reading(found.agent, found.path, found.native)
    reading.start_over(steps)
    return reading


def _has_content(transcript: str) -> bool:
    try:
        return bool(transcript) and os.stat(transcript).st_size > 0
    except OSError:
        return False


def _is_written(run: UnwrittenRun, scope: SearchScope) -> bool:
    """Whether the transcript of a run is there; where the hook was not told its path, its agent is asked."""
    if run.transcript:
        return _has_content(run.transcript)
    try:
        return any(found.native == run.native for found in agent_of(run.agent).find(scope))
    except Exception:  # whatever an agent's discovery raises, the run is told rather than lost
        return False
