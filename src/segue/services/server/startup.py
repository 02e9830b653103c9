"""What must be there before a server listens: a store, and keys unless it is told to ask for none.

On this machine alone the first start makes a key and keeps it in a file that only its owner can read, where
the command line finds it. A server that others can reach needs keys that somebody made on purpose.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ..._files import read_text
from ...core.base.values import Value
from ...core.server.access import ALL_PROJECTS
from ...effects.clock import now
from ...effects.files.atomic import write_whole
from ...effects.models import is_loopback
from ...errors import RefusedError, SegueError
from ...settings import data_folder, resolve, user_file
from ...stores.postgres import PostgresStore
from ...stores.postgres.upkeep import facts
from ..workspace.data_folder import DataFolder, is_remote
from ..workspace.open_store import open_store
from .keys import Keys
from .projects import Projects

if TYPE_CHECKING:
    from .remote_keys import RemoteKeys

TOKEN_FILE = Path("server", "token")
LOCAL_NAME = "this machine"
_SETTINGS = ("embedder", "embedder_url", "embedder_model", "embedder_key", "redact")


class ListenAddress(Value):
    """Where a server listens."""

    host: str
    port: int
    certificate: str = ""
    """The file of a certificate, to speak https; with it comes that of its key."""
    key: str = ""

    @property
    def tls(self) -> bool:
        """Whether it speaks https."""
        return bool(self.certificate)

    @property
    def loopback(self) -> bool:
        """Whether only this machine can reach it."""
        return is_loopback(self.host)


class ServerReady(Value):
    """A server that may listen."""

    projects: Projects
    token: str = ""
    """Its first key, if it was made now."""
    token_file: str = ""

    @property
    def as_owner(self) -> str:
        """The role of the database as which it runs, if that may change the tables; else empty."""
        store = self.projects.main
        if not isinstance(store, PostgresStore):
            return ""
        found = facts(store.database)
        return found.role if found.owns else ""


def prepared(environment: Mapping[str, str], place: ListenAddress, *, keys: bool = True) -> ServerReady:
    """Open the store; on loopback, have a key."""
    settings = resolve(environment=environment, user_config=user_file(environment))
    projects = Projects(
        data_folder(environment), settings.text("store"),
        settings={name: settings[name] for name in _SETTINGS},
        busy_timeout_ms=int(settings.number("busy_timeout_ms")),
    )  # fmt: skip
    if not keys:
        return ServerReady(projects)
    known = Keys(projects.server_tables)
    if not place.loopback:
        if not any(key.state(now()) == "live" for key in known.list()):
            hint = "create one first: segue key create --project '*' --role admin"
            raise RefusedError(f"there is no key yet, and others can reach {place.host}", hint=hint)
        return ServerReady(projects)
    return _with_token(projects, known)


@contextmanager
def managing(environment: Mapping[str, str]) -> Iterator[Keys | RemoteKeys]:
    """The keys of the server that the settings name: of a store that is here, or asked for over HTTP."""
    settings = resolve(environment=environment, user_config=user_file(environment))
    where = settings.text("store")
    if is_remote(where):
        from ...stores.remote import RemoteStore
        from .remote_keys import RemoteKeys

        home = DataFolder(data_folder(environment)).for_store(where)
        journal = open_store(home, where, key=settings.text("api_key"))
        assert isinstance(journal, RemoteStore)
        yield RemoteKeys(journal)
        journal.close()
        return
    ready = prepared(environment, ListenAddress("127.0.0.1", 0), keys=False)
    yield Keys(ready.projects.server_tables)
    ready.projects.close()


def _with_token(projects: Projects, keys: Keys) -> ServerReady:
    """The key of this machine: the one in the file while it holds, else a new one."""
    path = projects.home.path / TOKEN_FILE
    with suppress(OSError, SegueError):
        keys.check(read_text(path).strip())
        return ServerReady(projects, token_file=str(path))
    made = keys.create(project=ALL_PROJECTS, role="admin", name=LOCAL_NAME)
    write_whole(path, f"{made.key}\n".encode())
    return ServerReady(projects, made.key, str(path))
