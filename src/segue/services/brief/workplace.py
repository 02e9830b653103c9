"""What a manifest says of the place of work: its top, git, the state file, and the size of the window."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from ..._files import open_file
from ...core.brief.manifest_words import Workplace, phase_in
from ...effects.git import repository
from ...errors import BadSettings
from ..runs.model_windows import window_of_run
from ..workspace.workspace import Workspace
from .runs_summary import RunsSummary

STATE_FILE = "PROJECT_STATE.md"
STATE_BYTES = 64_000


def workplace_of(workspace: Workspace, runs: RunsSummary, *, transcript: str = "") -> Workplace:
    """The place of work as it is now. ``transcript`` is a file that the caller handed in."""
    window = 0
    with suppress(BadSettings):  # a wrong setting is reported where it is asked for
        if runs.digests:
            window = window_of_run(runs.digests[0], workspace.settings, workspace.home).tokens
    if not workspace.sees_tree:
        return Workplace(window=window)
    root = workspace.working_tree.root
    text = _state(root)
    return Workplace(
        root=str(root), has_git=repository.find(root) is not None, window=window,
        state_file=STATE_FILE if text is not None else "", phase=phase_in(text or ""),
        transcript="" if runs.run else transcript,
    )  # fmt: skip


def _state(root: Path) -> str | None:
    """The text of the project's state file; None if there is none inside the project."""
    path = root / STATE_FILE
    try:
        if not path.is_file() or not os.path.realpath(path).startswith(os.path.realpath(root) + os.sep):
            return None
        with open_file(path) as file:
            return file.read(STATE_BYTES).decode("utf-8", "replace")
    except OSError:
        return None
