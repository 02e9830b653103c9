"""Where Codex keeps its rollouts, which of them belong to a project, and how each stands.

A rollout lies in the folder of the day on which it began, also when it is resumed months later, and only
its first line names its project. So folders are walked from the newest, as few first lines as possible are
read, and Codex's own index is asked where it exists; it is a hint, the rollout is the truth.
"""

from __future__ import annotations

import heapq
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from ...core.base.lazy import regex
from ..base import HEAD_BYTES, Found, SearchScope, Sign

ROLLOUT = regex(r"rollout-(.{10}T\d\d-\d\d-\d\d)-(.+)\.jsonl")
_TAIL_BYTES = 65_536
_ROWS_MAX = 50_000
_TURN = regex(rb'"type":\s?"(task_started|task_complete|turn_aborted)"')
_CWD = regex(rb'"cwd":\s?("(?:[^"\\]|\\.)*")')
_PARENT = regex(rb'"parent_thread_id":\s?("(?:[^"\\]|\\.)*")')
_STATE = regex(r"state_(\d+)\.sqlite")


class RolloutHead(msgspec.Struct):
    """What the first line of a rollout says."""

    cwd: str = ""
    parent: str = ""


def find(where: SearchScope) -> Iterator[Found]:
    """The project's rollouts, newest first."""
    home = Path(where.env.get("CODEX_HOME") or where.home / ".codex")
    told = _index(home) | dict(where.known)
    # What an index or an earlier look gives to the project can be sorted by its last change; what is
    # still unknown comes in the order of its name, and is as good as sorted: a new file is a recent one.
    return heapq.merge(_hinted(home, told, where), _walked(home, told, where), key=_newest)


def _newest(found: Found) -> float:
    return -found.changed


def _hinted(home: Path, told: dict[str, str], where: SearchScope) -> Iterator[Found]:
    own = {cwd for cwd in set(told.values()) if where.holds(cwd)}
    below = os.path.join(home, "")
    known: list[tuple[float, str]] = []
    for path, cwd in told.items():
        if cwd in own and path.startswith(below):
            with suppress(OSError):
                known.append((os.stat(path).st_mtime, path))
    for _, path in sorted(known, key=lambda one: -one[0]):  # opened when its turn comes
        if found := _found(home, path, head_of(path), where):
            yield found


def _walked(home: Path, told: dict[str, str], where: SearchScope) -> Iterator[Found]:
    opened = 0
    for path in _rollouts(home):
        if path in told:
            continue
        if where.heads_max and opened >= where.heads_max:
            return
        opened += 1
        if found := _found(home, path, head_of(path), where):
            yield found


def _rollouts(home: Path) -> Iterator[str]:
    """Every rollout, newest first by day and name; a day is listed when it is reached."""
    for year in _listed(home / "sessions"):
        for month in _listed(year):
            for day in _listed(month):
                yield from _files(day)
    yield from _files(str(home / "archived_sessions"))


def _listed(folder: str | Path) -> list[str]:
    try:
        names = sorted(os.listdir(folder), reverse=True)
    except OSError:
        return []
    return [os.path.join(folder, name) for name in names if name.isdecimal()]


def _files(folder: str) -> Iterable[str]:
    try:
        names = sorted(os.listdir(folder), reverse=True)
    except OSError:
        return ()
    rollouts = (name for name in names if name.startswith("rollout-") and name.endswith(".jsonl"))
    return (os.path.join(folder, name) for name in rollouts)


def _found(home: Path, path: str, head: RolloutHead | None, where: SearchScope) -> Found | None:
    if head is None or not where.holds(head.cwd):
        return None
    name = ROLLOUT.fullmatch(os.path.basename(path))
    if name is None:
        return None
    try:
        stat = os.stat(path)
    except OSError:
        return None
    native = name[2]
    sign = sign_of(home, path, native)
    return Found("codex", path, native, stat.st_mtime, stat.st_size, head.cwd, head.parent, sign)


def head_of(path: str) -> RolloutHead | None:
    """What a rollout's first line says, from at most 64 KB of it; None if it cannot be read."""
    try:
        with open(path, "rb") as file:
            start = file.read(HEAD_BYTES)
    except OSError:
        return None
    from . import wire  # where there are no rollouts its records cost nothing
    from .wire import table, text

    line = start.split(b"\n", 1)[0]
    try:
        outer = wire.LINE.decode(line)
        meta = wire.META.decode(outer.payload if outer.payload else line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return RolloutHead(_first(_CWD, start), _first(_PARENT, line))
    spawned = table(table(table(meta.source).get("subagent")).get("thread_spawn"))
    parent = text(meta.parent_thread_id) or text(spawned.get("parent_thread_id"))
    return RolloutHead(text(meta.cwd) or _first(_CWD, start), parent)


def _first(pattern: re.Pattern[bytes], start: bytes) -> str:
    """From a first line that is cut off or damaged; the wanted fields stand at its beginning."""
    found = pattern.search(start)
    try:
        return str(msgspec.json.decode(found[1], type=str)) if found else ""
    except (msgspec.DecodeError, UnicodeDecodeError):
        return ""


# How a rollout stands


def sign_of(home: Path, path: str, native: str) -> Sign:
    """From the lock that a writer holds (since 0.16x) and from the last turn; the process is not known."""
    locks = home / "thread-writer-locks"
    held = _is_held(locks / f"{native}.lock")
    if held:
        return "alive"
    if held is None and not locks.is_dir():
        return ""  # a version without locks: an idle process and a dead one look alike
    return "crashed" if is_turn_open(path) else "ended"


def _is_held(lock: Path) -> bool | None:
    """Does a process hold this lock? None if there is none or the system cannot tell."""
    try:
        import fcntl

        with open(lock, "rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
            fcntl.flock(file, fcntl.LOCK_UN)
            return False
    except (ImportError, OSError):
        return None


def is_turn_open(path: str) -> bool:
    """Did a turn begin that did not end, as far as the last 64 KB tell?"""
    try:
        with open(path, "rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _TAIL_BYTES))
            marks = _TURN.findall(file.read(_TAIL_BYTES))
    except OSError:
        return False
    return marks[-1] == b"task_started" if marks else size > _TAIL_BYTES


# Codex's own index


def _index(home: Path) -> dict[str, str]:
    """Rollout path to project folder, from the newest ``state_N.sqlite``; empty if there is none."""
    try:
        found = [(int(name[1]), name[0]) for name in map(_STATE.fullmatch, os.listdir(home)) if name]
    except OSError:
        return {}
    for _, name in sorted(found, reverse=True):
        rows = _threads(home / name)
        if rows:
            return {path: cwd for path, cwd in rows if isinstance(path, str) and isinstance(cwd, str)}
    return {}


def _threads(database: Path) -> list[tuple[Any, ...]]:
    uri = f"{database.absolute().as_uri()}?mode=ro"
    import apsw  # a file is read without it

    try:
        connection = apsw.Connection(uri, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
    except apsw.Error:
        return []
    try:
        connection.set_busy_timeout(50)
        asked = f"SELECT rollout_path, cwd FROM threads ORDER BY updated_at DESC LIMIT {_ROWS_MAX}"
        return list(connection.execute(asked))
    except apsw.Error:
        return []
    finally:
        connection.close()
