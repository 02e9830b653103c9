"""What must be there before a server listens: a store, and keys unless it is told to ask for none.

On this machine alone the first start makes a key and keeps it in a file that only its owner can read, where
the command line finds it. A server that others can reach needs keys that somebody made on purpose.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ..._files import read_text
from ...core.base.values import Value
from ...core.server.access import ALL_PROJECTS
from ...effects.clock import now
from ...effects.files.atomic import write_whole
from ...effects.models import is_loopback
from ...errors import RefusedError, SegueError, StoreUnavailable
from ...settings import data_folder, resolve, user_file
from ...stores.postgres import PostgresStore
from ...stores.postgres.upkeep import owner_role
from ..workspace.data_folder import DataFolder, is_remote
from ..workspace.open_store import open_store
from .keys import Keys
from .projects import Projects
from .tracing import Tracing, tracing_to

if TYPE_CHECKING:
    from ...stores.remote import RemoteStore
    from .quotas import Quotas
    from .remote_keys import RemoteKeys, RemoteQuotas

TOKEN_FILE = Path("server", "token")
LOCAL_NAME = "this machine"
_FIRST_SECONDS = 3.0
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
    owner: str = ""
    """The role of the database as which it runs, if that may change the tables."""
    tracing: Tracing | None = None


def prepared(
    environment: Mapping[str, str], place: ListenAddress, *, keys: bool = True, as_owner: bool = True
) -> ServerReady:
    """Open the store; on loopback, have a key. Without ``as_owner``, RefusedError if it would run as a role
    that may change the tables: then none were made or changed."""
    settings = resolve(environment=environment, user_config=user_file(environment))
    tracing = tracing_to(settings.text("otel_endpoint"))
    projects = _projects(environment, tracing)
    owner = _owner(projects)
    if owner and not as_owner:
        projects.close()
        raise RefusedError(
            f"{owner} may change and drop the tables of this store, and a server needs to write only",
            hint="`segue schema --roles DATABASE` makes a role for servers; one person, or a small team with"
            " one role, starts it with `segue serve --as-owner`",
        )
    return replace(_opened(projects, place, keys=keys), owner=owner, tracing=tracing)


def _projects(environment: Mapping[str, str], tracing: Tracing | None = None) -> Projects:
    settings = resolve(environment=environment, user_config=user_file(environment))
    return Projects(
        data_folder(environment), settings.text("store"),
        settings={name: settings[name] for name in _SETTINGS},
        busy_timeout_ms=int(settings.number("busy_timeout_ms")), tracing=tracing,
    )  # fmt: skip


def _owner(projects: Projects) -> str:
    """The role as which this server would change tables; a database that is just starting is waited for."""
    store, deadline = projects.main, time.monotonic() + _FIRST_SECONDS
    while isinstance(store, PostgresStore):
        try:
            return owner_role(store.database)
        except StoreUnavailable:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)
    return ""


def _opened(projects: Projects, place: ListenAddress, *, keys: bool) -> ServerReady:
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
    with _managed(environment) as server:
        if isinstance(server, Projects):
            yield Keys(server.server_tables)
        else:
            from .remote_keys import RemoteKeys

            yield RemoteKeys(server)


@contextmanager
def managing_quotas(environment: Mapping[str, str]) -> Iterator[Quotas | RemoteQuotas]:
    """The same for its quotas."""
    with _managed(environment) as server:
        if isinstance(server, Projects):
            yield server.quotas
        else:
            from .remote_keys import RemoteQuotas

            yield RemoteQuotas(server)


@contextmanager
def _managed(environment: Mapping[str, str]) -> Iterator[Projects | RemoteStore]:
    settings = resolve(environment=environment, user_config=user_file(environment))
    where = settings.text("store")
    if is_remote(where):
        from ...stores.remote import RemoteStore

        home = DataFolder(data_folder(environment)).for_store(where)
        journal = open_store(home, where, key=settings.text("api_key"))
        assert isinstance(journal, RemoteStore)
        yield journal
        journal.close()
        return
    projects = _projects(environment)
    yield projects
    projects.close()


def _with_token(projects: Projects, keys: Keys) -> ServerReady:
    """The key of this machine: the one in the file while it holds, else a new one."""
    path = projects.home.path / TOKEN_FILE
    with suppress(OSError, SegueError):
        keys.check(read_text(path).strip())
        return ServerReady(projects, token_file=str(path))
    made = keys.create(project=ALL_PROJECTS, role="admin", name=LOCAL_NAME)
    write_whole(path, f"{made.key}\n".encode())
    return ServerReady(projects, made.key, str(path))
