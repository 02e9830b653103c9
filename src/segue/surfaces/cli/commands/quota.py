"""`segue quota`: how much projects on a server may hold: on its own machine, or over HTTP with an admin's
key."""

from __future__ import annotations

from ....core.server.quota import KINDS, REQUESTS
from ....errors import UsageError
from ..command import argument, command, optional
from ..context import CommandContext


@command(
    "quota",
    optional("project", "PROJECT", "the project; by default all that have a quota"),
    argument("--sessions", "N", "how many sessions it may hold; 0: no limit", type=int),
    argument("--events", "N", "how many events its sessions may hold; 0: no limit", type=int),
    argument("--memories", "N", "how many memories it may hold; 0: no limit", type=int),
    argument(
        "--bytes", "N", "bytes of events, agents' states, shared transcripts and memories; 0: no limit",
        type=int,
    ),
    argument("--requests", "N", "requests a minute with all of its keys; 0: no limit", type=int),
    json="a list of `{project, kind, limit, used}`",
    shape="list[QuotaUse]",
    examples=(
        "segue quota", "segue quota web --events 1000000 --bytes 5000000000",
        "segue quota web --requests 600", "segue quota web --events 0",
    ),
)  # fmt: skip
def quota(context: CommandContext) -> int:
    """Show quotas and what is used of them, or set some."""
    from ....services.server.startup import managing_quotas

    args = context.args
    named = {kind: getattr(args, kind) for kind in (*KINDS, REQUESTS)}
    limits = {kind: limit for kind, limit in named.items() if limit is not None}
    if limits and not args.project:
        raise UsageError("which project is it for?", hint="for example: segue quota web --events 1000000")
    if limits:
        context.check_paused()
    with managing_quotas(context.environment) as quotas:
        if limits:
            quotas.set(args.project, limits)
        found = quotas.use(args.project or "")
    lines = [
        f"{one.project}  {one.used:,} of {one.limit:,} {one.kind}{' a minute' * (one.kind == REQUESTS)}"
        f" ({_percent(one.used, one.limit)})"
        for one in found
    ]
    return context.report(found, *(lines or ["no quota is set: projects may hold what the disk holds"]))


def _percent(used: int, limit: int) -> str:
    return f"{100 * used // limit} %"
