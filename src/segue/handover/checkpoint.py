"""How far a handover came, in a file that is whole after any death.

The file is agent-handover's, key by key; what Segue adds stands under one key of its own (``segue``:
the run, what the steps were given, what they gave). Every change is a read and a write under one
lock, synced, and put in place by a rename; a copy lies beside it. A file that is damaged all the
same is set aside and made anew from the copy, and a warning says so.

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

from .._failpoints import trip
from ..effects.files.atomic import locked, only_one, replace_quickly, tidy_leftovers, write_whole
from .record import Extra, Record, code_of, fresh, is_whole, pending_in

RESUME_NONE = 0
RESUME_NEEDED = 1
RESUME_COMPLETED = 2
RUN_WAIT_SECONDS = 600.0
"""How long a run waits for another that is under way on the same checkpoint."""
_WRITE_WAIT_SECONDS = 60.0


class HandoverWarning(UserWarning):
    """Something was mended, ignored or left undone; the text says what."""


def stamp() -> str:
    """This moment, as agent-handover writes it."""
    return datetime.now(UTC).isoformat()


class Checkpoint:
    """The checkpoint in a file; any number of processes may use it at once."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)

    # -- looking -------------------------------------------------------------------------------

    def load(self) -> Record:
        """What the file says; of a damaged one, what its copy says, after mending it."""
        found = self._read(self.path)
        if found is None:
            return fresh()
        return found or self._heal()

    def pending_steps(self) -> list[str]:
        """Steps that are not done, in their order."""
        return pending_in(self.load())

    def resume_code(self) -> int:
        """0 nothing to resume, 1 interrupted, 2 completed."""
        return code_of(self.load())

    # -- changing ------------------------------------------------------------------------------

    def start(self, step_names: list[str]) -> None:
        """Begin a run, or go on with the one that was interrupted; new names are added to it."""

        def begin(found: Record) -> Record:
            if found["status"] != "in_progress":
                return _begun(step_names)
            for name in step_names:
                found["steps"].setdefault(name, "pending")
            return found

        self._change(begin)

    def begin(self, step_names: list[str], extra: Extra) -> None:
        """Begin a new run whatever was there, with what its steps were given."""
        self._change(lambda _: {**_begun(step_names), "segue": extra})

    def mark_done(self, step_name: str) -> None:
        """A step is done."""
        self.step_done(step_name)

    def step_begun(self, step_name: str) -> None:
        """A step that cannot simply be done again is under way."""

        def note(found: Record) -> Record:
            found.setdefault("segue", {})["begun"] = step_name
            return found

        self._change(note)

    def step_done(self, step_name: str, output: Any = None, *, last: bool = False) -> None:
        """A step is done, and what it gave; with ``last`` the run is completed in the same write."""

        def note(found: Record) -> Record:
            found["steps"][step_name] = "done"
            extra: Extra = found.get("segue") or {}
            extra.pop("begun", None)
            extra.get("failed", {}).pop(step_name, None)
            if output is not None:
                extra.setdefault("outputs", {})[step_name] = output
            if extra:
                found["segue"] = extra
            return _completed(found) if last else found

        trip("handover.step.before_done")
        self._change(note)
        trip("handover.step.after_done")

    def step_failed(self, step_name: str, reason: str) -> None:
        """A step failed and stays pending; why is kept with it."""

        def note(found: Record) -> Record:
            found.setdefault("segue", {}).setdefault("failed", {})[step_name] = reason
            return found

        self._change(note)

    def check_pause(self) -> None:
        """A file has no brake of its own: the engine is given one."""

    def complete(self) -> None:
        """The run is over."""
        self._change(_completed)

    @contextmanager
    def running(self) -> Iterator[None]:
        """One run at a time; another waits here until this one is over or dead."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        lock = self.path.with_name(f".{self.path.name}.lock")
        with only_one(lock, timeout_seconds=RUN_WAIT_SECONDS, what=f"a handover on {self.path}"):
            with locked(self.path.parent, timeout_seconds=_WRITE_WAIT_SECONDS, what=str(self.path)):
                tidy_leftovers(self.path)
                tidy_leftovers(self._copy)
            yield

    # -- the file ------------------------------------------------------------------------------

    @property
    def _copy(self) -> Path:
        return self.path.with_name(f".{self.path.name}.copy")

    def _read(self, path: Path) -> Record | None:
        """What a file says; None if there is none, an empty dict if it is damaged."""
        try:
            found = json.loads(path.read_bytes())
        except FileNotFoundError:
            return None
        except (ValueError, RecursionError):
            return {}
        return found if is_whole(found) else {}

    def _change(self, change: Callable[[Record], Record]) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with locked(self.path.parent, timeout_seconds=_WRITE_WAIT_SECONDS, what=str(self.path)):
            found = self._read(self.path)
            self._save(change(fresh() if found is None else found or self._mend()))

    def _save(self, found: Record) -> None:
        body = json.dumps(found, ensure_ascii=False, indent=2).encode("utf-8", "replace")
        write_whole(self.path, body)
        with suppress(OSError):
            replace_quickly(self._copy, body)

    def _heal(self) -> Record:
        with locked(self.path.parent, timeout_seconds=_WRITE_WAIT_SECONDS, what=str(self.path)):
            found = self._read(self.path)
            return fresh() if found is None else found or self._mend()

    def _mend(self) -> Record:
        """Set the damaged file aside and put the copy's content in its place."""
        aside = self.path.with_name(f"{self.path.name}.damaged-{datetime.now(UTC):%Y%m%dT%H%M%S%f}")
        found = self._read(self._copy) or fresh()
        os.replace(self.path, aside)
        self._save(found)
        how = (
            "from its copy" if found["status"] != "none" else "as one that begins anew: its copy is gone too"
        )
        warnings.warn(
            f"the checkpoint {self.path} was damaged and is made anew {how}; kept as {aside.name}",
            HandoverWarning, stacklevel=4,
        )  # fmt: skip
        return found


def _begun(names: list[str]) -> Record:
    return {
        **fresh(),
        "status": "in_progress",
        "steps": dict.fromkeys(names, "pending"),
        "started_at": stamp(),
    }


def _completed(found: Record) -> Record:
    found["status"] = "completed"
    found["finished_at"] = stamp()
    return found
