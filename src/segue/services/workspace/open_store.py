"""Opening the store that an address names. A shared store is told which machine and user this is."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING

from ..._files import read_text
from ...core.base.canonical import sha256
from ...core.base.lazy import regex
from ...effects.files.atomic import private_folder
from ...effects.processes.identity import host_name
from ...errors import BadSettings
from .data_folder import DataFolder, is_remote
from .lost_store import PlaceCheck, check_damage

if TYPE_CHECKING:
    from ...stores.base import Store
    from ...stores.remote import Address

KINDS = "sqlite:///path/to/segue.db, postgresql://user@host/database, or https://segue.example"

_TRACEPARENT = regex(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")
LISTENS_SECONDS = 0.5
"""How long it may take to find out whether a server on this machine listens."""
DOWN_SECONDS, DOWN_FIRST_SECONDS = 60.0, 0.3
"""For a minute after a server could not be reached, processes try it for only 0.3 seconds at first."""


def open_store(
    home: DataFolder, where: str, *, busy_timeout_ms: int = 10_000, key: str = "", traceparent: str = ""
) -> Store:
    """The store at this address, not connected yet. ``home`` must be the data folder for that address
    (``DataFolder.for_store``); ``key`` is the API key of a Segue server, which is told ``traceparent``.
    Raises DamagedError if the embedded store was lost, and BadSettings for an unknown kind of address."""
    if is_remote(where):
        from ...stores.remote import Address, RemoteStore
        from ..sessions.local_copies import LocalCopies

        home.make()
        address = Address(where)
        remote = RemoteStore(address, key or token_here(home, address), busy_timeout_ms=busy_timeout_ms)
        remote.machine = this_machine()
        remote.watch = LocalCopies(home.copies)
        remote.client.traceparent = traceparent if _TRACEPARENT.fullmatch(traceparent) else ""
        remote.client.told = lambda reached: _note_reached(home, reached)
        if _was_down(home):
            remote.client.first_seconds = DOWN_FIRST_SECONDS
        return remote
    if home.shared_store:
        from ...stores.postgres import PostgresStore
        from ..sessions.local_copies import LocalCopies

        home.make()
        journal = PostgresStore(where, busy_timeout_ms=busy_timeout_ms)
        journal.machine = this_machine()
        journal.watch = LocalCopies(home.copies)
        return journal
    check_kind(where)
    check_damage(home)
    home.make()
    from ...stores.sqlite import SqliteStore

    return SqliteStore(home.database, busy_timeout_ms=busy_timeout_ms, lock=True, place=PlaceCheck(home))


def check_kind(where: str) -> None:
    """Raise BadSettings if this is not the address of any known kind of store."""
    if is_remote(where):
        from ...stores.remote import Address

        Address(where)
    elif where and not where.startswith(("sqlite:///", "postgresql://", "postgres://")):
        raise BadSettings(f"unknown kind of store: {where.partition('://')[0]}", hint=KINDS)


def shown(where: str) -> str:
    """The address of a store without its password, as it may be printed."""
    if is_remote(where):
        from ...stores.remote import shown as shown_remote

        return shown_remote(where)
    from ...stores.postgres.address import shown

    return shown(where)


def listens_here(where: str) -> bool | None:
    """Whether a server on this machine listens at an address; None for an address of another machine."""
    import socket

    from ...stores.remote import Address

    address = Address(where)
    if not address.loopback:
        return None
    with suppress(OSError):
        socket.create_connection((address.host, address.port), timeout=LISTENS_SECONDS).close()
        return True
    return False


def _was_down(home: DataFolder) -> bool:
    with suppress(OSError):
        return time.time() - home.unreachable_note.stat().st_mtime < DOWN_SECONDS
    return False


def _note_reached(home: DataFolder, reached: bool) -> None:
    """Leave or remove the note for other processes. It only saves them time, so failing is not an error."""
    with suppress(OSError):
        if reached:
            home.unreachable_note.unlink(missing_ok=True)
        else:
            private_folder(home.unreachable_note.parent)
            home.unreachable_note.touch(0o600)


def token_here(home: DataFolder, address: Address) -> str:
    """The token that a server on this machine left for its own user; empty if there is none."""
    if not address.loopback:
        return ""
    with suppress(OSError, UnicodeDecodeError):
        return read_text(home.token, encoding="ascii").strip()
    return ""


def this_machine() -> str:
    """The name of this user on this machine in a shared store: a hash of host and user name."""
    import getpass

    try:
        user = getpass.getuser()
    except (OSError, KeyError):  # a user without a name, as in some containers
        user = ""
    return sha256(f"{host_name()}\0{user}".encode()).hexdigest()[:16]
