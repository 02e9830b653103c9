"""Interruptions: each saves first, says why in the journal, and gives what is needed to go on.

The order is the rule: the pause is durable before anything else is tried. If the store does not take it,
an emergency file does. What follows (processes of agents, scene, manifest) may fail without taking
anything back. A timeout is noticed by whoever comes next, since nothing runs in the background.
"""

from __future__ import annotations

import signal
import threading
import time
from contextlib import suppress
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any

from ..._failpoints import trip
from ...core.base.values import Value, iso, seconds_of
from ...core.resume.scene import Scene
from ...core.sessions import commands as do
from ...core.sessions.budget import Option, SetBudget, Spend, Standing, standing
from ...core.sessions.commands import PAUSE_CAUSES
from ...core.sessions.state import SessionState
from ...core.sessions.status import hints_of
from ...effects.clock import now
from ...effects.processes import identity
from ...errors import SegueError, StoreError, UsageError
from ..runs.observed import runs_of
from ..sessions.repository import Saved
from . import prepare, scenes
from .emergency import Guard

if TYPE_CHECKING:
    from ..workspace.session_handle import SessionHandle
    from ..workspace.workspace import Workspace

STOP_SECONDS = 3.0
"""How long a process of an agent may take to end."""
LEAVE_SECONDS = 2.0


class Summary(Value):
    """What a session was at."""

    active_minutes: float = 0.0
    made: dict[str, int] = {}
    """What there is of it: items done, decisions, findings, notes and so on."""
    under_way: tuple[str, ...] = ()
    next_actions: tuple[str, ...] = ()


class Interruption(Saved, kw_only=True, omit_defaults=True):
    """What an interruption left behind, and how to go on. ``events`` is 0 if it was paused already."""

    status: str
    """paused; emergency if the store did not take it; or what the session is, if it was over."""
    session_id: str
    cause: str
    reason: str
    resume_command: str
    at: str = ""
    summary: Summary = Summary()
    manifest: str = ""
    """Where the manifest is, or the emergency file."""
    agents: dict[str, str] = {}
    """Of each agent with a process: stopped, still running, gone, or why it was left alone."""
    current_spend: float = 0.0
    limit: float = 0.0
    tokens_used: int = 0
    tokens_limit: int = 0
    options: tuple[Option, ...] = ()
    inactive_seconds: float = 0.0
    last_activity: str = ""
    error: str = ""


def interrupt(session: SessionHandle, cause: str, reason: str = "", **more: Any) -> Interruption:
    """Stop a session for now: save, say why, end what is ours, leave all that the next run needs."""
    if cause not in PAUSE_CAUSES:
        raise UsageError(f"unknown cause: {cause}", hint="one of " + ", ".join(PAUSE_CAUSES))
    workspace = session.workspace
    bare = not workspace.sees_tree  # a server: the processes and the files are those of other machines
    seen = _seen(session) if cause == "user" and not bare else None
    wishes: list[do.Command] = [do.Pause(reason, cause)]
    if seen is not None and seen.git and not seen.cut:
        wishes.insert(0, do.SeeChanges(_changes(seen)))
    try:
        saved = session.apply(*wishes)
    except (StoreError, OSError) as fault:
        if bare:
            raise
        return _emergency(session, cause, reason, fault, more)
    trip("interrupt.after_pause")
    agents = {} if bare else stop_agents(session)
    left = "" if bare else leave(workspace, session, reason=reason or cause, seen=seen)
    state = session.state
    return Interruption(
        session=session.id, version=state.version, events=saved.events, warnings=saved.warnings,
        status=state.status, session_id=session.id, cause=cause, reason=reason,
        resume_command=f"segue resume {session.id}", at=state.paused or now(), summary=summary_of(state),
        manifest=left, agents=agents, **more,
    )  # fmt: skip


def _emergency(
    session: SessionHandle, cause: str, reason: str, fault: BaseException, more: dict[str, Any]
) -> Interruption:
    """The store is at fault: what is known goes into a file beside it."""
    guard = session.keeper or Guard(session, {})
    guard.keep_unsaved([do.Pause(reason, cause)], fault)
    path = guard.save(f"{cause}: {reason}" if reason else cause)
    cached = session.workspace.repository.cached(session.id)
    return Interruption(
        session=session.id, version=cached.version if cached else 0, events=0,
        status="emergency" if path else "not saved", session_id=session.id, cause=cause, reason=reason,
        resume_command=f"segue resume {session.id}", at=now(), manifest=str(path or ""),
        summary=summary_of(cached) if cached else Summary(), **{"error": str(fault), **more},
    )  # fmt: skip


def summary_of(state: SessionState) -> Summary:
    """Active time, what was made, what is under way, what comes next."""
    metrics = state.metrics
    counts = {
        "items done": len(state.done), "decisions": len(state.decisions), "findings": len(state.findings),
        "notes created": metrics.notes_created, "notes updated": metrics.notes_updated,
        "questions open": sum(not one.answer for one in state.questions),
        "uncommitted changes": len(state.changes),
    }  # fmt: skip
    going = [state.items[place].text for place in state.active]
    going += [one.topic for one in state.threads.values() if one.status == "in_progress"]
    return Summary(
        round(state.active_seconds / 60, 1), {name: count for name, count in counts.items() if count},
        tuple(going), tuple(hints_of(state).next_actions),
    )  # fmt: skip


def _seen(session: SessionHandle) -> Scene | None:
    """The world, if the session goes on until now: a user who pauses can wait for one look."""
    workspace = session.workspace
    if not workspace.home.path.is_dir():
        return None
    with suppress(SegueError, OSError):
        if session.state.status in ("created", "active"):
            return scenes.look(workspace, LEAVE_SECONDS)
    return None


def _changes(seen: Scene) -> tuple[tuple[str, str], ...]:
    """What is not committed, in the words of a session."""
    kinds = {"renamed": "modified", "conflict": "modified"}
    return tuple((one.path, kinds.get(one.kind, one.kind)) for one in seen.dirty)


def leave(workspace: Workspace, session: SessionHandle, *, reason: str, seen: Scene | None = None) -> str:
    """Keep scene and manifest; gives the manifest's path. Never raises: all that must be durable is."""
    if not workspace.home.path.is_dir():
        return ""  # nothing is kept on this disk
    try:
        return prepare.prepare(workspace, session, reason=reason, seconds=LEAVE_SECONDS, seen=seen).path
    except (SegueError, OSError):
        return ""


# -- processes of agents ---------------------------------------------------------------------------


def stop_agents(session: SessionHandle) -> dict[str, str]:
    """End the processes of this session's agents that are certainly the ones that were recorded.

    Ours are those on this machine with the start that was noted. This process and those that it runs in
    are left alone: an agent that pauses its own session goes on to say so."""
    found: dict[str, str] = {}
    own = set(identity.ancestors(identity.own_pid()))
    for name, agent in session.state.agents.items():
        if not agent.active or agent.pid <= 0:
            continue
        if not agent.pid_start or agent.host != identity.host_name():
            found[name] = "left alone: not known to be ours"
        elif agent.pid in own:
            found[name] = "left alone: it is the one that asks"
        else:
            found[name] = identity.stop(agent.pid, agent.pid_start, seconds=STOP_SECONDS)
            if found[name] in ("stopped", "gone"):
                with suppress(SegueError, OSError):
                    session.apply(do.NoteAgent(name, {"active": False, "pid": 0, "pid_start": ""}))
    return found


# -- budget ----------------------------------------------------------------------------------------


def budget_of(session: SessionHandle, state: SessionState | None = None) -> Standing:
    """What was spent, against the session's limits or those of the settings."""
    settings = session.workspace.settings
    return standing(
        state or session.state, limit_cost=settings.number("budget_usd"),
        limit_tokens=int(settings.number("budget_tokens")),
    )  # fmt: skip


def spend(session: SessionHandle, cost: float = 0.0, tokens: int = 0) -> Standing | Interruption:
    """Count what was spent; at a limit the session is saved and paused, unless it goes on sparingly."""
    session.apply(Spend(cost, tokens))
    found = budget_of(session)
    if not found.exceeded or found.limited or session.state.status != "active":
        return found
    return interrupt(
        session, "budget", _over(found), current_spend=found.current_spend, limit=found.limit,
        tokens_used=found.tokens_used, tokens_limit=found.tokens_limit, options=found.options,
    )  # fmt: skip


def _over(found: Standing) -> str:
    parts = []
    if found.limit and found.current_spend >= found.limit:
        parts.append(f"{found.current_spend:g} of {found.limit:g} USD spent")
    if found.tokens_limit and found.tokens_used >= found.tokens_limit:
        parts.append(f"{found.tokens_used:,} of {found.tokens_limit:,} tokens used")
    return ", ".join(parts)


def set_budget(
    session: SessionHandle,
    *,
    cost: float | None = None,
    tokens: int | None = None,
    limited: bool | None = None,
) -> Standing:
    """Set limits (0: none), or let it go on sparingly."""
    if limited is None and (cost is not None or tokens is not None) and session.state.budget.limited:
        limited = False  # a new limit counts again
    session.apply(SetBudget(cost, tokens, limited))
    return budget_of(session)


# -- timeout ---------------------------------------------------------------------------------------


def notice(session: SessionHandle) -> Interruption | None:
    """Record that a session was left alone for too long, if it was; whoever comes next calls this."""
    workspace = session.workspace
    limit = workspace.settings.number("idle_minutes") * 60
    state = session.state
    if state.status != "active" or limit <= 0 or workspace.holds.living(session.id):
        return None
    last = max(seconds_of(state.updated), _last_run(workspace, session.id))
    silent = time.time() - last
    if silent <= limit:
        return None
    reason = f"inactive for {silent / 60:.0f} minutes, since {iso(last)[:16].replace('T', ' ')} UTC"
    saved = session.apply(do.Pause(reason, "timeout"))
    return Interruption(
        session=session.id, version=saved.version, events=saved.events, warnings=saved.warnings,
        status=session.state.status, session_id=session.id, cause="timeout", reason=reason,
        resume_command=f"segue resume {session.id}", at=now(), summary=summary_of(state),
        inactive_seconds=round(silent, 1), last_activity=iso(last),
    )  # fmt: skip


def _last_run(workspace: Workspace, session: str) -> float:
    """When a run of the session was last heard of."""
    finder = runs_of(workspace).finder()
    newest = max((row.last for row in runs_of(workspace).runs.rows(session=session)), default=0.0)
    for one in finder.found():
        row = finder.row(one)
        if row is not None and row.session == session:
            return max(newest, one.changed)
        if one.changed <= newest:
            break
    return newest


# -- errors and signals ----------------------------------------------------------------------------


class SystemInterrupt(SystemExit):
    """A signal that ends the process, on its way through the program."""


class Watch:
    """``with s.interruptible() as watch:`` saves and pauses when the block is left by an error or a
    signal, and lets both go on; ``watch.interruption`` says what was left behind."""

    SIGNALS = ("SIGTERM", "SIGHUP")

    def __init__(self, session: SessionHandle) -> None:
        self._session = session
        self._before: dict[int, Any] = {}
        self.interruption: Interruption | None = None

    def __enter__(self) -> Watch:
        if threading.current_thread() is threading.main_thread():
            for name in self.SIGNALS:
                number = getattr(signal, name, None)
                if number is not None:
                    self._before[number] = signal.signal(number, self._on_signal)
        return self

    def _on_signal(self, number: int, _: FrameType | None) -> None:
        raise SystemInterrupt(128 + number)

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            if signal.getsignal(number) == self._on_signal:
                signal.signal(number, handler)
        if fault is None or (isinstance(fault, SystemExit) and fault.code in (None, 0)):
            return
        cause, reason = cause_of(fault)
        with suppress(SegueError, OSError):
            more = {"error": f"{type(fault).__name__}: {fault}"[:500]} if cause == "error" else {}
            self.interruption = interrupt(self._session, cause, reason, **more)


def cause_of(fault: BaseException) -> tuple[str, str]:
    """(cause, reason) of what ended a block."""
    if isinstance(fault, KeyboardInterrupt):
        return "system", "SIGINT"
    if isinstance(fault, SystemInterrupt):
        code = fault.code if isinstance(fault.code, int) else 0
        return "system", signal.Signals(code - 128).name
    if isinstance(fault, Exception):
        return "error", f"{type(fault).__name__}: {fault}"[:300]
    return "unknown", f"{type(fault).__name__}: {fault}"[:300]
