"""Who uses nothing but hooks learns habits, too: at the end of runs, from digests, without a command."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.support.git import Repository
from tests.support.hooks import Agent
from tests.support.told_runs import ToldRun

from segue.agents import agent as agent_of, traits_of
from segue.services.habits.report import habits_report
from segue.services.habits.rows import HITS, TRACE, TRAIL
from segue.services.hooks import handler, hook_file
from segue.services.workspace.data_folder import DataFolder

MADE = "[main 1234567] x\n 1 file changed"


@pytest.fixture
def agent(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Agent:
    monkeypatch.setattr(handler, "LEARNS_AT_ONCE_SECONDS", 10.0)  # this machine may be slow
    return Agent(home, tmp_path / "shop", "claude-code")


def told(agent: Agent, number: int, *, ago: float = 9_000.0) -> ToldRun:
    run = ToldRun(str(agent.project), native=f"now-{number}", at=time.time() - ago + 1_000 * number)
    run.asked("Mend the cart. Never touch the legacy ledger tables.").edited("shop/cart.py")
    return run.ran("pytest -q tests").ran("ruff check .").ran("git commit -am x", output=MADE).over()


def ended(agent: Agent, number: int) -> None:
    """A run from its first hook to its last."""
    agent.start(native=f"now-{number}")
    path = told(agent, number).placed(agent.home, "claude-code")
    agent.call("SessionEnd", f"now-{number}", transcript_path=str(path), reason="exit")


def brief_of_next(agent: Agent) -> str:
    """What the start hook tells after a run that edited and tested."""
    run = ToldRun(str(agent.project), native="cut-off", at=time.time() - 60).asked("Mend the tax")
    run.edited("shop/tax.py").ran("pytest -q tests").placed(agent.home, "claude-code")
    return agent.start(native="the-next")


def test_runs_that_end_leave_habits_that_the_start_hook_of_the_next_tells(agent: Agent) -> None:
    for number in range(4):
        ended(agent, number)
    assert "`ruff check` (4 of 4 times) after `pytest` passed" in brief_of_next(agent)
    with agent.open() as segue:
        facts = segue.workspace.store.project_facts
        assert len(facts.rows(TRAIL)) == 4 and not facts.rows(TRACE)
        assert len(facts.rows(HITS)) == 3, "each run after the first is judged by those before it"
        rules = [
            one.text for one in habits_report(segue.workspace, learns=False).habits if one.kind == "rule"
        ]
        assert len(rules) == 1 and "legacy ledger" in rules[0]


def test_files_that_are_committed_together_are_learnt_by_the_hook_as_well(agent: Agent) -> None:
    repository = Repository(agent.project)
    for number in range(4):
        repository.commit(f"{number}", {"shop/cart.py": f"{number}", "tests/test_cart.py": f"{number}"})
    ended(agent, 0)
    with agent.open() as segue:
        together = [
            one for one in habits_report(segue.workspace, learns=False).habits if one.kind == "together"
        ]
    assert ("shop/cart.py", "tests/test_cart.py", 4) in [(one.path, one.other, one.held) for one in together]


def test_a_command_reads_those_runs_whole_later_and_does_not_judge_them_again(agent: Agent) -> None:
    for number in range(4):
        ended(agent, number)
    with agent.open() as segue:
        facts = segue.workspace.store.project_facts
        judged = {(one.key, one.at, one.body) for one in facts.rows(HITS)}
        assert segue.habits().runs == 4
        assert len(facts.rows(TRACE)) == 4 and not facts.rows(TRAIL)
        assert {(one.key, one.at, one.body) for one in facts.rows(HITS)} == judged


def test_runs_that_were_killed_are_learnt_from_at_the_end_of_another_runs_turn(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handler, "LEARNS_SECONDS", 0.0)
    for number in range(4):
        path = told(agent, number).placed(agent.home, "claude-code")
        process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
        agent.env[traits_of(agent_of("claude-code")).pid_variable] = str(process.pid)
        agent.call("Stop", f"now-{number}", transcript_path=str(path), last_assistant_message="Done.")
        process.kill()
        process.communicate()
    assert "`ruff check` (3 of 3 times) after `pytest` passed" in brief_of_next(agent)


def test_at_the_end_of_turns_it_is_learnt_only_now_and_then(agent: Agent) -> None:
    path = told(agent, 0).placed(agent.home, "claude-code")
    said = {"transcript_path": str(path), "last_assistant_message": "Done."}
    agent.call("Stop", "now-0", **said)
    [note] = (agent.data / "hook" / "learnt").iterdir()
    before = note.stat().st_mtime_ns
    agent.call("Stop", "now-0", **said)
    assert note.stat().st_mtime_ns == before


def test_where_habits_are_off_a_hook_learns_nothing(agent: Agent) -> None:
    agent.env["SEGUE_HABITS"] = "false"
    ended(agent, 0)
    with agent.open() as segue:
        assert not segue.workspace.store.project_facts.rows(TRAIL)


def test_a_hook_that_took_long_already_leaves_it_to_the_next(agent: Agent) -> None:
    agent.seconds = 0.0
    ended(agent, 0)
    with agent.open() as segue:
        assert not segue.workspace.store.project_facts.rows(TRAIL)
    agent.seconds = 60.0
    ended(agent, 1)
    with agent.open() as segue:
        assert len(segue.workspace.store.project_facts.rows(TRAIL)) == 2


def test_the_installed_hook_learns_when_an_agent_says_that_a_session_is_over(agent: Agent) -> None:
    hook_file.put(DataFolder(agent.data))
    command = [sys.executable, "-I", "-S", str(hook_file.file_of(DataFolder(agent.data))), "claude-code"]
    taken = []
    for number in range(20):  # on a slow machine a hook has no time, and the next one learns for it
        path = told(agent, number, ago=90_000.0).placed(agent.home, "claude-code")
        about = {"session_id": f"now-{number}", "cwd": str(agent.project), "transcript_path": str(path)}
        payload = json.dumps({**about, "hook_event_name": "SessionEnd", "reason": "exit"}).encode()
        began = time.monotonic()
        subprocess.run([*command, "SessionEnd", "speak"], input=payload, env=agent.env, check=True)
        taken.append(time.monotonic() - began)
        with agent.open() as segue:
            if len(segue.workspace.store.project_facts.rows(TRAIL)) >= 3:
                break
    if min(taken) > 1.0:
        pytest.skip(f"NOT TESTED: on this machine a hook takes {min(taken):.1f} s at least")
    told_next = brief_of_next(agent)
    assert re.search(r"`ruff check` \((\d+) of \1 times\) after `pytest` passed", told_next), told_next
