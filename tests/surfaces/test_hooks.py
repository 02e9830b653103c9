"""Hooks as agents call them: what a run is told, what is kept, what happens when something is broken."""

from __future__ import annotations

import json
import os
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from tests.support.hooks import Agent, own, stop
from tests.support.runs import SECRET, place, work

from segue import HandoverPending
from segue.core.journal.event import read_body
from segue.core.runs.events import RunHooked, StopRefused
from segue.handover.flow import Handover
from segue.services.brief.delivered import delivered_to
from segue.services.hooks import hook_file
from segue.services.runs.observed import runs_of
from segue.services.workspace.data_folder import DataFolder
from segue.testing.transcripts import placed


@pytest.fixture
def agent(home: Path, tmp_path: Path) -> Agent:
    return Agent(home, tmp_path / "shop")


# -- start -----------------------------------------------------------------------------------------


def test_a_run_that_starts_is_told_where_the_last_one_stopped_whichever_agent_that_was(agent: Agent) -> None:
    place(agent.home, agent.project, "codex", native="run-1", ends=False)
    text = agent.start()
    assert text.startswith("[segue] Where the last run stopped (codex") and "[/segue]" in text
    assert "make deploy" in text and len(text.encode()) <= 2048


def test_where_nothing_was_ever_done_nothing_is_said(agent: Agent) -> None:
    assert agent.start() == ""
    assert agent.log() == "" and agent.spooled() == []


def test_what_a_run_was_given_is_kept_with_it_with_its_facts(agent: Agent) -> None:
    place(agent.home, agent.project, "codex", native="run-1", ends=False)
    text = agent.start()
    with agent.open() as segue:
        [kept] = delivered_to(segue.workspace, "claude-code", "now-1")
    assert (kept.kind, kept.source, kept.text) == ("brief", "startup", text)
    assert kept.bytes == len(text.encode())
    kinds = {fact.kind: fact for fact in kept.facts}
    assert {"user", "trail", "open", "frame"} <= set(kinds)
    assert kinds["user"].source == "run" and kinds["frame"].source == "brief"
    assert sum(fact.bytes for fact in kept.facts) == kept.bytes + 1


def test_the_same_text_is_not_given_to_a_run_twice(agent: Agent) -> None:
    place(agent.home, agent.project, "codex", native="run-1", ends=False)
    assert agent.start()
    assert agent.start(unrelated=1) == ""
    assert agent.start(native="now-2") != "", "another run has not heard it"


def test_a_secret_in_a_transcript_reaches_no_agent_and_no_store(agent: Agent) -> None:
    place(agent.home, agent.project, "codex", native="run-1", ends=False, secret=SECRET)
    assert agent.start() and SECRET not in agent.start(native="now-2")
    for path in agent.data.rglob("*"):
        if path.is_file():
            assert SECRET.encode() not in path.read_bytes(), path


def test_after_a_compaction_a_run_is_told_where_it_stands_itself_each_time_anew(agent: Agent) -> None:
    place(agent.home, agent.project, "codex", native="run-1", prompt="Something else entirely was wanted")
    path = own(agent, ends=False, prompt="Build the shop's basket, please")
    first = agent.start("compact", transcript_path=str(path))
    second = agent.start("compact", transcript_path=str(path), again=1)
    assert "basket" in first and "entirely" not in first
    assert second and first != second, "the same text would be dropped by the agent"
    with agent.open() as segue:
        assert [one.source for one in delivered_to(segue.workspace, "claude-code", "now-1")] == [
            "compact",
            "compact",
        ]


def test_a_run_that_is_resumed_after_a_crash_is_told_what_was_cut_off(agent: Agent) -> None:
    path = own(agent, ends=False)
    assert "make deploy" in agent.start("resume", transcript_path=str(path))


def test_a_run_that_is_resumed_in_order_is_told_nothing_it_has_it_before_it(agent: Agent) -> None:
    path = own(agent)
    assert agent.start("resume", transcript_path=str(path)) == ""


def test_a_resumed_run_is_told_what_another_did_meanwhile(agent: Agent) -> None:
    path = own(agent)
    os.utime(path, (time.time() - 9000, time.time() - 9000))
    place(
        agent.home, agent.project, "codex", native="run-2", prompt="Build the shop's basket, please", old=60
    )
    assert "basket" in agent.start("resume", transcript_path=str(path))


def test_after_a_clear_the_next_window_is_told_where_the_last_one_stopped(agent: Agent) -> None:
    own(agent, native="before", ends=False)
    assert "make deploy" in agent.start("clear", native="after")


def test_work_that_is_over_is_not_brought_up_again(agent: Agent) -> None:
    place(agent.home, agent.project, "codex", native="run-1")
    with agent.open() as segue:
        session = segue.start("Make the login use tokens", id="login")
        segue.sync(session="login")
        session.complete("all of it")
    told = agent.start()
    assert 'the session before, "Make the login use tokens", was completed' in told
    assert "make deploy" not in told and "GOAL" not in told and len(told) < 500
    assert agent.start(native="now-2") == told


def test_a_session_that_was_begun_after_the_last_run_is_what_the_next_one_is_told(agent: Agent) -> None:
    place(agent.home, agent.project, "codex", native="run-1", ends=False, old=60)
    with agent.open() as segue:
        segue.start("Make the login use tokens", id="login")
        segue.sync(session="login")
        weeks = segue.start("Durations understand weeks", id="weeks", items=["parse w"])
        weeks.checkpoint(decide=[("a week is 7 days", "")])
    told = agent.start()
    assert "GOAL: Durations understand weeks" in told and "parse w" in told and "a week is 7 days" in told
    assert "make deploy" not in told and "was about other work" in told
    with agent.open() as segue:
        assert delivered_to(segue.workspace, "claude-code", "now-1")[0].session == "weeks"


def test_a_run_of_long_ago_is_not_brought_up_but_a_plan_is(agent: Agent) -> None:
    place(agent.home, agent.project, "codex", native="run-1", old=30 * 86_400)
    assert agent.start() == ""
    with agent.open() as segue:
        segue.start("Make the login use tokens", items=["the model", "the middleware"])
    assert "the model" in agent.start(native="now-2")


def test_under_a_supervisor_the_prompt_holds_the_brief_and_the_hook_does_not_repeat_it(agent: Agent) -> None:
    place(agent.home, agent.project, "codex", native="run-1", ends=False)
    agent.env["SEGUE_SUPERVISED"] = "1"
    assert agent.start() == ""
    path = own(agent, ends=False)
    assert agent.start("compact", transcript_path=str(path))


def test_a_sub_agent_is_told_and_counted_as_nothing(agent: Agent) -> None:
    place(agent.home, agent.project, "codex", native="run-1", ends=False)
    assert agent.start(agent_id="a1") == ""


def test_the_same_event_from_two_installs_acts_once(agent: Agent) -> None:
    place(agent.home, agent.project, "codex", native="run-1", ends=False)
    said: list[str] = []
    threads = [threading.Thread(target=lambda: said.append(agent.start())) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(map(bool, said)) == [False, False, True]
    with agent.open() as segue:
        assert len(delivered_to(segue.workspace, "claude-code", "now-1")) == 1


# -- compaction and pressure -----------------------------------------------------------------------


def test_before_a_compaction_the_run_is_captured_and_the_summary_is_steered(agent: Agent) -> None:
    path = own(agent, ends=False)
    said = agent.call("PreCompact", trigger="auto", transcript_path=str(path))["text"]
    assert said.startswith("When you summarise, keep") and "[segue]" not in said
    with agent.open() as segue:
        [run] = segue.runs()
        assert run.session, "it was taken in"
    latest = next((agent.data / "manifests").rglob("latest.json"))
    assert "before exit" in latest.read_text()


def test_the_facts_stand_once_in_the_window_after_a_compaction(agent: Agent) -> None:
    path = own(agent, ends=False)
    before = agent.call("PreCompact", trigger="manual", transcript_path=str(path))["text"]
    after = agent.start("compact", transcript_path=str(path))
    shown_again = f"{before}\n{after}"  # Claude Code shows both to the model
    assert shown_again.count("[segue]") == 1 and shown_again.count("make deploy") == after.count(
        "make deploy"
    )


def test_opencode_puts_the_facts_into_the_instructions_of_a_compaction(home: Path, project: Path) -> None:
    opencode = Agent(home, project, "opencode")
    place(home, project, "opencode", native="ses_1", ends=False, old=20)
    said = opencode.call("compact", "ses_1")["context"]
    assert said.startswith("When you summarise, keep the words below") and "Make the login use tokens" in said
    with opencode.open() as segue:
        assert [one.kind for one in delivered_to(segue.workspace, "opencode", "ses_1")] == ["steer"]


@pytest.mark.parametrize("ends", [False, True])
@pytest.mark.parametrize("name", ["claude-code", "opencode"])
def test_after_a_compaction_a_run_is_told_of_itself_as_of_one_that_goes_on(
    name: str, ends: bool, home: Path, project: Path
) -> None:
    caller = Agent(home, project, name)
    path = place(home, project, name, native="now-1", ends=ends, old=20)
    if name == "opencode":
        said = caller.call("start", source="compact")["context"]
    else:
        said = caller.start("compact", transcript_path=str(path))
    assert (
        said.startswith("[segue] What the summary of this run lacks") and "Make the login use tokens" in said
    )
    assert "(after compaction 1 of this run)" in said and "last run" not in said


def test_when_the_window_is_nearly_full_the_recovery_is_prepared_and_the_run_is_told_once(
    agent: Agent,
) -> None:
    agent.env["SEGUE_WINDOWS"] = "60000"
    path = own(agent, ends=False)
    said = agent.call("UserPromptSubmit", prompt="go on", transcript_path=str(path))
    assert "CRITICAL" in said["hookSpecificOutput"]["additionalContext"]
    assert '"window"' in next((agent.data / "manifests").rglob("latest.json")).read_text()
    assert agent.call("UserPromptSubmit", prompt="more", transcript_path=str(path)) == {}
    word = (agent.data / "hook" / "looks" / "now-1").read_text().split("\n")[0]
    assert int(word) > path.stat().st_size, "the recording hook knows when to look again"


def test_a_status_line_has_the_size_of_the_window_learnt_and_the_recovery_prepared(agent: Agent) -> None:
    path = own(agent, ends=False)
    about = {"context_window_size": 1_000_000, "current_usage": {"input_tokens": 850_000}}
    agent.call("StatusLine", transcript_path=str(path), context_window=about, model={"id": "claude-x"})
    assert '"window"' in next((agent.data / "manifests").rglob("latest.json")).read_text()
    assert json.loads((agent.data / "windows.json").read_text()) == {"claude-x": 1_000_000}


# -- stop ------------------------------------------------------------------------------------------


@pytest.fixture
def featured(agent: Agent) -> Agent:
    (agent.project / "check.py").write_text("raise SystemExit(1)\n")
    with agent.open() as segue:
        session = segue.start("Make the login use tokens", id="login")
        session.features.add("tokens", "logins use tokens", checks=["python3 check.py"], covers=["check.py"])
    return agent


def test_a_false_done_is_refused_and_names_what_is_unproven(featured: Agent) -> None:
    reason = stop(featured, "Everything is implemented. Done.")
    assert "tokens" in reason and len(reason.encode()) <= 1024
    assert "segue verify" in reason, "it says what to do"
    with featured.open() as segue:
        bodies = [read_body(event) for event in segue.workspace.store.read("run/claude-code/now-1")]
    assert [body.session for body in bodies if isinstance(body, StopRefused)] == ["login"]


def test_a_stop_is_refused_only_so_many_times_and_again_after_the_user_spoke(featured: Agent) -> None:
    refused = [bool(stop(featured, "All done.", number=n)) for n in range(5)]
    assert refused == [True, True, False, False, False]
    featured.call("UserPromptSubmit", prompt="really?")
    assert stop(featured, "All done.", number=9)


def test_a_refusal_that_comes_back_as_a_prompt_does_not_begin_the_count_anew(featured: Agent) -> None:
    refused = []
    for number in range(4):
        reason = stop(featured, "All done.", number=number)
        refused.append(bool(reason))
        featured.call("UserPromptSubmit", prompt=reason or "x", number=number) if reason else None
    assert refused == [True, True, False, False]


def test_a_run_that_claims_nothing_may_stop(featured: Agent) -> None:
    assert stop(featured, "Which of the two do you prefer?") == ""
    assert stop(featured, "I still need to write the tests.") == ""


def test_under_a_supervisor_which_runs_the_checks_itself_no_stop_is_refused(featured: Agent) -> None:
    featured.env["SEGUE_SUPERVISED"] = "1"
    assert stop(featured, "Everything is implemented. Done.") == ""


def test_an_agent_with_its_own_screen_does_not_end_when_it_stops_so_a_false_done_is_refused(
    featured: Agent,
) -> None:
    featured.env["SEGUE_SUPERVISED"] = "screen"
    assert "tokens" in stop(featured, "Everything is implemented. Done.")
    assert featured.start() == "", "the prompt holds the brief"


def test_a_true_done_passes(featured: Agent) -> None:
    (featured.project / "check.py").write_text("raise SystemExit(0)\n")
    with featured.open() as segue:
        assert segue.session("login").features.verify().ok
    assert stop(featured, "Everything is implemented. Done.") == ""


def test_a_gate_never_runs_a_check(featured: Agent) -> None:
    (featured.project / "check.py").write_text("open('ran', 'w').close()\n")
    assert stop(featured, "All done.")
    assert not (featured.project / "ran").exists()


def test_a_gate_of_zero_refuses_nothing(featured: Agent) -> None:
    featured.env["SEGUE_GATE_STOPS_MAX"] = "0"
    assert stop(featured, "All done.") == ""


def test_a_stop_is_a_checkpoint(agent: Agent) -> None:
    assert stop(agent, "Here is what I found.") == ""
    with agent.open() as segue:
        [row] = runs_of(segue.workspace).runs.rows()
        whole = runs_of(segue.workspace).runs.get(row.key)
        assert whole is not None and whole.reading, "the digest is kept for the next start"
    assert list((agent.data / "manifests").rglob("latest.json"))


# -- end, failure ----------------------------------------------------------------------------------


def test_an_end_is_kept_and_the_recovery_prepared(agent: Agent) -> None:
    path = own(agent)
    assert agent.call("SessionEnd", reason="other", transcript_path=str(path)) == {}
    with agent.open() as segue:
        [body] = map(read_body, segue.workspace.store.read("run/claude-code/now-1"))
    assert isinstance(body, RunHooked) and (body.kind, body.source) == ("end", "other")
    assert "before exit" in next((agent.data / "manifests").rglob("latest.json")).read_text()


# -- other agents ----------------------------------------------------------------------------------

STARTUP = {"session_id": "n", "source": "startup"}
ASKED = {"session_id": "n", "prompt": "go on"}


@pytest.mark.parametrize(
    ("name", "event", "told", "where"),
    [
        ("claude-code", "UserPromptSubmit", ASKED, ("hookSpecificOutput", "additionalContext")),
        ("codex", "UserPromptSubmit", ASKED, ("hookSpecificOutput", "additionalContext")),
        ("gemini-cli", "BeforeAgent", ASKED, ("hookSpecificOutput", "additionalContext")),
        ("opencode", "start", STARTUP, ("context",)),
        ("cline", "UserPromptSubmit", {"taskId": "n"}, ("contextModification",)),
    ],
)  # fmt: skip
def test_each_agent_is_told_in_its_own_form(
    home: Path, tmp_path: Path, name: str, event: str, told: dict[str, Any], where: tuple[str, ...]
) -> None:
    agent = Agent(home, tmp_path / "shop", name)
    place(home, agent.project, "codex", native="run-1", ends=False)
    payload = {**told, "cwd": str(agent.project), "workspaceRoots": [str(agent.project)]}
    said: Any = json.loads(agent.raw(event, json.dumps(payload).encode()))
    for key in where:
        said = said[key]
    assert "make deploy" in said


def test_a_call_that_gemini_wrote_nowhere_is_known_from_the_hook_before_it(
    home: Path, tmp_path: Path
) -> None:
    agent = Agent(home, tmp_path / "shop", "gemini-cli")
    DataFolder(agent.data).make()
    hook_file.put(DataFolder(agent.data))
    steps = work(at=time.time() - 30, native="gone-1", cwd=str(agent.project), ends=False)[:-1]
    placed("gemini-cli", steps, home=home, native="gone-1", cwd=str(agent.project))
    from segue.effects.files.spool import Spool, SpoolRecord

    def tool(event: str, command: str) -> None:
        told = {"session_id": "gone-1", "cwd": str(agent.project), "tool_name": "run_shell_command"}
        payload = json.dumps({**told, "tool_input": {"command": command}}).encode()
        Spool(agent.data / "spool").append(SpoolRecord("gemini-cli", event, payload))

    tool("BeforeTool", "make lint")
    tool("AfterTool", "make lint")
    tool("BeforeTool", "make release")
    told = {"session_id": "next-1", "cwd": str(agent.project), "prompt": "go on"}
    said = json.loads(agent.raw("BeforeAgent", json.dumps(told).encode()))
    text = said["hookSpecificOutput"]["additionalContext"]
    assert "make release" in text and "NO RESULT YET" in text and "make lint" not in text


# -- an interrupted handover -----------------------------------------------------------------------


@pytest.mark.parametrize("name", ["claude-code", "opencode"])
@pytest.mark.parametrize("before", ["nothing", "a run", "a session", "a session that is over"])
@pytest.mark.parametrize("source", ["startup", "resume"])
def test_a_run_that_starts_is_told_of_an_interrupted_handover(
    home: Path, project: Path, name: str, before: str, source: str
) -> None:
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    agent = Agent(home, project, name)
    if before == "a run":
        place(home, project, "codex", native="run-1", ends=True)
    with agent.open() as segue:
        if "session" in before:
            session = segue.start("Make the login use tokens", id="login", items=["the model"])
            if "over" in before:
                session.done("the model")
                session.complete()
        merging = project / ".git" / "MERGE_HEAD"
        merging.write_text("0" * 40)
        with pytest.raises(HandoverPending):
            Handover(segue).run(note="n")
    told = told_at_start(agent, source, "now-1")
    assert "a handover was interrupted before git" in told and "`segue handover run`" in told
    merging.unlink()
    with agent.open() as segue:
        Handover(segue).run()
    assert "interrupted" not in told_at_start(agent, source, "now-2")


def told_at_start(agent: Agent, source: str, native: str) -> str:
    if agent.agent == "opencode":
        return str(agent.call("start", native, source=source).get("context", ""))
    return agent.start(source, native)
