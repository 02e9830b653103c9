"""Scenes, and where they are kept: a file for each session, and one for a tree without a session.

A scene is kept at every moment that may be the last: at a pause, when a run stops, when something is
prepared. Only the newest counts. It is derived from nothing that is still there, so it is written
whole or not at all; without one, ``since.py`` puts together what git remembers of that moment.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ..._failpoints import trip
from ...core.base.text import clean_name
from ...core.resume.scene import Scene, decode, encode
from ...core.sessions.state import OPEN, SessionState
from ...effects.files.atomic import write_whole
from ...effects.git import scene as effect
from ...errors import UnknownSession
from ..features.features import stream_of_tree
from ..workspace.open_session import find_session

if TYPE_CHECKING:
    from ...core.runs.model import RunDigest
    from ..workspace.session_handle import SessionHandle
    from ..workspace.workspace import Workspace

TOUCHED_MAX = 400
OWNER = "project"


def folder_of(workspace: Workspace) -> Path:
    """Where what is prepared for this project stands: named after it, and after its key if that is taken."""
    import hashlib

    key, _ = workspace.working_tree.project_key(workspace.settings)
    plain = workspace.home.manifests / workspace.working_tree.project_name(key)
    owner = plain / OWNER
    try:
        if owner.read_text(errors="replace") in ("", key):
            return plain
    except OSError:
        return plain
    return plain.with_name(f"{plain.name}-{hashlib.sha256(key.encode()).hexdigest()[:8]}")


def own_folder(workspace: Workspace) -> Path:
    """The same, made ours."""
    folder = folder_of(workspace)
    if not (folder / OWNER).is_file():
        key, _ = workspace.working_tree.project_key(workspace.settings)
        write_whole(folder / OWNER, key.encode())
    return folder


def path_of(workspace: Workspace, session: str) -> Path:
    """The scene of a session, or of the working tree."""
    name = clean_name(session) if session else f"tree-{stream_of_tree(workspace.working_tree.root)}"
    return workspace.home.scenes / f"{name}.json"


def take(
    workspace: Workspace, state: SessionState | None, *, reason: str = "", digests: Sequence[RunDigest] = (),
    seconds: float = effect.TIME_SECONDS, seen: Scene | None = None, begun: effect.SceneQuery | None = None,
) -> Scene:  # fmt: skip
    """The world now, or as it was ``seen`` just now, with what this work is about."""
    root = workspace.working_tree.root
    found = seen or look(workspace, seconds, begun)
    mask = workspace.repository.mask
    focus = effect.focus_of(root, state.focus.file, state.focus.position) if state else None
    return replace(
        found,
        reason=mask(reason) if mask else reason,
        session=state.id if state else "",
        version=state.version if state else 0,
        focus=focus,
        notes=notes_outside(workspace),
        touched=touched(root, state, digests),
    )


def notes_outside(workspace: Workspace) -> dict[str, str]:
    """Notes that no look at the tree sees."""
    from .notes import library_of

    return library_of(workspace).outside()


def look(workspace: Workspace, seconds: float, begun: effect.SceneQuery | None = None) -> Scene:
    """The world around this project, without the data folder."""
    return effect.look(
        workspace.working_tree.root,
        seconds=seconds,
        cache=cache_of(workspace),
        skip=(workspace.home.path,),
        begun=begun,
    )


def cache_of(workspace: Workspace) -> Path:
    """What was read of a tree without git; features use the same."""
    return workspace.home.evidence / "trees" / f"{stream_of_tree(workspace.working_tree.root)}.tree"


def touched(root: Path, state: SessionState | None, digests: Sequence[RunDigest]) -> tuple[str, ...]:
    """The files that this work read or changed, changed ones first, from the top of the tree."""
    names: dict[str, None] = {}
    if state is not None:
        names.update((file, None) for file, _ in state.changes)
        if state.focus.file:
            names[state.focus.file] = None
    for digest in digests:
        base = Path(digest.cwd) if digest.cwd else root
        used = sorted(digest.files.items(), key=lambda pair: (-(pair[1].edited or 0), -pair[1].last))
        for path, _ in used:
            full = Path(path) if path.startswith("/") else base / path
            with suppress(ValueError):
                names[full.relative_to(root).as_posix()] = None
    return tuple(names)[:TOUCHED_MAX]


def keep(workspace: Workspace, scene: Scene) -> Path:
    """Make a scene the newest of its session."""
    workspace.pause_file.check()
    path = path_of(workspace, scene.session)
    trip("scene.keep.before")
    write_whole(path, encode(scene))
    trip("scene.keep.after")
    return path


def kept(workspace: Workspace, session: str) -> Scene | None:
    """The newest scene of a session, or of the tree; None if there is none that can be read."""
    try:
        return decode(path_of(workspace, session).read_bytes())
    except OSError:
        return None


def state_of(workspace: Workspace, session: SessionHandle | str | None) -> SessionState | None:
    """The session that is meant; without one, the current one if it is not over; None if there is none."""
    try:
        if session is None or isinstance(session, str):
            state = find_session(workspace, session or "").state
        else:
            state = session.state
    except UnknownSession:
        if session:
            raise
        return None
    return state if session or state.status in OPEN else None
