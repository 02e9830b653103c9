"""The doctor's look at a Segue server: does it answer, what may our key do, is the project whole."""

from __future__ import annotations

from collections.abc import Iterator

from ....core.base.values import count
from ....effects.files.spool import Spool
from ....settings import Settings, own_version
from ....stores.base import Store
from ....stores.remote import RemoteStore
from ...workspace.data_folder import DataFolder
from ...workspace.open_store import open_store
from .finding import Diagnosis, behind_copies, every_event_read, of_server

_MAY = {
    "reader": "read only: nothing from this machine is stored there",
    "writer": "read and write; scrubbing and migrating need an admin",
    "admin": "everything in this project",
}


def look(home: DataFolder, settings: Settings) -> Iterator[Diagnosis]:
    """Everything worth a look; writes nothing."""
    yield _pending(home)
    timeout_ms = int(settings.number("busy_timeout_ms"))
    where, key = settings.text("store"), settings.text("api_key")
    yield from of_server(
        lambda: open_store(home, where, busy_timeout_ms=timeout_ms, key=key),
        lambda journal: _server(home, journal),
    )


def _pending(home: DataFolder) -> Diagnosis:
    records, size = Spool(home.pending, "commands").count()
    if not records:
        return Diagnosis("pending", "ok", "nothing is pending")
    waiting = f"{count(records, 'command')}, {size:,} bytes"
    return Diagnosis("pending", "warn", f"{waiting} waiting for the server", "`segue status` sends them")


def _server(home: DataFolder, journal: Store) -> Iterator[Diagnosis]:
    assert isinstance(journal, RemoteStore)
    found = journal.about()
    detail = f"{home.shared_store}: Segue {found.segue}, project {found.project}"
    own = own_version()
    if found.segue.split(".")[:2] != own.split(".")[:2]:
        hint = "install the same version on both; until then each reads what it knows"
        yield Diagnosis("server", "warn", f"{detail}; this one is {own}", hint)
    else:
        yield Diagnosis("server", "ok", detail)
    bound = f", as the agent {found.agent} only" if found.agent else ""
    yield Diagnosis("key", "ok", f"{found.role}: {_MAY.get(found.role, 'a role of a newer server')}{bound}")
    yield behind_copies(home, journal)
    yield Diagnosis(
        "backups", "ok", "are made on the server; `segue migrate --to sqlite:///copy.db` makes a copy"
    )
    hint = "repair the server's store on the server, from its backup"
    yield every_event_read(journal, "as this key sees it", hint)
