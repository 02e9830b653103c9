"""Where the work was, as the world is now: the position in focus, open ends, uncommitted changes, agents.

What the session declares is compared with files, git and processes; nothing is written. A line in focus is
found again by the lines around it, also if the file was edited or renamed since.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ...core.base.values import Value, whole
from ...core.resume.changes import FileChange
from ...core.resume.scene import Anchor, Scene, moved
from ...core.sessions.state import SessionState
from ...effects.files.atomic import is_protected_database
from ...effects.git import scene as effect
from ...effects.git.history import HistoryQuery
from ...effects.processes import identity
from ...errors import SegueError
from . import scenes

if TYPE_CHECKING:
    from ..workspace.session_handle import SessionHandle
    from ..workspace.workspace import Workspace

OPEN_MAX = 50


class FocusNow(Value):
    """A place, then and now."""

    file: str = ""
    position: str = ""
    note_id: str = ""
    note_title: str = ""
    file_then: str = ""
    position_then: str = ""
    exact: bool | None = None
    """True: the very line; False: the line is gone, and this is where it would be; None: not known."""
    text: str = ""
    """What stands there now, masked."""


class OpenThread(Value):
    """A line of thought that is not ended."""

    topic: str
    status: str
    last_activity: str = ""
    notes: tuple[str, ...] = ()


class ChangeNow(Value):
    """A change that was not committed, and what git says of it now."""

    file: str
    type: str
    now: str
    """uncommitted, or clean: committed or discarded, `segue since` says which."""


class AgentNow(Value):
    """A named agent, and whether its process and its memory are there."""

    name: str
    active: bool
    mode: str = ""
    pid: int = 0
    process: str = ""
    """alive, gone, elsewhere (another machine) or none."""
    working_memory_path: str = ""
    working_memory_there: bool = False
    suggestions_pending: int = 0
    last_run: str = ""
    last_topic: str = ""
    state_bytes: int = 0
    """Of the state that the agent saved."""


class Working(Value):
    """The working state of a session."""

    session: str
    focus: FocusNow
    threads: tuple[OpenThread, ...]
    questions: tuple[str, ...]
    changes: tuple[ChangeNow, ...]
    agents: tuple[AgentNow, ...]


def working(session: SessionHandle) -> Working:
    """Look."""
    workspace, state = session.workspace, session.state
    kept = scenes.kept(workspace, session.id)
    now = effect.look(workspace.working_tree.root, seconds=2.0, skip=(workspace.home.path,), hashes=False)
    threads = sorted(state.threads.values(), key=lambda one: (one.status != "in_progress", one.last_activity))
    return Working(
        session=session.id,
        focus=_focus(workspace, state, kept),
        threads=tuple(
            OpenThread(one.topic, one.status, one.last_activity, one.notes)
            for one in threads
            if one.status not in ("done", "closed", "ended", "resolved", "completed")
        )[:OPEN_MAX],
        questions=tuple(one.text for one in state.questions if not one.answer)[:OPEN_MAX],
        changes=tuple(_changes(state, kept, now)),
        agents=tuple(_agent(name, state) for name in state.agents),
    )


def _focus(workspace: Workspace, state: SessionState, kept: Scene | None) -> FocusNow:
    focus = state.focus
    file, position = focus.file, focus.position
    now = FocusNow(file, position, focus.note_id, focus.note_title, file, position)
    if not file:
        return now
    root = workspace.working_tree.root
    held = kept.focus if kept and kept.focus and (kept.focus.file == file) else None
    same = held is not None and _position(held) == position
    if not (root / file).is_file() and kept is not None:
        renamed = _renamed(kept, root, file)
        if not renamed:
            return FocusNow(file, position, focus.note_id, focus.note_title, file, position, False)
        file = renamed
    if is_protected_database(root / file):
        return now
    try:
        body = (root / file).read_bytes()
    except OSError:
        return now
    if held is None or not same:
        number = position.partition(":")[0]
        line = max(0, whole(number))
        return FocusNow(
            file,
            position,
            focus.note_id,
            focus.note_title,
            focus.file,
            position,
            None,
            _text(workspace, body, line),
        )
    line, exact = moved(held, body)
    place = f"{line}:{held.rest}" if held.rest else str(line)
    return FocusNow(
        file,
        place,
        focus.note_id,
        focus.note_title,
        focus.file,
        position,
        exact,
        _text(workspace, body, line),
    )


def _position(held: Anchor) -> str:
    return f"{held.line}:{held.rest}" if held.rest else str(held.line)


def _text(workspace: Workspace, body: bytes, line: int) -> str:
    from ...core.base.text import clean_text

    lines = body.split(b"\n")
    if not 0 < line <= len(lines):
        return ""
    text = clean_text(lines[line - 1][:400].decode("utf-8", "replace"), mask=workspace.repository.mask)
    return text.strip()[:200]


def _renamed(kept: Scene, root: Path, file: str) -> str:
    """Where a file is now that was renamed since."""
    try:
        changes: tuple[FileChange, ...] = HistoryQuery(kept, root, seconds=2.0).history().changes
    except (SegueError, OSError):
        return ""
    found = {one.source: one.path for one in changes if one.kind == "renamed"}
    if file in found:
        return found[file]
    now = effect.look(root, seconds=2.0, hashes=False)
    return {one.source: one.path for one in now.dirty if one.source}.get(file, "")


def _changes(state: SessionState, kept: Scene | None, now: Scene) -> list[ChangeNow]:
    here = {one.path for one in now.dirty}
    then: dict[str, str] = dict(state.changes)
    if kept is not None:
        then |= {one.path: one.kind for one in kept.dirty if one.path not in then}
    word = "not known" if now.cut or not now.git else ""
    return [
        ChangeNow(file, kind, word or ("uncommitted" if file in here else "clean"))
        for file, kind in sorted(then.items())
    ]


def _agent(name: str, state: SessionState) -> AgentNow:
    agent = state.agents[name]
    process = "none"
    if agent.pid > 0:
        elsewhere = bool(agent.host) and agent.host != identity.host_name()
        alive = bool(agent.pid_start) and identity.start_of(agent.pid) == agent.pid_start
        process = "elsewhere" if elsewhere else "alive" if alive else "gone"
    path = agent.working_memory_path
    return AgentNow(
        name, agent.active and process != "gone", agent.mode, agent.pid, process, path,
        bool(path) and Path(path).expanduser().exists(), agent.suggestions_pending, agent.last_run,
        agent.last_topic, agent.size,
    )  # fmt: skip
