"""`segue run` and `segue continue` with the real agents, proven by what the model was sent."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.conftest import MakeRig
from tests.support.programs import PROGRAMS
from tests.support.rig import Finished, Rig, Running
from tests.support.scripted import Fault, Run, Say, Script, Stall, Step, Todos, Used, Write
from tests.support.scripted.steps import overflow

PENDING = Script(
    "pending",
    [
        [Say("I decided to write one.txt first because it is small."), Write("one.txt", "1\n")],
        [Run("echo $$ > started.txt; sleep 300", 250)],
        [Say("Slept.")],
    ],
)
FALSE_DONE = Script("false-done", [[Run("ls")], [Say("All of it is done.")]])
GOOD = Script("good", [[Write("good.txt", "x\n")], [Say("Now it is done.")]])
FULL = Script("full", [[Write("one.txt", "1\n"), Used(215_000)], [Say("And so on"), Stall(90)]])
FULL_CLAUDE = Script("full-claude", [[Write("one.txt", "1\n"), Used(162_000)], [Say("And so on"), Stall(90)]])
IN_CALL = Script("in-call", [[Write("one.txt", "1\n"), Run("sleep 2"), Used(162_000)], [Say("It is done.")]])
LIMITED = Script("limited", [[Write("one.txt", "1\n")], [Fault(429, "rate limited: slow down")]])
TOLD = Script(
    "told", [[Write("one.txt", "1\n")], [Fault(429, "Rate limit reached. Please try again in 2s.")]]
)
NO_ACCESS = Script("no-access", [[Fault(401, "invalid x-api-key")]])
OVERFLOW = Script("overflow", [[Run("echo one")], [overflow()]])
STALLED = Script("stalled", [[Run("echo one")], [Say("It goes"), Stall(600)]])
SCRIPTS = [PENDING, FALSE_DONE, GOOD, FULL, FULL_CLAUDE, IN_CALL, LIMITED, TOLD, NO_ACCESS, OVERFLOW, STALLED]
COMMANDS = {name: program.command for name, program in PROGRAMS.items()}


def start(rig: Rig, *words: str) -> Running:
    every = ("run", "Make good.txt", "--check", "test -f good.txt", "--full-access", "--json")
    return rig.spawn([sys.executable, "-m", "segue", *every, *words], name="run")


def told(done: Finished) -> list[dict[str, Any]]:
    assert done.out, done.err
    return [json.loads(line) for line in done.out.splitlines()]


def ends(notices: list[dict[str, Any]]) -> list[str]:
    return [one["text"] for one in notices if one["kind"] == "ended"]


def soon(path: Path, seconds: float = 60.0) -> str:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if path.exists() and (text := path.read_text().strip()):
            return text
        time.sleep(0.05)
    raise TimeoutError(f"{path} was not written")


@pytest.mark.parametrize("agent", ["claude-code", "codex", "gemini-cli"])
def test_a_killed_agent_goes_on_and_a_false_done_is_not_believed(rig: MakeRig, agent: str) -> None:
    made = rig(agent, scripts=SCRIPTS, queue=["pending", "false-done", "good"])
    running = start(made, "--agent", COMMANDS[agent])
    soon(made.work / "started.txt")
    made.model.wait_for_turn("pending", 1)
    os.kill(made.model.turns("pending")[-1].pid, signal.SIGKILL)
    notices = told(running.wait(150))
    assert notices[-1]["outcome"] == "done" and notices[-1]["runs"] == 3 and notices[-1]["proven"], notices
    first, second, _ = ends(notices)
    assert "crashed" in first and "says it is done" in second
    resumed = made.model.turns("false-done")[0].number
    assert made.model.sent("one.txt", after=resumed - 1), "the conversation went on"
    unproven = made.model.turns("good")[0]
    assert "check-1 failing" in unproven.text() and "test -f good.txt" in unproven.text()


@pytest.mark.parametrize(("agent", "script"), [("claude-code", "full-claude"), ("codex", "full")])
def test_a_full_window_is_handed_over_to_a_fresh_one_with_the_brief(
    rig: MakeRig, agent: str, script: str
) -> None:
    made = rig(agent, scripts=SCRIPTS, queue=[script, "good"])
    notices = told(start(made, "--agent", COMMANDS[agent]).wait(150))
    assert notices[-1]["outcome"] == "done", notices
    assert "handed over" in ends(notices)[0] and "window 8" in ends(notices)[0]
    second = made.model.turns("good")[0]
    assert "[segue]" in second.text() and "Make good.txt" in second.text() and "one.txt" in second.text()
    assert len([one for one in second.messages if one.role == "model"]) == 0, "the window is fresh"


def test_a_window_that_fills_inside_a_call_is_no_done(rig: MakeRig) -> None:
    made = rig("claude-code", scripts=SCRIPTS, queue=["in-call", "good"])
    words = ("run", "Make good.txt", "--full-access", "--json", "--agent", "claude")
    notices = told(made.segue(*words, seconds=150))
    assert notices[-1]["outcome"] == "done" and notices[-1]["runs"] == 2, notices
    second = made.model.turns("good")[0]
    assert "[segue]" in second.text() and "handed over" in second.text() and "one.txt" in second.text()
    assert len([one for one in second.messages if one.role == "model"]) == 0, "the window is fresh"


def test_a_rate_limit_is_waited_for_in_the_same_conversation(rig: MakeRig) -> None:
    made = rig("codex", scripts=SCRIPTS, queue=["limited", "good"])
    notices = told(start(made, "--agent", "codex", "--wait", "1s").wait(150))
    assert notices[-1]["outcome"] == "done", notices
    assert "rate" in ends(notices)[0]
    assert [one["seconds"] for one in notices if one["kind"] == "waiting"] == [1.0]
    assert any(one.role == "model" for one in made.model.turns("good")[0].messages), (
        "it is the same conversation"
    )


@pytest.mark.parametrize("agent", ["claude-code", "gemini-cli"])
def test_a_rate_limit_is_waited_for_as_long_as_the_agent_says(rig: MakeRig, agent: str) -> None:
    made = rig(agent, scripts=SCRIPTS, queue=["told", "good"])
    notices = told(start(made, "--agent", COMMANDS[agent], "--silent", "40").wait(150))
    assert notices[-1]["outcome"] == "done", notices
    assert [one["seconds"] for one in notices if one["kind"] == "waiting"] == [2.0]


def test_an_agent_without_access_is_followed_by_another_that_knows(rig: MakeRig) -> None:
    made = rig("claude-code", "codex", scripts=SCRIPTS, queue=["pending", "no-access", "good"])
    running = start(made, "--agents", "claude,codex")
    soon(made.work / "started.txt")
    made.model.wait_for_turn("pending", 1)
    os.kill(made.model.turns("pending")[-1].pid, signal.SIGKILL)
    notices = told(running.wait(150))
    assert notices[-1]["outcome"] == "done", notices
    assert "auth" in ends(notices)[1]
    (first, *_) = made.model.turns("good")
    assert first.protocol == "responses", "the other agent asks"
    assert "[segue]" in first.text() and "Make good.txt" in first.text() and "one.txt" in first.text()


def test_an_agent_at_its_limit_is_followed_by_another_that_knows(rig: MakeRig) -> None:
    made = rig("claude-code", "codex", scripts=SCRIPTS, queue=["limited", "good"])
    notices = told(start(made, "--agents", "codex,claude").wait(150))
    assert notices[-1]["outcome"] == "done", notices
    assert "rate" in ends(notices)[0]
    (first, *_) = made.model.turns("good")
    assert first.protocol == "anthropic", "the other agent asks"
    assert "[segue]" in first.text() and "Make good.txt" in first.text() and "one.txt" in first.text()


def test_no_access_at_all_stops_and_says_why(rig: MakeRig) -> None:
    made = rig("claude-code", scripts=SCRIPTS, queue=["no-access"] * 3)
    done = start(made, "--agent", "claude").wait(150)
    notices = told(done)
    assert done.code == 69 and notices[-1]["outcome"] == "auth" and notices[-1]["runs"] == 1, notices


def test_an_overflow_goes_on_in_a_fresh_window(rig: MakeRig) -> None:
    made = rig("codex", scripts=SCRIPTS, queue=["overflow", "good"])
    notices = told(start(made, "--agent", "codex").wait(150))
    assert notices[-1]["outcome"] == "done", notices
    assert "overflow" in ends(notices)[0]
    assert "[segue]" in made.model.turns("good")[0].text()


def test_a_model_that_says_nothing_more_is_a_hang(rig: MakeRig) -> None:
    made = rig("claude-code", scripts=SCRIPTS, queue=["stalled", "good"])
    notices = told(start(made, "--agent", "claude", "--silent", "8").wait(150))
    assert notices[-1]["outcome"] == "done", notices
    assert "hung" in ends(notices)[0]


@pytest.mark.parametrize("child", ["living", "dead"])
def test_a_killed_supervisor_is_followed_by_one_that_finds_the_agent(rig: MakeRig, child: str) -> None:
    scripts = [Script("slow", [[Run("echo > started.txt; sleep 8", 50)], *GOOD.turns]), *SCRIPTS]
    made = rig("codex", scripts=scripts, queue=["slow", "good"])
    running = start(made, "--agent", "codex")
    made.model.wait_for_turn("slow", 0)
    os.kill(running.pid, signal.SIGKILL)
    running.process.wait(30)
    if child == "dead":
        os.kill(made.model.turns("slow")[0].pid, signal.SIGKILL)
    notices = told(start(made, "--agent", "codex").wait(150))
    assert notices[-1]["outcome"] == "done", notices
    assert notices[-1]["runs"] == (1 if child == "living" else 2)
    assert len(json.loads(made.segue("list", "--json").out)) == 1


def test_the_work_goes_on_in_another_agent_that_is_sent_the_brief(rig: MakeRig) -> None:
    made = rig("claude-code", "codex", scripts=SCRIPTS, queue=["false-done", "good"])
    assert made.segue("start", "Make good.txt", "--item", "write good.txt").code == 0
    check = ("feature", "add", "good", "it is there", "--check", "test -f good.txt")
    assert made.segue(*check).code == 0
    assert made.run("claude-code", "Look at what is there first, please").code == 0
    made.segue("sync")
    done = made.segue("continue", "--in", "codex", "--full-access", "--json", seconds=120)
    assert told(done)[-1]["outcome"] == "done", done
    (first, *_) = made.model.turns("good")
    assert (
        first.protocol == "responses" and "Make good.txt" in first.text() and "write good.txt" in first.text()
    )


LISTED = Script(
    "listed",
    [
        [Todos((("Write one.txt", "pending"), ("Write two.txt", "pending")))],
        [Run("echo 1 > one.txt; echo 2 > two.txt")],
        [Todos((("Write one.txt", "completed"), ("Write two.txt", "completed")))],
        [Say("All of it is done.")],
    ],
)


@pytest.mark.parametrize("agent", ["claude-code", "codex", "opencode", "cline"])
def test_items_that_an_agent_ticks_off_in_its_own_list_are_done_after_one_run(
    rig: MakeRig, agent: str
) -> None:
    made = rig(agent, scripts=[LISTED], queue=["listed"])
    items = ("--item", "write one.txt", "--item", "Write two.txt.")
    done = made.segue(
        "run", "Write two files", *items, "--full-access", "--json", "--agent", COMMANDS[agent], seconds=120
    )
    notices = told(done)
    assert (done.code, notices[-1]["outcome"], notices[-1]["runs"]) == (0, "done", 1), notices
    assert [one["text"] for one in notices if one["kind"] == "ticked"] == [
        "done: write one.txt", "done: Write two.txt.",
    ]  # fmt: skip
    assert made.model.sent('segue done "<item>"')


LEFT_OPEN = Script(
    "left-open",
    [
        [Todos((("Look around", "pending"), ("Sweep the cellar", "pending")))],
        [Todos((("Look around", "completed"), ("Sweep the cellar", "pending")))],
        [Say("All of it is done.")],
    ],
)


@pytest.mark.parametrize("agent", ["claude-code", "opencode"])
def test_an_agent_that_leaves_its_own_list_open_is_given_up_and_the_list_is_said(
    rig: MakeRig, agent: str
) -> None:
    again = Script("again", [[Say("All of it is done.")]])
    made = rig(agent, scripts=[LEFT_OPEN, again], queue=["left-open", *["again"] * 3])
    words = ("run", "Clean the house", "--full-access", "--json", "--agent", COMMANDS[agent])
    done = made.segue(*words, seconds=150)
    notices = told(done)
    assert (done.code, notices[-1]["outcome"], notices[-1]["runs"]) == (69, "gave up", 3), notices
    assert notices[-1]["why"].endswith(" not done\n- Sweep the cellar")
    assert made.model.sent(f"1 item of {agent}'s own list not done")


@pytest.mark.parametrize("agent", ["claude-code", "codex"])
def test_hooks_and_a_supervisor_do_not_ask_for_the_same_proof_twice(rig: MakeRig, agent: str) -> None:
    made = rig(agent, scripts=SCRIPTS, queue=["good"])
    trust = ["--trust-hooks", "--yes"] if agent == "codex" else []
    assert made.segue("init", "--yes", "--agent", agent, "--no-mcp", *trust).code == 0
    notices = told(start(made, "--agent", COMMANDS[agent]).wait(150))
    assert notices[-1]["outcome"] == "done" and notices[-1]["proven"], notices
    assert len(made.model.turns("good")) == len(GOOD.turns), made.model.told()


@pytest.mark.parametrize("agent", list(COMMANDS))
def test_a_model_that_cannot_be_reached_is_said_while_the_agent_still_tries(rig: MakeRig, agent: str) -> None:
    made = rig(agent, scripts=SCRIPTS)
    made.model.refuse()
    running = start(made, "--agent", COMMANDS[agent], "--silent", "30", "--wait", "1s", "--max-runs", "1")
    done = running.wait(150)
    notices = told(done)
    [trouble, *_] = [one for one in notices if one["kind"] == "trouble"]
    assert trouble["text"].startswith("its model cannot be reached: "), trouble
    assert "unreachable" in ends(notices)[0], notices
    assert done.code == 65, "one run was allowed"


@pytest.mark.parametrize("agent", ["claude-code", "opencode"])
def test_what_an_agent_does_is_shown_while_it_works(rig: MakeRig, agent: str) -> None:
    steps: list[Sequence[Step]] = [
        [Write("one.txt", "1\n")],
        [Run("echo 1 > started.txt; sleep 6")],
        *GOOD.turns,
    ]
    made = rig(agent, scripts=[Script("steps", steps)], queue=["steps"])
    words = ("run", "Make good.txt", "--check", "test -f good.txt && true", "--full-access")
    running = made.spawn([sys.executable, "-m", "segue", *words, "--agent", COMMANDS[agent]], name="shown")
    soon(made.work / "started.txt", 90)
    time.sleep(2)
    shown = (made.logs / "01-shown.out").read_text()
    assert "wrote one.txt" in shown and "good.txt" not in shown.partition("wrote")[2], shown
    done = running.wait(150)
    assert done.code == 0 and "wrote good.txt" in done.out and "1 run of 20" in done.out, done


def test_opencode_works_under_a_supervisor_too(rig: MakeRig) -> None:
    made = rig("opencode", scripts=SCRIPTS, queue=["good"])
    notices = told(start(made, "--agent", "opencode").wait(200))
    assert notices[-1]["outcome"] == "done", notices
    assert notices[-1]["proven"] and notices[-1]["tokens"] > 0
