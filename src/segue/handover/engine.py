"""The engine: named steps, each durable before the next, resumed after any death.

What steps are given is stored before the first one runs, so a resume finishes the interrupted run
with that run's own notes; what the new run was given becomes a run of its own behind it. A
step that cannot simply be done again is marked before it begins; if it died in the middle nobody
knows whether it happened, and that is asked, never guessed. Steps of another workflow are refused. A
PAUSE file stops everything, between any two steps.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from .record import Record, pending_in

BACKOFF_SECONDS_MAX = 60.0
REASON_CHARS = 500
Answer = Callable[[str], str]
"""Asked about a step of which nobody knows whether it happened: ``done``, ``again``, or nothing."""


@dataclass
class Step:
    """A named piece of work that needs nothing and gives nothing."""

    name: str
    run: Callable[[], Any]


@dataclass
class Work:
    """What a task is handed when it runs."""

    run: str
    """The run's id: the same again after a crash, so that a task can see what it did already."""
    step: str
    payload: Any = None
    outputs: dict[str, Any] = field(default_factory=dict)
    """What the tasks before it gave, by name."""
    payloads: dict[str, Any] = field(default_factory=dict)
    """What all tasks of the run were given, by name."""


class Task(Step):
    """A step whose payload is stored before the run begins, and that says how it may be done."""

    def __init__(
        self, name: str, run: Callable[[Work], Any], payload: Any = None, *, idempotent: bool = True,
        timeout_seconds: float = 0.0, retries: int = 0, backoff_seconds: float = 1.0, kind: str = "",
    ) -> None:  # fmt: skip
        self.name = name
        self.do = run
        self.run = self._refuse
        self.payload = payload
        self.idempotent = idempotent
        """Whether doing it twice is doing it once."""
        self.timeout_seconds = timeout_seconds
        self.retries = retries
        self.backoff_seconds = backoff_seconds
        """Before the first retry; twice as long before each further one."""
        self.kind = kind

    def _refuse(self) -> Any:
        raise TypeError(f"{self.name} is a task: an engine runs it")


class PauseError(RuntimeError):
    """A PAUSE file is in force."""


class StepError(RuntimeError):
    """A step failed; it stays pending."""

    def __init__(self, step_name: str, cause: Exception) -> None:
        super().__init__(f"step '{step_name}' failed: {cause}")
        self.step_name = step_name
        self.cause = cause


class StepTimeout(RuntimeError):
    """A step took longer than it may."""


class UncertainStep(RuntimeError):
    """A step died in the middle, and nobody knows whether it happened."""

    def __init__(self, step_name: str) -> None:
        super().__init__(
            f"step '{step_name}' was under way when its run died, and doing it twice is not doing it "
            "once: look whether it happened, then say `done` or `again`"
        )
        self.step_name = step_name


class WorkflowError(RuntimeError):
    """The interrupted run has steps that this workflow does not have."""

    def __init__(self, foreign: Sequence[str]) -> None:
        super().__init__(
            "the interrupted handover belongs to another workflow, with the steps "
            f"{', '.join(foreign)}: finish it with that one, or begin anew with resume=False"
        )
        self.foreign = tuple(foreign)


class Ledger(Protocol):
    """What an engine needs of a checkpoint: ``Checkpoint`` is in a file, ``StoreCheckpoint`` in a journal.

    Every change is durable when it returns."""

    def load(self) -> Record:
        """How far the newest run came."""
        ...

    def running(self) -> AbstractContextManager[None]:
        """One run at a time."""
        ...

    def begin(self, step_names: list[str], extra: dict[str, Any]) -> None:
        """Begin a new run."""
        ...

    def start(self, step_names: list[str]) -> None:
        """Go on with the interrupted run, with these steps too."""
        ...

    def step_begun(self, step_name: str) -> None:
        """A step that cannot simply be done again is under way."""
        ...

    def step_done(self, step_name: str, output: Any = None, *, last: bool = False) -> None:
        """A step is done; with ``last`` so is the run."""
        ...

    def step_failed(self, step_name: str, reason: str) -> None:
        """A step failed and stays pending."""
        ...

    def complete(self) -> None:
        """The run is over."""
        ...

    def check_pause(self) -> None:
        """Raise if a PAUSE file is in force."""
        ...


class HandoverEngine:
    """Runs steps under a checkpoint."""

    def __init__(
        self, steps: Sequence[Step], checkpoint: Ledger, pause_file: Path | str | None = None, *,
        answer: Answer | None = None, about: Mapping[str, Any] | None = None,
        progress: Callable[[int, int, str], None] | None = None,
    ) -> None:  # fmt: skip
        names = [step.name for step in steps]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"two steps have one name: {', '.join(twice)}")
        self.steps = list(steps)
        self.checkpoint = checkpoint
        self.pause_file = Path(pause_file).expanduser() if pause_file else None
        self.answer = answer
        self.about = dict(about or {})
        """Facts that stand with the run: session, agent."""
        self.progress = progress

    def run(self, resume: bool = True, *, only: bool = False) -> list[str]:
        """Finish what was interrupted, then run what is new; the names of the steps that ran.

        With ``only`` nothing new is run behind an interrupted run."""
        self._check_pause()
        with self.checkpoint.running():
            found = self.checkpoint.load()
            if not resume or found["status"] != "in_progress":
                return self._begin()
            ours = only or self._is_ours(found)
            executed = self.finish(found)
            return executed if ours else executed + self._begin()

    def finish(self, found: Record) -> list[str]:
        """Go on with an interrupted run, with what it was given itself."""
        names = {step.name for step in self.steps}
        foreign = [name for name in found["steps"] if name not in names]
        payloads = (found.get("segue") or {}).get("payloads") or {}
        foreign += [step.name for step in self.steps if not _fits(step, payloads)]
        if foreign:
            raise WorkflowError(foreign)
        self.checkpoint.start([step.name for step in self.steps])
        found = self.checkpoint.load()
        if not pending_in(found):
            self.checkpoint.complete()
            return []
        return self._run_steps(found)

    def _begin(self) -> list[str]:
        extra: dict[str, Any] = {"run": os.urandom(8).hex(), **self.about}
        payloads = self._payloads()
        if payloads:
            extra["payloads"] = payloads
        self.checkpoint.begin([step.name for step in self.steps], extra)
        if not self.steps:
            self.checkpoint.complete()
            return []
        return self._run_steps(self.checkpoint.load())

    def _payloads(self) -> dict[str, Any]:
        return {step.name: step.payload for step in self.steps if isinstance(step, Task)}

    def _is_ours(self, found: Record) -> bool:
        """Whether what was interrupted was given the same as this engine; opaque steps always are."""
        stored = (found.get("segue") or {}).get("payloads")
        return not stored or _undated(stored) == _undated(self._payloads())

    def _run_steps(self, found: Record) -> list[str]:
        extra = found.get("segue") or {}
        payloads, outputs = extra.get("payloads") or self._payloads(), dict(extra.get("outputs") or {})
        pending, executed = pending_in(found), []
        for step in self.steps:
            if step.name not in pending:
                continue
            self._check_pause()
            if self.progress:
                self.progress(len(found["steps"]) - len(pending), len(found["steps"]), step.name)
            work = Work(
                str(extra.get("run", "")), step.name, payloads.get(step.name), dict(outputs), payloads
            )
            last = pending == [step.name]
            if extra.get("begun") == step.name and self._happened(step):
                self.checkpoint.step_done(step.name, last=last)
            else:
                output = self._run_step(step, work)
                self.checkpoint.step_done(step.name, output, last=last)
                outputs[step.name] = output
                executed.append(step.name)
            pending.remove(step.name)
        return executed

    def _happened(self, step: Step) -> bool:
        """Whether a step that died in the middle happened, as whoever is asked says."""
        said = self.answer(step.name) if self.answer else ""
        if said not in ("done", "again"):
            raise UncertainStep(step.name)
        return said == "done"

    def _run_step(self, step: Step, work: Work) -> Any:
        try:
            if not isinstance(step, Task):
                step.run()
                return None
            if not step.idempotent:
                self.checkpoint.step_begun(step.name)
            return plain(_with_retries(step, work))
        except Exception as fault:  # it stays pending
            if isinstance(step, Task):
                self.checkpoint.step_failed(step.name, str(fault)[:REASON_CHARS])
            raise StepError(step.name, fault) from fault

    def _check_pause(self) -> None:
        self.checkpoint.check_pause()
        if self.pause_file and (self.pause_file.exists() or self.pause_file.is_symlink()):
            raise PauseError(f"{self.pause_file} exists: nothing is written until it is gone")


def _fits(step: Step, payloads: Mapping[str, Any]) -> bool:
    """Whether what was stored for a step is for a step of its kind."""
    stored = payloads.get(step.name)
    kind = stored.get("kind", "") if isinstance(stored, dict) else ""
    return not kind or (isinstance(step, Task) and step.kind == kind)


def _undated(payloads: Mapping[str, Any]) -> dict[str, Any]:
    """What steps were given, whatever the day: a resume may come after midnight."""
    return {
        name: {k: v for k, v in value.items() if k not in ("date", "since")}
        if isinstance(value, dict)
        else value
        for name, value in payloads.items()
    }


def plain(value: Any) -> Any:
    """What a task gave, as it can be stored; of anything else its words."""
    try:
        return json.loads(json.dumps(value))
    except (TypeError, ValueError, RecursionError):
        return str(value)


def _with_retries(task: Task, work: Work) -> Any:
    wait_seconds = task.backoff_seconds
    for left in range(task.retries, -1, -1):
        try:
            return _within(task, work)
        except Exception:
            if not left:
                raise
            time.sleep(min(wait_seconds, BACKOFF_SECONDS_MAX))
            wait_seconds *= 2
    raise AssertionError("unreachable")


def _within(task: Task, work: Work) -> Any:
    """Run a task within its time; one that does not end is left behind and counts as failed."""
    if task.timeout_seconds <= 0:
        return task.do(work)
    ended: list[Any] = []

    def attempt() -> None:
        try:
            ended.append((True, task.do(work)))
        except BaseException as fault:
            ended.append((False, fault))

    thread = threading.Thread(target=attempt, name=f"handover-{task.name}", daemon=True)
    thread.start()
    thread.join(task.timeout_seconds)
    if not ended:
        raise StepTimeout(f"not done within {task.timeout_seconds:g} seconds")
    good, outcome = ended[0]
    if not good:
        raise outcome
    return outcome
