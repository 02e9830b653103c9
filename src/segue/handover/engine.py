"""The engine: named steps, each durable before the next, which can be resumed after any crash.

The payloads of the steps are stored before the first one runs, so a resume finishes the interrupted run with
that run's own notes; the payloads of the new call become a run of their own after it. How a step is carried
out is its definition, and that is always the newest, so that a mistake in it can be mended. A step that must
not be repeated blindly is marked before it starts; unless it was recorded how it ended, nobody knows whether
it happened, and the engine asks instead of guessing. Steps of another workflow are refused. A PAUSE file
stops the run between any two steps; how a step ended that was under way is still recorded.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from .._checked_calls import checked
from ..core.handover.record import Record, pending_in
from ..errors import BadValue

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


@checked
class Task(Step):
    """A step with a payload that is stored before the run starts, and with rules for running it."""

    def __init__(
        self, name: str, run: Callable[[Work], Any], payload: Any = None, *, idempotent: bool = True,
        timeout_seconds: float = 0.0, retries: int = 0, backoff_seconds: float = 1.0, kind: str = "",
        definition: Mapping[str, Any] | None = None,
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
        self.definition = dict(definition or {})
        """The parts of the payload that say how it is carried out. A resume takes these as they are now, and
        the rest as it was stored."""

    def renewed(self, stored: Any) -> Any:
        """A stored payload with the definition of now."""
        return {**stored, **self.definition} if self.definition and isinstance(stored, dict) else stored

    def content(self, payload: Any) -> Any:
        """A payload without the definition, without dates, because a resume may come after midnight, and
        without whether it is committed."""
        if not isinstance(payload, dict):
            return payload
        return {
            k: v for k, v in payload.items() if k not in (*self.definition, "date", "since", "uncommitted")
        } or None

    def _refuse(self) -> Any:
        raise TypeError(f"{self.name} is a task; only an engine can run it")


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


class NotDone(RuntimeError):
    """A task raises it to say that it ended without success: even if it must not happen twice, the next run
    tries it again without asking."""


class UncertainStep(RuntimeError):
    """Nobody knows whether a step happened that must not happen twice."""

    def __init__(self, step_name: str, reason: str = "") -> None:
        how = f"failed ({reason})" if reason else "was under way when its run ended"
        super().__init__(
            f"step '{step_name}' {how}, and it must not happen twice: "
            "find out whether it happened, then answer `done` or `again`"
        )
        self.step_name = step_name
        self.reason = reason
        """Why it failed; empty if that was not recorded."""


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

    def step_failed(self, step_name: str, reason: str, *, ended: bool = False) -> None:
        """Record that a step failed; it stays pending. With ``ended``, it is certain that it did not
        succeed."""

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
        progress: Callable[[int, int, str], None] | None = None, by_hand: Collection[str] = (),
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
        self.by_hand = by_hand
        """Steps of the interrupted run that somebody has carried out, or that are no longer wanted."""

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
        if not isinstance(record.get("steps"), dict):
            raise BadValue("`record` is not the record of a run", hint="pass what `load` returns")
        foreign = [name for name in self.foreign(record) if name not in self.by_hand]
        if foreign:
            raise WorkflowError(foreign)
        for name in pending_in(record):
            if name in self.by_hand:
                self.checkpoint.step_done(name)
        self.checkpoint.start([step.name for step in self.steps])
        record = self.checkpoint.load()
        if not pending_in(record):
            self.checkpoint.complete()
            return []
        return self._run_steps(record)

    def foreign(self, record: Record) -> list[str]:
        """The steps of an interrupted run that are not done and that this workflow does not have, or has as
        steps of another kind. Raises BadValue for what is no record."""
        if not isinstance(record.get("steps"), dict):
            raise BadValue(
                "the record of a handover must have steps", hint="pass what `Checkpoint.load` returns"
            )
        ours = {step.name: step for step in self.steps}
        payloads = (record.get("segue") or {}).get("payloads") or {}
        return [name for name in pending_in(record) if name not in ours or not _fits(ours[name], payloads)]

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
        """Whether the interrupted run has the same content as this engine, or has none."""
        stored = (record.get("segue") or {}).get("payloads")
        return not stored or self._content(stored) == self._content(self._payloads())

    def _content(self, payloads: Mapping[str, Any]) -> dict[str, Any]:
        """What payloads are about, however their steps are carried out."""
        tasks = {step.name: step for step in self.steps if isinstance(step, Task)}
        found = {name: tasks[name].content(payloads[name]) for name in payloads if name in tasks}
        return {name: content for name, content in found.items() if content is not None}

    def _run_steps(self, record: Record) -> list[str]:
        extra = record.get("segue") or {}
        payloads, outputs = self._renewed(extra.get("payloads") or {}), dict(extra.get("outputs") or {})
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
            reason = (extra.get("failed") or {}).get(step.name, "")
            if extra.get("begun") == step.name and self._happened(step, reason):
                self.checkpoint.step_done(step.name, last=last)
            else:
                output = self._run_step(step, work)
                self.checkpoint.step_done(step.name, output, last=last)
                outputs[step.name] = output
                executed.append(step.name)
            pending.remove(step.name)
        return executed

    def _renewed(self, stored: Mapping[str, Any]) -> dict[str, Any]:
        """The payloads of a run, with the definitions of now."""
        tasks = {step.name: step for step in self.steps if isinstance(step, Task)}
        payloads = {**self._payloads(), **stored}
        return {name: tasks[name].renewed(p) if name in tasks else p for name, p in payloads.items()}

    def _happened(self, step: Step, reason: str) -> bool:
        """Whether an uncertain step happened, according to ``answer``; UncertainStep without an answer."""
        answer = self.answer(step.name) if self.answer else ""
        if answer not in ("done", "again"):
            raise UncertainStep(step.name, reason)
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
                ended = isinstance(fault, NotDone)
                self.checkpoint.step_failed(step.name, str(fault)[:REASON_CHARS], ended=ended)
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
