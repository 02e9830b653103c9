"""`/v1/search`: what was said, done or decided in the project of the key.

It covers sessions, memories that the caller may read, and the digests of runs that were sent. Transcripts
stay on their machines: `segue search` there looks into them.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from ....core.search.kinds import GROUPS
from ....errors import NotInstalled, UsageError
from ....services.search.search import LIMIT_MAX, SearchResult
from ..server.parameters import Name
from ..server.route import Caller, route

Question = Annotated[str, Meta(min_length=1, max_length=1_000, description="Words, names or a question.")]
Group = Literal[("", *GROUPS)]  # type: ignore[valid-type]
Most = Annotated[int, Meta(ge=1, le=LIMIT_MAX, description="The most hits to return.")]
Since = Annotated[str, Meta(max_length=64, description="Only since this time, as in 2026-11-01 or 7d.")]
HIT = {
    "handle": "2026-11-15-coding-shop-001", "kind": "decision", "agent": "", "run": "",
    "session": "2026-11-15-coding-shop-001", "project": "github.com/ana/shop", "project_name": "shop",
    "at": "2026-11-15T10:00:00.000000Z", "failed": False, "text": "HS256: one issuer", "marks": [[0, 5]],
    "score": 9.1, "step": 12, "more": 0, "key": "",
}  # fmt: skip


@route("GET", "/v1/search", role="reader", response={"hits": [HIT], "not_indexed": 0})
def search(
    caller: Caller, q: Question, agent: Name = "", since: Since = "", within: Group = "",
    failed: bool = False, semantic: bool = False, limit: Most = 10,
) -> SearchResult:  # fmt: skip
    """What answers a question, the best first: words, "a phrase", -without, begin*."""
    try:
        return caller.segue.search(
            q, agent=agent, since=since, within=[within] if within else [], failed=failed,
            by_meaning=semantic, limit=limit,
        )  # fmt: skip
    except NotInstalled as fault:
        raise UsageError(
            "this server searches by words, not by their meaning", hint="leave out `semantic`"
        ) from fault
