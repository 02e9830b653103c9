"""Features in the library: the service, with a method that verifies them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from .._checked_calls import checked
from ..core.features.checks import Check
from ..services.features.features import Features

if TYPE_CHECKING:
    from ..services.features.verify import Verified


@checked
class SessionFeatures(Features):
    """The criteria of success of a session: declare, verify and list them."""

    def verify(
        self, ids: Iterable[str] = (), *, all: bool = False, jobs: int = 0, trust: bool = False,
        ask: Callable[[Sequence[Check]], bool] | None = None,
        progress: Callable[[int, int, str], None] | None = None,
    ) -> Verified:  # fmt: skip
        """Run the checks of unproven and stale features, or with ``all`` of every one, and record them."""
        from ..services.features.verify import verify

        return verify(self, ids, all=all, jobs=jobs, trust=trust, ask=ask, progress=progress)
