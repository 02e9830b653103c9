"""The brief for a run that starts or resumes.

A run that starts is told where the last one stopped, whichever agent that was (``predecessor.py``). A run
that resumes has its history before it and is told only what that lacks: work that was cut off, what other
runs did in the meantime, or what it took up, if its agent does not keep what hooks said. If there is nothing
worth saying, the brief is empty.
"""

from __future__ import annotations

import time
from pathlib import Path

from msgspec.structs import replace

from ...agents import agent as agent_of, traits_of
from ...agents.base import Found
from ...agents.hooks import HookEvent
from ...core.base.page import quote
from ...core.base.values import Value
from ...core.sessions.state import OBSERVED, OPEN, SessionState
from ...errors import SegueError, UnknownSession
from ..runs.assign_session import has_observed_goal, is_undeclared
from ..runs.discovery import RunFinder
from ..runs.run import left_of
from ..runs.select import is_here, newest_run
from ..sessions.repository import stream_of
from ..workspace.open_session import find_session
from ..workspace.workspace import Workspace
from .brief import render_brief
from .gather import (
    brief_given_to,
    command_for_more,
    digest_of,
    gather,
    runs_taken_up,
    session_of_run,
    summary_of_run,
    world_now,
)
from .predecessor import Predecessor, chosen_since, line_of_before, line_of_others
from .project_brief import as_last_seen
from .runs_summary import RunsSummary

GOAL_BYTES = 200


class HookBrief(Value):
    """A brief for a run, and the session that it is about."""

    text: str = ""
    session: str = ""
    declared: bool = False
    """Whether the session has items, and so a declared plan."""
    runs: tuple[str, ...] = ()
    """The keys of the runs that it is about, the newest first."""
    own: bool = False
    """Whether it is about the run that it is given to."""
    shown: str = ""
    """A line for the user that the run was told something."""


def brief_at_resume(workspace: Workspace, finder: RunFinder, event: HookEvent, budget: int) -> HookBrief:
    """What the history of a run lacks: that it was cut off, or what other runs did in the meantime."""
    own = own_run(finder, event)
    other = newest_run(
        finder,
        but=lambda run: (
            run.native == event.native or run.path == event.transcript or not is_here(finder, run)
        ),
    )
    if own is None:
        is_cut_off = other is not None and _was_cut_off(workspace, finder, other)
        return brief_of_run(workspace, finder, other, budget) if other and is_cut_off else HookBrief()
    if _was_cut_off(workspace, finder, own):
        return replace(brief_of_run(workspace, finder, own, budget), own=True)
    newer = other if other is not None and other.changed > own.changed + 1 else None
    went_on = newer is not None and finder.key(own) in runs_taken_up(workspace, finder, newer)
    if went_on or not _is_forgotten(workspace, finder, own):
        return brief_of_run(workspace, finder, newer, budget) if newer is not None else HookBrief()
    line = line_of_others(workspace, finder, [newer] if newer else [], "worked here meanwhile")
    return brief_of_run(workspace, finder, own, budget, (line,) if line else (), is_own=True)


def _is_forgotten(workspace: Workspace, finder: RunFinder, own: Found) -> bool:
    """Whether a run was told something at its start or after a compaction that its agent has not kept."""
    if not traits_of(agent_of(own.agent)).forgets_hook_context:
        return False
    try:
        digest = digest_of(workspace, finder, own)
    except SegueError:
        return False
    return bool(digest.compactions) or brief_given_to(workspace, finder, own) is not None


def own_run(finder: RunFinder, event: HookEvent) -> Found | None:
    """The transcript of the run that the hook was called for; None if there is none yet."""
    if event.transcript:
        try:
            stat = Path(event.transcript).stat()
        except OSError:
            return None
        if not stat.st_size:
            return None
        at = next(iter(finder.transcripts_at(Path(event.transcript), agent_of(event.agent))), None)
        found = at or Found(event.agent, event.transcript, event.native, stat.st_mtime, stat.st_size)
        found = replace(found, cwd=event.cwd or found.cwd)
    else:
        listed = (found for found in finder.found(event.agent) if found.native == event.native)
        known = next(listed, None)
        if known is None:
            return None
        found = known
    if event.kind == "end":
        return replace(found, sign="ended", pid=0)
    return replace(found, sign="alive", pid=event.pid or found.pid)


def _was_cut_off(workspace: Workspace, finder: RunFinder, found: Found) -> bool:
    try:
        return left_of(digest_of(workspace, finder, found)) == "middle"
    except SegueError:
        return False


def brief_at_start(workspace: Workspace, finder: RunFinder, before: Predecessor, budget: int) -> HookBrief:
    """The state of the work; empty if it is finished, or too old to be continued."""
    other, notices = before.found, (before.others,) if before.others else ()
    chosen = chosen_since(workspace, finder, other) if other is not None else None
    if other is not None and chosen is not None:
        line = line_of_before(workspace, finder, other)
        runs = RunsSummary(notices=(*notices, line) if line else notices)
        return rendered(workspace, runs, chosen, budget)
    state = _state_of_run(workspace, finder, other) if other is not None else None
    over = state if state is not None and state.status not in OPEN else None
    if state is None or over is not None:
        current = session_state(workspace, "")
        state = current if current is not None and current.status in OPEN else None
    days = workspace.settings.number("resumable_days")
    old = other is not None and time.time() - other.changed > 86_400 * days
    if other is None or over is not None:
        state = state if _has_plan(workspace, state) else None
        if state is None and over is not None and not old:
            notices = (*notices, f"the session before, {quote(over.goal, GOAL_BYTES)}, was {over.status}")
        if state is None and not notices:
            return HookBrief()
        return rendered(workspace, RunsSummary(notices=notices), state, budget)
    if old and not _has_plan(workspace, state):
        return HookBrief()
    brief = brief_of_run(workspace, finder, other, budget, notices)
    if brief.text or not notices:
        return brief
    return rendered(workspace, RunsSummary(notices=notices), None, budget)


def _has_plan(workspace: Workspace, state: SessionState | None) -> bool:
    """Whether a session is open and has unfinished items or features, or was declared by somebody."""
    if state is None or state.status not in OPEN:
        return False
    undone = bool(state.next or state.active or state.blocked or state.features)
    if undone:
        return True
    try:
        return not is_undeclared(workspace.store.read(stream_of(state.id)))
    except SegueError:
        return not (state.last_action.startswith(OBSERVED) and has_observed_goal(workspace, state))


def _state_of_run(workspace: Workspace, finder: RunFinder, found: Found) -> SessionState | None:
    """The session of a run, or the current one if somebody declared it; None if there is none."""
    id = session_of_run(workspace, finder, found)
    state = session_state(workspace, id)
    return state if state is None or id or _has_plan(workspace, state) else None


def session_state(workspace: Workspace, id: str) -> SessionState | None:
    """The session with this id, or the current one; None if there is none."""
    try:
        return find_session(workspace, id).state
    except UnknownSession:
        last = workspace.last_seen("")
        return last.state if last is not None else None


def brief_of_run(
    workspace: Workspace, finder: RunFinder, found: Found, budget: int, notices: tuple[str, ...] = (),
    *, is_own: bool = False, alone: bool = False,
) -> HookBrief:  # fmt: skip
    """A brief about a run, for another one or, with ``is_own``, for that run itself. ``alone`` leaves out
    what other runs said that nobody heard: it is other work."""
    try:
        runs = summary_of_run(workspace, finder, found, alone=alone)
    except SegueError:
        return HookBrief()
    digest = runs.digests[0]
    state = _state_of_run(workspace, finder, found)
    if state is not None and state.status not in OPEN:
        state = None
    if not (digest.prompts or runs.entries or digest.calls or _has_plan(workspace, state)):
        return HookBrief()
    runs = replace(runs, notices=(*notices, *runs.notices))
    return rendered(workspace, runs, state, budget, is_own=is_own)


def rendered(
    workspace: Workspace, runs: RunsSummary, state: SessionState | None, budget: int, *, is_own: bool = False
) -> HookBrief:
    last = workspace.last_seen("")
    more = command_for_more(runs, state)
    more += as_last_seen(last) if last is not None and state is not None else ""
    known = gather(workspace, state, runs, world=world_now(workspace, runs), covers=last is None)
    known.own = is_own
    text = render_brief(known, runs, budget=budget, more=more)
    declared = bool(state and state.items)
    shown = (
        f"told where {'this run' if is_own else 'the last run'} stopped"
        if runs.digests
        else "told what is open"
        if state is not None
        else ""
    )
    return HookBrief(text, state.id if state else "", declared, runs.keys, is_own, shown)
