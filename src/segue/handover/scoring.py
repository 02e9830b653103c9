"""Scoring handovers: which run came after each, what it was told, what it made of that, by kind of fact.

A handover is judged by the first run that began after it was completed and that has done something. What
the run was told is read from its transcript, else from what was kept of it, else from what the handover
collected. A score is an event of the stream ``score/<tree>``, so it is made once; ``again`` makes it anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from ..agents import agent as agent_of
from ..core import event_kinds as ev
from ..core.base.values import Value, iso
from ..core.handover.usefulness import Score, judge
from ..core.runs.steps import Call, Given, Step
from ..effects.clock import now
from ..effects.redaction.redact import redact_bytes
from ..errors import BadName, SegueError, StaleVersion
from ..services.brief.delivered import delivered_to
from ..services.runs.observed import runs_of
from ..services.runs.read_transcript import final
from ..services.workspace.working_tree import tree_stream
from ..stores.base import Append
from .ledger import StoreCheckpoint

if TYPE_CHECKING:
    from ..agents.base import Found
    from ..api.segue import Segue
    from ..services.runs.discovery import RunFinder

RUNS_LOOKED_AT = 60
CALLS_MIN = 1
"""A run that called no tool says nothing about what it was told."""


class ScoredHandover(Value):
    """A handover and what it was worth."""

    handover: str
    """Its run."""
    by: str
    """The run that came after it, as agent/id."""
    score: float
    at: str
    reasons: list[str]
    kinds: dict[str, list[int]] = {}
    """Of each kind of fact: how many were given, and how many of them were used."""
    measures: dict[str, float] = {}
    session: str = ""


class CompletedHandover(Value):
    """A handover that was completed."""

    run: str
    session: str
    at: str
    brief: str


def scores(segue: Segue) -> list[ScoredHandover]:
    """Every score that was kept, the oldest first; of a handover that was judged again, the newest."""
    return scores_in(segue.workspace.store.read(_stream(segue)))


def scores_in(events: Sequence[ev.Event]) -> list[ScoredHandover]:
    """The scores of a stream."""
    found: dict[str, ScoredHandover] = {}
    for event in events:
        body = ev.read_body(event)
        if isinstance(body, ev.HandoverScored):
            found.pop(body.run, None)
            found[body.run] = ScoredHandover(
                body.run, body.by, body.score, event.at, body.reasons, body.kinds, body.measures, body.session
            )
    return list(found.values())


def score_last(segue: Segue) -> ScoredHandover | None:
    """Judge what was not judged yet; the newest score, or None if there is none."""
    score(segue)
    kept = scores(segue)
    return kept[-1] if kept else None


def score(segue: Segue, *, again: bool = False) -> list[ScoredHandover]:
    """Judge every completed handover that a run came after; those that were judged now."""
    segue.workspace.pause_file.check()
    checkpoint = StoreCheckpoint(segue)
    judged = set() if again else {one.handover for one in scores(segue)}
    finished = [one for one in _finished(checkpoint) if one.run not in judged]
    if not finished:
        return []
    capture = runs_of(segue.workspace).finder()
    runs = _runs(capture)
    done = []
    for number, one in enumerate(finished):
        until = finished[number + 1].at if number + 1 < len(finished) else ""
        after = [(began, found) for began, found in runs if began > one.at and (not until or began < until)]
        kept = _judged(segue, capture, one, [found for _, found in after], runs)
        if kept is not None:
            _keep(segue, kept)
            done.append(kept)
    return done


def _finished(checkpoint: StoreCheckpoint) -> list[CompletedHandover]:
    found: list[CompletedHandover] = []
    session, brief = "", ""
    for body, at in checkpoint.history():
        if isinstance(body, ev.HandoverBegun):
            session, brief = body.session, ""
        elif isinstance(body, ev.HandoverStepDone) and isinstance(body.output, dict):
            brief = str(body.output.get("brief", "")) or brief
        elif isinstance(body, ev.HandoverCompleted):
            found.append(CompletedHandover(body.run, session, at, brief))
    return found


def _runs(capture: RunFinder) -> list[tuple[str, Found]]:
    """(when it began, run) of the newest runs here, the oldest first; sub-agents are no runs of their own."""
    found: list[tuple[str, Found]] = []
    for one in capture.found():
        if one.parent or not one.size:
            continue
        try:
            began = final(capture.reading(one), agent_of(one.agent)).began
        except SegueError:
            continue
        found.append((iso(began or one.changed), one))
        if len(found) >= RUNS_LOOKED_AT:
            break
    return sorted(found, key=lambda pair: pair[0])


def _judged(
    segue: Segue, capture: RunFinder, handover: CompletedHandover, after: Sequence[Found],
    runs: Sequence[tuple[str, Found]],
) -> ScoredHandover | None:  # fmt: skip
    for found in after:
        try:
            steps = list(capture.steps(found, redact_bytes))
        except SegueError:
            continue
        if sum(isinstance(step, Call) for step in steps) < CALLS_MIN:
            continue
        known, said = _before(capture, handover, runs)
        result = judge(_told(segue, found, steps) or handover.brief, steps, known, said)
        return _scored(handover, found, result)
    return None


def _told(segue: Segue, found: Found, steps: Sequence[Step]) -> str:
    """What the run was told by us: as its transcript has it, else as it was kept."""
    for step in steps:
        if isinstance(step, Given):
            return step.text
    try:
        kept = delivered_to(segue.workspace, found.agent, found.native)
    except BadName:
        return ""
    return next((one.text for one in kept if one.kind == "brief"), "")


def _before(
    capture: RunFinder, handover: CompletedHandover, runs: Sequence[tuple[str, Found]]
) -> tuple[set[str], list[str]]:
    """Files that the run before the handover knew, and what its user had said."""
    earlier = [found for began, found in runs if began <= handover.at]
    if not earlier:
        return set(), []
    try:
        digest = final(capture.reading(earlier[-1]), agent_of(earlier[-1].agent))
    except SegueError:
        return set(), []
    return set(digest.files), [words.text for words in digest.prompts]


def _scored(handover: CompletedHandover, found: Found, result: Score) -> ScoredHandover:
    measures: dict[str, Any] = msgspec.to_builtins(result.measures)
    return ScoredHandover(
        handover.run, f"{found.agent}/{found.native}", result.score, now(), list(result.reasons),
        result.kinds, {name: float(value) for name, value in measures.items()}, handover.session,
    )  # fmt: skip


def _keep(segue: Segue, one: ScoredHandover) -> None:
    body = ev.HandoverScored(
        one.handover, one.by, one.score, one.session, one.kinds, one.reasons, one.measures
    )
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


def by_kind(kept: Sequence[ScoredHandover]) -> dict[str, tuple[int, int]]:
    """Over all scores, of each kind of fact: how many were given, and how many of them were used."""
    found: dict[str, tuple[int, int]] = {}
    for one in kept:
        for kind, (told, used) in one.kinds.items():
            before = found.get(kind, (0, 0))
            found[kind] = (before[0] + told, before[1] + used)
    return dict(sorted(found.items(), key=lambda pair: -pair[1][0]))
