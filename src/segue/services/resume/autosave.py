"""A background thread that saves from time to time, for programs whose state changes between commands.

It checks once a minute, and saves when there are changes and 15 minutes have passed, at once at 50 changes,
and when a chosen trigger fires. A failure is logged, never raised: the program continues, and saving is tried
again at the next check. Stopping saves once more.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any, Literal

from ..._failpoints import trip
from ...core import event_kinds as ev
from ...core.base.values import Value, count
from ...core.features.verdict import had_passed
from ...core.runs import window_pressure as core
from ...core.sessions import commands as do
from ...effects.clock import now
from ...effects.git import scene as effect
from ...errors import SegueError, UsageError
from ..workspace.own_files import own_files
from ..workspace.session_handle import SessionHandle
from . import prepare

EVERY_SECONDS, LOOK_SECONDS, NOTICE_SECONDS = 900.0, 60.0, 3600.0
CHANGES_MAX = 50
FIVE_MINUTES = "5 minutes"
FIVE_MINUTES_SECONDS = 300.0
TRIGGERS: Mapping[str, str] = {
    FIVE_MINUTES: "five minutes with changes since the last time",
    **{
        name: core.TRIGGERS[name]
        for name in (core.FILE_MODIFIED, core.TEST_PASSED, core.FEATURE_COMPLETE, core.ERROR_RECOVERED)
    },
}
"""What may make it save, in addition to time and number of changes."""

_log = logging.getLogger("segue.checkpointer")


def _trigger(name: str) -> str:
    """The trigger of this name, or of the recipe's name for it. Raises UsageError if there is none."""
    wanted = str(name).replace("_", " ").removesuffix(" elapsed")  # the recipe has 5_minutes_elapsed
    if wanted not in TRIGGERS:
        raise UsageError(f"unknown trigger: {name}", hint="one of " + ", ".join(TRIGGERS))
    return wanted


class Checkpointed(Value):
    """The result of an attempt to save."""

    status: Literal["saved", "unchanged", "failed"]
    number: int
    """How many checkpoints were saved so far, including this one."""
    at: str
    reason: str
    changes: int = 0
    """How many pending changes it covers."""
    seconds: float = 0.0
    error: str = ""


class Checkpointer:
    """Saves a session from time to time; see the module."""

    def __init__(
        self, session: SessionHandle, *, every_seconds: float = EVERY_SECONDS,
        look_seconds: float = LOOK_SECONDS, changes_max: int = CHANGES_MAX, triggers: Iterable[str] = (),
        notice: Callable[[Checkpointed], None] | None = None, **agents: Callable[[], Any],
    ) -> None:  # fmt: skip
        """``agents`` maps names of agents to functions that return their states. ``notice`` is called with a
        checkpoint or a failure, at most once an hour."""
        if every_seconds <= 0 or look_seconds <= 0 or changes_max < 1:
            raise UsageError(
                "times and numbers of a checkpointer must be above 0",
                hint="leave them out for the defaults",
            )
        self.triggers = frozenset(_trigger(name) for name in triggers)
        self._session = session
        self._every, self._look, self._changes_max = every_seconds, look_seconds, changes_max
        self._notice, self._agents = notice, agents
        self._pending: list[str] = []
        self._written = 0
        """How many changes are saved of a checkpoint that has not succeeded yet."""
        self._lock = threading.RLock()
        self._wake = threading.Event()
        self._over = threading.Event()
        self._thread: threading.Thread | None = None
        self._saved_at = time.monotonic()
        self._notified_at = float("-inf")
        self._fired = ""
        self._seen: Any = None
        self._version = 0
        self.number = 0
        self.last: Checkpointed | None = None

    def start(self) -> Checkpointer:
        """Start the thread; calling this again has no effect."""
        if self._thread is None:
            with suppress(SegueError, OSError):
                self._version = self._session.state.version
            self._seen = self._files()
            self._over.clear()
            self._thread = threading.Thread(target=self._run, name="segue checkpointer", daemon=True)
            self._thread.start()
        return self

    def change(self, text: str = "") -> None:
        """Note a change; a text is saved as what was just done. At ``changes_max`` all are saved at once."""
        with self._lock:
            self._pending.append(text)
            full = self.pending >= self._changes_max
        if full:
            self._wake.set()

    @property
    def pending(self) -> int:
        """How many changes are not part of a successful checkpoint yet."""
        return len(self._pending) + self._written

    def trigger(self, name: str) -> None:
        """Save soon, for one of the reasons in ``TRIGGERS``. Raises UsageError for another name."""
        self._fired = _trigger(name)
        self._wake.set()

    def force(self, reason: str = core.USER_REQUEST) -> Checkpointed:
        """Save now. A failure is a status of the result, not an exception."""
        return self._save(reason, always=True)

    def stop(self) -> Checkpointed | None:
        """Save once more, and stop the thread."""
        thread, self._thread = self._thread, None
        if thread is None:
            return self.last
        self._over.set()
        self._wake.set()
        if thread is not threading.current_thread():
            thread.join(self._look + 30)
        return self._save(core.BEFORE_EXIT, always=True)

    def __enter__(self) -> Checkpointer:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _run(self) -> None:
        while not self._over.is_set():
            self._wake.wait(self._look)
            self._wake.clear()
            if self._over.is_set():
                return
            try:
                reason = self._due()
                if reason:
                    self._save(reason)
            except Exception:  # whatever it is, the program must continue
                _log.exception("checking for changes failed")

    def _due(self) -> str:
        fired, self._fired = self._fired, ""
        if fired:
            return fired
        waited = time.monotonic() - self._saved_at
        if self.pending >= self._changes_max:
            return count(self._changes_max, "change")
        if self.pending and waited >= self._every:
            default = self._every == EVERY_SECONDS
            return core.QUARTER_HOUR if default else f"{self._every:g} seconds"
        if self.pending and FIVE_MINUTES in self.triggers and waited >= FIVE_MINUTES_SECONDS:
            return FIVE_MINUTES
        return self._fired_trigger()

    def _fired_trigger(self) -> str:
        if core.FILE_MODIFIED in self.triggers:
            seen, self._seen = self._seen, self._files()
            if seen != self._seen:
                return core.FILE_MODIFIED
        if self.triggers - {FIVE_MINUTES, core.FILE_MODIFIED}:
            return self._fired_by_events()
        return ""

    def _fired_by_events(self) -> str:
        """The most important trigger among new events: a feature proven, an error solved, a check passed."""
        fired: set[str] = set()
        events = self._session.log(after=self._version)
        if not events:
            return ""
        self._version = events[-1].version
        for event in events:
            body = ev.read_body(event)
            if isinstance(body, ev.ErrorSolved):
                fired.add(core.ERROR_RECOVERED)
            elif isinstance(body, ev.CheckRan) and body.exit_code == 0 and not body.timed_out:
                fired.add(core.TEST_PASSED)
                feature = self._session.state.features.get(body.feature)
                if feature is not None and had_passed(feature):
                    fired.add(core.FEATURE_COMPLETE)
        order = (core.FEATURE_COMPLETE, core.ERROR_RECOVERED, core.TEST_PASSED)
        return next((name for name in order if name in fired & self.triggers), "")

    def _files(self) -> Any:
        """A value that changes when files of the working tree change."""
        if core.FILE_MODIFIED not in self.triggers:
            return None
        workspace = self._session.workspace
        root = workspace.working_tree.root
        scene = effect.look(root, seconds=5.0, own=own_files(workspace.home, root))
        return (scene.head, scene.dirty) if scene.git else tuple(sorted(scene.files.items()))

    def _save(self, reason: str, *, always: bool = False) -> Checkpointed:
        """Save pending texts, agents' states, manifest and scene. Never raises."""
        with self._lock:
            begun = time.monotonic()
            pending = len(self._pending) + self._written
            try:
                wrote = self._write(reason, always)
            except Exception as fault:
                _log.warning("a checkpoint of %s failed: %s", self._session.id, fault)
                self.last = Checkpointed("failed", self.number, now(), reason, pending, 0.0, str(fault))
            else:
                self._written = 0
                self._saved_at = time.monotonic()
                self.number += wrote
                took = round(time.monotonic() - begun, 4)
                status: Literal["saved", "unchanged"] = "saved" if wrote else "unchanged"
                self.last = Checkpointed(status, self.number, now(), reason, pending, took)
            self._notify(self.last)
            return self.last

    def _write(self, reason: str, always: bool) -> bool:
        session = self._session
        session.workspace.pause_file.check()
        self._write_changes()
        wrote = self._written
        for name, state_of in self._agents.items():
            wrote += session.save_agent(name, state_of()).events
        if wrote or always:
            prepare.prepare(session.workspace, session, reason=reason)
        return bool(wrote or always)

    def _write_changes(self) -> None:
        """Save the texts of pending changes. They are pending no longer, whatever fails after that."""
        count = len(self._pending)
        texts = [do.Note(text) for text in self._pending[:count] if text.strip()]
        if texts:
            self._session.apply(*texts)
        del self._pending[:count]
        self._written += count
        if texts:
            trip("checkpointer.after_changes")

    def _notify(self, result: Checkpointed) -> None:
        if self._notice is None or time.monotonic() - self._notified_at < NOTICE_SECONDS:
            return
        self._notified_at = time.monotonic()
        with suppress(Exception):
            self._notice(result)
