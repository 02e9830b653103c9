"""The working tree that a command runs in: its project, its current session, and whether its project file is
trusted.

The root of the working tree is git's; without git the folder with ``segue.toml``; without that a folder that
is known already; else the folder itself. The tree's stream records every project key that it was bound to (a
git remote that is added later must not hide older sessions) and which session is current.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Protocol

from ...core import event_kinds as ev
from ...core.base.canonical import sha256
from ...core.base.text import slug
from ...core.base.values import Value
from ...core.sessions.state import OBSERVER
from ...effects.git import repository as git
from ...effects.pause_file import PauseFile, pause_paths
from ...errors import StaleVersion, StoreUnavailable, UsageError
from ...settings import PROJECT_FILE, Settings, content_hash
from ...stores.base import Append, Store

TRUST_STREAM = "ledger/trust"


class TreeRecord(Value):
    """A working tree as its stream describes it."""

    path: str
    version: int = 0
    projects: tuple[str, ...] = ()
    """Every project key that this tree was bound to, the newest last."""
    root_commit: str = ""
    current: str = ""
    chosen: str = ""
    """When somebody made that session the current one; empty if Segue did by itself."""


def tree_stream(path: str, machine: str = "") -> str:
    """The stream of a working tree. In a shared store, equal paths on two machines are two trees."""
    name = f"{machine}\0{path}" if machine else path
    return "tree/" + sha256(name.encode(errors="surrogateescape")).hexdigest()[:24]


def trust_stream(store: Store) -> str:
    """The ledger of what was trusted on this machine; what is trusted on another one does not count here."""
    return f"{TRUST_STREAM}/{store.machine}" if store.machine else TRUST_STREAM


def fold_tree(tree: TreeRecord, event: ev.Event) -> TreeRecord:
    """The tree after an event of its stream."""
    body = ev.read_body(event)
    projects, root_commit, current, chosen = tree.projects, tree.root_commit, tree.current, tree.chosen
    if isinstance(body, ev.TreeBound):
        projects = (*(p for p in projects if p != body.project), body.project)
        root_commit = body.root_commit or root_commit
    elif isinstance(body, ev.TreeCurrent):
        current, chosen = body.session, event.at if event.actor != OBSERVER else ""
    return TreeRecord(tree.path, event.version, projects, root_commit, current, chosen)


class LastSeenTree(Protocol):
    """A cache of trees, for when the store cannot be reached."""

    def tree_seen(self, path: str) -> TreeRecord | None: ...
    def trusted(self, path: str, hash: str) -> bool: ...


class WorkingTree:
    """A working tree and its project. Everything is looked up lazily."""

    def __init__(self, folder: Path, store: Store, last: LastSeenTree | None = None) -> None:
        self._store = store
        self._last = last
        self.folder = folder
        self.seen: TreeRecord | None = None
        self.from_store = False
        """Whether ``seen`` was read from the store, not from the cache."""
        self.trusted_hash = ""
        self.repository = git.find(folder)
        self.root = self._find_root()
        if not _is_text(str(self.root)):
            raise UsageError(
                f"the path of this folder is not valid UTF-8: {str(self.root)!r}",
                hint="Segue stores paths as text: rename the folder, or use another path to it",
            )

    def _find_root(self) -> Path:
        if self.repository is not None:
            return self.repository.root
        for top in (self.folder, *self.folder.parents):
            if (top / PROJECT_FILE).is_file():
                return top
        for top in (self.folder, *self.folder.parents):
            if self._is_known(str(top)):
                return top
        return self.folder

    def _is_known(self, path: str) -> bool:
        try:
            return self._store.head(self._stream(path)).version > 0
        except StoreUnavailable:
            if self._last is None:
                raise
            return self._last.tree_seen(path) is not None

    @property
    def project_file(self) -> Path:
        return self.root / PROJECT_FILE

    def trusted(self) -> bool:
        """Whether the project file was trusted, with the content that it has now."""
        file_hash = content_hash(self.project_file)
        try:
            bodies = map(ev.read_body, self._store.read(trust_stream(self._store)) if file_hash else ())
            accepted = any(isinstance(body, ev.Trusted) and body.hash == file_hash for body in bodies)
        except StoreUnavailable:
            if self._last is None:
                raise
            return self._last.trusted(str(self.root), file_hash)
        self.trusted_hash = file_hash if accepted else ""
        return accepted

    def trust(self, pause_file: PauseFile, *, at: str, actor: str) -> str:
        """Trust the project file with its present content. Returns its hash, empty if there is no file."""
        pause_file.check()
        file_hash = content_hash(self.project_file)
        while file_hash and not self.trusted():
            body = ev.Trusted(str(self.project_file), file_hash)
            stream = trust_stream(self._store)
            version = self._store.head(stream).version
            with suppress(StaleVersion):
                self._store.append(Append(stream, version, [ev.draft(body, at=at, actor=actor)]))
        return file_hash

    def tree(self, *, fresh: bool = False) -> TreeRecord:
        """The tree's record, read again if ``fresh``; the cached one while the store cannot be reached."""
        if self.seen is None or fresh:
            try:
                self.seen, self.from_store = self._read(str(self.root)), True
            except StoreUnavailable:
                cached = self._last.tree_seen(str(self.root)) if self._last is not None else None
                if cached is None:
                    raise
                self.seen, self.from_store = cached, False
        return self.seen

    def _read(self, path: str) -> TreeRecord:
        tree = TreeRecord(path)
        for event in self._store.read(self._stream(path)):
            tree = fold_tree(tree, event)
        return tree

    def _root_commit(self) -> str:
        try:
            return self.tree().root_commit
        except StoreUnavailable:
            if self._last is None:
                raise
            return ""

    def project_key(self, settings: Settings) -> tuple[str, str]:
        """The key of the project, and the root commit if the key was made of that."""
        configured = settings.text("project")
        if configured:
            return configured, ""
        if self.repository is not None:
            url = git.remote_url(self.repository)
            if url:
                return git.normalise_url(url), ""
            from ...effects.git.queries import root_commit  # few commands run git

            commit = self._root_commit() or root_commit(self.repository)
            if commit:
                return f"commit:{commit}", commit
        return str(self.root), ""

    def project_name(self, key: str) -> str:
        """A short name of the project, for ids of sessions."""
        if key.startswith("commit:") or key == str(self.root):
            return slug(self.root.name)
        return slug(key.rstrip("/").rpartition("/")[2])

    def project_keys(self, settings: Settings) -> tuple[str, ...]:
        """Every project key whose sessions belong to this tree."""
        key, _ = self.project_key(settings)
        return (*(p for p in self.tree().projects if p != key), key)

    def bind(
        self, key: str, root_commit: str, session: str, *, at: str, actor: str, path: str = ""
    ) -> Append | None:
        """The append that makes a session the current one here, or in the working tree at another path; None
        if it is already."""
        tree = self._read(path) if path else self.tree(fresh=True)
        bodies: list[ev.Body] = []
        if not tree.projects or tree.projects[-1] != key:
            bodies.append(ev.TreeBound(tree.path, key, root_commit))
        if tree.current != session:
            bodies.append(ev.TreeCurrent(session))
        if not bodies:
            return None
        drafts = [ev.draft(body, at=at, actor=actor) for body in bodies]
        return Append(self._stream(tree.path), tree.version, drafts)

    def _stream(self, path: str) -> str:
        return tree_stream(path, self._store.machine)


def _is_text(path: str) -> bool:
    with suppress(UnicodeEncodeError):
        return path.isascii() or bool(path.encode())
    return False


def check_pause(folder: Path, data: Path, pause_file: str = "") -> None:
    """Raise Paused if there is a PAUSE file; for commands that open no workspace."""
    PauseFile(pause_paths(folder, data, pause_file)).check()
