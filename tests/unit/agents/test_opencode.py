"""OpenCode: what its export and its database say, whole and damaged."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import Any

import apsw
import msgspec
import pytest

from segue.agents import agent, recognise
from segue.agents.base import SearchScope
from segue.core.runs import steps as s
from segue.errors import TranscriptUnreadable
from segue.testing.transcripts import placed, written

OPENCODE = agent("opencode")
NOW = 1_790_000_000.0

STORY: list[s.Step] = [
    s.Start(NOW, "start", "ses_1", "/src/shop", version="1.18.18"),
    s.Title(NOW, "Carts"),
    s.Prompt(NOW + 1, "Add a cart"),
    s.Model(NOW + 2, "example/model-1"),
    s.Thought(NOW + 2, "**Where is it?** Perhaps in shop."),
    s.Say(NOW + 2, "I look first."),
    s.Call(NOW + 3, "c1", "bash", "run", command="pytest -q", note="Run the tests"),
    s.Result(NOW + 4, "c1", False, 1, "1 failed"),
    s.Usage(NOW + 5, "", 1200, 30, input=100, cache_read=900, cache_write=200),
    s.Call(
        NOW + 6,
        "c2",
        "write",
        "create",
        paths=("/src/shop/cart.py",),
        changes=(s.Change("/src/shop/cart.py", "create", "", "class Cart: ..."),),
    ),
    s.Result(NOW + 7, "c2", True, None, "Wrote file successfully."),
    s.Call(NOW + 8, "c3", "todowrite", "plan"),
    s.Plan(NOW + 8, (s.PlanItem("cart", "done"), s.PlanItem("checkout", "active"))),
    s.Result(NOW + 8, "c3", True, None, "ok"),
    s.Usage(NOW + 9, "", 1500, 40, input=1500),
    s.Say(NOW + 10, "The cart is there."),
    s.Usage(NOW + 11, "", 1700, 10, input=1700),
    s.End(NOW + 11),
    s.Compact(NOW + 12, "## Goal\nA cart", "manual", 1700),
    s.Prompt(NOW + 13, "And checkout"),
    s.Call(NOW + 14, "c4", "task", "agent", note="Look around"),
    s.Report(NOW + 15, "It is in pay.py", "explore", "c4"),
    s.Result(NOW + 15, "c4", True, None, "It is in pay.py"),
    s.Interrupt(NOW + 16, "Aborted"),
    s.Prompt(NOW + 17, "/review", "command"),
    s.Call(NOW + 17, "c6", "task", "agent", note="Look at pay.py"),
    s.Result(NOW + 17, "c6", None, None, "You will be told.", process="ses_3"),
    s.Prompt(NOW + 17.5, "pay.py only, please", "queued"),
    s.Call(
        NOW + 17.5,
        "c7",
        "edit",
        "edit",
        paths=("/src/shop/pay.py",),
        changes=(s.Change("/src/shop/pay.py", "edit", "a", "b"),),
    ),
    s.Interrupt(NOW + 17.75, "not in pay.py", "c7"),
    s.Prompt(NOW + 17.75, "not in pay.py", "refusal"),
    s.Result(NOW + 17.75, "c7"),
    s.Settled(NOW + 17.75, "ses_3", True, "All is well."),
    s.Report(NOW + 17.75, "All is well.", "general", "c6"),
    s.Fault(NOW + 18, "overloaded", 529),
    s.Call(NOW + 19, "c5", "bash", "run", command="sleep 120"),
]


def steps(document: Any) -> list[s.Step]:
    data = document if isinstance(document, bytes) else json.dumps(document).encode()
    return list(OPENCODE.reader().read(data))


def plain(told: list[s.Step]) -> list[Any]:
    """Without what a maker cannot give back: a call's text, the key of a response."""
    blank: dict[type, dict[str, Any]] = {s.Call: {"text": ""}, s.Usage: {"key": ""}}
    return [msgspec.structs.replace(step, **blank.get(type(step), {})) for step in told]


def document(*messages: Any, **info: Any) -> dict[str, Any]:
    return {"info": {"id": "ses_1", "directory": "/src/shop", "version": "1.0", **info}, "messages": messages}


def said(role: str, *parts: Any, **info: Any) -> dict[str, Any]:
    about = {"id": "msg_1", "role": role, "time": {"created": 1_790_000_000_000}, **info}
    return {"info": about, "parts": list(parts)}


def tool(name: str, status: str = "completed", metadata: Any = None, output: Any = "", **given: Any) -> Any:
    state = {"status": status, "input": given, "output": output, "metadata": metadata or {}}
    return {"type": "tool", "tool": name, "callID": "c1", "state": state}


def first(kind: type, told: list[s.Step]) -> Any:
    return next(step for step in told if isinstance(step, kind))


def test_a_conversation_that_was_written_is_read_back() -> None:
    assert plain(steps(written("opencode", STORY, native="ses_1"))) == STORY


def test_the_database_tells_what_the_export_tells(tmp_path: Path) -> None:
    path = placed("opencode", STORY, native="ses_1", home=tmp_path)
    placed("opencode", STORY[:5], native="ses_2", home=tmp_path)
    assert plain(steps(OPENCODE.load(path, "ses_1"))) == STORY


@pytest.mark.parametrize(
    ("part", "text"),
    [
        ({"type": "text", "text": '"build the cart"'}, "build the cart"),
        ({"type": "text", "text": '"say \\"hi\\" twice"'}, 'say "hi" twice'),
        ({"type": "text", "text": '"a" and "b"'}, '"a" and "b"'),
        ({"type": "text", "text": "plain"}, "plain"),
        ({"type": "text", "text": "a brief", "synthetic": True}, None),
        ({"type": "text", "text": "hidden", "ignored": True}, None),
        ({"type": "file", "mime": "image/png", "url": "data:image/png;base64," + "A" * 9000}, None),
        ({"type": "subtask", "prompt": "of an agent", "agent": "explore"}, None),
        ({"type": "subtask", "prompt": "Look at all.", "command": "review", "agent": "explore"}, "/review"),
    ],
)
def test_only_what_the_user_typed_is_a_prompt(part: Any, text: str | None) -> None:
    prompts = [step.text for step in steps(document(said("user", part))) if isinstance(step, s.Prompt)]
    assert prompts == ([] if text is None else [text])


@pytest.mark.parametrize(
    ("part", "act", "paths"),
    [
        (tool("bash", command="ls"), "run", ()),
        (tool("read", filePath="a.py"), "read", ("a.py",)),
        (tool("edit", filePath="a.py", oldString="x", newString="y"), "edit", ("a.py",)),
        (tool("write", metadata={"exists": False}, filePath="a.py"), "create", ("a.py",)),
        (tool("write", metadata={"exists": True}, filePath="a.py"), "edit", ("a.py",)),
        (tool("apply_patch", patchText="*** Begin Patch\n*** Add File: n.py\n+x\n"), "create", ("n.py",)),
        (tool("patch", patchText="*** Update File: a.py\n*** Delete File: b.py\n"), "edit", ("a.py", "b.py")),
        (tool("glob", pattern="*.py", path="src"), "search", ("src",)),
        (tool("grep", pattern="x"), "search", ()),
        (tool("webfetch", url="https://example.org"), "web", ()),
        (tool("task", prompt="look", subagent_type="explore"), "agent", ()),
        (tool("question", questions=[{"question": "Which?"}]), "ask", ()),
        (tool("segue_echo", text="hi"), "other", ()),
    ],
)
def test_a_tool_is_known_by_what_it_does(part: Any, act: str, paths: tuple[str, ...]) -> None:
    call = first(s.Call, steps(document(said("assistant", part))))
    assert (call.act, call.paths) == (act, paths)


def test_a_question_is_noted_and_a_command_stands_as_the_shell_gets_it() -> None:
    asked = steps(document(said("assistant", tool("question", questions=[{"question": "Which?"}]))))
    assert first(s.Call, asked).note == "Which?"
    run = first(s.Call, steps(document(said("assistant", tool("bash", command="a 'b'", description="Try")))))
    assert (run.command, run.note) == ("a 'b'", "Try")


@pytest.mark.parametrize(
    ("part", "ok", "code"),
    [
        (tool("bash", metadata={"exit": 0}), True, 0),
        (tool("bash", metadata={"exit": 2}), False, 2),
        (tool("bash", metadata={"exit": None}), True, None),
        (tool("edit"), True, None),
        ({**tool("edit"), "state": {"status": "error", "input": {}, "error": "no such file"}}, False, None),
    ],
)
def test_a_result_says_whether_it_went_well(part: Any, ok: bool, code: int | None) -> None:
    result = first(s.Result, steps(document(said("assistant", part))))
    assert (result.ok, result.exit) == (ok, code)


@pytest.mark.parametrize(
    ("error", "said_then"),
    [
        ("The user rejected permission to use this specific tool call.", ""),
        ("The user rejected permission to use this specific tool call with the following feedback: no", "no"),
        ("The user rejected permission with feedback: not there", "not there"),
        ("The user dismissed this question", ""),
    ],
)
def test_a_call_that_the_user_rejected_is_refused_and_did_not_fail(error: str, said_then: str) -> None:
    part = {**tool("bash"), "state": {"status": "error", "input": {}, "error": error}}
    told = steps(document(said("assistant", part)))
    words = [s.Prompt(NOW, said_then, "refusal")] if said_then else []
    assert told[-2 - len(words) :] == [s.Interrupt(NOW, said_then, "c1"), *words, s.Result(NOW, "c1")]


def test_an_error_of_a_servers_tool_cannot_speak_for_the_user() -> None:
    error = "The user rejected permission to use this specific tool call with the following feedback: lie"
    part = {**tool("web_search"), "state": {"status": "error", "input": {}, "error": error}}
    assert not [step for step in steps(document(said("assistant", part))) if isinstance(step, s.Prompt)]


_NOTE = "{}\n\n<{tag}>\nshell tool terminated command after exceeding timeout 9 ms.\n</{tag}>"


@pytest.mark.parametrize(
    ("output", "ok", "text"),
    [
        (_NOTE.format("half", tag="shell_metadata"), False, "half\nshell tool terminated command after"),
        (_NOTE.format("(no output)", tag="bash_metadata"), False, "shell tool terminated command after"),
        ("half\n\n<bash_metadata>\nUser aborted the command\n</bash_metadata>", None, "half\nUser aborted"),
        ("half\n\n<metadata>\nUser aborted the command\n</metadata>", None, "half\nUser aborted"),
        ("<bash_metadata>\nUser aborted the command\n</bash_metadata>\nof a log", True, "<bash_metadata>"),
    ],
)
def test_a_command_that_was_stopped_did_not_succeed(output: str, ok: bool | None, text: str) -> None:
    part = tool("bash", metadata={"exit": None}, output=output, command="make")
    result = first(s.Result, steps(document(said("assistant", part))))
    assert result.ok is ok and result.text.startswith(text)


def test_a_tool_that_the_user_aborted_did_not_fail() -> None:
    state = {
        "status": "error",
        "input": {},
        "error": "Tool execution aborted",
        "metadata": {"interrupted": True},
    }
    told = steps(document(said("assistant", {**tool("read"), "state": state})))
    assert first(s.Result, told).ok is None


@pytest.mark.parametrize(
    ("part", "changes"),
    [
        (tool("edit", filePath="a.py", oldString="x", newString="y"), [s.Change("a.py", "edit", "x", "y")]),
        (tool("write", filePath="a.py", content="x"), [s.Change("a.py", "create", "", "x")]),
        (
            tool("write", metadata={"exists": True}, filePath="a.py", content="x"),
            [s.Change("a.py", "create", "", "x")],
        ),
        (
            tool(
                "multiedit", filePath="a.py", edits=[{"oldString": "x", "newString": "y"}, {"newString": "z"}]
            ),
            [s.Change("a.py", "edit", "x", "y\nz")],
        ),
        (
            tool("apply_patch", patchText="*** Add File: n.py\n+x\n*** Delete File: o.py\n"),
            [s.Change("n.py", "create", "", "x"), s.Change("o.py", "delete")],
        ),
        (tool("edit", filePath="a.py"), []),
        (tool("multiedit", filePath="a.py", edits="x"), []),
        (tool("read", filePath="a.py"), []),
    ],
)
def test_what_a_call_changes_stands_in_its_arguments(part: Any, changes: list[s.Change]) -> None:
    assert list(first(s.Call, steps(document(said("assistant", part)))).changes) == changes


def test_thinking_is_neither_said_nor_counted_as_unknown() -> None:
    reader = OPENCODE.reader()
    thought = {"type": "reasoning", "text": "**Hm**", "time": {"start": 1_790_000_001_000}}
    told = list(
        reader.read(json.dumps(document(said("assistant", thought, {**thought, "text": " "}))).encode())
    )
    assert told[1:] == [s.Thought(NOW + 1, "**Hm**")] and reader.skipped == 0


def task_text(state: str, text: str) -> str:
    return f'<task id="ses_2" state="{state}">\n<summary>About it</summary>\n{text}\n</task>'


def test_a_task_in_the_background_is_answered_and_settled_when_the_harness_says_so() -> None:
    started = {"type": "text", "text": task_text("running", "Told later.")}
    begun = tool("task", output=started["text"], prompt="look", subagent_type="explore", background=True)
    more = {**tool("task", output=started["text"], prompt="also there", task_id="ses_2"), "callID": "c2"}
    note = {"type": "text", "synthetic": True, "text": task_text("completed", "Found it.")}
    told = steps(document(said("assistant", begun, more), said("user", note)))
    assert [(step.id, step.process) for step in told if isinstance(step, s.Call)] == [
        ("c1", ""),
        ("c2", "ses_2"),
    ]
    results = [step for step in told if isinstance(step, s.Result)]
    assert [(step.ok, step.text, step.process) for step in results] == [
        (None, "Told later.", "ses_2"),
        (None, "Told later.", ""),
    ]
    assert told[-2:] == [
        s.Settled(NOW, "ses_2", True, "Found it."),
        s.Report(NOW, "Found it.", "explore", "c1"),
    ]


def test_a_task_that_failed_in_the_background_reports_nothing() -> None:
    note = {"type": "text", "synthetic": True, "text": task_text("error", "Out of tokens")}
    assert steps(document(said("user", note)))[1:] == [s.Settled(NOW, "ses_2", False, "Out of tokens")]


def test_a_prompt_that_came_before_the_response_ended_was_queued() -> None:
    times = {"created": 1_790_000_000_000, "completed": 1_790_000_009_000}
    work = said("assistant", {"type": "text", "text": "I look."}, time=times)
    for created, how in ((1_790_000_005_000, "queued"), (1_790_000_009_000, "")):
        typed = said("user", {"type": "text", "text": "and the tests"}, time={"created": created})
        assert first(s.Prompt, steps(document(work, typed))).how == how


def test_a_prompt_that_the_harness_repeats_after_a_compaction_is_told_once() -> None:
    typed = said("user", {"type": "text", "text": "Read it all"})
    left = said("assistant", {"type": "text", "text": "## Goal"}, summary=True)
    for overflow, count in ((True, 1), (False, 2)):
        squeezed = said("user", {"type": "compaction", "auto": True, "overflow": overflow})
        told = steps(document(typed, squeezed, left, typed))
        assert len([step for step in told if isinstance(step, s.Prompt)]) == count


def test_a_command_that_printed_nothing_has_no_text() -> None:
    quiet = tool("bash", metadata={"exit": 1}, output="(no output)")
    assert first(s.Result, steps(document(said("assistant", quiet)))).text == ""


@pytest.mark.parametrize("status", ["pending", "running"])
def test_a_tool_that_runs_has_no_result(status: str) -> None:
    told = steps(document(said("assistant", tool("bash", status, command="sleep 9"))))
    assert isinstance(told[-1], s.Call) and not any(isinstance(step, s.Result) for step in told)


def test_what_a_command_changed_on_disk_is_known_with_its_result() -> None:
    told = steps(
        document(
            said(
                "assistant",
                tool("edit", filePath="/src/shop/a.py"),
                tool("bash", command="make"),
                {"type": "patch", "hash": "x", "files": ["/src/shop/a.py", "/src/shop/made.py"]},
            )
        )
    )
    assert [step.paths for step in told if isinstance(step, s.Result)] == [(), ("/src/shop/made.py",)]


def test_the_tags_around_a_file_are_not_its_text() -> None:
    text = "<path>/a.py</path>\n<type>file</type>\n<content>\n1: x = 1\n</content>"
    assert first(s.Result, steps(document(said("assistant", tool("read", output=text))))).text == "1: x = 1"
    task = '<task id="ses_2" state="completed">\nall good\n</task>'
    assert first(s.Report, steps(document(said("assistant", tool("task", output=task))))).text == "all good"


def test_the_rows_of_todo_are_the_last_word_on_the_plan() -> None:
    made = document(said("assistant", tool("todowrite", todos=[{"content": "a", "status": "pending"}])))
    rows = [{"content": "a", "status": "completed", "time_updated": 1_790_000_000_500}]
    plans = [step for step in steps({**made, "todos": rows}) if isinstance(step, s.Plan)]
    assert [plan.items for plan in plans] == [(s.PlanItem("a"),), (s.PlanItem("a", "done"),)]
    same = [{"content": "a", "status": "pending"}]
    assert len([step for step in steps({**made, "todos": same}) if isinstance(step, s.Plan)]) == 1


def test_what_the_user_took_back_is_not_told() -> None:
    messages = [said("user", {"type": "text", "text": text}, id=f"msg_{text}") for text in "abc"]
    told = steps(document(*messages, revert={"messageID": "msg_b"}))
    assert [step.text for step in told if isinstance(step, s.Prompt)] == ["a"]


def test_a_retry_is_a_fault_that_goes_on_and_an_abort_is_the_user() -> None:
    error = {"name": "APIError", "data": {"message": "overloaded", "statusCode": 529}}
    told = steps(document(said("assistant", {"type": "retry", "attempt": 1, "error": error})))
    assert told[-1] == s.Fault(NOW, "overloaded", 529, True)
    aborted = {"name": "MessageAbortedError", "data": {"message": "Aborted"}}
    assert isinstance(steps(document(said("assistant", error=aborted)))[-1], s.Interrupt)


def test_the_context_counts_what_was_cached() -> None:
    tokens = {"input": 10, "output": 5, "reasoning": 2, "cache": {"read": 100, "write": 7}}
    told = steps(
        document(said("assistant", {"id": "p", "type": "step-finish", "tokens": tokens, "cost": 0.5}))
    )
    assert told[-1] == s.Usage(NOW, "p", 117, 7, 0, 0.5, 10, 100, 7)


# -- damage

WRONG = [None, 7, "x", True, [], {}, [None], {"a": 1}]


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


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_type_anywhere_is_survived(wrong: Any) -> None:
    whole = json.loads(written("opencode", STORY[:12], native="ses_1"))
    unharmed = len(steps(whole))
    kept = sorted(len(steps(bad)) for bad in replaced(whole, wrong))
    assert kept[len(kept) // 2] >= unharmed - 2, "one wrong value costs more than what it is about"


def test_a_field_of_a_wrong_type_costs_only_that_field() -> None:
    part = {"type": "text", "text": "still here", "synthetic": "no", "time": 7}
    told = steps(document(said("user", part, time="now", id=7), title=9, time=[]))
    assert first(s.Prompt, told).text == "still here" and first(s.Start, told).native == "ses_1"


def test_a_torn_document_gives_its_whole_messages() -> None:
    data = written("opencode", STORY, native="ses_1")
    whole = plain(steps(data))
    most = 0
    for end in range(0, len(data), 97):
        told = [step for step in plain(steps(data[:end])) if not isinstance(step, s.Plan)]
        assert [step for step in whole if step in told] == told, end
        most = max(most, len(told))
    assert most > len(whole) // 2


@pytest.mark.parametrize(
    "spoilt",
    [
        lambda data: b"\xef\xbb\xbf" + data,
        lambda data: data.replace(b"Add a cart", b"Add \xff\xfe cart"),
        lambda data: data.replace(b"Add a cart", b"Add \\ud83d cart"),
        lambda data: data + b'\n{"info":{}}',
        lambda data: b"Exporting session: ses_1\n" + data,
    ],
)
def test_a_document_that_is_spoilt_a_little_is_read(spoilt: Any) -> None:
    prompts = [step for step in steps(spoilt(written("opencode", STORY))) if isinstance(step, s.Prompt)]
    assert len(prompts) == 5


@pytest.mark.parametrize(
    "data", [b"", b"{", b"[]", b"null", b"7", b"\x00\xff", b'{"messages":{}}', b"[" * 9999]
)
def test_what_is_no_conversation_tells_nothing(data: bytes) -> None:
    reader = OPENCODE.reader()
    assert list(reader.read(data)) == [] and reader.malformed + reader.skipped <= 2


def test_unknown_parts_and_roles_are_counted_and_skipped() -> None:
    reader = OPENCODE.reader()
    made = document(said("assistant", {"type": "hologram"}), said("oracle"), None, said("user", 7))
    list(reader.read(json.dumps(made).encode()))
    assert (reader.skipped, reader.malformed) == (2, 2)


# -- the database


def beside(path: Path) -> list[str]:
    return sorted(os.listdir(path.parent))


def test_reading_leaves_no_file_and_changes_no_byte(tmp_path: Path) -> None:
    path = placed("opencode", STORY, native="ses_1", home=tmp_path)
    before = (beside(path), path.read_bytes(), path.stat().st_mtime_ns)
    assert OPENCODE.load(path, "ses_1") and list(OPENCODE.find(SearchScope({}, tmp_path, ())))
    assert (
        (beside(path), path.read_bytes(), path.stat().st_mtime_ns) == before == (["opencode.db"], *before[1:])
    )


def test_what_stands_only_in_the_log_of_a_killed_agent_is_read_and_left(tmp_path: Path) -> None:
    path = placed("opencode", STORY, native="ses_1", home=tmp_path)
    child = os.fork()
    if not child:
        writer = apsw.Connection(str(path))
        writer.execute("UPDATE session SET title = 'Only in the log'")
        os._exit(0)
    os.waitpid(child, 0)
    log = path.with_name("opencode.db-wal")
    before = log.read_bytes()
    assert s.Title(NOW, "Only in the log") in steps(OPENCODE.load(path, "ses_1"))
    assert log.read_bytes() == before


def test_the_database_is_read_while_it_is_written(tmp_path: Path) -> None:
    path = placed("opencode", STORY[:3], native="ses_1", home=tmp_path)
    stop = threading.Event()
    count = [0]

    def write() -> None:
        connection = apsw.Connection(str(path))
        connection.set_busy_timeout(5000)
        while not stop.wait(0.0005):
            count[0] += 1
            with connection:  # a message and its part together, or neither
                at = 1_790_000_001_000 + count[0]
                id = f"x{count[0]:09}"
                data = json.dumps({"role": "user", "time": {"created": at}})
                connection.execute("INSERT INTO message VALUES (?, 'ses_1', ?, ?, ?)", (id, at, at, data))
                part = json.dumps({"type": "text", "text": id})
                connection.execute("INSERT INTO part VALUES (?, ?, 'ses_1', ?, ?, ?)", (id, id, at, at, part))
        connection.close()

    writer = threading.Thread(target=write)
    writer.start()
    seen = 0
    try:
        for _ in range(40):
            made = json.loads(OPENCODE.load(path, "ses_1"))
            assert all(message["parts"] for message in made["messages"])
            assert len(made["messages"]) >= seen
            seen = len(made["messages"])
    finally:
        stop.set()
        writer.join()
    assert seen > 1
    assert len(json.loads(OPENCODE.load(path, "ses_1"))["messages"]) == count[0] + 1


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE part SET data = ''",
        "DROP TABLE todo",
        "DROP TABLE project",
        "ALTER TABLE session DROP COLUMN revert",
        "ALTER TABLE session DROP COLUMN parent_id",
        "ALTER TABLE session ADD COLUMN hologram text",
        "UPDATE part SET data = '{torn' WHERE id LIKE '%000005'",
        "UPDATE session SET time_updated = 'yesterday', revert = 'x'",
    ],
)
def test_another_version_of_the_database_is_read_as_far_as_it_goes(tmp_path: Path, change: str) -> None:
    path = placed("opencode", STORY, native="ses_1", home=tmp_path)
    connection = apsw.Connection(str(path))
    connection.execute(change)
    connection.close()
    assert [found.native for found in OPENCODE.find(SearchScope({}, tmp_path, ()))] == ["ses_1"]
    assert first(s.Start, steps(OPENCODE.load(path, "ses_1"))).cwd == "/src/shop"


def test_a_session_that_is_not_there_and_a_file_that_is_no_database_are_said(tmp_path: Path) -> None:
    path = placed("opencode", STORY, native="ses_1", home=tmp_path)
    with pytest.raises(TranscriptUnreadable, match="no session"):
        OPENCODE.load(path, "ses_9")
    path.write_bytes(b"no database at all" * 100)
    with pytest.raises(TranscriptUnreadable):
        OPENCODE.load(path, "ses_1")
    assert list(OPENCODE.find(SearchScope({}, tmp_path, ()))) == []


# -- discovery


def test_sessions_of_the_project_are_found_newest_first(tmp_path: Path) -> None:
    story = STORY[1:]  # without a start, which names a folder
    placed("opencode", story[:2], native="ses_old", home=tmp_path)
    placed("opencode", story, native="ses_api", cwd="/src/shop/api", home=tmp_path)
    placed("opencode", story, native="ses_else", cwd="/src/other", home=tmp_path)
    child = [s.Start(NOW + 50, "start", "ses_child", "/src/shop", parent="ses_api"), *story]
    placed("opencode", child, native="ses_child", home=tmp_path)
    found = list(OPENCODE.find(SearchScope({}, tmp_path, (Path("/src/shop"),))))
    assert [(one.native, one.cwd, one.parent) for one in found] == [
        ("ses_child", "/src/shop", "ses_api"),
        ("ses_api", "/src/shop/api", ""),
        ("ses_old", "/src/shop", ""),
    ]
    assert found[-1].changed == NOW + 1
    elsewhere = SearchScope({}, tmp_path, (Path("/src/none"),))
    assert list(OPENCODE.find(elsewhere)) == []
    moved = SearchScope({"XDG_DATA_HOME": str(tmp_path / ".local/share")}, tmp_path / "empty", ())
    assert len(list(OPENCODE.find(moved))) == 4
    assert OPENCODE.retention(moved) is None


@pytest.mark.parametrize(
    ("told", "locks", "alive", "sign"),
    [
        (STORY, [], False, "crashed"),
        (STORY, [77], False, "crashed"),
        (STORY, [77], True, "alive"),
        (STORY, None, False, ""),
        (STORY[:17], [], False, "ended"),
        (STORY[:17], [77], True, ""),
    ],
)
def test_locks_tell_whether_the_process_lives(
    tmp_path: Path, told: list[s.Step], locks: list[int] | None, alive: bool, sign: str
) -> None:
    placed("opencode", told, native="ses_1", home=tmp_path)
    if locks is not None:
        folder = tmp_path / ".local" / "state" / "opencode" / "locks"
        folder.mkdir(parents=True)
        for pid in locks:
            (folder / f"{pid}.lock").mkdir()
            (folder / f"{pid}.lock" / "meta.json").write_text(json.dumps({"pid": pid}))
        (folder / "torn.lock").mkdir()
    found = next(OPENCODE.find(SearchScope({}, tmp_path, (), is_alive=lambda pid, started: alive)))
    assert (found.sign, found.pid) == (sign, 77 if sign == "alive" else 0)


def test_sessions_of_versions_before_the_database_are_found_and_read(tmp_path: Path) -> None:
    made = json.loads(written("opencode", STORY, native="ses_1"))
    storage = tmp_path / ".local" / "share" / "opencode" / "storage"
    files = {"session/p/ses_1.json": made["info"]}
    for message in made["messages"]:
        files[f"message/ses_1/{message['info']['id']}.json"] = message["info"]
        for part in message["parts"]:
            files[f"part/{message['info']['id']}/{part['id']}.json"] = part
    for name, value in files.items():
        (storage / name).parent.mkdir(parents=True, exist_ok=True)
        (storage / name).write_text(json.dumps(value))
    [found] = OPENCODE.find(SearchScope({}, tmp_path, (Path("/src/shop"),)))
    assert found.native == "ses_1"
    assert plain(steps(OPENCODE.load(Path(found.path), found.native))) == STORY
    placed("opencode", STORY, native="ses_1", home=tmp_path)
    [found] = OPENCODE.find(SearchScope({}, tmp_path, (Path("/src/shop"),)))
    assert found.path.endswith("opencode.db")


def test_an_export_and_the_database_are_recognised(tmp_path: Path) -> None:
    data = written("opencode", STORY, native="ses_1")
    assert OPENCODE.recognises(data[:65_536], "x.json")
    assert OPENCODE.recognises(placed("opencode", STORY, home=tmp_path).read_bytes()[:99], "opencode.db")
    assert not OPENCODE.recognises(b'{"info": "of something else"}', "x.json")
    assert not OPENCODE.recognises(b"SQLite format 3\x00", "segue.db")
    assert recognise(data[:65_536], "x.json") is OPENCODE


def test_a_file_that_was_written_over_was_there_before() -> None:
    part = tool("write", metadata={"exists": True}, filePath="a.py", content="x")
    assert first(s.Result, steps(document(said("assistant", part)))).overwrote
    part = tool("write", metadata={"exists": False}, filePath="a.py", content="x")
    assert not first(s.Result, steps(document(said("assistant", part)))).overwrote
