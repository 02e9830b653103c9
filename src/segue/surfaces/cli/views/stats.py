"""How well it does, as lines for people, and as a report of a month."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...render import NOTHING, Style, stats_words, table

if TYPE_CHECKING:
    from ....core.stats.report import StatsReport


def stats_lines(report: StatsReport, style: Style) -> list[str]:
    """The figures of a span, and month by month."""
    head = f"{report.since or 'the beginning'} to {report.until}"
    told = stats_words(report.total)
    lines = [style.paint(head, "bold"), *(f"  {name:<34}{value}" for name, value in told)]
    if not any(value != NOTHING for _, value in told):
        return [lines[0], "nothing to measure yet: figures appear once a run has continued another's work"]
    if len(report.months) > 1:
        rows = [[one.name, *(value for _, value in stats_words(one))] for one in report.months]
        wanted = (0, 1, 2, 3, 6, 9, 12)
        names = ["month", *(name for name, _ in told)]
        lines += [
            "",
            *table([names[at] for at in wanted], [[row[at] for at in wanted] for row in rows], style),
        ]
    return lines


def month_report(report: StatsReport) -> list[str]:
    """A report in Markdown."""
    lines = [f"# How well Segue worked, {report.since or 'from the beginning'} to {report.until}", ""]
    lines += ["| figure | value |", "|---|---|"]
    lines += [f"| {name} | {value} |" for name, value in stats_words(report.total)]
    if len(report.months) > 1:
        names = [name for name, _ in stats_words(report.total)]
        lines += ["", f"| month | {' | '.join(names)} |", "|---" * (len(names) + 1) + "|"]
        for one in report.months:
            lines.append(f"| {one.name} | {' | '.join(value for _, value in stats_words(one))} |")
    return [*lines, "", *MEANINGS]


MEANINGS = (
    "A restart is a run that was given a brief about another run's work and called at least one tool; it",
    "survived a crash if that run had crashed. Times and calls are medians, sizes and scores are means. A",
    "score of 100 means that everything in a brief was used and nothing had to be found again. By habit: how",
    "often the next command was among the first three guesses, compared with guesses from the run alone.",
)
