"""`segue config`: settings are shown, and changed in the user's file without touching anything else in it."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from hypothesis import given, strategies as st
from tests.surfaces.conftest import Cli

from segue.errors import BadSettings
from segue.settings import DECLARED, with_setting

FILE = """# mine
cleanup_days = 30   # a month

[handover]
steps = []
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "config" / "config.toml"
    monkeypatch.setenv("SEGUE_CONFIG", str(path))
    return path


def test_a_setting_is_set_and_taken_out_again(cli: Cli, own: Path) -> None:
    assert cli("config", "set", "cleanup_days", "60", "--json").value["value"] == 60
    assert cli("config", "cleanup_days").out == "60\n"
    assert stat.S_IMODE(own.stat().st_mode) == 0o600
    cli("config", "unset", "cleanup_days")
    assert own.read_text() == ""


def test_what_else_stands_in_the_file_stays() -> None:
    made = with_setting(FILE, "cleanup_days", "60")
    assert made == FILE.replace("cleanup_days = 30   # a month", "cleanup_days = 60")
    added = with_setting(FILE, "actor", "it's me")
    assert added.index('actor = "it\'s me"') < added.index("[handover]") and "# mine" in added
    assert with_setting(made, "cleanup_days", None) == FILE.replace("cleanup_days = 30   # a month\n", "")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("set", "cleanup_day", "3"), "did you mean `cleanup_days`?"),
        (("set", "cleanup_days", "soon"), "whole number"),
        (("set", "cleanup_days"), "segue config set NAME VALUE"),
        (("unset",), "segue config unset NAME"),
        (("cleanup_days", "actor"), "segue config set"),
    ],
)
def test_a_wrong_change_is_refused_and_nothing_is_written(
    cli: Cli, own: Path, words: tuple[str, ...], told: str
) -> None:
    assert told in cli("config", *words, code=64).err
    assert not own.exists()


def test_a_value_that_something_else_overrides_is_said(
    cli: Cli, own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEGUE_CLEANUP_DAYS", "7")
    assert "SEGUE_CLEANUP_DAYS" in cli("config", "set", "cleanup_days", "60").err


def test_nothing_is_changed_while_paused(cli: Cli, own: Path, project: Path) -> None:
    (project / "PAUSE").touch()
    cli("config", "set", "cleanup_days", "60", code=65)
    assert not own.exists()


@given(name=st.sampled_from([one.name for one in DECLARED if isinstance(one.default, str)]), text=st.text())
def test_any_text_can_be_set_and_is_read_back(name: str, text: str) -> None:
    import tomllib

    try:
        made = with_setting(FILE, name, text)
    except (BadSettings, UnicodeEncodeError):
        return
    assert tomllib.loads(made)[name] == text and tomllib.loads(made)["handover"] == {"steps": []}
