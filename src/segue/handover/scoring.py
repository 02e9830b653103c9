"""Scores handovers by what the next run did with the facts in its brief, by kind of fact.

A handover is judged by the first run that started after its completion and called a tool. The run's brief is
taken from its transcript, else from what was stored of it, else from what the handover collected. A score is
an event of the stream ``score/<tree>``, so it is made once; ``again`` makes it again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from ..agents import agent as agent_of
from ..agents.base import Found
from ..api.segue import Segue
from ..core import event_kinds as ev
from ..core.base.values import Value, iso
from ..core.handover.usefulness import judge
from ..core.runs.steps import Call, Given, Step
from ..effects.clock import now
from ..effects.redaction.redact import redact_bytes
from ..errors import BadName, SegueError, StaleVersion
from ..services.brief.delivered import delivered_to
from ..services.runs.discovery import RunFinder
from ..services.runs.observed import runs_of
from ..services.runs.read_transcript import final
from ..services.workspace.working_tree import tree_stream
from ..stores.base import Append
from .ledger import StoreCheckpoint

RUNS_MAX = 60
CALLS_MIN = 1
"""A run that called no tool says nothing about its brief."""


class ScoredHandover(Value):
    """The score of a handover."""

    handover: str
    """The run of the handover."""
    by: str
    """The run that came after it, as agent/id."""
    score: float
    at: str
    reasons: list[str]
    kinds: dict[str, list[int]] = {}
    """For each kind of fact: how many the brief had, and how many of them were used."""
    measures: dict[str, float] = {}
    session: str = ""


class CompletedHandover(Value):
    """A completed handover, and the brief that it collected."""

    run: str
    session: str
    at: str
    brief: str


def scores(segue: Segue) -> list[ScoredHandover]:
    """All stored scores, the oldest first; only the newest of a handover that was scored again."""
    return scores_in(segue.workspace.store.read(_stream(segue)))


def scores_in(events: Sequence[ev.Event]) -> list[ScoredHandover]:
    """The scores in the events of a stream."""
    by_run: dict[str, ScoredHandover] = {}
    for event in events:
        body = ev.read_body(event)
        if isinstance(body, ev.HandoverScored):
            by_run.pop(body.run, None)
            by_run[body.run] = ScoredHandover(
                body.run, body.by, body.score, event.at, body.reasons, body.kinds, body.measures, body.session
            )
    return list(by_run.values())


def score_last(segue: Segue) -> ScoredHandover | None:
    """Score what has no score yet, and return the newest score; None if there is none."""
    score(segue)
    stored = scores(segue)
    return stored[-1] if stored else None


def score(segue: Segue, *, again: bool = False) -> list[ScoredHandover]:
    """Score every completed handover that a run came after; returns the new scores."""
    segue.workspace.pause_file.check()
    checkpoint = StoreCheckpoint(segue)
    scored = set() if again else {stored.handover for stored in scores(segue)}
    handovers = [handover for handover in _completed(checkpoint) if handover.run not in scored]
    if not handovers:
        return []
    finder = runs_of(segue.workspace).finder()
    runs = _runs(finder)
    new_scores = []
    for number, handover in enumerate(handovers):
        until = handovers[number + 1].at if number + 1 < len(handovers) else ""
        after = [run for began, run in runs if began > handover.at and (not until or began < until)]
        new_score = _judged(segue, finder, handover, after, runs)
        if new_score is not None:
            _store(segue, new_score)
            new_scores.append(new_score)
    return new_scores


def _completed(checkpoint: StoreCheckpoint) -> list[CompletedHandover]:
    handovers: list[CompletedHandover] = []
    session, brief = "", ""
    for body, at in checkpoint.history():
        if isinstance(body, ev.HandoverBegun):
            session, brief = body.session, ""
        elif isinstance(body, ev.HandoverStepDone) and isinstance(body.output, dict):
            brief = str(body.output.get("brief", "")) or brief
        elif isinstance(body, ev.HandoverCompleted):
            handovers.append(CompletedHandover(body.run, session, at, brief))
    return handovers


def _runs(finder: RunFinder) -> list[tuple[str, Found]]:
    """The newest runs here with their start times, the oldest first, without those of sub-agents."""
    runs: list[tuple[str, Found]] = []
    for run in finder.found():
        if run.parent or not run.size:
            continue
        try:
            began = final(finder.reading(run), agent_of(run.agent)).began
        except SegueError:
            continue
        runs.append((iso(began or run.changed), run))
        if len(runs) >= RUNS_MAX:
            break
    return sorted(runs, key=lambda pair: pair[0])


def _judged(
    segue: Segue, finder: RunFinder, handover: CompletedHandover, after: Sequence[Found],
    runs: Sequence[tuple[str, Found]],
) -> ScoredHandover | None:  # fmt: skip
    for run in after:
        try:
            steps = list(finder.steps(run, redact_bytes))
        except SegueError:
            continue
        if sum(isinstance(step, Call) for step in steps) < CALLS_MIN:
            continue
        known, prompts = _before(finder, handover, runs)
        result = judge(_brief_of(segue, run, steps) or handover.brief, steps, known, prompts)
        measures: dict[str, Any] = msgspec.to_builtins(result.measures)
        return ScoredHandover(
            handover.run, f"{run.agent}/{run.native}", result.score, now(), list(result.reasons),
            result.kinds, {name: float(value) for name, value in measures.items()}, handover.session,
        )  # fmt: skip
    return None


def _brief_of(segue: Segue, run: Found, steps: Sequence[Step]) -> str:
    """The brief that a run got: from its transcript, else as it was stored; empty if there is neither."""
    for step in steps:
        if isinstance(step, Given):
            return step.text
    try:
        delivered = delivered_to(segue.workspace, run.agent, run.native)
    except BadName:
        return ""
    return next((text.text for text in delivered if text.kind == "brief"), "")


def _before(
    finder: RunFinder, handover: CompletedHandover, runs: Sequence[tuple[str, Found]]
) -> tuple[set[str], list[str]]:
    """The files that the run before a handover knew, and its user's prompts."""
    earlier = [run for began, run in runs if began <= handover.at]
    if not earlier:
        return set(), []
    try:
        digest = final(finder.reading(earlier[-1]), agent_of(earlier[-1].agent))
    except SegueError:
        return set(), []
    return set(digest.files), [prompt.text for prompt in digest.prompts]


def _store(segue: Segue, scored: ScoredHandover) -> None:
    body = ev.HandoverScored(
        scored.handover, scored.by, scored.score, scored.session, scored.kinds, scored.reasons,
        scored.measures,
    )  # fmt: skip
    stream = _stream(segue)
    draft = ev.draft(
        body, at=now(), actor=segue.workspace.repository.actor, run=segue.workspace.repository.run
    )
    while True:
        try:
            segue.workspace.store.append(Append(stream, segue.workspace.store.head(stream).version, [draft]))
            return
        except StaleVersion:
            continue


def _stream(segue: Segue) -> str:
    return "score/" + tree_stream(str(segue.workspace.working_tree.root)).removeprefix("tree/")


def by_kind(scored: Sequence[ScoredHandover]) -> dict[str, tuple[int, int]]:
    """For each kind of fact, over all scores: how many the briefs had, and how many of them were used."""
    totals: dict[str, tuple[int, int]] = {}
    for score in scored:
        for kind, (in_brief, used) in score.kinds.items():
            before = totals.get(kind, (0, 0))
            totals[kind] = (before[0] + in_brief, before[1] + used)
    return dict(sorted(totals.items(), key=lambda pair: -pair[1][0]))
