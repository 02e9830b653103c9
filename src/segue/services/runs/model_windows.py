"""The size of a run's context window: as the user set it, as agents reported it, else as is known of models.

Agents report the size of a model's window in some places only (a status line, a result). It is remembered in
``$SEGUE_HOME/windows.json`` for the others.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import msgspec

from ..._files import read_bytes
from ...core.runs.model import RunDigest
from ...core.runs.window_pressure import Window, window_of, windows_set
from ...effects.files.atomic import write_whole
from ...errors import BadSettings, SegueError
from ...settings import Settings
from ..workspace.data_folder import DataFolder

WINDOWS_MAX = 256


def window_of_run(
    digest: RunDigest, settings: Settings, home: DataFolder, *, used: int = 0, window: int = 0
) -> Window:
    """The window of a run with this digest; ``used`` and ``window`` are what a hook knows better."""
    tokens = used or digest.context
    reported = window or digest.window or known_windows(home).get(digest.model, 0)
    seen = tokens if reported else max(tokens, digest.context_max)
    return window_of(digest.model, said=reported, set_to=windows_of_settings(settings), seen=seen)


def windows_of_settings(settings: Settings) -> dict[str, int]:
    """The sizes that the user set, by prefixes of model names. Raises BadSettings."""
    try:
        return windows_set(settings.text("windows"))
    except ValueError as fault:
        hint = "for example: claude-opus=1000000 gpt-5=400000"
        raise BadSettings(f"windows: {fault}", hint=hint) from fault


def _file(home: DataFolder) -> Path:
    return home.path / "windows.json"


def known_windows(home: DataFolder) -> dict[str, int]:
    """The sizes of windows by model, as agents reported them."""
    try:
        windows = msgspec.json.decode(read_bytes(_file(home)))
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
