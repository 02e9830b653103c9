"""A connection to a Postgres server: to whichever host is the primary, and never waited on for ever.

Of several hosts the one that worked last is asked first, and one that was lost is asked last: a machine that
is frozen takes connections and never answers. For the same reason a connection on which nothing was heard for
too long counts as lost, and a primary that comes back after another one took over is not taken for one.

Behind a pooler a connection is a place in a queue, and each transaction may run in another session: nothing
is prepared there, and nothing is set but within a transaction. A pooler is known by its process number, which
is not the server's.

A commit that stopped waiting for its standby (a timeout, an end of the server) reports success, with a
warning. Here that is a doubt like any other (``unreplicated``): a standby that takes over may not have it.
"""

from __future__ import annotations

import time
import weakref
from collections.abc import Generator
from functools import cache
from typing import TYPE_CHECKING, Any

from ... import errors
from .address import Address

if TYPE_CHECKING:
    from .schema import Db

ABANDONED_MS = 30_000
"""A transaction whose client is gone holds its locks no longer than this."""
MIGRATION_SECONDS_MAX = 3_600.0
"""How long a step of a migration, or a rewrite of a table, may take without a word from the server."""
_SILENCE_SECONDS = 2.0
"""So much longer than a lock is waited for may nothing be heard."""
_HOST_SECONDS_MAX = 3
"""How long one of several hosts may take to let us in."""
_CLOCKS_APART_SECONDS_MIN = 2.0
_WAIT_FOR_STANDBY = "SyncRepWaitForLSN"
_SETTINGS = """
    SELECT pg_backend_pid(), current_setting('synchronous_commit'),
        extract(epoch FROM clock_timestamp())::float8,
        CASE WHEN pg_is_in_recovery() THEN '' ELSE left(pg_walfile_name(pg_current_wal_lsn()), 8) END,
        CASE WHEN pg_backend_pid() = %(own)s THEN set_config('lock_timeout', %(lock)s, false) END,
        CASE WHEN pg_backend_pid() = %(own)s
            THEN set_config('idle_in_transaction_session_timeout', %(idle)s, false) END
"""
_SETTINGS_OF_TRANSACTION = (
    "SELECT set_config('lock_timeout', %s, true), set_config('idle_in_transaction_session_timeout', %s, true)"
)


def driver() -> Any:
    """The driver, loaded when a Postgres store is used and not before."""
    try:
        import psycopg
    except ImportError as fault:
        told = "a Postgres store needs the driver psycopg, which is not installed"
        raise errors.NotInstalled(told, hint=errors.extra("postgres")) from fault
    return psycopg


@cache
def _kind() -> Any:
    base = driver().Connection

    class WatchedConnection(base):  # type: ignore[misc, valid-type]
        """A connection of the driver that knows how long nothing may be heard."""

        silence_seconds_max = MIGRATION_SECONDS_MAX
        is_pooled = False
        place = ("", "")
        """Host and port."""
        unreplicated = False
        """Whether a commit on it gave up waiting for a standby."""

        def wait(self, gen: Any, *more: Any, **named: Any) -> Any:
            return super().wait(_heard(self, gen), *more, **named)

    return WatchedConnection


def _heard(db: Any, gen: Any) -> Generator[Any, Any, Any]:
    """What the driver waits for; the connection is closed when nothing was heard for too long."""
    last = time.monotonic()
    try:
        wanted = next(gen)
        while True:
            ready = yield wanted
            if ready:
                last = time.monotonic()
            elif time.monotonic() - last > db.silence_seconds_max:
                db.close()
                told = f"no answer from the server for {db.silence_seconds_max:g} s"
                raise driver().OperationalError(told)
            wanted = gen.send(ready)
    except StopIteration as end:
        return end.value


class Connector:
    """Opens connections to an address."""

    def __init__(self, address: Address, busy_timeout_ms: int) -> None:
        self._address = address
        self._lock_ms = str(int(busy_timeout_ms))
        self._silence_seconds_max = busy_timeout_ms / 1000 + _SILENCE_SECONDS
        self._places = list(address.places)
        self._timeline = ""
        """The newest one on which a primary answered, in hexadecimal digits of one length."""
        self.clock_ahead_seconds = 0.0
        """How far the server's clock is ahead of ours."""

    def open(self, deadline: float) -> Db:
        """A connection that is set up; raises the driver's errors, and BadSettings."""
        psycopg = driver()
        places = list(self._places)
        seconds = max(2, int(deadline - time.monotonic()))
        named: dict[str, Any] = {}
        if len(places) > 1:
            seconds = min(seconds, _HOST_SECONDS_MAX)
            named = {"host": ",".join(h for h, _ in places), "port": ",".join(p for _, p in places)}
            named |= {} if self._address.says_which else {"target_session_attrs": "read-write"}
        try:
            db = _kind().connect(
                self._address.libpq, autocommit=True, connect_timeout=seconds, application_name="segue",
                keepalives_idle=10, keepalives_interval=5, keepalives_count=3, tcp_user_timeout=20_000,
                client_encoding="UTF8", **named,
            )  # fmt: skip
        except psycopg.ProgrammingError as fault:
            told = f"not an address that Postgres understands: {self._address.masked(str(fault))}"
            raise errors.BadSettings(told, hint="see SEGUE_STORE") from None
        try:
            db.silence_seconds_max = self._silence_seconds_max
            self._set_up(db)
        except BaseException:
            db.close()
            raise
        self._prefer(db)
        return db  # type: ignore[no-any-return]

    def _set_up(self, db: Any) -> None:
        own, before = db.info.backend_pid, time.time()
        values = {"own": own, "lock": self._lock_ms, "idle": str(ABANDONED_MS)}
        [(pid, commit, there, timeline, *_)] = db.execute(_SETTINGS, values).fetchall()
        self._refuse_older(timeline)
        ahead = there - (before + time.time()) / 2
        self.clock_ahead_seconds = ahead if abs(ahead) > _CLOCKS_APART_SECONDS_MIN else 0.0
        own_db = weakref.ref(db)  # it must be gone as soon as nobody has it
        db.add_notice_handler(lambda notice: _note(own_db(), notice))
        if pid != own:
            db.is_pooled, db.prepare_threshold = True, None
            if commit == "off":
                told = "synchronous_commit is off behind a pooler: a power cut would lose what was saved"
                raise errors.StoreError(told, hint="ALTER ROLE … SET synchronous_commit = on, for this role")
        elif commit == "off":
            db.execute("SET synchronous_commit = on")

    def _refuse_older(self, timeline: str) -> None:
        """Each failover begins a timeline: a primary of an older one was away, and does not know it yet."""
        if timeline and timeline < self._timeline:
            raise driver().OperationalError("a primary from before the last failover answered")
        self._timeline = timeline or self._timeline

    def begin(self, db: Any) -> None:
        """What a transaction needs that has no session of its own."""
        if db.is_pooled:
            db.execute(_SETTINGS_OF_TRANSACTION, (self._lock_ms, str(ABANDONED_MS)))

    def _prefer(self, db: Any) -> None:
        db.place = (db.info.host, str(db.info.port))
        self._places.sort(key=lambda place: place != db.place)

    def avoid(self, db: Any) -> None:
        """Ask the host of a connection that was lost after all others."""
        self._places.sort(key=lambda place: place == db.place)


def _note(db: Any, notice: Any) -> None:
    if db is not None and notice.source_function == _WAIT_FOR_STANDBY:
        db.unreplicated = True
