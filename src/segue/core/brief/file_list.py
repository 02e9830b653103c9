"""The list of files in a brief, the likeliest to be used again first, each with the names that occur in
it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import chain

from ..runs.brief_labels import Label
from .facts import BriefFacts, FileLine
from .page import LIST_MAX, BriefPage, size

FILES_SHARE, NAMES_SHARE, FILES_NAMED, FILES_SHOWN = 0.15, 0.46, 9, 20
RESERVE = 0.08
LOOSE_MAX, LOOSE_MOST = 20, 30
"""How many names may be listed without a file: at first, and if there is room after the sentences."""
_TRIES = 8


class Inventory:
    """The lines with files and names on a page."""

    def __init__(self, page: BriefPage, facts: BriefFacts, budget: int, wanted: int = 0) -> None:
        """``wanted`` is the number of bytes to leave for sentences."""
        self.page, self.places = page, facts.worth.homes
        self.heading = "FILES and the names in play there:" if budget >= 700 else "FILES:"
        reserve = max(wanted, int(RESERVE * budget)) if budget >= 1_000 else 0
        self.room = page.left - reserve - size(self.heading) - 1
        named = max(2, min(25, FILES_NAMED * budget // 2_048)) if budget >= 500 else 0
        chosen = self._likely(facts.files, named, budget) if page.left >= 60 else []
        self.named, self.others = chosen[:named], [line.name for line in chosen[named:]]
        self.homes: dict[str, list[str]] = {line.name: [] for line in self.named}
        self.loose: list[str] = []
        low = page.low + " ".join(line.name for line in chosen).lower()
        self.names: Iterator[str] = iter(())
        if chosen:
            self.names = _densest(facts.worth.names, low, max(240, budget // 8))
        self._fill(min(self.room - 16, int(NAMES_SHARE * budget)))

    def _likely(self, files: list[FileLine], named: int, budget: int) -> list[FileLine]:
        first = max(named, 3)  # a file that only a command mentions is among the first or not listed
        likely = [line for at, line in enumerate(files) if at < first or line.given]
        chosen = []
        for line in likely[: max(3, min(40, FILES_SHOWN * budget // 2_048))]:
            cost = size(line.name) + (len(line.mark) + 3 if line.mark else 0) + 5
            if cost > min(self.room, FILES_SHARE * budget + 120):
                break
            self.room -= cost
            chosen.append(line)
        return chosen

    def _place(self, name: str, loose_max: int) -> list[str] | None:
        """The list that a name belongs to, that of its file or that without a file; None if it is full."""
        home = self.places.get(name, "").replace("\\", "/").rsplit("/", 1)[-1]
        under = self.homes.get(home, self.loose)
        if under is not self.loose and len(under) < LIST_MAX:
            return under
        return self.loose if len(self.loose) < loose_max else None

    def _fill(self, left: int) -> None:
        missed: list[str] = []
        for name in self.names:
            under = self._place(name, LOOSE_MAX)
            if under is None:
                missed.append(name)
                if len(missed) > LOOSE_MAX:
                    break
                continue
            under.append(name)
            left -= size(name) + 2
            if left < 12:
                break
        self.names = chain(missed, self.names)

    def put(self) -> None:
        """Write as many lines on the page as fit."""
        lines = self._lines()
        while len(lines) > 1 and not self.page.put(Label.FILES, "\n".join(lines)):
            lines.pop()

    def grow(self) -> None:
        """Add further names while they fit."""
        if self.page.lines.get(Label.FILES) != "\n".join(self._lines()):
            return
        missed = 0
        for name in self.names:
            under = self._place(name, LOOSE_MOST) if name.lower() not in self.page.low else None
            if under is not None:
                under.append(name)
                if self.page.put(Label.FILES, "\n".join(self._lines())):
                    continue
                under.pop()
            missed += 1
            if missed >= _TRIES:
                return

    def _lines(self) -> list[str]:
        lines = [self.heading]
        for line in self.named:
            mark = f" ({line.mark})" if line.mark else ""
            names = _and(self.homes[line.name])
            lines.append(f"  {line.name}{mark}: {names}" if names else f"  {line.name}{mark}")
        for label, listed in (("elsewhere", self.loose), ("also", self.others)):
            rows = [listed[at : at + LIST_MAX] for at in range(0, len(listed), LIST_MAX)]
            lines += [f"  {label}: {_and(row)}" for row in rows]
        return lines


def _and(names: list[str]) -> str:
    """A list as one would say it: ``a, b and c``."""
    return " and ".join(part for part in (", ".join(names[:-1]), names[-1]) if part) if names else ""


def _densest(names: dict[str, float], said: str, count: int) -> Iterator[str]:
    """Names that are not on the page yet, the most valuable per byte first; a name may contain others."""
    ranked = sorted(names, key=lambda name: (-names[name], name))[:count]
    small = {name: name.lower() for name in ranked}
    left = [name for name in ranked if small[name] not in said]
    gains = {name: names[name] for name in left}
    holders: dict[str, list[str]] = {name: [name] for name in left}
    together = "\n".join([small[name] for name in left])
    for name in left:
        low, length = small[name], len(name)
        if together.count(low) == 1:  # no other name contains it, which is the usual case
            continue
        for other in left:
            if len(other) > length and low in small[other]:
                holders[name].append(other)
                gains[other] += names[name]
    costs = {name: math.pow(len(name) + 2, 0.75) for name in left}
    rates = {name: gains[name] / costs[name] for name in left}
    while rates:
        best = max(rates, key=rates.__getitem__)
        yield best
        for name in [name for name in rates if small[name] in small[best]]:
            del rates[name]
            for holder in holders[name]:
                gains[holder] -= names[name]
                if holder in rates:
                    rates[holder] = gains[holder] / costs[holder]
