"""What was last seen of working trees and sessions in a store elsewhere, and what waits to go there.

A cache: it may be dropped at any time, and everything read from it is said to be as of then. States are shown
with what waits on top, decided as the server will decide it if nobody else does anything meanwhile.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from ...core.base.values import Value
from ...core.sessions import commands as do
from ...core.sessions import snapshot
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


class SpooledRecord(Value):
    """A record of the spool."""

    session: str
    at: str
    actor: str
    run: str = ""
    since: int = 0
    """The version that was last seen; 0 if none was."""
    commands: list[Any] = []
    create: Any = None
    """For a session that was begun: what it is."""
    root_commit: str = ""
    tree: str = ""


class TreeSeen(Value):
    """A working tree as it was last seen."""

    tree: TreeRecord
    at: str
    trusted: str = ""
    """The hash of the project's file that was accepted."""


class SessionSeen(Value):
    """A session as it was last seen."""

    id: str
    at: str
    fold: int
    state: bytes


class LastSeenSession(Value):
    """What can be said of a session without the server."""

    state: SessionState
    """As last seen, with what waits on top."""
    at: str
    pending: int


class Brought(Value):
    """What a drain did."""

    saved: int = 0
    refused: tuple[str, ...] = ()


class LastSeen:
    """The cache of one store elsewhere, in a data folder."""

    def __init__(self, home: DataFolder, machine: str) -> None:
        self._folder = home.last_seen
        self._machine = machine
        self.spool = Spool(home.pending, "commands")

    def waits(self) -> bool:
        """Whether something waits, as far as a look at the folder tells."""
        try:
            return any(name.startswith("commands") for name in os.listdir(self.spool.folder))
        except OSError:
            return False

    def clear(self) -> None:
        """Drop the cache; what waits stays."""
        for path in self._folder.glob("*"):
            path.unlink(missing_ok=True)

    # -- keeping -------------------------------------------------------------------------------

    def keep_session(self, session: str, state: SessionState) -> None:
        """A session as it is seen now."""
        self._remember(SessionSeen(session, now(), snapshot.FOLD, snapshot.encode(state)))

    def keep_tree(self, tree: TreeRecord, trusted: str | None = None) -> None:
        """A working tree as it is seen now; ``trusted``: None leaves what was known of that."""
        accepted = self._trusted(tree.path) if trusted is None else trusted
        private_folder(self._folder)
        replace_quickly(self._tree_file(tree.path), msgspec.json.encode(TreeSeen(tree, now(), accepted)))

    def _remember(self, seen: SessionSeen) -> None:
        folder = private_folder(self._folder)
        replace_quickly(folder / f"session-{seen.id}.json", msgspec.json.encode(seen))
        files = sorted(folder.glob("session-*.json"), key=lambda path: path.stat().st_mtime)
        for path in files[:-SESSIONS_SEEN_MAX]:
            path.unlink(missing_ok=True)

    def _tree_file(self, path: str) -> Path:
        name = tree_stream(path, self._machine).removeprefix("tree/")
        return self._folder / f"tree-{name}.json"

    def _read_tree(self, path: str) -> TreeSeen | None:
        found: TreeSeen | None = _read(self._tree_file(path), TreeSeen)
        return found

    def tree_seen(self, path: str) -> TreeRecord | None:
        """A working tree as it was last seen; None if it never was."""
        found = self._read_tree(path)
        return found.tree if found is not None else None

    def _trusted(self, path: str) -> str:
        found = self._read_tree(path)
        return found.trusted if found is not None else ""

    def trusted(self, path: str, hash: str) -> bool:
        """Whether a project's file was accepted, as far as was last seen."""
        return bool(hash) and self._trusted(path) == hash

    # -- reading -------------------------------------------------------------------------------

    def seen(self, session: str) -> SessionState | None:
        """A session's state as it was last seen."""
        found = self._seen_file(session)
        if found is not None and found.fold == snapshot.FOLD:
            with suppress(msgspec.MsgspecError, ValueError):
                return snapshot.decode(found.state)
        return None

    def _seen_file(self, session: str) -> SessionSeen | None:
        if "/" in session or "\0" in session:
            return None
        found: SessionSeen | None = _read(self._folder / f"session-{session}.json", SessionSeen)
        return found

    def last(self, session: str) -> LastSeenSession | None:
        """A session as it was last seen, with what waits for it on top; None if it is not known here."""
        seen, file = self.seen(session), self._seen_file(session)
        state = seen if seen is not None else SessionState()
        count = 0
        for waiting in self._waiting():
            if waiting.session != session:
                continue
            count += 1
            made = _decided(state, waiting)
            state = made.state if isinstance(made, DecidedBatch) else state
        if not state.version:
            return None
        return LastSeenSession(state, file.at if file is not None else now(), count)

    def _waiting(self) -> list[SpooledRecord]:
        found = []
        for path, _ in self.spool._files() if self.waits() else []:
            for record in self.spool.read(path):
                with suppress(msgspec.MsgspecError):
                    found.append(msgspec.json.decode(record.payload, type=SpooledRecord))
        return found


def _read(path: Path, kind: type[Any]) -> Any:
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return None


def commands_of(waiting: SpooledRecord) -> list[Command]:
    """The commands of a record; ``msgspec.ValidationError`` if this Segue does not know one."""
    if waiting.create is not None:
        return [msgspec.convert(waiting.create, do.Create)]
    return [msgspec.convert(one, waiting_union()) for one in waiting.commands]


def _decided(state: SessionState, waiting: SpooledRecord) -> Any:
    with suppress(msgspec.ValidationError):
        return decide_all(state, commands_of(waiting), at=waiting.at, actor=waiting.actor, run=waiting.run)
    return None


def last_here(home: DataFolder, folder: Path, session: str = "") -> LastSeenSession | None:
    """A session, or the one that is current in a folder, as it was last seen; None if that was never."""
    if not home.elsewhere:
        return None
    seen = LastSeen(home, this_machine())
    repository = git.find(folder)
    tops = (repository.root,) if repository is not None else (folder, *folder.parents)
    trees = (tree for top in tops if (tree := seen.tree_seen(str(top))) is not None)
    wanted = session or next((tree.current for tree in trees), "")
    return seen.last(wanted) if wanted else None
