"""Leaving and coming back, from the command line."""

from __future__ import annotations

import json
from pathlib import Path

from .conftest import Cli


def test_prepare_says_what_it_wrote_and_the_file_is_there(started: Cli) -> None:
    out = started("prepare", "--reason", "before exit").out
    path = Path(out.partition("prepared: ")[2].splitlines()[0])
    assert json.loads(path.read_text())["prepared"]["reason"] == "before exit"
    value = started("prepare", "--json").value
    assert value["path"] == str(path) and value["session"] == "jwt"
    assert set(value) == {"path", "reason", "session", "run", "bytes", "tokens", "seconds"}


def test_prepare_here_writes_into_the_project(started: Cli, project: Path) -> None:
    started("prepare", "--here")
    found = json.loads((project / "session_recovery_latest.json").read_text())
    assert found["active_state"]["current_work"] == "auth middleware"


def test_prepare_of_an_unknown_session_is_refused(cli: Cli) -> None:
    assert "nobody" in cli("prepare", "nobody", code=64).err
