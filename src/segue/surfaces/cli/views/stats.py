"""How well it does, as lines for people, and as a report of a month."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...render import NOTHING, Style, stats_words, table, wrap

if TYPE_CHECKING:
    from ....core.stats.report import StatsReport


_BY_MONTH = {
    0: "taken up again", 1: "after a crash", 2: "to the first edit", 5: "usefulness of a brief",
    8: "to check a start", 11: "usefulness of a handover",
}  # fmt: skip
"""The figures that are shown month by month, by their place, with shorter names."""


def stats_lines(report: StatsReport, style: Style) -> list[str]:
    """The figures of a span, and month by month."""
    lines = [style.paint(f"{report.since or 'the beginning'} to {report.until}", "bold")]
    known, unknown = _told(report)
    if not known:
        return [*lines, "nothing to measure yet: figures appear once a run has continued another's work"]
    lines += [f"  {name:<30}{value}" for name, value in known]
    if unknown:
        lines += ["", *wrap(f"nothing yet: {', '.join(unknown)}", style.width, style)]
    if len(report.months) > 1:
        months = [stats_words(one) for one in report.months]
        places = [at for at in _BY_MONTH if any(month[at][1] != NOTHING for month in months)]
        rows = [
            [one.name, *(month[at][1] for at in places)]
            for one, month in zip(report.months, months, strict=True)
        ]
        lines += ["", *table(["month", *(_BY_MONTH[at] for at in places)], rows, style)]
    return lines


def _told(report: StatsReport) -> tuple[list[tuple[str, str]], list[str]]:
    """The figures that are known, and the names of the others."""
    told = stats_words(report.total)
    known = [(name, value) for name, value in told if value != NOTHING]
    return known, [name for name, value in told if value == NOTHING]


def month_report(report: StatsReport) -> list[str]:
    """A report in Markdown."""
    lines = [f"# How well Segue worked, {report.since or 'from the beginning'} to {report.until}", ""]
    known, unknown = _told(report)
    if known:
        lines += ["| figure | value |", "|---|---|", *(f"| {name} | {value} |" for name, value in known)]
    if known and len(report.months) > 1:
        names = [name for name, _ in known]
        lines += ["", f"| month | {' | '.join(names)} |", "|---" * (len(names) + 1) + "|"]
        for one in report.months:
            of_month = dict(stats_words(one))
            lines.append(f"| {one.name} | {' | '.join(of_month[name] for name in names)} |")
    lines += [*([""] if known else []), *([f"Nothing yet: {', '.join(unknown)}."] if unknown else [])]
    return [*lines, *([""] if unknown else []), *MEANINGS]


MEANINGS = (
    "Work was taken up again when a run was given a brief about another run's work and called at least one",
    "tool. Times and calls are medians, sizes and points are means. 100 points: everything in a brief was",
    "used, and nothing had to be found again. Next command guessed right: how often it was among the first",
    "three guesses, with the habits of this project, and without them, from the run alone.",
)
