"""Which folders of notes a place has: a leaf, for many ask whether a path is a note."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from ...effects.notes import Library

if TYPE_CHECKING:
    from ..workspace.workspace import Workspace


def library_of(workspace: Workspace) -> Library:
    """The notes of a place: where its settings and its conventions say."""
    root = workspace.working_tree.root
    key, _ = workspace.working_tree.project_key(workspace.settings)
    name = hashlib.sha256(str(root).encode(errors="surrogateescape")).hexdigest()[:16]
    cache = None if workspace.pause_file.in_force() else workspace.home.path / "cache" / f"notes-{name}"
    return Library(
        root, _folders(workspace), cache, organization=workspace.settings.text("organization"),
        project=workspace.working_tree.project_name(key),
    )  # fmt: skip


def _folders(workspace: Workspace) -> list[str]:
    """The folders of the setting; a project's own file cannot name one outside the project."""
    own = next((one for one in workspace.settings.origins() if one.name == "notes"), None)
    if own is None or not own.value:
        return []
    from_project = own.origin == str(workspace.working_tree.project_file)
    found = []
    for folder in [part.strip() for part in str(own.value).split(",") if part.strip()]:
        full = (workspace.working_tree.root / folder).resolve()
        inside = (
            full == workspace.working_tree.root.resolve()
            or workspace.working_tree.root.resolve() in full.parents
        )
        if inside:
            found.append(full.relative_to(workspace.working_tree.root.resolve()).as_posix())
        elif not from_project:
            found.append(str(full))
    return found
