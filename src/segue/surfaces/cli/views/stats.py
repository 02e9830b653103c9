"""How well it does, as lines for people, and as a report of a month."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...render import Style, count, table

if TYPE_CHECKING:
    from ....core.stats.report import StatsReport, StatsRow

NONE = "–"


def stats_lines(report: StatsReport, style: Style) -> list[str]:
    """The figures of a span, and month by month."""
    head = f"{report.since or 'the beginning'} to {report.until}"
    told = figures(report.total)
    lines = [style.paint(head, "bold"), *(f"  {name:<34}{value}" for name, value in told)]
    if not any(value != NONE for _, value in told):
        return [lines[0], "nothing was measured yet: figures come with runs that took up others' work"]
    if len(report.months) > 1:
        rows = [[one.name, *(value for _, value in figures(one))] for one in report.months]
        wanted = (0, 1, 2, 3, 6, 9, 13)
        names = ["month", *(name for name, _ in told)]
        lines += [
            "",
            *table([names[at] for at in wanted], [[row[at] for at in wanted] for row in rows], style),
        ]
    return lines


def figures(row: StatsRow) -> list[tuple[str, str]]:
    """Every figure with its name, in words."""
    return [
        ("restarts", _number(row.restarts)),
        ("survived a crash", _number(row.survived)),
        ("seconds to the first edit", _seconds(row.seconds_to_edit)),
        ("calls to the first edit", _plain(row.calls_to_edit)),
        ("size of a brief", _bytes(row.brief_bytes)),
        ("score of a brief", _plain(row.brief_score, " of 100")),
        ("preparing", _seconds(row.prepare_seconds)),
        ("size of a manifest", _bytes(row.manifest_bytes)),
        ("score of a handover", _plain(row.handover_score, f" of 100 ({row.handovers})")),
        ("starting from a manifest", _seconds(row.bootstrap_seconds)),
        ("memories", _memories(row)),
        ("pitfalls", f"{row.pitfalls} told, {row.pitfalls_mended} mended" if row.pitfalls else NONE),
        ("next command by habit", _habits(row)),
    ]


def month_report(report: StatsReport) -> list[str]:
    """A report in Markdown."""
    lines = [f"# How well it did, {report.since or 'from the beginning'} to {report.until}", ""]
    lines += ["| figure | value |", "|---|---|"]
    lines += [f"| {name} | {value} |" for name, value in figures(report.total)]
    if len(report.months) > 1:
        names = [name for name, _ in figures(report.total)]
        lines += ["", f"| month | {' | '.join(names)} |", "|---" * (len(names) + 1) + "|"]
        for one in report.months:
            lines.append(f"| {one.name} | {' | '.join(value for _, value in figures(one))} |")
    return [*lines, "", *MEANINGS]


MEANINGS = (
    "A restart is a run that was given a brief about another run's work; it survived a crash if that run had",
    "crashed. Times and calls are medians, sizes and scores are means. A score of 100 means that everything",
    "in a brief was used and nothing had to be found again. By habit: how often the next command was among",
    "the first three guesses, beside what the run alone tells.",
)


def _number(value: int) -> str:
    return f"{value:,}" if value else NONE


def _plain(value: float | None, unit: str = "") -> str:
    return NONE if value is None else f"{value:g}{unit}"


def _seconds(value: float | None) -> str:
    if value is None:
        return NONE
    return f"{value / 60:.1f} min" if value >= 120 else f"{value:.2f} s" if value < 10 else f"{value:.0f} s"


def _bytes(value: float | None) -> str:
    return NONE if value is None else f"{value:,.0f} bytes"


def _memories(row: StatsRow) -> str:
    if not row.memories:
        return NONE
    helpful = (
        ""
        if row.memory_hit_rate is None
        else f", {row.memory_hit_rate:.0%} of {row.memory_votes} votes helpful"
    )
    return f"{count(row.memories, 'made', 'made')}, {row.memories_recalled} recalled{helpful}".replace(
        "%", " %"
    )


def _habits(row: StatsRow) -> str:
    if row.habit_hit_rate is None or row.habit_hit_rate_alone is None:
        return NONE
    alone = f"{row.habit_hit_rate_alone:.0%} by the run alone"
    return f"{row.habit_hit_rate:.0%} of {row.habit_guesses}, {alone}".replace("%", " %")
