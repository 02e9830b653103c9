"""What was done lately around a session, counted for its context and its metrics: notes, commits, runs.

It is Segue's own record, made when a session is left, taken up or completed, so that nobody has to count. The
metrics say how many notes were created and changed since the session began; what somebody counted already is
not counted again. What git cannot say in time is left as it was.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from ...core.base.values import Value, seconds_of
from ...core.resume.scene import Scene
from ...core.sessions import commands as do
from ...core.sessions.state import OBSERVER, OPEN, SessionState
from ...effects.git import scene as effect
from ...effects.git.queries import output_of
from ...effects.notes import Library
from ...errors import SegueError
from ..runs.observed import runs_of
from ..workspace.own_files import own_files
from ..workspace.session_handle import SessionHandle
from ..workspace.workspace import Workspace
from .notes import library_of

RECENT_DAYS = 7
GIT_SECONDS = 1.0
COMMITS_MAX = 2_000


class _NoteChange(Value):
    """A note that was created, changed or deleted, and when."""

    at: float
    kind: str
    path: str


def note_activity(session: SessionHandle, seen: Scene | None = None) -> None:
    """Record the recent activity of an open session, as far as it differs from what is recorded. ``seen`` is
    the scene of the working tree, if it is known."""
    workspace = session.workspace
    if not workspace.sees_tree or workspace.pause_file.in_force():
        return
    with suppress(SegueError, OSError):
        state = session.state
        if state.status not in OPEN:
            return
        context, counts = _activity(workspace, state, seen)
        commands: list[do.Command] = [do.NoteContext(context)] if context else []
        commands += [do.Count(counts)] if counts else []
        if commands:
            session.commit_trusted(commands, actor=OBSERVER)


def _activity(
    workspace: Workspace, state: SessionState, seen: Scene | None
) -> tuple[dict[str, Any], dict[str, float]]:
    """The facts of the context and the counts that are not recorded yet."""
    root, recent = workspace.working_tree.root, time.time() - 86_400 * RECENT_DAYS
    began = float(int(seconds_of(state.started or state.created)))  # as git tells the times of commits
    library = library_of(workspace, state)
    own = own_files(workspace.home, root)
    scene = seen or effect.look(root, seconds=GIT_SECONDS, own=own, hashes=False)
    facts: dict[str, Any] = {"cutoff_date": time.strftime("%Y-%m-%d", time.gmtime(recent))}
    rows = runs_of(workspace).runs.rows(session=state.id)
    facts["conversations_count"] = sum(row.last >= recent for row in rows)
    changes: list[_NoteChange] | None = None
    if scene.git:
        log = _log(root, min(recent, began))
        if log is not None:
            changes = [*_committed(log, library), *_uncommitted(root, scene, library)]
            facts["commits_count"] = sum(at >= recent for at, kind, _ in log if not kind)
    else:
        changes = [_NoteChange(note.changed_ns / 1e9, "M", note.path) for note in library.all().values()]
    counts: dict[str, float] = {}
    if changes is not None:
        created, updated = _counted(changes, recent)
        facts |= {"notes_created_count": created, "notes_updated_count": updated}
        created, updated = _counted(changes, began)
        metrics = state.metrics
        counts = {"notes_created": created - metrics.notes_created}
        counts["notes_updated"] = updated - metrics.notes_updated
    facts = {name: value for name, value in facts.items() if value != getattr(state.context, name)}
    facts = facts if facts.keys() - {"cutoff_date"} else {}
    return facts, {name: float(number) for name, number in counts.items() if number > 0}


def _log(root: Path, since: float) -> list[tuple[float, str, str]] | None:
    """The commits since a time, each followed by the files that it created, changed or deleted: a time, a
    kind and a path, both empty for the commit itself. None if git does not answer."""
    output = output_of(
        root, "log", f"--since={int(since)}", f"--max-count={COMMITS_MAX}", "--format=@%ct", "--name-status",
        "--no-renames", "-z", seconds=GIT_SECONDS,
    )  # fmt: skip
    return None if output is None else list(_entries(output))


def _entries(output: bytes) -> Iterator[tuple[float, str, str]]:
    at, kind = 0.0, ""
    for part in output.split(b"\0"):
        text = os.fsdecode(part)
        if kind:
            yield at, kind, text
            kind = ""
        elif text.startswith("@"):
            at = float(text[1:])
            yield at, "", ""
        else:
            kind = text.strip()


def _committed(log: list[tuple[float, str, str]], library: Library) -> Iterator[_NoteChange]:
    for at, kind, path in log:
        if kind and library.is_place(path):
            yield _NoteChange(at, kind, path)


def _uncommitted(root: Path, scene: Scene, library: Library) -> Iterator[_NoteChange]:
    kinds = {"created": "A", "deleted": "D"}
    for change in scene.dirty:
        if library.is_place(change.path):
            with suppress(OSError):
                at = os.lstat(root / change.path).st_mtime
                yield _NoteChange(at, kinds.get(change.kind, "M"), change.path)


def _counted(changes: list[_NoteChange], since: float) -> tuple[int, int]:
    """How many notes were created since a time, and how many others were changed."""
    later = [change for change in changes if change.at >= since]
    created = {change.path for change in later if change.kind == "A"}
    return len(created), len({change.path for change in later if change.kind == "M"} - created)
