"""The moment at which work must come to its end, because somebody waits: an agent for a hook.

Whoever reads something of a size that nobody controls asks between two pieces whether it is over, and stops
where what was read is whole. One piece is always read, so that a slow machine gets on too. The clock cannot
be set back.
"""

from __future__ import annotations

import math
import time


class Deadline:
    """A moment, given as so many seconds from now."""

    __slots__ = ("_at",)

    def __init__(self, seconds: float) -> None:
        self._at = time.monotonic() + seconds

    @property
    def seconds_left(self) -> float:
        """How long it is until then; 0 if it is over."""
        return max(0.0, self._at - time.monotonic())

    @property
    def is_over(self) -> bool:
        return time.monotonic() >= self._at

    @property
    def is_set(self) -> bool:
        """Whether anybody waits at all."""
        return self._at < math.inf

    def part(self, share: float) -> Deadline:
        """An earlier moment, when this share of the time that is left is over."""
        return Deadline(self.seconds_left * share) if self.is_set else self

    def at_most(self, seconds: float) -> float:
        """So many seconds, or fewer if the moment comes earlier."""
        return min(seconds, self.seconds_left)


NEVER = Deadline(math.inf)
"""Nobody waits: a command of the user, who sees that it is at work."""


class OutOfTime(BaseException):
    """The time of a whole process is over, wherever it is. It is no ``Exception``, so that nothing that
    survives the faults of others takes it for one of them."""
