"""Pressure: levels, windows, triggers."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.runs import opened, place

from segue.core.runs.model import CommandUse, Failure, FileUse, RunDigest
from segue.core.runs.window_pressure import (
    ERROR_RECOVERED,
    FEATURE_COMPLETE,
    FILE_MODIFIED,
    QUARTER_HOUR,
    TEST_PASSED,
    TRIGGERS,
    TWO_HOURS,
    WINDOW_FULL,
    Marks,
    marks_of,
    pressure_of,
    triggered,
    window_of,
    windows_set,
)
from segue.errors import BadSettings, UnknownRun, UsageError
from segue.services.runs.model_windows import known_windows, remember_window
from segue.services.workspace.data_folder import DataFolder


@pytest.mark.parametrize(
    ("used", "level", "prepare"),
    [
        (0, "NORMAL", False),
        (119_999, "NORMAL", False),
        (120_000, "ELEVATED", False),
        (159_999, "ELEVATED", False),
        (160_000, "CRITICAL", True),
        (179_999, "CRITICAL", True),
        (180_000, "EMERGENCY", True),
        (999_999, "EMERGENCY", True),
    ],
)
def test_each_level_begins_where_it_says(used: int, level: str, prepare: bool) -> None:
    found = pressure_of(used)
    assert (found.pressure_level, found.should_prepare) == (level, prepare)
    assert found.tokens_used == used
    assert found.tokens_available == max(0, 200_000 - used)
    assert found.usage_percentage == round(used / 2000, 1)


def test_a_threshold_of_ones_own_decides_when_to_prepare_and_not_the_level() -> None:
    found = pressure_of(100_000, threshold=0.5)
    assert (found.should_prepare, found.pressure_level) == (True, "NORMAL")


@pytest.mark.parametrize(
    ("model", "said", "settings", "seen", "tokens", "source"),
    [
        ("claude-opus-5-5", 0, "", 0, 200_000, "table"),
        ("claude-opus-5-5[1m]", 0, "", 0, 1_000_000, "table"),
        ("anthropic/claude-sonnet-4-6", 0, "", 0, 200_000, "table"),
        ("gpt-5.5", 258_400, "", 0, 258_400, "agent"),
        ("gpt-5.5", 0, "", 0, 272_000, "table"),
        ("gemini-2.5-pro", 0, "", 0, 1_048_576, "table"),
        ("who-knows", 0, "", 0, 200_000, "default"),
        ("claude-opus-5-5", 200_000, "claude=500_000 claude-opus=900000", 0, 900_000, "setting"),
        ("who-knows", 0, "64000", 0, 64_000, "setting"),
        ("claude-opus-5-5", 0, "", 350_000, 400_000, "usage"),
        ("claude-opus-5-5", 0, "", 3_000_000, 3_000_000, "usage"),
    ],
)
def test_a_window_is_set_said_known_or_seen(
    model: str, said: int, settings: str, seen: int, tokens: int, source: str
) -> None:
    found = window_of(model, said=said, set_to=windows_set(settings), seen=seen)
    assert (found.tokens, found.source) == (tokens, source)


@pytest.mark.parametrize("text", ["claude=", "claude=much", "=5", "-1", "claude=0"])
def test_a_setting_of_windows_that_says_nothing_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        windows_set(text)


def _digest(**more: object) -> RunDigest:
    digest = RunDigest(began=1_000.0, steps=10)
    for name, value in more.items():
        setattr(digest, name, value)
    return digest


def test_every_trigger_of_work_fires_once_and_not_again() -> None:
    calm = marks_of(_digest(), now=1_100.0, full=False)
    assert triggered(calm, marks_of(_digest(steps=12), now=1_200.0, full=False, before=calm)) == ()
    busy = _digest(
        steps=40,
        files={"a.py": FileUse(1, 2, edits=1)},
        commands={"pytest": CommandUse("test", 39, ok=True)},
        solved=[Failure("pytest", "it broke", 30, solved=38)],
    )
    now = marks_of(busy, now=1_100.0 + 7_300, full=True, before=calm, features=("login",))
    assert triggered(calm, now) == (
        WINDOW_FULL, FEATURE_COMPLETE, TEST_PASSED, ERROR_RECOVERED, FILE_MODIFIED, TWO_HOURS, QUARTER_HOUR,
    )  # fmt: skip
    assert set(triggered(calm, now)) <= set(TRIGGERS)
    later = marks_of(busy, now=now.at + 60, full=True, before=now, features=("login",))
    assert triggered(now, later) == ()


def test_two_hours_count_from_where_work_began_and_then_from_the_last_time() -> None:
    first = marks_of(_digest(), now=1_000.0 + 7_200, full=False)
    assert TWO_HOURS in triggered(None, first)
    half = marks_of(_digest(steps=20), now=first.at + 3_600, full=False, before=first)
    assert TWO_HOURS not in triggered(first, half)
    full = marks_of(_digest(steps=30), now=first.at + 7_200, full=False, before=half)
    assert TWO_HOURS in triggered(half, full)


def test_time_without_activity_is_no_reason_to_checkpoint() -> None:
    then = Marks(at=1_000.0, hours=900.0, steps=10)
    idle = marks_of(_digest(), now=100_000.0, full=False, before=then)
    assert triggered(then, idle) == ()


def test_a_feature_that_went_stale_and_passes_again_is_complete_again() -> None:
    then = Marks(features=())
    assert FEATURE_COMPLETE in triggered(then, Marks(features=("a",)))


def test_the_pressure_of_the_newest_run_is_what_its_transcript_says(tmp_path: Path, home: Path) -> None:
    place(home, tmp_path / "shop", "codex", native="run-1")
    with opened(home, tmp_path / "shop") as segue:
        found = segue.pressure()
        assert (found.tokens_used, found.window, found.source) == (50_000, 258_400, "agent")
        assert (found.agent, found.run) == ("codex", "run-1")
        assert segue.pressure("run-1") == found
        assert segue.pressure(window=60_000).pressure_level == "CRITICAL"
        with pytest.raises(UnknownRun):
            segue.pressure("nobody")


def test_without_a_run_nothing_is_used_and_numbers_can_be_given(tmp_path: Path, home: Path) -> None:
    with opened(home, tmp_path / "shop") as segue:
        assert segue.pressure().tokens_used == 0
        found = segue.pressure(tokens_used=165_000)
        assert (found.window, found.pressure_level, found.should_prepare) == (200_000, "CRITICAL", True)
        with pytest.raises(UsageError):
            segue.pressure(tokens_used=1, threshold=80)


def test_a_window_that_was_set_wins_and_a_bad_setting_is_named(tmp_path: Path, home: Path) -> None:
    place(home, tmp_path / "shop", "codex", native="run-1")
    with opened(home, tmp_path / "shop", SEGUE_WINDOWS="model-1=100000") as segue:
        assert segue.pressure().usage_percentage == 50.0
    with opened(home, tmp_path / "shop", SEGUE_WINDOWS="lots") as segue, pytest.raises(BadSettings):
        segue.pressure()


def test_what_an_agent_says_of_a_window_is_remembered_for_that_model(home: Path) -> None:
    place_ = DataFolder(home / "segue")
    assert not remember_window(place_, "claude-x", 1_000_000), "a data folder is not made for it"
    place_.make()
    assert remember_window(place_, "claude-x", 1_000_000)
    assert not remember_window(place_, "claude-x", 1_000_000)
    assert known_windows(place_) == {"claude-x": 1_000_000}
    (place_.path / "windows.json").write_text("[]")
    assert known_windows(place_) == {}
