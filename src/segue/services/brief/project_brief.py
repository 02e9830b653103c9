"""Briefs of a run, of a session, or of the present state of work in a project. Making one never creates a
store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ...agents.base import Found
from ...core.brief.compose import BYTES_DEFAULT, BYTES_MIN
from ...core.brief.facts import BriefFacts
from ...core.sessions.state import OPEN, SessionState
from ...effects.git import repository as git
from ...errors import BadName, StoreUnavailable, UnknownRun, UnknownSession
from ...settings import data_folder, store_of
from ..runs.assign_session import has_observed_goal
from ..runs.discovery import RunFinder
from ..runs.observed import runs_of
from ..runs.select import find_run, is_here, newest_other_run, newest_run_elsewhere
from ..workspace.data_folder import DataFolder
from ..workspace.open_session import find_session
from ..workspace.open_workspace import for_looking, open_workspace, without_store
from ..workspace.own_files import own_files
from ..workspace.workspace import Workspace
from .brief import Format, check_budget, has_room_for_quotes, render_brief
from .gather import (
    command_for_more,
    digest_of,
    entries_of_runs,
    gather,
    is_at_work,
    session_of_run,
    summary_of_run,
    summary_of_session,
    world_now,
)
from .notices import notice_of_handover
from .predecessor import chosen_since, line_of_before
from .runs_summary import RunsSummary

if TYPE_CHECKING:
    from ...core.brief.manifest_words import Workplace
    from ...core.runs.quotable import RunText
    from ..workspace.last_seen import LastSeenSession

_AFTER_ALL = 1 << 40
"""A step after all others."""


def told_bytes(workspace: Workspace) -> int:
    """How many bytes a run is told at most: enough for the words that hold."""
    return max(BYTES_MIN, int(workspace.settings.number("hook_brief_bytes")))


def workspace_to_look(folder: Path, environment: Mapping[str, str]) -> Workspace:
    """A workspace for commands that only read. Where nothing was ever stored, nothing is created; while a
    shared store cannot be reached, the session is the one that was last seen."""
    empty = for_looking(folder, environment)
    if empty is not None:
        return empty
    try:
        return open_workspace(folder=folder, environment=environment)
    except StoreUnavailable:
        home = DataFolder(data_folder(environment)).for_store(store_of(environment))
        if not home.shared_store:
            raise
        from ..workspace.last_seen import last_here

        return without_store(folder, environment, last_here(home, folder))


def brief_here(
    workspace: Workspace, what: str = "", agent: str = "", *, budget: int = BYTES_DEFAULT,
    form: Format = "text",
) -> str:  # fmt: skip
    """The brief of a run or a session, or without an id of the present state of work in this project. Raises
    UnknownRun if there is nothing to tell."""
    check_budget(budget)
    known, runs, more, shown = facts_here(workspace, what, agent)
    blocks: Sequence[RunText] = ()
    if shown is not None and has_room_for_quotes(budget, form):
        from .quoting import blocks_of

        blocks = [*blocks_of(runs_of(workspace).finder(), shown), *_uncommitted(workspace)]
    return render_brief(
        known, runs, blocks=blocks, budget=budget, form=form, more=more, place=_place(workspace, runs, form)
    )


class FactsHere(NamedTuple):
    """What the brief of a project is made of."""

    known: BriefFacts
    runs: RunsSummary
    more: str
    """The command that shows what does not fit."""
    shown: Found | None
    """The run that it tells of."""


def facts_here(workspace: Workspace, what: str = "", agent: str = "") -> FactsHere:
    """What is known of a run or a session, or without an id of the present state of work in this project.
    Raises UnknownRun if there is nothing to tell."""
    finder = runs_of(workspace).finder()
    finder.remember()
    found: Found | None = None
    state: SessionState | None = None
    as_of = ""
    try:
        found = find_run(finder, what) if what else newest_other_run(finder, agent)
    except UnknownRun:
        state, as_of = _session(workspace, what, required=True)
        if not what and not as_of:
            found = _shared_run(workspace, finder, agent, state)
        if state is None and found is None and (what or not notice_of_handover(workspace)):
            raise
    if found is None:
        runs = RunsSummary()
    elif what:
        folder = "" if is_here(finder, found) else found.cwd
        digests = (digest_of(workspace, finder, found),)
        entries = entries_of_runs(workspace, finder, [found])
        runs = RunsSummary(digests, found.agent, found.native, elsewhere=folder, entries=entries)
    else:
        chosen = chosen_since(workspace, finder, found)
        if chosen is not None:
            line = line_of_before(workspace, finder, found)
            runs, found = RunsSummary(notices=(line,) if line else ()), None
            id = chosen.id
        else:
            runs = summary_of_run(workspace, finder, found)
            id = session_of_run(workspace, finder, found)
        state, as_of = _session(workspace, id)
        if not id and state is not None and has_observed_goal(workspace, state):
            state = None  # of another run
    known = gather(
        workspace, state, runs, world=world_now(workspace, runs), memories=() if as_of else None,
        covers=not as_of, by_meaning=True,
    )  # fmt: skip
    told = runs.found or found
    known.at_work = told is not None and is_at_work(workspace, finder, told)
    return FactsHere(known, runs, command_for_more(runs, state) + as_of, told)


def _uncommitted(workspace: Workspace) -> list[RunText]:
    """What git says is changed and not committed, file by file, to be quoted; empty without git."""
    root = workspace.working_tree.root
    if not workspace.sees_tree or git.find(root) is None:
        return []
    from ...core.runs.quotable import RunText
    from ...effects.git.hunks import HunkQuery
    from .quoting import masked_blocks

    files = HunkQuery(root, own=own_files(workspace.home, root)).changes().files
    texts = [RunText("diff", file.path, file.text, _AFTER_ALL, file.path) for file in files]
    return masked_blocks(texts)


class SessionFacts(NamedTuple):
    """What the brief of a session is made of."""

    known: BriefFacts
    runs: RunsSummary
    more: str
    """The command that shows what does not fit."""


def facts_of_session(workspace: Workspace, session: str) -> SessionFacts:
    """What is known of a session: its state, its newest runs, and memories. Raises UnknownSession."""
    state = find_session(workspace, session).state
    runs = summary_of_session(workspace, state)
    known = gather(workspace, state, runs, world=world_now(workspace, runs), by_meaning=True)
    shown = runs if workspace.sees_tree else RunsSummary()  # a server has no transcripts to show
    return SessionFacts(known, runs, command_for_more(shown, state))


def brief_of_session(
    workspace: Workspace, session: str, *, budget: int = BYTES_DEFAULT, form: Format = "text"
) -> str:
    """The brief of a session. Raises UnknownSession."""
    check_budget(budget)
    known, runs, more = facts_of_session(workspace, session)
    return render_brief(known, runs, budget=budget, form=form, more=more, place=_place(workspace, runs, form))


def _place(workspace: Workspace, runs: RunsSummary, form: Format) -> Workplace | None:
    """The place of work, which only a manifest tells."""
    if form != "json":
        return None
    from .workplace import workplace_of

    return workplace_of(workspace, runs)


def _shared_run(
    workspace: Workspace, finder: RunFinder, agent: str, state: SessionState | None
) -> Found | None:
    if finder.runs is None:
        return None
    projects = workspace.working_tree.project_keys(workspace.settings)
    session = state.id if state is not None else ""
    return newest_run_elsewhere(finder, session=session, projects=projects, agent=agent)


def _session(workspace: Workspace, id: str, *, required: bool = False) -> tuple[SessionState | None, str]:
    """The session with this id, or the current one if it is open; None if there is none.

    While the store cannot be reached it is the one last seen, and the second part says so. If not even that
    is known there is none, unless it is ``required``: then StoreUnavailable is raised."""
    try:
        state = find_session(workspace, id).state
    except (UnknownSession, BadName, StoreUnavailable) as fault:
        last = workspace.last_seen(id or _current(workspace))
        if last is not None and (id or last.state.status in OPEN):
            return last.state, as_last_seen(last)
        if required and isinstance(fault, StoreUnavailable):
            raise
        return None, ""
    return (state, "") if id or state.status in OPEN else (None, "")


def _current(workspace: Workspace) -> str:
    try:
        return workspace.current_session()
    except StoreUnavailable:
        return ""


def as_last_seen(last: LastSeenSession) -> str:
    """A remark that a session is shown as it was last seen."""
    pending = f", {last.pending} pending" if last.pending else ""
    return f" (server unreachable; the session as of {last.at[:16]}Z{pending})"
