"""Symbolic links that lead out of a project. They may come with a clone, so nothing is written through one.

A link inside a project (``CLAUDE.md`` to ``AGENTS.md``) is followed, and so are links above it. The folder of
the repository itself counts as outside: what lies there is git's.
"""

from __future__ import annotations

import os
from pathlib import Path

from ...errors import NotWritable

HINT = "nothing was written; check the link, which may have come with a clone, and put a real file there"


def leads_out(path: Path, root: Path | None = None) -> str:
    """The real path of a file that is reached through a link out of its project; empty for any other. Without
    ``root``, the project is the repository that the path names, if any."""
    name = os.path.abspath(path)
    top = os.path.abspath(root) if root is not None else _project_of(name)
    if not top or not _is_in(name, top):
        return ""
    real, own = os.path.realpath(name), os.path.realpath(top)
    if not _is_in(real, own):
        return real
    git = os.path.join(own, ".git")
    return real if _is_in(real, git) and not _is_in(name, os.path.join(top, ".git")) else ""


def check_stays_inside(path: Path, root: Path | None = None) -> None:
    """Raise NotWritable if a file would be written through a link that leads out of its project."""
    real = leads_out(path, root)
    if real:
        raise NotWritable(f"{path} was left alone: {way_out(real)}", hint=HINT)


def way_out(real: str) -> str:
    """Why such a file is not written."""
    return f"a symbolic link there leads out of the project, to {real}"


def _is_in(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


def _project_of(path: str) -> str:
    """The innermost repository on the way to a path; what lies behind a link inside one belongs to it."""
    found = ""
    for part in reversed(Path(path).parents):
        if found and part.is_symlink():
            break
        if os.path.lexists(part / ".git"):
            found = str(part)
    return found
