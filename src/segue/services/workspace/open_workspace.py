"""Opening a workspace, with settings from arguments, the environment and the settings files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import SegueError
from ...settings import (
    Settings,
    data_folder,
    environment_now,
    read_store_of,
    resolve,
    store_of,
    user_file,
)
from ...stores.base import Journal, Store
from .data_folder import DataFolder, is_remote
from .open_store import open_store
from .working_tree import WorkingTree
from .workspace import Workspace

if TYPE_CHECKING:
    from ...effects.vectors.embedder import Embedder
    from .last_seen import LastSeenSession


def open_workspace(
    store: Journal | str | None = None, *, home: DataFolder | Path | str | None = None,
    folder: Path | str | None = None, actor: str | None = None, run: str = "", session: str = "",
    embedder: Embedder | None = None, environment: Mapping[str, str] | None = None, **settings: Any,
) -> Workspace:  # fmt: skip
    """The workspace of a folder, by default the current one. The environment of the process is read only if
    neither store, home nor environment is passed; without it no user settings file is read either."""
    variables = _variables(store, home, environment)
    flags = {**settings, "actor": actor, "store": store if isinstance(store, str) else None}
    config = user_file(variables) if variables else None
    user_settings = resolve(flags=flags, environment=variables, user_config=config)
    opened, data = _opened(store, _data_folder(home, variables), user_settings)
    here = Path(folder).resolve() if folder is not None else Path.cwd()
    shared: dict[str, Any] = {
        "home": data, "folder": here, "environment": variables, "run": run, "session": session,
        "embedder": embedder,
    }  # fmt: skip

    def settings_in(tree: WorkingTree) -> Settings:
        file = tree.project_file
        return resolve(
            flags=flags, environment=variables, user_config=config, project_file=file,
            project_trusted=file.is_file() and tree.trusted(),
        )  # fmt: skip

    if not is_remote(data.shared_store):
        tree = WorkingTree(here, opened)
        return Workspace(opened, working_tree=tree, settings=settings_in(tree), **shared)
    from .last_seen import LastSeen
    from .remote import RemoteWorkspace

    cache = LastSeen(data, opened.machine)
    tree = WorkingTree(here, opened, cache)
    return RemoteWorkspace(opened, working_tree=tree, settings=settings_in(tree), last_seen=cache, **shared)


def without_opening(
    store: str | None = None, *, home: DataFolder | Path | str | None = None,
    environment: Mapping[str, str] | None = None, **settings: Any,
) -> tuple[DataFolder, Settings]:  # fmt: skip
    """The data folder and the settings that ``open_workspace`` would use, for when the store is damaged."""
    variables = _variables(store, home, environment)
    config = user_file(variables) if variables else None
    resolved = resolve(flags={**settings, "store": store}, environment=variables, user_config=config)
    return _data_folder(home, variables), resolved


def _variables(store: object, home: object, environment: Mapping[str, str] | None) -> dict[str, str]:
    from_process = store is None and home is None and environment is None
    return environment_now() if from_process else dict(environment or {})


def _data_folder(home: DataFolder | Path | str | None, variables: Mapping[str, str]) -> DataFolder:
    if isinstance(home, DataFolder):
        return home
    return DataFolder(Path(home).absolute() if home is not None else data_folder(variables))


def _opened(store: Journal | str | None, home: DataFolder, settings: Settings) -> tuple[Store, DataFolder]:
    if store is not None and not isinstance(store, str):
        from ...stores.complete import completed

        return completed(store), home
    where = settings.text("store")
    home = home.for_store(where)
    timeout_ms, key = int(settings.number("busy_timeout_ms")), settings.text("api_key")
    trace = settings.text("traceparent")
    return open_store(home, where, busy_timeout_ms=timeout_ms, key=key, traceparent=trace), home


def for_looking(folder: Path, environment: Mapping[str, str]) -> Workspace | None:
    """For commands that only read: an empty in-memory workspace, so that they leave no files where nothing
    was ever stored, or that of a standby which has all that this machine wrote. None: open the store."""
    home = DataFolder(data_folder(environment)).for_store(store_of(environment))
    if home.shared_store:
        return on_standby(folder, environment)
    if home.database.exists() or home.damage():
        return None
    return without_store(folder, environment)


def on_standby(folder: Path, environment: Mapping[str, str]) -> Workspace | None:
    """A workspace on the standby that the settings name; None if there is none, it does not answer, or is
    behind what this machine wrote."""
    where = read_store_of(environment)
    home = DataFolder(data_folder(environment)).for_store(store_of(environment))
    if not where or not home.shared_store:
        return None
    from ...stores.postgres import PostgresStore
    from ..sessions.local_copies import LocalCopies
    from .open_store import this_machine

    journal = PostgresStore(where)
    journal.database.only_reads = True
    journal.machine = this_machine()
    try:
        stream, version = LocalCopies(home.copies).newest()
        if journal.head(stream or "ledger/ready").version < version:
            journal.close()
            return None
    except SegueError:
        return None
    opened = open_workspace(journal, home=home, folder=folder, environment=environment)
    opened.only_looks = True
    return opened


def without_store(
    folder: Path, environment: Mapping[str, str], last: LastSeenSession | None = None
) -> Workspace:
    """An empty in-memory workspace; ``last`` is what is known of the folder's session."""
    from ...stores.memory.store import VolatileStore

    opened = open_workspace(VolatileStore(), folder=folder, environment=environment)
    opened.last = last
    return opened
