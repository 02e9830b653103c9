"""What projects use on a server: shares that are taken of what is free, and given back."""

from __future__ import annotations

from typing import Protocol

from ..core.base.values import Value

LEASE_SECONDS = 30.0
"""How long a share may be spent without asking again."""
RECOUNT_SECONDS = 3_600.0
"""How often what is there is counted anew, for what was written or removed past the servers."""
RECOUNT_SECONDS_MIN = {"sessions": 1.0, "events": 1.0, "memories": 1.0, "bytes": 300.0}
"""How long ago that must be before it is done because there is too little: bytes are all read for it."""


class Wish(Value):
    """A share that a server asks for; with no ``need``, it only gives back."""

    project: str
    namespace: str
    """Where the project's data is."""
    kind: str
    server: str
    limit: int
    need: int = 0
    unspent: int = 0
    """What is left of the last share: it is given back."""
    in_flight: int = 0
    """What was spent of shares, by writes that are under way."""


class Drawn(Value):
    """A share; 0 if what is free is not enough."""

    share: int
    used: int
    """What was used or given out before it."""
    valid_seconds: float


class UsageCounter(Protocol):
    """Counts what projects use. Raises as a journal does."""

    def draw(self, wish: Wish) -> Drawn:
        """Take a share."""

    def used(self, project: str, kind: str, namespace: str) -> int:
        """How much a project uses, counted now; of requests, how many were let in this minute."""

    def given(self, project: str) -> dict[str, int]:
        """By kind, what is used or given out as far as it is known without counting; empty where nothing was
        asked for yet."""
