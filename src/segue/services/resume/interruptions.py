"""Interrupting a session: save first, record why, and leave what is needed to resume.

The pause is durable before anything else is tried; if the store does not take it, an emergency file does.
What follows (processes of agents, scene, manifest) may fail without undoing anything. Since nothing runs in
the background, a timeout is noticed by the next process that resumes the session.
"""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from types import FrameType
from typing import Any

from msgspec.structs import asdict, replace

from ..._failpoints import trip
from ...core.base.values import Value, iso, seconds_of
from ...core.resume.scene import Scene
from ...core.sessions import commands as do
from ...core.sessions.budget import Option, SetBudget, Spend, Standing
from ...core.sessions.commands import PAUSE_CAUSES
from ...core.sessions.state import OBSERVER, SessionState
from ...core.sessions.status import hints_of
from ...effects.clock import now
from ...effects.processes import identity
from ...errors import SegueError, UsageError, is_of_store
from ..runs.observed import runs_of
from ..sessions.repository import Saved
from ..workspace.session_handle import SessionHandle
from ..workspace.workspace import Workspace
from . import prepare, scenes
from .activity import note_activity
from .emergency import Guard, unwatch_signals, watch_signals

STOP_SECONDS = 3.0
"""How long the process of an agent may take to end."""
LEAVE_SECONDS = 2.0


class Summary(Value):
    """What a session had reached."""

    active_minutes: float = 0.0
    made: dict[str, int] = {}
    """Counts of items done, decisions, findings, notes and so on."""
    under_way: tuple[str, ...] = ()
    next_actions: tuple[str, ...] = ()


class Interruption(Saved, kw_only=True, omit_defaults=True):
    """The result of an interruption, and how to resume. ``events`` is 0 if the session was paused already."""

    status: str
    """paused; emergency if only an emergency file could be written; or the status of a finished session."""
    session_id: str
    cause: str
    reason: str
    resume_command: str
    at: str = ""
    summary: Summary = Summary()
    manifest: str = ""
    """The path of the manifest, or of the emergency file."""
    agents: dict[str, str] = {}
    """For each agent with a process: stopped, still running, gone, or why it was left alone."""
    current_spend: float = 0.0
    limit: float = 0.0
    tokens_used: int = 0
    tokens_limit: int = 0
    options: tuple[Option, ...] = ()
    inactive_seconds: float = 0.0
    last_activity: str = ""
    error: str = ""


def interrupt(session: SessionHandle, cause: str, reason: str = "", **facts: Any) -> Interruption:
    """Pause a session, stop the processes of its agents, and write scene and manifest for the next run.
    ``facts`` are further fields of the result. Raises UsageError for an unknown cause."""
    if cause not in PAUSE_CAUSES:
        raise UsageError(f"unknown cause: {cause}", hint="one of " + ", ".join(PAUSE_CAUSES))
    workspace = session.workspace
    local = workspace.sees_tree  # on a server, processes and files belong to other machines
    seen = _seen(session) if cause == "user" and local else None
    commands: list[do.Command] = [do.Pause(reason, cause)]
    if seen is not None and seen.git and not seen.cut:
        commands.insert(0, do.SeeChanges(_changes(seen)))
    try:
        saved = session.apply(*commands)
    except (SegueError, OSError) as fault:
        if not local or not is_of_store(fault):
            raise
        return _emergency(session, cause, reason, fault, facts)
    trip("interrupt.after_pause")
    if local and cause == "user" and workspace.home.path.is_dir():  # a user who pauses can wait for it
        note_activity(session, seen)
    agents = stop_agents(session) if local else {}
    manifest = _try_prepare(session, reason=reason or cause, seen=seen) if local else ""
    state = session.state
    return _interruption(
        replace(saved, version=state.version), state.status, cause, reason, at=state.paused or now(),
        summary=summary_of(state), manifest=manifest, agents=agents, **facts,
    )  # fmt: skip


def _interruption(saved: Saved, status: str, cause: str, reason: str, **facts: Any) -> Interruption:
    session = saved.session
    return Interruption(
        **asdict(saved), status=status, session_id=session, cause=cause, reason=reason,
        resume_command=f"segue resume {session}", **facts,
    )  # fmt: skip


def _emergency(
    session: SessionHandle, cause: str, reason: str, fault: BaseException, facts: dict[str, Any]
) -> Interruption:
    guard = session.keeper or Guard(session, {})
    guard.keep_unsaved([do.Pause(reason, cause)], fault)
    path = guard.save(f"{cause}: {reason}" if reason else cause)
    cached = session.workspace.repository.cached(session.id)
    return _interruption(
        Saved(session.id, cached.version if cached else 0, 0), "emergency" if path else "not saved", cause,
        reason, at=now(), manifest=str(path or ""), summary=summary_of(cached) if cached else Summary(),
        **{"error": str(fault), **facts},
    )  # fmt: skip


def summary_of(state: SessionState) -> Summary:
    """A summary of a session: active time, counts, work under way, next actions."""
    metrics = state.metrics
    counts = {
        "items done": len(state.done), "decisions": len(state.decisions), "findings": len(state.findings),
        "notes created": metrics.notes_created, "notes updated": metrics.notes_updated,
        "questions open": sum(not question.answer for question in state.questions),
        "uncommitted changes": len(state.changes),
    }  # fmt: skip
    under_way = [state.items[index].text for index in state.active]
    under_way += [thread.topic for thread in state.threads.values() if thread.status == "in_progress"]
    return Summary(
        round(state.active_seconds / 60, 1), {name: count for name, count in counts.items() if count},
        tuple(under_way), tuple(hints_of(state).next_actions),
    )  # fmt: skip


def _seen(session: SessionHandle) -> Scene | None:
    """The present scene if the session is active; a user who pauses can wait for it."""
    workspace = session.workspace
    if not workspace.home.path.is_dir():
        return None
    with suppress(SegueError, OSError):
        if session.state.status in ("created", "active"):
            return scenes.look(workspace, LEAVE_SECONDS)
    return None


def _changes(seen: Scene) -> tuple[tuple[str, str], ...]:
    kinds = {"renamed": "modified", "conflict": "modified"}
    return tuple((change.path, kinds.get(change.kind, change.kind)) for change in seen.dirty)


def _try_prepare(session: SessionHandle, *, reason: str, seen: Scene | None) -> str:
    """Write scene and manifest; the manifest's path, or empty if that fails, since the pause is saved."""
    workspace = session.workspace
    if not workspace.home.path.is_dir():
        return ""  # nothing is stored on this machine
    with suppress(SegueError, OSError):
        return prepare.prepare(workspace, session, reason=reason, seconds=LEAVE_SECONDS, seen=seen).path
    return ""


def stop_agents(session: SessionHandle) -> dict[str, str]:
    """Stop the processes of this session's agents, and return what became of each.

    Only processes on this machine whose start time matches the recorded one are stopped. This process and its
    ancestors are left alone, so that an agent that pauses its own session can say so."""
    outcomes: dict[str, str] = {}
    own = set(identity.ancestors(os.getpid()))
    for name, agent in session.state.agents.items():
        if not agent.active or agent.pid <= 0:
            continue
        if not agent.pid_start or agent.host != identity.host_name():
            outcomes[name] = "left running: the process cannot be identified"
        elif agent.pid in own:
            outcomes[name] = "left running: it ran this command"
        else:
            outcomes[name] = identity.stop(agent.pid, agent.pid_start, seconds=STOP_SECONDS)
            if outcomes[name] in ("stopped", "gone"):
                with suppress(SegueError, OSError):
                    gone = do.NoteAgent(name, {"active": False, "pid": 0, "pid_start": ""})
                    session.commit_trusted((gone,), actor=OBSERVER)
    return outcomes


def budget_of(session: SessionHandle) -> Standing:
    """What was spent, compared with the session's limits or else those of the settings."""
    return session.workspace.standing(session.state)


def spend(session: SessionHandle, cost: float = 0.0, tokens: int = 0) -> Standing | Interruption:
    """Add to what was spent. At a limit the session is paused, unless it continues in limited mode."""
    session.apply(Spend(cost, tokens))
    budget = budget_of(session)
    if not budget.exceeded or budget.limited or session.state.status != "active":
        return budget
    return interrupt(
        session, "budget", _excess(budget), current_spend=budget.current_spend, limit=budget.limit,
        tokens_used=budget.tokens_used, tokens_limit=budget.tokens_limit, options=budget.options,
    )  # fmt: skip


def _excess(budget: Standing) -> str:
    parts = []
    if budget.limit and budget.current_spend >= budget.limit:
        parts.append(f"{budget.current_spend:g} of {budget.limit:g} USD spent")
    if budget.tokens_limit and budget.tokens_used >= budget.tokens_limit:
        parts.append(f"{budget.tokens_used:,} of {budget.tokens_limit:,} tokens used")
    return ", ".join(parts)


def set_budget(
    session: SessionHandle, *, cost: float | None = None, tokens: int | None = None,
    limited: bool | None = None,
) -> Standing:  # fmt: skip
    """Set limits (0 for none), or let the session continue in limited mode."""
    if limited is None and (cost is not None or tokens is not None) and session.state.budget.limited:
        limited = False  # a new limit applies again
    session.apply(SetBudget(cost, tokens, limited))
    return budget_of(session)


def pause_if_idle(session: SessionHandle) -> Interruption | None:
    """Pause a session by timeout if it was inactive for longer than ``idle_minutes``; None if it was not."""
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
    return _interruption(
        saved, session.state.status, "timeout", reason, at=now(), summary=summary_of(state),
        inactive_seconds=round(silent, 1), last_activity=iso(last),
    )  # fmt: skip


def _last_run(workspace: Workspace, session: str) -> float:
    finder = runs_of(workspace).finder()
    newest = max((row.last for row in runs_of(workspace).runs.rows(session=session)), default=0.0)
    for found in finder.found():
        row = finder.row(found)
        if row is not None and row.session == session:
            return max(newest, found.changed)
        if found.changed <= newest:
            break
    return newest


class SystemInterrupt(SystemExit):
    """Raised in place of a signal that ends the process."""


class Watch:
    """``with s.interruptible() as watch:`` pauses the session if the block is left by an error or a signal,
    and lets either propagate. ``watch.interruption`` is the result."""

    SIGNALS = ("SIGTERM", "SIGHUP")

    def __init__(self, session: SessionHandle) -> None:
        self._session = session
        self._before: dict[int, Any] = {}
        self.interruption: Interruption | None = None

    def __enter__(self) -> Watch:
        self._before = watch_signals(self.SIGNALS, self._on_signal)
        return self

    def _on_signal(self, number: int, _: FrameType | None) -> None:
        raise SystemInterrupt(128 + number)

    def __exit__(self, kind: object, fault: BaseException | None, trace: object) -> None:
        unwatch_signals(self._before, self._on_signal)
        if fault is None or (isinstance(fault, SystemExit) and fault.code in (None, 0)):
            return
        cause, reason = cause_of(fault)
        with suppress(SegueError, OSError):
            facts = {"error": f"{type(fault).__name__}: {fault}"[:500]} if cause == "error" else {}
            self.interruption = interrupt(self._session, cause, reason, **facts)


def cause_of(fault: BaseException) -> tuple[str, str]:
    """The cause and the reason for an exception that ended a block."""
    if isinstance(fault, KeyboardInterrupt):
        return "system", "SIGINT"
    if isinstance(fault, SystemInterrupt):
        code = fault.code if isinstance(fault.code, int) else 0
        return "system", signal.Signals(code - 128).name
    if isinstance(fault, Exception):
        return "error", f"{type(fault).__name__}: {fault}"[:300]
    return "unknown", f"{type(fault).__name__}: {fault}"[:300]
