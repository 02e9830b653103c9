"""Which folders of notes a place has: a leaf, for many ask whether a path is a note."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from ...effects.notes import Library

if TYPE_CHECKING:
    from ...api.segue import Segue


def library_of(segue: Segue) -> Library:
    """The notes of a place: where its settings and its conventions say."""
    root = segue.place.root
    key, _ = segue.place.project_key(segue.settings)
    name = hashlib.sha256(str(root).encode(errors="surrogateescape")).hexdigest()[:16]
    cache = None if segue.brake.in_force() else segue.home.path / "cache" / f"notes-{name}"
    return Library(
        root, _folders(segue), cache, organization=segue.settings.text("organization"),
        project=segue.place.project_name(key),
    )  # fmt: skip


def _folders(segue: Segue) -> list[str]:
    """The folders of the setting; a project's own file cannot name one outside the project."""
    own = next((one for one in segue.settings.origins() if one.name == "notes"), None)
    if own is None or not own.value:
        return []
    from_project = own.origin == str(segue.place.project_file)
    found = []
    for folder in [part.strip() for part in str(own.value).split(",") if part.strip()]:
        full = (segue.place.root / folder).resolve()
        inside = full == segue.place.root.resolve() or segue.place.root.resolve() in full.parents
        if inside:
            found.append(full.relative_to(segue.place.root.resolve()).as_posix())
        elif not from_project:
            found.append(str(full))
    return found
