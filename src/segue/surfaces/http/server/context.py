"""What every request needs from the server: projects, keys, limits, metrics and the log."""

from __future__ import annotations

import sys
import threading
import time
import traceback
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from ....core.base.values import Value
from ....core.server.access import DEFAULT_PROJECT, Access, AuditLine, Bucket, clean_project, draw
from ....effects.clock import moment, now
from ....errors import RateLimited, SegueError, StoreUnavailable
from ....services.server.idempotency import KEPT_HOURS, forget_marks
from ....services.server.keys import Keys
from ....services.server.projects import Projects
from ....services.server.tracing import Tracing
from .commit_queue import CommitQueue, in_thread
from .connections import ConnectionLimits
from .follow import StreamFollower
from .metrics import Metrics
from .readiness import Readiness

T = TypeVar("T")
NO_KEY = "none"
"""The key id of callers on a server without keys."""
BUCKETS_MAX = 10_000
AUDIT_LINES_MAX = 100_000


class ServerOptions(Value):
    """What a server allows."""

    auth: bool = True
    hosts: tuple[str, ...] = ()
    """The host names that it accepts, without the port; empty means any. Without keys only those of
    loopback."""
    rate: float = 200.0
    """Requests per second for each key, on average; 0 means no limit."""
    burst: float = 2_000.0
    body_bytes_max: int = 16_000_000
    logs: bool = True
    audit_days: float = 400.0
    """How long a line of the audit is kept, in days; 0 means for ever."""
    drain_seconds: float = 0.0
    """How long it serves on after SIGTERM while it says that it is not ready."""
    limits: ConnectionLimits = ConnectionLimits()
    """What a client may send and hold before its key is looked at."""


class ServerContext:
    """The server as its routes see it."""

    def __init__(
        self, projects: Projects, options: ServerOptions | None = None, *,
        log: Callable[[str], None] | None = None, tracing: Tracing | None = None,
    ) -> None:  # fmt: skip
        self.tracing = tracing
        self.projects = projects
        self.keys = Keys(projects.server_tables)
        self.options = options or ServerOptions()
        self.metrics = Metrics()
        self.follower = StreamFollower(projects)
        self.embedded = not projects.home.shared_store
        self.readiness = Readiness(self._ask_stores)
        self._write_log = log or _to_stderr
        self._queues: dict[str, CommitQueue] = {}
        self._buckets: dict[str, Bucket] = {}
        self._audit: list[AuditLine] = []
        self._lock = threading.Lock()

    def _ask_stores(self) -> None:
        """Raise what a store raises that does not answer; anybody may hear it, so it names no project."""
        self.projects.probe.head("ledger/ready")
        try:
            for store in self.projects.opened() if self.embedded else ():
                store.head("ledger/ready")
        except SegueError as fault:
            told = "a project's store does not answer: `segue doctor` with its data folder shows why"
            raise StoreUnavailable(told, hint=fault.hint) from None

    def authenticate(self, token: str, project: str) -> Access:
        """What a token gives access to, according to the store. Raises NotKnown or NotAllowed."""
        if not self.options.auth and not token:
            return Access(NO_KEY, "admin", clean_project(project or DEFAULT_PROJECT))
        return self.keys.check(token, project)

    async def write(self, project: str, call: Callable[[], T]) -> T:
        """The result of a call that mainly writes to a project's store, once that is durable."""
        if not self.embedded:
            return await in_thread(call)
        queue = self._queues.get(project)
        if queue is None:
            queue = self._queues[project] = CommitQueue(self.projects, project)
        return await queue.run(call)

    def count_request(self, key: str) -> None:
        """Count a request with this key. Raises RateLimited."""
        if not self.options.rate or key == NO_KEY:
            return
        with self._lock:
            if len(self._buckets) > BUCKETS_MAX:
                self._buckets.clear()
            bucket, wait = draw(
                self._buckets.get(key), time.monotonic(), rate=self.options.rate, burst=self.options.burst
            )
            self._buckets[key] = bucket
        if wait:
            self.metrics.count("requests_limited")
            raise RateLimited(
                f"more than {self.options.rate:g} requests per second with this key",
                hint="try again after the seconds in Retry-After", retry_after_seconds=wait,
            )  # fmt: skip

    def audit(self, access: Access, act: str, status: int) -> None:
        """Note what was done or refused; the next ``flush_audit`` writes it, within a second or so."""
        line = AuditLine(now(), access.key, access.project, act, status)
        with self._lock:
            self._audit.append(line)
            del self._audit[:-AUDIT_LINES_MAX]

    def flush_audit(self) -> None:
        """Write the audit lines that are waiting."""
        with self._lock:
            lines, self._audit = self._audit, []
        if not lines:
            return
        try:
            self.projects.server_tables.note(lines)
        except SegueError:
            with self._lock:
                self._audit = [*lines, *self._audit][-AUDIT_LINES_MAX:]
            raise

    def tidy(self) -> None:
        """Make backups that are due, and delete what is no longer needed: old responses, marks and audit
        lines."""
        self.projects.back_up()
        self.projects.server_tables.forget(moment(-3600 * KEPT_HOURS))
        for store in self.projects.opened():
            forget_marks(store)
        before = moment(-86_400 * self.options.audit_days)
        while self.options.audit_days and self.projects.server_tables.cut_audit(before):
            pass  # a few thousand at a time, so that nobody waits long

    def log(self, **facts: Any) -> None:
        """Log a line for whoever runs the server; it never contains headers, queries or bodies."""
        if self.options.logs:
            self._write_log(msgspec.json.encode({"at": now(), **facts}).decode())

    def log_fault(self, fault: BaseException, id: str = "") -> None:
        """Log an internal error by kind and place only, because its text may contain parts of a request."""
        frames = traceback.extract_tb(fault.__traceback__)[-6:]
        places = [f"{one.filename.rpartition('segue/')[2]}:{one.lineno}" for one in frames]
        self.log(event="fault", id=id, kind=type(fault).__name__, where=places)


def _to_stderr(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
