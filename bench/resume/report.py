"""The figures of a run as tables, with intervals that come from drawing transcripts anew."""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable, Sequence

from bench.common import table
from bench.resume.run import ContenderScore, Outcome, Plan
from bench.resume.scoring import WEIGHTS

SEED, DRAWS = 20_261_115, 1_000
COLUMNS = ("score", "future", *WEIGHTS)

Figure = Callable[[ContenderScore], float | None]


def figure(column: str) -> Figure:
    """A column's figure at a cut; None where the cut does not have it."""
    if column == "score":
        return lambda entry: entry.score.total
    return lambda entry: entry.score.parts.get(column)


def mean(groups: Sequence[Sequence[ContenderScore]], of: Figure) -> float:
    """The mean over all cuts, in percent."""
    figures = [value for group in groups for entry in group if (value := of(entry)) is not None]
    return 100 * sum(figures) / len(figures) if figures else float("nan")


def interval(groups: Sequence[Sequence[ContenderScore]], of: Figure) -> tuple[float, float]:
    """Where 95 % of the means fall when the transcripts are drawn anew: cuts of one are not independent."""
    if len(groups) < 2:
        return float("nan"), float("nan")
    chance = random.Random(SEED)
    sums = []
    for group in groups:
        figures = [value for entry in group if (value := of(entry)) is not None]
        sums.append((sum(figures), len(figures)))
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
        entries = [entry for group in outcome.of(name) for entry in group]
        times = [entry.seconds for entry in entries if entry.seconds is not None]
        cells.append(
            (
                name,
                f"{statistics.mean(entry.score.size for entry in entries):.0f}",
                _percent(mean(outcome.of(name), lambda entry: entry.score.precision)),
                *(
                    sum(entry.score.violations[kind] for entry in entries)
                    for kind in entries[0].score.violations
                ),
                sum(entry.score.long_lists for entry in entries),
                _percent(100 * statistics.mean(entry.score.function_share for entry in entries)),
                _percent(100 * min(entry.score.function_share for entry in entries)),
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
