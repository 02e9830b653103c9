"""A session in a program's hands: every way to work on it, typed.

A handle holds no state of its own beyond an id and, maybe, a hold: two handles of one session,
in one process or two, see and merge each other's work.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import lru_cache
from time import monotonic
from typing import TYPE_CHECKING, Any

from ..core.base.text import clean_name
from ..core.journal import event as ev
from ..core.sessions import commands as do
from ..core.sessions.commands import Command
from ..core.sessions.state import SessionState
from ..core.sessions.status import SessionStatus, status_of
from ..errors import StoreError, StoreUnavailable, UnknownCheckpoint, UsageError
from ..services.sessions.holds import Hold, Holds, new_run
from ..services.sessions.repository import Guards, Saved, SessionRepository, stream_of

if TYPE_CHECKING:
    from ..core.resume.restoration import Restoration
    from ..core.sessions.budget import Standing
    from ..services.features.features import Features
    from ..services.handoff.offers import HandoffOffer
    from ..services.memories.remembering import PlaceMemories
    from ..services.resume.autosave import Checkpointer
    from ..services.resume.emergency import Guard
    from ..services.resume.interruptions import Interruption, Watch
    from ..services.resume.working_state import Working
    from ..services.workspace.offline_queue import OfflineQueue
    from ..stores.base import MemoryChange
    from .segue import Segue

Texts = str | Iterable[str]


def texts(value: Texts | None) -> tuple[str, ...]:
    """One text or several, as several."""
    return () if value is None else (value,) if isinstance(value, str) else tuple(value)


@lru_cache(maxsize=256)
def _agent_name(agent: str) -> str:
    return clean_name(agent, what="agent's name")


class Session:
    """A piece of work that outlives any process."""

    def __init__(self, segue: Segue, id: str, *, pending: bool = False) -> None:
        self.pending = pending
        """Whether it was begun while the server could not be reached, and waits to be known there."""
        self._segue = segue
        self._book: SessionRepository = segue.book
        self._holds: Holds = segue.holds
        self._hold: Hold | None = None
        self._guard: Guard | None = None
        self.id = id

    def __repr__(self) -> str:
        return f"<Session {self.id}>"

    # -- looking -------------------------------------------------------------------------------

    @property
    def state(self) -> SessionState:
        """Everything that is known of it, as of now."""
        return self._book.state(self.id)

    def status(self) -> SessionStatus:
        """What is done, under way, next and blocked, and all the rest worth showing."""
        living, state = self._holds.living(self.id), self.state
        verdicts = self.features.verdicts(state) if state.features else []
        return status_of(state, held_by=", ".join(f"{h.holder} ({h.run})" for h in living), features=verdicts)

    def log(self, *, after: int = 0, limit: int = 0) -> list[ev.Event]:
        """The journal, in order."""
        return self._book.journal.read(stream_of(self.id), after=after, limit=limit)

    # -- writing -------------------------------------------------------------------------------

    def apply(
        self, *commands: Command, pieces: dict[str, bytes] | None = None, since: int | None = None
    ) -> Saved:
        """Make commands durable, all or none; every other writing method is a form of this."""
        for command in commands:
            if command.WITNESSED:
                raise UsageError("only Segue itself says what it saw", hint="see `verify` and `attest`")
        return self._commit(commands, pieces, since)

    def _commit(
        self, commands: Sequence[Command], pieces: dict[str, bytes] | None = None, since: int | None = None
    ) -> Saved:
        seg = self._segue
        if self._hold is None and self._guard is None and seg.offline is None:
            saved = self._book.commit_apart(self.id, commands, pieces, since)
            if saved is not None:
                return saved if monotonic() < seg.quiet_until.get(self.id, 0.0) else seg.with_warnings(saved)
        return self._apply(commands, pieces, since)

    def _apply(
        self, commands: Sequence[Command], pieces: dict[str, bytes] | None = None, since: int | None = None,
        actor: str = "", guards: Guards | None = None, memories: MemoryChange | None = None,
    ) -> Saved:  # fmt: skip
        hold, seg = self._hold, self._segue
        if hold is None and self._guard is None:
            if seg.offline is not None:
                return self._apply_remotely(seg.offline, commands, pieces, since, actor, guards, memories)
            saved = self._book.commit(
                self.id, commands, pieces=pieces, since=since, actor=actor, guards=guards, memories=memories
            )
            return saved if monotonic() < seg.quiet_until.get(self.id, 0.0) else seg.with_warnings(saved)
        if hold is not None:
            hold.renew_if_due()
        try:
            wanted = [one for one in (hold.guard if hold else None, guards) if one is not None]
            both = (lambda: [append for one in wanted for append in one()]) if wanted else None
            plain = both is None and not actor and memories is None
            saved = (self._book.commit_apart(self.id, commands, pieces, since) if plain else None) or (
                self._book.commit(
                    self.id, commands, pieces=pieces, guards=both, since=since, actor=actor, memories=memories
                )
            )
        except BaseException as fault:
            if self._guard is not None:
                self._guard.keep_unsaved(commands, fault)
            raise
        if self._guard is not None:
            self._guard.now_saved(commands)
        return saved if hold is not None else self._segue.with_warnings(saved)

    def _apply_remotely(
        self, offline: OfflineQueue, commands: Sequence[Command], pieces: dict[str, bytes] | None,
        since: int | None, actor: str, guards: Guards | None, memories: MemoryChange | None,
    ) -> Saved:  # fmt: skip
        """The same where the store is a server: what waits goes first, and waits on if nobody answers."""
        try:
            if offline.waits():
                offline.drain()
            saved = self._book.commit(
                self.id, commands, pieces=pieces, since=since, actor=actor, guards=guards, memories=memories
            )
        except StoreUnavailable as fault:
            if pieces or since is not None:
                raise
            return offline.keep(self.id, commands, fault, actor)
        with suppress(StoreError):  # it is saved, whatever can be said of others
            saved = self._segue.with_warnings(saved)
        return saved

    def add(self, *items: str) -> Saved:
        """Plan items, behind those that are planned."""
        return self._commit(tuple(map(do.Add, items)))

    def begin(self, *items: str) -> Saved:
        """These are under way now; an unknown one is added."""
        return self._commit(tuple(map(do.Begin, items)))

    def done(self, *items: str) -> Saved:
        """These are finished; an unknown one is added."""
        return self._commit(tuple(map(do.Done, items)))

    def block(self, item: str, reason: str = "", *, stay: bool = False) -> Saved:
        """It waits for something. If it was the one under way the next begins, unless ``stay``."""
        return self._commit((do.Block(item, reason, stay),))

    def unblock(self, *items: str) -> Saved:
        """They wait no more and are next, at their place in the plan."""
        return self._commit(tuple(map(do.Unblock, items)))

    def drop(self, item: str, reason: str = "") -> Saved:
        """It will not be done."""
        return self._commit((do.Drop(item, reason),))

    def note(self, text: str) -> Saved:
        """What was just done: the last action."""
        return self._commit((do.Note(text),))

    def decide(self, text: str, why: str = "") -> Saved:
        """A choice was made."""
        return self._commit((do.Decide(text, why),))

    def ask(self, text: str) -> Saved:
        """A question is open."""
        return self._commit((do.Ask(text),))

    def answer(self, question: str, answer: str) -> Saved:
        """A question is answered."""
        return self._commit((do.Answer(question, answer),))

    def learn(self, text: str) -> Saved:
        """Something was found out."""
        return self._commit((do.Learn(text),))

    def error(self, text: str) -> Saved:
        """An error was seen."""
        return self._commit((do.Fail(text),))

    def solved(self, error: str, solution: str) -> Saved:
        """An error was solved, and how."""
        return self._commit((do.Solve(error, solution),))

    def thread(self, topic: str, status: str = "in_progress", notes: Texts = ()) -> Saved:
        """A line of thought moved."""
        return self._commit((do.Thread(topic, status, texts(notes)),))

    def focus(self, *, file: str = "", position: str = "", note_id: str = "", note_title: str = "") -> Saved:
        """Where the attention is."""
        return self._commit((do.Focus(note_id, note_title, file, position),))

    def load_notes(self, ids: Texts, *, tokens: int = 0, paths: dict[str, str] | None = None) -> Saved:
        """Notes were loaded; those used most are recommended at a resumption."""
        return self._commit((do.LoadNotes(texts(ids), tokens, paths or {}),))

    def see_changes(self, changes: Iterable[tuple[str, str]]) -> Saved:
        """The uncommitted changes of the working tree, as (file, created | modified | deleted)."""
        pairs = tuple((file, kind) for file, kind in changes)
        wrong = next((kind for _, kind in pairs if kind not in ("created", "modified", "deleted")), None)
        if wrong is not None:
            raise UsageError(f"unknown kind of change: {wrong}", hint="created, modified or deleted")
        return self._commit((do.SeeChanges(pairs),))

    def note_context(self, **values: Any) -> Saved:
        """Facts of the loaded context: fields of ``Context``."""
        return self._commit((do.NoteContext(values),))

    def count(self, **counts: float) -> Saved:
        """Add to the session's metrics: fields of ``Metrics``."""
        return self._commit((do.Count(counts),))

    def describe(self, *, goal: str | None = None, summary: str | None = None) -> Saved:
        """Change the goal or the summary."""
        return self._commit((do.Describe(goal, summary),))

    def checkpoint(
        self, name: str = "", *, done: Texts = (), begin: Texts = (), block: Iterable[tuple[str, str]] = (),
        unblock: Texts = (), drop: Texts = (), add: Texts = (), note: str = "",
        decide: Iterable[str | tuple[str, str]] | str = (), ask: Texts = (),
        answer: Iterable[tuple[str, str]] = (), thread: Iterable[str | tuple[str, str]] | str = (),
        focus: str = "", learn: Texts = (), summary: str = "", stay: bool = False,
    ) -> Saved:  # fmt: skip
        """Any mix of changes, all or none; with a name, a state to come back to."""
        finished = texts(done)
        quiet = bool(finished) or bool(note)
        wishes: list[Command] = [do.Add(item) for item in texts(add)]
        wishes += [do.Done(item) for item in finished]
        wishes += [do.Unblock(item) for item in texts(unblock)]
        wishes += [do.Block(item, reason, stay) for item, reason in block]
        wishes += [do.Drop(item) for item in texts(drop)]
        wishes += [do.Begin(item, quiet) for item in texts(begin)]
        wishes += [do.Decide(*_pair(choice)) for choice in ([decide] if isinstance(decide, str) else decide)]
        wishes += [do.Ask(question) for question in texts(ask)]
        wishes += [do.Answer(question, answered) for question, answered in answer]
        for topic in [thread] if isinstance(thread, str) else thread:
            first, second = _pair(topic)
            wishes.append(do.Thread(first, second or "in_progress"))
        wishes += [do.Learn(text) for text in texts(learn)]
        if focus:
            file, colon, position = focus.rpartition(":")
            split = bool(colon and position[:1].isdigit())
            wishes.append(do.Focus(file=file if split else focus, position=position if split else ""))
        if summary:
            wishes.append(do.Describe(summary=summary))
        if note:
            wishes.append(do.Note(note))
        if name:
            wishes.append(do.Mark(clean_name(name, what="checkpoint's name"), note))
        if not wishes:
            raise UsageError(
                "an empty checkpoint", hint="say what is done, begun, blocked or learnt, or give a name"
            )
        return self._commit(wishes)

    # -- lifecycle -----------------------------------------------------------------------------

    def pause(self, reason: str = "", *, cause: str = "user") -> Interruption:
        """Stop for now: save, say why, leave what the next run needs. Unrelated to the PAUSE file."""
        from ..services.resume.interruptions import interrupt

        return interrupt(self, cause, reason)

    def resume(self) -> Saved:
        """Go on. A session that is over stays over: the caller looks at ``status``.

        If it was left alone for too long, that is recorded first, as a pause by timeout."""
        from ..services.resume.interruptions import notice

        notice(self)
        return self._commit((do.Resume(),))

    def interruptible(self) -> Watch:
        """Save and pause when an error or a signal ends a block: ``with s.interruptible(): ...``."""
        from ..services.resume.interruptions import Watch

        return Watch(self)

    def spend(self, cost: float = 0.0, tokens: int = 0) -> Standing | Interruption:
        """Count what was spent (US dollars, tokens); an Interruption if that reached a limit."""
        from ..services.resume.interruptions import spend

        return spend(self, cost, tokens)

    def budget(
        self, *, cost: float | None = None, tokens: int | None = None, limited: bool | None = None
    ) -> Standing:
        """What was spent, of what; with values, set limits (0: none) or go on ``limited`` beyond them."""
        from ..services.resume.interruptions import budget_of, set_budget

        if cost is None and tokens is None and limited is None:
            return budget_of(self)
        return set_budget(self, cost=cost, tokens=tokens, limited=limited)

    def working(self) -> Working:
        """Where the work was: focus, threads, questions, uncommitted changes and agents, as they are now."""
        from ..services.resume.working_state import working

        return working(self)

    def checkpointer(self, **wishes: Any) -> Checkpointer:
        """A thread that saves now and then: ``with s.checkpointer(planner=give): ...``."""
        from ..services.resume.autosave import Checkpointer

        return Checkpointer(self, **wishes)

    @property
    def features(self) -> Features:
        """Its criteria of success: declare, verify, look."""
        from ..services.features.features import Features

        return Features(self)

    def complete(self, summary: str = "", *, force: str = "") -> Saved:
        """The goal is reached. UnverifiedFeatures unless every feature is proven, or a reason is given."""
        if self.state.features:
            return self.features.complete(summary, force=force)
        return self._commit((do.Complete(summary),))

    def abandon(self, reason: str = "") -> Saved:
        """The goal is given up."""
        return self._commit((do.Abandon(reason),))

    def hand(self, to: str, note: str = "") -> Saved:
        """Pass the session to another agent, by name."""
        return self._commit((do.Hand(to, note),))

    def hand_off(self, to: str, note: str = "", **wishes: Any) -> HandoffOffer:
        """Offer the session to an agent; exactly one can take it. See `Handoffs.offer`."""
        return self._segue.handoffs.offer(self.id, to, note, **wishes)

    # -- going back ----------------------------------------------------------------------------

    def rewind(self, name: str) -> Saved:
        """Back to the work as it was at a named checkpoint; what came after stays in the log."""
        state = self.state
        mark = state.marks.get(name)
        if mark is None:
            names = ", ".join(state.marks) or "none yet"
            raise UnknownCheckpoint(f"no checkpoint {name!r} in {self.id}", hint=f"there are: {names}")
        then = self._book.state_at(self.id, mark.version)
        return self._go_back(do.Rewind(mark.version, then, name), since=state.version)

    def undo(self) -> Saved:
        """Take the last command back, with all that came of it; again, the one before it.

        NothingToUndo if there is none, or if it is one that stays."""
        from ..services.sessions.undo import undo

        return undo(self)

    def _go_back(
        self, command: Command, since: int | None = None, guards: Guards | None = None,
        memories: MemoryChange | None = None,
    ) -> Saved:  # fmt: skip
        """Apply what may give an agent another state than the one that it saved last."""
        saved = self._apply([command], since=since, guards=guards, memories=memories)
        self._segue.agents.forget(self.id)
        return saved

    # -- agents --------------------------------------------------------------------------------

    def save_agent(self, agent: str, value: Any) -> Saved:
        """Keep an agent's own state: any JSON value, of any size; only what changed is stored.

        Bytes, NaN and keys that are numbers survive too; what is no plain data comes back as
        plain data. StaleVersion if somebody else changed it since it was last seen here.
        """
        return self._segue.agents.save(self, _agent_name(agent), value)

    def load_agent(self, agent: str) -> Any:
        """The agent's state as it was last saved."""
        return self._segue.agents.load(self, agent)

    def note_agent(self, agent: str, **values: Any) -> Saved:
        """Facts about an agent: mode, pid, active, last_topic and so on (fields of AgentState).

        A pid is noted with host and start of the process, so that a pause can tell whether it is still it."""
        pid = values.get("pid")
        if isinstance(pid, int) and pid > 0 and "pid_start" not in values:
            from ..effects.processes.identity import host_name, start_of

            values = {**values, "pid_start": start_of(pid), "host": host_name()}
        return self._commit((do.NoteAgent(clean_name(agent, what="agent's name"), values),))

    def drop_agent(self, agent: str) -> Saved:
        """Forget an agent."""
        return self._go_back(do.DropAgent(agent))

    # -- for a run -----------------------------------------------------------------------------

    def hold(
        self, *, holder: str = "", run: str = "", share: bool = False, lease_seconds: float | None = None
    ) -> SessionHold:
        """Hold the session for a run: ``with s.hold(): ...``; SessionHeld if another does."""
        name = run or self._book.run or new_run()
        if self._hold is not None and self._hold.run == name:
            return SessionHold(self, self._hold, nested=True)
        held = self._holds.take(
            self.id, holder=holder or self._book.actor, run=name, share=share, lease_seconds=lease_seconds
        )
        return SessionHold(self, held)

    def restore(self, budget: str | int = "balanced", **wishes: Any) -> Restoration:
        """Its context within a budget of tokens, and a log of what was loaded; see `Segue.restore`."""
        return self._segue.restore(self.id, budget=budget, **wishes)

    @property
    def memories(self) -> PlaceMemories:
        """What was learnt, as this session's actor sees it."""
        return self._segue.memories

    def guard(self, **agents: Any) -> Guard:
        """Save what is not durable yet when the process is ended: ``with s.guard(): ...``.

        Keyword arguments are agents' names with a function that gives their state at that moment.
        """
        from ..services.resume.emergency import Guard

        return Guard(self, agents)


class SessionHold:
    """A hold taken through a session's handle: while it lasts, writes of that handle are fenced."""

    def __init__(self, session: Session, hold: Hold, *, nested: bool = False) -> None:
        self._session = session
        self._held = hold
        self._nested = nested
        session._hold = hold

    @property
    def fence(self) -> int:
        """The fencing number; a later hold has a higher one."""
        return self._held.fence

    @property
    def run(self) -> str:
        """The run that holds."""
        return self._held.run

    def renew(self) -> None:
        """Prolong the lease now."""
        self._held.renew()

    def release(self) -> None:
        """Let go; a hold within a hold of the same run leaves that to the outer one."""
        if not self._nested:
            self._session._hold = None
            self._held.release()

    def __enter__(self) -> SessionHold:
        if not self._nested:
            self._held.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


def _pair(value: str | tuple[str, str]) -> tuple[str, str]:
    return (value, "") if isinstance(value, str) else value
