"""Finds Codex's rollouts, the project of each, and whether its process is alive.

A rollout is in the folder of the day on which it started, even if it is resumed months later, and only its
first line names its project. So folders are walked from the newest, and as few first lines as possible are
read. Codex's own index is used where it exists, as a hint: the rollout itself decides.
"""

from __future__ import annotations

import heapq
import os
from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from ..._files import open_file
from ...core.base.lazy import regex
from ..base import HEAD_BYTES, UNKNOWN_LEAD, Form, Found, SearchScope, Sign, Traits
from ..transcript_files import FileAgent, json_text, listed

if TYPE_CHECKING:
    from .launch import Launcher

ROLLOUT = regex(r"rollout-(.{10}T\d\d-\d\d-\d\d)-(.+)\.jsonl")
_TAIL_BYTES = 65_536
_ROWS_MAX = 50_000
_TURN = regex(rb'"type":\s?"(task_started|task_complete|turn_aborted)"')
_CWD = regex(rb'"cwd":\s?("(?:[^"\\]|\\.)*")')
_ID = regex(rb'"id":\s?("(?:[^"\\]|\\.)*")')
_PARENT = regex(rb'"parent_thread_id":\s?("(?:[^"\\]|\\.)*")')
_SIDE = regex(rb'"thread_source":\s?"subagent"|"source":\s?\{\s?"subagent":')
_STATE = regex(r"state_(\d+)\.sqlite")

# Quotes without escapes, so it is not inside a text that somebody wrote.
_MARK = regex(
    rb'"type":\s?"(?:session_meta|response_item|event_msg|turn_context|function_call|local_shell_call)"'
    rb'|"record_type":\s?"state"'
)


class Codex(FileAgent):
    name = "codex"
    title = "Codex"
    traits = Traits(
        takes_context_at_prompts=True,
        conversation_variables=("CODEX_THREAD_ID", "CODEX_SESSION_ID"),
        variables=("CODEX_SANDBOX",),
        start="codex",
        shows_its_process=True,
        rules_file="AGENTS.md",
        hooks="segue.agents.codex.hooks:HOOKS",
        installer="segue.agents.codex.install:INSTALLER",
    )
    form: Form = "lines"

    @property
    def launcher(self) -> Launcher:
        """How it is started; only who starts it loads that."""
        from .launch import Launcher

        return Launcher()

    def recognises(self, head: bytes, name: str) -> bool:
        if ROLLOUT.fullmatch(name):
            return head.lstrip(b"\xef\xbb\xbf \r\n").startswith(b"{")
        return name.endswith(".jsonl") and _MARK.search(head) is not None

    def find(self, where: SearchScope) -> Iterator[Found]:
        home = where.folder("CODEX_HOME", ".codex")
        folders = _index(home) | dict(where.known)
        # Rollouts that the index or an earlier search assigns to the project are sorted by their last change.
        # The unknown ones come in the order of their names, which is good enough: a new file is a recent one.
        known, new = _hinted(home, folders, where), _walked(home, folders, where)
        return heapq.merge(known, new, key=lambda found: -found.changed)

    def transcripts_at(self, path: Path, where: SearchScope) -> Iterator[Found]:
        if found := _found(where.folder("CODEX_HOME", ".codex"), str(path)):
            yield found


def _hinted(home: Path, folders: dict[str, str], where: SearchScope) -> Iterator[Found]:
    own = {cwd for cwd in set(folders.values()) if where.holds(cwd)}
    below = os.path.join(home, "")
    known: list[tuple[float, str]] = []
    for path, cwd in folders.items():
        if cwd in own and path.startswith(below):
            with suppress(OSError):
                known.append((os.stat(path).st_mtime, path))
    for _, path in sorted(known, key=lambda file: -file[0]):  # opened when its turn comes
        if (found := _found(home, path)) and where.holds(found.cwd):
            yield found


def _walked(home: Path, folders: dict[str, str], where: SearchScope) -> Iterator[Found]:
    opened = 0
    for path in _rollouts(home):
        if path in folders:
            continue
        if where.heads_max and opened >= where.heads_max:
            return
        opened += 1
        if (found := _found(home, path)) and where.holds(found.cwd):
            yield found


def _rollouts(home: Path) -> Iterator[str]:
    """Every rollout, newest first by day and name; the folder of a day is listed when it is reached."""
    for year in _numbered(home / "sessions"):
        for month in _numbered(year):
            for day in _numbered(month):
                yield from _files(day)
    yield from _files(home / "archived_sessions")


def _numbered(folder: str | Path) -> list[str]:
    """The folders of years, months or days in a folder, newest first."""
    return [os.path.join(folder, name) for name in reversed(listed(folder)) if name.isdecimal()]


def _files(folder: str | Path) -> Iterable[str]:
    names = (name for name in reversed(listed(folder)) if name.startswith("rollout-"))
    return (os.path.join(folder, name) for name in names if name.endswith(".jsonl"))


def _found(home: Path, path: str) -> Found | None:
    name = os.path.basename(path)
    try:
        with open_file(path) as file:
            stat, start = os.fstat(file.fileno()), file.read(HEAD_BYTES)
    except OSError:
        return None
    native, cwd, parent = _identity(start)
    if not native:
        named = ROLLOUT.fullmatch(name)
        native = named[2] if named else name.removesuffix(".jsonl")
    sign = sign_of(home, path, native)
    return Found("codex", path, native, stat.st_mtime, stat.st_size, cwd, parent, sign)


def _identity(start: bytes) -> tuple[str, str, str]:
    """The id, the working folder and the lead in a rollout's first line; the lead of a sub-agent that names
    none is unknown. A line that is cut off or damaged is searched: the wanted fields are at its beginning."""
    from . import wire  # not imported where there are no rollouts
    from .wire import table, text

    line = start.split(b"\n", 1)[0]
    try:
        outer = wire.LINE.decode(line)
        meta = wire.META.decode(outer.payload if outer.payload else line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        is_meta = b'"session_meta"' in line
        parent = json_text(line, _PARENT) or (UNKNOWN_LEAD if is_meta and _SIDE.search(line) else "")
        return json_text(line, _ID) if is_meta else "", json_text(start, _CWD), parent
    about = table(meta.source)
    spawned = table(table(about.get("subagent")).get("thread_spawn"))
    parent = text(meta.parent_thread_id) or text(spawned.get("parent_thread_id"))
    if not parent and ("subagent" in about or text(meta.thread_source) == "subagent"):
        parent = UNKNOWN_LEAD
    return text(meta.id), text(meta.cwd) or json_text(start, _CWD), parent


# The state of a rollout


def sign_of(home: Path, path: str, native: str) -> Sign:
    """The sign from the writer's lock (since 0.16x) and from the last turn; the process is not known."""
    locks = home / "thread-writer-locks"
    held = _is_held(locks / f"{native}.lock")
    if held:
        return "alive"
    if held is None and not locks.is_dir():
        return ""  # a version without locks: an idle process looks like a dead one
    return "crashed" if is_turn_open(path) else "ended"


def _is_held(lock: Path) -> bool | None:
    """Whether a process holds this lock; None if there is no lock or the system cannot tell."""
    from ..._locks import has_locks, try_lock, unlock

    if not has_locks():
        return None
    try:
        with open_file(lock) as file:
            if not try_lock(file.fileno(), shared=True):
                return True
            unlock(file.fileno())
            return False
    except OSError:
        return None


def is_turn_open(path: str) -> bool:
    """Whether the last 64 KB show a turn that started and did not end."""
    try:
        with open_file(path) as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _TAIL_BYTES))
            marks = _TURN.findall(file.read(_TAIL_BYTES))
    except OSError:
        return False
    return marks[-1] == b"task_started" if marks else size > _TAIL_BYTES


# Codex's own index


def _index(home: Path) -> dict[str, str]:
    """The project folder of each rollout by its path, from the newest ``state_N.sqlite``; empty if none
    exists."""
    states = [(int(name[1]), name[0]) for name in map(_STATE.fullmatch, listed(home)) if name]
    for _, name in sorted(states, reverse=True):
        rows = _threads(home / name)
        if rows:
            return {path: cwd for path, cwd in rows if isinstance(path, str) and isinstance(cwd, str)}
    return {}


def _threads(database: Path) -> list[tuple[Any, ...]]:
    import apsw  # files are read without it

    from ..foreign_database import opened, rows

    try:
        with closing(opened(database, "mode=ro", busy_ms=50)) as connection:
            newest = f"ORDER BY updated_at DESC LIMIT {_ROWS_MAX}"
            found = rows(connection, "threads", ("rollout_path", "cwd"), newest)
    except (apsw.Error, OSError):
        return []
    return [(row.get("rollout_path"), row.get("cwd")) for row in found]
