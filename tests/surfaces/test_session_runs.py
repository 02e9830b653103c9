"""A session in lists: its runs below it, when they were last active, and paused when all have stopped."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.support.chains import BETWEEN_SECONDS, Chain, ChainRun
from tests.support.server import SegueServer
from tests.surfaces.conftest import Cli

from segue import RecoverableAgent
from segue.core.runs.steps import Call, Plan, PlanItem
from segue.services.runs.run import key_of
from segue.surfaces.mcp.calls import Calls

TASK = "Move the shop's login to signed tokens with an expiry"
AGENTS = ("claude-code", "codex", "opencode", "gemini-cli", "cline")


@pytest.fixture
def chain(home: Path, project: Path) -> Chain:
    return Chain(home, project)


def statuses(cli: Cli, chain: Chain) -> set[str]:
    """The status of the only session, as every surface says it."""
    [card] = cli("list", "--json").value
    said = {card["status"]}
    said.add(cli("status", "--json").value["status"])
    said.add(cli("show", card["id"], "--json").value["status"])
    said |= {one["status"] for one in cli("list", "--status", card["status"], "--json").value}
    said |= {one["status"] for one in cli("resumable", "--json").value}
    said.add("active" if card["id"] in cli("list", "--status", "active", "--ids").out else "paused")
    said.add(cli("list").out.split("\n")[1].split()[2])
    with chain.open() as segue:
        said.add(segue.list()[0].status)
        said.add(segue.session(card["id"]).status().status)
    return said


def first_turn(chain: Chain, agent: str) -> ChainRun:
    run = chain.begin(agent).prompt(TASK)
    return run.add(Plan(0, (PlanItem("sign", "active"), PlanItem("expire")))).edits("a.py").stop()


@pytest.mark.parametrize("agent", AGENTS)
def test_a_session_whose_runs_all_stopped_is_paused_and_active_again_when_one_goes_on(
    cli: Cli, chain: Chain, agent: str
) -> None:
    first_turn(chain, agent)
    chain.begin(agent).prompt("continue").edits("b.py").stop()
    assert statuses(cli, chain) == {"paused"}
    chain.clock = time.time() - BETWEEN_SECONDS - 5
    run = chain.begin(agent).prompt("go on").edits("c.py")
    run.call(run.hooks.prompt, prompt="and then the next", text="and then the next")
    assert statuses(cli, chain) == {"active"}
    [card] = cli("list", "--json").value
    assert card["runs"][0]["ended"] in ("alive", "recent") and len(card["runs"]) == 3


@pytest.mark.parametrize("agent", ["claude-code", "opencode"])
def test_a_run_whose_process_lives_keeps_its_session_active_until_it_dies(
    cli: Cli, chain: Chain, agent: str
) -> None:
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    chain.env["CLAUDE_PID"] = str(process.pid)
    run = chain.begin(agent).prompt(TASK).edits("a.py")
    run.call(run.hooks.stop, pid=process.pid, last_assistant_message="half of it")
    assert statuses(cli, chain) == {"active"}, "though it was silent for hours"
    process.kill()
    process.communicate()
    assert statuses(cli, chain) == {"paused"}


def test_a_session_without_runs_and_one_that_somebody_holds_are_active(cli: Cli, chain: Chain) -> None:
    cli("start", TASK, "--id", "tokens")
    assert statuses(cli, chain) == {"active"}
    run = first_turn(chain, "opencode")
    cli("sync", "--session", "tokens")
    assert [one["id"] for one in cli("list", "--json").value[0]["runs"]] in ([run.native], [])
    with chain.open() as segue, segue.session("tokens").hold():
        assert cli("list", "--status", "active", "--ids").out == "tokens\n"
        assert cli("status", "--json").value["status"] == "active"


def test_a_session_that_was_completed_or_paused_by_somebody_stays_so(cli: Cli, chain: Chain) -> None:
    first_turn(chain, "codex")
    cli("pause", "--reason", "lunch")
    assert cli("status", "--json").value["lifecycle"]["pause_reason"] == "lunch"
    cli("complete", "--force", "enough")
    assert cli("list", "--json").value[0]["status"] == "completed"


@pytest.mark.parametrize("agent", AGENTS)
def test_the_list_has_the_newest_runs_below_their_session(cli: Cli, chain: Chain, agent: str) -> None:
    first_turn(chain, agent)
    for number in range(4):
        chain.begin(agent).prompt("continue").edits(f"{number}.py").stop()
    [card] = cli("list", "--json").value
    assert [run["id"] for run in card["runs"]] == [f"{n:03}{agent[:2]}-run" for n in (5, 4, 3, 2, 1)]
    assert card["last_active"] == card["runs"][0]["last"] > card["created"]
    assert all(set(run) == {"id", "agent", "last", "ended"} for run in card["runs"])
    _, session, *runs = cli("list").out.splitlines()
    assert card["id"] in session and TASK in session
    assert [line.split()[:2] for line in runs[:3]] == [[agent, f"00{n}{agent[:2]}-ru"] for n in (5, 4, 3)]
    assert all(line.startswith("     ") and ("waiting" in line or "ended" in line) for line in runs[:3])
    assert runs[3:] == ["     and 2 more runs"]


@pytest.mark.parametrize("agent", AGENTS)
def test_runs_that_were_killed_are_below_their_session_without_a_sync(
    cli: Cli, chain: Chain, agent: str
) -> None:
    run = chain.begin(agent).prompt(TASK).add(Plan(0, (PlanItem("sign", "active"), PlanItem("expire"))))
    for number in range(3):
        run.edits(f"{number}.py").add(Call(0, f"x{number}", "Bash", "run", "make", "make"))
        run = chain.begin(agent).prompt("continue")
    [card] = cli("list", "--json").value
    assert card["goal"] == TASK and [run["ended"] for run in card["runs"][-3:]] == ["crashed"] * 3
    listed = {run["id"] for run in cli("runs", "--json").value}
    assert listed == {run["id"] for run in card["runs"]}, "not one in which nothing was asked yet"


def test_a_session_with_no_runs_has_an_empty_array(cli: Cli, chain: Chain) -> None:
    cli("start", TASK)
    assert cli("list", "--json").value[0]["runs"] == []
    assert len(cli("list").out.splitlines()) == 2


def test_a_list_reads_what_is_new_once(cli: Cli, chain: Chain, monkeypatch: pytest.MonkeyPatch) -> None:
    for agent in AGENTS:
        chain.begin(agent).prompt(f"{TASK} in {agent}").edits("a.py")  # and then it was killed
    [card] = cli("list", "--json").value
    assert len(card["runs"]) == len(AGENTS)
    monkeypatch.setattr("segue.services.runs.sync.sync", _refused)
    assert cli("list", "--json").value == [card]


def _refused(*_: object, **__: object) -> None:
    raise AssertionError("nothing is new")


def test_the_tools_and_the_server_say_the_same(cli: Cli, chain: Chain, tmp_path: Path) -> None:
    first_turn(chain, "opencode")
    served = Calls(chain.project, chain.env)
    assert json.loads(served.call("plan", {}).text)["status"] == "paused"
    with SegueServer(tmp_path / "server") as server:
        ask = server.ask
        begun = {"id": "web", "goal": TASK}
        assert ask("POST", "/v1/sessions", begun)[0] == 201
        path = "/home/ana/x.jsonl"
        run = {
            "id": "r-1",
            "agent": "codex",
            "path": path,
            "session": "web",
            "ended": "crashed",
            "goal": TASK,
            "last": time.strftime("%Y-%m-%dT%H:%M:%S.000000Z", time.gmtime()),
        }
        key = key_of("codex", "r-1", path)
        last = time.strftime("%Y-%m-%dT%H:%M:%S.000000Z", time.gmtime(time.time() - 5))
        found = {**run, "left": "middle", "last": last, "ended": "recent"}
        for sent, status in ((run, "paused"), (found, "active")):
            assert ask("PUT", f"/v1/runs/{key}", sent)[0] == 200
            [card] = ask("GET", "/v1/sessions")[1]["sessions"]
            assert card["status"] == status and card["runs"][0]["id"] == "r-1"
            assert ask("GET", "/v1/sessions/web")[1]["status"] == status
            listed = ask("GET", "/v1/sessions?status=active")[1]["sessions"]
            assert len(listed) == (status == "active")


def test_a_program_that_works_on_a_session_completes_it_though_its_runs_have_stopped(
    cli: Cli, chain: Chain
) -> None:
    first_turn(chain, "opencode")
    with chain.open() as segue:
        [card] = segue.list()
        session = segue.session(card.id)
        assert session.status().status == "paused"
        session.add("sign")
        assert RecoverableAgent(session, lambda item: item).run().status == "completed"


@pytest.mark.parametrize("agent", ["claude-code", "opencode"])
def test_who_goes_on_by_hand_after_the_last_run_has_an_active_session(
    cli: Cli, chain: Chain, agent: str
) -> None:
    first_turn(chain, agent)
    assert statuses(cli, chain) == {"paused"}
    cli("note", "I look at it myself")
    assert statuses(cli, chain) == {"active"}


@pytest.mark.parametrize("budget", [(), ("--budget", "12000")])
@pytest.mark.parametrize("seconds_ago", [60, 3600])
def test_a_session_that_is_called_paused_is_resumed_and_then_called_active_by_all(
    cli: Cli, chain: Chain, budget: tuple[str, ...], seconds_ago: int
) -> None:
    chain.clock = time.time() - BETWEEN_SECONDS - seconds_ago
    run = first_turn(chain, "claude-code")
    run.call("SessionEnd")
    assert statuses(cli, chain) == {"paused"} and "· paused ·" in cli().out
    assert cli("resume", *budget).out.startswith("resumed: ")
    assert statuses(cli, chain) == {"active"} and "· active ·" in cli().out
    assert cli("resume", *budget).out.startswith("already active: ")


@pytest.mark.parametrize("agent", ["claude-code", "codex", "cline"])
def test_a_brief_that_stands_in_the_transcript_too_is_shown_once(cli: Cli, chain: Chain, agent: str) -> None:
    first_turn(chain, agent)
    run = chain.begin(agent).prompt("go on").edits("b.py")
    assert "given" in cli("show", run.native, "--timeline").out
    [told] = cli("show", run.native, "--told", "--json").value
    assert told["kind"] == "brief" and told["text"].splitlines()[1:-1] == run.brief.splitlines()[1:-1]


@pytest.mark.parametrize("writes", [False, True], ids=["no transcript", "no prompt in it"])
@pytest.mark.parametrize("agent", AGENTS)
def test_a_run_that_died_before_its_agent_wrote_the_prompt_is_shown_like_any_other(
    cli: Cli, chain: Chain, agent: str, writes: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)  # as for the hooks
    run = chain.begin(agent, writes=writes)
    told = {"prompt": TASK, "text": TASK, "userPromptSubmit": {"prompt": TASK}}
    run.call(run.hooks.prompt, **told)
    [card] = cli("list", "--json").value
    assert card["goal"] == TASK and [one["id"] for one in card["runs"]] == [run.native]
    [listed] = cli("runs", "--json").value
    assert (listed["goal"], listed["written"], listed["session"]) == (TASK, writes, card["id"])
    shown = cli("show", f"{agent}/{run.native}").out
    assert TASK in shown and ("never written" in shown) is not writes
    assert writes or TASK in cli("show", f"{agent}/{run.native}", "--timeline").out
    assert TASK in cli("brief").out and TASK in cli("runs").out
    cli("sync")
    assert len(cli("list", "--json").value) == 1 and not (cli("doctor").out.count("cannot be read"))


@pytest.mark.parametrize(
    ("agent", "end"), [("claude-code", "SessionEnd"), ("codex", "SessionEnd"), ("opencode", "exit")]
)
def test_a_run_that_said_that_it_ended_is_over_at_once(cli: Cli, chain: Chain, agent: str, end: str) -> None:
    first_turn(chain, agent)
    chain.clock = time.time() - 5
    run = chain.begin(agent).prompt("go on").edits("c.py").stop()
    run.call(end, reason="prompt_input_exit")
    [card] = cli("list", "--json").value
    assert (card["runs"][0]["ended"], card["status"]) == ("ended", "paused")
    assert ", ended" in cli("list").out.splitlines()[2]
