"""Views of a session's state, derived whenever they are needed and never stored.

Counts, percentages, the default summary, resumption hints, and the card that lists are made of.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..base.values import Value
from ..features.verdict import Verdict
from .budget import Standing, standing
from .declared_choices import decisions_that_hold
from .state import AgentState, Decision, Finding, Focus, Metrics, Question, SessionState, Thread, Trouble

HINTS_MAX = 5


class Blocked(Value):
    """A blocked item, and why it is blocked."""

    item: str
    reason: str


class Progress(Value):
    """How much of a session's plan is done. Dropped items do not count."""

    done: int
    total: int
    percent: int


class Lifecycle(Value):
    """When a session was created, started, paused and so on."""

    created: str
    started: str
    paused: str
    pause_reason: str
    pause_cause: str
    resumed: str
    ended: str
    active_minutes: float


class Hints(Value):
    """Suggestions for whoever resumes the session."""

    recommended_notes: list[str]
    open_questions: list[str]
    next_actions: list[str]


LIVING = ("alive", "recent")
"""How a run stands that may be at work."""


class SessionRun(Value):
    """A run in the entry of its session."""

    id: str
    """The agent's own id."""
    agent: str
    last: str
    """When it was last active."""
    ended: str
    """alive, recent, waiting, ended, interrupted or crashed, as `segue runs` says it."""


class SessionStatus(Value):
    """Everything `segue status` shows."""

    id: str
    version: int
    status: str
    goal: str
    summary: str
    organization: str
    project: str
    type: str
    progress: Progress
    done: list[str]
    active: list[str]
    next: list[str]
    blocked: list[Blocked]
    dropped: list[str]
    last_action: str
    decisions: Sequence[Decision]
    questions: list[Question]
    """Open ones only."""
    threads: list[Thread]
    findings: Sequence[Finding]
    errors: list[Trouble]
    """Open ones only."""
    focus: Focus
    changes: list[tuple[str, str]]
    agents: dict[str, AgentState]
    metrics: Metrics
    lifecycle: Lifecycle
    hints: Hints
    checkpoints: list[str]
    handed_to: str
    gaps: list[tuple[int, int]]
    updated: str
    held_by: str = ""
    features: Sequence[Verdict] = ()
    last_active: str = ""
    """When somebody last worked on it, a run included."""
    runs: Sequence[SessionRun] = ()
    """Its runs without sub-agents', the newest first."""
    budget: Standing = Standing()


class Card(Value):
    """A session in a list."""

    id: str
    status: str
    goal: str
    summary: str
    organization: str
    project: str
    type: str
    done: int
    total: int
    active: str
    created: str
    last_active: str
    ended: str
    version: int
    project_name: str = ""
    runs: Sequence[SessionRun] = ()
    """Its runs without sub-agents', the newest first; not part of the card that is stored."""


def progress_of(state: SessionState) -> Progress:
    total = len(state.done) + len(state.next) + len(state.active) + len(state.blocked)
    return Progress(len(state.done), total, 100 * len(state.done) // total if total else 0)


def summary_of(state: SessionState) -> str:
    """The declared summary or, without one, the goal and its progress."""
    if state.summary:
        return state.summary
    progress = progress_of(state)
    return f"{state.goal} - {progress.done}/{progress.total}" if progress.total else state.goal


def last_active_of(state: SessionState) -> str:
    """When the session was last worked on: when it was paused or ended, else the time of its last event."""
    return state.paused or state.ended or state.updated or state.started or state.created


def threads_newest_first(state: SessionState) -> list[Thread]:
    """The threads, those with the latest activity first."""
    return sorted(state.threads.values(), key=lambda t: (t.last_activity, t.topic), reverse=True)


def hints_of(state: SessionState) -> Hints:
    """The most used notes, the open questions, and what to do next."""
    used = [note for note, use in state.notes.items() if use.count]
    notes = sorted(used, key=lambda n: (-state.notes[n].count, n))[:HINTS_MAX]
    questions = [q.text for q in state.questions if not q.answer][:HINTS_MAX]
    actions = [f"Continue: {state.items[i].text}" for i in state.active]
    if state.changes:
        actions.append("Commit uncommitted changes")
    actions += [f"Continue: {t.topic}" for t in threads_newest_first(state) if t.status == "in_progress"]
    if not state.active:
        actions += [f"Begin: {state.items[i].text}" for i in state.next[:1]]
    return Hints(notes, questions, actions)


def status_of(
    state: SessionState, *, held_by: str = "", features: Sequence[Verdict] = (),
    budget: Standing | None = None,
) -> SessionStatus:  # fmt: skip
    """Everything that `segue status` shows.

    Holder, verdicts and the limits that settings give are not part of the state, so they are passed in.
    """
    items = state.items.flat()
    lifecycle = Lifecycle(
        state.created, state.started, state.paused, state.pause_reason, state.pause_cause, state.resumed,
        state.ended, round(state.active_seconds / 60, 1),
    )  # fmt: skip
    return SessionStatus(
        **_copied(state),
        progress=progress_of(state),
        done=[items[i].text for i in state.done.flat()],
        active=[items[i].text for i in state.active],
        next=[items[i].text for i in state.next],
        blocked=[Blocked(items[i].text, items[i].reason) for i in state.blocked],
        dropped=[item.text for item in items if item.status == "dropped"],
        last_action=state.last_action,
        decisions=decisions_that_hold(state),
        questions=[q for q in state.questions.flat() if not q.answer],
        threads=threads_newest_first(state),
        findings=state.findings.flat(),
        errors=[t for t in state.troubles.flat() if not t.solution],
        focus=state.focus,
        changes=list(state.changes),
        agents=state.agents,
        metrics=state.metrics,
        lifecycle=lifecycle,
        hints=hints_of(state),
        checkpoints=sorted(state.marks, key=lambda name: state.marks[name].version),
        handed_to=state.handed[-1].to if state.handed else "",
        gaps=list(state.gaps),
        updated=state.updated,
        held_by=held_by,
        features=features,
        last_active=last_active_of(state),
        budget=budget or standing(state),
    )


def _copied(state: SessionState) -> dict[str, Any]:
    """What a status and a card have in common."""
    names = ("id", "version", "status", "goal", "organization", "project", "type")
    return {name: getattr(state, name) for name in names} | {"summary": summary_of(state)}


def card_of(state: SessionState) -> Card:
    """The entry for a session in lists."""
    progress = progress_of(state)
    return Card(
        **_copied(state),
        done=progress.done,
        total=progress.total,
        active=state.items[state.active[0]].text if state.active else "",
        created=state.created,
        last_active=last_active_of(state),
        ended=state.ended,
        project_name=state.project_name,
    )
