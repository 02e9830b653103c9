"""How full a run's context window is, and when it is time to prepare a recovery.

The size of a window is what the user set; else what the agent says; else what the table has for the model;
else 200,000 tokens. If a run uses more than that, its window must be larger: the next known size is assumed.
Each trigger has a name, so that a prepared recovery says why it was prepared.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

from ..base.values import Value
from .model import RunDigest

Level = Literal["NORMAL", "ELEVATED", "CRITICAL", "EMERGENCY"]

WINDOW_DEFAULT: Final = 200_000
THRESHOLD_DEFAULT: Final = 0.8
LEVELS: tuple[tuple[Level, float], ...] = (("NORMAL", 0.6), ("ELEVATED", 0.8), ("CRITICAL", 0.9))
"""The fraction of the window below which each level applies; above all of them it is EMERGENCY."""

USER_REQUEST: Final = "user request"
WINDOW_FULL: Final = "window"
TWO_HOURS: Final = "two hours"
QUARTER_HOUR: Final = "15 minutes"
FILE_MODIFIED: Final = "file modified"
TEST_PASSED: Final = "test passed"
FEATURE_COMPLETE: Final = "feature complete"
ERROR_RECOVERED: Final = "error recovered"
BEFORE_EXIT: Final = "before exit"

TRIGGERS: Mapping[str, str] = {
    USER_REQUEST: "somebody asked for it",
    WINDOW_FULL: "the context window is full up to the threshold, 80 % by default",
    TWO_HOURS: "two hours of work have passed since the last time",
    QUARTER_HOUR: "fifteen minutes of activity have passed since the last time",
    FILE_MODIFIED: "a file was changed",
    TEST_PASSED: "a test passed",
    FEATURE_COMPLETE: "a feature is proven",
    ERROR_RECOVERED: "something that had failed works again",
    BEFORE_EXIT: "the run ends, or its context window is about to be compacted",
}
"""The triggers of a recovery, and what they mean."""

QUARTER_HOUR_SECONDS: Final = 900.0
TWO_HOURS_SECONDS: Final = 7_200.0

WINDOWS: tuple[tuple[str, int], ...] = (
    ("claude", 200_000),
    ("gemini-1.5-pro", 2_097_152),
    ("gemini", 1_048_576),
    ("gpt-4.1", 1_047_576),
    ("gpt-4o", 128_000),
    ("gpt-4", 128_000),
    ("gpt-5", 272_000),
    ("gpt-6", 272_000),
    ("codex", 272_000),
    ("o1", 200_000),
    ("o3", 200_000),
    ("o4", 200_000),
    ("deepseek", 128_000),
    ("qwen3-coder", 262_144),
    ("qwen", 131_072),
    ("kimi-k2", 262_144),
    ("glm-4", 131_072),
    ("mistral", 131_072),
    ("devstral", 131_072),
    ("grok-4", 256_000),
    ("grok", 131_072),
    ("llama-4", 1_000_000),
    ("llama", 128_000),
)
"""The windows of models by the beginning of their names, used only if the agent does not say the size."""
LARGER: tuple[int, ...] = (200_000, 272_000, 400_000, 1_000_000, 1_048_576, 2_097_152)
"""Known window sizes. A run that uses more than its window is assumed to have the next larger one."""


class Pressure(Value):
    """How full the context window of a run is."""

    tokens_used: int
    tokens_available: int
    """The tokens that are left in the window."""
    usage_percentage: float
    pressure_level: Level
    should_prepare: bool
    """Whether the threshold is reached, so that the recovery should be prepared now."""
    window: int = WINDOW_DEFAULT
    threshold: float = THRESHOLD_DEFAULT
    model: str = ""
    run: str = ""
    agent: str = ""
    source: str = ""
    """Where the size of the window comes from: agent, setting, table, usage or default."""


class Window(Value):
    """The size of a context window, and where it comes from."""

    tokens: int
    source: str


def level_of(share: float) -> Level:
    """The pressure level for a fraction of the window that is used."""
    return next((name for name, below in LEVELS if share < below), "EMERGENCY")


def pressure_of(
    used: int, window: int = WINDOW_DEFAULT, threshold: float = THRESHOLD_DEFAULT, *, model: str = "",
    run: str = "", agent: str = "", source: str = "",
) -> Pressure:  # fmt: skip
    """The pressure of ``used`` tokens in a window of this size."""
    used, window = max(0, used), window if window > 0 else WINDOW_DEFAULT
    share = used / window
    return Pressure(
        used, max(0, window - used), round(100 * share, 1), level_of(share), share >= threshold, window,
        threshold, model, run, agent, source,
    )  # fmt: skip


def window_of(model: str, *, said: int = 0, set_to: Mapping[str, int] | None = None, seen: int = 0) -> Window:
    """The context window of a model, which is never smaller than the usage ``seen`` in it.

    ``said`` is what the agent says. ``set_to`` is what the user set for prefixes of model names, of which the
    longest that matches counts; the empty prefix matches any model.
    """
    window = _declared_window(model, said, set_to or {})
    if seen <= window.tokens:
        return window
    return Window(next((size for size in LARGER if size >= seen), seen), "usage")


def _declared_window(model: str, said: int, set_to: Mapping[str, int]) -> Window:
    name = model.lower().rpartition("/")[2]
    prefixes = [
        key for key in set_to if name.startswith(key.lower()) or model.lower().startswith(key.lower())
    ]
    if prefixes:
        return Window(set_to[max(prefixes, key=len)], "setting")
    if said > 0:
        return Window(said, "agent")
    if "[1m]" in name or name.endswith("-1m"):
        return Window(1_000_000, "table")
    known = next((size for prefix, size in WINDOWS if name.startswith(prefix)), 0)
    return Window(known, "table") if known else Window(WINDOW_DEFAULT, "default")


def windows_set(text: str) -> dict[str, int]:
    """The windows in a setting such as ``claude-opus=1000000 gpt-5=400000``, or one number for all models.

    Raises ValueError if a part of it is neither.
    """
    windows: dict[str, int] = {}
    for word in text.replace(",", " ").split():
        name, equals, size = word.rpartition("=")
        tokens = int(size.replace("_", ""))
        if tokens <= 0 or (equals and not name):
            raise ValueError(f"{word!r} is not a window: use MODEL=TOKENS, or TOKENS for all models")
        windows[name] = tokens
    return windows


# -- triggers --------------------------------------------------------------------------------------


class Marks(Value):
    """The progress of a run at a time, to tell what has happened since its recovery was last prepared."""

    at: float = 0.0
    """The time, in seconds since the epoch."""
    hours: float = 0.0
    """When the current period of two hours began; equal to ``at`` if one has just ended."""
    steps: int = 0
    edits: int = 0
    tests: int = 0
    """The step at which a test last passed."""
    solved: int = 0
    features: tuple[str, ...] = ()
    """The features that were proven."""
    full: bool = False
    """Whether the threshold had been reached."""


def marks_of(
    digest: RunDigest, *, now: float, full: bool, before: Marks | None = None, features: tuple[str, ...] = ()
) -> Marks:
    """The progress of a run now. ``before`` is its progress when the recovery was last prepared."""
    began = before.hours if before is not None and before.hours else digest.began
    return Marks(
        at=now,
        hours=now if began and now - began >= TWO_HOURS_SECONDS else began,
        steps=digest.steps,
        edits=sum(use.edits for use in digest.files.values()),
        tests=max((c.last for c in digest.commands.values() if c.kind == "test" and c.ok), default=0),
        solved=max((failure.solved for failure in digest.solved), default=0),
        features=features,
        full=full,
    )


def triggered(before: Marks | None, now: Marks) -> tuple[str, ...]:
    """The triggers that fired since the last preparation, the most important first."""
    then = before or Marks()
    conditions = (
        (WINDOW_FULL, now.full and not then.full),
        (FEATURE_COMPLETE, bool(set(now.features) - set(then.features))),
        (TEST_PASSED, now.tests > then.tests),
        (ERROR_RECOVERED, now.solved > then.solved),
        (FILE_MODIFIED, now.edits > then.edits),
        (TWO_HOURS, now.steps > then.steps and now.hours == now.at > 0),
        (QUARTER_HOUR, now.steps > then.steps and now.at - then.at >= QUARTER_HOUR_SECONDS),
    )
    return tuple(name for name, holds in conditions if holds)
