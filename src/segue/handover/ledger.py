"""The checkpoint of a working tree in the journal, and a copy of it in a file that is quick to read.

The stream ``handover/<tree>`` is authoritative: each step is an event, committed before the next one starts.
`segue handover check` reads the file, without opening a store. If the file is damaged, missing or outdated,
it is written again from the stream, with a notice.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .._failpoints import trip
from .._files import read_bytes
from ..api.segue import Segue
from ..core import event_kinds as ev
from ..core.handover.events import checkpoint_of
from ..effects.clock import now
from ..effects.files.atomic import file_lock, private_folder, replace_quickly, tidy_leftovers, write_whole
from ..services.workspace.working_tree import tree_stream
from ..stores.base import Append
from .checkpoint import RUN_WAIT_SECONDS
from .record import Extra, Record, code_of, fresh, is_whole

_ABOUT = ("run", "payloads", "session")


class StoreCheckpoint:
    """The progress of the handover of a working tree, according to the journal; a ``Ledger``."""

    def __init__(self, segue: Segue, *, wait_seconds: float = RUN_WAIT_SECONDS) -> None:
        self._segue = segue
        self._wait_seconds = wait_seconds
        root = str(segue.workspace.working_tree.root)
        name = tree_stream(root).removeprefix("tree/")
        self.stream = tree_stream(root, segue.workspace.store.machine).replace("tree/", "handover/", 1)
        self.path: Path = segue.workspace.home.handover / f"{name}.json"
        self.notices: list[str] = []
        """Messages about what was repaired."""
        self._version = 0
        self._bodies: list[tuple[ev.Body | None, str]] = []
        """The events of the newest run, with their times."""

    def load(self) -> Record:
        """The progress according to the journal; the file is repaired if it differs."""
        self._bodies, self._version = [], 0
        for event in self._segue.workspace.store.read(self.stream):
            self._take(ev.read_body(event), event.at)
            self._version = event.version
        record = checkpoint_of(self._bodies)
        self._repair_file(record)
        return record

    def resume_code(self) -> int:
        """0 if there is nothing to resume, 1 if a run was interrupted, 2 if the last run completed."""
        return code_of(self.load())

    def history(self) -> list[tuple[ev.Body | None, str]]:
        """Every event of the stream, with its time."""
        return [(ev.read_body(event), event.at) for event in self._segue.workspace.store.read(self.stream)]

    def _take(self, body: ev.Body | None, at: str) -> None:
        if isinstance(body, ev.HandoverBegun):
            self._bodies = []
        if not isinstance(body, ev.HandoverScored):
            self._bodies.append((body, at))

    def _repair_file(self, record: Record) -> None:
        try:
            in_file = json.loads(read_bytes(self.path))
        except FileNotFoundError:
            in_file = fresh()
        except (OSError, ValueError, RecursionError):
            in_file = None
        if in_file == record or self._segue.workspace.pause_file.in_force():
            return
        was = "outdated" if is_whole(in_file) else "damaged"
        if was == "damaged" and self.path.exists():
            os.replace(self.path, self.path.with_name(f"{self.path.name}.damaged"))
        self.notices.append(f"the checkpoint {self.path.name} was {was}; rebuilt from the journal")
        self._write(record, durably=True)

    def begin(self, step_names: list[str], extra: Extra) -> None:
        about = {name: value for name, value in extra.items() if name not in _ABOUT}
        self._append(
            ev.HandoverBegun(
                extra["run"], step_names, extra.get("payloads", {}), extra.get("session", ""), about
            ),
            durably=True,
        )

    def start(self, step_names: list[str]) -> None:
        record = checkpoint_of(self._bodies)
        new = [name for name in step_names if name not in record["steps"]]
        if new:
            self._append(ev.HandoverExtended(self._run(), new))

    def step_begun(self, step_name: str) -> None:
        self._append(ev.HandoverStepBegun(self._run(), step_name))

    def step_done(self, step_name: str, output: Any = None, *, last: bool = False) -> None:
        bodies: list[ev.Body] = [ev.HandoverStepDone(self._run(), step_name, output)]
        if last:
            bodies.append(ev.HandoverCompleted(self._run()))
        trip("handover.ledger.before_done")
        self._append(*bodies, durably=last)
        trip("handover.ledger.after_done")

    def step_failed(self, step_name: str, reason: str) -> None:
        self._append(ev.HandoverStepFailed(self._run(), step_name, reason))

    def complete(self) -> None:
        self._append(ev.HandoverCompleted(self._run()), durably=True)

    def check_pause(self) -> None:
        self._segue.workspace.pause_file.check()

    @contextmanager
    def running(self) -> Iterator[None]:
        """Allows one run at a time in a working tree; another one waits until this one has ended or died."""
        private_folder(self.path.parent)
        what = f"a handover in {self._segue.workspace.working_tree.root}"
        with file_lock(self.path.with_suffix(".lock"), timeout_seconds=self._wait_seconds, what=what):
            tidy_leftovers(self.path)
            yield

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

    def _write(self, record: Record, *, durably: bool) -> None:
        body = json.dumps(record, ensure_ascii=False, indent=2).encode("utf-8", "replace")
        if durably:
            write_whole(self.path, body)
        else:  # an older file would be rebuilt from the journal
            private_folder(self.path.parent)
            replace_quickly(self.path, body)
