"""The engine: named steps, each durable before the next, which can be resumed after any crash.

The payloads of the steps are stored before the first one runs, so a resume finishes the interrupted run with
that run's own notes; the payloads of the new call become a run of their own after it. A step that must not be
repeated blindly is marked before it starts; if its run died in the middle of it, nobody knows whether it
happened, and the engine asks instead of guessing. Steps of another workflow are refused. A PAUSE file stops
the run between any two steps.
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
from typing import Any, Protocol, runtime_checkable

from .._checked_calls import checked
from ..errors import BadValue
from .record import Record, pending_in

BACKOFF_SECONDS_MAX = 60.0
REASON_CHARS = 500
Answer = Callable[[str], str]
"""Called with the name of an uncertain step; returns ``done``, ``again``, or nothing."""


@dataclass
class Step:
    """A named piece of work without input or output."""

    name: str
    run: Callable[[], Any]


@dataclass
class Work:
    """The argument of a task."""

    run: str
    """The id of the run: the same after a crash, so that a task can recognise what it did already."""
    step: str
    payload: Any = None
    outputs: dict[str, Any] = field(default_factory=dict)
    """The outputs of the tasks before it, by name."""
    payloads: dict[str, Any] = field(default_factory=dict)
    """The payloads of all tasks of the run, by name."""


class Task(Step):
    """A step with a payload that is stored before the run starts, and with rules for running it."""

    def __init__(
        self, name: str, run: Callable[[Work], Any], payload: Any = None, *, idempotent: bool = True,
        timeout_seconds: float = 0.0, retries: int = 0, backoff_seconds: float = 1.0, kind: str = "",
    ) -> None:  # fmt: skip
        self.name = name
        self.do = run
        self.run = self._refuse
        self.payload = payload
        self.idempotent = idempotent
        """Whether it may be run again after a crash in the middle of it."""
        self.timeout_seconds = timeout_seconds
        self.retries = retries
        self.backoff_seconds = backoff_seconds
        """The pause before the first retry; it doubles with each further one."""
        self.kind = kind

    def _refuse(self) -> Any:
        raise TypeError(f"{self.name} is a task, which only an engine can run")


class PauseError(RuntimeError):
    """A PAUSE file is in force."""


class StepError(RuntimeError):
    """A step failed; it stays pending."""

    def __init__(self, step_name: str, cause: Exception) -> None:
        super().__init__(f"step '{step_name}' failed: {cause}")
        self.step_name = step_name
        self.cause = cause


class StepTimeout(RuntimeError):
    """A step exceeded its time limit."""


class UncertainStep(RuntimeError):
    """A run died in the middle of a step, and nobody knows whether it happened."""

    def __init__(self, step_name: str) -> None:
        super().__init__(
            f"step '{step_name}' was under way when its run died, and it must not happen twice: "
            "find out whether it happened, then answer `done` or `again`"
        )
        self.step_name = step_name


class WorkflowError(RuntimeError):
    """The interrupted run has steps that this workflow does not have."""

    def __init__(self, foreign: Sequence[str]) -> None:
        super().__init__(
            "the interrupted handover belongs to another workflow, with the steps "
            f"{', '.join(foreign)}: finish it with that workflow, or start over with resume=False"
        )
        self.foreign = tuple(foreign)


@runtime_checkable
class Ledger(Protocol):
    """The interface of a checkpoint: ``Checkpoint`` keeps it in a file, ``StoreCheckpoint`` in the journal.

    Every change is durable when the call returns."""

    def load(self) -> Record:
        """The progress of the newest run."""

    def running(self) -> AbstractContextManager[None]:
        """Allows one run at a time."""

    def begin(self, step_names: list[str], extra: dict[str, Any]) -> None:
        """Start a new run."""

    def start(self, step_names: list[str]) -> None:
        """Continue the interrupted run; steps that it lacks are added."""

    def step_begun(self, step_name: str) -> None:
        """Record that a step which must not be repeated blindly has started."""

    def step_done(self, step_name: str, output: Any = None, *, last: bool = False) -> None:
        """Record that a step is done; with ``last``, the run is completed too."""

    def step_failed(self, step_name: str, reason: str) -> None:
        """Record that a step failed; it stays pending."""

    def complete(self) -> None:
        """Record that the run is completed."""

    def check_pause(self) -> None:
        """Raise if a PAUSE file is in force."""


@checked
class HandoverEngine:
    """Runs steps under a checkpoint."""

    def __init__(
        self, steps: Sequence[Step], checkpoint: Ledger, pause_file: Path | str | None = None, *,
        answer: Answer | None = None, about: Mapping[str, Any] | None = None,
        progress: Callable[[int, int, str], None] | None = None,
    ) -> None:  # fmt: skip
        names = [step.name for step in steps]
        duplicates = sorted({name for name in names if names.count(name) > 1})
        if duplicates:
            raise BadValue(f"several steps have the same name: {', '.join(duplicates)}")
        self.steps = list(steps)
        self.checkpoint = checkpoint
        self.pause_file = Path(pause_file).expanduser() if pause_file else None
        self.answer = answer
        self.about = dict(about or {})
        """Facts that are stored with the run, such as the session and the agent."""
        self.progress = progress

    def run(self, resume: bool = True, *, only: bool = False) -> list[str]:
        """Finish an interrupted run, then start a new one; returns the names of the steps that ran.

        With ``only``, no new run follows an interrupted one."""
        self._check_pause()
        with self.checkpoint.running():
            record = self.checkpoint.load()
            if not resume or record["status"] != "in_progress":
                return self._begin()
            ours = only or self._is_ours(record)
            executed = self.finish(record)
            return executed if ours else executed + self._begin()

    def finish(self, record: Record) -> list[str]:
        """Continue an interrupted run with its own payloads; WorkflowError if its steps are not ours."""
        names = {step.name for step in self.steps}
        if not isinstance(record.get("steps"), dict):
            raise BadValue("`record` of finish is no record of a run", hint="it is what `load` gives")
        foreign = [name for name in record["steps"] if name not in names]
        payloads = (record.get("segue") or {}).get("payloads") or {}
        foreign += [step.name for step in self.steps if not _fits(step, payloads)]
        if foreign:
            raise WorkflowError(foreign)
        self.checkpoint.start([step.name for step in self.steps])
        record = self.checkpoint.load()
        if not pending_in(record):
            self.checkpoint.complete()
            return []
        return self._run_steps(record)

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

    def _is_ours(self, record: Record) -> bool:
        """Whether the interrupted run has the same payloads as this engine, or has none."""
        stored = (record.get("segue") or {}).get("payloads")
        return not stored or _undated(stored) == _undated(self._payloads())

    def _run_steps(self, record: Record) -> list[str]:
        extra = record.get("segue") or {}
        payloads, outputs = extra.get("payloads") or self._payloads(), dict(extra.get("outputs") or {})
        pending, executed = pending_in(record), []
        for step in self.steps:
            if step.name not in pending:
                continue
            self._check_pause()
            if self.progress:
                self.progress(len(record["steps"]) - len(pending), len(record["steps"]), step.name)
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
        """Whether an uncertain step happened, according to ``answer``; UncertainStep without an answer."""
        answer = self.answer(step.name) if self.answer else ""
        if answer not in ("done", "again"):
            raise UncertainStep(step.name)
        return answer == "done"

    def _run_step(self, step: Step, work: Work) -> Any:
        try:
            if not isinstance(step, Task):
                step.run()
                return None
            if not step.idempotent:
                self.checkpoint.step_begun(step.name)
            return storable(_with_retries(step, work))
        except Exception as fault:  # the step stays pending
            if isinstance(step, Task):
                self.checkpoint.step_failed(step.name, str(fault)[:REASON_CHARS])
            raise StepError(step.name, fault) from fault

    def _check_pause(self) -> None:
        self.checkpoint.check_pause()
        if self.pause_file and (self.pause_file.exists() or self.pause_file.is_symlink()):
            raise PauseError(f"{self.pause_file} exists: nothing is written until it is gone")


def _fits(step: Step, payloads: Mapping[str, Any]) -> bool:
    """Whether the payload that is stored for a step belongs to a step of the same kind."""
    stored = payloads.get(step.name)
    kind = stored.get("kind", "") if isinstance(stored, dict) else ""
    return not kind or (isinstance(step, Task) and step.kind == kind)


def _undated(payloads: Mapping[str, Any]) -> dict[str, Any]:
    """The payloads without their dates, because a resume may come after midnight."""
    return {
        name: {k: v for k, v in value.items() if k not in ("date", "since")}
        if isinstance(value, dict)
        else value
        for name, value in payloads.items()
    }


def storable(value: Any) -> Any:
    """The output of a task as a JSON value; anything that is none as its string."""
    try:
        return json.loads(json.dumps(value))
    except (TypeError, ValueError, RecursionError):
        return str(value)


def _with_retries(task: Task, work: Work) -> Any:
    wait_seconds = task.backoff_seconds
    for left in range(task.retries, -1, -1):
        try:
            return _with_timeout(task, work)
        except Exception:
            if not left:
                raise
            time.sleep(min(wait_seconds, BACKOFF_SECONDS_MAX))
            wait_seconds *= 2
    raise AssertionError("unreachable")


def _with_timeout(task: Task, work: Work) -> Any:
    """The output of a task; one that exceeds its time is abandoned and counts as failed."""
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
    succeeded, outcome = ended[0]
    if not succeeded:
        raise outcome
    return outcome
