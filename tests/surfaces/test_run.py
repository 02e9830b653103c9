"""`segue run` and `segue continue` with a stand-in for an agent; tests/e2e has the real ones."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.surfaces.conftest import Cli

from segue.core.runs.steps import Call, Plan, PlanItem, Prompt, Say, Start, Step
from segue.testing.transcripts import placed

STANDIN = Path(__file__).parents[1] / "support" / "stand_in_agent.py"
GOOD = {"write": {"good.txt": "x\n"}, "exit": 0}
CHECK = ("--check", "test -f good.txt")
ROOT = Path(__file__).parents[2]


class World:
    """A project with a stand-in agent on PATH."""

    def __init__(self, folder: Path, project: Path) -> None:
        self.folder, self.project = folder, project

    def lives(self, *lives: dict[str, Any]) -> None:
        (self.folder / "lives.json").write_text(json.dumps(lives))

    @property
    def prompts(self) -> list[dict[str, Any]]:
        path = self.folder / "prompts.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def start(self, *words: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "segue", *words], cwd=self.project, text=True, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip


@pytest.fixture
def world(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    bin_ = tmp_path / "bin"
    bin_.mkdir()
    for name in ("claude", "codex"):
        program = bin_ / name
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{STANDIN}" "$@"\n')
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{bin_}:{os.environ['PATH']}")
    monkeypatch.setenv("STANDIN", str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    made = World(tmp_path, project)
    yield made
    for one in made.prompts:
        for number in (one["pid"],):
            try:
                os.kill(number, signal.SIGKILL)
            except ProcessLookupError:
                pass


def _told(out: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in out.splitlines()]


def _run(cli: Cli, *words: str, code: int = 0) -> list[dict[str, Any]]:
    return _told(cli("run", *words, "--json", "--agent", "claude", code=code).out)


def test_a_run_whose_checks_pass_is_done(world: World, cli: Cli) -> None:
    world.lives(GOOD)
    notices = _run(cli, "Make good.txt", *CHECK)
    assert notices[-1] == {**notices[-1], "outcome": "done", "runs": 1, "proven": True}
    assert cli("status", "--json").value["status"] == "completed"
    assert "Make good.txt" in world.prompts[0]["prompt"] and "test -f good.txt" in world.prompts[0]["prompt"]


def test_a_crash_is_resumed_and_a_false_done_is_not_believed(world: World, cli: Cli) -> None:
    world.lives({"signal": 9, "leave": "43"}, {"exit": 0}, GOOD)
    notices = _run(cli, "Make good.txt", *CHECK)
    assert notices[-1]["outcome"] == "done" and notices[-1]["runs"] == 3
    ended = [one["text"] for one in notices if one["kind"] == "ended"]
    assert "crashed (killed by signal 9)" in ended[0] and "says it is done" in ended[1]
    first, second, third = world.prompts
    assert second["resumed"] and second["native"] == first["native"]
    assert "not proven" in third["prompt"] and "test -f good.txt" in third["prompt"]
    assert "sleep 43" in second["prompt"], "what it left running is named"
    assert any("sleep 43" in one["text"] for one in notices if one["kind"] == "left behind")


def test_a_full_window_is_handed_over_with_the_brief(world: World, cli: Cli) -> None:
    world.lives({"tokens": 170_000, "silent": 60}, GOOD)
    notices = _run(cli, "Make good.txt", *CHECK)
    assert "window 85 %" in next(one["text"] for one in notices if one["kind"] == "ended")
    assert not world.prompts[1]["resumed"]
    assert "[segue]" in world.prompts[1]["prompt"].lower() or "Segue" in world.prompts[1]["prompt"]
    assert "Make good.txt" in world.prompts[1]["prompt"]


def test_the_done_of_a_full_window_is_not_believed_where_no_check_says_so(world: World, cli: Cli) -> None:
    world.lives({"tokens": 170_000, "exit": 0}, GOOD)
    notices = _run(cli, "Make good.txt")
    assert notices[-1]["outcome"] == "done" and notices[-1]["runs"] == 2, notices
    assert not world.prompts[1]["resumed"] and "window 85 %" in world.prompts[1]["prompt"]


def test_a_rate_limit_is_waited_for(world: World, cli: Cli) -> None:
    world.lives({"fault": "rate limited", "status": 429}, GOOD)
    notices = _run(cli, "Make good.txt", *CHECK, "--wait", "1s")
    waiting = [one for one in notices if one["kind"] == "waiting"]
    assert len(waiting) == 1 and waiting[0]["seconds"] == 1
    assert world.prompts[1]["resumed"]


def test_a_rate_limit_is_waited_for_as_long_as_the_agent_says(world: World, cli: Cli) -> None:
    world.lives({"fault": "You've hit your limit · try again in 2s", "status": 429}, GOOD)
    notices = _run(cli, "Make good.txt", *CHECK)
    assert [one["seconds"] for one in notices if one["kind"] == "waiting"] == [2.0]


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGINT])
def test_a_limit_is_remembered_by_whoever_comes_after_a_supervisor(
    world: World, cli: Cli, end: signal.Signals
) -> None:
    world.lives({"fault": "rate limited, try again in 12s", "status": 429}, GOOD)
    running = world.start("run", "Make good.txt", *CHECK, "--agent", "claude", "--json")
    assert running.stdout is not None
    for line in running.stdout:
        if json.loads(line)["kind"] == "waiting":
            break
    limited = time.monotonic()
    running.send_signal(end)
    running.communicate(timeout=60)
    notices = _run(cli, "Make good.txt", *CHECK)
    assert time.monotonic() - limited > 11
    wait = next(one for one in notices if one["kind"] == "waiting")
    assert 0 < wait["seconds"] < 12 and "rate limited" in wait["text"]
    assert notices[-1]["outcome"] == "done" and notices[-1]["runs"] == 2
    first, second = world.prompts
    assert second["resumed"] and second["native"] == first["native"], "the conversation goes on"


def test_no_access_stops_and_says_so(world: World, cli: Cli) -> None:
    world.lives({"fault": "Invalid API key", "status": 401})
    notices = _run(cli, "Make good.txt", *CHECK, code=69)
    assert notices[-1]["outcome"] == "auth" and "Invalid API key" in notices[-1]["why"]
    assert len(world.prompts) == 1
    assert cli("status", "--json").value["status"] == "paused"


def test_an_overflow_begins_a_fresh_window(world: World, cli: Cli) -> None:
    world.lives({"fault": "prompt is too long: 210000 tokens", "status": 400}, GOOD)
    assert _run(cli, "Make good.txt", *CHECK)[-1]["outcome"] == "done"
    assert not world.prompts[1]["resumed"]


def test_silence_is_a_hang(world: World, cli: Cli) -> None:
    world.lives({"silent": 60}, GOOD)
    notices = _run(cli, "Make good.txt", *CHECK, "--silent", "1")
    assert "hung (silent for" in next(one["text"] for one in notices if one["kind"] == "ended")
    assert notices[-1]["outcome"] == "done" and not world.prompts[1]["resumed"]


@pytest.mark.parametrize(
    ("words", "life", "why"),
    [
        (("--max-runs", "2"), {"signal": 9}, "2 runs"),
        (("--max-time", "1"), {"silent": 60}, "1 s are over"),
        (("--max-tokens", "5000"), {"tokens": 9000, "silent": 60}, "5000 tokens"),
        (("--max-cost", "0.5"), {"exit": 0, "cost": 0.75}, "0.5 dollars"),
    ],
    ids=["runs", "time", "tokens", "cost"],
)
def test_a_budget_stops_it(
    world: World, cli: Cli, words: tuple[str, ...], life: dict[str, Any], why: str
) -> None:
    world.lives(life)
    notices = _run(cli, "Make good.txt", *CHECK, *words, code=65)
    assert notices[-1]["outcome"] == "budget" and why in notices[-1]["why"]


def test_runs_without_progress_are_given_up(world: World, cli: Cli) -> None:
    world.lives({"idle": True, "mute": True, "signal": 9})
    notices = _run(cli, "Make good.txt", *CHECK, code=69)
    assert notices[-1]["outcome"] == "gave up" and notices[-1]["runs"] == 3


def test_an_agent_that_never_proves_anything_is_given_up(world: World, cli: Cli) -> None:
    world.lives({"exit": 0})
    notices = _run(cli, "Make good.txt", *CHECK, code=69)
    assert notices[-1]["outcome"] == "gave up" and 2 <= notices[-1]["runs"] <= 6


def test_without_anything_to_prove_the_plan_decides(world: World, cli: Cli) -> None:
    world.lives({"exit": 0})
    notices = _run(cli, "Look around")
    assert notices[-1]["outcome"] == "done" and not notices[-1]["proven"]
    notices = _run(cli, "Look around again", "--item", "the cellar", code=69)
    assert "the cellar" in notices[-1]["why"]


def test_an_agent_that_leaves_its_own_list_open_is_given_up_in_the_words_of_the_gate(
    world: World, cli: Cli
) -> None:
    world.lives({"plan": [["look around", "done"], ["sweep the cellar", "pending"]], "exit": 0})
    notices = _run(cli, "Clean the house", code=69)
    assert notices[-1]["outcome"] == "gave up"
    assert notices[-1]["why"].endswith("without progress: 1 item of the plan not done\n- sweep the cellar")
    assert any("1 item of claude-code's own list not done" in one["prompt"] for one in world.prompts)
    unproven = _run(cli, "Make good.txt", *CHECK, code=69)
    assert "1 feature failing; 0 of 1 proven\n- check-1 failing: " in unproven[-1]["why"]
    shown = cli("run", "Clean the house again", "--agent", "claude", code=69).out
    assert "without progress: 1 item of the plan not done - sweep the cellar" in shown


def test_ctrl_c_pauses_and_the_same_command_goes_on(world: World, cli: Cli) -> None:
    world.lives({"silent": 60}, GOOD)
    running = world.start("run", "Make good.txt", *CHECK, "--agent", "claude")
    _until(lambda: world.prompts and _transcripts(world))
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=60)
    assert running.returncode == 130, (out, err)
    assert "`segue run` continues" in out
    assert cli("status", "--json").value["status"] == "paused"
    done = _run(cli, "Make good.txt", *CHECK)
    assert done[-1]["outcome"] == "done"
    assert len(cli("list", "--json").value) == 1, "it is the same session"


@pytest.mark.parametrize("child", ["living", "dead"])
def test_a_killed_supervisor_is_followed_by_one_that_finds_the_child(
    world: World, cli: Cli, child: str
) -> None:
    life = {"silent": 4, **GOOD} if child == "living" else {"silent": 60}
    world.lives(life, GOOD)
    first = world.start("run", "Make good.txt", *CHECK, "--agent", "claude")
    _until(lambda: world.prompts and _transcripts(world))
    first.kill()
    first.communicate(timeout=30)
    pid = world.prompts[0]["pid"]
    os.kill(pid, 0)  # the agent lives on
    if child == "dead":
        os.kill(pid, signal.SIGKILL)
    notices = _run(cli)
    assert notices[-1]["outcome"] == "done"
    assert len(world.prompts) == (1 if child == "living" else 2)
    if child == "living":
        assert "picked up" in notices[0]["text"]
    else:
        assert world.prompts[1]["resumed"]


def test_two_supervisors_do_not_share_a_session(world: World, cli: Cli) -> None:
    world.lives({"silent": 60})
    first = world.start("run", "Make good.txt", *CHECK, "--agent", "claude")
    _until(lambda: world.prompts)
    second = cli("run", "--agent", "claude", "--json", code=66)
    assert second.value["error"]["code"] == "session_held"
    first.send_signal(signal.SIGTERM)
    first.communicate(timeout=60)


def test_plain_lines_tell_the_story(world: World, cli: Cli) -> None:
    world.lives({"signal": 9}, GOOD)
    out = cli("run", "Make good.txt", *CHECK, "--agent", "claude").out.splitlines()
    assert [line.partition(" · ")[0] for line in out[:2]] == ["run 1", "  ls"], "what it does is shown"
    told = [line for line in out if not line.startswith("  ")]
    assert "crashed" in told[1] and "1 run of 20" in told[2] and "resumed in" in told[3]
    assert told[-1].startswith("done: 1 of 1 proven (2 runs")


def test_quiet_shows_nothing_of_what_the_agent_does_and_json_neither(world: World, cli: Cli) -> None:
    world.lives(GOOD)
    out = cli("run", "Make good.txt", *CHECK, "--agent", "claude", "--quiet").out.splitlines()
    assert out and not [line for line in out if line.startswith("  ")]
    (world.project / "good.txt").unlink()
    assert not [one for one in _run(cli, "Make it again", *CHECK) if one["kind"] == "step"]


def test_a_check_for_the_shell_is_run_by_it_and_named_in_the_evidence(world: World, cli: Cli) -> None:
    world.lives(GOOD)
    check = "test -f good.txt && grep -q x *.txt"
    notices = _run(cli, "Make good.txt", "--check", check)
    assert notices[-1]["outcome"] == "done" and notices[-1]["proven"]
    evidence = cli("feature", "show", "check-1", "--json").out
    assert check in evidence


def test_a_check_that_cannot_be_read_begins_no_session(world: World, cli: Cli) -> None:
    world.lives(GOOD)
    assert "parse" in cli("run", "x", "--check", "echo 'a && b", "--agent", "claude", code=64).err
    assert cli("list", "--json").value == [] and not world.prompts


def test_a_run_that_nobody_declared_is_continued_with_its_brief_and_its_plan(world: World, cli: Cli) -> None:
    cwd, at = str(world.project), time.time() - 60
    steps: list[Step] = [
        Start(at, "start", native="killed-1", cwd=cwd),
        Prompt(at, "Move the login to signed tokens"),
        Plan(at, (PlanItem("write them", "done"), PlanItem("check them", "active"), PlanItem("ship them"))),
        Call(at, "c1", "Bash", "run", text="make", command="make"),
    ]
    placed("claude-code", steps, home=Path(os.environ["HOME"]), native="killed-1", cwd=cwd)
    world.lives({"exit": 0})
    words = ("continue", "--in", "claude", "--json", "--max-runs", "1")
    notices = _told(cli(*words, code=65).out)
    prompt = world.prompts[0]["prompt"]
    assert "[segue] Where the last run stopped" in prompt and "NO RESULT YET" in prompt
    assert "Plan:\n- check them\n- ship them\n" in prompt
    assert prompt.endswith("Move the login to signed tokens")
    assert notices[-1]["outcome"] == "budget", "an open plan is never done with nothing to prove"
    status = cli("status", "--json").value
    assert status["done"] == ["write them"] and status["goal"] == "Move the login to signed tokens"


def test_a_run_is_continued_by_its_own_id_and_an_unknown_id_is_said(world: World, cli: Cli) -> None:
    cwd, at = str(world.project), time.time() - 60
    for number, goal in enumerate(("Sort the imports of the shop", "Write the release notes")):
        steps: list[Step] = [
            Start(at + number, "start", native=f"run-{number}", cwd=cwd),
            Prompt(at + number, goal),
            Say(at + number, "Begun."),
        ]
        placed("claude-code", steps, home=Path(os.environ["HOME"]), native=f"run-{number}", cwd=cwd)
    world.lives({"exit": 0})
    cli("continue", "run-0", "--in", "claude")
    assert world.prompts[0]["prompt"].endswith("Sort the imports of the shop")
    assert "there is no session" in cli("continue", "nonsense", "--in", "claude", code=64).err


def test_continue_goes_on_with_the_session(world: World, cli: Cli) -> None:
    world.lives(GOOD)
    cli("start", "Make good.txt", "--item", "write it", "--id", "g")
    cli("feature", "add", "good", "good.txt is there", "--check", "test -f good.txt")
    out = cli("continue", "--in", "claude", "--json").out
    assert _told(out)[-1]["outcome"] == "done"
    assert "write it" in world.prompts[0]["prompt"]


def test_agents_that_are_not_there_are_named(world: World, cli: Cli) -> None:
    assert "gemini is not on PATH" in cli("run", "x", "--agent", "gemini", code=69).err
    assert "cannot be launched" in cli("run", "x", "--agent", "roo", code=64).err
    assert "is not a time" in cli("run", "x", "--agent", "claude", "--max-time", "soon", code=64).err


def test_nothing_of_the_output_stays(world: World, cli: Cli, home: Path) -> None:
    world.lives(GOOD)
    _run(cli, "Make good.txt", *CHECK)
    assert not list((home / "segue" / "launches").iterdir())


@pytest.mark.parametrize("words", [(), ("--interactive",)], ids=["headless", "interactive"])
def test_a_terminal_has_one_line_that_is_written_anew_unless_the_agent_has_the_screen(
    world: World, cli: Cli, words: tuple[str, ...]
) -> None:
    world.lives({"silent": 1, **GOOD})
    master, slave = os.openpty()
    command = [sys.executable, "-m", "segue", "run", "Make good.txt", *CHECK, "--agent", "claude", *words]
    running = subprocess.Popen(
        command, cwd=world.project, stdin=slave, stdout=slave, stderr=slave, start_new_session=True
    )
    os.close(slave)
    shown = b""
    try:
        while piece := os.read(master, 4096):
            shown += piece
    except OSError:  # the other end is closed
        pass
    os.close(master)
    assert running.wait(60) == 0, shown
    assert (b"\r\x1b[2K" in shown) == (not words) and b"done: 1 of 1 proven" in shown
    assert len(world.prompts) == 1


def _transcripts(world: World) -> list[Path]:
    return list(Path(os.environ["HOME"]).rglob("*.jsonl"))


def _until(true: Callable[[], Any], seconds: float = 40.0) -> None:
    until = time.monotonic() + seconds
    while not true() and time.monotonic() < until:
        time.sleep(0.05)
    assert true()
