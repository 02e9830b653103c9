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

from .._trip import trip
from ..errors import StoreBusy

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
    try:
        deadline = time.monotonic() + timeout_seconds
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise StoreBusy(f"another process is at it: {what}", hint="try again later") from None
                time.sleep(0.02)
        yield
    finally:
        os.close(lock)
