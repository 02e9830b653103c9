"""The working state of a session: the position in focus, open threads and questions, uncommitted changes,
agents.

What the session declares is compared with files, git and processes; nothing is written. The line in focus is
found again by the lines around it, even if the file was edited or renamed since.
"""

from __future__ import annotations

import re
from pathlib import Path

from msgspec.structs import replace

from ..._files import read_bytes
from ...core.base.text import clean_text
from ...core.base.values import Value, parse_digits
from ...core.resume.changes import FileChange
from ...core.resume.scene import Anchor, Scene, moved
from ...core.sessions.state import SessionState
from ...effects.files.atomic import is_protected_database
from ...effects.files.project_links import leads_out
from ...effects.git import scene as effect
from ...effects.git.history import HistoryQuery
from ...effects.processes import identity
from ...errors import SegueError
from ..workspace.own_files import own_files
from ..workspace.session_handle import SessionHandle
from ..workspace.workspace import Workspace
from . import scenes
from .notes import library_of

OPEN_MAX = 50


class FocusNow(Value):
    """The position in focus, then and now."""

    file: str = ""
    position: str = ""
    note_id: str = ""
    note_title: str = ""
    file_then: str = ""
    position_then: str = ""
    exact: bool | None = None
    """True if it is the same line, False if that is gone and this is where it would be, None if unknown."""
    text: str = ""
    """The line as it is now, masked."""


class OpenThread(Value):
    """A thread that is not finished."""

    topic: str
    status: str
    last_activity: str = ""
    notes: tuple[str, ...] = ()


class ChangeNow(Value):
    """A change that was uncommitted, and what git says about it now."""

    file: str
    type: str
    now: str
    """uncommitted, clean (committed or discarded: `segue since` says which), or not known."""


class AgentNow(Value):
    """A named agent, and whether its process and its working memory exist."""

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


class Working(Value):
    """The working state of a session."""

    session: str
    focus: FocusNow
    threads: tuple[OpenThread, ...]
    questions: tuple[str, ...]
    changes: tuple[ChangeNow, ...]
    agents: tuple[AgentNow, ...]


def working(session: SessionHandle) -> Working:
    """The working state of a session as it is now."""
    workspace, state = session.workspace, session.state
    scene = scenes.stored_scene(workspace, session.id)
    root = workspace.working_tree.root
    now = effect.look(root, seconds=2.0, own=own_files(workspace.home, root), hashes=False)
    threads = sorted(state.threads.values(), key=lambda t: (t.status != "in_progress", t.last_activity))
    return Working(
        session=session.id,
        focus=_focus(workspace, state, scene),
        threads=tuple(
            OpenThread(thread.topic, thread.status, thread.last_activity, thread.notes)
            for thread in threads
            if thread.status not in ("done", "closed", "ended", "resolved", "completed")
        )[:OPEN_MAX],
        questions=tuple(question.text for question in state.questions if not question.answer)[:OPEN_MAX],
        changes=tuple(_changes(state, scene, now)),
        agents=tuple(_agent(name, state) for name in state.agents),
    )


def _focus(workspace: Workspace, state: SessionState, scene: Scene | None) -> FocusNow:
    focus = state.focus
    file, position = focus.file, focus.position
    now = FocusNow(file, position, focus.note_id, focus.note_title, file, position)
    if not file:
        return _note_in_focus(workspace, state, now) if focus.note_id else now
    root = workspace.working_tree.root
    anchor = scene.focus if scene and scene.focus and (scene.focus.file == file) else None
    same = anchor is not None and _position(anchor) == position
    if not (root / file).is_file() and scene is not None:
        renamed = _renamed(scene, root, file)
        if not renamed:
            return replace(now, exact=False)
        file = renamed
    if is_protected_database(root / file) or leads_out(root / file, root):
        return now
    try:
        body = read_bytes(root / file)
    except OSError:
        return now
    if anchor is None or not same:
        line = max(0, parse_digits(position.partition(":")[0]))
        return replace(now, file=file, text=_text(workspace, body, line))
    line, exact = moved(anchor, body)
    present = _position(replace(anchor, line=line))
    return replace(now, file=file, position=present, exact=exact, text=_text(workspace, body, line))


def _note_in_focus(workspace: Workspace, state: SessionState, now: FocusNow) -> FocusNow:
    """The note in focus as the file that it is, and the line of its position: a line number, or a heading."""
    if not workspace.sees_tree:
        return now
    library = library_of(workspace, state)
    note = library.find(now.note_id)
    text = library.text(note) if note is not None else None
    if note is None or text is None:
        return replace(now, exact=False)
    lines = text.split("\n")
    line = parse_digits(now.position)
    if line <= 0:
        line = next((at for at, row in enumerate(lines, 1) if _is_heading(row, now.position)), 0)
    shown = _text(workspace, text.encode(), line)
    found = bool(shown) or not now.position
    return replace(
        now, file=note.path, file_then=note.path, note_title=note.title, exact=None if found else False,
        text=shown,
    )  # fmt: skip


def _is_heading(row: str, position: str) -> bool:
    """Whether a line of a note is the heading that a position names, as it is written or as an anchor."""
    anchor = _anchor_words(position)
    return row.startswith("#") and bool(anchor) and _anchor_words(row) == anchor


def _anchor_words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text.casefold())


def _position(anchor: Anchor) -> str:
    return f"{anchor.line}:{anchor.rest}" if anchor.rest else str(anchor.line)


def _text(workspace: Workspace, body: bytes, line: int) -> str:
    lines = body.split(b"\n")
    if not 0 < line <= len(lines):
        return ""
    text = clean_text(lines[line - 1][:400].decode("utf-8", "replace"), mask=workspace.repository.mask)
    return text.strip()[:200]


def _renamed(scene: Scene, root: Path, file: str) -> str:
    try:
        changes: tuple[FileChange, ...] = HistoryQuery(scene, root, seconds=2.0).history().changes
    except (SegueError, OSError):
        return ""
    renamed = {change.source: change.path for change in changes if change.kind == "renamed"}
    if file in renamed:
        return renamed[file]
    now = effect.look(root, seconds=2.0, hashes=False)
    return {change.source: change.path for change in now.dirty if change.source}.get(file, "")


def _changes(state: SessionState, scene: Scene | None, now: Scene) -> list[ChangeNow]:
    dirty = {change.path for change in now.dirty}
    then: dict[str, str] = dict(state.changes)
    if scene is not None:
        then |= {change.path: change.kind for change in scene.dirty if change.path not in then}
    unknown = "not known" if now.cut or not now.git else ""
    return [
        ChangeNow(file, kind, unknown or ("uncommitted" if file in dirty else "clean"))
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
