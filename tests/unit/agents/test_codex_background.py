"""Codex: what goes on in the background, what was thought, what the user refused or typed during a turn."""

from __future__ import annotations

import json

import pytest
from tests.unit.agents.codex_records import (
    AT,
    CODEX,
    PATCH,
    assistant,
    done,
    event,
    function,
    item,
    output,
    script,
    steps,
    user,
)

from segue.core.runs.digest import fold
from segue.core.runs.steps import Call, Interrupt, Prompt, Report, Result, Say, Settled, Step, Thought

BEGUN = [function("exec_command", {"cmd": "make"}), output("Process running with session ID 7\nOutput:\n…")]
POLL = function("write_stdin", {"session_id": 7, "chars": ""}, "c2")


# Processes


def test_a_command_that_runs_on_is_answered_and_known_by_its_number():
    found = steps(*BEGUN)
    assert found[1] == Result(AT, "c1", text="…", process="7")
    assert not fold(found).pending


def test_a_script_whose_command_runs_on_names_its_process():
    said = '{"chunk_id":"8e","wall_time_seconds":1.0,"session_id":24609,"output":"Compiling"}'
    begun = script('text(JSON.stringify(await tools.exec_command({"cmd": "cargo test"})))')
    ended = item("custom_tool_call_output", call_id="c1", output=said)
    assert steps(begun, ended)[1] == Result(AT, "c1", text="Compiling", process="24609")


def test_a_poll_names_its_process_carries_its_command_and_tells_its_exit_once():
    ended = done("CommandExecution", id="c1", process_id="7", command=["sh", "-c", "make"], exit_code=2)
    found = steps(*BEGUN, POLL, output("Process exited with code 2\nOutput:\nboom", "c2"), ended)
    assert found[2:] == [
        Call(AT, "c2", "write_stdin", "run", "", "make", process="7"),
        Result(AT, "c2", False, 2, "boom"),
        Settled(AT, "7", False, "boom"),
    ]


def test_a_poll_of_what_still_runs_ends_nothing():
    found = steps(*BEGUN, POLL, output("Process running with session ID 7\nOutput:\nhalf", "c2"))
    assert found[3:] == [Result(AT, "c2", text="half")]


def test_a_command_that_ends_unasked_has_ended_by_its_record():
    ended = done(
        "CommandExecution",
        id="c1",
        process_id="7",
        command=["sh", "-c", "make"],
        aggregated_output="x",
        exit_code=1,
    )
    found = steps(*BEGUN, ended, POLL, output("Process exited with code 1\nOutput:\n", "c2"))
    assert found[2] == Settled(AT, "7", False, "x")
    assert [step for step in found if isinstance(step, Result)] == [
        Result(AT, "c1", text="…", process="7"),
        Result(AT, "c2"),
    ]


def test_a_process_that_is_unknown_to_codex_has_ended():
    gone = output("write_stdin failed: Unknown process id 7", "c2")
    assert steps(*BEGUN, POLL, gone)[3:] == [
        Result(AT, "c2", False, None, "write_stdin failed: Unknown process id 7"),
        Settled(AT, "7", None, "write_stdin failed: Unknown process id 7"),
    ]


def test_what_git_says_while_its_command_runs_on_is_known_though_nothing_tells_the_end():
    def poll(id: str, said: str) -> list[bytes]:
        asked = function("write_stdin", {"session_id": 7, "chars": ""}, id)
        return [asked, output(f"Process running with session ID 7\nOutput:\n{said}", id)]

    changed = [item("custom_tool_call", name="apply_patch", input=PATCH, call_id="p1")]
    changed.append(item("custom_tool_call_output", call_id="p1", output="Success. Updated the files"))
    line = 'git add -A && git commit -m "Keep cents" && git push'
    begun = [function("exec_command", {"cmd": line})]
    begun.append(output("Process running with session ID 7\nOutput:\nhooks"))
    made = poll("c2", "[main 1a2b3c4] Keep cents\n 1 file changed")
    pushed = poll("c3", "To github.com:ann/shop.git\n   0a1b2c3..1a2b3c4  main -> main")
    before = fold(steps(*changed, *begun, *made)).tree
    assert before.changed and not before.commits  # the push may yet say more
    after = fold(steps(*changed, *begun, *made, *pushed)).tree
    assert [one.hash for one in after.commits] == ["1a2b3c4"] and after.pushed and not after.changed
    ended = output("Process exited with code 0\nOutput:\nbye", "c4")
    over = fold(
        steps(
            *changed,
            *begun,
            *made,
            *pushed,
            function("write_stdin", {"session_id": 7, "chars": ""}, "c4"),
            ended,
        )
    ).tree
    assert over.commit_count == 1


# Sub-agents

SPAWNED = [
    function("spawn_agent", {"message": "count"}),
    output(json.dumps({"agent_id": "a-1", "nickname": "Kepler"})),
]


def test_an_agent_that_was_spawned_goes_on_under_its_id():
    result = steps(*SPAWNED)[1]
    assert isinstance(result, Result) and result.process == "a-1"
    failed = steps(SPAWNED[0], output("collab spawn failed: too many agents"))[1]
    assert isinstance(failed, Result) and (failed.ok, failed.process) == (False, "")


@pytest.mark.parametrize(
    ("status", "ok", "report"),
    [
        ({"completed": "Three."}, True, "Three."),
        ({"completed": None}, True, ""),
        ({"errored": "no tokens"}, False, "no tokens"),
        ("shutdown", None, ""),
        ("not_found", None, ""),
    ],
)
def test_an_agent_that_was_waited_for_has_ended_once(status, ok, report):
    waited = [
        record
        for id in ("c2", "c3")
        for record in (
            function("wait_agent", {"ids": ["a-1"]}, id),
            output(json.dumps({"status": {"a-1": status}, "timed_out": False}), id),
        )
    ]
    found = steps(*SPAWNED, *waited)
    asked = [step.process for step in found if isinstance(step, Call)]
    assert asked == ["", "a-1", "a-1"]
    told = [step for step in found if isinstance(step, Report | Settled)]
    assert told == [
        *([Report(AT, report, "Kepler", "c1")] if report else []),
        Settled(AT, "a-1", ok, report),
    ]


@pytest.mark.parametrize("status", ["running", "pending_init", {}, None])
def test_an_agent_that_works_has_not_ended(status):
    waited = [
        function("wait_agent", {"ids": ["a-1"]}, "c2"),
        output(json.dumps({"status": {"a-1": status}}), "c2"),
    ]
    assert not [step for step in steps(*SPAWNED, *waited) if isinstance(step, Report | Settled)]


def test_an_agent_that_was_closed_has_ended_and_one_that_was_resumed_goes_on():
    closed = [function("close_agent", {"id": "a-1"}, "c2"), output('{"status":"running"}', "c2")]
    assert steps(*SPAWNED, *closed)[-1] == Settled(AT, "a-1")
    resumed = [function("resume_agent", {"id": "a-1"}, "c3"), output('{"status":"running"}', "c3")]
    result = steps(*SPAWNED, *closed, *resumed)[-1]
    assert isinstance(result, Result) and result.process == "a-1"


# Thoughts


def reasoning(*texts: str) -> bytes:
    summary = [{"type": "summary_text", "text": text} for text in texts]
    return item("reasoning", summary=summary, content=None, encrypted_content="gAAAA")


@pytest.mark.parametrize(
    "records",
    [
        [event("agent_reasoning", text="**Look first**"), event("agent_reasoning", text="**Then cut**"),
         reasoning("**Look first**", "**Then cut**")],
        [reasoning("**Look first**", "**Then cut**")],
        [reasoning("**Look first**", "**Then cut**"), event("agent_reasoning", text="**Look first**"),
         event("agent_reasoning", text="**Then cut**")],
        [done("Reasoning", id="r", summary_text=["**Look first**", "**Then cut**"], raw_content=[]),
         reasoning("**Look first**", "**Then cut**")],
        [item("reasoning", summary=[], content=[{"type": "reasoning_text", "text": "**Look first**"},
                                                {"type": "reasoning_text", "text": "**Then cut**"}])],
    ],
)  # fmt: skip
def test_a_thought_is_told_once_and_never_said(records):
    assert steps(*records, assistant("Done.")) == [
        Thought(AT, "**Look first**"),
        Thought(AT, "**Then cut**"),
        Say(AT, "Done."),
    ]


def test_a_thought_that_is_encrypted_is_none():
    assert steps(reasoning(), item("reasoning", summary=7), event("agent_reasoning", text=None)) == []


# The user


@pytest.mark.parametrize(
    ("begun", "ended"),
    [
        (function("exec_command", {"cmd": "make"}), output("exec command rejected by user")),
        (function("shell", {"command": ["ls"]}), output("rejected by user")),
        (
            item("custom_tool_call", name="apply_patch", input=PATCH, call_id="c1"),
            output("patch rejected by user"),
        ),
        (
            function("exec_command", {"cmd": "make"}),
            done("CommandExecution", id="c1", command=["sh", "-c", "make"], status="declined"),
        ),
    ],
)
def test_a_call_that_the_user_rejected_did_not_fail(begun, ended):
    assert steps(begun, ended)[1:] == [Interrupt(AT, "", "c1"), Result(AT, "c1")]


@pytest.mark.parametrize(
    "said",
    [
        "Process exited with code 1\nOutput:\nrejected by user",
        [{"text": "Script completed\nOutput:\n"}, {"text": "rejected by user: no funds"}],
        "patch rejected: writing outside of the project; rejected by user approval settings",
    ],
)
def test_the_same_words_of_a_program_are_no_refusal(said):
    assert not [step for step in steps(BEGUN[0], output(said)) if isinstance(step, Interrupt)]


STARTED = event("task_started", turn_id="t1")
COMPLETE = event("task_complete", turn_id="t1")
MORE = event("user_message", message="and the tax")


def how(*records: bytes) -> list[str]:
    reader, found = CODEX.reader(), list[Step]()
    for record in records:  # with a reader of its own for each record, as after a crash
        found += reader.read(record)
        reader = CODEX.reader(json.loads(json.dumps(reader.keep())))
    return [step.how for step in found if isinstance(step, Prompt)]


@pytest.mark.parametrize(
    ("records", "typed"),
    [
        ([STARTED, user("Build it"), BEGUN[0], MORE], ["", "queued"]),
        ([STARTED, user("Build it"), MORE], ["", ""]),
        ([STARTED, user("Build it"), BEGUN[0], COMPLETE, MORE], ["", ""]),
        ([STARTED, user("Build it"), BEGUN[0], event("turn_aborted", reason="interrupted"), MORE], ["", ""]),
        ([STARTED, user("Build it"), BEGUN[0], event("error", message="no tokens"), MORE], ["", ""]),
        ([STARTED, user("Build it"), BEGUN[0], STARTED, MORE], ["", ""]),
        ([user("Build it"), BEGUN[0], MORE], ["", ""]),
    ],
)
def test_a_prompt_during_a_turn_was_typed_while_the_agent_worked(records, typed):
    assert how(*records) == typed


def test_a_search_for_tools_has_ended_when_they_are_listed():
    asked = item("tool_search_call", call_id="c1", arguments={"query": "browser"})
    found = steps(asked, item("tool_search_output", call_id="c1", tools=[{"name": "browser"}]))
    assert [type(step) for step in found] == [Call, Result]


def test_a_command_that_is_repeated_before_the_headers_is_no_output():
    said = "Command: sh -lc 'make\nall'\nChunk ID: 08\nWall time: 0.1 seconds\nProcess exited with code 2\n"
    [_, result] = steps(function("exec_command", {"cmd": "make\nall"}), output(f"{said}Output:\nboom"))
    assert result == Result(AT, "c1", False, 2, "boom")
