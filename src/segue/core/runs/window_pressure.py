"""How full a window is, and when it is time to prepare the recovery.

Pure: tokens and windows come in as numbers, what happened as marks of a digest. A window is what the user
set; else what the agent says; else what a table knows of the model; else 200,000 tokens. A run that holds
more than its window has another one than we thought: the next size that is known. Each trigger has a name,
so that a recovery that was prepared says why.
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
"""Each up to, and without, so much of the window; above them all is EMERGENCY."""

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
    WINDOW_FULL: "the window is full up to the threshold, 80 % unless set otherwise",
    TWO_HOURS: "two hours of work since the last time",
    QUARTER_HOUR: "fifteen minutes with activity since the last time",
    FILE_MODIFIED: "a file was changed",
    TEST_PASSED: "a test passed",
    FEATURE_COMPLETE: "a feature is proven",
    ERROR_RECOVERED: "something that failed works again",
    BEFORE_EXIT: "the run ends, or its window is about to be compacted",
}
"""Why a recovery is prepared: names, and what they mean."""

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
"""What is known of models by the beginning of their names: used only where the agent does not say."""
LARGER: tuple[int, ...] = (200_000, 272_000, 400_000, 1_000_000, 1_048_576, 2_097_152)
"""Sizes that windows have: what a run that holds more than its window has, is the next of these."""


class Pressure(Value):
    """How full the window of a run is."""

    tokens_used: int
    tokens_available: int
    """Of the window, what is left."""
    usage_percentage: float
    pressure_level: Level
    should_prepare: bool
    """Whether the threshold is reached: prepare the recovery now."""
    window: int = WINDOW_DEFAULT
    threshold: float = THRESHOLD_DEFAULT
    model: str = ""
    run: str = ""
    agent: str = ""
    source: str = ""
    """Who says how large the window is: agent, setting, table, usage or default."""


class Window(Value):
    """The size of a window, and who says so."""

    tokens: int
    source: str


def level_of(share: float) -> Level:
    """The level of a window that is full up to this share of 1."""
    return next((name for name, below in LEVELS if share < below), "EMERGENCY")


def pressure_of(
    used: int, window: int = WINDOW_DEFAULT, threshold: float = THRESHOLD_DEFAULT, *, model: str = "",
    run: str = "", agent: str = "", source: str = "",
) -> Pressure:  # fmt: skip
    """The pressure of so many tokens in a window of this size."""
    used, window = max(0, used), window if window > 0 else WINDOW_DEFAULT
    share = used / window
    return Pressure(
        used, max(0, window - used), round(100 * share, 1), level_of(share), share >= threshold, window,
        threshold, model, run, agent, source,
    )  # fmt: skip


def window_of(model: str, *, said: int = 0, set_to: Mapping[str, int] | None = None, seen: int = 0) -> Window:
    """The window of a model: ``said`` by the agent, ``set_to`` by the user (by the beginning of a model's
    name, the longest that fits; empty: any), or from a table; never smaller than what was ``seen`` in it."""
    window = _told(model, said, set_to or {})
    if seen <= window.tokens:
        return window
    return Window(next((size for size in LARGER if size >= seen), seen), "usage")


def _told(model: str, said: int, set_to: Mapping[str, int]) -> Window:
    name = model.lower().rpartition("/")[2]
    fitting = [key for key in set_to if name.startswith(key.lower()) or model.lower().startswith(key.lower())]
    if fitting:
        return Window(set_to[max(fitting, key=len)], "setting")
    if said > 0:
        return Window(said, "agent")
    if "[1m]" in name or name.endswith("-1m"):
        return Window(1_000_000, "table")
    known = next((size for begins, size in WINDOWS if name.startswith(begins)), 0)
    return Window(known, "table") if known else Window(WINDOW_DEFAULT, "default")


def windows_set(text: str) -> dict[str, int]:
    """What a setting says: ``claude-opus=1000000 gpt-5=400000``, or one number for every model. ValueError
    if a part of it is neither."""
    found: dict[str, int] = {}
    for word in text.replace(",", " ").split():
        name, equals, size = word.rpartition("=")
        tokens = int(size.replace("_", ""))
        if tokens <= 0 or (equals and not name):
            raise ValueError(f"{word!r} is no window: give MODEL=TOKENS, or TOKENS for all")
        found[name] = tokens
    return found


# -- triggers --------------------------------------------------------------------------------------


class Marks(Value):
    """How far a run had come when its recovery was prepared."""

    at: float = 0.0
    """When it was prepared, seconds since the epoch."""
    hours: float = 0.0
    """When this stretch of two hours began; ``at`` itself if one has just ended."""
    steps: int = 0
    edits: int = 0
    tests: int = 0
    """When a test passed last, by the count of steps."""
    solved: int = 0
    features: tuple[str, ...] = ()
    """Those that were proven."""
    full: bool = False
    """Whether the threshold had been reached."""


def marks_of(
    digest: RunDigest, *, now: float, full: bool, before: Marks | None = None, features: tuple[str, ...] = ()
) -> Marks:
    """How far a run is."""
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
    """Which triggers fired between the last preparation and now, the weightiest first."""
    then = before or Marks()
    wanted = (
        (WINDOW_FULL, now.full and not then.full),
        (FEATURE_COMPLETE, bool(set(now.features) - set(then.features))),
        (TEST_PASSED, now.tests > then.tests),
        (ERROR_RECOVERED, now.solved > then.solved),
        (FILE_MODIFIED, now.edits > then.edits),
        (TWO_HOURS, now.steps > then.steps and now.hours == now.at > 0),
        (QUARTER_HOUR, now.steps > then.steps and now.at - then.at >= QUARTER_HOUR_SECONDS),
    )
    return tuple(name for name, is_so in wanted if is_so)
