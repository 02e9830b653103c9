"""What every request needs of the server: its projects, its keys, its limits and its books."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from ....core.base.values import Value
from ....core.server.access import DEFAULT_PROJECT, Access, AuditLine, Bucket, clean_project, draw
from ....effects.clock import moment, now
from ....errors import RateLimited, SegueError
from ....services.server.idempotency import KEPT_HOURS, forget_marks
from ....services.server.keys import Keys
from ....services.server.projects import Projects
from .commit_queue import Lane, in_thread
from .follow import StreamFollower
from .metrics import Metrics

T = TypeVar("T")
NOBODY = "none"
"""The key of whoever needs none."""
BUCKETS_MAX = 10_000
LINES_MAX = 100_000


class Rules(Value):
    """What a server allows."""

    auth: bool = True
    hosts: tuple[str, ...] = ()
    """Names by which it may be asked, without the port; empty: any. Without keys it is loopback's alone."""
    rate: float = 200.0
    """Requests a second for each key, in the long run; 0: as many as come."""
    burst: float = 2_000.0
    body_bytes_max: int = 16_000_000
    logs: bool = True
    audit_days: float = 400.0
    """How long a line of the audit is kept; 0: for ever."""


class ServerContext:
    """The server as its routes see it."""

    def __init__(
        self, projects: Projects, rules: Rules | None = None, *, log: Callable[[str], None] | None = None
    ) -> None:
        self.projects = projects
        self.keys = Keys(projects.desk)
        self.rules = rules or Rules()
        self.metrics = Metrics()
        self.watch = StreamFollower(projects)
        self.embedded = not projects.home.shared_store
        self._log = log or _to_stderr
        self._lanes: dict[str, Lane] = {}
        self._buckets: dict[str, Bucket] = {}
        self._lines: list[AuditLine] = []
        self._lock = threading.Lock()

    def known(self, token: str, project: str) -> Access:
        """Who asks, as the store says now; NotKnown or NotAllowed."""
        if not self.rules.auth and not token:
            return Access(NOBODY, "admin", clean_project(project or DEFAULT_PROJECT))
        return self.keys.check(token, project)

    async def written(self, project: str, call: Callable[[], T]) -> T:
        """What a call gives that does little but write to a project's store, once that is durable."""
        if not self.embedded:
            return await in_thread(call)
        lane = self._lanes.get(project)
        if lane is None:
            lane = self._lanes[project] = Lane(self.projects, project)
        return await lane.run(call)

    def limit(self, key: str) -> None:
        """One request more with this key; RateLimited."""
        if not self.rules.rate or key == NOBODY:
            return
        with self._lock:
            if len(self._buckets) > BUCKETS_MAX:
                self._buckets.clear()
            bucket, wait = draw(
                self._buckets.get(key), time.monotonic(), rate=self.rules.rate, burst=self.rules.burst
            )
            self._buckets[key] = bucket
        if wait:
            self.metrics.count("requests_limited")
            raise RateLimited(
                f"more than {self.rules.rate:g} requests a second with this key",
                hint="come back when Retry-After says", retry_after_seconds=wait,
            )  # fmt: skip

    def later(self, access: Access, act: str, status: int) -> None:
        """Note what was done, or refused; written with the next ``flush``, within a second or so."""
        line = AuditLine(now(), access.key, access.project, act, status)
        with self._lock:
            self._lines.append(line)
            del self._lines[:-LINES_MAX]

    def flush(self) -> None:
        """Write what waits for the audit."""
        with self._lock:
            lines, self._lines = self._lines, []
        if not lines:
            return
        try:
            self.projects.desk.note(lines)
        except SegueError:
            with self._lock:
                self._lines = [*lines, *self._lines][-LINES_MAX:]
            raise

    def tidy(self) -> None:
        """Make backups that are due; forget what nobody asks for any more: answers, marks, old audit."""
        self.projects.back_up()
        self.projects.desk.forget(moment(-3600 * KEPT_HOURS))
        for store in self.projects.opened():
            forget_marks(store)
        before = moment(-86_400 * self.rules.audit_days)
        while self.rules.audit_days and self.projects.desk.cut_audit(before):
            pass  # a few thousand at a time, so that nobody waits long

    def log(self, **facts: Any) -> None:
        """A line for whoever runs the server: no header, no query, no body ever stands in it."""
        if self.rules.logs:
            self._log(msgspec.json.encode({"at": now(), **facts}).decode())


def _to_stderr(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
