"""Who opens a store's file, and who has it alone to put another one in its place."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ... import errors

_alone: set[str] = set()
_kept_open: list[int] = []


def held_by_us(path: str) -> bool:
    """Whether this process has the store alone."""
    return path in _alone


@contextmanager
def locked(path: str, *, alone: bool, timeout_seconds: float) -> Iterator[None]:
    """Hold the lock that whoever opens the store shares, and whoever replaces it has alone."""
    from ..._locks import try_lock

    try:
        lock = os.open(f"{path}.lock", os.O_CREAT | os.O_RDWR, 0o600)
    except OSError:  # a folder that cannot be written
        yield
        return
    try:
        deadline = time.monotonic() + timeout_seconds
        while not try_lock(lock, shared=not alone):
            if time.monotonic() > deadline:
                raise errors.StoreBusy(f"{path} is being opened or recovered", hint="try again")
            time.sleep(0.01)
        yield
    finally:
        os.close(lock)


@contextmanager
def alone(path: Path, *, timeout_seconds: float = 10.0) -> Iterator[None]:
    """Nobody else has the store open, and nobody opens it meanwhile; StoreBusy otherwise."""
    with locked(str(path), alone=True, timeout_seconds=timeout_seconds):
        if _open_elsewhere(path):
            hint = "close the programs that use Segue here, then try again"
            raise errors.StoreBusy(f"other processes have {path} open", hint=hint)
        _alone.add(str(path))
        try:
            yield
        finally:
            _alone.discard(str(path))


_DEAD_MAN_BYTE = 128
"""Of the shared-memory file: every connection in WAL mode keeps a shared lock on it."""


def _open_elsewhere(path: Path) -> bool:
    from ..._locks import is_byte_held

    try:
        shared = os.open(f"{path}-shm", os.O_RDWR)
    except OSError:
        return False
    _kept_open.append(shared)  # closing it would drop the locks of our own connections
    return is_byte_held(shared, _DEAD_MAN_BYTE)
