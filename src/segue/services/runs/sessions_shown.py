"""Sessions as they are shown: with their runs, and paused where all of these have stopped.

Nothing is written for it: a session is *paused* while it is looked at, and active again as soon as one of its
runs goes on. Every surface asks here. What is known of runs is what the last hook or sync stored; of those
that may be at work, the process or, where none is known, the time of the transcript is looked at.
"""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Sequence

from msgspec.structs import replace

from ...agents import agent as agent_of
from ...core.base.values import Value, iso, seconds_of
from ...core.sessions import commands as do
from ...core.sessions.state import SessionState
from ...core.sessions.status import LIVING, Card, SessionRun, SessionStatus, last_active_of, status_of
from ...effects.clock import moment
from ...effects.processes.identity import host_name
from ...errors import StoreUnavailable, UnknownAgent
from ...stores.base import RunRow
from ..features.features import session_status
from ..workspace.session_handle import SessionHandle
from ..workspace.workspace import Workspace

BY_HAND_SECONDS = 120.0
"""What is written into a session so long after its last run was not written by that run's hooks."""


class RunsOfSession(Value):
    """What is known of a session's runs."""

    runs: tuple[SessionRun, ...] = ()
    """Those that are no sub-agents', the newest first."""
    last: str = ""
    """When one of them was last active."""
    living: bool = False
    """Whether one of them is at work, as far as is known."""

    count: int = 0
    """How many there are, with sub-agents'."""


NO_RUNS = RunsOfSession()


def status_shown(
    status: str, runs: RunsOfSession, *, touched: str, held: bool, resumed: str = ""
) -> str:  # fmt: skip
    """The status that is shown of a session: one that has runs, none of them at work, that nobody holds, and
    that nobody ``touched`` or ``resumed`` since is paused, though nobody has paused it."""
    if status != "active" or not runs.count or runs.living or held:
        return status
    if resumed and seconds_of(resumed) > seconds_of(runs.last):
        return status
    by_hand = bool(touched) and seconds_of(touched) > seconds_of(runs.last) + BY_HAND_SECONDS
    return status if by_hand else "paused"


def runs_by_session(workspace: Workspace, session: str = "") -> dict[str, RunsOfSession]:
    """What is known of the runs of every session, or of one."""
    rows: dict[str, list[RunRow]] = {}
    for row in workspace.store.runs.rows(session=session):
        if row.session:
            rows.setdefault(row.session, []).append(row)
    now, host = time.time(), host_name()
    return {
        id: _together(newest_first, now, host, sees_files=workspace.sees_tree)
        for id, newest_first in rows.items()
    }


def _together(newest_first: Sequence[RunRow], now: float, host: str, *, sees_files: bool) -> RunsOfSession:
    from .run import OVER, end_in, ended_now  # a session without runs does not need the readers

    runs: list[SessionRun] = []
    living = False
    last = ""
    for row in newest_first:
        run = end_in(row)
        if run is None:
            continue
        ended = run.ended
        if row is newest_first[0]:
            last = run.last
            if sees_files and not run.pid and _was_written_lately(row, now, over=ended in OVER):
                ended = "recent"
        if ended not in (*OVER, "recent"):
            ended = ended_now(run, changed=row.last, now=now, host=host)
        living = living or ended in LIVING
        if not run.side:
            runs.append(SessionRun(run.id, run.agent, run.last, ended))
    return RunsOfSession(tuple(runs), last or iso(newest_first[0].last), living, len(newest_first))


def _was_written_lately(row: RunRow, now: float, *, over: bool) -> bool:
    """Whether the transcript of a run was written to a moment ago and, if the run was ``over``, after it was
    read; not known of one in a database, where others may have written."""
    from .run import ALIVE_SECONDS, facts_of

    try:
        written = os.stat(row.path)
        if now - written.st_mtime >= ALIVE_SECONDS or agent_of(row.agent).form == "database":
            return False
        facts = facts_of(row) if over else None
        return facts is None or facts.stamp.size != written.st_size
    except (OSError, ValueError, UnknownAgent):
        return False


# -- lists -------------------------------------------------------------------------------------


def list_sessions(
    workspace: Workspace, *, everywhere: bool = False, status: str = "", project: str = "",
    organization: str = "",
) -> list[Card]:  # fmt: skip
    """Sessions of this project with their runs, the most recently active first. ``everywhere``, or naming a
    project or an organization, looks at all projects."""
    only_here = not (everywhere or project or organization)
    keys = set(workspace.working_tree.project_keys(workspace.settings)) if only_here else set()
    cards = [
        card
        for card in workspace.repository.cards()
        if (not keys or card.project in keys)
        and (not project or project in (card.project, card.project_name))
        and (not organization or card.organization == organization)
    ]
    shown = [card for card in _with_runs(workspace, cards) if not status or card.status == status]
    return sorted(shown, key=lambda card: (card.last_active, card.id), reverse=True)


def _with_runs(workspace: Workspace, cards: Sequence[Card]) -> list[Card]:
    known = runs_by_session(workspace)
    if not known:
        return list(cards)
    holds = {name.removeprefix("hold/") for name, _ in workspace.store.streams("hold/")}
    return [_card_with_runs(workspace, card, known.get(card.id, NO_RUNS), holds) for card in cards]


def _card_with_runs(
    workspace: Workspace, card: Card, runs: RunsOfSession, ever_held: Collection[str]
) -> Card:
    if not runs.count:
        return card
    status = status_shown(card.status, runs, touched=card.last_active, held=False)
    if status != card.status and card.id in ever_held and workspace.holds.living(card.id):
        status = card.status
    if status != card.status and seconds_of(card.last_active) > seconds_of(runs.last):
        resumed = workspace.repository.state(card.id).resumed
        status = status_shown(card.status, runs, touched=card.last_active, held=False, resumed=resumed)
    last_active = max(card.last_active, runs.last)
    return replace(card, status=status, last_active=last_active, runs=runs.runs)


def resumable_sessions(
    workspace: Workspace, *, everywhere: bool = False, project: str = "", organization: str = ""
) -> list[Card]:
    """Sessions to continue: paused, or unfinished and held by no living run, and active within the last
    ``resumable_days``."""
    since = moment(-86400 * workspace.settings.number("resumable_days"))
    return [
        card
        for card in list_sessions(
            workspace, everywhere=everywhere, project=project, organization=organization
        )
        if card.last_active >= since
        and (
            card.status == "paused"
            or (card.status in ("active", "created") and not workspace.holds.living(card.id))
        )
    ]


# -- one session -------------------------------------------------------------------------------


def status_with_runs(session: SessionHandle) -> SessionStatus:
    """The status of a session: items by state, verdicts of its features, its runs, and which of them hold
    it."""
    found = session_status(session)
    runs = runs_by_session(session.workspace, session.id).get(session.id, NO_RUNS)
    status = status_shown(
        found.status, runs, touched=found.last_active, held=bool(found.held_by),
        resumed=found.lifecycle.resumed,
    )  # fmt: skip
    last_active = max(found.last_active, runs.last)
    return replace(found, status=status, last_active=last_active, runs=runs.runs)


def state_shown(workspace: Workspace, state: SessionState) -> str:
    """The status that is shown of a session in this state."""
    runs = runs_by_session(workspace, state.id).get(state.id, NO_RUNS)
    held = bool(workspace.holds.living(state.id))
    touched = last_active_of(state)
    return status_shown(state.status, runs, touched=touched, held=held, resumed=state.resumed)


def resumption(session: SessionHandle) -> do.Resume:
    """The command that resumes a session, also one that is shown as paused because its runs have ended."""
    state = session.state
    over = state.status == "active" and state_shown(session.workspace, state) == "paused"
    return do.Resume(again=over)


class KnownStatus(Value):
    """A status, and the state that it was taken from."""

    status: SessionStatus
    state: SessionState
    as_of: str = ""
    """When it was seen, if the server cannot be reached now."""
    pending: int = 0
    """How many changes on this machine wait until the server can be reached."""


def known_status(session: SessionHandle) -> KnownStatus:
    """The status of a session as it is or, while the server cannot be reached, as it was last seen. Raises
    StoreUnavailable if it was never seen."""
    try:
        return KnownStatus(status_with_runs(session), session.state)
    except StoreUnavailable:
        last = session.workspace.last_seen(session.id)
        if last is None:
            raise
        return KnownStatus(status_of(last.state), last.state, last.at, last.pending)
