"""Leaving and coming back, from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.support.git import Repository
from tests.surfaces.conftest import Cli


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


def test_since_says_what_changed_and_what_to_do_first(started: Cli, project: Path) -> None:
    started("prepare", "--reason", "before exit")
    (project / "new.py").write_text("x = 1\n")
    out = started("since").out
    assert "since you left" in out and "(before exit)" in out and "A new.py" in out
    value = started("since", "--json").value
    assert value["files"]["created"] == ["new.py"] and value["nothing"] is False


def test_since_without_anything_to_compare_with_is_a_usage_error_that_says_what_to_do(cli: Cli) -> None:
    assert "segue prepare" in cli("since", code=64).err


def test_no_control_sequence_of_a_commit_reaches_the_terminal(started: Cli, project: Path) -> None:
    repository = Repository(project)
    repository.commit("first", {"a": "a\n"})
    started("prepare")
    repository.commit("\x1b[31mred\x1b[0m and \x07loud", {"a": "b\n"}, author="\x1b[2JEve")
    assert "\x1b" not in started("since").out and "red" in started("since").out


def test_bootstrap_says_ready_and_exits_0_or_what_differs_and_exits_1(started: Cli, project: Path) -> None:
    repository = Repository(project)
    repository.commit("first", {"a": "a\n"})
    started("prepare", "--reason", "before exit")
    out = started("bootstrap").out
    for line in ("project      shop", "phase        active, 1 of 4 done", "done         1", "pending      3"):
        assert line in out
    assert "next         Continue: auth middleware" in out and "environment  main @ " in out
    assert out.splitlines()[-1].startswith("ready in ")
    repository.git("switch", "-qc", "other")
    out = started("bootstrap", code=1).out
    assert "-> `git switch main`" in out and out.splitlines()[-1].startswith("not ready: 1 differ in ")
    value = started("bootstrap", "--json", code=1).value
    assert value["ready"] is False and value["session"] == "jwt"


@pytest.mark.parametrize("pages", [slice(0, 64), slice(2 * 4096, 22 * 4096)])
def test_bootstrap_goes_by_the_manifest_whatever_of_the_store_is_damaged(
    started: Cli, home: Path, pages: slice
) -> None:
    started("prepare")
    store = home / "segue" / "segue.db"
    body = bytearray(store.read_bytes())
    body[pages] = bytes(range(7, 256)) * (len(body[pages]) // 249) + bytes(len(body[pages]) % 249)
    store.write_bytes(body)
    ran = started("bootstrap", "--no-checks")
    assert "the store cannot be read" in ran.err and "using the manifest instead" in ran.err
    assert "Refactor authentication to JWT" in ran.out
    assert "using the agents' files instead" in started("runs").err


def test_bootstrap_goes_by_the_manifest_when_the_store_is_damaged(started: Cli, home: Path) -> None:
    started("prepare")
    for path in (home / "segue").glob("segue.db*"):
        path.write_bytes(b"this is no database" * 100)
    ran = started("bootstrap", "--no-checks")
    assert "the store cannot be read" in ran.err
    assert "Refactor authentication to JWT" in ran.out and "next         Continue: auth middleware" in ran.out
