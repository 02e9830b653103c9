"""How much a project on a server may hold, and how often it may ask: limits that an operator sets, none at
first.

What is used is counted in shares: a server takes a share of what is free, spends it without asking anybody,
and takes the next one. Shares become smaller as less is free, down to what a single write needs. So several
servers on one database never give out more than the limit between them, and hardly ever have to ask.
"""

from __future__ import annotations

from ...errors import UsageError
from ..base.values import Value

KINDS = ("sessions", "events", "memories", "bytes")
"""What a project holds: sessions, their events, live memories, and the bytes of events, agents' states,
shared transcripts and memories."""
REQUESTS = "requests"
WINDOW_SECONDS = 60
LIMIT_MAX = 2**53
_SHARES = 8
"""A share is at most one of so many parts of what is free."""
SHARE_MAX = {"sessions": 64, "events": 1_024, "memories": 1_024, "bytes": 4 << 20, REQUESTS: 600}


class Quota(Value):
    """The limits of a project; 0 where there is none."""

    project: str
    sessions: int = 0
    events: int = 0
    memories: int = 0
    bytes: int = 0
    requests: int = 0
    """A minute, with all keys."""

    def limit(self, kind: str) -> int:
        """The limit of a kind; 0 if there is none."""
        found: int = getattr(self, kind)
        return found

    @property
    def limits(self) -> dict[str, int]:
        """The limits that there are, by kind."""
        return {kind: limit for kind in (*KINDS, REQUESTS) if (limit := self.limit(kind))}


def clean_limit(kind: str, limit: int) -> int:
    """The limit, if it can be one. Raises UsageError."""
    if not 0 <= limit <= LIMIT_MAX:
        raise UsageError(f"{limit} is no limit for {kind}", hint="a whole number; 0 takes the limit away")
    return limit


def share_of(free: int, need: int, kind: str) -> int:
    """How much to take when this much is free and this much is needed now; 0 if that is more than is
    free."""
    if need > free:
        return 0
    return max(need, min(free // _SHARES, SHARE_MAX[kind]))
