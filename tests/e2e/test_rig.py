"""The rig itself: each agent does what a script says, in its own dialect, and dies when it is killed."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from tests.e2e.conftest import AGENTS, MakeRig
from tests.support.killed_agents.drive import HANGS_AT_RESUME
from tests.support.rig import Rig
from tests.support.scripted import Edit, Read, Run, Say, Script, Todos, Used, Write

CALC = Script(
    "calc",
    [
        [Say("First the module."), Write("calc.py", "def add(a, b):\n    return a - b\n")],
        [Write("check.py", "from calc import add\nassert add(2, 3) == 5, 'add is broken'\nprint('good')\n")],
        [Run("python3 -B check.py")],
        [Read("calc.py")],
        [Edit("calc.py", "    return a - b", "    return a + b")],
        [Run("python3 -B check.py > said.txt")],
        [Say("It adds.")],
    ],
)
TODOS = Script("todos", [[Todos((("One thing", "in_progress"), ("Another", "pending")))], [Say("Planned.")]])
HELLO = Script("hello", [[Say("Hello.")]])
SLEEP = Script(
    "sleep", [[Write("one.txt", "1\n")], [Run("echo $$ > started.txt; sleep 120", 100)], [Say("Slept.")]]
)


@pytest.mark.parametrize("agent", AGENTS)
def test_an_agent_writes_edits_and_runs_what_the_script_says(rig: MakeRig, agent: str) -> None:
    made = rig(agent, scripts=[CALC])
    done = made.run(agent, "SCRIPT:calc please")
    assert done.code == 0, done
    assert (made.work / "said.txt").read_text() == "good\n", made.model.told()
    assert [one.turn for one in made.model.turns("calc")] == list(range(7))
    assert made.model.sent("add is broken"), "the failure was not shown to the model"
    assert done.native
    assert made.model.requests[-1].pid, "nobody knows who asked"


@pytest.mark.parametrize("agent", [one for one in AGENTS if one != "opencode"])  # it takes a minute to start
def test_a_killed_agent_leaves_its_command_running_and_can_be_resumed(rig: MakeRig, agent: str) -> None:
    made = rig(agent, scripts=[SLEEP, HELLO])
    at_work = made.start(agent, "SCRIPT:sleep please")
    pid = int(_soon(made.work / "started.txt"))
    at_work.kill()
    assert at_work.wait(1).code == -9
    os.kill(pid, 0)  # what its tool started lives on
    made.end_all()
    before = len(made.model.requests)
    resumed = made.run(agent, "SCRIPT:hello again", resume=_native(made, agent))
    if resumed.code < 0 and agent in HANGS_AT_RESUME:
        resumed = made.run(agent, "SCRIPT:hello again", resume=_native(made, agent))
    assert resumed.code == 0, resumed
    assert made.model.sent("one.txt", after=before), "the conversation did not go on"


def test_processes_that_name_no_script_take_the_next_of_the_queue(rig: MakeRig) -> None:
    made = rig("claude-code", scripts=[HELLO, CALC], queue=["hello", "calc"])
    assert "Hello." in made.run("claude-code", "Good morning").out
    assert made.run("claude-code", "Make it add").code == 0
    assert (made.work / "said.txt").exists()


def test_a_summary_says_where_the_script_goes_on(rig: MakeRig) -> None:
    full = Script("full", [[Run("echo one"), Used(230_000)], [Run("echo two > two.txt")], [Say("Done.")]])
    made = rig("opencode", scripts=[full])
    assert made.run("opencode", "SCRIPT:full please").code == 0
    assert any(one.is_aside and "SCRIPT:full" in one.text() for one in made.model.requests)
    assert (made.work / "two.txt").exists(), made.model.told()


def _soon(path: Path, seconds: float = 60.0) -> str:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if path.exists() and (text := path.read_text().strip()):
            return text
        time.sleep(0.05)
    raise TimeoutError(f"{path} was not written")


def _native(made: Rig, agent: str) -> str:
    """The conversation that the killed agent had, found as Segue finds it."""
    from segue.agents import agent as named
    from segue.agents.base import SearchScope

    where = SearchScope(made.environment(), made.home, (made.work,))
    return next(iter(named(agent).find(where))).native
