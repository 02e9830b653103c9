"""The status of a session while somebody watches it: read again only when something may have changed.

Changes in the store are noticed at the next look. What no store knows (covered files, the life of a process)
shows when the status is read anew in any case: after a while that is long beside what reading takes.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from ...core.base.values import Value
from ...errors import SegueError
from ..brief.notices import notice_of_handover
from ..runs.sessions_shown import KnownStatus, known_status
from ..sessions.repository import stream_of
from ..workspace.open_session import find_session
from ..workspace.store_watch import StoreWatch
from ..workspace.working_tree import tree_stream
from ..workspace.workspace import Workspace
from . import emergency

ANYWAY_SECONDS = 10.0
"""After how long the status is read though nothing seems to have changed."""
PATIENCE = 20.0
"""Reading takes at most one part of so many of the time, whatever changes; but nobody waits longer than
ANYWAY_SECONDS for a look."""


class Watched(Value):
    """A status and what Segue itself has to say, as of the last look."""

    known: KnownStatus
    notices: Sequence[str] = ()
    fault: str = ""
    """Why the store could not be read at the last look; the status is older then."""


def notices_of_session(workspace: Workspace, session: str) -> list[str]:
    """What stands below a status: an interrupted handover, and changes that wait to be merged."""
    handover = notice_of_handover(workspace)
    return [*([handover] if handover else []), *emergency.notices(workspace.home, session)]


class StatusWatch:
    """Watches a session, or with an empty id the one that is current at each moment."""

    def __init__(self, workspace: Workspace, id: str = "") -> None:
        self._workspace, self._id = workspace, id
        self._store = StoreWatch(workspace, self._streams)
        self._last: Watched | None = None
        self._read_at = self._cost_seconds = 0.0

    def look(self) -> Watched:
        """The status as of now, as far as can be seen. Raises SegueError only if it was never read."""
        if self._last is not None and not self._is_due():
            return self._last
        try:
            self._last = self._read()
        except SegueError as fault:
            if self._last is None:
                raise
            self._store.forget()
            self._last = Watched(self._last.known, self._last.notices, fault.message)
        return self._last

    def _is_due(self) -> bool:
        since = time.monotonic() - self._read_at
        if since < min(PATIENCE * self._cost_seconds, ANYWAY_SECONDS):
            return False
        try:
            return self._store.changed() or since > ANYWAY_SECONDS
        except SegueError:
            return True

    def _read(self) -> Watched:
        began = time.monotonic()
        if self._last is None:
            self._store.changed()
        try:
            session = find_session(self._workspace, self._id)
            known = known_status(session)
            watched = Watched(known, notices_of_session(self._workspace, known.status.id))
            self._cost_seconds = time.monotonic() - began  # waiting in vain for a store is no reading
            return watched
        finally:
            self._store.let_go()
            self._read_at = time.monotonic()

    def _streams(self) -> list[str]:
        tree, machine = self._workspace.working_tree.root, self._workspace.store.machine
        session = self._last.known.status.id if self._last is not None else self._id
        streams = [tree_stream(str(tree), machine)] if not self._id else []
        return streams + ([stream_of(session), f"hold/{session}"] if session else [])
