"""The notes of a project, in the folders that settings and conventions name."""

from __future__ import annotations

import hashlib

from ...core.sessions.state import SessionState
from ...effects.notes import Library
from ..workspace.workspace import Workspace


def library_of(workspace: Workspace, state: SessionState | None = None) -> Library:
    """The notes of a session's organization and project or, without a session, of the workspace's."""
    root = workspace.working_tree.root
    if state is not None:
        organization, project = state.organization, state.project_name
    else:
        key, _ = workspace.working_tree.project_key(workspace.settings)
        organization = workspace.settings.text("organization")
        project = workspace.working_tree.project_name(key)
    place = "\0".join((str(root), organization, project))
    name = hashlib.sha256(place.encode(errors="surrogateescape")).hexdigest()[:16]
    cache = None if workspace.pause_file.in_force() else workspace.home.path / "cache" / f"notes-{name}"
    return Library(root, _folders(workspace), cache, organization=organization, project=project)


def _folders(workspace: Workspace) -> list[str]:
    """The folders in the setting ``notes``. A project's own file cannot name one outside the project."""
    setting = next((origin for origin in workspace.settings.origins() if origin.name == "notes"), None)
    if setting is None or not setting.value:
        return []
    from_project = setting.origin == str(workspace.working_tree.project_file)
    root = workspace.working_tree.root.resolve()
    folders = []
    for folder in [part.strip() for part in str(setting.value).split(",") if part.strip()]:
        full = (workspace.working_tree.root / folder).resolve()
        if full.is_relative_to(root):
            folders.append(full.relative_to(root).as_posix())
        elif not from_project:
            folders.append(str(full))
    return folders
