"""The judge's table: its points by contender with their intervals, and case by case against another."""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from bench.blind.round import VERDICT, Key
from bench.common import table

POINTS = ("goal", "next1", "any")
RESAMPLES = 4_000
_ROW = re.compile(r"^\|?\s*(?:case\s+)?(\d+)\s*\|\s*\**([A-Z])\**\s*\|(.*)$", re.IGNORECASE)


class VerdictIncomplete(Exception):
    """The judge's table lacks a row, or has one that cannot be read."""


@dataclass(slots=True, frozen=True)
class Judged:
    """The points of one text of one case; 0 to 2, misled 0 or 1."""

    round: str
    case: str
    agent: str
    kind: str
    contender: str
    goal: int
    next1: int
    any: int
    misled: int
    size: int

    @property
    def place(self) -> tuple[str, str]:
        return self.round, self.case


def judged(out: Path) -> list[Judged]:
    """What the judge says of a round; raises VerdictIncomplete."""
    key = Key.read(out)
    path = out / "judge" / VERDICT
    rows = _rows(path)
    found = []
    for one in key.cases:
        for letter, contender in one.letters.items():
            points = rows.pop((one.case, letter), None)
            if points is None:
                raise VerdictIncomplete(f"{path} has no row for case {one.case}, text {letter}")
            size = (out / "texts" / contender / f"{one.case}.txt").stat().st_size
            alike = [name for name, other in one.same.items() if other == contender]
            found += [
                Judged(str(out), one.case, one.agent, one.kind, name, *points, size)
                for name in (contender, *alike)
            ]
    if rows:
        raise VerdictIncomplete(f"{path} has rows of no text: {sorted(rows)}")
    return found


def _rows(path: Path) -> dict[tuple[str, str], tuple[int, int, int, int]]:
    rows = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        match = _ROW.match(line.strip())
        if not match:
            continue
        cells = [cell.strip(" *") for cell in match[3].split("|")][:4]
        limits = (2, 2, 2, 1)
        if len(cells) < 4 or any(
            not cell.isdigit() or int(cell) > most for cell, most in zip(cells, limits, strict=True)
        ):
            raise VerdictIncomplete(f"{path}:{number}: points are missing or out of range: {line.strip()}")
        goal, next1, best, misled = map(int, cells)
        rows[f"{int(match[1]):02}", match[2].upper()] = (goal, next1, best, misled)
    return rows


def interval(values: Sequence[float], *, seed: int = 1) -> tuple[float, float]:
    """Where the mean lies with 95 %: the middle of what other draws of as many cases would have given."""
    if not values:
        return math.nan, math.nan
    random = Random(seed)
    means = sorted(statistics.fmean(random.choices(values, k=len(values))) for _ in range(RESAMPLES))
    return means[int(RESAMPLES * 0.025)], means[int(RESAMPLES * 0.975)]


def share_interval(count: int, total: int) -> tuple[float, float]:
    """Where a share lies with 95 %, after Wilson, which holds for few cases and for none of them."""
    if not total:
        return math.nan, math.nan
    z = 1.96
    share = count / total
    middle = (share + z * z / (2 * total)) / (1 + z * z / total)
    half = z * math.sqrt(share * (1 - share) / total + z * z / (4 * total * total)) / (1 + z * z / total)
    return max(0.0, middle - half), min(1.0, middle + half)


def show(rows: Sequence[Judged], *, against: str) -> None:
    """Print the means by contender, by format and by kind of cut, and the comparison case by case."""
    _contenders("All cases; means of 2 as shares, with 95 % intervals", rows)
    for field, title in (("agent", "By format"), ("kind", "By kind of cut")):
        _groups(title, rows, field)
    for contender in _names(rows):
        if contender != against:
            _compared(rows, contender, against)


def _names(rows: Iterable[Judged]) -> list[str]:
    return sorted({row.contender for row in rows})


def _contenders(title: str, rows: Sequence[Judged]) -> None:
    lines = []
    for name in _names(rows):
        own = [row for row in rows if row.contender == name]
        misled = sum(row.misled for row in own)
        low, high = share_interval(misled, len(own))
        size = statistics.median(row.size for row in own)
        points = [_with_interval([getattr(row, point) / 2 for row in own]) for point in POINTS]
        lines.append(
            (name, len(own), *points, f"{misled} of {len(own)} ({low:.2f} to {high:.2f})", f"{size:.0f}")
        )
    table(title, ("contender", "cases", "GOAL", "NEXT1", "NEXT-ANY", "misled", "median bytes"), lines)


def _groups(title: str, rows: Sequence[Judged], field: str) -> None:
    of: Callable[[Judged], str] = lambda row: str(getattr(row, field))  # noqa: E731
    lines = []
    for group in sorted({of(row) for row in rows}):
        for name in _names(rows):
            own = [row for row in rows if row.contender == name and of(row) == group]
            if own:
                means = [
                    f"{statistics.fmean(getattr(row, point) / 2 for row in own):.2f}" for point in POINTS
                ]
                lines.append((group, name, len(own), *means, sum(row.misled for row in own)))
    table(title, (field, "contender", "cases", "GOAL", "NEXT1", "NEXT-ANY", "misled"), lines)


def _compared(rows: Sequence[Judged], contender: str, against: str) -> None:
    own = {row.place: row for row in rows if row.contender == contender}
    other = {row.place: row for row in rows if row.contender == against}
    pairs = [(own[place], other[place]) for place in sorted(own) if place in other]
    if not pairs:
        return
    lines = []
    for point in (*POINTS, "misled"):
        whole = 1 if point == "misled" else 2
        differences = [(getattr(mine, point) - getattr(theirs, point)) / whole for mine, theirs in pairs]
        more = sum(difference > 0 for difference in differences)
        less = sum(difference < 0 for difference in differences)
        lines.append((point, _with_interval(differences, signed=True), more, len(pairs) - more - less, less))
    title = f"{contender} against {against}, case by case"
    table(title, ("points", "difference", "more", "equal", "less"), lines)
    for mine, theirs in pairs:
        if _points(mine) != _points(theirs):
            place = f"{Path(mine.round).name} {mine.case}"
            print(f"- {place} ({mine.agent}, {mine.kind}): {_points(mine)} against {_points(theirs)}")


def _points(row: Judged) -> str:
    return f"{row.goal}/{row.next1}/{row.any}{' misled' if row.misled else ''}"


def _with_interval(values: Sequence[float], *, signed: bool = False) -> str:
    low, high = interval(values)
    form = "+.2f" if signed else ".2f"
    return f"{statistics.fmean(values):{form}} ({low:{form}} to {high:{form}})"
