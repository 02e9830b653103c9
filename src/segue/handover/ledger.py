"""The checkpoint of a working tree in the journal, with a file beside it that is quick to read.

The stream ``handover/<tree>`` is the truth: each step is an event, committed before the next begins. The
file is what `segue handover check` reads without a store; when it is damaged, gone or behind it is
written anew from the stream, and that is said.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .._failpoints import trip
from ..api.segue import Segue
from ..core import event_kinds as ev
from ..core.handover.events import checkpoint_of
from ..effects.clock import now
from ..effects.files.atomic import only_one, private_folder, replace_quickly, tidy_leftovers, write_whole
from ..services.workspace.working_tree import tree_stream
from ..stores.base import Append
from .checkpoint import RUN_WAIT_SECONDS
from .record import Extra, Record, code_of, fresh, is_whole

_ABOUT = ("run", "payloads", "session")


class StoreCheckpoint:
    """How far the handover of a working tree came, as the journal tells it."""

    def __init__(self, segue: Segue, *, wait_seconds: float = RUN_WAIT_SECONDS) -> None:
        self._segue = segue
        self._wait_seconds = wait_seconds
        name = tree_stream(str(segue.workspace.working_tree.root)).removeprefix("tree/")
        own = tree_stream(str(segue.workspace.working_tree.root), segue.workspace.store.machine).removeprefix(
            "tree/"
        )
        self.stream = f"handover/{own}"
        self.path: Path = segue.workspace.home.handover / f"{name}.json"
        self.said: list[str] = []
        """What was mended, in words."""
        self._version = 0
        self._bodies: list[tuple[ev.Body | None, str]] = []
        """Of the newest run."""

    # -- looking -------------------------------------------------------------------------------

    def load(self) -> Record:
        """What the journal tells; the file is mended if it says something else."""
        self._bodies, self._version = [], 0
        for event in self._segue.workspace.store.read(self.stream):
            self._take(ev.read_body(event), event.at)
            self._version = event.version
        found = checkpoint_of(self._bodies)
        self._compare(found)
        return found

    def resume_code(self) -> int:
        """0 nothing to resume, 1 interrupted, 2 completed."""
        return code_of(self.load())

    def history(self) -> list[tuple[ev.Body | None, str]]:
        """Every event of the stream, with its time."""
        return [(ev.read_body(event), event.at) for event in self._segue.workspace.store.read(self.stream)]

    def _take(self, body: ev.Body | None, at: str) -> None:
        if isinstance(body, ev.HandoverBegun):
            self._bodies = []
        if not isinstance(body, ev.HandoverScored):
            self._bodies.append((body, at))

    def _compare(self, found: Record) -> None:
        try:
            told = json.loads(self.path.read_bytes())
        except FileNotFoundError:
            told = fresh()
        except (OSError, ValueError, RecursionError):
            told = None
        if told == found or self._segue.workspace.pause_file.in_force():
            return
        if not is_whole(told):
            self._keep_damaged()
            self.said.append(f"the checkpoint {self.path.name} was damaged and is made anew from the journal")
        else:
            self.said.append(
                f"the checkpoint {self.path.name} was behind the journal and is made anew from it"
            )
        self._write(found, durably=True)

    def _keep_damaged(self) -> None:
        aside = self.path.with_name(f"{self.path.name}.damaged")
        if self.path.exists():
            os.replace(self.path, aside)

    # -- changing ------------------------------------------------------------------------------

    def begin(self, step_names: list[str], extra: Extra) -> None:
        """Begin a new run with what its steps are given."""
        about = {name: value for name, value in extra.items() if name not in _ABOUT}
        self._append(
            ev.HandoverBegun(
                extra["run"], step_names, extra.get("payloads", {}), extra.get("session", ""), about
            ),
            durably=True,
        )

    def start(self, step_names: list[str]) -> None:
        """Go on with the interrupted run; steps that it does not have yet are added."""
        found = checkpoint_of(self._bodies)
        new = [name for name in step_names if name not in found["steps"]]
        if new:
            self._append(ev.HandoverExtended(self._run(), new))

    def step_begun(self, step_name: str) -> None:
        """A step that cannot simply be done again is under way."""
        self._append(ev.HandoverStepBegun(self._run(), step_name))

    def step_done(self, step_name: str, output: Any = None, *, last: bool = False) -> None:
        """A step is done; with ``last`` the run is completed in the same commit."""
        bodies: list[ev.Body] = [ev.HandoverStepDone(self._run(), step_name, output)]
        if last:
            bodies.append(ev.HandoverCompleted(self._run()))
        trip("handover.ledger.before_done")
        self._append(*bodies, durably=last)
        trip("handover.ledger.after_done")

    def step_failed(self, step_name: str, reason: str) -> None:
        """A step failed and stays pending."""
        self._append(ev.HandoverStepFailed(self._run(), step_name, reason))

    def complete(self) -> None:
        """The run is over."""
        self._append(ev.HandoverCompleted(self._run()), durably=True)

    def check_pause(self) -> None:
        """Paused while a PAUSE file exists."""
        self._segue.workspace.pause_file.check()

    @contextmanager
    def running(self) -> Iterator[None]:
        """One run at a time in a working tree; another waits until this one is over or dead."""
        private_folder(self.path.parent)
        what = f"a handover in {self._segue.workspace.working_tree.root}"
        with only_one(self.path.with_suffix(".lock"), timeout_seconds=self._wait_seconds, what=what):
            tidy_leftovers(self.path)
            yield

    # -- the stream and the file ---------------------------------------------------------------

    def _run(self) -> str:
        return str(checkpoint_of(self._bodies).get("segue", {}).get("run", ""))

    def _append(self, *bodies: ev.Body, durably: bool = False) -> None:
        segue = self._segue
        segue.workspace.pause_file.check()
        at = now()
        drafts = [
            ev.draft(body, at=at, actor=segue.workspace.repository.actor, run=segue.workspace.repository.run)
            for body in bodies
        ]
        segue.workspace.store.append(Append(self.stream, self._version, drafts))
        self._version += len(drafts)
        for body in bodies:
            self._take(body, at)
        trip("handover.ledger.between")
        self._write(checkpoint_of(self._bodies), durably=durably)

    def _write(self, found: Record, *, durably: bool) -> None:
        body = json.dumps(found, ensure_ascii=False, indent=2).encode("utf-8", "replace")
        if durably:
            write_whole(self.path, body)
        else:  # the journal has it: whoever finds an older file goes there
            private_folder(self.path.parent)
            replace_quickly(self.path, body)
