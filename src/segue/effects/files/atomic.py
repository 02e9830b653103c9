"""Atomic writes, private files and folders, and locks between processes.

A write goes to a temporary file in the same folder, which is synced and renamed over the target; then the
folder is synced. After a crash the old or the new content is there, never a mix.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from ..._failpoints import trip
from ...errors import AccessError, StoreBusy, UsageError

PRIVATE_FILE = 0o600
PRIVATE_FOLDER = 0o700


def private_folder(path: Path) -> Path:
    """Create the folder if it does not exist, readable by its owner only, and return its path."""
    if not path.is_dir():
        if path.parent != path:
            private_folder(path.parent)
        path.mkdir(exist_ok=True, mode=PRIVATE_FOLDER)
    return path


def sync_file(descriptor: int) -> None:
    """Flush a file to the disk; macOS needs more than fsync for that."""
    if sys.platform == "darwin":
        import fcntl

        fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
    else:
        os.fsync(descriptor)


def sync_folder(path: Path) -> None:
    """Make renames in a folder durable, where the platform supports it."""
    with contextlib.suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def write_whole(path: Path, body: bytes, *, mode: int = PRIVATE_FILE) -> None:
    """Replace a file's content, atomically and durably."""
    private_folder(path.parent)
    replace_quickly(path, body, mode=mode, durably=True)
    trip("files.write.after_rename")
    sync_folder(path.parent)


def replace_quickly(path: Path, body: bytes, *, mode: int = PRIVATE_FILE, durably: bool = False) -> None:
    """Replace a file's content, atomically but not durably: for what can be created again."""
    name = path.parent / f".{path.name}.{os.urandom(6).hex()}"
    try:
        with os.fdopen(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode), "wb") as file:
            file.write(body)
            if durably:
                file.flush()
                sync_file(file.fileno())
        if durably:
            trip("files.write.before_rename")
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


def check_writable(path: Path) -> None:
    """Check in advance that a file can be written: AccessError without permission, UsageError if it is a
    folder or lies in no folder."""
    existing = next((candidate for candidate in (path, *path.parents) if candidate.exists()), path)
    if existing == path and path.is_dir():
        raise UsageError(f"{path} is a folder", hint="name a file")
    if existing != path and not existing.is_dir():
        raise UsageError(f"{existing} is not a folder", hint="choose another path")
    folder = path.parent if existing == path else existing
    if not os.access(existing, os.W_OK) or not os.access(folder, os.W_OK):
        raise AccessError(f"no permission to write {path}", hint="check its owner and its permissions")


def tidy_leftovers(path: Path) -> None:
    """Remove temporary files that killed writers of this file left; only for a caller that holds its lock."""
    beginning = f".{path.name}."
    for name in os.listdir(path.parent):
        tail = name.removeprefix(beginning)
        if tail != name and len(tail) == 12 and not set(tail) - set("0123456789abcdef"):
            with contextlib.suppress(OSError):
                os.unlink(path.parent / name)


_databases: dict[str, str] = {}
"""The databases that this process may have open: real path to name."""


def protect_database(database: Path) -> None:
    """Treat a database as off limits from now on, even if it lies in a project's folder.

    POSIX drops all locks of a process on a file as soon as it closes any handle of that file. Reading the
    bytes of an open database would therefore let other processes take it for unused."""
    _databases[os.path.realpath(database)] = database.name


def is_protected_database(path: str | bytes | Path) -> bool:
    """Whether a file belongs to a protected database and must not be opened."""
    name = os.fsdecode(path)
    for suffix in ("-wal", "-shm", "-journal"):
        name = name.removesuffix(suffix)
    return os.path.basename(name) in _databases.values() and os.path.realpath(name) in _databases


def set_mode(path: Path, mode: int) -> None:
    """Give a file this mode, where files have one; it stays as it is if it is somebody else's."""
    if os.name == "posix":
        with contextlib.suppress(OSError):
            os.chmod(path, mode)


def is_open_to_others(path: Path) -> bool:
    """Whether users other than the owner have any permission on a file or folder."""
    return os.name == "posix" and path.exists() and bool(path.stat().st_mode & 0o077)


def file_lock(path: Path, *, timeout_seconds: float, what: str) -> contextlib.AbstractContextManager[None]:
    """Hold a lock file, where the platform has such locks; StoreBusy if others hold it for too long."""
    private_folder(path.parent)
    return _flocked(path, os.O_CREAT | os.O_RDWR, timeout_seconds, what)


def folder_lock(
    folder: Path, *, timeout_seconds: float, what: str
) -> contextlib.AbstractContextManager[None]:
    """The same with a lock on a folder itself, so that no lock file is left in it."""
    return _flocked(folder, os.O_RDONLY, timeout_seconds, what)


@contextlib.contextmanager
def _flocked(path: Path, flags: int, timeout_seconds: float, what: str) -> Iterator[None]:
    from ..._locks import has_locks, try_lock

    if not has_locks() or (path.is_dir() and os.name == "nt"):  # Windows cannot open a folder
        yield
        return
    lock = os.open(path, flags, PRIVATE_FILE)
    try:
        deadline, pause_seconds = time.monotonic() + timeout_seconds, 0.0005
        while not try_lock(lock):
            if time.monotonic() > deadline:
                raise StoreBusy(f"another process is using it: {what}", hint="try again")
            time.sleep(pause_seconds)
            pause_seconds = min(2 * pause_seconds, 0.02)
        yield
    finally:
        os.close(lock)
