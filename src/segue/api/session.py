"""A session in the library, with a typed method for everything that can be done to it.

A handle has no state but the id and, possibly, a hold: two handles of one session,
in one process or two, see and merge each other's work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from .._checked_calls import checked
from ..core.base.text import clean_name
from ..core.base.values import Texts, texts
from ..core.sessions import commands as do
from ..core.sessions.checkpoint import Checkpoint, commands
from ..core.sessions.status import SessionStatus
from ..errors import BadValue, UnknownCheckpoint, UsageError
from ..services.sessions.repository import Saved
from ..services.workspace.session_handle import SessionHandle

if TYPE_CHECKING:
    from ..core.resume.restoration import Restoration
    from ..core.sessions.budget import Standing
    from ..services.handoff.offers import HandoffOffer
    from ..services.resume.autosave import Checkpointed, Checkpointer
    from ..services.resume.emergency import Guard
    from ..services.resume.interruptions import Interruption, Watch
    from ..services.resume.working_state import Working
    from .features import SessionFeatures
    from .ledger import SessionLedger
    from .memories import Memories


Pairs = str | Iterable[str | tuple[str, str]]


@lru_cache(maxsize=256)
def _agent_name(agent: str) -> str:
    return clean_name(agent, what="agent's name")


@checked
class Session(SessionHandle):
    """A piece of work that outlives any process."""

    @classmethod
    def of(cls, handle: SessionHandle) -> Session:
        """The session of a handle, with all methods."""
        return cls(handle.workspace, handle.id, pending=handle.pending)

    def status(self) -> SessionStatus:
        """What is done, under way, next and blocked, and all the rest worth showing."""
        from ..services.runs.sessions_shown import status_with_runs

        return status_with_runs(self)

    def add(self, *items: str) -> Saved:
        """Add items to the end of the plan."""
        return self.commit_trusted(tuple(map(do.Add, items)))

    def begin(self, *items: str, new: bool = False) -> Saved:
        """Mark items as under way; an unknown one is added. Raises MisspeltItem for a name close to that of a
        planned one, unless ``new`` says that a new item is meant."""
        return self.commit_trusted(tuple(do.Begin(item, new=new) for item in items))

    def done(self, *items: str, new: bool = False) -> Saved:
        """Mark items as done; an unknown one is added, under the same condition as with ``begin``."""
        return self.commit_trusted(tuple(do.Done(item, new) for item in items))

    def block(self, item: str, reason: str = "", *, stay: bool = False, new: bool = False) -> Saved:
        """Mark an item as blocked. If it was under way, the next one begins, unless ``stay`` is set."""
        return self.commit_trusted((do.Block(item, reason, stay, new),))

    def unblock(self, *items: str) -> Saved:
        """Mark items as no longer blocked; they are next, at their place in the plan."""
        return self.commit_trusted(tuple(map(do.Unblock, items)))

    def drop(self, item: str, reason: str = "", *, new: bool = False) -> Saved:
        """Drop an item: it will not be done."""
        return self.commit_trusted((do.Drop(item, reason, new),))

    def note(self, text: str) -> Saved:
        """Note what was just done: the last action."""
        return self.commit_trusted((do.Note(text),))

    def decide(self, text: str, why: str = "") -> Saved:
        """Record a decision, and the reason for it."""
        return self.commit_trusted((do.Decide(text, why),))

    def ask(self, text: str) -> Saved:
        """Record an open question."""
        return self.commit_trusted((do.Ask(text),))

    def answer(self, question: str, answer: str) -> Saved:
        """Answer a question."""
        return self.commit_trusted((do.Answer(question, answer),))

    def learn(self, text: str) -> Saved:
        """Record something that was found out."""
        return self.commit_trusted((do.Learn(text),))

    def error(self, text: str) -> Saved:
        """Record an error that occurred."""
        return self.commit_trusted((do.Fail(text),))

    def solved(self, error: str, solution: str) -> Saved:
        """Record how an error was solved."""
        return self.commit_trusted((do.Solve(error, solution),))

    def thread(self, topic: str, status: str = "in_progress", notes: Texts = ()) -> Saved:
        """Record the status of a line of thought."""
        return self.commit_trusted((do.Thread(topic, status, texts(notes)),))

    def focus(self, *, file: str = "", position: str = "", note_id: str = "", note_title: str = "") -> Saved:
        """Set the place that is being worked on."""
        return self.commit_trusted((do.Focus(note_id, note_title, file, position),))

    def load_notes(self, ids: Texts, *, tokens: int = 0, paths: dict[str, str] | None = None) -> Saved:
        """Record that notes were loaded; those used most are recommended when the session is resumed."""
        return self.commit_trusted((do.LoadNotes(texts(ids), tokens, paths or {}),))

    def see_changes(self, changes: Iterable[tuple[str, str]]) -> Saved:
        """Record the uncommitted changes of the working tree, as (file, created | modified | deleted)."""
        try:
            pairs = tuple((str(file), kind) for file, kind in changes)
        except (TypeError, ValueError) as fault:
            raise BadValue("`changes` must hold pairs", hint="(file, created)") from fault
        wrong = next((kind for _, kind in pairs if kind not in ("created", "modified", "deleted")), None)
        if wrong is not None:
            raise UsageError(f"unknown kind of change: {wrong}", hint="created, modified or deleted")
        return self.commit_trusted((do.SeeChanges(pairs),))

    def note_context(self, **values: Any) -> Saved:
        """Record facts about the loaded context: fields of ``Context``."""
        return self.commit_trusted((do.NoteContext(values),))

    def count(self, **counts: float) -> Saved:
        """Add to the session's metrics: fields of ``Metrics``."""
        return self.commit_trusted((do.Count(counts),))

    def describe(self, *, goal: str | None = None, summary: str | None = None) -> Saved:
        """Change the goal or the summary."""
        return self.commit_trusted((do.Describe(goal, summary),))

    def checkpoint(
        self, name: str = "", *, done: Texts = (), begin: Texts = (), block: Pairs = (), unblock: Texts = (),
        drop: Pairs = (), add: Texts = (), note: str = "", decide: Pairs = (), ask: Texts = (),
        answer: Pairs = (), thread: Pairs = (), focus: str = "", learn: Texts = (), error: Texts = (),
        solved: Pairs = (), summary: str = "", goal: str = "", stay: bool = False,
        new: bool = False,
    ) -> Saved:  # fmt: skip
        """Make several changes at once, all or none; with a name, a state to go back to.

        What has two parts (a blocked item and why, a decision and why, a question and its answer …) is a
        pair, or one text where the second part may be missing. ``focus`` is ``FILE[:POSITION]``. Raises
        MisspeltItem for a name close to that of a planned item, unless ``new`` is set."""
        made = Checkpoint(
            done=texts(done), begin=texts(begin), add=texts(add), block=_pairs(block), unblock=texts(unblock),
            drop=_pairs(drop), stay=stay, new=new, note=note or None, decide=_pairs(decide), ask=texts(ask),
            answer=_pairs(answer), thread=_pairs(thread), focus=focus or None, learn=texts(learn),
            error=texts(error), solved=_pairs(solved), summary=summary or None, goal=goal or None,
            name=name or None,
        )  # fmt: skip
        return self.commit_trusted(commands(made))

    # -- lifecycle -----------------------------------------------------------------------------

    def pause(self, reason: str = "", *, cause: str = "user") -> Interruption:
        """Pause: save, record why, and write down what the next run needs. Unrelated to the PAUSE file."""
        from ..services.resume.interruptions import interrupt

        return interrupt(self, cause, reason)

    def resume(self) -> Saved:
        """Resume the session. A completed or abandoned one stays as it is.

        If it was inactive for too long, a pause by timeout is recorded first."""
        from ..services.resume.interruptions import pause_if_idle
        from ..services.runs.sessions_shown import resumption

        pause_if_idle(self)
        return self.commit_trusted((resumption(self),))

    def interruptible(self) -> Watch:
        """Save and pause when an error or a signal ends a block: ``with s.interruptible(): ...``."""
        from ..services.resume.interruptions import Watch

        return Watch(self)

    def spend(self, cost: float = 0.0, tokens: int = 0) -> Standing | Interruption:
        """Add to what was spent (US dollars, tokens); returns an Interruption if that reached a limit."""
        from ..services.resume.interruptions import spend

        return spend(self, cost, tokens)

    def budget(
        self, *, cost: float | None = None, tokens: int | None = None, limited: bool | None = None
    ) -> Standing:
        """What was spent, and the limits. With values: set limits (0: none), or continue ``limited``."""
        from ..services.resume.interruptions import budget_of, set_budget

        if cost is None and tokens is None and limited is None:
            return budget_of(self)
        return set_budget(self, cost=cost, tokens=tokens, limited=limited)

    def working(self) -> Working:
        """The working state now: focus, threads, questions, uncommitted changes and agents."""
        from ..services.resume.working_state import working

        return working(self)

    def checkpointer(
        self, *, interval_minutes: float | None = None, every_seconds: float = 900.0,
        look_seconds: float = 60.0, changes_max: int = 50, triggers: Iterable[str] = (),
        notice: Callable[[Checkpointed], None] | None = None, **agents: Callable[[], Any],
    ) -> Checkpointer:  # fmt: skip
        """A thread that saves from time to time: ``with s.checkpointer(planner=get_state): ...``. It saves
        every ``interval_minutes`` or ``every_seconds``, after ``changes_max`` changes, and for ``triggers``;
        it looks for changed files every ``look_seconds``. All other names are of agents, with functions that
        return their states. ``notice`` is called with a checkpoint or a failure, at most once an hour."""
        from ..services.resume.autosave import Checkpointer

        every = every_seconds if interval_minutes is None else 60.0 * interval_minutes
        return Checkpointer(
            self, every_seconds=every, look_seconds=look_seconds, changes_max=changes_max,
            triggers=triggers, notice=notice, **agents,
        )  # fmt: skip

    @property
    def features(self) -> SessionFeatures:
        """Its criteria of success: declare, verify and list them."""
        from .features import SessionFeatures

        return SessionFeatures(self)

    @property
    def ledger(self) -> SessionLedger:
        """What was said in it and holds: requests, rules, choices, lists; look at it, and correct it."""
        from .ledger import SessionLedger

        return SessionLedger(self)

    def complete(self, summary: str = "", *, force: str = "") -> Saved:
        """Complete the session. UnverifiedFeatures unless all is proven or ``force`` has a reason."""
        from ..services.features.features import complete_session
        from ..services.resume.activity import note_activity

        note_activity(self)
        return complete_session(self, summary, force=force)

    def abandon(self, reason: str = "") -> Saved:
        """Give up the goal, and end the session."""
        return self.commit_trusted((do.Abandon(reason),))

    def hand(self, to: str, note: str = "") -> Saved:
        """Pass the session to another agent, by name."""
        return self.commit_trusted((do.Hand(to, note),))

    def hand_off(self, to: str, note: str = "", **options: Any) -> HandoffOffer:
        """Offer the session to an agent; exactly one can take it. See `Handoffs.offer`."""
        from ..services.handoff.offers import Handoffs

        return Handoffs(self.workspace).offer(self.id, to, note, **options)

    # -- going back ----------------------------------------------------------------------------

    def rewind(self, name: str) -> Saved:
        """Go back to the work as it was at a named checkpoint; what came after stays in the log."""
        state = self.state
        mark = state.marks.get(name)
        if mark is None:
            names = ", ".join(state.marks) or "none yet"
            raise UnknownCheckpoint(f"no checkpoint {name!r} in {self.id}", hint=f"checkpoints: {names}")
        then = self.workspace.repository.state_at(self.id, mark.version)
        return self.go_back(do.Rewind(mark.version, then, name), since=state.version)

    def undo(self) -> Saved:
        """Undo the last command with all of its consequences; called again, the one before it.

        Raises NothingToUndo if there is none, or if it cannot be undone."""
        from ..services.handoff.undo import undo

        return undo(self)

    # -- agents --------------------------------------------------------------------------------

    def save_agent(self, agent: str, value: Any, *, since: int | None = None) -> Saved:
        """Save an agent's own state: any JSON value, of any size; only what changed is stored.

        Bytes, NaN and numeric keys are kept; other objects come back as plain data. Raises StaleVersion if
        somebody else changed the state since it was last seen here.
        """
        return super().save_agent(_agent_name(agent), value, since=since)

    def load_agent(self, agent: str) -> Any:
        """The agent's state as it was last saved."""
        return super().load_agent(agent)

    def note_agent(self, agent: str, **values: Any) -> Saved:
        """Record facts about an agent: mode, pid, active, last_topic and so on (fields of AgentState).

        A pid is stored with the host and start time of the process, so that a pause can tell whether it is
        still the same."""
        pid = values.get("pid")
        if isinstance(pid, int) and pid > 0 and "pid_start" not in values:
            from ..effects.processes.identity import host_name, start_of

            values = {**values, "pid_start": start_of(pid), "host": host_name()}
        return self.commit_trusted((do.NoteAgent(clean_name(agent, what="agent's name"), values),))

    def drop_agent(self, agent: str) -> Saved:
        """Forget an agent."""
        return self.go_back(do.DropAgent(agent))

    # -- for a run -----------------------------------------------------------------------------

    def restore(self, budget: str | int = "balanced", **options: Any) -> Restoration:
        """Its context within a budget of tokens, and a log of what was loaded; see `Segue.restore`."""
        from ..services.resume.restore import restore

        return restore(self.workspace, self.id, budget=budget, **options)

    @property
    def memories(self) -> Memories:
        """The memories that this session's actor may see."""
        from .memories import Memories

        return self.workspace.part(Memories)

    def guard(self, **agents: Any) -> Guard:
        """Save what is not durable yet when the process is killed: ``with s.guard(): ...``.

        Keyword arguments are names of agents with functions that return their present state.
        """
        from ..services.resume.emergency import Guard

        return Guard(self, agents)


def _pairs(value: Pairs) -> tuple[tuple[str, str], ...]:
    """One text or several, each with its second part."""
    several = (value,) if isinstance(value, str) else tuple(value)
    return tuple((one, "") if isinstance(one, str) else (one[0], one[1]) for one in several)
