"""The progress of a handover, in a file that survives any crash intact.

The file has agent-handover's keys; what Segue adds is under one key of its own (``segue``: the run, the
payloads of its steps, their outputs). Every change is a read and a write under one lock, synced and renamed
into place, with a copy next to it. Should the file be damaged nevertheless, it is set aside and restored from
the copy, with a warning.

``resume_code``: 0 nothing to resume, 1 a run was interrupted, 2 the last run completed.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from .._checked_calls import checked
from .._failpoints import trip
from ..core.handover.record import Extra, Record, code_of, fresh, pending_in
from ..effects.files.atomic import file_lock, folder_lock, replace_quickly, tidy_leftovers, write_whole
from ..effects.files.checkpoint_file import copy_of, read_checkpoint
from ..effects.files.project_links import check_stays_inside
from ..errors import BadValue

RESUME_NONE = 0
RESUME_NEEDED = 1
RESUME_COMPLETED = 2
RUN_WAIT_SECONDS = 600.0
"""How long a run waits for another run on the same checkpoint."""
_WRITE_WAIT_SECONDS = 60.0


class HandoverWarning(UserWarning):
    """Something was repaired, ignored or left undone; the text says what."""


def stamp() -> str:
    """The current time in agent-handover's form."""
    return datetime.now(UTC).isoformat()


@checked
class Checkpoint:
    """A checkpoint in a file; any number of processes may use it at the same time."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)

    def load(self) -> Record:
        """The content of the file; a damaged file is restored from its copy first."""
        return read_checkpoint(self.path) or self._restore()

    def pending_steps(self) -> list[str]:
        """The steps that are not done, in their order."""
        return pending_in(self.load())

    def resume_code(self) -> int:
        """0 if there is nothing to resume, 1 if a run was interrupted, 2 if the last run completed."""
        return code_of(self.load())

    def start(self, step_names: list[str]) -> None:
        """Start a run, or continue the one that was interrupted; new steps are added to it."""

        def begin(record: Record) -> Record:
            if record["status"] != "in_progress":
                return _new_run(step_names)
            for name in step_names:
                record["steps"].setdefault(name, "pending")
            return record

        self._change(begin)

    def begin(self, step_names: list[str], extra: Extra) -> None:
        """Start a new run, whatever was there; ``extra`` has the payloads of its steps."""
        self._change(lambda _: {**_new_run(step_names), "segue": extra})

    def mark_done(self, step_name: str) -> None:
        """Record that a step is done."""
        self.step_done(step_name)

    def step_begun(self, step_name: str) -> None:
        """Record that a step which must not be repeated blindly has started."""

        def note(record: Record) -> Record:
            extra = record.setdefault("segue", {})
            extra["begun"] = step_name
            extra.get("failed", {}).pop(step_name, None)
            return record

        self._change(note)

    def step_done(self, step_name: str, output: Any = None, *, last: bool = False) -> None:
        """Record that a step is done, and its output, any JSON value; with ``last``, the same write completes
        the run."""
        try:
            json.dumps(output)
        except (TypeError, ValueError, RecursionError) as fault:
            raise BadValue(f"the output of {step_name} is not a JSON value: {fault}") from fault

        def note(record: Record) -> Record:
            record["steps"][step_name] = "done"
            extra: Extra = record.get("segue") or {}
            extra.pop("begun", None)
            extra.get("failed", {}).pop(step_name, None)
            if output is not None:
                extra.setdefault("outputs", {})[step_name] = output
            if extra:
                record["segue"] = extra
            return _completed(record) if last else record

        trip("handover.step.before_done")
        self._change(note)
        trip("handover.step.after_done")

    def step_failed(self, step_name: str, reason: str, *, ended: bool = False) -> None:
        """Record that a step failed, and why; it stays pending. With ``ended``, it is certain that it did not
        succeed."""

        def note(record: Record) -> Record:
            extra = record.setdefault("segue", {})
            extra.setdefault("failed", {})[step_name] = reason
            if ended:
                extra.pop("begun", None)
            return record

        self._change(note)

    def check_pause(self) -> None:
        """Does nothing: the pause file of a checkpoint in a file is the engine's own."""

    def complete(self) -> None:
        """Record that the run is completed."""
        self._change(_completed)

    def set_aside(self) -> Path | None:
        """Put the file out of the way, with whatever it says, and return where it is now; None if there is
        none. Waits for a run that is under way."""
        aside = self.path.with_name(f"{self.path.name}.left-{datetime.now(UTC):%Y%m%dT%H%M%S%f}")
        with self.running(), suppress(FileNotFoundError):
            os.replace(self.path, aside)
            return aside
        return None

    @contextmanager
    def running(self) -> Iterator[None]:
        """Allows one run at a time; another one waits until this one has ended or died."""
        check_stays_inside(self.path.parent)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        lock = self.path.with_name(f".{self.path.name}.lock")
        with file_lock(lock, timeout_seconds=RUN_WAIT_SECONDS, what=f"a handover on {self.path}"):
            with folder_lock(self.path.parent, timeout_seconds=_WRITE_WAIT_SECONDS, what=str(self.path)):
                tidy_leftovers(self.path)
                tidy_leftovers(self._copy)
            yield

    @property
    def _copy(self) -> Path:
        return Path(copy_of(self.path))

    def _change(self, change: Callable[[Record], Record]) -> None:
        check_stays_inside(self.path.parent)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with folder_lock(self.path.parent, timeout_seconds=_WRITE_WAIT_SECONDS, what=str(self.path)):
            self._save(change(read_checkpoint(self.path) or self._restore_from_copy()))

    def _save(self, record: Record) -> None:
        body = json.dumps(record, ensure_ascii=False, indent=2).encode("utf-8", "replace")
        write_whole(self.path, body)
        with suppress(OSError):
            replace_quickly(self._copy, body)

    def _restore(self) -> Record:
        check_stays_inside(self.path.parent)
        with folder_lock(self.path.parent, timeout_seconds=_WRITE_WAIT_SECONDS, what=str(self.path)):
            return read_checkpoint(self.path) or self._restore_from_copy()

    def _restore_from_copy(self) -> Record:
        """Set the damaged file aside and put the content of the copy in its place."""
        aside = self.path.with_name(f"{self.path.name}.damaged-{datetime.now(UTC):%Y%m%dT%H%M%S%f}")
        record = read_checkpoint(self._copy) or fresh()
        os.replace(self.path, aside)
        self._save(record)
        how = (
            "restored from its copy"
            if record["status"] != "none"
            else "replaced by an empty one, because its copy is gone too"
        )
        warnings.warn(
            f"the checkpoint {self.path} was damaged and has been {how}; the damaged file is {aside.name}",
            HandoverWarning, stacklevel=4,
        )  # fmt: skip
        return record


def _new_run(names: list[str]) -> Record:
    return {
        **fresh(),
        "status": "in_progress",
        "steps": dict.fromkeys(names, "pending"),
        "started_at": stamp(),
    }


def _completed(record: Record) -> Record:
    record["status"] = "completed"
    record["finished_at"] = stamp()
    return record
