"""`/v1/stats`: how well recovery does in the project, as clients measured it."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from ....core.stats.report import StatsReport, StatsRow
from ...render import plain
from ..server.route import Caller, route

Month = Annotated[str, Meta(max_length=7, description="A month (UTC), as in 2026-11.")]
Days = Annotated[int, Meta(ge=0, le=36_500, description="The last N days; 0: all.")]
_ROW = StatsRow(
    "2026-11", 12, 5, 41.5, 6.0, 71.2, 1_804.0, 0.21, 2_011.0, 4, 0.62, 7, 0.31, 9_120.0, 3, 68.0, 14, 9, 4,
    0.75, 2, 1, 61, 0.74, 0.59,
)  # fmt: skip
_REPORT = StatsReport("2026-11-01", "2026-12-01", _ROW, [_ROW])


@route("GET", "/v1/stats", role="reader", response=plain(_REPORT))
def get_stats(caller: Caller, month: Month = "", days: Days = 90) -> StatsReport:
    """Restarts that were survived, how soon the next run worked, and how useful briefs, handovers, memories
    and habits were: in all, and month by month."""
    return caller.segue.stats(month=month, days=days, learns=False)
