"""What agents used, as text: sums, and a table with small bars."""

from __future__ import annotations

from collections.abc import Mapping

from ....core.usage.report import UsageReport, UsageSum
from ...render import Style, count, models_words, one_line, table
from .runs import short_ids

BAR_CELLS = 10
ROWS_SHOWN = 40
PEAK = "window at most"
"""Runs are listed with how full their windows were at last."""
_EIGHTHS = " ▏▎▍▌▋▊▉"
_NAMELESS = {"day": "(before)", "session": "(no session)", "project": "(no project)"}


def usage_lines(found: UsageReport, style: Style, *, everywhere: bool) -> list[str]:
    """Today and this week in a line, the table, and what the figures leave out."""
    if not found.total.responses and not found.week.responses:
        return [_nothing(found, everywhere), *_notes(found, style)]
    recent = [_recent("today", found.today), _recent("7 days", found.week)]
    lines = [style.paint("   ".join(recent), "bold"), ""]
    ids = short_ids([row.name for row in found.rows[:ROWS_SHOWN]]) if found.by == "run" else {}
    rows = [_cells(row, found, style, ids) for row in found.rows[:ROWS_SHOWN]]
    rows.append(_total(found))
    head = [found.by, "cost", "", "tokens", "input", "cached", "written", "output"]
    head += ["responses", PEAK, "prompt"] if found.by == "run" else ["runs", "responses", PEAK]
    lines += table(head, rows, style, stretch=-1 if found.by == "run" else 0)
    if len(found.rows) > ROWS_SHOWN:
        left = count(len(found.rows) - ROWS_SHOWN, "more row")
        lines.append(style.paint(f"{left}: `--since` narrows them, `--json` has all", "dim"))
    return [*lines, "", *_notes(found, style)]


def _nothing(found: UsageReport, everywhere: bool) -> str:
    """That nothing was used, and where something was."""
    since = f" since {found.since}" if found.since else ""
    until = f" until {found.until}" if found.until else ""
    before = f"; the last were on {found.last}: `--since all` counts them" if found.last else ""
    if found.last and found.until and found.last > found.until:
        before = f"; the last were on {found.last}"
    where = "" if everywhere else "; `segue usage --all` counts all projects"
    return f"no tokens were counted{since}{until}{before}{where}"


def _recent(name: str, used: UsageSum) -> str:
    full = f", window up to {used.fullness:.0%} full" if used.fullness else ""
    return f"{name}: {cost_words(used)}, {tokens_words(used.tokens)} tokens{full}"


def _cells(row: UsageSum, found: UsageReport, style: Style, ids: Mapping[str, str]) -> tuple[str, ...]:
    priced = found.total.cost > 0
    most = max((one.cost if priced else one.tokens for one in found.rows), default=0)
    share = (row.cost if priced else row.tokens) / most if most else 0.0
    name = one_line(row.name) or _NAMELESS.get(found.by, "(unknown)")
    if found.by == "run":
        name = f"{one_line(ids[row.name]) or name} {one_line(row.agent)}"
    same = [one for one in found.rows if one.about == row.about]
    if found.by == "project" and row.about and len(same) == 1:
        name = one_line(row.about)
    return _row(name, small_bar(share, style), row, found.by, one_line(row.about))


def _total(found: UsageReport) -> tuple[str, ...]:
    return _row("total", "", found.total, found.by, "")


def _row(name: str, bar: str, row: UsageSum, by: str, about: str) -> tuple[str, ...]:
    full = f"{row.fullness:.0%}" if row.fullness else ""
    parts = (row.tokens, row.input, row.cache_read, row.cache_write, row.output)
    cells = [name, cost_words(row), bar, *map(tokens_words, parts), f"{row.responses:,}", full]
    if by == "run":
        return (*cells, about)
    return (*cells[:8], f"{row.runs:,}", *cells[8:])


def _notes(found: UsageReport, style: Style) -> list[str]:
    """What one must know of the figures."""
    notes = []
    if found.total.cost > found.total.cost_said:
        notes.append(f"cost: list prices as of {found.prices_as_of}, not what a subscription costs")
    if found.unpriced:
        them = "it" if len(found.unpriced) == 1 else "them"
        notes.append(f"?: no price is known for {models_words(found.unpriced)}; the cost leaves {them} out")
    if found.not_read:
        notes.append(f"{count(found.not_read, 'run')} could not be read and are not counted")
    return [style.paint(note, "dim") for note in notes]


def cost_words(used: UsageSum) -> str:
    """Dollars and cents; with a question mark if some of it is not known."""
    if used.cost_known:
        return f"${used.cost:,.2f}"
    return f"${used.cost:,.2f} + ?" if used.cost else "?"


def tokens_words(tokens: int) -> str:
    """A number of tokens, as in 850, 12.3k or 4.5M."""
    for size, unit in ((1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k")):
        if tokens >= size:
            amount = tokens / size
            return f"{amount:.0f}{unit}" if amount >= 100 else f"{amount:.1f}{unit}"
    return f"{tokens}"


def small_bar(share: float, style: Style) -> str:
    """A bar whose full length stands for 1, in eighths of a column where the stream can show them."""
    share = min(1.0, max(0.0, share))
    if not style.unicode:
        return "#" * max(round(share * BAR_CELLS), share > 0)
    eighths = max(round(share * BAR_CELLS * 8), share > 0)
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()
