"""The stores of a server: a request that is sent twice takes effect once, and quotas hold.

While a request with an idempotency key is served, its first append carries a mark: an event on a stream of
the request's own, in the same commit. Whoever serves the same request again finds the stream there, and
``AlreadyDone`` is raised instead of a second effect. So it holds even if the server died between the commit
and the answer. Marks are dropped after a while.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from contextvars import ContextVar
from functools import cached_property
from typing import Any

from ...core import event_kinds as ev
from ...effects.clock import moment, now
from ...errors import AlreadyDone, SegueError, StaleVersion
from ...stores.base import Append, Pieces
from ...stores.memory_changes import MemoryChange
from ...stores.postgres import PostgresStore
from ...stores.postgres.memories import PostgresMemories
from ...stores.sqlite import SqliteStore
from ...stores.sqlite.memories import SqliteMemories
from .quotas import Amounts, in_append, in_memories

PREFIX = "once/"
KEPT_HOURS = 24
_DROPPED_AT_ONCE = 200


class RequestMark:
    """The mark of the request that is served; its first append takes it."""

    __slots__ = ("found", "stream", "taken")

    def __init__(self, request: str) -> None:
        self.stream = PREFIX + request
        self.taken = False
        self.found = False


current_mark: ContextVar[RequestMark | None] = ContextVar("current_mark", default=None)


def _uncharged(_: Callable[[], Amounts]) -> AbstractContextManager[None]:
    return nullcontext()


class _Idempotent:
    """Appends of a journal, charged to the quota of its project, and marked while a request with an
    idempotency key is served."""

    charge: Callable[[Callable[[], Amounts]], AbstractContextManager[None]] = staticmethod(_uncharged)
    """Set by the server: within what it gives, this much is written."""

    def append(
        self, *appends: Append, pieces: Pieces | None = None, memories: MemoryChange | None = None
    ) -> list[ev.Event]:
        with self.charge(lambda: in_append(appends, pieces, memories)):
            return self._append(appends, pieces, memories)

    def _append(
        self, appends: tuple[Append, ...], pieces: Pieces | None, memories: MemoryChange | None
    ) -> list[ev.Event]:
        mark = current_mark.get()
        append: Any = super().append  # type: ignore[misc]
        if mark is None or mark.taken:
            return append(*appends, pieces=pieces, memories=memories)  # type: ignore[no-any-return]
        left = [f"{one.stream} {one.expect + len(one.drafts)}" for one in appends if one.drafts]
        marking = Append(mark.stream, 0, [ev.draft(ev.Served(left), at=now(), actor="server")])
        try:
            events: list[ev.Event] = append(*appends, marking, pieces=pieces, memories=memories)
        except StaleVersion as stale:
            if stale.stream == mark.stream or self.head(mark.stream).version:  # type: ignore[attr-defined]
                mark.found = True
                raise AlreadyDone(mark.stream) from None
            raise
        mark.taken = True
        return [event for event in events if event.stream != mark.stream]


class _ChargedSqliteMemories(SqliteMemories):
    def __init__(self, store: IdempotentSqlite) -> None:
        super().__init__(store.database)
        self._store = store

    def write(self, change: MemoryChange) -> list[str]:
        with self._store.charge(lambda: in_memories(change)):
            return super().write(change)


class _ChargedPostgresMemories(PostgresMemories):
    def __init__(self, store: IdempotentPostgres) -> None:
        super().__init__(store.database)
        self._store = store

    def write(self, change: MemoryChange) -> list[str]:
        with self._store.charge(lambda: in_memories(change)):
            return super().write(change)


class IdempotentSqlite(_Idempotent, SqliteStore):
    """The embedded store of a server."""

    @cached_property
    def memories(self) -> SqliteMemories:
        """What was learnt."""
        return _ChargedSqliteMemories(self)


class IdempotentPostgres(_Idempotent, PostgresStore):
    """The Postgres store of a server."""

    @cached_property
    def memories(self) -> PostgresMemories:
        """What was learnt."""
        return _ChargedPostgresMemories(self)


def left_by(journal: SqliteStore | PostgresStore, stream: str) -> list[tuple[str, int]]:
    """(stream, version) of what a request that took effect left behind."""
    for event in journal.read(stream, limit=1):
        body = ev.read_body(event)
        if isinstance(body, ev.Served):
            return [(name, int(version)) for name, _, version in (one.rpartition(" ") for one in body.left)]
    return []


def forget_marks(journal: SqliteStore | PostgresStore) -> int:
    """Drop marks that are old enough that nobody sends the request again; says how many."""
    before, dropped = moment(-3600 * KEPT_HOURS), 0
    for stream, version in journal.streams(PREFIX)[:_DROPPED_AT_ONCE]:
        if any(event.at < before for event in journal.read(stream, limit=1)):
            with suppress(SegueError):
                journal.drop(Append(stream, version))
                dropped += 1
    return dropped
