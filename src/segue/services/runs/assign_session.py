"""To which session a run belongs: the one that was given, its parent's, the working tree's current one,
or a new one named after its first prompt.

A session that nobody declared is one whose every event is ours (``OBSERVER``): its goal was observed in a
prompt. It takes a further run only as a continuation: a fork, or work on the same branch within seven days.
Its id comes from the run, so that looking twice, or after a crash, finds the same session. What somebody
declared takes the runs that were active since. A session that another living run has is left alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ...core.base.values import seconds_of
from ...core.journal.event import Draft
from ...core.sessions import commands as do
from ...core.sessions.cleaning import clean_command
from ...core.sessions.commands import Refusal, decide_all
from ...core.sessions.state import OPEN, SessionState
from ...effects.clock import now
from ...effects.processes.identity import ancestors
from ...errors import StaleVersion
from ...stores.base import Append
from ..sessions.repository import stream_of
from ..workspace.working_tree import WorkingTree
from .run import Run

if TYPE_CHECKING:
    from ..workspace.workspace import Workspace

OBSERVER = "segue"
CONTINUED_DAYS = 7.0


class Trail(msgspec.Struct):
    """Where the last run of a session in a working tree left off."""

    session: str
    root: str
    branch: str
    began: float
    last: float
    living: bool
    key: str


class Attaching:
    """Finds or makes the sessions of runs; nothing is written before ``commit``."""

    def __init__(
        self, workspace: Workspace, roots: Iterable[Path], known: Iterable[Run], *, given: str = ""
    ) -> None:
        self._workspace = workspace
        self._roots = [str(root) for root in roots]
        self._given = given
        self._sessions: dict[tuple[str, str], str] = {}
        """Agent and native id to session."""
        self._trails: list[Trail] = []
        self._appends: dict[str, list[Draft]] = {}
        self._undeclared: dict[str, bool] = {}
        self._states: dict[str, SessionState | None] = {}
        self._places: dict[str, WorkingTree] = {}
        self._root_by_cwd: dict[str, str] = {}
        for run in sorted(known, key=lambda one: one.last):
            if run.session:
                self._follow(run, run.session)

    def session_of(self, run: Run) -> str:
        """The session of a run; empty for one in which nothing was asked."""
        session = run.session if run.session and self._exists(run.session) else self._chosen(run)
        if session:
            self._follow(run, session)
        return session

    def _chosen(self, run: Run) -> str:
        if self._given:
            return self._given
        parent = self._sessions.get((run.agent, run.parent), "") if run.parent else ""
        if run.side or (parent and self._takes(parent, run)):
            return parent
        if not run.goal:
            return ""
        return next(self._candidates(run), "") or self._new(run)

    def _candidates(self, run: Run) -> Iterator[str]:
        root = self._root_of(run)
        current = self._place(root).tree().current if root in self._roots else ""
        if current and not self._is_undeclared(current) and self._takes(current, run):
            state = self._state(current)
            if state is not None and seconds_of(run.last) >= seconds_of(state.created):
                yield current
        for trail in reversed(self._trails):
            if self._continues(trail, run, root) and self._takes(trail.session, run):
                yield trail.session

    def _continues(self, trail: Trail, run: Run, root: str) -> bool:
        same_branch = not run.branch or not trail.branch or run.branch == trail.branch
        if trail.root != root or not same_branch:  # of most, and of many: so this is asked first
            return False
        since_days = (seconds_of(run.began) - trail.last) / 86400
        return abs(since_days) <= CONTINUED_DAYS and self._is_undeclared(trail.session)

    def _takes(self, session: str, run: Run) -> bool:
        """Whether a session is open and no other living run has it."""
        state = self._state(session)
        if state is not None and state.status not in OPEN:
            return False
        last = seconds_of(run.last)
        others = (t for t in self._trails if t.session == session and t.living and t.key != run.key)
        return not any(t.began <= last for t in others) and not self._is_held(session, run)

    def _is_held(self, session: str, run: Run) -> bool:
        """Whether another run holds it, and did while this one was active."""
        if not self._workspace.store.head(f"hold/{session}").version:
            return False
        others = (h for h in self._workspace.holds.living(session) if h.run not in (run.id, run.key))
        return any(h.since <= run.last for h in others if not _launched(h.pid, run))

    def _follow(self, run: Run, session: str) -> None:
        self._sessions[(run.agent, run.id)] = session
        if not run.side:
            living = run.ended == "alive"
            began, last = seconds_of(run.began), seconds_of(run.last)
            self._trails.append(Trail(session, self._root_of(run), run.branch, began, last, living, run.key))

    # -- what is there -------------------------------------------------------------------------

    def _root_of(self, run: Run) -> str:
        if run.cwd not in self._root_by_cwd:
            at = Path(run.cwd) if run.cwd else None
            roots = [r for r in self._roots if at is not None and (str(at) == r or Path(r) in at.parents)]
            self._root_by_cwd[run.cwd] = max(roots, key=len, default=run.cwd)
        return self._root_by_cwd[run.cwd]

    def _place(self, root: str) -> WorkingTree:
        if root not in self._places:
            self._places[root] = WorkingTree(Path(root), self._workspace.store)
        return self._places[root]

    def _exists(self, session: str) -> bool:
        return session in self._appends or self._state(session) is not None or self._is_archived(session)

    def _is_archived(self, session: str) -> bool:
        return self._workspace.home.archived(session).is_file()

    def _state(self, session: str) -> SessionState | None:
        if session not in self._states:
            book = self._workspace.repository
            self._states[session] = book.state(session) if book.exists(session) else None
        return self._states[session]

    def _is_undeclared(self, session: str) -> bool:
        if session in self._appends:
            return True
        if session not in self._undeclared:
            events = self._workspace.store.read(stream_of(session))
            self._undeclared[session] = bool(events) and all(event.actor == OBSERVER for event in events)
        return self._undeclared[session]

    # -- what is made --------------------------------------------------------------------------

    def _new(self, run: Run) -> str:
        workspace = self._workspace
        name = workspace.working_tree.project_name(run.project)
        kind = workspace.settings.text("type")
        session = f"{(run.began or now())[:10]}-{kind}-{name}-{run.key[:6]}"
        if self._exists(session):
            return session
        told = f"observed: the first prompt of {run.agent} run {run.id}; nobody declared this session"
        wishes = [
            do.Create(session, run.goal, workspace.settings.text("organization"), run.project, kind, name),
            do.Note(told),
        ]
        clean = [clean_command(wish, workspace.repository.mask) for wish in wishes]
        outcome = decide_all(SessionState(), clean, at=run.began or now(), actor=OBSERVER, run="")
        assert not isinstance(outcome, Refusal)
        self._appends[session] = list(outcome.drafts)
        return session

    def commit(self) -> list[str]:
        """Write the sessions that are new, all or none, and let working trees without a session of their
        own mean the newest; the ids of the new ones."""
        journal = self._workspace.store
        made = list(self._appends)
        while self._appends:
            appends = [Append(stream_of(id), 0, drafts) for id, drafts in self._appends.items()]
            try:
                journal.append(*appends)
                self._workspace.backups.written(sum(map(len, self._appends.values())))
                break
            except StaleVersion:  # another process saw the same runs
                self._appends = {
                    i: d for i, d in self._appends.items() if not self._workspace.repository.exists(i)
                }
        self._appends, self._states = {}, {}
        for root in {trail.root for trail in self._trails} & set(self._roots):
            self._bind(root)
        return made

    def _bind(self, root: str) -> None:
        place = self._place(root)
        newest = max((t for t in self._trails if t.root == root), key=lambda trail: trail.last)
        current = place.tree(fresh=True).current
        if newest.session == current or not self._is_undeclared(newest.session):
            return
        if current and self._state(current) is not None and not self._is_undeclared(current):
            return
        key, root_commit = place.project_key(self._workspace.settings)
        append = place.bind(key, root_commit, newest.session, at=now(), actor=OBSERVER)
        if append is not None:
            try:
                self._workspace.store.append(append)
            except StaleVersion:
                return  # somebody chose one meanwhile
            if root == str(self._workspace.working_tree.root):
                self._workspace.working_tree.tree(fresh=True)


def _launched(pid: int, run: Run) -> bool:
    """Whether the holder is the process that the run was started by; it holds for the run."""
    return bool(run.pid) and pid in ancestors(run.pid)
