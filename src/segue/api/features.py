"""Features as users hold them: what the service does, and verifying."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from ..core.features.checks import Check
from ..services.features.features import Features

if TYPE_CHECKING:
    from ..services.features.verify import Verified


class SessionFeatures(Features):
    """Criteria of success of a session: declare, verify, look."""

    def verify(
        self, ids: Iterable[str] = (), *, all: bool = False, jobs: int = 0, trust: bool = False,
        ask: Callable[[Sequence[Check]], bool] | None = None,
        progress: Callable[[int, int, str], None] | None = None,
    ) -> Verified:  # fmt: skip
        """Run the checks of what is unproven or stale (or of ``all``); what came of them is durable."""
        from ..services.features.verify import verify

        return verify(self, ids, all=all, jobs=jobs, trust=trust, ask=ask, progress=progress)
