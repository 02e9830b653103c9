"""Finds OpenCode's conversations, the project of each, and whether its process is alive.

All projects share one database; the ``directory`` of a session, or the worktree of its project, tells to
which one it belongs. Each running process has a folder in ``locks``, which stays when it is killed.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import apsw

from ...core.base.lazy import regex
from ...errors import TranscriptUnreadable
from ..base import Form, Found, SearchScope, Sign, Traits
from ..common import seconds
from ..transcript_files import FileAgent, document, json_object, listed, stated
from . import store

if TYPE_CHECKING:
    from .launch import Launcher

_SQLITE = b"SQLite format 3\x00"
_EXPORT = regex(rb'\A[^{]{0,200}\{\s*"info"\s*:\s*\{')
_OURS = (b'"projectID"', b'"sessionID"', b'"ses_', b'"directory"')


class OpenCode(FileAgent):
    name = "opencode"
    title = "OpenCode"
    traits = Traits(
        takes_context_at_compactions=True,
        conversation_variables=("OPENCODE_SESSION_ID",),
        variables=("OPENCODE",),
        start="opencode --prompt",
        rules_file="AGENTS.md",
        hooks="segue.agents.opencode.hooks:HOOKS",
        installer="segue.agents.opencode.install:INSTALLER",
        forgets_hook_context=True,
    )
    form: Form = "database"

    @property
    def launcher(self) -> Launcher:
        """How it is started; only who starts it loads that."""
        from .launch import Launcher

        return Launcher()

    def recognises(self, head: bytes, name: str) -> bool:
        if head.startswith(_SQLITE):
            return Path(name).name.startswith("opencode")
        return bool(_EXPORT.match(head)) and any(mark in head for mark in _OURS)

    def load(self, path: Path, native: str) -> bytes:
        """The conversation in the form of ``opencode export``, from the database or from a JSON file."""
        if path.suffix != ".json":
            return store.reading(path, lambda connection: store.conversation(connection, native))
        if path.parent.parent.name == "session" and path.parents[2].name == "storage":
            return store.from_files(path)
        return document(path)

    def size_of(self, path: Path, native: str) -> int:
        """About how many bytes ``load`` would have to read."""
        if path.suffix != ".json":
            return store.reading(path, lambda connection: store.size(connection, native))
        if path.parent.parent.name == "session" and path.parents[2].name == "storage":
            return store.size_of_files(path)
        return path.stat().st_size

    def find(self, where: SearchScope) -> Iterator[Found]:
        folder = where.folder("XDG_DATA_HOME", ".local/share") / "opencode"
        database = folder / "opencode.db"
        seen: set[str] = set()
        newest_first = heapq.merge(
            self._in_database(database, where, seen),
            self._in_files(folder / "storage", where),
            key=lambda found: -found.changed,
        )
        for found in newest_first:
            if found.path == str(database) or found.native not in seen:
                yield found

    def transcripts_at(self, path: Path, where: SearchScope) -> Iterator[Found]:
        """The conversations of the project in a database, or that of a file."""
        if path.suffix != ".json":
            yield from self._in_database(path, where, set())
            return
        if path.parents[1].name == "session" and path.parents[2].name == "storage":
            database = path.parents[3] / "opencode.db"
            moved = (one for one in self._in_database(database, where, set()) if one.native == path.stem)
            if found := next(moved, None):
                yield found
                return
        for _, stat in stated((path,)):
            info = json_object(path)
            info = info["info"] if isinstance(info.get("info"), dict) else info
            native, cwd = str(info.get("id") or path.stem), str(info.get("directory") or "")
            parent = str(info.get("parentID") or "")
            yield Found(self.name, str(path), native, stat.st_mtime, 0, cwd, parent)

    def _in_database(self, path: Path, where: SearchScope, seen: set[str]) -> Iterator[Found]:
        if not path.is_file():
            return
        try:
            rows = store.reading(path, store.sessions)
        except TranscriptUnreadable:
            return
        seen.update(str(row.get("id")) for row in rows)
        locks = _locks(where)
        for row in rows:
            directory, tree = str(row.get("directory") or ""), str(row.get("worktree") or "")
            native = str(row.get("id") or "")
            if not native or not (where.holds(directory) or (len(tree) > 1 and where.holds(tree))):
                continue
            sign, pid = _sign(path, native, locks)
            changed = seconds(row.get("time_updated"))
            parent = str(row.get("parent_id") or "")
            yield Found(self.name, str(path), native, changed, 0, directory, parent, sign, pid)

    def _in_files(self, storage: Path, where: SearchScope) -> Iterator[Found]:
        """The sessions of versions that had no database."""
        stats = []
        for path, stat in stated(storage.glob("session/*/*.json")):
            messages = stated([storage / "message" / path.stem])
            stats.append((max([stat.st_mtime, *(folder.st_mtime for _, folder in messages)]), path))
        for heads, (changed, path) in enumerate(sorted(stats, reverse=True)):
            cwd, parent = where.known.get(str(path), ""), ""
            if not where.heads_max or heads < where.heads_max:
                info = json_object(path)
                cwd, parent = str(info.get("directory") or ""), str(info.get("parentID") or "")
            if cwd and where.holds(cwd):
                yield Found(self.name, str(path), path.stem, changed, 0, cwd, parent)


def _locks(where: SearchScope) -> list[int] | None:
    """The processes that run; None if this version has no locks."""
    folder = where.folder("XDG_STATE_HOME", ".local/state") / "opencode" / "locks"
    if not folder.is_dir():
        return None
    pids = [json_object(folder / name / "meta.json").get("pid") for name in listed(folder)]
    return sorted({pid for pid in pids if isinstance(pid, int) and where.is_alive(pid, "")})


def _sign(path: Path, native: str, locks: list[int] | None) -> tuple[Sign, int]:
    """The sign of a conversation, and its process if that is certain.

    The locks do not say which conversation a process has open, so only a conversation in the middle of a turn
    counts as alive, and its process is known only if there is exactly one.
    """
    if locks is None:
        return "", 0
    try:
        middle = store.reading(path, lambda connection: store.under_way(connection, native))
    except (TranscriptUnreadable, apsw.Error):
        return "", 0
    if locks:
        return ("alive", locks[0] if len(locks) == 1 else 0) if middle else ("", 0)
    return ("crashed" if middle else "ended"), 0
