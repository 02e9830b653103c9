"""The pressure of a run, from its transcript, and the sizes of windows that agents have reported.

Agents report the size of a model's window in some places only (a status line, a result). It is remembered in
``$SEGUE_HOME/windows.json`` for the others. Asking for the pressure never creates a store.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import msgspec

from ...agents import agent as agent_of
from ...core.runs.model import RunDigest
from ...core.runs.window_pressure import THRESHOLD_DEFAULT, Pressure, pressure_of, window_of, windows_set
from ...effects.files.atomic import write_whole
from ...errors import BadSettings, SegueError, UsageError
from ...settings import Settings
from ..runs.observed import runs_of
from ..runs.read_transcript import final
from ..runs.select import find_run, newest_run
from ..workspace.data_folder import DataFolder
from ..workspace.workspace import Workspace

WINDOWS_MAX = 256


def pressure(
    workspace: Workspace,
    run: str = "",
    *,
    tokens_used: int | None = None,
    window: int = 0,
    threshold: float = 0.0,
) -> Pressure:
    """How full a window is: with this number of tokens, of a run, or of the newest run here."""
    limit = _threshold(threshold or workspace.settings.number("pressure_threshold"))
    if tokens_used is not None:
        return pressure_of(tokens_used, window or _default_window(workspace.settings), limit, source="given")

    finder = runs_of(workspace).finder()
    found = find_run(finder, run) if run else newest_run(finder)
    if found is None:
        return pressure_of(0, window or _default_window(workspace.settings), limit, source="default")
    digest = final(finder.reading(found), agent_of(found.agent))
    if window:
        return pressure_of(
            digest.context, window, limit, model=digest.model, run=found.native, agent=found.agent,
            source="given",
        )  # fmt: skip
    return pressure_of_digest(
        digest, workspace.settings, workspace.home, run=found.native, agent=found.agent, threshold=limit
    )


def pressure_of_digest(
    digest: RunDigest, settings: Settings, home: DataFolder, *, run: str = "", agent: str = "",
    threshold: float = 0.0, used: int = 0, window: int = 0,
) -> Pressure:  # fmt: skip
    """The pressure of a run with this digest; ``used`` and ``window`` are what a hook knows better."""
    tokens = used or digest.context
    reported = window or digest.window or known_windows(home).get(digest.model, 0)
    seen = tokens if reported else max(tokens, digest.context_max)
    size = window_of(digest.model, said=reported, set_to=_configured(settings), seen=seen)
    limit = _threshold(threshold or settings.number("pressure_threshold"))
    return pressure_of(
        tokens, size.tokens, limit, model=digest.model, run=run, agent=agent, source=size.source
    )


def _default_window(settings: Settings) -> int:
    return _configured(settings).get("", 0)


def _configured(settings: Settings) -> dict[str, int]:
    try:
        return windows_set(settings.text("windows"))
    except ValueError as fault:
        hint = "for example: claude-opus=1000000 gpt-5=400000"
        raise BadSettings(f"windows: {fault}", hint=hint) from fault


def _threshold(share: float) -> float:
    if not 0 < share <= 1:
        raise UsageError(f"a threshold of {share} is not a share of a window", hint="for example 0.8")
    return share if share else THRESHOLD_DEFAULT


def _file(home: DataFolder) -> Path:
    return home.path / "windows.json"


def known_windows(home: DataFolder) -> dict[str, int]:
    """The sizes of windows by model, as agents reported them."""
    try:
        windows = msgspec.json.decode(_file(home).read_bytes())
    except (OSError, UnicodeDecodeError, msgspec.DecodeError):
        return {}
    if not isinstance(windows, dict):
        return {}
    return {str(model): size for model, size in windows.items() if isinstance(size, int) and size > 0}


def remember_window(home: DataFolder, model: str, window: int) -> bool:
    """Remember the size of a model's window. Returns whether it was new. No data folder is created for it."""
    known = known_windows(home)
    if not model or window <= 0 or known.get(model) == window or not home.path.is_dir():
        return False
    known.pop(model, None)
    newest = dict(list({**known, model: window}.items())[-WINDOWS_MAX:])
    with suppress(OSError, SegueError):
        write_whole(_file(home), msgspec.json.format(msgspec.json.encode(newest), indent=1))
        return True
    return False
