"""The workspace of a Segue server. While that cannot be reached, commands that may wait are queued."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Unpack

from ...core.sessions.commands import Command, Create
from ...errors import OverQuota, RateLimited, StoreError, StoreUnavailable
from ..sessions.repository import CommitOptions, Saved
from .last_seen import DrainResult, LastSeen, LastSeenSession
from .offline_queue import OfflineQueue
from .workspace import Workspace


class RemoteWorkspace(Workspace):
    """A working tree on this machine whose sessions are kept by a Segue server."""

    works_offline = True

    def __init__(self, *store: Any, last_seen: LastSeen, **arguments: Any) -> None:
        super().__init__(*store, **arguments)
        self.offline = OfflineQueue(self, last_seen)

    def commit(self, session: str, commands: Sequence[Command], **options: Unpack[CommitOptions]) -> Saved:
        """Send pending commands first, then these. If the server cannot be reached, or the project has used
        up a quota, these are queued as well, unless they carry pieces or demand a version."""
        try:
            if self.offline.waits():
                self.offline.drain()
            saved = self.repository.commit(session, commands, **options)
        except (StoreUnavailable, OverQuota, RateLimited) as fault:
            if options.get("pieces") or options.get("since") is not None:
                raise
            return self.offline.keep(session, commands, fault, options.get("actor", ""))
        with suppress(StoreError):  # the commands are saved, even if holds cannot be looked up
            saved = self.with_warnings(saved)
        return saved

    def start_offline(self, create: Create, base: str, root_commit: str, fault: StoreUnavailable) -> str:
        return self.offline.start(create, base, root_commit, fault)

    def last_seen(self, session: str) -> LastSeenSession | None:
        return self.offline.last(session)

    def waits_offline(self) -> bool:
        return self.offline.waits()

    def drain_offline(self) -> None:
        self.offline.drain()

    @property
    def brought(self) -> DrainResult | None:
        return self.offline.brought

    def forget_last_seen(self) -> None:
        super().forget_last_seen()
        self.offline.forget()

    def close(self) -> None:
        self.offline.remember()
        super().close()
