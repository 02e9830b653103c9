"""The page with figures: curves by day, and the same numbers in tables, for whoever sees no curves."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

from ....core.features.checks import PERSON
from ....core.usage.counted_responses import DAY_SECONDS
from ....core.usage.figures import Figure, FigureGroup, Figures, figures
from ....core.usage.report import UsageSum, day_name
from ....errors import UsageError
from ....services.overview.figures import days_of
from ....services.overview.now import agent_title
from ...render import NOTHING, count, models_words, stats_words
from .page import Fields, Page, number, one_of, page
from .render import clean, dollars, thousands
from .visitor import Visitor

WAYS = {"": "all together", "agent": "agent", "model": "model", "project": "project"}
SPAN_DEFAULT, SPAN_DAYS_MAX = 30, 36_500
ALL = "all"
SPANS = {"7": "7 days", "30": "30 days", "90": "90 days", "365": "a year", ALL: "all"}
REST = "others"
NAMELESS = {"": "all", "agent": "not known", "model": "not known", "project": "no project"}


@dataclass(frozen=True)
class Curve:
    """A curve with its table."""

    id: str
    title: str
    about: str
    shape: str
    """What the script draws: JSON with the unit, the days and the series."""
    columns: list[str]
    rows: list[tuple[str, list[str]]]
    """A day and its cells, the newest first, without days on which nothing happened."""


@page("/figures")
def show_figures(visitor: Visitor, fields: Fields) -> Page:
    """Figures over time."""
    by = one_of(fields, "by", filter(None, WAYS))
    span = _span(fields)
    observed = visitor.observed()
    spans = SPANS if span in SPANS else {**SPANS, span: f"{int(span):,} days"}
    context: dict[str, object] = {"by": by, "span": span, "spans": spans, "ways": WAYS, "figures": None}
    if observed is None:
        return Page("figures.html", "Figures", context)
    with visitor.segue() as segue:
        done = segue.stats(days=0 if span == ALL else int(span), everywhere=True, learns=False)
    context["stats"] = [(name, value) for name, value in stats_words(done.total) if value != NOTHING]
    found = figures(observed, by, days_of(observed, 0 if span == ALL else int(span)))  # type: ignore[arg-type]
    titles = group_titles(found)
    return Page("figures.html", "Figures", {
        **context, "figures": found, "titles": titles, "curves": _curves(found, titles),
        "today": found.whole.days[-1], "cost_words": cost_words, "percent": percent,
        "cost_note": cost_note(found), "unpriced": found.unpriced, "models_words": models_words,
    })  # fmt: skip


def _span(fields: Fields) -> str:
    """How many days are asked for, or all. Raises UsageError."""
    if fields.get("days", "") == ALL:
        return ALL
    days = number(fields, "days", SPAN_DEFAULT)
    if not 1 <= days <= SPAN_DAYS_MAX:
        raise UsageError(
            f"{days:,} is not between 1 and {SPAN_DAYS_MAX:,} days", hint=f"`days={ALL}` shows everything"
        )
    return str(days)


def group_titles(found: Figures) -> list[str]:
    """What to call each group."""
    short = [group.about for group in found.groups]
    return [_title(group, found.by, unique=short.count(group.about) == 1) for group in found.groups]


def _title(group: FigureGroup, by: str, *, unique: bool) -> str:
    if group.is_rest:
        return REST
    if by == "agent" and group.name:
        return "by hand" if group.name == PERSON else agent_title(group.name)
    return (group.about if unique else "") or group.name or NAMELESS[by]


def cost_words(used: UsageSum) -> str:
    """Dollars; with a word where some of it is not known."""
    if used.cost_known:
        return dollars(used.cost)
    return f"{dollars(used.cost)} and more" if used.cost else "not known"


def cost_note(found: Figures) -> str:
    """Where the cost comes from."""
    used = found.whole.total.used
    if not used.cost:
        return ""
    estimated = f"estimated from tokens at list prices as of {found.prices_as_of}; a subscription costs"
    if used.cost_said <= 0:
        return f"The cost is {estimated} something else."
    if used.cost_said >= used.cost - 1e-6:
        return "The cost is what the agents reported."
    said = dollars(used.cost_said)
    return f"Of the cost, {said} was reported by agents; the rest is {estimated} something else."


def percent(share: float) -> str:
    """How full a window was; nothing if that is not known."""
    return f"{share:.0%}".replace("%", " %") if share else ""


def _runs_words(figure: Figure) -> str:
    again = f", {count(figure.restarts, 'restart')}" if figure.restarts else ""
    return f"{figure.began:,}{again}" if figure.began else ""


def _checks_words(figure: Figure) -> str:
    parts = [
        f"{figure.passed:,} passed" if figure.passed else "",
        f"{figure.failed:,} failed" if figure.failed else "",
    ]
    return ", ".join(filter(None, parts))


def _curves(found: Figures, titles: list[str]) -> list[Curve]:
    """Every curve of which there is something to show."""
    groups = list(zip(titles, found.groups, strict=True))
    runs = _series(groups, lambda one: one.began)
    if not found.by:
        runs = [_line("first runs of a session", found.whole, lambda one: one.began - one.restarts),
                _line("restarts", found.whole, lambda one: one.restarts)]  # fmt: skip
    checks = [_line("passed", found.whole, lambda one: one.passed, "good"),
              _line("failed", found.whole, lambda one: one.failed, "bad")]  # fmt: skip
    made = [
        _curve(found, groups, "cost", "Cost", "In US dollars.", "dollars",
               _series(groups, lambda one: round(one.used.cost, 4)),
               lambda one: cost_words(one.used) if one.used.tokens else ""),
        _curve(found, groups, "tokens", "Tokens", "Sent, cached and received.", "tokens",
               _series(groups, lambda one: one.used.tokens),
               lambda one: thousands(one.used.tokens) if one.used.tokens else ""),
        _curve(found, groups, "windows", "How full windows were", "The fullest context window of each day.",
               "percent", _series(groups, lambda one: round(100 * one.used.fullness, 1) or None),
               lambda one: percent(one.used.fullness)),
        _curve(found, groups, "runs", "Runs and restarts", "Runs that started, without sub-agents. A restart "
               "continues a session that an earlier run worked on.", "count", runs, _runs_words),
        _curve(found, groups, "checks", "Checks", "Checks that passed and failed.", "count", checks,
               _checks_words),
    ]  # fmt: skip
    return [curve for curve in made if curve.rows]


Value = Callable[[Figure], float | int | None]


def _line(label: str, group: FigureGroup, value: Value, ink: str = "") -> dict[str, object]:
    return {"label": clean(label), "values": [value(day) for day in group.days], "ink": ink}


def _series(groups: list[tuple[str, FigureGroup]], value: Value) -> list[dict[str, object]]:
    """A line for each group of which there is something to show."""
    lines = [_line(title, group, value) for title, group in groups]
    return [line for line, (_, group) in zip(lines, groups, strict=True) if any(map(value, group.days))]


def _curve(
    found: Figures, groups: list[tuple[str, FigureGroup]], id: str, title: str, about: str, unit: str,
    series: list[dict[str, object]], words: Callable[[Figure], str],
) -> Curve:  # fmt: skip
    columns = [*groups, ("all", found.whole)] if len(groups) > 1 else groups
    rows = [
        (day_name(day), [words(group.days[at]) for _, group in columns])
        for at, day in enumerate(found.days)
        if words(found.whole.days[at])
    ]
    days = [day * DAY_SECONDS for day in found.days]
    shape = {"unit": unit, "days": days, "series": series, "stacked": unit != "percent"}
    names = [name for name, _ in columns] if len(groups) > 1 else [title]
    return Curve(id, title, about, json.dumps(shape), names, rows[::-1])
