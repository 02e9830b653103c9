"""Gemini CLI: what its documents and its logs of lines say, whole, cut and damaged."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import msgspec
import pytest

from segue.agents import agent, recognise
from segue.agents.base import SearchScope
from segue.core.runs import steps as s
from segue.testing.transcripts import placed, written

GEMINI = agent("gemini-cli")
NOW = 1_790_000_000.0
STAMP = "2026-09-21T14:13:20.000Z"
NATIVE = "0a1b2c3d-0000-4000-8000-000000000001"

STORY: list[s.Step] = [
    s.Start(NOW, "start", NATIVE),
    s.Start(NOW, cwd="/src/shop"),
    s.Prompt(NOW + 1, "Add a cart"),
    s.Model(NOW + 2, "gemini-2.5-pro"),
    s.Thought(NOW + 1, "Looking around\nThe cart may be there already."),
    s.Say(NOW + 2, "I look first."),
    s.Usage(NOW + 2, "", 1200, 30, input=200, cache_read=1000),
    s.Call(NOW + 2, "c1", "run_shell_command", "run", command="pytest -q", note="Run the tests"),
    s.Result(NOW + 3, "c1", False, 1, "1 failed"),
    s.Say(NOW + 4, "Now the file."),
    s.Call(
        NOW + 4,
        "c2",
        "write_file",
        "create",
        paths=("/src/shop/cart.py",),
        changes=(s.Change("/src/shop/cart.py", "create", "", "class Cart: ..."),),
    ),
    s.Result(NOW + 5, "c2", True, None, "Successfully created"),
    s.Call(NOW + 4, "c3", "write_todos", "plan"),
    s.Plan(NOW + 4, (s.PlanItem("cart", "done"), s.PlanItem("checkout", "active"))),
    s.Result(NOW + 5, "c3", True, None, "ok"),
    s.Call(NOW + 4, "c4", "delegate_to_agent", "agent"),
    s.Result(NOW + 6, "c4", True, None, "It is in pay.py"),
    s.Report(NOW + 4, "It is in pay.py", "explore", "c4"),
    s.Interrupt(NOW + 7, "Request cancelled."),
    s.Compact(NOW + 8, "A cart, then checkout"),
    s.Prompt(NOW + 9, "go on"),
    s.Prompt(NOW + 9, "/review pay.py", "command"),
    s.Call(NOW + 9, "c5", "run_shell_command", "run", command="npm run dev"),
    s.Result(NOW + 9, "c5", None, None, "listening", process="4711"),
    s.Prompt(NOW + 9, "on port 8080", "queued"),
    s.Call(NOW + 9, "c6", "read_background_output", "other", process="4711"),
    s.Result(NOW + 9, "c6", True, None, "GET /"),
    s.Settled(NOW + 9, "4711", False, "GET / 500"),
    s.Call(NOW + 9, "c7", "exit_plan_mode", "plan"),
    s.Interrupt(NOW + 9, "ask first", "c7"),
    s.Prompt(NOW + 9, "ask first", "refusal"),
    s.Result(NOW + 9, "c7"),
    s.Fault(NOW + 10, "[API Error: overloaded (status: 503)]", 503),
]


def lines(*records: Any) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


HEADER = {"sessionId": NATIVE, "projectHash": "ab", "startTime": STAMP, "lastUpdated": STAMP, "kind": "main"}


def message(type: str, content: Any, id: str = "m1", **more: Any) -> dict[str, Any]:
    return {"id": id, "timestamp": STAMP, "type": type, "content": content, **more}


def called(name: str, output: Any = "done", status: str = "success", **args: Any) -> dict[str, Any]:
    answer = {"functionResponse": {"id": "c1", "name": name, "response": {"output": output}}}
    call = {"id": "c1", "name": name, "args": args, "result": [answer], "status": status, "timestamp": STAMP}
    return message("gemini", "", toolCalls=[call])


def steps(data: bytes) -> list[s.Step]:
    return list(GEMINI.reader().read(data))


def told(*records: Any) -> list[s.Step]:
    return steps(lines(HEADER, *records))[1:]


def plain(read: list[s.Step]) -> list[Any]:
    """Without what a maker cannot give back: a call's text, the key of a response."""
    blank: dict[type, dict[str, Any]] = {s.Call: {"text": ""}, s.Usage: {"key": ""}}
    return [msgspec.structs.replace(step, **blank.get(type(step), {})) for step in read]


def first(kind: type, read: list[s.Step]) -> Any:
    return next(step for step in read if isinstance(step, kind))


def story() -> list[s.Step]:
    """As a maker is told it: the report comes before the result, a fault without its dress."""
    made = [step for step in STORY if not isinstance(step, s.Fault)]
    made[16], made[17] = made[17], made[16]
    return [*made, s.Fault(NOW + 10, "overloaded", 503)]


def test_a_conversation_that_was_written_is_read_back() -> None:
    assert plain(steps(written("gemini-cli", story(), native=NATIVE))) == STORY


def test_the_older_document_tells_the_same_however_it_is_laid_out() -> None:
    messages = [
        message("user", "hi", "a"),
        called("read_file", file_path="x.py"),
        message("gemini", "ok", "c"),
    ]
    whole = {**HEADER, "messages": messages}
    expected = steps(lines(HEADER, *messages))
    assert len(expected) == 6
    for indent in (None, 2):
        assert steps(json.dumps(whole, indent=indent).encode()) == expected
    assert steps(json.dumps(whole).replace(', "messages"', ',\n"messages"').encode()) == expected


def test_a_line_with_the_same_id_replaces_the_earlier_one() -> None:
    grown = called("glob", pattern="*")
    read = told(
        {**grown, "toolCalls": []}, grown, {"$set": {"lastUpdated": STAMP}}, {**grown, "content": "Look"}
    )
    assert [type(step) for step in read] == [s.Say, s.Call, s.Result]


def test_a_prefix_of_lines_tells_a_part_of_the_story_in_its_order() -> None:
    data = written("gemini-cli", story(), native=NATIVE).splitlines(keepends=True)
    shorter: list[Any] = []
    for end in range(len(data) + 1):
        now: list[s.Step]
        now = [step for step in steps(b"".join(data[:end])) if not isinstance(step, s.End)]  # it may go on
        longer = iter(plain(now))
        assert all(step in longer for step in shorter), end
        shorter = plain(now)
    assert shorter == STORY


def test_a_copy_of_the_past_is_not_told_again() -> None:
    past = [message("user", [{"text": "hi <session_contextual"}], "a"), message("gemini", "there", "zz")]
    read = told(message("user", "hi", "a"), {"$set": {"messages": past}}, message("gemini", "ok", "b"))
    assert [type(step) for step in read] == [s.Prompt, s.Say, s.End]


def test_a_resume_in_the_same_file_is_a_start() -> None:
    assert told(message("user", "hi"), HEADER)[-1] == s.Start(NOW, "resume", NATIVE)


def test_what_the_user_rewound_is_not_told() -> None:
    talk = [message("user", text, text) for text in "abc"]
    prompts = [step.text for step in told(*talk, {"$rewindTo": "b"}, message("user", "d", "d"))]  # type: ignore[union-attr]
    assert prompts == ["a", "d"]
    past = {"$set": {"messages": [message("user", "of another file", "old")]}}
    assert told(past, *talk, {"$rewindTo": "old"}) == []
    assert len(told(*talk, {"$rewindTo": "unknown"})) == 3


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("plain", "plain"),
        ([{"text": "one"}, {"text": "two"}], "one\ntwo"),
        (["one", {"text": "two"}], "one\ntwo"),
        (
            [
                {"text": "<hook_context>a brief</hook_context>\n\nbuild"},
                {"text": "<hook_context>x</hook_context>"},
            ],
            "build",
        ),
        ([{"text": "<session_context>\nwhere we are\n</session_context>"}], None),
        ([{"text": "look"}, {"text": "\n--- Content from referenced files ---"}, {"text": "x = 1"}], "look"),
        ([{"text": "see"}, {"inlineData": {"mimeType": "image/png", "data": "A" * 9000}}], "see"),
        ([{"functionResponse": {"id": "c9", "name": "glob", "response": {"output": "x"}}}], None),
        ("Please continue.", None),
        (None, None),
        (7, None),
    ],
)
def test_only_what_the_user_typed_is_a_prompt(content: Any, text: str | None) -> None:
    prompts = [step.text for step in told(message("user", content)) if isinstance(step, s.Prompt)]
    assert prompts == ([] if text is None else [text])


BRIEF = "[segue] Where the last run stopped.\nGOAL: x\n[/segue]"


def test_a_brief_of_ours_is_given_where_a_hook_put_it_and_nowhere_else() -> None:
    hook, files = f"<hook_context>{BRIEF}</hook_context>", "\n--- Content from referenced files ---"
    assert told(message("user", [{"text": f"{hook}\n\nbuild"}])) == [
        s.Given(NOW, BRIEF),
        s.Prompt(NOW, "build"),
    ]
    named = [{"text": "look at @notes"}, {"text": files}, {"text": hook}, {"text": BRIEF}]
    assert told(message("user", named)) == [s.Prompt(NOW, "look at @notes")]
    answer = {"functionResponse": {"id": "c9", "name": "read_file", "response": {"output": hook}}}
    assert not [step for step in told(message("user", [answer])) if isinstance(step, s.Given)]


def test_what_the_user_typed_is_preferred_to_what_became_of_it() -> None:
    read = told(message("user", [{"text": "a long expansion"}], displayContent=[{"text": "/init"}]))
    assert read == [s.Prompt(NOW, "/init", "command")]


def test_a_path_that_the_user_typed_is_no_command() -> None:
    path = [{"text": "/src/shop is empty"}]
    for typed in (message("user", path), message("user", path, displayContent=path)):
        assert told(typed) == [s.Prompt(NOW, "/src/shop is empty")]


STEERED = (
    "User steering update:\n<user_input>\n{}\n</user_input>\nInternal instruction: Re-evaluate the plan."
)
ENDED = "[Background command completed {}. Output saved to /home/me/.gemini/tmp/background-7.log]"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("use port 8080", [s.Prompt(NOW, "use port 8080", "queued")]),
        (ENDED.format("successfully"), [s.Settled(NOW, "7", True)]),
        (f"{ENDED.format('with error: exit 1')} boom", [s.Settled(NOW, "7", False, "boom")]),
        (
            f"also the tests {ENDED.format('successfully')}",
            [s.Prompt(NOW, "also the tests", "queued"), s.Settled(NOW, "7", True)],
        ),
    ],
)
def test_what_reaches_the_agent_at_work_is_without_its_frame(text: str, expected: list[s.Step]) -> None:
    answer = {"functionResponse": {"id": "c9", "name": "glob", "response": {"output": "x"}}}
    read = told(message("user", [{"text": STEERED.format(text)}, answer]))
    assert [step for step in read if not isinstance(step, s.Result)] == expected


def test_thoughts_are_told_before_what_was_said() -> None:
    thoughts = [
        {"subject": "Looking", "description": " Where is it?", "timestamp": "2026-09-21T14:13:19.000Z"},
        {"subject": "", "description": ""},
    ]
    content = [{"text": "Perhaps there.", "thought": True}, {"text": "I look."}]
    read = told(message("gemini", content, thoughts=thoughts))
    assert read[:3] == [
        s.Thought(NOW - 1, "Looking\nWhere is it?"),
        s.Thought(NOW, "Perhaps there."),
        s.Say(NOW, "I look."),
    ]
    assert first(s.Say, told(message("gemini", "I look.", thoughts="none"))).text == "I look."


@pytest.mark.parametrize(
    ("name", "args", "changes"),
    [
        (
            "replace",
            {"file_path": "a.py", "old_string": "x", "new_string": "y"},
            [s.Change("a.py", "edit", "x", "y")],
        ),
        ("write_file", {"file_path": "a.py", "content": "x"}, [s.Change("a.py", "create", "", "x")]),
        ("write_file", {"file_path": "a.py", "content": None}, []),
        ("replace", {"file_path": "a.py"}, []),
        ("replace", {"old_string": "x", "new_string": "y"}, []),
        ("read_file", {"file_path": "a.py", "content": "x"}, []),
    ],
)
def test_what_a_call_changes_stands_in_its_arguments(
    name: str, args: dict[str, Any], changes: list[s.Change]
) -> None:
    assert list(first(s.Call, told(called(name, **args))).changes) == changes


def test_a_file_that_was_there_is_written_over() -> None:
    made = called("write_file", file_path="a.py", content="x")
    made["toolCalls"][0]["resultDisplay"] = {"isNewFile": False}
    assert first(s.Call, told(made)).changes == (s.Change("a.py", "create", "", "x"),)
    assert first(s.Call, told(made)).act == "edit" and first(s.Result, told(made)).overwrote


@pytest.mark.parametrize(
    ("new", "change"),
    [
        (
            "class A:\n    def b(self):\n        return 2\n",
            ("        return 1", "        return 2", "def b(self):"),
        ),
        ("class A:\n    x = 1\n    def b(self):\n        return 1\n", ("", "    x = 1", "class A:")),
        ("class A:\n    def b(self):\n        return 1\nend\n", ("", "end", "")),
        ("class A:\n    def b(self):\n        return 1\n", ("", "", "")),
    ],
)
def test_what_was_written_over_is_told_by_what_it_changed(new: str, change: tuple[str, str, str]) -> None:
    made = called("write_file", file_path="a.py", content=new)
    before = "class A:\n    def b(self):\n        return 1\n"
    made["toolCalls"][0]["resultDisplay"] = {"isNewFile": False, "originalContent": before}
    assert first(s.Call, told(made)).changes == (s.Change("a.py", "edit", *change),)


def background(output: str, name: str = "run_shell_command", id: str = "m2", **args: Any) -> Any:
    return {**called(name, output, **args), "id": id}


STARTED = background("Command is running in background. PID: 7. Initial output:\nhello", command="make serve")


@pytest.mark.parametrize(
    ("output", "ok", "text"),
    [
        ("Command is running in background. PID: 7. Initial output:\nhello", None, "hello"),
        ("Command moved to background (PID: 7). Output hidden. Press Ctrl+B to view.", None, ""),
        ("Output: (empty)\nBackground PIDs: 7, 8\nProcess Group PGID: 6", True, ""),
    ],
)
def test_what_goes_on_is_known_by_its_process(output: str, ok: bool | None, text: str) -> None:
    result = first(s.Result, told(background(output, command="make serve")))
    assert (result.ok, result.text, result.process) == (ok, text, "7")


def test_a_process_in_the_background_is_polled_listed_and_killed() -> None:
    polled = background("Full Log Output:\nhello", "read_background_output", "m3", pid=7)
    listed = "- [PID 7] {}: `make serve`{}\n- [PID 9] EXITED: `other` (Exit Code: 0)"
    again = background(listed.format("RUNNING", ""), "list_background_processes", "m4")
    gone = background(listed.format("EXITED", " (Exit Code: 2)"), "list_background_processes", "m5")
    read = told(STARTED, polled, again, gone, {**gone, "id": "m6"})
    assert [step.process for step in read if isinstance(step, s.Call)] == ["", "7", "", "", ""]
    assert [step for step in read if isinstance(step, s.Settled)] == [s.Settled(NOW, "7", False)]
    killed = background("Output: (empty)", id="m3", command="kill -9 7 8; pkill 9")
    read = told(STARTED, killed)
    assert [step.process for step in read if isinstance(step, s.Call)] == ["", "7"]
    assert read[-1] == s.Settled(NOW, "7")
    asked = background("Output: (empty)", id="m3", command="kill -0 7")
    for others in ((killed,), (STARTED, asked)):
        assert not [step for step in told(*others) if isinstance(step, s.Settled)]


@pytest.mark.parametrize(
    ("output", "ok"),
    [
        (
            "Command was automatically cancelled because it exceeded the timeout of 5.0 minutes",
            False,
        ),
        ("Command was cancelled by user before it could complete. There was no output", None),
    ],
)
def test_a_command_that_was_stopped_did_not_succeed(output: str, ok: bool | None) -> None:
    assert first(s.Result, told(called("run_shell_command", output, command="x"))).ok is ok


def test_a_plan_that_the_user_rejected_is_refused_with_the_words() -> None:
    end = "\n\nThe plan is stored at: /p.md\nRevise it."
    read = told(called("exit_plan_mode", f"Plan rejected. User feedback: smaller\nsteps{end}"))
    assert read[1:] == [
        s.Interrupt(NOW, "smaller\nsteps", "c1"),
        s.Prompt(NOW, "smaller\nsteps", "refusal"),
        s.Result(NOW, "c1"),
    ]
    read = told(called("exit_plan_mode", f"Plan rejected. No feedback provided.{end}"))
    assert read[1:] == [s.Interrupt(NOW, "", "c1"), s.Result(NOW, "c1")]


def test_an_answer_of_the_user_is_without_the_json_around_it() -> None:
    output = json.dumps({"answers": {"0": "Euro", "1": "later"}})
    assert first(s.Result, told(called("ask_user", output))).text == "Euro\nlater"
    assert first(s.Result, told(called("ask_user", "{torn"))).text == "{torn"


@pytest.mark.parametrize(
    ("name", "args", "act", "paths"),
    [
        ("run_shell_command", {"command": "ls"}, "run", ()),
        ("read_file", {"file_path": "a.py"}, "read", ("a.py",)),
        ("read_file", {"absolute_path": "/a.py"}, "read", ("/a.py",)),
        ("read_many_files", {"paths": ["a.py", "b.py", 7]}, "read", ("a.py", "b.py")),
        ("replace", {"file_path": "a.py"}, "edit", ("a.py",)),
        ("write_file", {"file_path": "a.py"}, "create", ("a.py",)),
        ("glob", {"pattern": "*"}, "search", ()),
        ("search_file_content", {"pattern": "x"}, "search", ()),
        ("list_directory", {"dir_path": "src"}, "search", ("src",)),
        ("web_fetch", {"prompt": "x"}, "web", ()),
        ("google_web_search", {"query": "x"}, "web", ()),
        ("codebase_investigator", {"objective": "x"}, "agent", ()),
        ("ask_user", {"questions": [{"question": "Which?"}]}, "ask", ()),
        ("save_memory", {"fact": "x"}, "other", ()),
        ("mcp_segue_echo", [], "other", ()),
    ],
)
def test_a_tool_is_known_by_what_it_does(name: str, args: Any, act: str, paths: tuple[str, ...]) -> None:
    made = called(name)
    made["toolCalls"][0]["args"] = args
    call = first(s.Call, told(made))
    assert (call.act, call.paths) == (act, paths)


@pytest.mark.parametrize(
    ("output", "ok", "code", "text"),
    [
        ("<untrusted_context>\nOutput: boom\nExit Code: 1\n</untrusted_context>", False, 1, "boom"),
        ("Output: fine\nProcess Group PGID: 7", True, None, "fine"),
        (
            "Command: ls\nDirectory: (root)\nStdout: a.py\nb.py\nStderr: (empty)\nError: (none)\n"
            "Exit Code: 0\nSignal: (none)\nBackground PIDs: (none)\nProcess Group PGID: 7",
            True, 0, "a.py\nb.py",
        ),
        ("Output: fine\nError: (none)\nExit Code: 0\nSignal: 0\nProcess Group PGID: 7", True, 0, "fine"),
        (
            "Output: Exit Code: 1\nError: seen\nin a log\nError: (none)\nExit Code: 0\nSignal: 0", True, 0,
            "Exit Code: 1\nError: seen\nin a log",
        ),
        ("Output: Error: seen\nin a log\nProcess Group PGID: 7", True, None, "Error: seen\nin a log"),
        ("Output: (empty)\nError: spawn x\nExit Code: (none)\nSignal: (none)", False, None, "Error: spawn x"),
        ("Output: (empty)\nSignal: 9\nProcess Group PGID: 7", False, None, "Signal: 9"),
        ("Output: fine\n\n<hook_context>a brief</hook_context>", True, None, "fine"),
    ],
)  # fmt: skip
def test_a_command_says_how_it_ended(output: str, ok: bool, code: int | None, text: str) -> None:
    result = first(s.Result, told(called("run_shell_command", output, command="x")))
    assert (result.ok, result.exit, result.text) == (ok, code, text)


@pytest.mark.parametrize(("status", "ok"), [("success", True), ("error", False), ("cancelled", None)])
def test_a_status_says_whether_it_went_well(status: str, ok: bool | None) -> None:
    assert first(s.Result, told(called("glob", status=status))).ok is ok


def test_a_call_that_the_user_did_not_allow_is_refused() -> None:
    denied = called("write_file", "[Operation Cancelled] Reason: User cancelled the operation.", "cancelled")
    assert told(denied)[1:] == [s.Interrupt(NOW, "", "c1"), s.Result(NOW, "c1")]
    stopped = called("glob", "[Operation Cancelled] Reason: User cancelled tool execution.", "cancelled")
    assert [type(step) for step in told(stopped)] == [s.Call, s.Result]


def test_a_message_that_calls_nothing_ends_the_turn_unless_the_agent_goes_on() -> None:
    said = message("gemini", "It is done.", "a")
    assert [type(step) for step in told(said)] == [s.Say, s.End]
    assert [type(step) for step in told(said, called("glob"))] == [s.Say, s.Call, s.Result]
    assert s.End not in [type(step) for step in told({**called("glob"), "content": "I look."})]


@pytest.mark.parametrize("status", ["executing", "scheduled", "awaiting_approval", ""])
def test_a_call_that_has_not_ended_is_pending(status: str) -> None:
    assert [type(step) for step in told(called("glob", status=status))] == [s.Call]


def test_a_call_that_only_the_history_shape_tells_is_told_with_its_answer() -> None:
    asked = message("gemini", [{"text": "Look"}, {"functionCall": {"id": "c7", "name": "glob", "args": {}}}])
    answer = {"functionResponse": {"id": "c7", "name": "glob", "response": {"output": "x"}}}
    read = told(asked, message("user", [answer], "m2"), message("user", [answer], "m3"))
    assert [type(step) for step in read] == [s.Say, s.Call, s.Result]


@pytest.mark.parametrize(
    ("type", "text", "kind"),
    [
        ("info", "Request cancelled.", s.Interrupt),
        ("error", '[API Error: {"error":{"code":429,"message":"quota"}}]', s.Fault),
        ("info", "Chat history compressed from 90000 to 1200 tokens.", s.Compact),
        ("info", "You have 1 extension with an update available.", None),
        ("error", "Unknown command: /fly", None),
        ("warning", "A warning", None),
    ],
)
def test_a_notice_counts_only_if_it_says_something_of_the_work(type: str, text: str, kind: Any) -> None:
    read = told(message(type, text))
    assert [kind] == [one.__class__ for one in read] if kind else read == []
    if kind is s.Fault:
        assert first(s.Fault, read).status == 429
    if kind is s.Compact:
        assert first(s.Compact, read).tokens == 90_000


def test_a_compression_is_told_once_by_its_summary() -> None:
    snapshot = message("user", [{"text": "<state_snapshot>\nall so far\n</state_snapshot>"}], "s")
    notice = message("info", "Chat history compressed from 9 to 1 tokens.", "n")
    again = {"$set": {"messages": [snapshot]}}
    assert told(again, notice, again) == [s.Compact(NOW, "all so far")]


def test_a_topic_and_a_summary_are_titles() -> None:
    read = told(called("update_topic", title="Carts"), {"$set": {"summary": "A cart in the shop"}})
    assert [step.text for step in read if isinstance(step, s.Title)] == ["Carts", "A cart in the shop"]


# -- damage


def replaced(value: Any, wrong: Any) -> list[Any]:
    """The value with each of its inner values replaced by a wrong one, one at a time."""
    if isinstance(value, dict):
        return [{**value, key: new} for key in value for new in [wrong, *replaced(value[key], wrong)]]
    if isinstance(value, list):
        return [
            [*value[:i], new, *value[i + 1 :]]
            for i in range(len(value))
            for new in [wrong, *replaced(value[i], wrong)]
        ]
    return []


@pytest.mark.parametrize("wrong", [None, 7, "x", True, [], {}, [None], {"a": 1}])
def test_a_wrong_type_anywhere_is_survived(wrong: Any) -> None:
    records = [json.loads(line) for line in written("gemini-cli", story()).splitlines()]
    for record in records:
        for bad in replaced(record, wrong):
            assert s.Prompt in map(type, told(bad, message("user", "after", "z"))), bad
    for bad in replaced({**HEADER, "messages": records}, wrong):
        assert all(isinstance(step.at, float) for step in steps(json.dumps(bad, indent=1).encode()))


def test_a_field_of_a_wrong_type_costs_only_that_field() -> None:
    read = told({**message("user", "still here"), "timestamp": 7, "tokens": "many", "model": []})
    assert read == [s.Prompt(0.0, "still here")]


def test_a_torn_document_gives_its_whole_messages() -> None:
    messages = [message("user", f"prompt {n}", str(n)) for n in range(9)]
    for indent in (None, 1):
        data = json.dumps({**HEADER, "messages": messages}, indent=indent).encode()
        whole = steps(data)
        for end in range(len(data)):
            read = steps(data[:end])
            assert read[1:] == whole[1 : len(read)], end
        assert len(steps(data[:-20])) == 9


def test_a_torn_last_line_costs_only_itself() -> None:
    data = written("gemini-cli", story(), native=NATIVE)
    for end in range(0, len(data), 7):
        steps(data[:end])
    reader = GEMINI.reader()
    assert len(list(reader.read(data[:-30]))) == len(STORY) - 1 and reader.malformed == 1


@pytest.mark.parametrize(
    "spoilt",
    [
        lambda data: b"\xef\xbb\xbf" + data,
        lambda data: data.replace(b"Add a cart", b"Add \xff\xfe cart"),
        lambda data: data.replace(b"Add a cart", b"Add \\ud83d cart"),
        lambda data: data.replace(b"}\n{", b"}{"),
        lambda data: data.replace(b"\n", b"\r\n"),
        lambda data: b"\x00\x00{torn\n" + data,
        lambda data: data.replace(b"\n", b"\n\n"),
    ],
)
def test_lines_that_are_spoilt_a_little_are_read(spoilt: Any) -> None:
    read = steps(spoilt(written("gemini-cli", story(), native=NATIVE)))
    assert len(read) == len(STORY)


@pytest.mark.parametrize(
    "data", [b"", b"{", b"[]", b"null", b"7\n8", b"\x00\xff", b'{"messages":{}}', b"[" * 9999]
)
def test_what_is_no_conversation_tells_nothing(data: bytes) -> None:
    assert steps(data) == []


def test_unknown_records_are_counted_and_skipped() -> None:
    reader = GEMINI.reader()
    list(reader.read(lines(HEADER, {"hologram": 1}, message("oracle", "x"), 7)))
    assert (reader.skipped, reader.malformed) == (2, 1)


# -- discovery


def test_the_conversations_of_the_project_are_found_newest_first(tmp_path: Path) -> None:
    shop = placed("gemini-cli", story(), native=NATIVE, cwd="/src/shop", home=tmp_path)
    other = placed("gemini-cli", story(), native="f" * 36, cwd="/src/other", home=tmp_path)
    old = (
        tmp_path
        / ".gemini"
        / "tmp"
        / hashlib.sha256(b"/src/shop").hexdigest()
        / "chats"
        / "session-1-aa.json"
    )
    side = shop.parent / NATIVE / "explore-1.jsonl"
    migrated = shop.with_suffix(".json")
    for path in (old, side, migrated):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({**HEADER, "sessionId": "old-one", "messages": []}))
    (shop.parent.parent / "logs.json").write_text("[]")
    for age, path in enumerate((side, shop, old, other)):
        os.utime(path, (NOW - age, NOW - age))
    found = list(GEMINI.find(SearchScope({}, tmp_path, (Path("/src/shop"),))))
    assert [(one.path, one.native, one.cwd, one.parent) for one in found] == [
        (str(side), "explore-1", "/src/shop", NATIVE),
        (str(shop), NATIVE, "/src/shop", ""),
        (str(old), "old-one", "/src/shop", ""),
    ]
    assert found[1].changed == NOW - 1 and found[1].size == shop.stat().st_size
    assert len(list(GEMINI.find(SearchScope({}, tmp_path, ())))) == 4
    moved = SearchScope({"GEMINI_CLI_HOME": str(tmp_path)}, tmp_path / "empty", (Path("/src/other"),))
    assert [one.cwd for one in GEMINI.find(moved)] == ["/src/other"]


def test_a_folder_says_itself_whose_it_is_when_the_registry_is_lost(tmp_path: Path) -> None:
    placed("gemini-cli", story(), native=NATIVE, cwd="/src/shop", home=tmp_path)
    (tmp_path / ".gemini" / "projects.json").write_text("{torn")
    assert [one.cwd for one in GEMINI.find(SearchScope({}, tmp_path, (Path("/src"),)))] == ["/src/shop"]
    assert list(GEMINI.find(SearchScope({}, tmp_path / "nobody", ()))) == []


@pytest.mark.parametrize(
    ("settings", "days"),
    [
        (None, 30),
        ("{torn", 30),
        ({"general": {"sessionRetention": {"enabled": True, "maxAge": "2w"}}}, 14),
        ({"general": {"sessionRetention": {"enabled": True, "maxAge": "36h"}}}, 2),
        ({"general": {"sessionRetention": {"enabled": True, "maxAge": "soon"}}}, None),
        ({"general": {"sessionRetention": {"enabled": False}}}, None),
        ({"general": 7}, 30),
    ],
)
def test_the_settings_say_how_long_conversations_are_kept(
    tmp_path: Path, settings: Any, days: int | None
) -> None:
    if settings is not None:
        (tmp_path / ".gemini").mkdir()
        text = settings if isinstance(settings, str) else f"// mine\n{json.dumps(settings)}"
        (tmp_path / ".gemini" / "settings.json").write_text(text)
    assert GEMINI.retention(SearchScope({}, tmp_path, ())) == days


def test_both_forms_are_recognised_and_the_list_of_prompts_is_not() -> None:
    log = written("gemini-cli", story(), native=NATIVE)
    assert GEMINI.recognises(log, "session-x.jsonl") and recognise(log, "x") is GEMINI
    assert GEMINI.recognises(json.dumps({**HEADER, "messages": []}, indent=2).encode(), "session-x.json")
    assert not GEMINI.recognises(b'[{"sessionId":"x","projectHash":"y"}]', "logs.json")
    assert not GEMINI.recognises(b'{"type":"user","sessionId":"x"}', "x.jsonl")
