"""The course of the benchmark: which transcripts, which cuts, all contenders at each, all figures of all."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from bench.resume.contenders import answers
from bench.resume.needs import Known, Rarity, cuts, needs, rarities, vocabulary
from bench.resume.observed import observe
from bench.resume.scoring import Score, judged

NEEDS_MIN = 3  # categories; a cut with fewer says too little


@dataclass(slots=True)
class Plan:
    """What is asked of a run of the benchmark."""

    budget: int = 2_048
    cuts: int = 3
    calls_min: int = 60
    compaction: bool = False
    commands: tuple[str, ...] = ()
    jobs: int = 1


@dataclass(slots=True)
class ContenderScore:
    """What a contender got at a cut."""

    contender: str
    score: Score
    failed: str = ""
    seconds: float | None = None


@dataclass(slots=True)
class Outcome:
    """All figures of a run: by transcript, by cut."""

    transcripts: int
    cuts: int = 0
    by_transcript: list[list[ContenderScore]] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    def of(self, contender: str) -> list[list[ContenderScore]]:
        """A contender's figures, transcript by transcript, without those where it has none."""
        groups = [[entry for entry in group if entry.contender == contender] for group in self.by_transcript]
        return [group for group in groups if group]

    @property
    def contenders(self) -> list[str]:
        return list(dict.fromkeys(entry.contender for group in self.by_transcript for entry in group))


def transcripts(folders: Iterable[Path]) -> list[Path]:
    """Every transcript in these folders, in the order of their names."""
    paths = []
    for folder in folders:
        for root, _, names in os.walk(folder):
            paths += [Path(root, name) for name in names if name.endswith(".jsonl")]
    return sorted(paths, key=str)


def run(paths: Sequence[Path], plan: Plan) -> Outcome:
    """Cut, ask and score."""
    with ProcessPoolExecutor(plan.jobs) as pool:
        counted: Counter[str] = Counter()
        long_enough = []
        for path, terms in zip(paths, pool.map(partial(_counted, plan), paths), strict=True):
            if terms is not None:
                counted.update(terms)
                long_enough.append(path)
        outcome = Outcome(len(long_enough))
        rarity = rarities(counted, len(long_enough))
        for path, (cut_count, entries) in zip(
            long_enough, pool.map(partial(_cut_up, plan, rarity), long_enough), strict=True
        ):
            outcome.cuts += cut_count
            if entries:
                outcome.by_transcript.append(entries)
            outcome.failures += [
                f"{path.name}: {entry.contender}: {entry.failed}" for entry in entries if entry.failed
            ]
    return outcome


def _counted(plan: Plan, path: Path) -> set[str] | None:
    transcript = observe(path)
    return vocabulary(transcript) if transcript.calls >= plan.calls_min else None


def _cut_up(plan: Plan, rarity: Rarity, path: Path) -> tuple[int, list[ContenderScore]]:
    transcript = observe(path)
    known = Known()
    entries: list[ContenderScore] = []
    count = 0
    for cut in cuts(transcript, plan.cuts, plan.compaction):
        known.advance(transcript.seen, len(cut.past))
        needed = needs(cut, known, rarity)
        if len(needed) < NEEDS_MIN:
            continue
        count += 1
        for contender, answer in answers(transcript, cut, needed, plan.budget, plan.commands):
            score = judged(answer.text, needed, cut, plan.budget, gated=answer.gated)
            score.violations["over budget"] = int(answer.over)
            entries.append(ContenderScore(contender, score, answer.failed, answer.seconds))
    return count, entries
