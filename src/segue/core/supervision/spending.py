"""What supervised work has cost so far, beside what it may cost, in words; and when to say it again."""

from __future__ import annotations

from ..base.values import count
from .decide import Policy, Tally

_PARTS = 4
"""It is said at each quarter of a limit, and of the window."""


def spending(policy: Policy, tally: Tally, share: float) -> str:
    """What was spent, and how much of the window is used; what is 0 and has no limit is left out."""
    said = [f"window {100 * share:.0f} %"] if share else []
    if tally.runs:
        said.append(_of(count(tally.runs, "run"), policy.runs_max, str(policy.runs_max)))
    if tally.seconds or policy.seconds_max:
        said.append(_of(span(tally.seconds), policy.seconds_max, span(policy.seconds_max)))
    if tally.tokens or policy.tokens_max:
        said.append(_of(f"{_short(tally.tokens)} tokens", policy.tokens_max, _short(policy.tokens_max)))
    if tally.cost or policy.cost_max:
        said.append(_of(f"${tally.cost:.2f}", policy.cost_max, f"${policy.cost_max:g}"))
    return ", ".join(said)


def milestones(policy: Policy, tally: Tally, share: float) -> tuple[int, ...]:
    """How many quarters of the window and of each limit are used, and where cost has no limit, how many
    dollars: when one of these grows, it is time to say what was spent."""
    ratios = (
        share,
        tally.seconds / policy.seconds_max if policy.seconds_max else 0.0,
        tally.tokens / policy.tokens_max if policy.tokens_max else 0.0,
        tally.cost / policy.cost_max if policy.cost_max else tally.cost / _PARTS,
    )
    return tuple(int(_PARTS * ratio) for ratio in ratios)


def span(seconds: float) -> str:
    """A time in seconds, minutes or hours, whichever fits."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5_400 else f"{seconds / 3600:.1f} h"


def _of(used: str, most: float, limit: str) -> str:
    return f"{used} of {limit}" if most else used


def _short(tokens: int) -> str:
    return f"{tokens / 1000:.0f}k" if tokens >= 10_000 else f"{tokens:,}"
