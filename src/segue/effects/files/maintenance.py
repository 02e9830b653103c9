"""One at a time: the commands that keep a store in order wait for each other.

Cleanup, rebuild, scrub, backup, recover and migrate look at all of a store and then change it. What one of
them saw would not hold while another is at work, so each has a lock beside the store while it is. It ends
with the process, also if that is killed. Writers do not wait: they have the store's own lock for every
commit.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ..._files import read_text
from ..._locks import try_lock
from ...errors import StoreBusy
from ..clock import now
from .atomic import private_folder

WAIT_SECONDS = 60.0
"""How long a command waits for another one; a scrub of a large store may take longer."""
_LOOK_SECONDS = 0.05
_TOLD_CHARS_MAX = 200
_held = threading.local()


@contextmanager
def maintaining(
    database: Path, command: str, *, journal: object = None, wait_seconds: float | None = None
) -> Iterator[None]:
    """Be the only one that maintains a store; a thread that is may ask again. ``journal`` is the store as it
    is open here: it rests while this waits, since a recovery has to be alone with the file. Raises StoreBusy,
    which says who is at work, after so many seconds."""
    path = database.with_name(f"{database.name}.upkeep")
    held: set[str] = _held.__dict__.setdefault("paths", set())
    if str(path) in held:
        yield
        return
    try:
        private_folder(path.parent)
        lock = os.open(path, os.O_CREAT | os.O_RDWR | getattr(os, "O_NONBLOCK", 0), 0o600)
    except OSError:  # a folder that cannot be written: so nobody changes anything
        yield
        return
    try:
        _wait(lock, path, WAIT_SECONDS if wait_seconds is None else wait_seconds, journal)
        held.add(str(path))
        with suppress(OSError):
            os.ftruncate(lock, 0)
            os.pwrite(lock, f"`{command}` (process {os.getpid()}, since {now()[:19]}Z)".encode(), 0)
        yield
    finally:
        held.discard(str(path))
        os.close(lock)


def _wait(lock: int, path: Path, seconds: float, journal: object) -> None:
    deadline = time.monotonic() + seconds
    while not try_lock(lock):
        if time.monotonic() >= deadline:
            raise StoreBusy(f"{_holder(path)} is at work on this store", hint="try again when it is done")
        rest = getattr(journal, "rest", None)
        if rest is not None:
            rest()
        time.sleep(_LOOK_SECONDS)


def _holder(path: Path) -> str:
    with suppress(OSError, ValueError):
        if told := read_text(path, size=_TOLD_CHARS_MAX).strip():
            return told
    return "another maintenance command"
