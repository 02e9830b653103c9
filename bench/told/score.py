"""The tables of two readers: what they call distracting, useful and missing, and where they agree.

A case refers to earlier work, or is other work, where both readers say so; the shares of what is useful and
the bytes are of these cases. What is missing is not useful.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.blind.score import share_interval
from bench.common import table
from bench.told.pages import CaseKey, Key

WORDS = ("useful", "neutral", "distracting", "missing")
DISTRACTING_PERCENT_MAX, USEFUL_PERCENT_MIN, OTHER_BYTES_MAX = 5, 80, 400
_ROW = re.compile(r"^\|?\s*(?:case\s+)?`?(\d+)(?:\.md)?`?\s*\|(.*)$", re.IGNORECASE)


class AnswersIncomplete(Exception):
    """A reader's table lacks a row, or has one that cannot be read."""


@dataclass(slots=True, frozen=True)
class Verdict:
    """What a reader says of a case."""

    refers: bool
    told: str
    words: str = ""


@dataclass(slots=True, frozen=True)
class Judged:
    """A case, and what both readers say of it."""

    key: CaseKey
    verdicts: tuple[Verdict, Verdict]

    def both(self, is_so: Callable[[Verdict], bool]) -> bool:
        return all(map(is_so, self.verdicts))

    def either(self, is_so: Callable[[Verdict], bool]) -> bool:
        return any(map(is_so, self.verdicts))

    @property
    def refers(self) -> bool:
        return self.both(lambda one: one.refers)

    @property
    def is_other(self) -> bool:
        return self.both(lambda one: not one.refers)


@dataclass(slots=True, frozen=True)
class Share:
    """So many of all."""

    count: int
    of: int

    @property
    def percent(self) -> float:
        return 100 * self.count / self.of if self.of else 0.0

    def __str__(self) -> str:
        if not self.of:
            return "of none"
        low, high = share_interval(self.count, self.of)
        return f"{self.count} of {self.of}: {self.percent:.0f} % ({100 * low:.0f} to {100 * high:.0f})"


@dataclass(slots=True, frozen=True)
class Figures:
    """What is held against the limits, by one reader or by both."""

    distracting: Share
    useful: Share


def judged(out: Path, answers: Sequence[Path]) -> list[Judged]:
    """What two readers say of a round; raises AnswersIncomplete."""
    first, second = (verdicts(path) for path in answers)
    rows = []
    for key in Key.read(out).cases:
        for path, read in zip(answers, (first, second), strict=True):
            if key.case not in read:
                raise AnswersIncomplete(f"{path} has no row for case {key.case}")
        rows.append(Judged(key, (first.pop(key.case), second.pop(key.case))))
    for path, rest in zip(answers, (first, second), strict=True):
        if rest:
            raise AnswersIncomplete(f"{path} has rows of no case: {sorted(rest)}")
    return rows


def verdicts(path: Path) -> dict[str, Verdict]:
    """The rows of a reader's table by case."""
    found = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        match = _ROW.match(line.strip())
        if not match:
            continue
        cells = [cell.strip(" *`") for cell in match[2].split("|")]
        refers, told = (cells[0].lower(), cells[1].lower()) if len(cells) > 1 else ("", "")
        if refers not in ("yes", "no") or told not in WORDS:
            raise AnswersIncomplete(f"{path}:{number}: yes or no, and one of {', '.join(WORDS)}: {line}")
        found[f"{int(match[1]):02}"] = Verdict(refers == "yes", told, " | ".join(cells[2:]).strip(" |"))
    return found


def figures(rows: Sequence[Judged], holds: Callable[[Judged, str], bool]) -> Figures:
    """The figures of some reader, who says with ``holds`` whether a word is right for a case."""
    refers = [row for row in rows if row.refers]
    return Figures(
        Share(sum(holds(row, "distracting") for row in rows), len(rows)),
        Share(sum(holds(row, "useful") for row in refers), len(refers)),
    )


def other_bytes(rows: Iterable[Judged]) -> float:
    """The median of the bytes that are told for other work; 0 without any."""
    sizes = [row.key.bytes for row in rows if row.is_other]
    return statistics.median(sizes) if sizes else 0.0


READERS: dict[str, Callable[[Judged, str], bool]] = {
    "reader 1": lambda row, word: row.verdicts[0].told == word,
    "reader 2": lambda row, word: row.verdicts[1].told == word,
    "both": lambda row, word: row.both(lambda one: one.told == word),
    "either": lambda row, word: row.either(lambda one: one.told == word),
}


def show(rows: Sequence[Judged]) -> None:
    """Print the figures, where the readers agree, and what either calls distracting or missing."""
    found = [(name, figures(rows, holds)) for name, holds in READERS.items()]
    table(
        "What readers say, with 95 % intervals",
        ("", f"distracting (at most {DISTRACTING_PERCENT_MAX} %)",
         f"useful where it refers (at least {USEFUL_PERCENT_MIN} %)"),
        [(name, one.distracting, one.useful) for name, one in found],
    )  # fmt: skip
    others = sum(row.is_other for row in rows)
    print(f"\nbytes for other work, median of {others}: {other_bytes(rows):.0f} (at most {OTHER_BYTES_MAX})")
    _agreement(rows)
    _kinds(rows)
    for word in ("distracting", "missing"):
        _named(rows, word)


def _agreement(rows: Sequence[Judged]) -> None:
    same = {
        "refers": sum(row.verdicts[0].refers == row.verdicts[1].refers for row in rows),
        "told": sum(row.verdicts[0].told == row.verdicts[1].told for row in rows),
    }
    print(
        "; ".join(f"the readers agree on {name}: {Share(count, len(rows))}" for name, count in same.items())
    )


def _kinds(rows: Sequence[Judged]) -> None:
    lines = []
    for kind in sorted({row.key.kind for row in rows}):
        own = [row for row in rows if row.key.kind == kind]
        counts = [sum(READERS["either"](row, word) for row in own) for word in WORDS]
        refers = sum(row.refers for row in own)
        size = statistics.median(row.key.bytes for row in own)
        lines.append((kind, len(own), refers, *counts, f"{size:.0f}"))
    head = ("brief", "cases", "refers", *WORDS, "median bytes")
    table("By kind of brief, as either reader says", head, lines)


def _named(rows: Sequence[Judged], word: str) -> None:
    named = [row for row in rows if READERS["either"](row, word)]
    print(f"\n{word}, by either: {len(named)}")
    for row in named:
        said = [f"{one.told}: {one.words}" if one.words else one.told for one in row.verdicts]
        about = f"{row.key.kind}, {row.key.bytes} bytes, {row.key.repository}"
        print(f"- {row.key.case} ({about}): {' / '.join(said)}")
