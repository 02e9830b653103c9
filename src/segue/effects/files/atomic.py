"""Files that are whole or not there, private to the user.

A write goes to a temporary file in the same folder, is synced, renamed over the target, and
the folder is synced: after a crash the old or the new content is there, never a mix.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..._failpoints import trip
from ...errors import AccessError, StoreBusy, UsageError

PRIVATE_FILE = 0o600
PRIVATE_FOLDER = 0o700


def private_folder(path: Path) -> Path:
    """The folder, made if need be, readable by its owner only."""
    if not path.is_dir():
        if path.parent != path:
            private_folder(path.parent)
        path.mkdir(exist_ok=True, mode=PRIVATE_FOLDER)
    return path


def sync_file(descriptor: int) -> None:
    """To the disk, really: macOS needs more than fsync."""
    if sys.platform == "darwin":
        import fcntl

        fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
    else:
        os.fsync(descriptor)


def sync_folder(path: Path) -> None:
    """Make renames in a folder durable, where the platform can."""
    with contextlib.suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def write_whole(path: Path, body: bytes, *, mode: int = PRIVATE_FILE) -> None:
    """Replace a file's content, atomically and durably."""
    private_folder(path.parent)
    name = path.parent / f".{path.name}.{os.urandom(6).hex()}"
    try:
        with os.fdopen(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode), "wb") as file:
            file.write(body)
            file.flush()
            sync_file(file.fileno())
        trip("files.write.before_rename")
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise
    trip("files.write.after_rename")
    sync_folder(path.parent)


def replace_quickly(path: Path, body: bytes) -> None:
    """Replace a file's content, atomically but not durably: for what can be made anew."""
    name = path.parent / f".{path.name}.{os.urandom(6).hex()}"
    try:
        with os.fdopen(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, PRIVATE_FILE), "wb") as file:
            file.write(body)
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


def check_writable(path: Path) -> None:
    """Before anything is done: AccessError if a file may not be written, UsageError if it cannot be."""
    place = next((one for one in (path, *path.parents) if one.exists()), path)
    if place == path and path.is_dir():
        raise UsageError(f"{path} is a folder", hint="name a file")
    if place != path and not place.is_dir():
        raise UsageError(f"{place} is not a folder", hint="name another place")
    folder = path.parent if place == path else place
    if not os.access(place, os.W_OK) or not os.access(folder, os.W_OK):
        raise AccessError(f"{path} may not be written", hint="check whose it is, and who may write there")


def tidy_leftovers(path: Path) -> None:
    """Remove what writers of this file left behind when they were killed; only for who holds its lock."""
    beginning = f".{path.name}."
    for name in os.listdir(path.parent):
        tail = name.removeprefix(beginning)
        if tail != name and len(tail) == 12 and not set(tail) - set("0123456789abcdef"):
            with contextlib.suppress(OSError):
                os.unlink(path.parent / name)


_databases: dict[str, str] = {}
"""Real path to name, of the databases that this process may have open."""


def keep_out(database: Path) -> None:
    """From now on a database is no file of a project, whatever folder it lies in.

    Locks of a process on a file are gone when it closes any handle of that file: a look at the bytes of an
    open database would let other processes take it for unused."""
    _databases[os.path.realpath(database)] = database.name


def is_kept_out(path: str | bytes | Path) -> bool:
    """Whether a file belongs to such a database, and must not be opened to be read."""
    name = os.fsdecode(path)
    for suffix in ("-wal", "-shm", "-journal"):
        name = name.removesuffix(suffix)
    return os.path.basename(name) in _databases.values() and os.path.realpath(name) in _databases


def too_open(path: Path) -> bool:
    """Whether others than the owner may read or enter."""
    return os.name == "posix" and path.exists() and bool(path.stat().st_mode & 0o077)


@contextlib.contextmanager
def only_one(path: Path, *, timeout_seconds: float, what: str) -> Iterator[None]:
    """One process at a time, where the platform has such locks; StoreBusy for whoever waits too long."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    private_folder(path.parent)
    lock = os.open(path, os.O_CREAT | os.O_RDWR, PRIVATE_FILE)
    with _flocked(lock, fcntl, timeout_seconds, what):
        yield


@contextlib.contextmanager
def locked(folder: Path, *, timeout_seconds: float, what: str) -> Iterator[None]:
    """The same for what is in a folder, by a lock on the folder itself: no file is left in it."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    lock = os.open(folder, os.O_RDONLY)
    with _flocked(lock, fcntl, timeout_seconds, what):
        yield


@contextlib.contextmanager
def _flocked(lock: int, fcntl: Any, timeout_seconds: float, what: str) -> Iterator[None]:
    try:
        deadline, pause_seconds = time.monotonic() + timeout_seconds, 0.0005
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise StoreBusy(f"another process is at it: {what}", hint="try again later") from None
                time.sleep(pause_seconds)
                pause_seconds = min(2 * pause_seconds, 0.02)
        yield
    finally:
        os.close(lock)
