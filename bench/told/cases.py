"""Which first prompts become cases: at most so many of a repository, repositories by turns, the seed decides.

A case has at least one earlier run in the same working folder that did something. What is known in it is cut
at the moment of the first prompt, so that nothing of the future is told or shown.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from random import Random

from bench.told.runs import PublicRun, by_repository

CALLS_MIN = 3
"""So much of an earlier run is some work."""
EARLIER_MAX = 12
GOES_ON_SECONDS = 1_800.0
"""A run that was silent for no longer, before and after a moment, was open at that moment."""


@dataclass(slots=True, frozen=True)
class Plan:
    """What a round consists of."""

    seed: int = 1
    cases: int = 60
    of_repository: int = 4


@dataclass(slots=True)
class Case:
    """A later run, and the newest of those that began before it; the newest is the last."""

    number: int
    later: PublicRun
    earlier: list[PublicRun]
    left_out: int = 0
    """How many older runs there were."""

    @property
    def label(self) -> str:
        return f"{self.number:02}"

    @property
    def moment(self) -> float:
        """When the later run began."""
        return self.later.asked

    def is_open(self, run: PublicRun) -> bool:
        """Whether an earlier run went on while the later one began."""
        last, following = run.last_before(self.moment), run.first_after(self.moment)
        return following < math.inf and following - last <= GOES_ON_SECONDS


def candidates(runs: Iterable[PublicRun]) -> Iterator[Case]:
    """Every first prompt that could be a case."""
    for _, of_repository in by_repository(runs):
        for later in of_repository:
            if not later.prompt or later.is_copy:
                continue
            earlier = _earlier(later, of_repository)
            if any(run.calls_before(later.asked) >= CALLS_MIN for run in earlier):
                yield Case(0, later, earlier[-EARLIER_MAX:], max(0, len(earlier) - EARLIER_MAX))


def _earlier(later: PublicRun, runs: Iterable[PublicRun]) -> list[PublicRun]:
    """The runs in the same working folder that began before a run did, by when they were last active."""
    known = [
        run
        for run in runs
        if run.root == later.root and run.native != later.native and run.began < later.asked
    ]
    return sorted(known, key=lambda run: (run.last_before(later.asked), run.native))


def cases(found: Iterable[Case], plan: Plan) -> list[Case]:
    """The cases of a round, in an order that tells nothing."""
    random = Random(plan.seed)
    picked = list(_picked(found, plan, random))
    random.shuffle(picked)
    for number, case in enumerate(picked):
        case.number = number
    return picked


def _picked(found: Iterable[Case], plan: Plan, random: Random) -> Iterator[Case]:
    """Repositories take turns; of prompts that begin alike only the first is taken, as a script wrote
    them."""
    left: dict[str, list[Case]] = {}
    for case in found:
        left.setdefault(case.later.repository, []).append(case)
    for name in left:
        left[name] = random.sample(left[name], len(left[name]))
    turns = random.sample(sorted(left), len(left))
    begun: set[str] = set()
    taken = 0
    for _ in range(plan.of_repository):
        for name in turns:
            following = next(_new(left[name], begun), None) if taken < plan.cases else None
            if following is not None:
                taken += 1
                yield following


def _new(left: list[Case], begun: set[str]) -> Iterator[Case]:
    """The cases that are left whose prompts begin like no other; each is taken out of the list."""
    while left:
        case = left.pop()
        start = " ".join(case.later.prompt.lower().split())[:200]
        if len(start) < 40 or start not in begun:
            begun.add(start)
            yield case
