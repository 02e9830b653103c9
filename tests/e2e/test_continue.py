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
    time.sleep(1.0)  # agents write a call to their transcript a moment after they have begun it
    at_work.kill()
    made.end_all()


def go_on(made: Rig, agent: str, *words: str) -> list[dict[str, Any]]:
    options = ("--in", PROGRAMS[agent].command, "--headless", "--full-access", "--json")
    done = made.segue("continue", *words, *options, seconds=150)
    assert done.out.startswith('{"kind"'), done
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


@pytest.mark.parametrize(
    ("first", "then"), [("claude-code", "opencode"), ("opencode", "codex"), ("codex", "claude-code")]
)
def test_a_run_that_ended_its_turn_under_hooks_goes_on_with_one_brief(
    rig: MakeRig, first: str, then: str
) -> None:
    made = rig(first, then, scripts=SCRIPTS, queue=["stopped", "finishes"])
    init = ("init", "--yes", "--agent", first, "--agent", then, "--no-mcp")
    assert made.segue(*init, *(["--trust-hooks", "--yes"] if "codex" in (first, then) else [])).code == 0
    assert made.run(first, TASK).code == 0
    notices = go_on(made, then)
    holds_brief_and_plan(asked_first(made, "finishes"))
    assert notices[-1]["outcome"] == "done" and notices[-1]["runs"] == 1, notices


@pytest.mark.parametrize(("first", "then"), [("opencode", "claude-code"), ("claude-code", "opencode")])
def test_a_plan_that_stands_open_is_never_done_with_nothing_to_prove(
    rig: MakeRig, first: str, then: str
) -> None:
    made = rig(first, then, scripts=SCRIPTS, queue=["stopped", "idle", "finishes"])
    assert made.run(first, TASK).code == 0
    notices = go_on(made, then)
    assert notices[-1]["outcome"] == "done" and notices[-1]["runs"] == 2, notices
    told_open = json.dumps("2 items of the plan not done\n- check the tokens\n- remove the cookies")
    assert told_open.strip('"') in asked_first(made, "finishes").text()


@pytest.mark.parametrize(("first", "then"), [("opencode", "codex"), ("claude-code", "opencode")])
def test_a_declared_session_goes_on_with_its_own_plan_and_the_brief_of_the_run(
    rig: MakeRig, first: str, then: str
) -> None:
    made = rig(first, then, scripts=SCRIPTS, queue=["stopped", "finishes"])
    items = [word for item in ITEMS for word in ("--item", item)]
    assert made.segue("start", TASK, *items).code == 0
    assert made.run(first, "Begin with the first item, please").code == 0
    notices = go_on(made, then)
    holds_brief_and_plan(asked_first(made, "finishes"))
    assert notices[-1]["outcome"] == "done" and notices[-1]["runs"] == 1, notices
    assert len(json.loads(made.segue("list", "--json").out)) == 1
