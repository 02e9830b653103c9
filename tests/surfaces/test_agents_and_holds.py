"""agent and hold."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.surfaces.conftest import Cli

from segue import Segue, UsageError

PYTHON = sys.executable


def test_an_agent_state_is_saved_from_a_file_or_stdin_and_comes_back(started: Cli, tmp_path: Path) -> None:
    state = {"plan": ["a", "b"], "depth": 2.5, "note": "größer ✓"}
    file = tmp_path / "state.json"
    file.write_text(json.dumps(state))
    assert "saved the state of planner" in started("agent", "save", "planner", str(file)).out
    assert started("agent", "load", "planner").value == state
    state["depth"] = 3
    saved = started("agent", "save", "planner", "-", "--json", stdin=json.dumps(state).encode()).value
    assert saved["events"] == 1
    assert started("agent", "load", "planner", "--json").value == state
    assert started("agent", "save", "planner", stdin=json.dumps(state).encode()).out == "nothing changed\n"


def test_agents_are_noted_listed_and_dropped(started: Cli) -> None:
    assert "no agents yet" in started("agent", "list").out
    started("agent", "note", "planner", "--mode", "review", "--pid", "4242", "--active")
    value = started("agent", "list", "--json").value
    assert (value["planner"]["mode"], value["planner"]["pid"], value["planner"]["active"]) == (
        "review",
        4242,
        True,
    )
    assert "pieces" not in value["planner"]
    assert "review" in started("agent", "list").out
    assert "dropped planner" in started("agent", "drop", "planner").out
    assert started("agent", "list", "--json").value == {}


@pytest.mark.parametrize(
    "words",
    [
        ["agent", "save"],
        ["agent", "load", "nobody"],
        ["agent", "drop", "nobody"],
        ["agent", "note", "x"],
        ["agent", "save", "../x"],
        ["agent", "save", "x", "missing.json"],
        ["agent", "juggle"],
    ],
)
def test_a_wrong_use_of_agent_is_a_usage_error(started: Cli, words: list[str]) -> None:
    assert started(*words, code=64, stdin=b"{}").err.startswith("segue: ")
    assert started("agent", "list", "--json").value in ([], {})


def test_an_agent_state_that_is_not_json_is_refused(started: Cli) -> None:
    assert "not valid JSON" in started("agent", "save", "planner", code=64, stdin=b"{nope").err


def test_hold_says_that_nobody_holds_the_session(started: Cli) -> None:
    assert started("hold").out == "no run holds jwt\n"
    assert started("hold", "jwt", "--json").value == {"session": "jwt", "holders": [], "crashed": []}
    started("hold", "--share", code=64)
    started("hold", "--lease", "0", "--", "true", code=64)


def test_hold_runs_a_command_and_gives_its_exit_code(started: Cli) -> None:
    show = "import os; print(os.environ['SEGUE_SESSION'], os.environ['SEGUE_RUN'])"
    assert started("hold", "--run", "run-7", "--", PYTHON, "-c", show).out == "jwt run-7\n"
    started("hold", "--", PYTHON, "-c", "raise SystemExit(3)", code=3)
    started("hold", "--", PYTHON, "-c", "import os; os.kill(os.getpid(), 9)", code=137)
    assert started("hold").out == "no run holds jwt\n"


def test_hold_of_a_command_that_cannot_be_run_gives_the_codes_of_a_shell(started: Cli, project: Path) -> None:
    started("hold", "--", "no-such-command-here", code=127)
    (project / "plain.txt").write_text("x")
    started("hold", "--", str(project / "plain.txt"), code=126)
    assert started("hold").out == "no run holds jwt\n"


def test_commands_inside_a_hold_do_not_warn_of_it(started: Cli) -> None:
    assert started("hold", "--", PYTHON, "-m", "segue", "note", "from inside").err == ""
    assert started("status", "--json").value["last_action"] == "from inside"


def holding_for(seconds: int) -> list[str]:
    """A command that holds the session while another one says that it is up, and sleeps."""
    sleeper = f"print('up', flush=True); import time; time.sleep({seconds})"
    return [PYTHON, "-m", "segue", "hold", "--", PYTHON, "-c", sleeper]


@pytest.mark.skipif(os.name != "posix", reason="NOT TESTED: signals of POSIX")
def test_hold_passes_sigterm_on_and_lets_go(started: Cli) -> None:
    command = holding_for(60)
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "up\n"
        assert started("hold", "--json").value["holders"][0]["pid"] == child.pid
        child.send_signal(signal.SIGTERM)
        assert child.wait(timeout=20) == 128 + signal.SIGTERM
    assert started("hold").out == "no run holds jwt\n"


def test_the_hold_of_a_killed_process_is_told_and_can_be_taken(started: Cli) -> None:
    command = holding_for(5)
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        child.stdout.readline()
        child.kill()
        child.stdout.close()
    time.sleep(0.05)
    out = started("hold").out
    assert "no run holds jwt" in out
    assert "ended without releasing it" in out
    started("hold", "--", PYTHON, "-c", "pass")


@pytest.mark.parametrize("fact", ["--pid", "--suggestions-pending"])
def test_a_fact_of_an_agent_that_is_less_than_nothing_is_refused(started: Cli, fact: str) -> None:
    assert "would be -5" in started("agent", "note", "planner", fact, "-5", code=64).err
    assert "planner" not in started("agent", "list").out
    started("agent", "note", "planner", fact, "5")


def test_no_count_of_a_session_becomes_less_than_nothing(started: Cli) -> None:
    with Segue() as segue:
        session = segue.session("jwt")
        for counts in ({"notes_created": -3}, {"estimated_cost": -0.1}):
            with pytest.raises(UsageError, match="would be -"):
                session.count(**counts)
        session.count(notes_created=3)
        session.count(notes_created=-1)
        assert session.state.metrics.notes_created == 2
        with pytest.raises(UsageError):
            session.note_context(commits_count=-1)
