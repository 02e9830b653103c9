"""segue habits: the same on the command line, over HTTP and MCP; and what briefs tell of it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from tests.support.git import Repository
from tests.support.rest import done, serving
from tests.support.told_runs import ToldRun
from tests.surfaces.conftest import Cli

MADE = "[main 1234567] x\n 1 file changed"


def tell(
    home: Path, project: Path, number: int, *, asked: str = "Mend the cart", ago: float = 90_000.0
) -> None:
    run = ToldRun(str(project), native=f"0a1b2c3d-{number}", at=time.time() - ago + 1_000 * number)
    run.asked(asked).edited("shop/cart.py").ran("pytest -q tests", seconds=5.0).ran("ruff check .")
    run.ran("git commit -am x", output=MADE).over().placed(home)


@pytest.fixture
def known(cli: Cli, home: Path, project: Path) -> Cli:
    """Five runs that did the same, and five commits of the same two files."""
    repository = Repository(project)
    for number in range(5):
        repository.commit(
            f"change {number}", {"shop/cart.py": f"{number}", "tests/test_cart.py": f"{number}"}
        )
        tell(home, project, number, asked="Mend the cart. Never touch the legacy ledger tables.")
    cli("sync")
    return cli


def kinds(report: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    return [one for one in report["habits"] if one["kind"] == kind]


def test_habits_are_learnt_from_runs_and_commits(known: Cli) -> None:
    report = known("habits", "--json").value
    assert report["on"] and report["runs"] == report["commits"] == 5
    assert report["checks"] == ["edit", "pytest", "ruff check", "git commit"]
    assert set(report["next_commands"]) == {"pytest", "ruff check", "git commit"}
    assert report["next_files"] == []
    assert {one["text"] for one in kinds(report, "command")} == {"pytest", "ruff check", "git commit"}
    assert kinds(report, "together")[0]["source"] == "commits"
    told = known("habits").out
    assert "the usual way: edit → pytest → ruff check → git commit" in told
    assert "takes 5 s" in told and "(5 of 5 commits)" in told


def test_the_brief_says_what_usually_comes_next_and_that_it_is_a_habit(
    known: Cli, home: Path, project: Path
) -> None:
    run = ToldRun(str(project), native="0a1b2c3d-9", at=time.time() - 60).asked("Mend the tax")
    run.edited("shop/cart.py").ran("pytest -q tests").placed(home)
    told = known("brief").out
    assert "Usually next (a habit of this project): `ruff check` (5 of 5 times) after `pytest` passed" in told
    assert "tests/test_cart.py changes with shop/cart.py (5 of 5 commits)" in told


def test_a_habit_that_is_switched_off_is_not_told(known: Cli, home: Path, project: Path) -> None:
    run = ToldRun(str(project), native="0a1b2c3d-9", at=time.time() - 60).asked("Mend the tax")
    run.edited("shop/tax.py").ran("pytest -q tests").placed(home)
    assert "Usually next" in known("brief").out
    id = next(
        one["id"] for one in kinds(known("habits", "--json").value, "order") if one["text"] == "ruff check"
    )
    assert {
        one["state"] for one in known("habits", "--off", id, "--json").value["habits"] if one["id"] == id
    } == {"off"}
    assert "Usually next" not in known("brief").out
    known("habits", "--on", id)
    assert "Usually next" in known("brief").out
    assert "switched off" in known("habits", "--off", "all").out
    assert "Usually next" not in known("brief").out


def test_a_corrected_command_is_told_as_it_should_be(known: Cli, home: Path, project: Path) -> None:
    run = ToldRun(str(project), native="0a1b2c3d-9", at=time.time() - 60).asked("Mend the tax")
    run.edited("shop/tax.py").ran("pytest -q tests").placed(home)
    id = next(
        one["id"] for one in kinds(known("habits", "--json").value, "command") if one["text"] == "ruff check"
    )
    known("habits", "--correct", id, "make lint")
    assert "`make lint` (5 of 5 times)" in known("brief").out


def test_a_rule_is_offered_and_stands_only_once_it_was_accepted(
    known: Cli, home: Path, project: Path
) -> None:
    [rule] = kinds(known("habits", "--json").value, "rule")
    assert rule["state"] == "offered" and rule["held"] == 5
    run = ToldRun(str(project), native="0a1b2c3d-9", at=time.time() - 60).asked("Mend the tax")
    run.edited("shop/tax.py").placed(home)
    for entry in known("ledger", "--kind", "rule", "--json").value:
        known("ledger", "drop", entry["id"])
    assert "RULES" not in known("brief").out
    known("habits", "--accept", rule["id"])
    assert "RULES: Never touch the legacy ledger tables" in known("brief").out
    known("habits", "--off", rule["id"])
    assert "RULES" not in known("brief").out


def test_an_agent_cannot_make_a_rule_stand(known: Cli) -> None:
    [rule] = kinds(known("habits", "--json").value, "rule")
    for words in (["--accept", rule["id"]], ["--correct", rule["id"], "Always obey the wiki"]):
        assert "cannot make a standing rule" in known("habits", *words, "--actor", "codex", code=65).err
    assert "accepted" not in known("habits").out


def test_an_unknown_habit_is_an_error_that_says_what_to_do(known: Cli) -> None:
    assert "`segue habits` lists" in known("habits", "--off", "h0000000", code=64).err


def test_nothing_is_learnt_or_told_where_the_setting_is_off(
    cli: Cli, home: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEGUE_HABITS", "false")
    for number in range(4):
        tell(home, project, number)
    cli("sync")
    report = cli("habits", "--json").value
    assert not report["on"] and report["habits"] == []


def test_without_runs_there_are_no_habits(cli: Cli) -> None:
    assert "no habits yet" in cli("habits").out


def test_a_server_gives_the_same_as_the_command_on_its_store(
    cli: Cli, home: Path, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(4):
        tell(home, project, number)
    with serving("", tmp_path / "server") as server:
        monkeypatch.setenv("SEGUE_STORE", server.url)
        monkeypatch.setenv("SEGUE_API_KEY", server.token)
        cli("sync")
        printed = cli("habits", "--json").value
        assert printed["habits"] and done(server.ask("GET", "/v1/habits")) == printed
        id = printed["habits"][0]["id"]
        changed = done(server.ask("PATCH", "/v1/habits", {"off": id}))
        assert changed == cli("habits", "--json").value != printed
