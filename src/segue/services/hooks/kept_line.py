"""What a status line says of a session, kept in a small file per run, so that the next one is quick.

It is read by a program that must start nearly as fast as Python itself: hardly anything is imported here.
What is kept counts until the store's file changes, and at most for a while.
"""

from __future__ import annotations

import os
import time

from ..._files import read_bytes

KEPT_MAX = 64
"""For how many runs something is kept."""
KEPT_BYTES_MAX = 65_536
_NAME_BYTES_MAX = 200


def _path(home: str, native: str) -> str:
    """The file of a run; empty if its id cannot be part of a path."""
    is_name = native and len(native) < _NAME_BYTES_MAX and native not in (".", "..")
    return f"{home}/hook/lines/{native}" if is_name and not {"/", "\0", "\n"} & set(native) else ""


def store_stamp(database: str) -> str:
    """What tells that the embedded store has changed; the same for whoever looks. Empty without a file."""
    if not database:
        return ""
    found = []
    for path in (database, f"{database}-wal"):
        try:
            file = os.stat(path)
        except OSError:
            continue
        if file.st_size:
            found.append(f"{file.st_ino}.{file.st_mtime_ns}.{file.st_size}")
    return " ".join(found)


def keep_line(home: str, native: str, database: str, parts: tuple[str, ...], seconds: float) -> None:
    """Keep the parts of a line for so long, or until the file of the embedded store changes."""
    path = _path(home, native)
    if not path or any("\n" in part for part in (*parts, database)):
        return
    from pathlib import Path

    from ...effects.files.atomic import write_whole

    text = "\n".join((database, store_stamp(database), f"{time.time() + seconds:.3f}", *parts))
    write_whole(Path(path), text.encode("utf-8", "surrogateescape"))
    folder = path.rpartition("/")[0]
    names = os.listdir(folder)
    if len(names) > KEPT_MAX:
        oldest = sorted(names, key=lambda name: os.stat(f"{folder}/{name}").st_mtime)
        for name in oldest[: len(names) - KEPT_MAX]:
            os.unlink(f"{folder}/{name}")


def kept_line(home: str, native: str) -> tuple[list[str], bool]:
    """The parts that were kept for a run, and whether they still count; none if nothing was kept."""
    path = _path(home, native)
    try:
        kept = read_bytes(path, KEPT_BYTES_MAX) if path else b""
        database, stamp, until, *parts = kept.decode("utf-8", "surrogateescape").split("\n")
        now = time.time()
        return parts, now < float(until) < now + 3600 and stamp == store_stamp(database)
    except (OSError, ValueError):
        return [], False
