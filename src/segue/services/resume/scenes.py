"""Taking and storing scenes: a file for each session, and one for a working tree without a session.

A scene is stored whenever the present moment may be the last one: at a pause, when a run stops, when a
manifest is prepared. Only the newest counts. It cannot be made again later, so it is written whole or not at
all; without one, ``since.py`` derives what it can from git.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ..._failpoints import trip
from ..._files import read_bytes, read_text
from ...core.base.text import clean_name
from ...core.resume.scene import Scene, decode, encode
from ...core.sessions.state import OPEN, SessionState
from ...effects.files.atomic import write_whole
from ...effects.git import scene as effect
from ...errors import UnknownSession
from ..features.features import stream_of_tree
from ..workspace.open_session import find_session
from ..workspace.own_files import own_files
from ..workspace.session_handle import SessionHandle
from ..workspace.workspace import Workspace

if TYPE_CHECKING:
    from ...core.runs.model import RunDigest

TOUCHED_MAX = 400
OWNER = "project"


def folder_of(workspace: Workspace) -> Path:
    """The folder of this project's manifests, named after the project, or its key if that name is taken."""
    import hashlib

    key, _ = workspace.working_tree.project_key(workspace.settings)
    plain = workspace.home.manifests / workspace.working_tree.project_name(key)
    owner = plain / OWNER
    try:
        if read_text(owner, errors="replace") in ("", key):
            return plain
    except OSError:
        return plain
    return plain.with_name(f"{plain.name}-{hashlib.sha256(key.encode()).hexdigest()[:8]}")


def own_folder(workspace: Workspace) -> Path:
    """The same folder, created and marked as this project's."""
    folder = folder_of(workspace)
    if not (folder / OWNER).is_file():
        key, _ = workspace.working_tree.project_key(workspace.settings)
        write_whole(folder / OWNER, key.encode())
    return folder


def path_of(workspace: Workspace, session: str) -> Path:
    """The file of the scene of a session, or of the working tree if there is none."""
    name = clean_name(session) if session else f"tree-{stream_of_tree(workspace.working_tree.root)}"
    return workspace.home.scenes / f"{name}.json"


def take_scene(
    workspace: Workspace, state: SessionState | None, *, reason: str = "", digests: Sequence[RunDigest] = (),
    seconds: float = effect.TIME_SECONDS, seen: Scene | None = None, begun: effect.SceneQuery | None = None,
) -> Scene:  # fmt: skip
    """The scene now, or the one ``seen`` just now, with the focus, notes and files of this work."""
    root = workspace.working_tree.root
    scene = seen or look(workspace, seconds, begun)
    mask = workspace.repository.mask
    focus = effect.focus_of(root, state.focus.file, state.focus.position) if state else None
    return replace(
        scene,
        reason=mask(reason) if mask else reason,
        session=state.id if state else "",
        version=state.version if state else 0,
        focus=focus,
        notes=notes_outside(workspace, state),
        touched=touched(root, state, digests),
    )


def notes_outside(workspace: Workspace, state: SessionState | None) -> dict[str, str]:
    """The hashes of notes that are outside the working tree."""
    from .notes import library_of

    return library_of(workspace, state).outside()


def look(workspace: Workspace, seconds: float, begun: effect.SceneQuery | None = None) -> Scene:
    """The bare scene of the working tree, without Segue's own files."""
    root, home = workspace.working_tree.root, workspace.home
    cache = home.evidence / "trees" / f"{stream_of_tree(root)}.tree"  # which features use as well
    return effect.look(root, seconds=seconds, cache=cache, own=own_files(home, root), begun=begun)


def touched(root: Path, state: SessionState | None, digests: Sequence[RunDigest]) -> tuple[str, ...]:
    """The files that this work read or changed, the changed ones first, relative to the root."""
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


def store_scene(workspace: Workspace, scene: Scene) -> Path:
    """Store a scene in the place of its session's last one."""
    workspace.pause_file.check()
    path = path_of(workspace, scene.session)
    trip("scene.keep.before")
    write_whole(path, encode(scene))
    trip("scene.keep.after")
    return path


def stored_scene(workspace: Workspace, session: str) -> Scene | None:
    """The stored scene of a session, or of the working tree; None if there is none that can be read."""
    with suppress(OSError):
        return decode(read_bytes(path_of(workspace, session)))
    return None


def state_of(workspace: Workspace, session: SessionHandle | str | None) -> SessionState | None:
    """The state of a session, or of the current one if it is open; None if there is none. Raises
    UnknownSession for one that was named."""
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
