"""`/v1/usage`: what the runs that were sent to the project of the key used."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta
from msgspec.structs import replace

from ....core.usage.report import By, UsageReport, UsageSum
from ....services.usage.report import SINCE_DEFAULT
from ...render import plain
from ..server.parameters import Name
from ..server.route import Caller, route

Day = Annotated[str, Meta(max_length=64, description="A day (UTC), as in 2026-11-01 or 7d; or all.")]
_USED = UsageSum(
    "2026-11-15", input=2_100, cache_read=410_000, cache_write=18_000, output=6_400, tokens=436_500,
    cost=0.37, responses=31, runs=2, fullness=0.42,
)  # fmt: skip
_REPORT = UsageReport(
    "day", "2026-10-17", "", [_USED], replace(_USED, name="total"), _USED, replace(_USED, name="week"), [],
    "2026-08-08",
)  # fmt: skip


@route("GET", "/v1/usage", role="reader", response=plain(_REPORT))
def usage(
    caller: Caller, by: By = "day", since: Day = SINCE_DEFAULT, until: Day = "", agent: Name = ""
) -> UsageReport:
    """Tokens, cost and how full windows were, by day, run, model, project, agent or session. A response that
    several runs have counts once."""
    return caller.segue.usage(by=by, since=since, until=until, agent=agent)
