"""Assigning runs to sessions: the one that was named, the parent run's, the working tree's current one, or a
new one.

An *undeclared* session is one whose events were all written by Segue itself (``OBSERVER``), but for
corrections of its ledger; its goal is the run's first request. It takes further runs only as continuations: a
run that was told of it at its start, a fork, or work on the same branch within seven days; and only if their
first message goes on with its work, adds to it, or is about it. Other work begins a session of its own, with
the rules that hold in the project. A run whose messages only say to go on begins no session. The session's id
derives from the run, so that repeating a sync, even after a crash, finds the same session. A declared session
takes runs that were active since it was created. A session that another living run works on is left alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from ...core.base.values import seconds_of
from ...core.journal.event import Draft, Event, draft, read_body
from ...core.language.sentences import is_assent
from ...core.ledger.events import LEDGER_KINDS, SaidKept
from ...core.ledger.model import Entry
from ...core.ledger.other_work import is_other_work
from ...core.ledger.standing import rules_alone
from ...core.runs.model import RunDigest
from ...core.sessions.events import Created
from ...core.sessions.state import OBSERVED, OBSERVER, OPEN, SessionState, observed_note
from ...effects.clock import now
from ...effects.processes.identity import ancestors, is_alive
from ...errors import SegueError, StaleVersion
from ...stores.base import Append
from ..sessions.repository import stream_of
from ..workspace.open_session import is_archived
from ..workspace.working_tree import WorkingTree
from ..workspace.workspace import Workspace
from .run import ALIVE_SECONDS, WENT_ON_SECONDS, Run, opening_of
from .run_stream import brief_given

CONTINUED_DAYS = 7.0


class Trail(msgspec.Struct):
    """A run that belongs to a session, and where and when it worked."""

    agent: str
    id: str
    session: str
    root: str
    branch: str
    began: float
    last: float
    living: bool
    key: str


class SessionAssigner:
    """Finds or begins the sessions of runs. Nothing is written before ``commit``."""

    def __init__(
        self, workspace: Workspace, roots: Iterable[Path], known: Iterable[Run], *, session: str = ""
    ) -> None:
        self._workspace = workspace
        self._roots = [str(root) for root in roots]
        self._named = session
        self._merged: dict[str, str] = {}
        """Sessions of other rows of the same runs, by the runs' keys."""
        self._sessions: dict[tuple[str, str], str] = {}
        self._openings: dict[str, list[str]] = {}
        """What was asked first in the runs of sessions, of which the ledger may know nothing yet."""
        """Sessions by agent and the agent's own id of the run."""
        self._trails: list[Trail] = []
        self._appends: dict[str, list[Draft]] = {}
        self.came_after: dict[str, str] = {}
        """Of sessions that were begun: the one before in the same working tree that was begun with them, so
        that its rules are not known yet."""
        self._undeclared: dict[str, bool] = {}
        self._states: dict[str, SessionState | None] = {}
        self._trees: dict[str, WorkingTree] = {}
        self._root_by_cwd: dict[str, str] = {}
        for run in sorted(known, key=lambda run: run.last):
            if run.session:
                self._follow(run, run.session)

    def merge(self, key: str, session: str) -> None:
        """Take over the session of another row of the same run, unless the run has one that was declared."""
        if session and self._exists(session):
            self._merged[key] = session

    def lead_of(self, run: Run) -> str:
        """The id of the run that a sub-agent works for: the one that its transcript names or, without that,
        the newest of the same agent in the same working tree that was alive when it began; empty if there is
        none."""
        if run.parent or not run.side:
            return run.parent
        root, began = self._root_of(run), seconds_of(run.began)
        leads = (
            trail
            for trail in self._trails
            if (trail.agent, trail.root) == (run.agent, root) and trail.began <= began
            if trail.living or trail.last + ALIVE_SECONDS >= began
        )
        newest = max(leads, key=lambda trail: trail.began, default=None)
        return newest.id if newest is not None else ""

    def _before(self, run: Run) -> str:
        """The session that a run belongs to already; empty if there is none. A sub-agent that counted as a
        run of its own before goes over to its lead's."""
        own = run.session if run.session and self._exists(run.session) else ""
        if own and run.side and run.parent and self._is_undeclared(own):
            lead = self._sessions.get((run.agent, run.parent), "")
            own = lead or own
        other = self._merged.get(run.key, "")
        replaced = other and (not own or (self._is_undeclared(own) and not self._is_undeclared(other)))
        return other if replaced else own

    def session_of(self, run: Run) -> str:
        """The session of a run; empty for a run of which nothing says what it is about."""
        before = self._before(run)
        is_renamed = self._named and before and self._is_undeclared(before)
        session = before if before and not is_renamed else self._chosen(run)
        if session:
            self._follow(run, session)
        return session

    def _chosen(self, run: Run) -> str:
        if self._named:
            return self._named
        parent = self._sessions.get((run.agent, run.parent), "") if run.parent else ""
        if run.side or (parent and self._takes(parent, run)):
            return parent
        if not run.goal:
            return ""
        given = brief_given(self._workspace.store, run.agent, run.id)
        goes_on = is_assent(run.opening or run.goal)
        if given is None:
            return next(self._candidates(run, goes_on=goes_on), "") or self._new(run, run.goal)
        told = given.session if self._state(given.session) is not None else ""
        if told and self._is_its_work(told, run) and self._takes(told, run, given.runs):
            return told
        return next(self._candidates(run, given.runs, goes_on=goes_on), "") or self._new(run, run.goal)

    def _is_its_work(self, session: str, run: Run) -> bool:
        state = self._state(session)
        opening = run.opening or run.goal
        if state is not None and state.said:
            return is_work_of(state, opening)
        asked = [Entry(text, "request", text) for text in self._openings.get(session, ())]
        return not opening or is_assent(opening) or not asked or not is_other_work(opening, asked)

    def _candidates(self, run: Run, told: Sequence[str] = (), *, goes_on: bool) -> Iterator[str]:
        """The sessions that a run may belong to: the current one if it is declared, and those of the runs
        that it was told of or, if there are none, that it may have continued. With ``goes_on`` it has no task
        of its own; what it was told of is taken up then, though that may seem to live."""
        root = self._root_of(run)
        current = self._tree(root).tree().current if root in self._roots else ""
        if current and not self._is_undeclared(current) and self._takes(current, run):
            state = self._state(current)
            if state is not None and seconds_of(run.last) >= seconds_of(state.created):
                yield current
        for trail in reversed(self._trails):
            if told and trail.key not in told:
                continue
            if not goes_on and (_overlap(trail, run) or self._took_up_others(trail, run)):
                continue
            if not self._continues(trail, run, root) or not self._takes(trail.session, run, told):
                continue
            if goes_on or self._is_its_work(trail.session, run):
                yield trail.session

    def _took_up_others(self, trail: Trail, run: Run) -> bool:
        """Whether a later run was told what it goes on with, and it was not this run."""
        if trail.began <= seconds_of(run.began):
            return False
        given = brief_given(self._workspace.store, trail.agent, trail.id)
        return given is not None and bool(given.runs) and run.key not in given.runs

    def _continues(self, trail: Trail, run: Run, root: str) -> bool:
        same_branch = not run.branch or not trail.branch or run.branch == trail.branch
        if trail.root != root or not same_branch:  # cheap, and true of most trails
            return False
        since_days = (seconds_of(run.began) - trail.last) / 86400
        return abs(since_days) <= CONTINUED_DAYS and self._is_undeclared(trail.session)

    def _takes(self, session: str, run: Run, taken_up: Sequence[str] = ()) -> bool:
        """Whether a session is open and no other living run works on it, except those that this run was told
        to take up."""
        state = self._state(session)
        if state is not None and state.status not in OPEN:
            return False
        last = seconds_of(run.last)
        own = (run.key, *taken_up)
        others = (t for t in self._trails if t.session == session and t.living and t.key not in own)
        return not any(t.began <= last for t in others) and not self._is_held(session, run)

    def _is_held(self, session: str, run: Run) -> bool:
        """Whether another run holds the session and did so while this one was active."""
        if not self._workspace.store.head(f"hold/{session}").version:
            return False
        others = (h for h in self._workspace.holds.living(session) if h.run not in (run.id, run.key))
        return any(h.since <= run.last for h in others if not _launched(h.pid, run))

    def _follow(self, run: Run, session: str) -> None:
        self._sessions[(run.agent, run.id)] = session
        if not run.side:
            self._openings.setdefault(session, []).append(run.opening or run.goal)
            living = _lives(run)
            began, last = seconds_of(run.began), seconds_of(run.last)
            root = self._root_of(run)
            trail = Trail(run.agent, run.id, session, root, run.branch, began, last, living, run.key)
            self._trails.append(trail)

    # -- looking up ----------------------------------------------------------------------------

    def _root_of(self, run: Run) -> str:
        if run.cwd not in self._root_by_cwd:
            at = Path(run.cwd) if run.cwd else None
            roots = [r for r in self._roots if at is not None and (str(at) == r or Path(r) in at.parents)]
            self._root_by_cwd[run.cwd] = max(roots, key=len, default=run.cwd)
        return self._root_by_cwd[run.cwd]

    def _tree(self, root: str) -> WorkingTree:
        if root not in self._trees:
            self._trees[root] = WorkingTree(Path(root), self._workspace.store)
        return self._trees[root]

    def _exists(self, session: str) -> bool:
        is_known = session in self._appends or self._state(session) is not None
        return is_known or is_archived(self._workspace, session)

    def _state(self, session: str) -> SessionState | None:
        if session not in self._states:
            repository = self._workspace.repository
            exists = bool(session) and repository.exists(session)
            self._states[session] = repository.state(session) if exists else None
        return self._states[session]

    def _is_undeclared(self, session: str) -> bool:
        if session in self._appends:
            return True
        if session not in self._undeclared:
            events = self._workspace.store.read(stream_of(session))
            self._undeclared[session] = is_undeclared(events)
        return self._undeclared[session]

    # -- beginning -----------------------------------------------------------------------------

    def _new(self, run: Run, goal: str) -> str:
        """A new session for a run; empty if nothing says what it is about."""
        from ...core.sessions import commands as do
        from ...core.sessions.cleaning import clean_command

        if is_assent(goal):
            return ""
        workspace = self._workspace
        name = workspace.working_tree.project_name(run.project)
        kind = workspace.settings.text("type")
        session = f"{(run.began or now())[:10]}-{kind}-{name}-{run.key[:6]}"
        if self._exists(session):
            return session
        commands = [
            do.Create(session, goal, workspace.settings.text("organization"), run.project, kind, name),
            do.Note(observed_note(run.agent)),
        ]
        clean = [clean_command(command, workspace.repository.mask) for command in commands]
        outcome = do.decide_all(SessionState(), clean, at=run.began or now(), actor=OBSERVER, run="")
        assert not isinstance(outcome, do.Refusal)
        self._appends[session] = list(outcome.drafts)
        if rules := self._rules_here(run, session):
            at = run.began or now()
            self._appends[session].append(draft(SaidKept(entries=rules), at=at, actor=OBSERVER))
        return session

    def _rules_here(self, run: Run, session: str) -> list[Entry]:
        """The rules of the work before, with what softens them: they hold for the project."""
        root = self._root_of(run)
        before = [trail for trail in reversed(self._trails) if trail.root == root and trail.key != run.key]
        if before and before[0].session in self._appends:
            self.came_after[session] = before[0].session
        state = next((state for trail in before if (state := self._state(trail.session)) is not None), None)
        if state is None:
            return []
        return rules_alone(state.said)

    def commit(self) -> list[str]:
        """Write the new sessions, all or none, and return their ids. In working trees without a declared
        current session, the newest session becomes current."""
        begun = list(self._appends)
        while self._appends:
            appends = [Append(stream_of(id), 0, drafts) for id, drafts in self._appends.items()]
            try:
                self._workspace.store.append(*appends)
                self._workspace.backups.written(sum(map(len, self._appends.values())))
                break
            except StaleVersion:  # another process found the same runs
                self._appends = {
                    i: d for i, d in self._appends.items() if not self._workspace.repository.exists(i)
                }
        self._appends, self._states = {}, {}
        for root in {trail.root for trail in self._trails} & set(self._roots):
            self._bind(root)
        return begun

    def _bind(self, root: str) -> None:
        tree = self._tree(root)
        newest = max((t for t in self._trails if t.root == root), key=lambda trail: trail.last)
        current = tree.tree(fresh=True).current
        if newest.session == current or not self._is_undeclared(newest.session):
            return
        if current and self._state(current) is not None and not self._is_undeclared(current):
            return
        key, root_commit = tree.project_key(self._workspace.settings)
        append = tree.bind(key, root_commit, newest.session, at=now(), actor=OBSERVER)
        if append is not None:
            try:
                self._workspace.store.append(append)
            except StaleVersion:
                return  # somebody chose a session in the meantime
            if root == str(self._workspace.working_tree.root):
                self._workspace.working_tree.tree(fresh=True)


def is_undeclared(events: Sequence[Event]) -> bool:
    """Whether nobody declared anything in a session with these events: Segue began it for a run. Who corrects
    the ledger says what was said, and not that the work has one session from now on."""
    return bool(events) and all(event.actor == OBSERVER or event.kind in LEDGER_KINDS for event in events)


def session_gone_on_with(workspace: Workspace, digest: RunDigest, *, is_here: bool) -> str:
    """The session that a run which nobody filed yet goes on with: the one that is current in its working
    tree, unless it is over, too old, or the run is about something else; empty if there is none."""
    opening = opening_of(digest)
    if not is_here or not opening:
        return ""
    try:
        current = workspace.current_session()
        state = workspace.repository.state(current) if current else None
    except SegueError:
        return ""
    if state is None or state.status not in OPEN or seconds_of(state.created) > digest.last:
        return ""
    if digest.began - seconds_of(state.updated) > 86_400 * CONTINUED_DAYS:
        return ""
    return state.id if is_work_of(state, opening) else ""


def is_work_of(state: SessionState, opening: str) -> bool:
    """Whether a run goes on with the work of a session, as far as its first message tells."""
    if not opening or is_assent(opening) or not state.said:
        return True
    return not is_other_work(opening, state.said.flat())


def close_empty_session(workspace: Workspace, session: str) -> None:
    """Abandon a session that Segue began for a run that turned out to be another one; one in which somebody
    else wrote stays as it is."""
    from ...core.sessions import commands as do

    events = workspace.store.read(stream_of(session))
    if events and all(event.actor == OBSERVER for event in events):
        with suppress(SegueError):
            abandon = do.Abandon("its run belongs to another session")
            workspace.repository.commit(session, [abandon], actor=OBSERVER)


def has_observed_goal(workspace: Workspace, state: SessionState) -> bool:
    """Whether nobody declared the goal of a session: Segue began it, and the goal is still that request."""
    try:
        [first] = workspace.store.read(stream_of(state.id), limit=1)
    except (SegueError, ValueError):  # the store cannot be reached, or the session was only begun there
        return state.last_action.startswith(OBSERVED)
    body = read_body(first)
    return first.actor == OBSERVER and isinstance(body, Created) and body.goal == state.goal


def _overlap(trail: Trail, run: Run) -> bool:
    """Whether two runs were at work at the same time."""
    went_on = trail.last > seconds_of(run.began) + WENT_ON_SECONDS
    return went_on and trail.began < seconds_of(run.last) and trail.key != run.key


def _lives(run: Run) -> bool:
    """Whether a run that was alive when it was last read still is."""
    if run.ended not in ("alive", "recent"):
        return False
    return is_alive(run.pid) if run.pid else seconds_of(now()) - seconds_of(run.last) < ALIVE_SECONDS


def _launched(pid: int, run: Run) -> bool:
    """Whether the holder is the process that started the run, and so holds the session on its behalf."""
    return bool(run.pid) and pid in ancestors(run.pid)
