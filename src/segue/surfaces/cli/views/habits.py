"""Habits as lines for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...render import Style, count, cut, one_line

if TYPE_CHECKING:
    from ....services.habits.report import Habit, HabitsReport

TITLES = {
    "order": "between an edit and a commit",
    "command": "commands",
    "together": "files that change together",
    "rule": "what users said again and again",
}
LISTED_MAX = 12


def habit_lines(report: HabitsReport, style: Style) -> list[str]:
    """The habits of a project, by kind, with their counts."""
    learnt = f"learnt from {count(report.runs, 'run')} and {count(report.commits, 'commit')}"
    lines = [learnt if report.on else f"{learnt}; switched off: briefs do not mention them"]
    if not report.habits:
        return [*lines, "no habits yet: one is shown once it was seen three times"]
    if report.checks:
        lines.append(f"the usual way: {' → '.join(map(one_line, report.checks))}")
    likely = [*(f"`{one_line(form)}`" for form in report.next_commands), *map(one_line, report.next_files)]
    if likely:
        lines.append(f"after the newest run, likely next: {', '.join(likely)}")
    for kind, title in TITLES.items():
        lines += _of_kind(title, [habit for habit in report.habits if habit.kind == kind], style)
    offered = next((one.id for one in report.habits if one.state == "offered"), "")
    if offered:
        lines.append(f"to make an offered rule a standing one: segue habits --accept {offered}")
    return lines


def _of_kind(title: str, habits: Sequence[Habit], style: Style) -> list[str]:
    if not habits:
        return []
    lines = [style.paint(f"{title}:", "bold")]
    for one in habits[:LISTED_MAX]:
        text = f"  {one.id}  {one_line(one.text)}  {_counts(one)}"
        lines.append(cut(text, style.width, style) if style.width else text)
    more = len(habits) - LISTED_MAX
    return [*lines, f"  … and {more} more"] if more > 0 else lines


def _counts(habit: Habit) -> str:
    """What a habit rests on."""
    of = {"command": "runs", "order": "commits", "together": habit.source, "rule": "runs"}[habit.kind]
    told = [f"{habit.held} of {habit.of} {of}"] if habit.of else []
    if habit.seconds:
        told.append(
            f"takes {_seconds(habit.seconds)}, at most {_seconds(habit.seconds_most)} in 9 of 10 cases"
        )
    if habit.failed:
        told.append(f"failed {habit.failed} of {habit.count} times")
    if habit.flaky:
        told.append(f"flaky: passed again {count(habit.flaky, 'time')} with nothing changed")
    if habit.state != "on":
        told.append(habit.state)
    return f"({'; '.join(told)})"


def _seconds(seconds: float) -> str:
    return f"{seconds:g} s" if seconds < 90 else f"{seconds / 60:.0f} min"
