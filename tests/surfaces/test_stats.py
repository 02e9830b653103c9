"""segue stats: how well it does, the same on the command line and over HTTP, measured with real hooks."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from tests.support.hooks import Agent
from tests.support.rest import done, serving
from tests.support.told_runs import ToldRun
from tests.surfaces.conftest import Cli

FAILURE = "E   KeyError: 'JWT_SECRET'\nFAILED tests/test_auth.py::test_login\n1 failed in 0.12s"
TEST = "pytest tests/test_auth.py"


@pytest.fixture
def restarted(cli: Cli, home: Path, project: Path) -> Cli:
    """A run that learnt something, one that crashed on the same failure, one that was told and went on."""
    agent = Agent(home, project, "claude-code")
    first = ToldRun(str(project), native="0a1b2c3d-1", at=time.time() - 9_000).asked("Make the login work")
    first.ran(TEST, FAILURE).edited("auth.py").ran(TEST).over().placed(home)
    (project / "auth.py").write_text("a = 2")
    cli("remember", "--from-run")
    second = ToldRun(str(project), native="0a1b2c3d-2", at=time.time() - 4_000)
    second.asked("Add a test for the logout, please").edited("tests/test_auth.py").ran(TEST, FAILURE)
    second.placed(home)
    cli("sync")
    assert "PITFALL" in agent.start(native="now-1")
    third = ToldRun(str(project), native="now-1", at=time.time() - 300).asked("go on")
    third.ran("pytest tests/test_auth.py", FAILURE).edited("auth.py").ran(TEST).over()
    third.placed(home, "claude-code")
    cli("sync")
    return cli


def test_a_run_that_took_up_anothers_work_is_judged(restarted: Cli) -> None:
    total = restarted("stats", "--json").value["total"]
    assert (total["restarts"], total["survived"]) == (1, 1)
    assert total["seconds_to_edit"] > 0 and total["calls_to_edit"] == 2
    assert 0 < total["brief_score"] <= 100 and 200 < total["brief_bytes"] <= 2_048
    assert (total["pitfalls"], total["pitfalls_mended"]) == (1, 1)
    assert total["memories"] == 1


def test_a_run_is_judged_once(restarted: Cli) -> None:
    once = restarted("stats", "--json").value
    restarted("sync")
    assert restarted("stats", "--json").value["total"] == once["total"]


def test_preparing_bootstrapping_and_restoring_are_timed(cli: Cli, home: Path, project: Path) -> None:
    cli("start", "Make the login work")
    ToldRun(str(project)).asked("Make the login work").edited("auth.py").over().placed(home)
    cli("prepare")
    cli("bootstrap", "--no-checks")
    cli("resume", "--budget", "minimal")
    total = cli("stats", "--json").value["total"]
    assert 0 < total["prepare_seconds"] < 60
    assert total["manifest_bytes"] > 200
    assert (total["bootstraps"], total["restores"]) == (1, 1)
    assert 0 < total["bootstrap_seconds"] < 60 and 0 < total["restore_seconds"] < 60
    assert total["restore_bytes"] > 100


def test_a_bootstrap_does_not_wait_for_a_store_that_is_locked_to_keep_its_time(
    cli: Cli, home: Path, project: Path
) -> None:
    ToldRun(str(project)).asked("Make the login work").edited("auth.py").over().placed(home)
    cli("prepare")
    found = cli("bootstrap", "--no-checks", "--seconds", "3", "--json").value
    assert found["seconds"] < 3
    assert cli("stats", "--json").value["total"]["bootstraps"] == 0, "it could have waited for ten seconds"


def test_a_month_can_be_reported_in_markdown(restarted: Cli) -> None:
    month = time.strftime("%Y-%m", time.gmtime())
    told = restarted("stats", "--month", month, "--report").out
    assert (
        told.startswith(f"# How well Segue worked, {month}-01 to ")
        and "| taken up after a crash | 1 time |" in told
    )
    assert "Nothing yet: time to write a manifest, " in told and "–" not in told
    assert "is not a month" in restarted("stats", "--month", "november", code=64).err


def test_figures_that_nothing_was_measured_for_are_only_named(restarted: Cli) -> None:
    told = restarted("stats").out
    assert "  work taken up again           1 time\n" in told and "–" not in told
    assert "nothing yet: time to write a manifest, size of a manifest, " in told


def test_before_anything_happened_it_says_so(cli: Cli) -> None:
    assert "nothing to measure yet" in cli("stats").out


def test_habits_are_judged_by_the_runs_that_came_after(cli: Cli, home: Path, project: Path) -> None:
    for number in range(6):
        run = ToldRun(str(project), native=f"0a1b2c3d-{number}", at=time.time() - 9_000 + number * 100)
        run.asked("Mend the cart").edited("cart.py").ran("pytest -q").ran("ruff check .").over().placed(home)
        cli("sync")
    total = cli("stats", "--json").value["total"]
    assert total["habit_guesses"] == 10 and total["habit_hit_rate"] == 1.0
    assert total["habit_hit_rate_alone"] == 0.0


def test_a_server_gives_the_same_as_the_command_on_its_store_and_metrics_have_it(
    cli: Cli, home: Path, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving("", tmp_path / "server") as server:
        monkeypatch.setenv("SEGUE_STORE", server.url)
        monkeypatch.setenv("SEGUE_API_KEY", server.token)
        for number in range(3):
            run = ToldRun(str(project), native=f"0a1b2c3d-{number}", at=time.time() - 9_000 + number * 100)
            run.asked("Mend the cart").edited("cart.py").ran("pytest -q").ran("ruff check .").over().placed(
                home
            )
            cli("sync")
        cli("prepare")
        cli("bootstrap", "--no-checks")
        printed = cli("stats", "--days", "30", "--json").value
        assert printed["total"]["habit_guesses"] == 4
        assert done(server.ask("GET", "/v1/stats?days=30")) == printed
        metrics = server.ask("GET", "/metrics")[1]
        text = metrics if isinstance(metrics, str) else metrics.decode()
        assert "segue_habit_hit_rate 1\n" in text and "# TYPE segue_prepare_seconds_median gauge" in text
        assert "segue_bootstraps_total 1\n" in text and "segue_bootstrap_seconds_median " in text
