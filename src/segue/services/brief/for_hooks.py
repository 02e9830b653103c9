"""What a run is told when it starts, goes on, or is about to lose its window.

A run that begins is told where the last one stopped, whichever agent that was. One whose window was
compacted is told where it stands itself. One that goes on has its history before it: it is told only what
that does not say, which is what was cut off, or what others did meanwhile. Where there is nothing worth
saying nothing is said.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from ...agents import agent as agent_of
from ...agents.base import Found
from ...agents.hooks import HookEvent
from ...core import event_kinds as ev
from ...core.base.values import Value
from ...core.runs.identifiers import short_run
from ...core.runs.model import Open, RunDigest
from ...core.runs.shell_commands import shell
from ...core.sessions.state import OPEN, SessionState
from ...effects.git.probe import probe
from ...errors import SegueError, UnknownSession
from ..runs.observed import runs_of
from ..runs.run import left_of
from ..workspace.open_session import find_session
from . import brief as briefs
from .delivered import stream_of_run
from .relevant_memories import bearing

if TYPE_CHECKING:
    from ..runs.discovery import RunFinder
    from ..workspace.workspace import Workspace

HANDS_ON = ("startup", "clear", "")
STEER = "When you summarise, keep every fact of the following, which Segue read from this run's own record:"


class HookBrief(Value):
    """A brief, and what it was made of."""

    text: str = ""
    session: str = ""
    declared: bool = False
    """Whether somebody declared the session's plan."""


def tell(workspace: Workspace, event: HookEvent, *, budget: int) -> HookBrief:
    """The brief for a run at its start; empty where there is nothing worth saying."""
    capture = runs_of(workspace).capture()
    capture.remember()
    own = own_run(capture, event)
    if event.kind == "compact" or event.source == "compact":
        return _of(workspace, capture, own, budget) if own is not None else HookBrief()
    other = _newest(capture, event)
    if event.source in HANDS_ON:
        return _of_start(workspace, capture, other, budget)
    if own is not None and _was_cut_off(workspace, capture, own):
        return _of(workspace, capture, own, budget)
    meanwhile = other is not None and own is not None and other.changed > own.changed + 1
    if other is not None and (meanwhile or (own is None and _was_cut_off(workspace, capture, other))):
        return _of(workspace, capture, other, budget)
    return HookBrief()


def own_run(capture: RunFinder, event: HookEvent) -> Found | None:
    """The transcript of the run that the hook is called for."""
    if event.transcript:
        try:
            stat = Path(event.transcript).stat()
        except OSError:
            return None
        if not stat.st_size:
            return None
        return Found(
            event.agent, event.transcript, event.native, stat.st_mtime, stat.st_size, event.cwd,
            pid=event.pid, sign="alive",
        )  # fmt: skip
    return next((one for one in capture.found(event.agent) if one.native == event.native), None)


def _newest(capture: RunFinder, event: HookEvent) -> Found | None:
    """The newest run here that is no sub-agent's and not the one that asks."""
    for one in capture.found():
        if one.native == event.native or one.parent or one.path == event.transcript:
            continue
        if one.size or agent_of(one.agent).form == "database":
            return one
    return None


def _was_cut_off(workspace: Workspace, capture: RunFinder, found: Found) -> bool:
    try:
        return left_of(digest_of(workspace, capture, found)) == "middle"
    except SegueError:
        return False


def _of_start(workspace: Workspace, capture: RunFinder, other: Found | None, budget: int) -> HookBrief:
    """Where the work stands; nothing if it is over, or so old that nobody means it any more."""
    row = capture.row(other) if other is not None else None
    state = session_state(workspace, row.session if row is not None else "")
    is_over = row is not None and bool(row.session) and state is not None and state.status not in OPEN
    if is_over or state is None or state.status not in OPEN:
        current = session_state(workspace, "")
        state = current if current is not None and current.status in OPEN else None
    if other is None or is_over:
        return _written(workspace, None, [], state, budget) if _has_plan(state) else HookBrief()
    old = time.time() - other.changed > 86_400 * workspace.settings.number("resumable_days")
    if old and not _has_plan(state):
        return HookBrief()
    return _of(workspace, capture, other, budget)


def _has_plan(state: SessionState | None) -> bool:
    """Whether a session is open and has something that is not done, or was declared by somebody."""
    if state is None or state.status not in OPEN:
        return False
    undone = bool(state.next or state.active or state.blocked or state.features)
    return undone or not state.last_action.startswith("observed:")


def session_state(workspace: Workspace, id: str) -> SessionState | None:
    """The session of this id, or the current one."""
    try:
        return find_session(workspace, id).state
    except UnknownSession:
        last = workspace.last_seen("")
        return last.state if last is not None else None


def _of(workspace: Workspace, capture: RunFinder, found: Found, budget: int) -> HookBrief:
    try:
        digest = digest_of(workspace, capture, found)
    except SegueError:
        return HookBrief()
    row = capture.row(found)
    id = row.session if row is not None else ""
    state = session_state(workspace, id)
    if state is not None and state.status not in OPEN:
        state = None
    if not (digest.prompts or digest.inherited or digest.calls or _has_plan(state)):
        return HookBrief()
    digests = [digest, *briefs.before(capture, found, digest, id)]
    return _written(workspace, found, digests, state, budget)


def _written(
    workspace: Workspace,
    found: Found | None,
    digests: list[RunDigest],
    state: SessionState | None,
    budget: int,
) -> HookBrief:
    last = workspace.last_seen("")
    covered = None
    if last is None and state is not None and state.features:
        from ..features.features import Features

        covered = Features(find_session(workspace, state.id)).covered(state)
    try:
        memories = bearing(workspace, state, digests)
    except SegueError:
        memories = []
    native = found.native if found is not None else ""
    short = short_run(native)
    more = f"segue show {short} --timeline" if short else f"segue show {state.id}" if state else ""
    more += briefs.said_of(last) if last is not None and state is not None else ""
    text = briefs.written(
        digests, agent=found.agent if found is not None else "", session=state, covered=covered,
        memories=memories, probe=probe(workspace.folder, digests[0].last if digests else 0.0), budget=budget,
        more=more,
    )  # fmt: skip
    return HookBrief(text, state.id if state else "", bool(state and state.items))


def digest_of(workspace: Workspace, capture: RunFinder, found: Found) -> RunDigest:
    """What a run says, with the call that only a hook saw."""
    digest = briefs.of_found(capture, found)
    if agent_of(found.agent).name != "gemini-cli":
        return digest
    for call in _hooked_calls(workspace, found):
        what = shell(call.text).short or call.tool
        digest.pending[f"hook-{call.id}"] = Open(digest.steps + 1, call.tool, "run", what, call.text)
        digest.ended = None
    return digest


def _hooked_calls(workspace: Workspace, found: Found) -> list[ev.RunHooked]:
    """Calls that began and did not end, as hooks saw them, if nothing came after."""
    waiting: list[ev.RunHooked] = []
    for event in workspace.store.read(stream_of_run(found.agent, found.native)):
        body = ev.read_body(event)
        if not isinstance(body, ev.RunHooked):
            continue
        if body.kind == "tool" and not body.done:
            waiting.append(body)
        elif body.kind == "tool":
            same = next((one for one in waiting if (one.tool, one.text) == (body.tool, body.text)), None)
            if same is not None:
                waiting.remove(same)
        elif body.kind in ("stop", "prompt", "end"):
            waiting = []
    return waiting
