"""Locks on files, the only place that knows how a platform makes them.

POSIX has ``flock`` and locks on ranges of bytes. Windows locks bytes, and only for one holder: a shared lock
keeps others away there, too. Where there is neither, nothing is locked and everything counts as free. A lock
ends when its file is closed, also by the death of its process.
"""

from __future__ import annotations

import os

_FAR_BYTE = 1 << 30
"""Windows keeps others from reading what is locked: so a byte is locked that no file has."""


def try_lock(descriptor: int, *, shared: bool = False) -> bool:
    """Lock an open file or folder without waiting; False if another process holds it."""
    try:
        import fcntl
    except ImportError:
        return _windows(descriptor, "LK_NBLCK")
    try:
        fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def unlock(descriptor: int) -> None:
    """Give up a lock before its file is closed."""
    try:
        import fcntl
    except ImportError:
        _windows(descriptor, "LK_UNLCK")
        return
    fcntl.flock(descriptor, fcntl.LOCK_UN)


def has_locks() -> bool:
    """Whether this platform can tell who holds a file."""
    try:
        import fcntl  # noqa: F401
    except ImportError:
        return _msvcrt() is not None
    return True


def is_byte_held(descriptor: int, byte: int) -> bool:
    """Whether another process holds a lock on this byte of a file; False where that cannot be known."""
    try:
        import fcntl
    except ImportError:
        return False
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, byte)
    except OSError:
        return True
    fcntl.lockf(descriptor, fcntl.LOCK_UN, 1, byte)
    return False


def _msvcrt() -> object | None:
    try:
        import msvcrt
    except ImportError:
        return None
    return msvcrt


def _windows(descriptor: int, how: str) -> bool:
    system = _msvcrt()
    if system is None:
        return True
    before = os.lseek(descriptor, 0, os.SEEK_CUR)
    try:
        os.lseek(descriptor, _FAR_BYTE, os.SEEK_SET)
        system.locking(descriptor, getattr(system, how), 1)  # type: ignore[attr-defined]
    except OSError:
        return False
    finally:
        os.lseek(descriptor, before, os.SEEK_SET)
    return True
