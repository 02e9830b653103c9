"""Connections to the one file: safe with many processes, threads and forks.

One connection per thread, for as long as that lives. All of them are of one file: an `Opening`. Whoever finds
that another file has the path begins another one; what an earlier one knew or wrote counts for nothing.
A forked child never touches an inherited
connection (closing it would drop the parent's locks): it opens its own. WAL only where it is safe: with an
SQLite that has the WAL-reset fix, on a local file system. FULL sync: a commit that returned is on
the disk, on macOS through ``F_FULLFSYNC``.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any, NoReturn, Protocol, TypeVar

import apsw

from ... import errors
from .. import forks
from ..proofs import too_new
from . import schema
from .file_system import STORE_BYTES_MIN, is_network, read_mounts, wal_is_safe
from .openers import held_by_us, locked
from .opening import KeptConnection, Opening, SharedCommit

T = TypeVar("T")
Bindings = tuple[Any, ...] | Mapping[str, Any]
Executor = apsw.Connection | apsw.Cursor
BUSY_TIMEOUT_MS = 10_000
_OPENED_AGAIN_MAX = 1_000
OVERWRITE_DELETED = "PRAGMA secure_delete = 1"
"""For this connection: what is deleted is overwritten with zeros."""
SPACE_BYTES_MIN = 1 << 16
"""With less than this SQLite cannot open a database to write it."""
_LOST = "the commit that this was part of failed"
_MAYBE_READABLE = (
    apsw.ReadOnlyError, apsw.CantOpenError, apsw.IOError, apsw.FullError, apsw.PermissionsError,
)  # fmt: skip
"""What SQLite raises for a file that it cannot prepare for writing; such a file may be readable."""
_TAKEN_AWAY = (apsw.ConnectionClosedError, apsw.CursorClosedError, apsw.ThreadingViolationError)
"""What a thread sees whose connection another one closes, because the file was closed or replaced."""


class PlaceCheck(Protocol):
    """What is known of the store that stood in a place before; asked when its file is opened, and again
    whenever another file has its path since. Each raises DamagedError."""

    def before_opening(self) -> None:
        """Refuse a file that is gone or empty although a store was here."""

    def after_opening(self, db: apsw.Connection) -> None:
        """Refuse a file that does not hold what the store is known to have held."""

    def file_replaced(self) -> None:
        """Be told that the log here is not that of the file that has the path now."""


class Database:
    """The file and its connections."""

    def __init__(
        self, path: Path, *, busy_timeout_ms: int = BUSY_TIMEOUT_MS, vfs: str | None = None,
        lock: bool = False, read_only: bool = False,
        place: PlaceCheck | None = None,
    ) -> None:  # fmt: skip
        self.path = path
        self._lock_openings = lock and not read_only
        self._read_only = read_only
        self._place = place
        self._name = str(path)
        self.busy_timeout_ms = busy_timeout_ms
        self._vfs = vfs
        self._opening = Opening()
        self._lock = threading.Lock()
        """Of the opening: who begins another one, or adds to its connections."""
        self._sharing = threading.local()
        """The commit that each thread's writes share."""
        self.free_turn = threading.RLock()
        """Whose turn it is to write; `turn` waits for it."""
        self._was_open = False
        self.writable = True
        """Whether the schema is one that this Segue may write."""
        self.journal_mode = ""

    @property
    def unwritable(self) -> errors.SegueError | None:
        """Why this thread can only read what is there; None if it can write, or has not opened it yet."""
        return getattr(self._opening.here, "unwritable", None)

    def connection(self) -> apsw.Connection:
        """This thread's connection of this process, to the file that has our path now."""
        db: apsw.Connection = self._opening_here().here.db
        return db

    def _opening_here(self) -> Opening:
        """The opening of the file that has our path now, with a connection of this thread. Another thread may
        end it at any time: whoever needs it twice asks once."""
        opening = self._opening
        try:
            found = os.stat(self._name)
            whole = found.st_ino == opening.inode and found.st_size >= STORE_BYTES_MIN
            if whole and opening.forks == forks.count:
                opening.here.db  # noqa: B018
                return opening
        except (OSError, AttributeError):  # the file is gone, or this thread has no connection yet
            pass
        for _ in range(_OPENED_AGAIN_MAX):
            if (opened := self._opened()) is not None:
                return opened
        raise errors.StoreUnavailable(f"{self.path} is replaced again and again", hint="see `segue doctor`")

    def _opened(self) -> Opening | None:
        """As `_opening_here`; None if another thread, or another file, came between."""
        if self._opening.forks != forks.count:
            self._forget()
        opening = self._opening
        if self._gone(opening):
            ended, left = self._end(opening)
            if ended and left:
                self._refuse_mixture()
            return None
        if (
            opening.inode and not opening.connections
        ):  # all threads that had one ended: the file may be another
            self._end(opening, idle=True)
            return None
        if getattr(opening.here, "db", None) is None:
            db, inode = self._connect(opening)
            return opening if self._taken(opening, db, inode) else None
        return opening

    def _taken(self, opening: Opening, db: apsw.Connection, inode: int) -> bool:
        """Add a connection to an opening that is still the one, if it is to its file."""
        with self._lock:
            try:
                found = os.stat(self._name).st_ino
            except OSError:
                found = 0
            if opening is self._opening and found == inode and opening.inode in (0, inode):
                opening.inode, self._was_open = inode, True
                try:
                    opening.log_inode = os.stat(f"{self._name}-wal").st_ino
                except OSError:
                    opening.log_inode = 0
                opening.here.writer = db.cursor()
                opening.connections.append(db)
                opening.here.kept, opening.here.db = KeptConnection(db, opening.connections), db
                return True
        self._let_go(db, is_replaced=True)
        return False

    def opening_of(self, db: apsw.Connection) -> Opening | None:
        """The opening that is the one now, if this thread's connection is of it; None if it was ended."""
        opening = self._opening
        return opening if getattr(opening.here, "db", None) is db else None

    def replaced(self) -> bool:
        """Whether the file that we opened is gone or empty, or another one has its path."""
        return self._gone(self._opening)

    def _gone(self, opening: Opening) -> bool:
        if not opening.inode:
            return False
        try:
            found = os.stat(self._name)
        except OSError:
            return True
        return found.st_ino != opening.inode or found.st_size < STORE_BYTES_MIN

    def _log_left(self, opening: Opening) -> bool:
        """Whether the log of the file that we had open is there beside another file. A recovery takes it away
        before it puts a new file in place."""
        try:
            log = os.stat(f"{self._name}-wal")
            return os.stat(self._name).st_size > 0 and log.st_size > 0 and log.st_ino == opening.log_inode
        except OSError:
            return False

    def _end(self, opening: Opening, *, idle: bool = False) -> tuple[bool, bool]:
        """Begin another opening in the place of one, with ``idle`` only if nobody has a connection, and close
        the connections of that; whether we did, and whether a log is left that belongs to a file that is
        gone: that is noted before anybody can open the other one."""
        with self._lock:
            if opening is not self._opening or (idle and opening.connections):
                return False, False
            opening.is_replaced = self._gone(opening)
            left = opening.is_replaced and self._log_left(opening)
            if left and self._place is not None:
                self._place.file_replaced()
            connections = list(opening.connections)
            opening.connections.clear()
            self._opening = Opening()
        for db in connections:
            self._let_go(db, opening.is_replaced)
        return True, left

    @staticmethod
    def _let_go(db: apsw.Connection, is_replaced: bool) -> None:
        """Close a connection; one that another thread is using goes when that is done."""
        with suppress(apsw.Error):
            if is_replaced:  # its log must not be written into another file that has the path, nor be deleted
                db.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
            db.close()

    def _refuse_mixture(self) -> NoReturn:
        if self._place is not None:
            self._place.before_opening()
        told = "the file was replaced while this process had it open, and the log belongs to the old file"
        raise errors.DamagedError("the store", self._name, told)

    def _forget(self) -> None:
        self._lock = threading.Lock()  # whoever held it stayed in the parent
        self.free_turn = threading.RLock()
        forks.left_open.extend((*self._opening.connections, self._opening))
        self._opening, self._sharing = Opening(), threading.local()

    def _connect(self, opening: Opening) -> tuple[apsw.Connection, int]:
        """A connection, and the file that had our path before it was made."""
        anew = not opening.inode
        try:
            if not self._read_only and not self._was_open:
                self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            deadline = time.monotonic() + self.busy_timeout_ms / 1000
            with self._beside_openers():
                if anew:
                    self._refuse_lost()
                while True:
                    inode = os.stat(self._name).st_ino
                    try:
                        return self._configured(opening, anew), inode
                    except (apsw.BusyError, apsw.LockedError):
                        if time.monotonic() > deadline:
                            raise
                        time.sleep(0.01)
        except OSError as fault:
            self._no_folder(fault)
        except apsw.Error as fault:
            raise self.translate(fault) from fault

    def _beside_openers(self) -> AbstractContextManager[None]:
        if not self._lock_openings or held_by_us(self._name):
            return nullcontext()
        return locked(self._name, alone=False, timeout_seconds=self.busy_timeout_ms / 1000)

    def _refuse_lost(self) -> None:
        """DamagedError if the store was here and is gone; if it never was, make its file. Once it was open
        here the file must be there: SQLite takes an empty one for new, and deletes the log beside it."""
        if self._place is not None:
            self._place.before_opening()
        was_open = self._was_open  # another thread may be the first
        try:
            empty = os.stat(self._name).st_size < STORE_BYTES_MIN
        except FileNotFoundError:
            empty = True
        if empty and was_open:
            told = "the file is gone or empty now, and was not when this process opened it"
            raise errors.DamagedError("the store", self._name, told)
        if empty and not self._read_only and not self.path.exists():
            os.close(os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600))

    def _no_folder(self, fault: OSError) -> NoReturn:
        if isinstance(fault, PermissionError) or fault.errno == 30:
            hint = "correct the folder's permissions, or choose another with SEGUE_HOME"
            told = f"cannot write in {self.path.parent}: {fault.strerror}"
            raise errors.AccessError(told, hint=hint) from fault
        if fault.errno == 28:
            raise self._full() from fault
        told = f"cannot open {self.path}: {fault.strerror}"
        raise errors.StoreUnavailable(told, hint="see `segue doctor`") from fault

    def _configured(self, opening: Opening, anew: bool) -> apsw.Connection:
        """A connection; one that only reads where the disk or the permissions allow no more."""
        opening.here.unwritable = None
        if self._read_only:
            why: errors.SegueError = errors.AccessError(f"{self.path} was opened read-only")
            return self._to_read(opening, why, anew)
        try:
            db = self._to_write(anew)
            opening.here.unwritable = self._altered(db)
            return db
        except _MAYBE_READABLE as fault:
            if not self.path.is_file() or not os.stat(self._name).st_size:
                raise
            try:
                return self._to_read(opening, self.translate(fault), anew)
            except (apsw.CantOpenError, apsw.IOError, apsw.ReadOnlyError, apsw.PermissionsError):
                raise fault from None

    def _to_read(self, opening: Opening, why: errors.SegueError, anew: bool) -> apsw.Connection:
        from .read_only import opened_to_read

        db = opened_to_read(self.path)
        try:
            db.set_busy_timeout(self.busy_timeout_ms)
            self.writable = schema.may_write(db)
            self.journal_mode = str(db.pragma("journal_mode"))
            self._prove(db, anew)
        except BaseException:
            db.close()
            raise
        opening.here.unwritable = why
        return db

    def _to_write(self, anew: bool) -> apsw.Connection:
        was_open = self._was_open
        db = apsw.Connection(str(self.path), apsw.SQLITE_OPEN_READWRITE, vfs=self._vfs)
        try:
            self._refuse_emptied(was_open)
            if db.readonly("main"):  # SQLite opens what it may not write to be read
                raise apsw.ReadOnlyError("attempt to write a readonly database")
            db.set_busy_timeout(self.busy_timeout_ms)
            db.pragma("synchronous", "FULL")
            self.writable = schema.may_write(db)
            if was_open and not db.pragma("user_version"):
                raise self._emptied()
            mode = str(db.pragma("journal_mode"))
            safe = wal_is_safe(apsw.sqlite_lib_version()) and not is_network(self.path.parent, read_mounts())
            wanted = "wal" if safe else "delete"
            if self.writable and (mode == "wal") != (wanted == "wal"):
                mode = str(db.pragma("journal_mode", wanted))
            self.journal_mode = mode
            db.pragma("journal_size_limit", 4 << 20)
            if sys.platform == "darwin":
                db.pragma("fullfsync", 1)
                db.pragma("checkpoint_fullfsync", 1)
            if self.writable:
                self.writable = schema.prepare(db)
            self._prove(db, anew)
        except BaseException:
            db.close()
            raise
        return db

    def _altered(self, db: apsw.Connection) -> errors.DamagedError | None:
        """Why nothing may be written: a trigger of somebody else's can undo what is committed."""
        found = db.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'").fetchall()
        return self._deviating() if found and self.writable else None

    def _deviating(self) -> errors.DamagedError | None:
        """What is wrong with tables, indexes and triggers, if anything is."""
        from .schema_check import deviations_of

        told = "; ".join(one.told for one in deviations_of(self.path))
        return errors.DamagedError("the store", self._name, told) if told else None

    def _refuse_emptied(self, was_open: bool) -> None:
        """DamagedError before SQLite first reads a file that was emptied: it would delete the log."""
        try:
            has_log = (
                os.stat(f"{self._name}-wal").st_size > 0
            )  # before the file: whoever begins one has a file
        except OSError:
            has_log = False
        if (was_open or has_log) and os.stat(self._name).st_size < STORE_BYTES_MIN:
            raise self._emptied()

    def _emptied(self) -> errors.DamagedError:
        return errors.DamagedError("the store", self._name, "the file is empty now, and was not before")

    def _prove(self, db: apsw.Connection, anew: bool) -> None:
        """DamagedError if a part of the file is missing, or what the store is known to have held."""
        self._refuse_cut_off(db)
        if anew and self._place is not None:
            self._place.after_opening(db)

    def _refuse_cut_off(self, db: apsw.Connection) -> None:
        """DamagedError if the file ends within a page: SQLite takes what is missing for zeros, and
        does not see the rows that were there. With a log the page may be whole there."""
        log = Path(f"{self._name}-wal")
        torn = os.stat(self._name).st_size % int(db.pragma("page_size"))
        if torn and not (log.exists() and log.stat().st_size):
            raise errors.DamagedError("the store", self._name, "its end is missing")

    def rest(self) -> None:
        """Close the connection of this thread, if no other thread has one and nothing is under way."""
        opening = self._opening
        own = getattr(opening.here, "db", None)
        if own is not None and opening.connections == [own] and own.get_autocommit():
            self.close()

    def close(self) -> None:
        """Close all connections of this process; the next call opens anew."""
        if self._opening.forks != forks.count:
            self._forget()
        self._end(self._opening)

    def reading(self, look: Callable[[apsw.Connection], T]) -> T:
        """What a look at the store gives."""
        opening = self._opening_here()
        db = opening.here.db
        try:
            try:
                return look(db)
            except (apsw.CorruptError, UnicodeDecodeError):
                return look(db)  # damaged is only what was read twice
        except UnicodeDecodeError as fault:
            raise errors.DamagedError("the store", self._name, "a text is not UTF-8") from fault
        except apsw.Error as fault:
            raise self.translate(fault) from fault
        finally:
            if opening is not self._opening:
                self._let_go(db, opening.is_replaced)

    def fetch(self, sql: str, values: Bindings = ()) -> list[tuple[Any, ...]]:
        """The rows of a statement that only reads; none if its table is of a newer schema than the store, and
        the store may not be written here."""

        def look(db: apsw.Connection) -> list[tuple[Any, ...]]:
            try:
                return db.execute(sql, values).fetchall()
            except apsw.SQLError as fault:
                if not self._is_older(db) or not str(fault).startswith("no such table"):
                    raise
                return []

        return self.reading(look)

    def _is_older(self, db: apsw.Connection) -> bool:
        """Whether the store is of an older schema, and cannot be brought to ours."""
        if self.unwritable is None:
            return not self.writable
        return int(db.pragma("user_version")) < schema.SCHEMA

    def writing(self, work: Callable[[apsw.Cursor], T]) -> T:
        """Run work in one durable transaction, or as a part of the one that this thread's writes share; on
        any fault nothing of it stays. A thread keeps the cursor for it: a new one costs time."""
        opening, turn = self._turn_to_write()
        db, cursor, shared = opening.here.db, opening.here.writer, self.shared
        try:
            if shared is None:
                cursor.execute("BEGIN IMMEDIATE")
                result = work(cursor)
                cursor.execute("COMMIT")
                self._refuse_replaced(opening)
            else:
                self._begin_shared(opening, shared)
                result = self._part(db, cursor, work)
        except BaseException as fault:
            self._renew_writer(opening)
            if shared is None or self._ended(db):
                self._undo(db, fault)
            if isinstance(fault, apsw.Error):
                raise self.translate(fault) from fault
            raise
        finally:
            if opening is not self._opening:
                self._let_go(db, opening.is_replaced)
            turn.release()
        return result

    def _turn_to_write(self) -> tuple[Opening, threading.RLock]:
        """The opening, and the turn of this thread to write to it; the caller releases the turn."""
        while True:
            opening, turn = self._opening_to_write(), self.turn()
            if opening is self._opening:
                return opening, turn
            turn.release()  # while we waited it was ended

    def _opening_to_write(self) -> Opening:
        """As `_opening_here`; opened anew if this thread could only read, since space or permissions may be
        there by now."""
        opening = self._opening_here()
        here = opening.here
        if here.unwritable is not None and not self._read_only:
            db = here.db
            del here.kept, here.db
            db.close(True)  # what it knows of the log would make the next one read-only, too
            opening = self._opening_here()
            here = opening.here
        if here.unwritable is not None:
            raise here.unwritable
        if not self.writable:
            raise too_new(here.db.pragma("user_version"), schema.SCHEMA)
        return opening

    def _refuse_replaced(self, opening: Opening) -> None:
        """Acknowledge nothing that went to a file which is not at our path any more."""
        if opening.is_replaced or self._gone(opening):
            told = f"{self.path} was replaced while this was written"
            fault = errors.StoreUnavailable(told, hint="look whether it is there, then try again")
            fault.doubt = True
            raise fault

    @staticmethod
    def _ended(db: apsw.Connection) -> bool:
        """Whether no transaction is open; that of a file that was replaced ended with its connection."""
        try:
            return db.get_autocommit()
        except _TAKEN_AWAY:
            return True

    @staticmethod
    def _renew_writer(opening: Opening) -> None:
        """Take another cursor: one that was not at its end would hold this thread to an old state."""
        with suppress(apsw.Error):
            opening.here.writer.close(True)
            opening.here.writer = opening.here.db.cursor()

    @property
    def shared(self) -> SharedCommit | None:
        """The commit that this thread's writes share, if they share one."""
        return getattr(self._sharing, "now", None)

    def _part(self, db: apsw.Connection, cursor: apsw.Cursor, work: Callable[[apsw.Cursor], T]) -> T:
        """Work within a commit that is shared: if it fails, what the others wrote stays."""
        cursor.execute("SAVEPOINT part")
        try:
            result = work(cursor)
            cursor.execute("RELEASE part")
        except BaseException as fault:
            try:
                cursor.execute("ROLLBACK TO part; RELEASE part")
            except apsw.Error:  # there is nothing left to go back to
                self._undo(db, fault)
            raise
        return result

    @staticmethod
    def _begin_shared(opening: Opening, shared: SharedCommit) -> None:
        if shared.fault is not None:
            raise shared.fault
        if not shared.begun and shared.opening is opening:
            opening.here.db.execute("BEGIN IMMEDIATE")
            shared.begun = True
        elif shared.opening is not opening or Database._ended(opening.here.db):
            # what was written before is gone: this must not be kept alone
            shared.fault = errors.StoreUnavailable(_LOST, hint="try again")
            raise shared.fault

    def _undo(self, db: apsw.Connection, fault: BaseException) -> None:
        """Leave a transaction that failed; one that is shared has failed for all."""
        self._roll_back(db)
        shared = self.shared
        if shared is not None and shared.fault is None:
            ours = self.translate(fault) if isinstance(fault, apsw.Error) else None
            shared.begun = True
            shared.fault = ours or errors.StoreUnavailable(_LOST, hint="try again")

    @staticmethod
    def _roll_back(db: apsw.Connection) -> None:
        with suppress(*_TAKEN_AWAY):
            if not db.get_autocommit():
                db.execute("ROLLBACK")

    @contextmanager
    def together(self, undone: Callable[[], None]) -> Iterator[SharedCommit]:
        """What this thread writes within is one transaction; see `SqliteStore.together`. ``undone`` is called
        if it comes to nothing, before anybody else writes."""
        opening, turn = self._turn_to_write()
        db, shared, done = opening.here.db, SharedCommit(opening), False
        self._sharing.now = shared
        try:
            yield shared
            if shared.fault is not None:
                raise shared.fault
            if shared.begun:
                db.execute("COMMIT")
                self._refuse_replaced(opening)
            done = True
        except apsw.Error as fault:
            raise self.translate(fault) from fault
        finally:
            self._sharing.now = None
            try:
                if not done:
                    undone()
                self._roll_back(db)
                if opening is not self._opening:
                    self._let_go(db, opening.is_replaced)
            finally:
                turn.release()

    def turn(self) -> threading.RLock:
        """Wait for the turn of this thread to write; the caller releases it. Among the threads of a process
        that is short and fair, while SQLite looks again after ever longer sleeps."""
        turn = self.free_turn
        if not turn.acquire(False) and not turn.acquire(timeout=self.busy_timeout_ms / 1000):
            raise self._busy()
        return turn

    def _busy(self) -> errors.StoreBusy:
        hint = "try again; `segue doctor` names who holds it"
        return errors.StoreBusy(f"the store was busy for {self.busy_timeout_ms / 1000:g} s", hint=hint)

    def _full(self) -> errors.StoreFull:
        hint = "free some space, then try again; until then you can still read what is stored"
        return errors.StoreFull(f"no space left for {self.path}", hint=hint)

    def _barred(self, fault: str) -> errors.SegueError:
        folder = self.path.parent
        with suppress(OSError, AttributeError):  # no such call on Windows
            disk = os.statvfs(folder)
            if disk.f_flag & os.ST_RDONLY:
                fault = "its disk is mounted read-only"
            elif disk.f_bavail * disk.f_frsize < SPACE_BYTES_MIN:
                return self._full()
        looked = "" if not self.path.is_file() else "; until then you can still read what is stored"
        hint = f"correct the permissions, or choose another folder with SEGUE_HOME{looked}"
        return errors.AccessError(f"cannot write {self.path}: {fault}", hint=hint)

    def translate(self, fault: apsw.Error) -> errors.SegueError:
        """Our error for one of SQLite's."""
        if isinstance(fault, apsw.BusyError | apsw.LockedError):
            return self._busy()
        if isinstance(fault, apsw.FullError):
            return self._full()
        if isinstance(fault, _TAKEN_AWAY):
            told = f"{self.path} was closed or replaced by another thread"
            return errors.StoreUnavailable(told, hint="look whether it is there, then try again")
        if isinstance(fault, apsw.CorruptError | apsw.NotADBError):
            return errors.DamagedError("the store", str(self.path), str(fault))
        readable = not self.path.exists() or os.access(self.path, os.R_OK)
        may = readable and os.access(self.path.parent, os.W_OK)
        read_only = isinstance(fault, apsw.CantOpenError) and not may
        if read_only or isinstance(fault, apsw.ReadOnlyError | apsw.PermissionsError | apsw.AuthError):
            return self._barred(str(fault))
        if isinstance(fault, apsw.CantOpenError):
            return errors.StoreUnavailable(f"cannot open {self.path}: {fault}", hint="see `segue doctor`")
        if isinstance(fault, apsw.IOError):
            hint = "check space and quotas with `df`, then try again; you can still read what is stored"
            return errors.StoreUnavailable(f"the disk refused the write: {fault}", hint=hint)
        altered = self._deviating() if isinstance(fault, apsw.SQLError) else None
        return altered or errors.StoreError(f"the store failed: {fault}", hint="see `segue doctor`")
