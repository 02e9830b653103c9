"""Cases for briefs with and without habits: `make bench-blind … ARGS=--habits`.

Habits are learnt from the runs of the same folder that were over before the run that is cut began, no later
ones. A case is cut where the two briefs differ: where nothing is told of habits, there is nothing to judge.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

from bench.blind.contenders import Texts
from bench.blind.cuts import Candidate, Case, Plan, candidates
from bench.blind.formats import read
from bench.habits import SeenRun, runs_by_folder

from segue.core.habits.learn import learn
from segue.core.habits.model import HabitTable, HabitWords
from segue.services.brief.brief import render_brief
from segue.services.brief.runs_summary import facts_of_runs, summary_of_transcript
from segue.services.habits.told import usually_next

WITH, WITHOUT = "habits", "plain"
CUTS_TRIED = 40
"""In how many places of a transcript it is tried whether habits have something to say."""


def habit_cases(folders: Sequence[Path], plan: Plan, budget: int) -> Iterator[tuple[Case, Texts]]:
    """At most so many cases as planned, one a transcript; projects take turns."""
    runs = runs_by_folder(folders)
    run_of = {run.path: run for of_folder in runs.values() for run in of_folder}
    left = Random(plan.seed).sample(found := list(candidates(folders, plan)), len(found))
    taken: Counter[str] = Counter()
    while left and taken.total() < plan.cases:
        candidate = min(left, key=lambda one: taken[_folder(run_of.get(one.path))])
        left.remove(candidate)
        run = run_of.get(candidate.path)
        if run is None:
            continue
        before = [one.trace for one in runs[run.cwd] if one.ended < run.trace.began]
        made = _case(candidate, learn(before), taken.total(), plan, budget) if before else None
        if made is not None:
            taken[run.cwd] += 1
            yield made


def _folder(run: SeenRun | None) -> str:
    return run.cwd if run is not None else ""


def _case(
    candidate: Candidate, table: HabitTable, number: int, plan: Plan, budget: int
) -> tuple[Case, Texts] | None:
    """The first place, in an order by chance, at which the habits have something to say; None without."""
    transcript = read(candidate.path)
    assert transcript is not None, candidate.path
    places = candidate.records["cut"]
    places = Random(f"{plan.seed} {candidate.name}").sample(places, len(places))
    for record in places[:CUTS_TRIED]:
        with tempfile.TemporaryDirectory() as folder:
            said = briefs(transcript.write_until(record, Path(folder)), table, budget)
        if said[WITH] != said[WITHOUT]:
            return Case(number, "cut", candidate.name, record, transcript), Texts(said)
    return None


def briefs(path: Path, table: HabitTable, budget: int) -> dict[str, str]:
    """The brief of a transcript with these habits, and without any."""
    runs = summary_of_transcript(path)
    known = facts_of_runs(runs)
    plain = render_brief(known, budget=budget)
    known.habits = usually_next(table, HabitWords(), runs.digests[0])
    return {WITH: render_brief(known, budget=budget), WITHOUT: plain}
