"""What projects use, counted for several servers at once: each takes shares of what is free (see
``core.server.quota``).

A kind has a row with all that was given out, which is the lock too, and a row for each server with the share
that it has. A share that nobody renewed for a minute is of a server that is gone. Now and then, and before
anything is refused, the truth is counted anew: what is there, and what servers that live may still write.
"""

from __future__ import annotations

from uuid import UUID

from ...core.server.quota import REQUESTS, WINDOW_SECONDS, share_of
from ..usage import LEASE_SECONDS, RECOUNT_SECONDS, RECOUNT_SECONDS_MIN, Drawn, Wish
from .database import Database, changed, rows
from .schema import Db

_ALL = ""
"""The row of all servers."""
_GONE_SECONDS = 2 * LEASE_SECONDS
_COUNTS = {
    "sessions": """
        SELECT count(*) FROM segue.streams
        WHERE namespace = %(namespace)s AND name >= 'session/' AND name < 'session0' AND version > 0""",
    "events": """
        SELECT coalesce(sum(version), 0)::bigint FROM segue.streams
        WHERE namespace = %(namespace)s AND name >= 'session/' AND name < 'session0'""",
    "memories": """
        SELECT coalesce(sum(live), 0)::bigint FROM segue.audiences WHERE namespace = %(namespace)s""",
    "bytes": """
        SELECT ((SELECT coalesce(sum(octet_length(body)), 0) FROM segue.events
                WHERE namespace = %(namespace)s)
            + (SELECT coalesce(sum(octet_length(body)), 0) FROM segue.pieces
                WHERE namespace = %(namespace)s)
            + (SELECT coalesce(sum(octet_length(body)), 0) FROM segue.memories
                WHERE namespace = %(namespace)s))::bigint""",
}
_OF = "namespace = %(own)s AND project = %(project)s AND kind = %(kind)s"
_MAKE = """
    INSERT INTO segue.server_usage VALUES (%(own)s, %(project)s, %(kind)s, '', 0, 0) ON CONFLICT DO NOTHING"""
_LOCK = f"""
    SELECT amount, at, extract(epoch FROM clock_timestamp())::float8
    FROM segue.server_usage WHERE {_OF} AND server = '' FOR UPDATE"""
_OTHERS = f"""
    SELECT coalesce(sum(amount), 0)::bigint FROM segue.server_usage
    WHERE {_OF} AND server NOT IN ('', %(server)s) AND at > %(now)s - {_GONE_SECONDS}"""
_PUT = """
    INSERT INTO segue.server_usage VALUES (%(own)s, %(project)s, %(kind)s, %(server)s, %(amount)s, %(at)s)
    ON CONFLICT (namespace, project, kind, server) DO UPDATE SET amount = excluded.amount, at = excluded.at"""
_GIVEN = f"""
    SELECT kind, amount, at + {WINDOW_SECONDS} > extract(epoch FROM clock_timestamp())
    FROM segue.server_usage WHERE namespace = %(own)s AND project = %(project)s AND server = ''"""
_FORGET = f"DELETE FROM segue.server_usage WHERE {_OF} AND server <> '' AND at < %(now)s - 86400"


class PostgresUsage:
    """What projects use, in the database that servers share."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def draw(self, wish: Wish) -> Drawn:
        """Take a share, or give one back; durable, and seen by all servers."""
        return self._database.transaction(lambda db, _: self._draw(db, wish), _never)

    def _draw(self, db: Db, wish: Wish) -> Drawn:
        own = {"own": self._database.namespace, "project": wish.project, "kind": wish.kind}
        own["server"] = wish.server
        changed(db, _MAKE, own)
        [(amount, at, now)] = rows(db, _LOCK, own)
        amount, valid_seconds = max(0, amount - wish.unspent), LEASE_SECONDS
        if wish.kind == REQUESTS:
            window = now // WINDOW_SECONDS * WINDOW_SECONDS
            amount, at, valid_seconds = (amount if at == window else 0), window, window + WINDOW_SECONDS - now
        elif wish.need and _is_due(at, now, wish.limit - amount < wish.need, wish.kind):
            [(others,)] = rows(db, _OTHERS, {**own, "now": now})
            [(found,)] = rows(db, _COUNTS[wish.kind], {"namespace": wish.namespace})
            amount, at = found + others + wish.in_flight, now
            changed(db, _FORGET, {**own, "now": now})
        share = share_of(wish.limit - amount, wish.need, wish.kind) if wish.need else 0
        changed(db, _PUT, {**own, "server": _ALL, "amount": amount + share, "at": at})
        if wish.kind != REQUESTS:
            changed(db, _PUT, {**own, "amount": share + wish.in_flight, "at": now})
        return Drawn(share, amount, valid_seconds)

    def used(self, project: str, kind: str, namespace: str) -> int:
        """How much a project uses, counted now; of requests, how many were let in this minute."""
        if kind == REQUESTS:
            return self.given(project).get(REQUESTS, 0)
        [(found,)] = self._database.fetch(_COUNTS[kind], {"namespace": namespace})
        return int(found)

    def given(self, project: str) -> dict[str, int]:
        """By kind, what is used or given out as far as it is known without counting."""
        own = {"own": self._database.namespace, "project": project}
        found = self._database.fetch(_GIVEN, own)
        return {kind: amount for kind, amount, live in found if live or kind != REQUESTS}


def _is_due(at: float, now: float, short: bool, kind: str) -> bool:
    """Whether the truth is to be counted anew."""
    age = now - at
    return at == 0 or age > RECOUNT_SECONDS or (short and age > RECOUNT_SECONDS_MIN[kind])


def _never(db: Db, attempt: UUID) -> None:
    """After a doubt a share is taken once more: at worst too much counts as used, until it is counted
    anew."""
