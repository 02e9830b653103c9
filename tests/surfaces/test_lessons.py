"""What a run mended is remembered, and brought up when the same failure shows again."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from tests.support.hooks import Agent
from tests.support.told_runs import ToldRun
from tests.surfaces.conftest import Cli

from segue import Segue
from segue.surfaces.mcp.operations import ToolCall, perform
from segue.surfaces.mcp.tools import BY_NAME
from segue.surfaces.render import plain

FAILURE = "E   KeyError: 'JWT_SECRET'\nFAILED tests/test_auth.py::test_login\n1 failed in 0.12s"
TEST = "pytest tests/test_auth.py"
FIX = 'os.environ.get("JWT_SECRET", "")'


@pytest.fixture
def learnt(cli: Cli, home: Path, project: Path) -> str:
    """The id of the lesson of a run that mended a failure; a later run has met the same failure."""
    (project / "auth.py").write_text(FIX)
    first = ToldRun(str(project), native="0a1b2c3d-1", at=time.time() - 9_000).asked("Make the login work")
    first.ran(TEST, FAILURE).edited("auth.py", 'os.environ["JWT_SECRET"]', FIX).ran(TEST).over().placed(home)
    [kept] = cli("remember", "--from-run", "--json").value
    second = ToldRun(str(project), native="0a1b2c3d-2").asked("Add a test for the logout")
    second.edited("tests/test_auth.py").ran(TEST, FAILURE.replace("0.12", "9.99")).placed(home)
    return str(kept["id"])


def test_a_lesson_has_its_evidence_and_is_kept_once(cli: Cli, learnt: str) -> None:
    memory = cli("memories", "show", learnt, "--json").value["memory"]
    assert memory["type"] == "error-solution" and "passed later" not in memory["content"]
    assert FIX in memory["correct_approach"]
    evidence = memory["metadata"]["evidence"]
    assert evidence["run"] == "0a1b2c3d-1"
    assert evidence["failed"] < evidence["changed"][0] < evidence["passed"]
    again = cli("remember", "--from-run", "0a1b2c3d-1", "--json").value
    assert [(one["id"], one["known"]) for one in again] == [(learnt, True)]


def test_a_run_that_mended_nothing_gives_nothing_to_remember(cli: Cli, home: Path, project: Path) -> None:
    ToldRun(str(project)).asked("Try").ran(TEST, FAILURE).ran(TEST).over().placed(home)
    assert "nothing to remember" in cli("remember", "--from-run").out
    assert cli("memories", "list", "--json").value == []


def test_the_same_failure_brings_it_up_in_the_brief_and_the_manifest(cli: Cli, learnt: str) -> None:
    told = cli("brief").out
    [line] = [line for line in told.split("\n") if line.startswith("PITFALL")]
    assert "KeyError: 'JWT_SECRET'" in line and FIX in line and f"[{learnt}]" in line
    assert "REMEMBERED" not in told, "it is not told twice"
    findings = json.loads(cli("brief", "--json").out)["critical_context"]["important_findings"]
    assert findings[0].startswith("pitfall: ")


def test_another_failure_does_not_bring_it_up(cli: Cli, learnt: str, home: Path, project: Path) -> None:
    run = ToldRun(str(project), native="0a1b2c3d-3", at=time.time() - 60).asked("Add a test for the cart")
    run.edited("cart.py").ran(TEST, FAILURE.replace("JWT_SECRET", "DB_URL").replace("login", "cart")).placed(
        home
    )
    assert "PITFALL" not in cli("brief").out


def test_a_lesson_that_was_voted_harmful_is_not_brought_up(cli: Cli, learnt: str) -> None:
    cli("vote", learnt, "harmful", "--why", "it only hid the fault")
    assert "PITFALL" not in cli("brief").out


def test_a_lesson_about_a_file_that_changed_says_so_and_about_one_that_is_gone_is_silent(
    cli: Cli, learnt: str, project: Path
) -> None:
    (project / "auth.py").write_text("something else")
    assert "(changed since: auth.py)" in cli("brief").out
    (project / "auth.py").unlink()
    assert "PITFALL" not in cli("brief").out


def test_a_hook_tells_it_to_the_run_that_meets_the_failure_once(
    cli: Cli, learnt: str, home: Path, project: Path
) -> None:
    agent = Agent(home, project)
    run = (
        ToldRun(str(project), native="now-1", at=time.time() - 30).asked("Mend the login").ran(TEST, FAILURE)
    )
    told = {"transcript_path": str(run.placed(home, "claude-code")), "prompt": "why does it fail?"}
    reply = json.dumps(agent.call("UserPromptSubmit", **told))
    assert "from an earlier run (a record, not an order)" in reply and f"[{learnt}]" in reply
    assert learnt not in json.dumps(agent.call("UserPromptSubmit", **{**told, "prompt": "and now?"}))
    assert agent.log() == ""


def test_a_hook_says_nothing_of_another_failure(cli: Cli, learnt: str, home: Path, project: Path) -> None:
    agent = Agent(home, project)
    run = ToldRun(str(project), native="now-1", at=time.time() - 30).asked("Mend it")
    run.ran(TEST, FAILURE.replace("JWT_SECRET", "DB_URL").replace("login", "cart"))
    path = str(run.placed(home, "claude-code"))
    assert agent.call("UserPromptSubmit", transcript_path=path, prompt="why?") == {}


def test_an_error_that_is_told_brings_it_up_on_the_command_line_and_over_mcp(cli: Cli, learnt: str) -> None:
    cli("start", "Mend the login")
    error = "KeyError: 'JWT_SECRET' in tests/test_auth.py::test_login"
    [pitfall] = cli("checkpoint", "--error", FAILURE, "--json").value["pitfalls"]
    assert pitfall["id"] == learnt and FIX in pitfall["fix"]
    assert f"[{learnt}]" in cli("checkpoint", "--error", FAILURE).out
    assert "pitfalls" not in cli("checkpoint", "--error", error.replace("JWT_SECRET", "X_Y"), "--json").value
    with Segue() as segue:
        calls = perform(BY_NAME["checkpoint"], ToolCall(segue, "", {"error": [FAILURE]}))
        assert [one.id for one in calls["pitfalls"]] == [learnt]
        resumed = perform(BY_NAME["resume"], ToolCall(segue, "", {}))
    assert "PITFALL" in json.dumps(plain(resumed))


def test_a_scrub_takes_a_text_out_of_what_was_counted(cli: Cli, home: Path, project: Path) -> None:
    run = ToldRun(str(project)).asked("Mend it. Never touch the walrus-ledger tables.")
    run.edited("walrus-ledger.py").ran("pytest -q").over().placed(home)
    cli("sync")
    cli("habits")
    cli("scrub", "walrus-ledger", "--yes")
    for path in (home / "segue").rglob("segue.db*"):
        assert b"walrus-ledger" not in path.read_bytes(), path
