"""How many kills, hops and faults there were, and a table of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

HEAD = (
    "agent", "kills", "hops checked", "with the task", "with the call", "with additions", "other work",
    "back again", "nothing known", "wrong",
)  # fmt: skip


@dataclass
class Tally:
    """What came of some chains."""

    kills: int = 0
    hops: int = 0
    """Next runs that asked the model, so that it can be checked what they were told."""
    with_task: int = 0
    """Those that were told of the task."""
    with_call: int = 0
    """Those that were told of a call that was cut off."""
    with_additions: int = 0
    """Those that were told of all that was added to the task, and there was something."""
    others: int = 0
    """Those that did other work and were told what holds for any work here."""
    back: int = 0
    """Those that came back from other work and were told of the task."""
    unknown: int = 0
    """Those that could not be told anything, as nothing had been written before the kill."""
    wrong: list[str] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        self.kills += other.kills
        self.hops += other.hops
        self.with_task += other.with_task
        self.with_call += other.with_call
        self.with_additions += other.with_additions
        self.others += other.others
        self.back += other.back
        self.unknown += other.unknown
        self.wrong += other.wrong

    def counts(self) -> list[int]:
        """The numbers of a row of the table."""
        return [
            self.kills, self.hops, self.with_task, self.with_call, self.with_additions, self.others,
            self.back, self.unknown, len(self.wrong),
        ]  # fmt: skip


def table(rows: Iterable[tuple[str, Iterable[int]]]) -> list[str]:
    """A row for each agent, the sum of all that was counted for it, in Markdown."""
    sums: Mapping[str, list[int]] = _summed(rows)
    lines = [HEAD, *((agent, *map(str, counts)) for agent, counts in sums.items())]
    widths = [max(len(line[at]) for line in lines) for at in range(len(HEAD))]
    drawn = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) + " |"
        for line in lines
    ]
    return [drawn[0], "|" + "|".join("-" * (width + 2) for width in widths) + "|", *drawn[1:]]


def _summed(rows: Iterable[tuple[str, Iterable[int]]]) -> dict[str, list[int]]:
    sums: dict[str, list[int]] = {}
    for agent, counts in rows:
        before = sums.get(agent, [0] * (len(HEAD) - 1))
        sums[agent] = [one + other for one, other in zip(before, counts, strict=True)]
    return sums
