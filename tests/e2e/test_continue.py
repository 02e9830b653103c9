"""`segue continue --in OTHER` with real agents: whatever became of a run, another agent goes on with it."""

from __future__ import annotations

import json
import time
from itertools import permutations
from typing import Any

import pytest
from tests.e2e.conftest import AGENTS, MakeRig
from tests.support.programs import PROGRAMS
from tests.support.rig import Rig
from tests.support.scripted import Request, Run, Say, Script, Todos

TASK = "Move the login of the shop from cookies to signed tokens"
ITEMS = ("write the tokens", "check the tokens", "remove the cookies")


def listed(*states: str) -> Todos:
    return Todos(tuple(zip(ITEMS, states, strict=True)))


BEGUN = [[listed("pending", "pending", "pending")], [listed("completed", "in_progress", "pending")]]
KILLED = Script("killed", [*BEGUN, [Run("echo $$ > started.txt; sleep 300", 250)], [Say("Slept.")]])
STOPPED = Script("stopped", [*BEGUN, [Say("The tokens are written, the rest is left.")]])
FINISHES = Script(
    "finishes",
    [
        [listed("pending", "pending", "pending")],
        [listed("completed", "completed", "completed")],
        [Run("echo 1 > done.txt")],
        [Say("All of it is done.")],
    ],
)
MARKS = Script(  # for models without a list of things to do
    "marks",
    [
        [Run('segue done "check the tokens" && segue done "remove the cookies"')],
        [Say("All of it is done.")],
    ],
)
IDLE = Script("idle", [[Say("All of it is done.")]])
SCRIPTS = [KILLED, STOPPED, FINISHES, MARKS, IDLE]


def kill(made: Rig, agent: str) -> None:
    """Let an agent work on the task until it waits for a command, and kill it there."""
    at_work = made.start(agent, TASK)
    until = time.monotonic() + 120
    started = made.work / "started.txt"
    while not (started.exists() and started.read_text().strip()):
        assert time.monotonic() < until and at_work.process.poll() is None, made.model.told()
        time.sleep(0.05)
    _written_down(made, agent)
    at_work.kill()
    made.end_all()


def _written_down(made: Rig, agent: str) -> None:
    """Agents write a call to their transcript a moment after they have begun it."""
    time.sleep(1.0)


def go_on(made: Rig, agent: str, *words: str) -> list[dict[str, Any]]:
    options = ("--in", PROGRAMS[agent].command, "--headless", "--full-access", "--json")
    done = made.segue("continue", *words, *options, seconds=150)
    assert done.out.startswith('{"kind"') or '"run"' in done.out, done
    return [json.loads(line) for line in done.out.splitlines()]


def asked_first(made: Rig, script: str) -> Request:
    return made.model.turns(script)[0]


def holds_brief_and_plan(request: Request) -> None:
    sent = request.text()
    assert sent.count("[segue]") == 1, "a brief, once"
    assert TASK in sent
    assert all(item in sent for item in ITEMS[1:]), "what is left of the plan"


@pytest.mark.parametrize(("first", "then"), list(permutations(AGENTS, 2)))
def test_a_killed_run_goes_on_in_every_other_agent_with_brief_and_plan(
    rig: MakeRig, first: str, then: str
) -> None:
    script = "marks" if then == "gemini-cli" else "finishes"
    made = rig(first, then, scripts=SCRIPTS, queue=["killed", script])
    kill(made, first)
    notices = go_on(made, then)
    request = asked_first(made, script)
    holds_brief_and_plan(request)
    assert "NO RESULT YET" in request.text() or first == "gemini-cli", "the call that was under way"
    assert notices[-1]["outcome"] == "done" and notices[-1]["runs"] == 1, notices
    [session] = json.loads(made.segue("list", "--json").out)
    assert (session["status"], session["done"], session["total"]) == ("completed", 3, 3)
