"""The pressure of a run, from its transcript. Asking for it never creates a store."""

from __future__ import annotations

from ...agents import agent as agent_of
from ...core.runs.model import RunDigest
from ...core.runs.window_pressure import THRESHOLD_DEFAULT, Pressure, pressure_of
from ...errors import UsageError
from ...settings import Settings
from ..runs.model_windows import window_of_run, windows_of_settings
from ..runs.observed import runs_of
from ..runs.read_transcript import final
from ..runs.select import find_run, newest_run
from ..workspace.data_folder import DataFolder
from ..workspace.workspace import Workspace


def pressure(
    workspace: Workspace,
    run: str = "",
    *,
    tokens_used: int | None = None,
    window: int = 0,
    threshold: float = 0.0,
) -> Pressure:
    """How full a window is: with this number of tokens, of a run, or of the newest run here. Raises
    UsageError for a number that is none of tokens."""
    if window < 0 or (tokens_used is not None and tokens_used < 0):
        raise UsageError("a number of tokens cannot be negative", hint="for example: --tokens 165000")
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
    size = window_of_run(digest, settings, home, used=used, window=window)
    limit = _threshold(threshold or settings.number("pressure_threshold"))
    return pressure_of(
        tokens, size.tokens, limit, model=digest.model, run=run, agent=agent, source=size.source
    )


def _default_window(settings: Settings) -> int:
    return windows_of_settings(settings).get("", 0)


def _threshold(share: float) -> float:
    if not 0 < share <= 1:
        raise UsageError(f"a threshold of {share} is not a share of a window", hint="for example 0.8")
    return share if share else THRESHOLD_DEFAULT
