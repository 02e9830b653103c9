"""Which store a setting names, and how it is opened; a server is shared, and so it is told who we are."""

from __future__ import annotations

import hashlib
import time
from typing import TYPE_CHECKING

from ...effects.files.atomic import private_folder
from ...effects.processes.identity import host_name
from ...errors import BadSettings, DamagedError
from .data_folder import DataFolder, is_remote

if TYPE_CHECKING:
    from ...stores.base import Store
    from ...stores.remote import Address

KINDS = "sqlite:///path/to/segue.db, postgresql://user@host/database, or https://segue.example"

DOWN_SECONDS, DOWN_FIRST_SECONDS = 60.0, 0.3
"""For so long after a server was not reached, other processes try it only so long."""


def open_store(home: DataFolder, where: str, *, busy_timeout_ms: int = 10_000, key: str = "") -> Store:
    """The store of this address, not connected yet; ``home`` is the folder for it (``Home.for_store``),
    ``key`` the one for a Segue server."""
    if is_remote(where):
        from ...stores.remote import Address, RemoteStore

        home.make()
        address = Address(where)
        remote = RemoteStore(address, key or token_here(home, address), busy_timeout_ms=busy_timeout_ms)
        remote.machine = this_machine()
        remote.client.told = lambda reached: _note_reached(home, reached)
        if _was_down(home):
            remote.client.first_seconds = DOWN_FIRST_SECONDS
        return remote
    if home.elsewhere:
        from ...stores.postgres import PostgresStore

        home.make()
        journal = PostgresStore(where, busy_timeout_ms=busy_timeout_ms)
        journal.machine = this_machine()
        return journal
    check_kind(where)
    lost = home.remains()
    if lost:
        raise DamagedError("the store", str(home.database), lost)
    home.make()
    from ...stores.sqlite import SqliteStore

    return SqliteStore(home.database, busy_timeout_ms=busy_timeout_ms, lock=True)


def check_kind(where: str) -> None:
    """BadSettings if this is the address of no kind of store that there is."""
    if is_remote(where):
        from ...stores.remote import Address

        Address(where)
    elif where and not where.startswith(("sqlite:///", "postgresql://", "postgres://")):
        raise BadSettings(f"unknown kind of store: {where.partition('://')[0]}", hint=KINDS)


def shown(where: str) -> str:
    """The address of a store as it may be shown: without a password."""
    if is_remote(where):
        from ...stores.remote import shown as shown_remote

        return shown_remote(where)
    from ...stores.postgres.address import shown

    return shown(where)


def _was_down(home: DataFolder) -> bool:
    """Whether a process has found a moment ago that the server cannot be reached."""
    try:
        return time.time() - home.down.stat().st_mtime < DOWN_SECONDS
    except OSError:
        return False


def _note_reached(home: DataFolder, reached: bool) -> None:
    """Let the next process know; a note that cannot be left costs a little time."""
    try:
        if reached:
            home.down.unlink(missing_ok=True)
        else:
            private_folder(home.down.parent)
            home.down.touch(0o600)
    except OSError:
        pass


def token_here(home: DataFolder, address: Address) -> str:
    """The token that a server on this machine left for its own user; empty if there is none."""
    if not address.loopback:
        return ""
    try:
        return home.token.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return ""


def this_machine() -> str:
    """A name for this user on this machine, in a store that others share."""
    import getpass

    try:
        user = getpass.getuser()
    except (OSError, KeyError):  # a user without a name, as in some containers
        user = ""
    return hashlib.sha256(f"{host_name()}\0{user}".encode()).hexdigest()[:16]
