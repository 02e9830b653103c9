"""The projects of a server: each is a store of its own, and everything done for a request is done in one.

``default`` is the store that the server was given, so that a person's own sessions are there; any other
project is a namespace beside it (Postgres) or a file of its own (embedded). Handles are kept by project,
actor and run, and share the project's store and its connections.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Mapping
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from ...core.base.text import clean_name, clean_text
from ...core.server.access import DEFAULT_PROJECT, Access, clean_project
from ...effects.pause_file import PauseFile
from ...effects.vectors.embedder import Embedder, choose
from ...errors import BadSettings
from ...settings import resolve
from ...stores.base import ServerTables
from ...stores.postgres.address import Address, is_postgres, shown
from ..memories.service import keep_what_is_learnt
from ..workspace.data_folder import DataFolder
from ..workspace.lost_store import PlaceCheck, check_damage
from ..workspace.open_store import check_kind
from ..workspace.server import ServerWorkspace
from .idempotency import IdempotentPostgres, IdempotentSqlite
from .quotas import Quotas
from .session_index import SessionIndex
from .tracing import Tracing, trace_store

Store = IdempotentPostgres | IdempotentSqlite
HANDLES_MAX = 512
_COMPARING = ("embedder", "embedder_url", "embedder_model", "embedder_key")
SESSIONS_MAX = 1_024
"""How many sessions a handle keeps as last seen: about as many as are worked on at once."""
POOL_MIN = 16
PROBE_MS = 1_000


class Projects:
    """Stores by project, and handles on them."""

    def __init__(
        self, home: Path, where: str = "", *, settings: Mapping[str, Any] | None = None,
        busy_timeout_ms: int = 10_000, tracing: Tracing | None = None,
    ) -> None:  # fmt: skip
        """``settings`` are those of every project: how memories are compared, whether secrets are masked."""
        check_kind(where)
        if where.startswith(("http://", "https://")):
            raise BadSettings("a server needs a store of its own", hint="sqlite:///… or postgresql://…")
        self.home = DataFolder(home).for_store(where)
        self.shown = shown(where) if is_postgres(where) else f"sqlite:///{self.home.database}"
        self._where = where
        self._busy_timeout_ms = busy_timeout_ms
        self._settings = dict(settings or {})
        self._comparing = {name: self._settings.pop(name, "") for name in _COMPARING}
        self._lock = threading.Lock()
        self._stores: dict[str, Store] = {}
        self._indexes: dict[str, SessionIndex] = {}
        self._handles: OrderedDict[tuple[str, str, str, str], ServerWorkspace] = OrderedDict()
        self._tracing = tracing
        self.quotas = Quotas(lambda: self.server_tables, self.store)
        self.main = self.store(DEFAULT_PROJECT)
        self.folder = self.home.path / "server"
        """Where the server stands: no project's working tree."""

    @property
    def server_tables(self) -> ServerTables:
        """The server's own tables."""
        return self.main.server_tables

    @cached_property
    def probe(self) -> Store:
        """The main store by a connection of its own that gives up soon, to ask whether it answers."""
        if not is_postgres(self._where):
            return self.main
        address = Address(self._where)
        address.pool_max = 1
        return IdempotentPostgres(address, busy_timeout_ms=PROBE_MS)

    def store(self, project: str) -> Store:
        """The store of a project, opened when it is first asked for."""
        clean_project(project)
        with self._lock:
            found = self._stores.get(project)
            if found is None:
                found = self._stores[project] = self._open(project)
                found.charge = partial(self.quotas.charged, project)
                if self._tracing is not None:
                    trace_store(found, self._tracing)
            return found

    def index(self, project: str) -> SessionIndex:
        """What is known of all sessions of a project."""
        with self._lock:
            return self._indexes.setdefault(project, SessionIndex())

    def opened(self) -> list[Store]:
        """The stores that are open."""
        with self._lock:
            return list(self._stores.values())

    def _open(self, project: str) -> Store:
        self.home.make()
        if is_postgres(self._where):
            if project == DEFAULT_PROJECT:
                address = Address(self._where)
                address.pool_max = max(address.pool_max, POOL_MIN)
                return IdempotentPostgres(address, busy_timeout_ms=self._busy_timeout_ms)
            main = self._stores[DEFAULT_PROJECT]
            assert isinstance(main, IdempotentPostgres)
            own = main.namespace
            return main.beside(project if own == DEFAULT_PROJECT else f"{own}.{project}")
        home = self._home_of(project)
        check_damage(home)
        home.make()
        return IdempotentSqlite(
            home.database, busy_timeout_ms=self._busy_timeout_ms, lock=True, place=PlaceCheck(home)
        )

    def _home_of(self, project: str) -> DataFolder:
        if project == DEFAULT_PROJECT or self.home.shared_store:
            return self.home
        return DataFolder(self.home.path / "projects" / project)

    def workspace(
        self, access: Access, *, actor: str = "", run: str = "", repository: str = ""
    ) -> ServerWorkspace:
        """The handle for a request: in its project, as its agent or as it says; ``repository`` is the key by
        which working trees know theirs, so that what was kept there for the project is seen."""
        name = access.act_as(clean_text(actor, what="actor", limit=256)) or "user"
        inner = clean_text(repository, what="repository", limit=512).strip()
        ours = (access.project, name, clean_name(run, what="run id") if run else "", inner)
        with self._lock:
            found = self._handles.get(ours)
            if found is not None:
                self._handles.move_to_end(ours)
                return found
        made = self._made(*ours)
        with self._lock:
            kept = self._handles.setdefault(ours, made)
            while len(self._handles) > HANDLES_MAX:
                self._handles.popitem(last=False)
        return kept

    def _made(self, project: str, actor: str, run: str, repository: str) -> ServerWorkspace:
        store, home, key = self.store(project), self._home_of(project), repository or project
        os.makedirs(self.folder, mode=0o700, exist_ok=True)
        settings = resolve(flags={**self._settings, "actor": actor, "project": key}, environment={})
        made = ServerWorkspace(
            store, home=home, folder=self.folder, project=key, whole=project, settings=settings, run=run,
            embedder=self.embedder,
        )  # fmt: skip
        made.pause_file.paths = self._pause_paths(project)
        made.repository.sessions_max = SESSIONS_MAX
        keep_what_is_learnt(made)
        return made

    def _pause_paths(self, project: str) -> list[str]:
        """The paths where a PAUSE file stops a project: in its own data folder and in the server's."""
        homes = dict.fromkeys((self.home.path, self._home_of(project).path))
        return [str(home / "PAUSE") for home in homes]

    def check_pause(self, project: str) -> None:
        """Raise Paused if there is a PAUSE file that stops a project; for writes past its workspace."""
        PauseFile([Path(path) for path in self._pause_paths(project)]).check()

    @cached_property
    def embedder(self) -> Embedder:
        """What compares memories: one for all projects and requests, since a model is large."""
        name, url, model, key = (self._comparing[one] or "" for one in _COMPARING)
        return choose(name or "auto", url=url, model=model, key=key)

    def back_up(self) -> None:
        """Make the backups that are due; beside the requests, since each copies a whole store."""
        with self._lock:
            handles = list(self._handles.items())
        looked: set[str] = set()
        for (project, *_), workspace in handles:
            if workspace.backups.unchecked and project not in looked:
                looked.add(project)
                workspace.backups.if_due()
            workspace.backups.mark_checked()

    def close(self) -> None:
        """Let go of all stores."""
        self.quotas.give_back(all_of_it=True)
        with self._lock:
            for workspace in self._handles.values():
                for finish in workspace.at_close:
                    finish()
            for store in (*self._stores.values(), self.probe):
                store.close()
