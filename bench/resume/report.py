"""The figures of a run as tables, with intervals that come from drawing transcripts anew."""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable, Sequence

from bench.common import table
from bench.resume.run import Outcome, Plan, Seen
from bench.resume.scoring import WEIGHTS

SEED, DRAWS = 20_261_115, 1_000
COLUMNS = ("score", "future", *WEIGHTS)

Figure = Callable[[Seen], float | None]


def figure(column: str) -> Figure:
    """A column's figure at a cut; None where the cut does not have it."""
    if column == "score":
        return lambda one: one.score.total
    return lambda one: one.score.parts.get(column)


def mean(groups: Sequence[Sequence[Seen]], of: Figure) -> float:
    """The mean over all cuts, in percent."""
    found = [value for group in groups for one in group if (value := of(one)) is not None]
    return 100 * sum(found) / len(found) if found else float("nan")


def interval(groups: Sequence[Sequence[Seen]], of: Figure) -> tuple[float, float]:
    """Where 95 % of the means fall when the transcripts are drawn anew: cuts of one are not independent."""
    if len(groups) < 2:
        return float("nan"), float("nan")
    chance = random.Random(SEED)
    sums = []
    for group in groups:
        found = [value for one in group if (value := of(one)) is not None]
        sums.append((sum(found), len(found)))
    means = []
    for _ in range(DRAWS):
        drawn = chance.choices(sums, k=len(sums))
        count = sum(n for _, n in drawn)
        if count:
            means.append(100 * sum(total for total, _ in drawn) / count)
    means.sort()
    return (
        (means[int(0.025 * len(means))], means[int(0.975 * len(means)) - 1]) if means else (float("nan"),) * 2
    )


def rows(outcome: Outcome) -> dict[str, dict[str, float]]:
    """Every contender's means."""
    return {
        name: {column: mean(outcome.of(name), figure(column)) for column in COLUMNS}
        for name in outcome.contenders
    }


def show(outcome: Outcome, plan: Plan) -> None:
    """Print the tables."""
    where = "at compactions" if plan.compaction else f"{plan.cuts} cuts a transcript"
    about = f"{outcome.transcripts} transcripts, {outcome.cuts} cuts ({where}), {plan.budget} bytes"
    if not outcome.cuts:
        print(f"{about}: nothing to score")
        return
    _recall(outcome, about)
    _faults(outcome)
    print(f"\nfailures: {len(outcome.failures)}")
    for line in outcome.failures[:10]:
        print(f"  {line}")


def _recall(outcome: Outcome, about: str) -> None:
    means = rows(outcome)
    cells = []
    for name, columns in means.items():
        groups = outcome.of(name)
        within = [_range(*interval(groups, figure(column))) for column in ("score", "future")]
        parts = [_percent(columns[column]) for column in WEIGHTS]
        cells.append(
            (name, _percent(columns["score"]), within[0], _percent(columns["future"]), within[1], *parts)
        )
    table(f"Recall in percent: {about}", ("contender", "score", "95 %", "future", "95 %", *WEIGHTS), cells)


def _faults(outcome: Outcome) -> None:
    cells = []
    for name in outcome.contenders:
        every = [one for group in outcome.of(name) for one in group]
        times = [one.seconds for one in every if one.seconds is not None]
        cells.append(
            (
                name,
                f"{statistics.mean(one.score.size for one in every):.0f}",
                _percent(mean(outcome.of(name), lambda one: one.score.precision)),
                *(sum(one.score.violations[kind] for one in every) for kind in every[0].score.violations),
                sum(one.score.long_lists for one in every),
                _percent(100 * statistics.mean(one.score.function_share for one in every)),
                _percent(100 * min(one.score.function_share for one in every)),
                f"{1000 * statistics.median(times):.0f}" if times else "",
            )
        )
    head = (
        "contender", "bytes", "precision of files", "finished shown as open", "solved shown as broken",
        "over budget", "lists over 10", "function words, mean", "least", "ms, median",
    )  # fmt: skip
    table("What else they are like, and what is wrong with them", head, cells)


def _percent(value: float) -> str:
    return f"{value:.1f}" if value == value else ""


def _range(low: float, high: float) -> str:
    return f"{low:.1f} to {high:.1f}" if low == low else ""
