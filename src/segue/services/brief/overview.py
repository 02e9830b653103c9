"""Where the work in a folder stands and what fits next: what `segue` alone says.

No transcript is read but for its last record. The newest run is looked for among the agents' files as well as
in the store: of one that was killed no hook has told.
"""

from __future__ import annotations

import time
from contextlib import suppress

from msgspec.structs import replace

from ...core.base.values import Value, iso
from ...core.features.verdict import Verdict
from ...core.sessions.state import OPEN, SessionState
from ...core.sessions.status import LIVING, Card, SessionStatus
from ...errors import SegueError, StoreUnavailable, UnknownSession
from ..runs.sessions_shown import KnownStatus, known_status, list_sessions
from ..sessions.offers import ledger_of, offers_in
from ..workspace.on_off import is_off
from ..workspace.open_session import find_session
from ..workspace.workspace import Workspace
from .notices import notices_of

QUESTIONS_SHOWN = 3
SUGGESTIONS_MAX = 3
SESSIONS_SHOWN = 3


class LastRun(Value):
    """The newest run in a folder, as far as it is known without reading its transcript."""

    id: str
    agent: str
    last: str
    """When it was last active."""
    ended: str = ""
    """alive, recent, waiting, ended, interrupted or crashed; empty if it is not known."""
    goal: str = ""
    """The beginning of its first prompt; empty if it is not known."""


class RunsElsewhere(Value):
    """How many runs of how many agents are on this machine."""

    runs: int
    agents: int


class Suggestion(Value):
    """A command that fits where the work stands."""

    command: str
    about: str


class Overview(Value):
    """Where the work in a folder stands."""

    project: str
    folder: str
    session: SessionStatus | None = None
    """The current session."""
    run: LastRun | None = None
    waits: list[str] = []
    """What waits for the user, a sentence each."""
    suggestions: list[Suggestion] = []
    sessions: list[Card] = []
    """The newest open sessions of the project, where none is current."""
    is_set_up: bool = False
    """Whether `segue init` has told an agent of Segue."""
    as_of: str = ""
    """When the session was seen, if the server cannot be reached now."""
    pending: int = 0
    """How many changes on this machine wait until the server can be reached."""

    elsewhere: RunsElsewhere | None = None
    """The runs in other folders, where nothing is known of this one."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing is known of this folder."""
        return not (self.session or self.run or self.sessions or self.waits)


class LocatedWork(Value):
    """An overview, and the state of its session."""

    overview: Overview
    state: SessionState | None = None


def overview_of(workspace: Workspace) -> LocatedWork:
    """Where the work in a workspace's folder stands."""
    known = _current(workspace)
    is_set_up = (workspace.home.path / "hook" / "hook.py").exists()
    status = known.status if known is not None else None
    state = known.state if known is not None else None
    runs = status.runs if status is not None else ()
    run = LastRun(runs[0].id, runs[0].agent, runs[0].last, runs[0].ended) if runs else None
    if workspace.sees_tree:  # a run that was killed is in the agents' files alone
        run = _newer(run, _newest_found(workspace))
    is_open = status is not None and status.status in OPEN
    root = workspace.working_tree.root
    found = Overview(
        project=(state.project_name if state is not None else "") or root.name,
        folder=str(root),
        session=status,
        run=run,
        waits=_waits(workspace, state, status),
        sessions=[] if is_open else _open_sessions(workspace)[:SESSIONS_SHOWN],
        is_set_up=is_set_up,
        as_of=known.as_of if known is not None else "",
        pending=known.pending if known is not None else 0,
    )
    if found.is_empty and workspace.sees_tree:
        found = replace(found, elsewhere=_elsewhere(workspace))
    if status is not None and state is not None and is_open:
        fits = _in_session(found, status, state)
    else:
        fits = _without_session(found)
    return LocatedWork(replace(found, suggestions=fits[:SUGGESTIONS_MAX]), state)


def _current(workspace: Workspace) -> KnownStatus | None:
    """The status of the current session; None if there is none, or it is archived."""
    with suppress(UnknownSession):
        return known_status(find_session(workspace))
    return None


def _open_sessions(workspace: Workspace) -> list[Card]:
    with suppress(StoreUnavailable):
        return [card for card in list_sessions(workspace) if card.status in OPEN]
    return []


def _newest_found(workspace: Workspace) -> LastRun | None:
    """The newest run among the agents' files, with what the store knows of it."""
    from ...agents import agent as agent_of  # few need the agents' files
    from ..runs import cursor
    from ..runs.listing import last_record
    from ..runs.observed import runs_of
    from ..runs.run import facts_of, refreshed
    from ..runs.select import newest_run

    finder = runs_of(workspace).finder()
    found = newest_run(finder, but=finder.is_caller)
    if found is None:
        return None
    with suppress(SegueError):
        row = finder.row(found)
        facts, agent = facts_of(row) if row is not None else None, agent_of(found.agent)
        if facts is not None and cursor.is_unchanged(facts.stamp, cursor.stamp_of(found, agent), agent):
            run = refreshed(facts.run, found, now=time.time())
            return LastRun(run.id, run.agent, run.last, run.ended, run.goal)
    last = last_record(found) or found.changed
    return LastRun(found.native, found.agent, iso(last), found.sign)


def _elsewhere(workspace: Workspace) -> RunsElsewhere | None:
    from ..runs.listing import newest_runs

    with suppress(SegueError, OSError):
        listed = newest_runs(workspace, everywhere=True, limit=1)
        return RunsElsewhere(listed.total, len(listed.agents)) if listed.runs else None
    return None


def _newer(one: LastRun | None, other: LastRun | None) -> LastRun | None:
    """The newer of two runs, and of the same run what was found last."""
    if one is None or other is None:
        return one or other
    if one.id == other.id:
        return replace(other, ended=other.ended or one.ended, goal=other.goal or one.goal)
    return max(one, other, key=lambda run: run.last)


# -- what waits --------------------------------------------------------------------------------


def _waits(workspace: Workspace, state: SessionState | None, status: SessionStatus | None) -> list[str]:
    found = notices_of(workspace, state)
    if path := workspace.pause_file.in_force():
        found.insert(0, f"{path} exists: nothing is written until it is gone")
    if is_off(workspace.home, workspace.folder, state.id if state is not None else ""):
        found.append("Segue is off here: nothing is recorded; `segue on` switches it on")
    if state is not None and status is not None and status.status in OPEN:
        found += [
            f"question #{number}: {question.text}"
            for number, question in enumerate(state.questions.flat(), 1)
            if not question.answer
        ][:QUESTIONS_SHOWN]
        found += _offers(workspace, state.id)
    return found


def _offers(workspace: Workspace, session: str) -> list[str]:
    """The offers of a session that nobody has taken yet."""
    with suppress(StoreUnavailable):
        if not workspace.store.head(ledger_of(session)).version:
            return []
        return [
            f"offered to {offer.to}, not taken yet: `segue handoff --list`"
            for offer in offers_in(workspace.store, session)
            if offer.status == "open"
        ]
    return []


# -- what fits ---------------------------------------------------------------------------------


def _without_session(found: Overview) -> list[Suggestion]:
    fits = []
    if found.run is not None:
        fits.append(Suggestion("segue brief", "where the last run stopped"))
        if found.run.ended not in LIVING:
            fits.append(Suggestion("segue continue", "continue it in an agent"))
    if found.sessions:
        fits.append(Suggestion(f"segue switch {found.sessions[0].id}", "switch to the newest open session"))
    if not found.is_set_up:
        fits.insert(
            min(len(fits), 2),
            Suggestion("segue init", "set up the agents on this machine to work with Segue"),
        )
    fits.append(Suggestion('segue start "…"', "start a session with a goal"))
    return [*fits, Suggestion("segue help --all", "all commands")]


def _in_session(found: Overview, status: SessionStatus, state: SessionState) -> list[Suggestion]:
    is_at_work = found.run is not None and found.run.ended in LIVING
    unproven = [one for one in status.features if not one.passes]
    fits = []
    if any("`segue handover run`" in text for text in found.waits):
        fits.append(Suggestion("segue handover run", "finish the handover that was interrupted"))
    if status.questions:
        number = next(n for n, one in enumerate(state.questions.flat(), 1) if not one.answer)
        fits.append(Suggestion(f"segue answer {_number(number)} …", "answer the first question"))
    if is_at_work:
        fits.append(Suggestion("segue status --watch", "watch it while it works"))
    fits += _about_checks(unproven)
    is_done = not (status.active or status.next or status.blocked or unproven)
    if is_done and (status.done or status.features):
        fits.append(Suggestion("segue complete", "everything is done: end the session"))
    elif status.budget.exceeded and not status.budget.limited:
        fits.append(Suggestion("segue budget", "what you can do when the budget is spent"))
    elif not is_at_work:
        fits.append(Suggestion("segue continue", "continue it in an agent"))
    if found.run is not None:
        fits.append(Suggestion("segue brief", "where the last run stopped"))
    if not status.active and status.next:
        fits.append(Suggestion(f"segue begin {_number(state.next[0] + 1)}", "begin with the next item"))
    return [*fits, Suggestion("segue status", "everything about the session")]


def _about_checks(unproven: list[Verdict]) -> list[Suggestion]:
    to_run = [one for one in unproven if one.checks]
    if not to_run:
        return []
    state = "failing" if any(one.status == "failing" for one in to_run) else "not proven now"
    return [Suggestion("segue verify", f"run the checks: {len(to_run)} {state}")]


def _number(number: int) -> str:
    """The number of an item or a question as a shell takes it."""
    return f'"#{number}"'
