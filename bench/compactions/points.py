"""The judge's tables: of what stands, how much each arm has kept.

An item that is kept counts one, half an item a half. Items of one conversation are lost together, so
intervals come from draws of conversations, not of items. Where several judges looked, their tables count
alike.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.blind.score import interval
from bench.common import table
from bench.compactions.rounds import ALONE, ARMS, SEGUE, RoundIncomplete, read
from bench.compactions.standing import KINDS, items, letters, list_file

POINTS = {"kept": 1.0, "half": 0.5, "lost": 0.0}
_ROW = re.compile(
    r"^\|?\s*(?:case\s+)?(\d+)\s*\|\s*\**([A-Z])\**\s*\|\s*(\d+)\s*\|\s*\**(\w*)", re.IGNORECASE
)


@dataclass(slots=True, frozen=True)
class Judged:
    """What became of an item in an arm."""

    case: str
    arm: str
    item: int
    kind: str
    points: float


def judged(out: Path, tables: Sequence[Path] = ()) -> list[Judged]:
    """What the judges say; raises RoundIncomplete where an item was not judged."""
    given = list(tables) or sorted((out / "final").glob("verdict*.md"))
    verdicts: dict[tuple[str, str, int], list[float]] = {}
    for path in given:
        for place, verdict in _rows(path):
            verdicts.setdefault(place, []).append(verdict)
    found = []
    for case, arms in letters(out).items():
        kinds = items(list_file(out, case))
        for letter, arm in arms.items():
            for item, kind in sorted(kinds.items()):
                points = verdicts.pop((case, letter, item), [])
                if not points:
                    raise RoundIncomplete(f"no verdict on case {case}, letter {letter}, item {item}")
                found.append(Judged(case, arm, item, kind, statistics.fmean(points)))
    if verdicts:
        raise RoundIncomplete(f"verdicts on what is not listed: {sorted(verdicts)}")
    return found


def _rows(path: Path) -> Iterator[tuple[tuple[str, str, int], float]]:
    for number, line in enumerate(read(path).splitlines(), 1):
        match = _ROW.match(line.strip())
        if not match:
            continue
        verdict = match[4].lower()
        if verdict not in POINTS:
            raise RoundIncomplete(f"{path}:{number}: it says neither {', '.join(POINTS)}: {line.strip()}")
        yield (f"{int(match[1]):02}", match[2].upper(), int(match[3])), POINTS[verdict]


def share(rows: Sequence[Judged]) -> float:
    """The share of the items that was kept."""
    return statistics.fmean(row.points for row in rows)


def differences(rows: Sequence[Judged]) -> list[float]:
    """By how much more Segue's arm kept than the other, conversation by conversation."""
    return [
        share([row for row in own if row.arm == SEGUE]) - share([row for row in own if row.arm == ALONE])
        for case in sorted({row.case for row in rows})
        if (own := [row for row in rows if row.case == case])
    ]


def show(rows: Sequence[Judged], sizes: dict[str, float]) -> None:
    """Print what was kept: by arm, by kind, by conversation, and item by item."""
    lines = []
    for arm in ARMS:
        own = [row for row in rows if row.arm == arm]
        counts = [sum(row.points == points for row in own) for points in POINTS.values()]
        lines.append((arm, len(own), *counts, f"{share(own):.3f}", f"{sizes[arm]:.0f}"))
    table("What stands, after six compactions", ("arm", "items", *POINTS, "share", "median bytes"), lines)
    _groups("By kind", rows, lambda row: row.kind, KINDS)
    _groups("By conversation", rows, lambda row: row.case, sorted({row.case for row in rows}))
    _compared(rows)


def _groups(title: str, rows: Sequence[Judged], of: Callable[[Judged], str], groups: Sequence[str]) -> None:
    lines = []
    for group in groups:
        arms = [[row for row in rows if of(row) == group and row.arm == arm] for arm in ARMS]
        if arms[0]:
            lines.append((group, len(arms[0]), *(f"{share(own):.3f}" for own in arms)))
    table(title, (title.removeprefix("By "), "items", *ARMS), lines)


def _compared(rows: Sequence[Judged]) -> None:
    """Segue's arm against the other, item by item, with an interval over conversations."""
    points = {(row.arm, row.case, row.item): row.points for row in rows}
    pairs = [
        (points[SEGUE, case, item], points[ALONE, case, item]) for arm, case, item in points if arm == ALONE
    ]
    better = sum(mine > other for mine, other in pairs)
    worse = sum(mine < other for mine, other in pairs)
    by_case = differences(rows)
    low, high = interval(by_case)
    mean = f"{statistics.fmean(by_case):+.3f} ({low:+.3f} to {high:+.3f})"
    head = ("difference, mean of conversations", "items better", "equal", "worse")
    table(f"{SEGUE} against {ALONE}", head, [(mean, better, len(pairs) - better - worse, worse)])
