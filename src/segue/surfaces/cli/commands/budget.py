"""`segue budget`: what a session has spent, and its limits."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ....services.resume.interruptions import Interruption
from ..command import argument, command, flag
from ..context import CommandContext


@command(
    "budget",
    argument("--limit", "USD", "how much it may cost; 0: no limit", type=float),
    argument("--limit-tokens", "N", "how many tokens it may use; 0: no limit", type=int),
    argument("--spent", "USD", "record that this much was spent", type=float),
    argument("--tokens", "N", "record that this many tokens were used", type=int),
    flag("--go-on", "continue sparingly although a limit has been reached"),
    session="id",
    json="current_spend, limit, tokens_used, tokens_limit, options and so on; an Interruption at a limit",
    shape={"": "BudgetStanding", "--spent": "BudgetStanding | Interruption"},
    examples=("segue budget", "segue budget --limit 5", "segue budget --spent 0.12 --tokens 18000"),
)  # fmt: skip
def budget(context: CommandContext) -> int:
    """What was spent, of what; exit 1 if a limit paused the session just now."""
    args, session = context.args, context.session()
    limited = True if args.go_on else None
    if args.limit is not None or args.limit_tokens is not None or limited:
        found = session.budget(cost=args.limit, tokens=args.limit_tokens, limited=limited)
    else:
        found = session.budget()
    if args.spent or args.tokens:
        done = session.spend(args.spent or 0.0, args.tokens or 0)
        if isinstance(done, Interruption):
            word = "paused" if done.status != "emergency" else "pending in an emergency file: paused"
            head = f"{word}: {session.id}: {done.reason}"
            return context.report(done, head, "to continue:", *_options(done.options), code=1)
        found = done
    fields = {name: getattr(found, name) for name in found.__struct_fields__}
    cost = f" of {found.limit:g}" if found.limit else ""
    tokens = f" of {found.tokens_limit:,}" if found.tokens_limit else ""
    lines = [f"spent: {found.current_spend:g}{cost} USD, {found.tokens_used:,}{tokens} tokens"]
    if found.exceeded and found.limited:
        lines.append("a limit has been reached; the session continues sparingly")
    elif found.exceeded:
        lines += ["a limit has been reached; to continue:", *_options(found.options)]
    return context.report({**fields, "session": session.id, "share": round(found.share, 4)}, *lines)


def _options(options: Iterable[Any]) -> list[str]:
    return [f"  {one.name:<17} {one.about}: `{one.command}`" for one in options]
