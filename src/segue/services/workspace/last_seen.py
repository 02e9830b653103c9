"""The cache of working trees and sessions of a remote store, and the spool of commands that are pending for
it.

The cache may be dropped at any time, and whatever is read from it carries the time at which it was seen.
States include pending commands, decided as the server will decide them if nobody else writes in between.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from ..._files import read_bytes
from ...core.base.values import Value
from ...core.sessions import commands as do, snapshot
from ...core.sessions.commands import Command, DecidedBatch, decide_all
from ...core.sessions.offline import waiting_union
from ...core.sessions.state import SessionState
from ...effects.clock import now
from ...effects.files.atomic import private_folder, replace_quickly
from ...effects.files.spool import Spool
from ...effects.git import repository as git
from .data_folder import DataFolder
from .open_store import this_machine
from .working_tree import TreeRecord, tree_stream

SESSIONS_SEEN_MAX = 50
_Cached = TypeVar("_Cached")


class PendingRecord(Value):
    """Commands declared together while the server could not be reached, as a spool record holds them."""

    session: str
    at: str
    actor: str
    run: str = ""
    since: int = 0
    """The version of the session that was last seen; 0 if it never was."""
    commands: list[Any] = []
    create: Any = None
    """For a session that was begun: its ``Create`` command."""
    root_commit: str = ""
    tree: str = ""


class TreeSeen(Value):
    """A working tree in the cache."""

    tree: TreeRecord
    at: str
    trusted: str = ""
    """The hash of the project file that was trusted."""


class SessionSeen(Value):
    """A session in the cache."""

    id: str
    at: str
    fold: int
    state: bytes


class LastSeenSession(Value):
    """What is known of a session without the server."""

    state: SessionState
    """As last seen, with the pending commands applied."""
    at: str
    pending: int


class DrainResult(Value):
    """What became of pending commands that were sent to the server."""

    saved: int = 0
    refused: tuple[str, ...] = ()
    """A line for each record that was refused: what it was, and why."""


class LastSeen:
    """The cache and the spool of one remote store, in a data folder."""

    def __init__(self, home: DataFolder, machine: str) -> None:
        self._folder = home.last_seen
        self._machine = machine
        self.spool = Spool(home.pending, "commands")

    def waits(self) -> bool:
        """Whether commands are pending, judged by the names of files alone."""
        with suppress(OSError):
            return any(name.startswith("commands") for name in os.listdir(self.spool.folder))
        return False

    def clear(self) -> None:
        """Drop the cache. Pending commands stay."""
        for path in self._folder.glob("*"):
            path.unlink(missing_ok=True)

    def keep_session(self, session: str, state: SessionState) -> None:
        """Cache a session as it is now; the oldest beyond ``SESSIONS_SEEN_MAX`` are dropped."""
        seen = SessionSeen(session, now(), snapshot.FOLD, snapshot.encode(state))
        folder = private_folder(self._folder)
        replace_quickly(folder / f"session-{session}.json", msgspec.json.encode(seen))
        files = sorted(folder.glob("session-*.json"), key=lambda path: path.stat().st_mtime)
        for path in files[:-SESSIONS_SEEN_MAX]:
            path.unlink(missing_ok=True)

    def keep_tree(self, tree: TreeRecord, trusted: str | None = None) -> None:
        """Cache a working tree; ``trusted`` is the hash of its trusted project file, None: as cached."""
        accepted = self._trusted(tree.path) if trusted is None else trusted
        private_folder(self._folder)
        replace_quickly(self._tree_file(tree.path), msgspec.json.encode(TreeSeen(tree, now(), accepted)))

    def _tree_file(self, path: str) -> Path:
        name = tree_stream(path, self._machine).removeprefix("tree/")
        return self._folder / f"tree-{name}.json"

    def tree_seen(self, path: str) -> TreeRecord | None:
        """A working tree as it was last seen; None if it never was."""
        seen = _read(self._tree_file(path), TreeSeen)
        return seen.tree if seen is not None else None

    def _trusted(self, path: str) -> str:
        seen = _read(self._tree_file(path), TreeSeen)
        return seen.trusted if seen is not None else ""

    def trusted(self, path: str, hash: str) -> bool:
        """Whether a project file with this content was trusted when the tree was last seen."""
        return bool(hash) and self._trusted(path) == hash

    def session_seen(self, session: str) -> SessionState | None:
        """A session's state as it was last seen, without pending commands; None if it never was."""
        seen = self._read_session(session)
        if seen is not None and seen.fold == snapshot.FOLD:
            with suppress(msgspec.MsgspecError, ValueError):
                return snapshot.decode(seen.state)
        return None

    def _read_session(self, session: str) -> SessionSeen | None:
        if "/" in session or "\0" in session:
            return None
        return _read(self._folder / f"session-{session}.json", SessionSeen)

    def last(self, session: str) -> LastSeenSession | None:
        """A session as it was last seen, with its pending commands applied; None if it is not known here."""
        cached, file = self.session_seen(session), self._read_session(session)
        state = cached if cached is not None else SessionState()
        count = 0
        for pending in self._pending():
            if pending.session != session:
                continue
            count += 1
            decided = _decided(state, pending)
            state = decided.state if isinstance(decided, DecidedBatch) else state
        if not state.version:
            return None
        return LastSeenSession(state, file.at if file is not None else now(), count)

    def _pending(self) -> list[PendingRecord]:
        pending = []
        for path, _ in self.spool._files() if self.waits() else []:
            for record in self.spool.read(path):
                with suppress(msgspec.MsgspecError):
                    pending.append(msgspec.json.decode(record.payload, type=PendingRecord))
        return pending


def _read(path: Path, kind: type[_Cached]) -> _Cached | None:
    with suppress(OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return msgspec.json.decode(read_bytes(path), type=kind)
    return None


def commands_of(pending: PendingRecord) -> list[Command]:
    """The commands of a record. Raises ``msgspec.ValidationError`` for one of a newer Segue."""
    if pending.create is not None:
        return [msgspec.convert(pending.create, do.Create)]
    return [msgspec.convert(command, waiting_union()) for command in pending.commands]


def _decided(state: SessionState, pending: PendingRecord) -> Any:
    with suppress(msgspec.ValidationError):
        return decide_all(state, commands_of(pending), at=pending.at, actor=pending.actor, run=pending.run)
    return None


def last_here(home: DataFolder, folder: Path) -> LastSeenSession | None:
    """The current session of a folder as it was last seen; None if it never was."""
    if not home.shared_store:
        return None
    cache = LastSeen(home, this_machine())
    repository = git.find(folder)
    tops = (repository.root,) if repository is not None else (folder, *folder.parents)
    trees = (tree for top in tops if (tree := cache.tree_seen(str(top))) is not None)
    wanted = next((tree.current for tree in trees), "")
    return cache.last(wanted) if wanted else None
