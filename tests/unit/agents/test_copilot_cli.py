"""Copilot CLI's events become steps, whatever state they are in."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from segue.agents.base import SearchScope
from segue.agents.copilot_cli import AGENT
from segue.agents.copilot_cli.calls import todos
from segue.core.runs.steps import (
    Call,
    Change,
    Compact,
    End,
    Fault,
    Interrupt,
    Model,
    Plan,
    PlanItem,
    Prompt,
    Recap,
    Report,
    Result,
    Say,
    Settled,
    Start,
    Step,
    Thought,
    Title,
    Usage,
)
from segue.testing.transcripts import placed, written

T = 1_767_225_600.0
STAMP = "2026-01-01T00:00:00.000Z"


def line(type: str, data: Any = None, **more: Any) -> bytes:
    event = {"type": type, "data": {} if data is None else data, "id": "e1", "timestamp": STAMP}
    return json.dumps({**event, "parentId": None, **more}).encode()


def read(*lines: bytes) -> list[Step]:
    reader = AGENT.reader()
    return [step for one in lines for step in reader.read(one)]


def asked(tool: str, arguments: Any, id: str = "c1") -> bytes:
    request = {"toolCallId": id, "name": tool, "arguments": arguments}
    return line("assistant.message", {"messageId": "m", "content": "", "toolRequests": [request]})


STORY: list[Step] = [
    Start(T, "start", "run-1", "/src/shop", "main", "abc123", "1.0.34"),
    Model(T + 1, "model-1"),
    Prompt(T + 2, "Add a basket.\nAnd test it."),
    Say(T + 3, "I begin with the model."),
    Call(T + 4, "c1", "bash", "run", "make test\nRun the tests", "make test", (), "Run the tests"),
    Result(T + 5, "c1", False, 2, "1 failed"),
    Thought(T + 6, "A list will do."),
    Call(
        T + 6,
        "c2",
        "edit",
        "edit",
        "basket.py\nx = 0\nx = 1",
        "",
        ("basket.py",),
        changes=(Change("basket.py", "edit", "x = 0", "x = 1"),),
    ),
    Result(T + 7, "c2", True, None, "saved"),
    Call(T + 7, "c3", "bash", "run", "npm run dev\nServe", "npm run dev", (), "Serve"),
    Result(T + 7, "c3", None, None, "listening", process="web"),
    Prompt(T + 7, "On port 8080, please.", "queued"),
    Call(T + 7, "c4", "read_bash", "other", "web", process="web"),
    Result(T + 7, "c4", True, None, "GET /"),
    Settled(T + 7, "web", False, 'Shell command "Serve" has failed.'),
    Call(T + 7, "c5", "bash", "run", "git push\nPush", "git push", (), "Push"),
    Interrupt(T + 7, "not yet", "c5"),
    Prompt(T + 7, "not yet", "refusal"),
    Result(T + 7, "c5"),
    Prompt(T + 7, "/review basket.py", "command"),
    Usage(T + 8, "u1", 1200, 30, input=100, cache_read=900, cache_write=200),
    Title(T + 9, "The basket"),
    Compact(T + 10, "What was done.", "manual", 9000),
    Fault(T + 11, "overloaded", 529),
    Start(T + 12, "resume", "run-1", "/src/shop"),
    Prompt(T + 13, "Go on."),
    Recap(T + 14, "The basket is there."),
    Interrupt(T + 15, "user_initiated"),
    End(T + 16, "exit"),
]


def test_what_is_written_is_read_again():
    assert read(*written("copilot-cli", STORY).splitlines()) == STORY


def test_a_plan_comes_back_whole_and_in_changes():
    plan = Plan(T, (PlanItem("Model", "done"), PlanItem("View", "active"), PlanItem("Ship")))
    change = Plan(T + 1, (PlanItem("It's late", "pending", "k1"), PlanItem("", "done", "k2")), False)
    read_again = read(*written("copilot-cli", [plan, change]).splitlines())
    assert [step for step in read_again if isinstance(step, Plan)] == [plan, change]


@pytest.mark.parametrize(
    ("query", "items"),
    [
        ("SELECT * FROM todos", []),
        (
            "INSERT INTO todos VALUES ('a', 'First (one)', 'd', 'done')",
            [PlanItem("First (one)", "done", "a")],
        ),
        (
            "INSERT INTO todos (title, id) VALUES ('It''s', 'a'), ('Two; three', 'b'); SELECT 1",
            [PlanItem("It's", "pending", "a"), PlanItem("Two; three", "pending", "b")],
        ),
        ("update todos set status='in_progress' where id='a'", [PlanItem("", "active", "a")]),
        (
            "UPDATE todos SET status = 'done' WHERE id IN ('a', 'b')",
            [PlanItem("", "done", "a"), PlanItem("", "done", "b")],
        ),
        ("UPDATE todos SET title = 'New' WHERE id = 'a'", [PlanItem("New", "", "a")]),
        ("DELETE FROM todos WHERE id = 'a'", [PlanItem("", "dropped", "a")]),
        ("INSERT INTO todos VALUES ('torn", []),
        ("DROP TABLE todos", []),
    ],
)
def test_the_rows_of_the_todo_table_are_read_from_statements(query, items):
    assert list(todos(query)) == items


@pytest.mark.parametrize(
    ("tool", "arguments", "act", "command", "paths"),
    [
        ("bash", {"command": "ls", "description": "Look"}, "run", "ls", ()),
        ("write_bash", {"input": "y"}, "run", "y", ()),
        ("view", {"path": "a.py"}, "read", "", ("a.py",)),
        ("create", {"path": "a.py", "file_text": "x"}, "create", "", ("a.py",)),
        ("edit", {"path": "a.py", "old_str": "x", "new_str": "y"}, "edit", "", ("a.py",)),
        ("str_replace_editor", {"command": "view", "path": "a.py"}, "read", "", ("a.py",)),
        ("apply_patch", "*** Begin Patch\n*** Add File: b.py\n+x", "create", "", ("b.py",)),
        ("grep", {"pattern": "x", "path": "src"}, "search", "", ()),
        ("ask_user", {"question": "Which?"}, "ask", "", ()),
        ("sql", {"query": "SELECT 1 FROM todos"}, "plan", "", ()),
        ("made-up", {"a": {"b": ["c"]}}, "other", "", ()),
        ("bash", None, "run", "", ()),
        ("bash", ["ls"], "run", "", ()),
        ("bash", {"command": 7}, "run", "", ()),
    ],
)
def test_a_tool_is_told_by_what_it_does(tool, arguments, act, command, paths):
    (call,) = read(asked(tool, arguments))
    assert isinstance(call, Call)
    assert (call.act, call.command, call.paths) == (act, command, paths)


def test_a_call_is_told_once_though_the_file_says_it_twice():
    started = line(
        "tool.execution_start", {"toolCallId": "c1", "toolName": "view", "arguments": {"path": "a"}}
    )
    assert len(read(asked("view", {"path": "a"}), started)) == 1
    assert [type(step) for step in read(started)] == [Call]


@pytest.mark.parametrize(
    "data",
    [
        {"content": "<hook_context source='x'>brief</hook_context>"},
        {"content": "<hook_context>[segue but not] a brief</hook_context>"},
        {"content": "", "transformedContent": "You have not yet marked the task as complete"},
        {"content": "Continue.", "isAutopilotContinuation": True},
        {"content": "do the skill", "source": "skill-pdf"},
        {"content": "sub task", "source": "agent-3"},
        {"content": "<skill-context name='x'>body"},
        {"content": "<system_notification>\nShell command has completed.\n</system_notification>"},
    ],
)
def test_only_what_the_user_typed_is_a_prompt(data):
    assert read(line("user.message", data)) == []


def test_what_the_user_typed_is_a_prompt_whichever_task_it_is_booked_to():
    data = {"content": "Fix it.", "interactionId": "i1", "parentAgentTaskId": "t1"}
    assert read(line("user.message", data)) == [Prompt(T, "Fix it.")]


@pytest.mark.parametrize(("more", "said"), [("", ""), (" User feedback: not there", "not there")])
def test_a_call_that_the_user_rejected_is_refused_and_did_not_fail(more, said):
    error = {"message": f"The user rejected this tool call.{more}", "code": "rejected"}
    data = {"toolCallId": "c1", "success": False, "error": error}
    words = [Prompt(T, said, "refusal")] if said else []
    assert read(line("tool.execution_complete", data)) == [Interrupt(T, said, "c1"), *words, Result(T, "c1")]


@pytest.mark.parametrize(
    ("more", "how"),
    [
        ({}, ""),
        ({"delivery": "idle"}, ""),
        ({"delivery": "steering"}, "queued"),
        ({"delivery": "queued"}, "queued"),
    ],
)
def test_what_was_typed_while_the_agent_was_at_work_was_queued(more, how):
    assert read(line("user.message", {"content": "Also test it.", **more})) == [
        Prompt(T, "Also test it.", how)
    ]


def test_thinking_is_told_before_what_was_said_and_a_sub_agents_not_at_all():
    message = {
        "messageId": "m",
        "content": "I look.",
        "reasoningText": "Where is it?",
        "reasoningOpaque": "x",
    }
    assert read(line("assistant.message", message)) == [Thought(T, "Where is it?"), Say(T, "I look.")]
    assert read(line("assistant.message", message, agentId="a1")) == []
    assert read(line("assistant.message", {**message, "reasoningText": " "})) == [Say(T, "I look.")]


@pytest.mark.parametrize(
    ("tool", "arguments", "changes"),
    [
        ("create", {"path": "a.py", "file_text": "x"}, [Change("a.py", "create", "", "x")]),
        ("edit", {"path": "a.py", "old_str": "x", "new_str": "y"}, [Change("a.py", "edit", "x", "y")]),
        (
            "str_replace_editor",
            {"command": "str_replace", "path": "a.py", "old_str": "x", "new_str": "y"},
            [Change("a.py", "edit", "x", "y")],
        ),
        ("insert", {"path": "a.py", "insert_line": 3, "insert_text": "z"}, [Change("a.py", "edit", "", "z")]),
        ("delete", {"path": "a.py"}, [Change("a.py", "delete")]),
        ("apply_patch", "*** Add File: b.py\n+x\n*** End Patch", [Change("b.py", "create", "", "x")]),
        ("edit", {"path": "a.py"}, []),
        ("create", {"file_text": "x"}, []),
        ("view", {"path": "a.py", "new_str": "x"}, []),
    ],
)
def test_what_a_call_changes_stands_in_its_arguments(tool, arguments, changes):
    (call,) = read(asked(tool, arguments))
    assert isinstance(call, Call) and list(call.changes) == changes


def done(content, id="c1", **more):
    data = {"toolCallId": id, "success": True, "result": {"content": content}, **more}
    return line("tool.execution_complete", data)


def process_of(step):
    assert isinstance(step, Call | Result)
    return step.process


STILL = "is still running after 30 seconds. Use read_bash to continue waiting, or stop_bash to stop it.>"


@pytest.mark.parametrize(
    "note",
    [
        "<command started in background with shellId: web>",
        f"<command with shellId: web {STILL}",
        f"<command with sessionId: web {STILL}",
    ],
)
def test_a_command_that_goes_on_is_answered_and_known_by_its_shell(note):
    begun = (asked("bash", {"command": "npm run dev"}), done(f"listening\n{note}"))
    assert read(*begun)[1:] == [Result(T, "c1", None, None, "listening", process="web")]
    polled = asked("read_bash", {"shellId": "web", "delay": 5}, "c2")
    call, result = read(*begun, polled, done(f"GET /\n<command with shellId: web {STILL}", "c2"))[2:]
    assert process_of(call) == "web" and result == Result(T, "c2", None, None, "GET /")
    ended = read(*begun, polled, done("boom\n<shellId: web completed with exit code 1>", "c2"))[3:]
    assert ended == [Result(T, "c2", False, 1, "boom"), Settled(T, "web", False, "boom")]
    stopped = asked("stop_bash", {"shellId": "web"}, "c2")
    ended = read(*begun, stopped, done("<command with id: web stopped>", "c2"))[2:]
    assert ended[1:] == [Result(T, "c2", True, None, ""), Settled(T, "web")]


def test_a_command_that_the_harness_waited_for_settles_nothing():
    steps = read(asked("bash", {"command": "ls"}), done("a.py\n<shellId: 4 completed with exit code 0>"))
    assert steps[1:] == [Result(T, "c1", True, 0, "a.py")]


def notified(**kind):
    return line(
        "system.notification",
        {"content": "<system_notification>\nIt ended.\n</system_notification>", "kind": kind},
    )


@pytest.mark.parametrize(("code", "ok"), [(0, True), (2, False), (None, None)])
def test_a_notice_settles_a_command_once(code, ok):
    begun = (asked("bash", {"command": "x"}), done("<command started in background with shellId: web>"))
    notice = notified(type="shell_completed", shellId="web", exitCode=code)
    assert read(*begun, notice, notice)[2:] == [Settled(T, "web", ok, "It ended.")]
    assert read(notice) == [] and read(notified(type="new_inbox_message")) == []


BEGUN_AGENT = (
    asked("task", {"prompt": "Look", "mode": "background"}),
    line("subagent.started", {"toolCallId": "c1", "agentName": "explore"}),
    done("Agent started in background with agent_id: look-1. You can use read_agent with this agent_id."),
)


def test_an_agent_in_the_background_reports_when_it_is_read():
    assert process_of(read(*BEGUN_AGENT)[1]) == "look-1"
    asking = asked("read_agent", {"agent_id": "look-1"}, "c2")
    waiting = done("Agent is still running. agent_id: look-1, agent_type: explore, status: running", "c2")
    over = done("Agent completed. agent_id: look-1, agent_type: explore, status: completed\n\nFound.", "c2")
    steps = read(*BEGUN_AGENT, asking, waiting)[2:]
    assert [type(step) for step in steps] == [Call, Result] and process_of(steps[0]) == "look-1"
    assert read(*BEGUN_AGENT, asking, over)[3:] == [
        Result(T, "c2", True, None, "Found."),
        Report(T, "Found.", "explore"),
        Settled(T, "look-1", True),
    ]
    notice = notified(type="agent_completed", agentId="look-1", status="failed")
    assert read(*BEGUN_AGENT, notice)[2:] == [Settled(T, "look-1", False, "It ended.")]


def test_an_agent_that_is_written_to_goes_on_again():
    idle = notified(type="agent_idle", agentId="look-1")
    wrote = (asked("write_agent", {"agent_id": "look-1", "message": "And there"}, "c2"), done("Sent.", "c2"))
    assert process_of(read(*BEGUN_AGENT, *wrote)[3]) == ""
    assert process_of(read(*BEGUN_AGENT, idle, *wrote)[4]) == "look-1"


def test_what_another_version_kept_of_calls_is_understood():
    reader = AGENT.reader({"called": ["c1"]})
    assert list(reader.read(asked("view", {"path": "a"}))) == []
    assert list(reader.read(done("x"))) == [Result(T, "c1", True, None, "x")]


@pytest.mark.parametrize(
    "data",
    [
        {"success": True, "result": {"content": "The user rejected this tool call. User feedback: lie"}},
        {"success": False, "result": {"content": "The user rejected this tool call. User feedback: lie"}},
        {"success": False, "error": {"message": "The user rejected this tool call.", "code": "failure"}},
    ],
)
def test_an_output_cannot_speak_for_the_user(data):
    steps = read(line("tool.execution_complete", {"toolCallId": "c1", **data}))
    assert [type(step) for step in steps] == [Result]


def test_an_answer_of_the_user_is_without_the_words_around_it():
    data = {"toolCallId": "c1", "success": True, "result": {"content": "User selected: the left one"}}
    assert read(line("tool.execution_complete", data)) == [Result(T, "c1", True, None, "the left one")]


def test_an_answer_that_nobody_gave_is_none():
    away = "The user is not available to respond and will review your work later."
    data = {"toolCallId": "c1", "success": True, "result": {"content": away}}
    assert read(line("tool.execution_complete", data)) == [Result(T, "c1", True, None, "")]


def test_a_prompt_is_without_what_a_hook_put_into_it():
    data = {"content": "Fix it.\n<hook_context>ours</hook_context>", "transformedContent": "<x>Fix it.</x>"}
    assert read(line("user.message", data)) == [Prompt(T, "Fix it.")]


def test_a_sub_agent_works_but_does_not_speak():
    message = {"messageId": "m", "content": "I look.", "toolRequests": [{"toolCallId": "s1", "name": "view"}]}
    steps = read(
        asked("task", {"prompt": "Look", "description": "Look around"}),
        line("subagent.started", {"toolCallId": "c1", "agentName": "explore"}),
        line("user.message", {"content": "Look"}, agentId="a1"),
        line("assistant.message", message, agentId="a1"),
        line(
            "tool.execution_complete", {"toolCallId": "c1", "success": True, "result": {"content": "Found."}}
        ),
    )
    assert [type(step) for step in steps] == [Call, Call, Result, Report]
    assert steps[-1] == Report(T, "Found.", "explore", "c1")


@pytest.mark.parametrize(
    ("content", "ok", "code", "text"),
    [
        ("done\n<exited with exit code 0>", True, 0, "done"),
        ("bad\n<exited with exit code 3>", False, 3, "bad"),
        ("x\n<shellId: 4 completed with exit code 1>", False, 1, "x"),
        ("it says <exited with exit code 1> inside", True, None, "it says <exited with exit code 1> inside"),
    ],
)
def test_the_exit_status_stands_at_the_end(content, ok, code, text):
    data = {"toolCallId": "c1", "success": True, "result": {"content": content}}
    assert read(line("tool.execution_complete", data)) == [Result(T, "c1", ok, code, text)]


def test_a_tool_that_failed_says_why():
    data = {"toolCallId": "c1", "success": False, "error": {"message": "denied", "code": "x"}}
    assert read(line("tool.execution_complete", data)) == [Result(T, "c1", False, None, "denied")]


def test_a_turn_ends_when_the_last_message_asks_for_nothing_more():
    said = line("assistant.message", {"messageId": "m", "content": "Done."})
    end = line("assistant.turn_end", {"turnId": "0"})
    assert read(asked("view", {}), end)[1:] == []
    assert read(said, end, line("session.idle")) == [Say(T, "Done."), End(T)]


def test_a_compaction_that_failed_compacted_nothing():
    assert read(line("session.compaction_complete", {"success": False, "error": "nothing to compact"})) == []


def test_a_plan_file_is_the_plan():
    path = "/home/u/.copilot/session-state/run-1/plan.md"
    call, plan = read(asked("create", {"path": path, "file_text": "# Plan\n- [x] One\n- [ ] Two"}))
    assert isinstance(call, Call)
    assert plan == Plan(T, (PlanItem("One", "done"), PlanItem("Two")))
    assert read(line("session.plan_changed", {"operation": "update"})) == []
    assert read(line("session.plan_changed", {"plan": "- [ ] A"})) == [Plan(T, (PlanItem("A"),))]


# damage


def test_hooks_and_unknown_events_are_counted_and_cost_nothing():
    reader = AGENT.reader()
    hook = b'{"type":"hook.start","data":{"hookType":"preToolUse"},"id":"e"}'
    assert [*reader.read(hook), *reader.read(line("session.made_up")), *reader.read(line("hook.end"))] == []
    assert (reader.skipped, reader.malformed) == (3, 0)


def test_every_prefix_of_a_file_gives_a_prefix_of_its_steps():
    whole = written("copilot-cli", STORY)
    for cut in range(0, len(whole), 7):
        complete = whole[:cut].rpartition(b"\n")[0].splitlines()
        steps = read(*complete)
        assert steps == STORY[: len(steps)]
        read(*whole[:cut].splitlines())  # a torn last line raises nothing


def test_a_reader_goes_on_where_another_stopped():
    lines = written("copilot-cli", STORY).splitlines()
    for stop in range(len(lines)):
        first = AGENT.reader()
        steps = [step for one in lines[:stop] for step in first.read(one)]
        second = AGENT.reader(json.loads(json.dumps(first.keep())))
        steps += [step for one in lines[stop:] for step in second.read(one)]
        assert steps == STORY


@pytest.mark.parametrize("wrong", [None, 7, -1.5, True, "text", [], [1, "x", None], {}, {"x": {"y": [1]}}])
def test_a_wrong_type_anywhere_loses_at_most_its_field(wrong):
    for one in written("copilot-cli", STORY).splitlines():
        event = json.loads(one)
        for name in event:
            read(json.dumps({**event, name: wrong}).encode())
        for name, inner in event["data"].items():
            read(json.dumps({**event, "data": {**event["data"], name: wrong}}).encode())
            if isinstance(inner, dict):
                for deep in inner:
                    data = {**event["data"], name: {**inner, deep: wrong}}
                    read(json.dumps({**event, "data": data}).encode())
    prompt = {
        "content": "Fix it.",
        "attachments": wrong,
        "interactionId": wrong,
        "isAutopilotContinuation": 0,
    }
    assert read(line("user.message", prompt)) == [Prompt(T, "Fix it.")]


@pytest.mark.parametrize(
    ("record", "steps", "malformed"),
    [
        (b"", 0, 0),
        (b"\xef\xbb\xbf" + line("user.message", {"content": "a"}), 1, 0),
        (line("user.message", {"content": "a"}) + line("user.message", {"content": "b"}), 2, 0),
        (b'{"type":"hook.st' + line("user.message", {"content": "b"}), 1, 1),
        (line("user.message", {"content": "a"})[:-9], 0, 1),
        (b'{"type":"user.message","data":{"content":"a\xff\xfeb"},"timestamp":"x"}', 1, 0),
        (b"[1, 2]", 0, 1),
        (b"null", 0, 1),
        (b"\x00\x01\x02", 0, 1),
        (b"[" * 100_000, 0, 1),
        (line("user.message", [1]), 0, 1),
        (line("assistant.message", {"content": "", "image": "A" * 1_000_000}), 0, 0),
        (line("user.message", {"content": "x" * 1_000_000}), 1, 0),
    ],
    ids=range(13),
)
def test_a_damaged_line_costs_itself_only(record, steps, malformed):
    reader = AGENT.reader()
    assert len(list(reader.read(record))) == steps
    assert (reader.malformed > 0) == bool(malformed)


def test_what_is_kept_does_not_grow():
    reader = AGENT.reader()
    for count in range(2_000):
        list(reader.read(asked("view", {"path": "a"}, id=f"c{count}")))
        list(reader.read(line("subagent.started", {"toolCallId": f"c{count}", "agentName": "x"})))
    assert len(json.dumps(reader.keep())) < 10_000


# where it is


def where(home: Path, *roots: str, **more: Any) -> SearchScope:
    return SearchScope(env={}, home=home, roots=tuple(Path(root) for root in roots), **more)


def test_the_conversations_of_a_project_are_found_newest_first(tmp_path):
    for age, (native, cwd) in enumerate(
        [("new", "/src/shop"), ("other", "/src/x"), ("old", "/src/shop/api")]
    ):
        path = placed("copilot-cli", STORY, home=tmp_path, native=native, cwd=cwd)
        os.utime(path, (T - age, T - age))
    found = list(AGENT.find(where(tmp_path, "/src/shop")))
    assert [(one.native, one.cwd) for one in found] == [("new", "/src/shop"), ("old", "/src/shop/api")]
    assert [one.native for one in AGENT.find(where(tmp_path))] == ["new", "other", "old"]


def test_without_a_workspace_file_the_head_says_whose_it_is(tmp_path):
    path = placed("copilot-cli", STORY, home=tmp_path, native="a", cwd="/src/shop")
    path.with_name("workspace.yaml").unlink()
    flat = path.parents[1] / "b.jsonl"
    flat.write_bytes(path.read_bytes())
    assert {one.native for one in AGENT.find(where(tmp_path, "/src/shop"))} == {"a", "b"}


@pytest.mark.parametrize(
    "text", ["cwd: /src/my shop", 'cwd: "/src/my shop"', "id: x\ncwd:   '/src/my shop'  "]
)
def test_a_workspace_file_may_quote(tmp_path, text):
    path = placed("copilot-cli", STORY, home=tmp_path)
    path.with_name("workspace.yaml").write_text(text)
    assert [one.cwd for one in AGENT.find(where(tmp_path, "/src/my shop"))] == ["/src/my shop"]


def test_no_more_files_are_opened_than_allowed_and_known_ones_not_at_all(tmp_path):
    paths = [placed("copilot-cli", STORY, home=tmp_path, native=f"n{count}") for count in range(4)]
    assert len(list(AGENT.find(where(tmp_path, "/src/shop", heads_max=2)))) == 2
    known = {str(path): "/src/shop" for path in paths}
    for path in paths:
        path.with_name("workspace.yaml").unlink()
        path.write_bytes(b"")
    assert len(list(AGENT.find(where(tmp_path, "/src/shop", heads_max=1, known=known)))) == 4


def test_a_lock_tells_whether_the_process_lives(tmp_path):
    path = placed("copilot-cli", STORY, home=tmp_path)
    assert [one.sign for one in AGENT.find(where(tmp_path))] == [""]
    path.with_name("inuse.4711.lock").touch()
    (crashed,) = AGENT.find(where(tmp_path))
    (alive,) = AGENT.find(where(tmp_path, is_alive=lambda pid, started: pid == 4711))
    assert (crashed.sign, alive.sign, alive.pid) == ("crashed", "alive", 4711)


def test_its_transcripts_are_recognised_and_others_not():
    whole = written("copilot-cli", STORY)
    assert AGENT.recognises(whole, "events.jsonl")
    assert AGENT.recognises(b"\n".join(whole.splitlines()[2:]), "x.jsonl")
    for other in (b"", b"{}", b'{"type":"user","parentUuid":null,"sessionId":"x"}', b"[1]", b"\xff\x00"):
        assert not AGENT.recognises(other, "events.jsonl")
