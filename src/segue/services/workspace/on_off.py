"""Switching Segue off for a working tree or a session: nothing is recorded there, and nothing is injected.

"Off" is a marker file in the data folder, so that the recording hook can check it without a store and without
loading anything: ``off/tree`` mirrors the paths of working trees, ``off/session`` holds ids of sessions.
Hooks, syncs and drains check it.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from ..._files import APPEND_FLAGS
from ...core.base.text import clean_name
from ...core.base.values import Value
from ...effects.files.atomic import PRIVATE_FILE, private_folder, sync_folder
from ...errors import RefusedError
from .data_folder import DataFolder

MARK = ".off"


class Switch(Value):
    """Whether Segue is on for a working tree or a session."""

    on: bool
    folder: str = ""
    session: str = ""
    changed: bool = False


def tree_mark(home: DataFolder, root: Path) -> Path:
    """The file whose existence says that a working tree is off."""
    return home.path / "off" / "tree" / str(root.absolute()).lstrip("/") / MARK


def session_mark(home: DataFolder, session: str) -> Path:
    """The file whose existence says that a session is off."""
    return home.path / "off" / "session" / clean_name(session)


def is_off(home: DataFolder, folder: Path, session: str = "") -> bool:
    """Whether Segue is off for a session, or in a folder or one of its parents."""
    if session and session_mark(home, session).exists():
        return True
    if not (home.path / "off" / "tree").exists():
        return False
    here = folder.resolve()
    return any(tree_mark(home, top).exists() for top in (here, *here.parents))


def any_session_off(home: DataFolder) -> bool:
    """Whether there is a session that is off, so that it matters which one is meant."""
    return (home.path / "off" / "session").exists()


def refuse_if_off(home: DataFolder, folder: Path, session: str = "") -> None:
    """Raise RefusedError where Segue is off."""
    if is_off(home, folder, session):
        what = f"for session {session}" if session and not is_off(home, folder) else f"in {folder}"
        raise RefusedError(
            f"Segue is off {what}: nothing is recorded", hint="`segue on` switches it on again"
        )


def switch(home: DataFolder, root: Path, session: str = "", *, on: bool) -> Switch:
    """Switch Segue on or off for a session, or else for a working tree. Durable when it returns."""
    mark = session_mark(home, session) if session else tree_mark(home, root)
    was_on = not mark.exists()
    if on and not was_on:
        mark.unlink(missing_ok=True)
        sync_folder(mark.parent)
        _prune(mark.parent, home.path)
    elif not on and was_on:
        private_folder(mark.parent)
        os.close(os.open(mark, APPEND_FLAGS, PRIVATE_FILE))
        sync_folder(mark.parent)
    return Switch(on, "" if session else str(root), session, was_on != on)


def _prune(folder: Path, top: Path) -> None:
    """Remove empty folders up to ``top``: the recording hook only checks whether there are any."""
    with suppress(OSError):
        while folder != top:
            folder.rmdir()
            folder = folder.parent
