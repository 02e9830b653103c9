"""How much an embedded store holds, for the quotas of a server."""

from __future__ import annotations

from .database import Database
from .schema import STREAM_BITS

_SESSIONS = "FROM streams WHERE name >= 'session/' AND name < 'session0'"
_VERSIONS = (1 << STREAM_BITS) - 1
_OWN = f"events WHERE id BETWEEN streams.no << {STREAM_BITS} AND streams.no << {STREAM_BITS} | {_VERSIONS}"
_COUNTS = {
    "sessions": f"SELECT count(*) {_SESSIONS} AND EXISTS (SELECT 1 FROM {_OWN})",
    "events": f"SELECT coalesce(sum((SELECT max(id) & {_VERSIONS} FROM {_OWN})), 0) {_SESSIONS}",
    "memories": "SELECT coalesce(sum(live), 0) FROM audiences",
    "bytes": """
        SELECT (SELECT coalesce(sum(length(body)), 0) FROM events)
            + (SELECT coalesce(sum(length(body)), 0) FROM pieces)
            + (SELECT coalesce(sum(length(body)), 0) FROM memory_bodies)""",
}


def count(database: Database, kind: str) -> int:
    """How much a store holds."""
    return int(database.fetch(_COUNTS[kind])[0][0])
