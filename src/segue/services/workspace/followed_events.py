"""The events of a session as they come, written by whatever process.

The store is looked at from time to time. A store that goes away is waited for. One that was replaced, as by a
recovery, may have lost events: then it goes on behind what is there.
"""

from __future__ import annotations

import time

from ...core import event_kinds as ev
from ..sessions.repository import stream_of
from .store_watch import StoreWatch
from .workspace import Workspace

BATCH = 500
ANYWAY_SECONDS = 30.0
"""After how long the store is read though nothing seems to have changed."""


class FollowedEvents:
    """Events of a session behind a version."""

    def __init__(self, workspace: Workspace, session: str, after: int) -> None:
        self._store = workspace.store
        self._stream = stream_of(session)
        self._watch = StoreWatch(workspace, lambda: [self._stream])
        self._more = False
        self._read_at = time.monotonic()
        self.after = after
        """The version of the last event that was returned."""
        self.lost = 0
        """How many events that were returned before are not in the store any more."""

    def new(self) -> list[ev.Event]:
        """Events that came since the last call, in order; empty if there are none. Raises SegueError while
        the store cannot be read."""
        is_due = self._more or time.monotonic() - self._read_at > ANYWAY_SECONDS
        if not self._watch.changed() and not is_due:
            return []
        try:
            return self._read()
        except BaseException:
            self._watch.forget()
            raise
        finally:
            self._read_at = time.monotonic()
            self._watch.let_go()

    def _read(self) -> list[ev.Event]:
        events = self._store.read(self._stream, after=self.after, limit=BATCH)
        if not events:
            version = self._store.head(self._stream).version
            self.lost = max(0, self.after - version)
            self.after = min(self.after, version)
        self._more = len(events) == BATCH
        self.after = events[-1].version if events else self.after
        return events
