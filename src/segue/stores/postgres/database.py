"""Work on a Postgres server: done once, however often it had to be tried.

A write that fails before its commit (a deadlock, a serialisation failure, no connection) is tried again until
the deadline. A connection that is lost while a commit is under way leaves a doubt: the server may have
committed it and died before it could say so. Every write carries an ``attempt``, a random number that is
stored with it, and whoever is in doubt looks for it before trying again, and once more if the second try is
refused: the first one may still have been under way. So an effect happens once, and an acknowledgement
is always of something that is on the server's disk (``synchronous_commit`` is never off here) and, where the
server has a synchronous standby, on that one's.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID, uuid4

from ... import errors
from ...core.base.text import encodable
from ..pool import Pool
from ..proofs import too_new
from ..sql import Row
from . import schema
from .address import Address
from .connection import MIGRATION_SECONDS_MAX, Connector, driver
from .schema import Db

if TYPE_CHECKING:
    from psycopg import Error

T = TypeVar("T")
BUSY_TIMEOUT_MS = 10_000
_PAUSE_SECONDS = 0.02
_PAUSE_SECONDS_MAX = 0.5
_FIRST_SECONDS = 3.0
_NO_TIMEOUTS = """
    SELECT set_config(name, '0', false) FROM unnest(ARRAY['lock_timeout', 'statement_timeout']) AS name
    WHERE pg_backend_pid() = %(own)s
"""
"""For a connection of our own: behind a pooler it is somebody else's by the next statement."""
_QUIET_SECONDS = 3.0
_DOUBT_TIMES = 3
"""So much longer than otherwise is tried when a commit is in doubt: to give up is to leave the doubt."""
_LOST_TIMES = 2
"""So much longer a read is tried whose connection was lost: perhaps nothing was heard on it all that time."""
_unreached: dict[str, float] = {}
"""When a server last did not answer at all, by its address."""
_AGAIN = ("40001", "40P01", "55006")
"""Nothing happened, and the same may work: serialisation failure, deadlock, object in use."""
_LOST = ("57P01", "57P02", "57P03", "57P05", "25006", "08")
"""The server ends, starts, or is a standby by now."""
_BUSY = ("53300", "55P03", "57014", "53400")
_DENIED = ("28", "42501")
_HOPELESS = ("authentication failed", "does not exist", "no password supplied", "not known", "no pg_hba.conf")


class Database:
    """A database and the connections to it."""

    def __init__(self, address: Address, *, busy_timeout_ms: int = BUSY_TIMEOUT_MS) -> None:
        self.address = address
        self.namespace = address.namespace
        self.busy_timeout_ms = busy_timeout_ms
        self.ready: schema.Ready | None = None
        self._answered = False
        """Whether a server ever let us in."""
        self.only_reads = False
        """Set by whoever looks at a standby: a write is refused at once instead of waiting for a primary."""
        self._preparing = threading.Lock()
        self._connector = Connector(address, busy_timeout_ms)
        hint = "try again, or allow more with ?pool=N in SEGUE_STORE"
        self._pool: Pool[Db] = Pool(address.pool_max, "the store", hint)

    def beside(self, namespace: str) -> Database:
        """The same database, for another namespace; both share their connections."""
        other = Database(self.address, busy_timeout_ms=self.busy_timeout_ms)
        other.namespace, other._pool, other._connector = namespace, self._pool, self._connector
        other._answered = self._answered
        other.ready = self.reading(lambda db: schema.prepare(db, namespace))
        return other

    def close(self) -> None:
        """Close idle connections; the next call opens anew."""
        self._pool.close()

    @property
    def clock_ahead_seconds(self) -> float:
        """How far the server's clock was ahead of ours when a connection was last opened."""
        return self._connector.clock_ahead_seconds

    @property
    def vector(self) -> str:
        """The schema of pgvector; empty if this database does not have it."""
        return self.ready.vector if self.ready else ""

    @contextmanager
    def _connection(self, deadline: float) -> Iterator[Db]:
        """A connection for this block alone; StoreBusy if none is to be had before the deadline."""
        with self._pool.lease(deadline) as lease:
            db = lease.connection = lease.connection or self._open(deadline)
            try:
                yield db
            except driver().errors.ReadOnlySqlTransaction:
                db.close()  # it was the primary, and is a standby by now
                raise
            finally:
                lease.broken = db.closed or db.broken
                if lease.broken:
                    self._connector.avoid(db)
                lease.usable = lease.broken or not db.info.transaction_status  # none is left open

    def _open(self, deadline: float) -> Db:
        db = self._connector.open(deadline)
        self._answered = True
        try:
            if self.ready is None:
                with self._preparing:
                    if self.ready is None:
                        with patient(db):
                            self.ready = schema.prepare(db, self.namespace)
        except BaseException:
            db.close()
            raise
        return db

    def fetch(self, sql: str, values: Row | dict[str, Any] = ()) -> list[Row]:
        """The rows of a statement that only reads."""
        return self.reading(lambda db: rows(db, sql, values))

    def fetch_as_is(self, sql: str) -> list[Row]:
        """The same without making or changing tables first; tried once."""
        psycopg = driver()
        try:
            with closing(self._connector.open(time.monotonic() + _FIRST_SECONDS)) as db:
                return rows(db, sql)
        except psycopg.Error as fault:
            raise self.translate(fault) from None

    def schema_there(self) -> int:
        """The schema of the tables; 0 if there are none."""
        [(there,)] = self.fetch_as_is("SELECT to_regclass('segue.meta') IS NOT NULL")
        found = self.fetch_as_is("SELECT value FROM segue.meta WHERE key = 'schema'") if there else []
        return int(found[0][0]) if found else 0

    def index_words(self) -> None:
        """Build the index of words if it is not whole, however long that takes; others write meanwhile."""
        self.fetch("SELECT 1")
        psycopg = driver()
        try:
            with closing(self._connector.open(time.monotonic() + _FIRST_SECONDS)) as db, patient(db):
                db.execute(_NO_TIMEOUTS, {"own": db.info.backend_pid})
                schema.index_words(db)
        except psycopg.Error as fault:
            raise self.translate(fault) from None

    def reading(self, look: Callable[[Db], T]) -> T:
        """Look; a connection that is lost is replaced."""
        return self._trying(look, None)

    def writing(self, work: Callable[[Db, UUID], T], done: Callable[[Db, UUID], T | None]) -> T:
        """Do work that commits once; ``done`` looks, after a doubt, whether this attempt is there, and
        gives what the work would have given."""
        attempt = uuid4()
        return self._trying(lambda db: work(db, attempt), lambda db: done(db, attempt))

    def transaction(self, work: Callable[[Db, UUID], T], done: Callable[[Db, UUID], T | None]) -> T:
        """The same for work of several statements, all or nothing."""

        def whole(db: Db, attempt: UUID) -> T:
            with db.transaction():
                self._connector.begin(db)
                return work(db, attempt)

        return self.writing(whole, done)

    def _trying(self, work: Callable[[Db], T], done: Callable[[Db], T | None] | None) -> T:
        psycopg = driver()
        if self.only_reads and done is not None:
            raise errors.StoreUnavailable("a standby takes no writes", hint="see SEGUE_READ_STORE")
        late = (errors.StaleVersion, psycopg.errors.UniqueViolation)
        began, whole = time.monotonic(), self.busy_timeout_ms / 1000
        deadline = began + self._patience_seconds()
        pause, doubt = _PAUSE_SECONDS, False
        while True:
            begun = False
            try:
                with self._connection(deadline) as db:
                    if done is not None:
                        self._refuse_newer()
                        found = _settled(db, done) if doubt else None
                        if found is not None:
                            return found
                    begun = True
                    try:
                        outcome = work(db)
                    except late:  # perhaps by our own first try
                        found = _settled(db, done) if doubt and done is not None else None
                        if found is None:
                            raise
                        return found
                    if done is not None:
                        _check_replicated(db)
                    return outcome
            except psycopg.Error as fault:
                lost = begun and _is_lost(fault)
                doubt = doubt or (lost and done is not None)
                if lost or doubt or self._answered or _is_starting(fault):
                    times = _DOUBT_TIMES if doubt else _LOST_TIMES if lost else 1
                    deadline = max(deadline, began + whole * times)
                if not _may_try_again(fault) or time.monotonic() + pause > deadline:
                    if not self._answered:
                        _unreached[self.address.shown] = time.monotonic()
                    raise self.translate(fault, doubt=doubt) from None
            time.sleep(pause * random.uniform(0.5, 1.0))
            pause = min(pause * 2, _PAUSE_SECONDS_MAX)

    def _patience_seconds(self) -> float:
        """How long to try: whoever was connected waits for a failover, a newcomer hears soon that nobody
        answers, and at once if it has just been told so. A server that is starting does answer."""
        whole = self.busy_timeout_ms / 1000
        if self._answered:
            return whole
        since = time.monotonic() - _unreached.get(self.address.shown, -_QUIET_SECONDS)
        return min(whole, _FIRST_SECONDS if since >= _QUIET_SECONDS else 0.0)

    def _refuse_newer(self) -> None:
        if self.ready is None or self.ready.writable:
            return
        if self.ready.schema > schema.SCHEMA:
            raise too_new(self.ready.schema, schema.SCHEMA)
        self.ready = None  # a standby when it was opened: perhaps no longer
        raise driver().errors.ReadOnlySqlTransaction("the server is a standby")

    def translate(self, fault: Error, *, doubt: bool = False) -> errors.SegueError:
        """Our error for one of the driver's; it never holds the password."""
        state, text, where = fault.sqlstate or "", self.address.masked(_words(fault)), self.address.shown
        if doubt:
            told = (
                f"the connection to {where} was lost during a commit: the write may or may not have happened"
            )
            hint = "check with `segue log` before you repeat it"
            error = errors.StoreUnavailable(f"{told} ({text})", hint=hint)
            error.doubt = True
            return error
        if state in _AGAIN or state in _BUSY:
            told = f"the store was busy for {self.busy_timeout_ms / 1000:g} s: {text}"
            return errors.StoreBusy(told, hint="try again")
        if state.startswith("53"):
            hint = "free some space there, then try again"
            return errors.StoreFull(f"the server is out of space: {text}", hint=hint)
        if state in ("XX001", "XX002"):
            return errors.DamagedError("the store", where, text)
        if state.startswith(_DENIED) or "authentication failed" in text or "no password supplied" in text:
            hint = "check the user, the password (PGPASSWORD or ~/.pgpass) and the role's permissions"
            return errors.AccessError(f"{where} refused the login: {text}", hint=hint)
        if state == "3D000" or ("database" in text and "does not exist" in text):
            return errors.StoreUnavailable(f"{where}: {text}", hint="create the database with `createdb`")
        if not state or state.startswith(_LOST) or state.startswith("58"):
            hint = "is the server up? `segue doctor` checks"
            return errors.StoreUnavailable(f"cannot reach {where}: {text}", hint=hint)
        return errors.StoreError(f"the store failed: {text} ({state})", hint="see `segue doctor`")


@contextmanager
def patient(db: Any) -> Iterator[None]:
    """Within the block, the server may take long before it says anything."""
    before, db.silence_seconds_max = db.silence_seconds_max, MIGRATION_SECONDS_MAX
    try:
        yield
    finally:
        db.silence_seconds_max = before


def rows(db: Db, sql: str, values: Row | dict[str, Any] = ()) -> list[Row]:
    """All rows of a statement, as bytes come: no text form in between."""
    cursor = db.execute(sql, values or None, binary=True)
    found = cursor.pgresult
    return cursor.fetchall() if found is not None and found.nfields else []


def changed(db: Db, sql: str, values: Row | dict[str, Any] = ()) -> int:
    """How many rows a statement changed."""
    return db.execute(sql, values or None).rowcount


def many(db: Db, sql: str, values: Sequence[Row | dict[str, Any]]) -> None:
    """A statement for each row, sent together."""
    if values:
        with db.cursor() as cursor:
            cursor.executemany(sql, values)


def plain(text: str) -> str:
    """A text as Postgres can keep it: without NUL and halves of surrogate pairs."""
    return encodable(text.replace("\0", "\ufffd") if "\0" in text else text)


def remember(db: Db, namespace: str, attempt: UUID) -> None:
    """Note an attempt with what it does; one that is under way is waited for."""
    changed(db, "INSERT INTO segue.attempts (namespace, attempt) VALUES (%s, %s)", (namespace, attempt))
    if attempt.int % 64 == 0:  # now and then: nobody is in doubt about what is a day old
        sql = "DELETE FROM segue.attempts WHERE namespace = %s AND at < now() - interval '1 day'"
        changed(db, sql, (namespace,))


def tried(db: Db, namespace: str, attempt: UUID) -> bool:
    """Whether an attempt is there."""
    sql = "SELECT 1 FROM segue.attempts WHERE namespace = %s AND attempt = %s"
    return bool(rows(db, sql, (namespace, attempt)))


def _settled(db: Any, done: Callable[[Db], T | None]) -> T | None:
    """What a write in doubt gave, if it is there. What is on the disk of this server may have come to no
    standby yet: a commit of our own, which waits for one, is behind it."""
    found = done(db)
    if found is not None:
        db.execute("SELECT pg_logical_emit_message(true, 'segue', '')")
        _check_replicated(db)
    return found


def _check_replicated(db: Any) -> None:
    """Raise, as if the connection had been lost, if a commit gave up waiting for a standby."""
    if db.unreplicated:
        db.close()
        raise driver().OperationalError("the server stopped waiting for its standby")


def _is_lost(fault: Error) -> bool:
    state = fault.sqlstate or ""
    return not state or state.startswith(_LOST)


def _is_starting(fault: Error) -> bool:
    """Whether somebody is there, who will take connections in a moment."""
    return fault.sqlstate == "57P03" or "the database system is" in str(fault)


def _may_try_again(fault: Error) -> bool:
    """Whether the same may work in a moment; a name that does not resolve or a wrong password does not."""
    psycopg = driver()
    kinds = psycopg.OperationalError | psycopg.InternalError | psycopg.InterfaceError
    unnamed = type(fault) is psycopg.DatabaseError and not fault.sqlstate  # an answer that broke off
    if not (unnamed or isinstance(fault, kinds)):
        return False
    text = str(fault)
    state = fault.sqlstate or ""
    if not state:
        return not any(word in text for word in _HOPELESS)
    return state in _AGAIN or state.startswith(_LOST) or state == "53300"


def _words(fault: Error) -> str:
    diagnosis = fault.diag.message_primary if fault.diag else None
    return str(diagnosis or fault).strip() or type(fault).__name__
