"""Joining sessions that are one piece of work: their runs, what was said in them and what was declared.

One session stays, the others are closed and keep everything that they had; nothing is deleted. The order is:
what the session that stays gets, in one commit; the rows of the runs, and the sessions of their copies; which
session is current here; the end of the others. A process that is killed in between leaves sessions that can
all be read, and joining them again does what is left: what is there already is not brought twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from msgspec.structs import replace

from ..._failpoints import trip
from ...core.base.values import Value, count, seconds_of
from ...core.journal.event import Event
from ...core.ledger.model import Entry, Ledger
from ...core.ledger.other_work import is_other_work
from ...core.sessions import commands as do
from ...core.sessions.ledger_commands import JoinLedger
from ...core.sessions.state import OPEN, SessionState, find_item, find_question
from ...effects.files.atomic import file_lock
from ...errors import ConflictError, RefusedError, SegueError, SessionOver, UsageError
from ...stores.base import RunRow
from ..runs.assign_session import CONTINUED_DAYS, is_undeclared
from ..runs.discovery import RunFinder, found_of
from ..runs.observed import runs_of
from ..runs.run import Run, run_in
from ..runs.sync import WAIT_SECONDS, take_in_newest
from ..sessions.repository import stream_of
from ..workspace.open_session import find_session, make_current
from ..workspace.workspace import Workspace
from .work import ledger_of_sayings, run_name

LOOKED_AT = 40
"""Among how many open sessions those are looked for that look like one piece of work."""
_LISTS = ("items", "decisions", "questions", "findings")


class JoinedSession(Value):
    """A session that is to be joined into another one, and what of it comes there."""

    id: str
    goal: str
    status: str
    """As it is before."""
    runs: list[str]
    """The agents' own ids of the runs that move, the oldest first."""
    entries: int = 0
    """How many entries of its ledger the other one lacks, or has in an older state."""
    items: int = 0
    decisions: int = 0
    questions: int = 0
    findings: int = 0
    stays_there: list[str] = []
    """What is not moved, in words; it can be read in the session itself."""
    closes: bool = True
    """Whether it is to be abandoned; one that is over stays as it is."""


class SessionJoin(Value):
    """What joining sessions does, or did."""

    keep: str
    """The session that stays."""
    goal: str
    others: list[JoinedSession]
    joined: bool = False
    """Whether it was done."""


class SplitWork(Value):
    """Open sessions of one working tree that look like one piece of work, the oldest first."""

    folder: str
    sessions: list[str]
    goals: list[str]


# -- joining


def join_plan(workspace: Workspace, keep: str, others: Sequence[str]) -> SessionJoin:
    """What joining these sessions would do; nothing is written. Raises UnknownSession, UsageError or
    ConflictError for sessions that cannot be joined, and SessionOver if the one that stays is over."""
    return _planned(workspace, keep, others)[0]


def join_sessions(workspace: Workspace, keep: str, others: Sequence[str]) -> SessionJoin:
    """Join sessions into one. Raises as ``join_plan`` does, and Paused."""
    workspace.pause_file.check()
    if workspace.sees_tree:
        take_in_newest(workspace)
    lock = workspace.home.path / "sync.lock"
    with file_lock(lock, timeout_seconds=WAIT_SECONDS, what="segue sessions join"):
        plan, parts = _planned(workspace, keep, others)
        for part in parts:
            _join(workspace, plan.keep, part)
    return replace(plan, joined=True)


def _planned(workspace: Workspace, keep: str, others: Sequence[str]) -> tuple[SessionJoin, list[_Other]]:
    target = find_session(workspace, keep).state
    named = [find_session(workspace, id).id for id in dict.fromkeys(others)]
    if not named or target.id in named:
        raise UsageError(
            "name a session, and at least one other that becomes part of it",
            hint="`segue sessions join` alone shows which may belong together",
        )
    if target.status not in OPEN:
        raise SessionOver(
            f"session {target.id} is {target.status}", hint="join into one that is open; see `segue list`"
        )
    parts = [_Other(workspace, id) for id in named]
    state, plans = target, []
    for part in parts:
        part.check(target)
        plan, state = part.plan(state)
        plans.append(plan)
    return SessionJoin(target.id, target.goal, plans), parts


def _join(workspace: Workspace, keep: str, other: _Other) -> None:
    trip("join.ledger.before_commit")
    workspace.repository.commit_made(keep, lambda state: (other.commands(state), None), look=True)
    trip("join.ledger.after_commit")
    if other.rows:
        runs_of(workspace).runs.put([replace(row, session=keep, reading=None) for row in other.rows])
        trip("join.runs.after_commit")
        if workspace.sees_tree:
            runs_of(workspace).archive.name_sessions({row.key: keep for row in other.rows})
    if workspace.sees_tree and workspace.working_tree.tree(fresh=True).current == other.state.id:
        make_current(workspace, keep)
        trip("join.current.after_commit")
    if other.state.status in OPEN:
        workspace.repository.commit(other.state.id, [do.Abandon(f"joined into {keep}")])
        trip("join.close.after_commit")


class _Other:
    """A session that is joined into another one."""

    def __init__(self, workspace: Workspace, id: str) -> None:
        self._workspace = workspace
        self.state = workspace.repository.state(id)
        self.rows = workspace.store.runs.rows(session=id)
        self._ledger: Ledger | None = None

    def check(self, target: SessionState) -> None:
        """Raise an error if it cannot become part of a session."""
        workspace, id = self._workspace, self.state.id
        ours = {target.project, *workspace.working_tree.project_keys(workspace.settings)}
        if self.state.project not in ours:
            raise ConflictError(
                f"session {id} belongs to another project: {self.state.project_name or self.state.project}",
                hint="only sessions of one project can be joined",
            )
        held = [hold for hold in workspace.holds.living(id) if hold.run != workspace.repository.run]
        if held:
            raise RefusedError(
                f"session {id} is held by {held[0].holder} (pid {held[0].pid} on {held[0].host})",
                hint="join it when that run has ended; `segue hold` shows who holds a session",
            )

    @property
    def ledger(self) -> Ledger:
        """Its ledger, with what its runs said and nobody kept yet."""
        if self._ledger is None:
            self._ledger = _ledger_now(self._workspace, self.state, self.rows)
        return self._ledger

    def commands(self, state: SessionState) -> list[do.Command]:
        """What a session in this state lacks of it."""
        ledger = self.ledger
        joined = JoinLedger(self.state.id, ledger.entries.flat(), ledger.heard)
        return [joined, *_declared_commands(self.state, state)]

    def plan(self, state: SessionState) -> tuple[JoinedSession, SessionState]:
        """What comes into a session in this state, and the state after that."""
        outcome = do.decide_all(state, self.commands(state), at="", actor="", run="")
        assert isinstance(outcome, do.DecidedBatch)
        after, known = outcome.state, {entry.id: entry for entry in state.said}
        numbers = {name: len(getattr(after, name)) - len(getattr(state, name)) for name in _LISTS}
        plan = JoinedSession(
            self.state.id, self.state.goal, self.state.status, [run.id for run in _runs(self.rows)],
            sum(known.get(entry.id) != entry for entry in after.said),
            stays_there=list(_left_there(self.state)), closes=self.state.status in OPEN, **numbers,
        )  # fmt: skip
        return plan, after


def _runs(rows: Iterable[RunRow]) -> list[Run]:
    """The runs of rows that are no sub-agents', the oldest first."""
    runs = [run for row in rows if (run := run_in(row)) is not None and not run.side]
    return sorted(runs, key=lambda run: (run.began, run.id))


def _ledger_now(workspace: Workspace, state: SessionState, rows: Sequence[RunRow]) -> Ledger:
    ledger = state.ledger
    if not workspace.sees_tree:
        return ledger
    finder = runs_of(workspace).finder()
    by_key = {row.key: row for row in rows}
    for run in _runs(rows):
        ledger = _heard_on(finder, by_key[run.key], ledger)
    return ledger


def _heard_on(finder: RunFinder, row: RunRow, ledger: Ledger) -> Ledger:
    """A ledger with what a run said that it does not have; as it is if the run cannot be read here."""
    found = found_of(row)
    try:
        sayings = finder.sayings(found)
    except (SegueError, OSError):
        return ledger
    return ledger_of_sayings(run_name(found), sayings, ledger)


def _declared_commands(other: SessionState, state: SessionState) -> Iterator[do.Command]:
    """What was declared in another session and a session in this state lacks."""
    for item in other.items:
        if find_item(state, item.text) < 0:
            yield do.Add(item.text)
            if item.status in _STATUS:
                yield _STATUS[item.status](item.text, item.reason)
    known = {(decision.text, decision.why) for decision in state.decisions}
    for decision in other.decisions:
        if (decision.text, decision.why) not in known:
            known.add((decision.text, decision.why))
            yield do.Decide(decision.text, decision.why)
    for question in other.questions:
        if find_question(state, question.text) < 0:
            yield do.Ask(question.text)
            if question.answer:
                yield do.Answer(question.text, question.answer)
    learnt = {finding.text for finding in state.findings}
    for finding in other.findings:
        if finding.text not in learnt:
            learnt.add(finding.text)
            yield do.Learn(finding.text)


_STATUS: dict[str, Callable[[str, str], do.Command]] = {
    "active": lambda text, _: do.Begin(text, quiet=True),
    "done": lambda text, _: do.Done(text),
    "blocked": lambda text, reason: do.Block(text, reason, stay=True),
    "dropped": lambda text, reason: do.Drop(text, reason),
}
"""The command that gives an item the status that it has elsewhere."""
_STAYING = (
    ("features", "feature", "features"), ("marks", "checkpoint", "checkpoints"),
    ("threads", "thread", "threads"), ("agents", "agent's state", "agents' states"),
)  # fmt: skip


def _left_there(state: SessionState) -> Iterator[str]:
    """What of a session is not moved, in words."""
    for name, one, several in _STAYING:
        number = len(getattr(state, name))
        if number:
            yield count(number, one, several)


# -- which may belong together


def split_works(workspace: Workspace, cards: Iterable[str] = ()) -> list[SplitWork]:
    """Groups of open undeclared sessions of one working tree whose first messages go on with one another:
    they add, permit, answer or are about the same. ``cards`` limits it to these sessions."""
    wanted = set(cards)
    rows: dict[str, list[RunRow]] = {}
    for row in workspace.store.runs.rows(projects=workspace.working_tree.project_keys(workspace.settings)):
        if row.session and (not wanted or row.session in wanted):
            rows.setdefault(row.session, []).append(row)
    newest = sorted(rows, key=lambda id: max(row.last for row in rows[id]), reverse=True)[:LOOKED_AT]
    candidates = [one for id in newest if (one := _candidate(workspace, id, rows[id])) is not None]
    works: list[list[_Candidate]] = []
    for one in sorted(candidates, key=lambda one: one.began):
        work = next((work for work in reversed(works) if _goes_on(work, one)), None)
        if work is None:
            works.append([one])
        else:
            work.append(one)
    return [
        SplitWork(work[0].folder, [one.id for one in work], [one.goal for one in work])
        for work in works
        if len(work) > 1
    ]


class _Candidate(Value):
    """A session that may be a part of another one's work."""

    id: str
    goal: str
    opening: str
    folder: str
    began: float
    last: float
    entries: tuple[Entry, ...]


def _candidate(workspace: Workspace, id: str, rows: Sequence[RunRow]) -> _Candidate | None:
    runs = _runs(rows)
    if not runs or not workspace.repository.exists(id):
        return None
    events: Sequence[Event] = workspace.store.read(stream_of(id))
    state = workspace.repository.state(id)
    if state.status not in OPEN or not is_undeclared(events):
        return None
    said = state.said.flat() or (Entry("", "request", state.goal),)
    first, last = runs[0], max(seconds_of(run.last) for run in runs)
    folder = _tree_of(workspace, first.cwd)
    return _Candidate(
        id, state.goal, first.opening or first.goal, folder, seconds_of(first.began), last, said
    )


def _tree_of(workspace: Workspace, cwd: str) -> str:
    """The working tree that a folder is in, as far as that is known."""
    root = workspace.working_tree.root
    at = Path(cwd) if cwd else root
    return str(root) if at == root or root in at.parents else str(at)


def _goes_on(work: Sequence[_Candidate], one: _Candidate) -> bool:
    """Whether a session goes on with the work of others, as far as its first message tells."""
    if work[0].folder != one.folder:
        return False
    if one.began - max(part.last for part in work) > 86_400 * CONTINUED_DAYS:
        return False
    return not is_other_work(one.opening, [entry for part in work for entry in part.entries])
