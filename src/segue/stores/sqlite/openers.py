"""Who opens a store's file, and who has it alone to put another one in its place."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ... import errors

_alone: set[str] = set()
_kept_open: dict[tuple[int, int], int] = {}
CLOSING_SECONDS = 2.0


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
    """Nobody else has the store open, and nobody opens it meanwhile; StoreBusy otherwise. Commands that have
    just ended their work get a moment to close it."""
    with locked(str(path), alone=True, timeout_seconds=timeout_seconds):
        deadline = time.monotonic() + min(timeout_seconds, CLOSING_SECONDS)
        while _open_elsewhere(path):
            if time.monotonic() > deadline:
                hint = "close the programs that use Segue here, then try again"
                raise errors.StoreBusy(f"other processes have {path} open", hint=hint)
            time.sleep(0.05)
        _alone.add(str(path))
        try:
            yield
        finally:
            _alone.discard(str(path))


_DEAD_MAN_BYTE = 128
"""Of the shared-memory file: every connection in WAL mode keeps a shared lock on it."""


def _open_elsewhere(path: Path) -> bool:
    from ..._locks import is_byte_held

    name = f"{path}-shm"
    try:
        found = os.stat(name)
        shared = _kept_open.get((found.st_dev, found.st_ino))
        if shared is None:
            shared = os.open(name, os.O_RDWR)
            _kept_open[found.st_dev, found.st_ino] = shared  # closing it drops our own connections' locks
    except OSError:
        return False
    return is_byte_held(shared, _DEAD_MAN_BYTE)
