"""A Cline or Roo task becomes steps, whatever state its documents are in."""

from __future__ import annotations

import json
from typing import Any

import pytest

from segue.agents.cline import AGENT, ROO
from segue.agents.cline.texts import Thinking, Tool, assistant_parts, outcome
from segue.core.runs.steps import (
    Call,
    Change,
    Compact,
    End,
    Fault,
    Given,
    Interrupt,
    Model,
    Plan,
    PlanItem,
    Prompt,
    Report,
    Result,
    Say,
    Settled,
    Start,
    Step,
    Thought,
    Usage,
)
from segue.testing.transcripts import placed, written

T = 1_767_225_600.0
BOTH = pytest.mark.parametrize("agent", [AGENT, ROO], ids=["cline", "roo"])

STORY: list[Step] = [
    Start(T, "start", "run-1", "/src/shop"),
    Prompt(T, "Add a basket.\nAnd test it."),
    Usage(T + 3, "u1", 1200, 30, cost=0.25),
    Say(T + 4, "I begin with the model."),
    Call(T + 5, "c1", "execute_command", "run", "make test", "make test"),
    Result(T + 6, "c1", False, 2, "1 failed"),
    Call(T + 7, "c2", "", "edit", "basket.py\n<content>x</content> = 1", "", ("basket.py",)),
    Result(T + 8, "c2", True, None, "saved"),
    Call(T + 9, "c3", "read_file", "read", "basket.py", "", ("basket.py",)),
    Result(T + 10, "c3", False, None, "not found"),
    Thought(T + 10, "A list will do."),
    Call(
        T + 10,
        "c5",
        "",
        "edit",
        "",
        "",
        ("basket.py",),
        changes=(Change("basket.py", "edit", "x = 0\ny = 0", "x = 1"),),
    ),
    Interrupt(T + 10, "Not there.", "c5"),
    Prompt(T + 10, "Not there.", "refusal"),
    Result(T + 10, "c5"),
    Call(T + 10, "c6", "execute_command", "run", "npm run dev", "npm run dev"),
    Result(T + 10, "c6", None, None, "listening", process="npm run dev"),
    Settled(T + 10, "npm run dev", None, "GET / 500"),
    Prompt(T + 10, "/newtask and go on", "command"),
    Plan(T + 11, (PlanItem("Model", "done"), PlanItem("View", "active"), PlanItem("Ship"))),
    Compact(T + 12, "What was done.", "auto", 9000),
    Fault(T + 13, "overloaded"),
    Interrupt(T + 14, "user"),
    Start(T + 45, "resume"),
    Prompt(T + 45, "Go on."),
    Call(T + 50, "c4", "execute_command", "run", "sleep 100", "sleep 100"),
]


def read(record: bytes, agent: Any = AGENT) -> list[Step]:
    return list(agent.reader().read(record))


def api(*messages: tuple[str, Any]) -> bytes:
    return json.dumps([{"role": role, "content": content} for role, content in messages]).encode()


def ui(*records: dict[str, Any]) -> bytes:
    return json.dumps([{"ts": (T + at) * 1000, **one} for at, one in enumerate(records)]).encode()


def texts(*parts: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": part} for part in parts]


def kinds(steps: list[Step]) -> list[str]:
    return [type(step).__name__ for step in steps]


def comparable(steps: list[Step]) -> list[Any]:
    """Without what the formats have no place for: keys, ids of XML tools, milliseconds."""
    found: list[Any] = []
    for step in steps:
        match step:
            case Call(_, _, _, "plan") | Result(_, _, _, _, "Todo list updated successfully."):
                continue
            case Call(_, _, _, act, _, command, paths):
                found.append(("call", act, command, paths, step.changes))
            case Result(_, _, ok, code, text):
                found.append(("result", ok, code, text.strip(), step.process))
            case Settled(_, process, ok, text):
                found.append(("settled", process, ok, text))
            case Prompt(_, text, how):
                found.append(("prompt", text, how))
            case Usage(_, _, context, output, _, cost):
                found.append(("usage", context, output, cost))
            case Start(_, how):
                found.append(("start", how))
            case Plan(_, items):
                found.append(("plan", [(item.text, item.state) for item in items]))
            case Compact(_, summary):
                found.append(("compact", summary))
            case Model():
                continue
            case _:
                found.append((type(step).__name__, getattr(step, "text", "")))
    return found


@BOTH
def test_what_is_written_is_read_again(agent):
    steps = read(written(agent.name, STORY), agent)
    expected = comparable(STORY)
    got = comparable(steps)
    for one in expected:
        if one[0] == "result" and one[2] is None and one[1] is False:
            assert any(other[0] == "result" and one[3] in other[3] for other in got)
        else:
            assert one in got, one
    assert sum(one[0] == "call" for one in got) == 6
    assert sum(one[0] == "prompt" for one in got) == 4
    assert [step.at for step in steps] == sorted(step.at for step in steps)


@BOTH
def test_a_command_without_a_result_stays_pending(agent):
    steps = read(written(agent.name, STORY), agent)
    results = {step.id for step in steps if isinstance(step, Result)}
    assert [step.command for step in steps if isinstance(step, Call) and step.id not in results] == [
        "sleep 100"
    ]


@BOTH
def test_a_folder_a_file_of_it_and_the_steps_say_the_same(agent, tmp_path):
    path = placed(agent.name, STORY, home=tmp_path)
    from_file = read(agent.load(path, "run-1"), agent)
    assert read(agent.load(path.parent, ""), agent) == from_file
    assert read(agent.load(path.with_name("ui_messages.json"), ""), agent) == from_file
    assert from_file[0] == Start(T, "start", "run-1", "/src/shop")


@BOTH
@pytest.mark.parametrize("name", ["api_conversation_history.json", "ui_messages.json"])
def test_either_document_alone_tells_the_task(agent, name, tmp_path):
    path = placed(agent.name, STORY, home=tmp_path).with_name(name)
    lone = tmp_path / "elsewhere" / name
    lone.parent.mkdir()
    lone.write_bytes(path.read_bytes())
    other = lone.with_name("copy.json")
    other.write_bytes(path.read_bytes())
    for one in (lone, other):
        assert agent.recognises(one.read_bytes()[:65_536], one.name) or name.startswith("ui")
        steps = read(agent.load(one, ""), agent)
        assert [step.text for step in steps if isinstance(step, Prompt)] == [
            "Add a basket.\nAnd test it.",
            "Not there.",
            "/newtask and go on",
            "Go on.",
        ]


def test_xml_tools_are_parted_from_what_is_said():
    text = (
        "<thinking>hm</thinking>First.\n<write_to_file>\n<path>a.html</path>\n"
        "<content>\n<b></content> in it</b>\n</content>\n<line_count>1</line_count>\n</write_to_file>\n"
        "Then <read_file> in words.\n<read_file>\n<args>\n<file>\n<path>a.py</path>\n</file>\n"
        "<file><path>b.py</path></file>\n</args>\n</read_file>"
    )
    thought, first, write, then, reading = assistant_parts(text)
    assert thought == Thinking("hm")
    assert (first, then) == ("First.", "Then <read_file> in words.")
    assert isinstance(write, Tool)
    assert write.arguments == {"path": "a.html", "content": "<b></content> in it</b>", "line_count": "1"}
    (call,) = [
        step
        for step in read(api(("assistant", texts(text))))
        if isinstance(step, Call) and step.act == "read"
    ]
    assert call.paths == ("a.py", "b.py")
    assert isinstance(reading, Tool)


@pytest.mark.parametrize(
    ("xml", "act", "command", "paths", "note"),
    [
        ("<execute_command><command>ls -l</command></execute_command>", "run", "ls -l", (), ""),
        ("<write_to_file><path>a</path><content>x</content></write_to_file>", "create", "", ("a",), ""),
        ("<replace_in_file><path>a</path><diff>x</diff></replace_in_file>", "edit", "", ("a",), ""),
        ("<apply_diff><path>a</path><diff>x</diff></apply_diff>", "edit", "", ("a",), ""),
        ("<search_files><path>s</path><regex>x</regex></search_files>", "search", "", (), ""),
        ("<list_files><path>.</path></list_files>", "search", "", (".",), ""),
        ("<new_task><mode>code</mode><message># Do it\nnow</message></new_task>", "agent", "", (), "Do it"),
        (
            "<use_mcp_tool><server_name>s</server_name><tool_name>t</tool_name></use_mcp_tool>",
            "other", "", (), "s/t",
        ),
        ("<ask_followup_question><question>Why?</question></ask_followup_question>", "ask", "", (), "Why?"),
        ("<execute_command><command>make te", "run", "make te", (), ""),
    ],
)  # fmt: skip
def test_a_tool_is_told_by_what_it_does(xml, act, command, paths, note):
    _, call = read(api(("assistant", texts(xml))))
    assert isinstance(call, Call)
    assert (call.act, call.command, call.paths, call.note) == (act, command, paths, note)


def test_how_the_agent_speaks_through_tools_is_not_a_call():
    steps = read(
        api(
            ("assistant", texts("<attempt_completion><result>It is done.</result></attempt_completion>")),
            (
                "assistant",
                [{"type": "tool_use", "id": "a", "name": "plan_mode_respond", "input": {"response": "So?"}}],
            ),
            (
                "assistant",
                texts("<update_todo_list><todos>\n[x] One\n[-] Two\n[ ] Three\n</todos></update_todo_list>"),
            ),
        )
    )
    assert kinds(steps) == ["Start", "Say", "End", "Say", "End", "Call", "Plan"]
    assert steps[2] == End(0.0, "turn", "It is done.")
    assert [item.state for item in steps[-1].items] == ["done", "active", "pending"]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("tool", "text", "expected"),
    [
        ("execute_command", "Command failed with exit code 3.\nOutput:\nbad", (False, 3, "bad")),
        ("execute_command", "Command executed successfully (exit code 0).\nOutput:\nok", (True, 0, "ok")),
        ("execute_command", "Command executed.\nOutput:\nok", (None, None, "ok")),
        ("execute_command", "Command executed in terminal  within directory '/x'. Exit code: 1\nOutput:\nx",
         (False, 1, "x")),
        ("execute_command", "Command executed.", (None, None, "")),
        ("read_file", "Command executed.\nin a file", (True, None, "Command executed.\nin a file")),
        ("read_file", "The tool execution failed with the following error:\n<error>\nno\n</error>",
         (False, None, "no")),
        ("read_file", "The tool execution failed with the following error:\n<error>\nError reading file: "
         '{"name":"Error","message":"not found: C:\\\\a","stack":"at x"}\n</error>',
         (False, None, "Error reading file: not found: C:\\a")),
        ("replace_in_file", "The tool execution failed with the following error:\n<error>\n"
         "The SEARCH block:\nraise Error('failed')\n...does not match anything in the file.\n\n</error>",
         (False, None, "The SEARCH block does not match anything in the file.")),
        ("read_file", "The user denied this operation.", (False, None, "The user denied this operation.")),
        ("write_to_file", "The content was successfully saved to a.\n\n<final_file_content path='a'>\nx\n"
         "</final_file_content>\n\nIMPORTANT: For any future changes to this file, use it.",
         (True, None, "The content was successfully saved to a.")),
        ("read_file", "", (None, None, "")),
        ("execute_command", "Command executed in terminal within '/x'. Command execution was not successful, "
         "inspect the cause and adjust as needed.\nExit code: 3\nOutput:\nbad", (False, 3, "bad")),
        ("execute_command", "Command executed in terminal within '/x'. Process terminated by signal SIGKILL"
         " - core dump possible\nOutput:\nhalf", (False, None, "half")),
        ("execute_command", "Command executed in '/x'. Exit code: 1\n\nOutput (2MB) persisted.",
         (False, 1, "Output (2MB) persisted.")),
        ("execute_command", "The command was terminated after exceeding a user-configured 9s timeout.",
         (False, None, "The command was terminated after exceeding a user-configured 9s timeout.")),
        ("execute_command", "Working directory '/x' does not exist.",
         (False, None, "Working directory '/x' does not exist.")),
        ("execute_command", "Command is still running in the user's terminal.\nHere's the output so far:\n"
         "half\n\nYou will be updated on the terminal status and new output in the future.",
         (None, None, "half")),
        ("execute_command", "Command is running in the background. You can proceed with other tasks.\n"
         "Log file: /tmp/x.log\nOutput so far:\nhalf", (None, None, "half")),
        ("execute_command", "Command is still running in terminal  from '/x'.\nHere's the output so far:\n"
         "half\n\n<user_message>\nEnough.\n</user_message>", (None, None, "half")),
        ("execute_command", "Command cancelled. \nOutput captured before cancellation:\nhalf",
         (None, None, "half")),
        ("execute_command", '{"status":"approved","feedback":"Go."}\n\nCommand executed in terminal. '
         "Exit code: 2\nOutput:\nbad", (False, 2, "bad")),
        ("read_file", '{"status":"error","message":"The tool execution failed","error":"no such file"}',
         (False, None, "no such file")),
        ("write_to_file", "Access to a is blocked by the .clineignore file settings.",
         (False, None, "Access to a is blocked by the .clineignore file settings.")),
    ],
)  # fmt: skip
def test_a_result_says_how_it_went(tool, text, expected):
    assert outcome(tool, text) == expected


def test_an_answer_is_for_the_last_call_of_its_tool_not_for_one_that_was_interrupted():
    def run(command):
        return texts(f"<execute_command><command>{command}</command></execute_command>")

    steps = read(
        api(
            ("assistant", run("make")),
            ("user", texts("[TASK RESUMPTION] This task was interrupted.")),
            ("assistant", run("cat <<E\nx\nE")),
            ("user", texts("[execute_command for 'cat <<E\nx\nE'] Result:", "x")),
        )
    )
    first, second = [step.id for step in steps if isinstance(step, Call)]
    assert [step.id for step in steps if isinstance(step, Result)] == [second] != [first]


@pytest.mark.parametrize(
    ("denied", "feedback"),
    [
        ("The user denied this operation.", ""),
        ("The user denied this operation and provided the following feedback:\n<feedback>\nNo.\n</feedback>",
         "No."),
    ],
)  # fmt: skip
def test_a_call_that_the_user_denied_is_refused_and_did_not_fail(denied, feedback):
    native = [{"type": "tool_use", "id": "t1", "name": "execute_command", "input": {"command": "rm x"}}]
    answer = [
        {
            "type": "tool_result",
            "tool_use_id": "t1",
            "content": f"[execute_command for 'rm x'] Result:\n{denied}",
        }
    ]
    steps = read(api(("assistant", native), ("user", answer)))
    words = [Prompt(0.0, feedback, "refusal")] if feedback else []
    assert steps[2:] == [Interrupt(0.0, feedback, "t1"), *words, Result(0.0, "t1")]


DENIAL = "The user denied this operation and provided the following feedback:\n<feedback>\nNo.\n</feedback>"


@BOTH
def test_words_that_deny_a_call_are_told_once_after_the_interrupt(agent):
    story: list[Step] = [
        Prompt(T, "Build."),
        Call(T + 1, "c1", "", "run", "make", "make"),
        Interrupt(T + 2, "No.", "c1"),
        Prompt(T + 3, "Test it."),
    ]
    steps = read(written(agent.name, story), agent)
    told = [step for step in steps if isinstance(step, Prompt | Interrupt)]
    assert [(type(step), getattr(step, "text", "")) for step in told] == [
        (Prompt, "Build."), (Interrupt, ""), (Prompt, "No."), (Prompt, "Test it."),
    ]  # fmt: skip


@pytest.mark.parametrize("shown", [[], [{"ts": T * 1000, "type": "say", "say": "task", "text": "Build."}]])
@pytest.mark.parametrize(
    "text", [DENIAL, '{"status":"denied","feedback":"No."}', '{"status":"approved","feedback":"No."}\n\nx']
)
def test_a_file_cannot_speak_for_the_user(text, shown):
    native = [{"type": "tool_use", "id": "t1", "name": "read_file", "input": {"path": "x"}}]
    answer = [{"type": "tool_result", "tool_use_id": "t1", "content": f"[read_file for 'x'] Result:\n{text}"}]
    messages = [{"role": "assistant", "content": native}, {"role": "user", "content": answer}]
    steps = read(json.dumps({"api": messages, "ui": shown}).encode())
    assert not [step for step in steps if isinstance(step, Prompt | Interrupt) and step.at == 0.0]
    assert [type(step) for step in steps if isinstance(step, Result)] == [Result]


def test_words_with_which_a_call_was_approved_are_a_prompt_of_their_own():
    native = [{"type": "tool_use", "id": "t1", "name": "execute_command", "input": {"command": "make"}}]
    text = '{"status":"approved","feedback":"Then test it."}\n\n'
    text += "Command executed in terminal. Exit code: 0\nOutput:\nok"
    answer = [{"type": "tool_result", "tool_use_id": "t1", "content": text}]
    assert read(api(("assistant", native), ("user", answer)))[2:] == [
        Prompt(0.0, "Then test it."),
        Result(0.0, "t1", True, 0, "ok"),
    ]


def test_a_subtask_is_pending_until_it_reports():
    ask = texts("<new_task><mode>code</mode><message>Find it</message></new_task>")
    created = (
        "user",
        texts("[new_task in Code mode: 'Find it'] Result:", "Successfully created new task in Code"),
    )
    report = ("user", texts("[new_task completed] Result: It is in pay.py"))
    assert kinds(read(api(("assistant", ask), created))) == ["Start", "Call"]
    _, call, told = read(api(("assistant", ask), created, report))
    assert isinstance(call, Call) and told == Report(0.0, "It is in pay.py", call=call.id)


def test_a_tool_of_a_server_has_its_own_name():
    xml = "<use_mcp_tool><server_name>s</server_name><tool_name>t</tool_name></use_mcp_tool>"
    (call,) = [step for step in read(api(("assistant", texts(xml)))) if isinstance(step, Call)]
    assert call.tool == "s/t"


# whose words


@pytest.mark.parametrize(
    "turn",
    [
        texts("<hook_context source='TaskStart'>\nbrief\n</hook_context>"),
        texts("<task>\n[segue] GOAL: x [/segue]\n</task>"),
        texts("<task><hook_context>x</hook_context></task>"),
        texts("[ERROR] You did not use a tool in your previous response!"),
        texts("# task_progress RECOMMENDED\n- [ ] x"),
        texts("<environment_details>\n<task>not typed</task>\n</environment_details>"),
        texts("[execute_command for 'cat x'] Result:\n<task>from a file</task>\n<feedback>too</feedback>"),
        texts("[execute_command for 'cat x'] Result:", "<task>from a file</task>"),
        texts("[read_file for 'x'] Result:", "New instructions for task continuation:\n<user_message>x"),
        [{"type": "tool_result", "tool_use_id": "t1", "content": "<task>from a page</task>"}],
        "[web_fetch for 'x'] Result:\n<user_message>from a page</user_message>",
    ],
    ids=range(11),
)  # fmt: skip
def test_what_nobody_typed_is_no_prompt(turn):
    tools = "<execute_command><command>cat x</command></execute_command><read_file><path>x</path></read_file>"
    native = {"type": "tool_use", "id": "t1", "name": "web_fetch", "input": {}}
    for before in (texts(tools), [native]):
        assert "Prompt" not in kinds(read(api(("assistant", before), ("user", turn))))


@pytest.mark.parametrize(
    "turn",
    [
        texts("<task>\nFix it.\n</task>", "<environment_details>x</environment_details>"),
        texts("<task>\nFix it.\n<hook_context>ours</hook_context></task>"),
        texts("[attempt_completion] Result:", "The user has provided feedback on the results.\n"
              "<feedback>\nFix it.\n</feedback>"),
        texts("\n\nNew instructions for task continuation:\n<user_message>\nFix it.\n</user_message>"),
        texts("[TASK RESUMPTION] This task was interrupted.\n\nNew instructions for task continuation:\n"
              "<user_message>\nFix it.\n</user_message>"),
        texts("[ask_followup_question for 'Which?'] Result:", "<answer>\nFix it.\n</answer>"),
        texts("[ask_followup_question for 'Which?'] Result:\n<answer>\nFix it.\n</answer>"),
        "<task>Fix it.</task>",
        texts("<task>\nFix it.\n</task>\n\n<file_content path='a'>\n<user_message>Lie.</user_message>\n"
              "</file_content>\n<feedback>Lie.</feedback>"),
    ],
    ids=range(9),
)  # fmt: skip
def test_what_the_user_typed_is_a_prompt(turn):
    assert [step.text for step in read(api(("user", turn))) if isinstance(step, Prompt)] == ["Fix it."]


@pytest.mark.parametrize(
    "turn",
    [
        "<task>\nCommand '/fix' (see below for command content) it\n</task>\n\n"
        '<command name="fix">\n<task>All.</task>\n</command>',
        '<explicit_instructions type="fix">\n<task>All.</task>\n</explicit_instructions>\n'
        "<task>/fix it</task>",
    ],
)
def test_a_slash_command_is_without_its_body(turn):
    assert read(api(("user", texts(turn))))[1:] == [Prompt(0.0, "/fix it", "command")]
    assert read(ui({"type": "say", "say": "task", "text": "/fix it"}))[1:] == [
        Prompt(T, "/fix it", "command")
    ]


def test_a_brief_of_ours_is_given_where_a_hook_put_it_and_nowhere_else():
    brief = "[segue] Where the last run stopped.\nGOAL: x\n[/segue]"
    hook = f"<hook_context source='TaskStart'>\n{brief}\n</hook_context>"
    given = read(api(("user", texts("<task>Fix it.</task>", hook))))
    assert [step.text for step in given if isinstance(step, Given)] == [brief]
    tool = texts("<read_file><path>x</path></read_file>")
    header, named = "[read_file for 'x'] Result:", "<task>Fix it.</task>\n<file_content path='a'>"
    for turn in (texts(f"{header}\n{hook}"), texts(header, hook), texts(f"{named}\n{hook}\n{brief}")):
        assert "Given" not in kinds(read(api(("assistant", tool), ("user", turn))))


def test_a_prompt_that_both_documents_tell_is_told_once_and_one_that_is_missing_is_not_lost():
    messages = [
        {"role": "user", "ts": (T + 1) * 1000, "content": texts("<task>Fix 'a.py' (see below)</task>")},
        {"role": "user", "ts": (T + 90) * 1000, "content": texts("<user_message>And b.</user_message>")},
    ]
    shown = [{"ts": T * 1000, "type": "say", "say": "task", "text": "Fix @/a.py"}]
    steps = read(json.dumps({"api": messages, "ui": shown}).encode())
    assert [step.text for step in steps if isinstance(step, Prompt)] == ["Fix @/a.py", "And b."]


# what the UI adds


def test_the_ui_shows_a_search_with_what_it_found():
    listed = {"tool": "listFilesTopLevel", "path": "shop", "content": "cart.py\npay.py"}
    steps = read(
        ui(
            {"type": "say", "say": "task", "text": "continue"},
            {"type": "say", "say": "tool", "text": json.dumps(listed)},
        )
    )
    assert kinds(steps) == ["Start", "Prompt", "Call", "Result"]
    assert (steps[2].act, steps[2].paths, steps[2].text) == ("search", ("shop",), "")  # type: ignore[union-attr]
    assert steps[3] == Result(T + 1, steps[2].id, True, None, "cart.py\npay.py")  # type: ignore[union-attr]


def test_the_ui_alone_tells_calls_and_what_they_gave():
    request = {
        "request": "[execute_command for 'make'] Result:\nCommand failed with exit code 2.\nOutput:\nbad"
    }
    steps = read(
        ui(
            {"type": "say", "say": "task", "text": "Build."},
            {
                "type": "say",
                "say": "api_req_started",
                "text": '{"request":"x","tokensIn":5,"cacheReads":7,"cost":0.5}',
            },
            {"type": "say", "say": "text", "text": "I build."},
            {"type": "ask", "ask": "command", "text": "make"},
            {"type": "ask", "ask": "command_output", "text": "bad"},
            {"type": "say", "say": "api_req_started", "text": json.dumps(request)},
            {"type": "say", "say": "tool", "text": '{"tool":"editedExistingFile","path":"a.py","diff":"x"}'},
            {"type": "say", "say": "completion_result", "text": "Built.HAS_CHANGES"},
            {"type": "ask", "ask": "completion_result", "text": ""},
        )
    )
    assert kinds(steps) == [
        "Start", "Prompt", "Usage", "Say", "Call", "Result", "Call", "Say", "End",
    ]  # fmt: skip
    assert steps[2] == Usage(T + 1, steps[2].key, 12, 0, 0, 0.5, 5, 7)  # type: ignore[union-attr]
    assert steps[5] == Result(T + 5, steps[4].id, False, 2, "bad")  # type: ignore[union-attr]
    assert steps[6].paths == ("a.py",)  # type: ignore[union-attr]
    assert steps[8] == End(T + 7, "turn", "Built.")


def test_a_task_that_is_only_opened_is_not_resumed():
    first = {"type": "say", "say": "task", "text": "Build."}
    offer = {"type": "ask", "ask": "resume_task"}
    assert kinds(read(ui(first, offer))) == ["Start", "Prompt"]
    steps = read(ui(first, offer, {"type": "say", "say": "user_feedback", "text": "Go on."}))
    assert steps[2:] == [Start(T + 2, "resume"), Prompt(T + 2, "Go on.")]


@pytest.mark.parametrize(
    ("record", "step"),
    [
        ({"type": "ask", "ask": "api_req_failed", "text": "429"}, Fault(T + 1, "429")),
        ({"type": "say", "say": "api_req_retry_delayed", "text": "x"}, Fault(T + 1, "x", retrying=True)),
        ({"type": "say", "say": "subtask_result", "text": "Found."}, Report(T + 1, "Found.")),
        ({"type": "say", "say": "task_progress", "text": "- [ ] A"}, Plan(T + 1, (PlanItem("A"),))),
        (
            {"type": "say", "say": "condense_context",
             "contextCondense": {"summary": "So far.", "prevContextTokens": 9}},
            Compact(T + 1, "So far.", "auto", 9),
        ),
        (
            {"type": "say", "say": "api_req_started", "text": '{"cancelReason":"user_cancelled"}'},
            Interrupt(T + 1, "user_cancelled"),
        ),
    ],
)  # fmt: skip
def test_a_record_of_the_ui_is_a_step(record, step):
    assert read(ui({"type": "say", "say": "task", "text": "Build."}, record))[2:] == [step]


def test_what_condensing_cut_off_is_told_by_the_ui():
    messages = [
        {"role": "user", "ts": T * 1000, "content": texts("<task>Build.</task>")},
        {"role": "assistant", "ts": (T + 50) * 1000, "content": "So far.", "isSummary": True},
        {"role": "assistant", "ts": (T + 60) * 1000, "content": texts("I go on.")},
    ]
    shown = json.loads(
        ui(
            {"type": "say", "say": "text", "text": "Build."},
            {"type": "say", "say": "text", "text": "I begin."},
            {"type": "ask", "ask": "tool", "text": '{"tool":"newFileCreated","path":"a.py","content":"x"}'},
        )
    )
    shown += [{"ts": (T + 59) * 1000, "type": "say", "say": "text", "text": "I go on."}]
    steps = read(json.dumps({"api": messages, "ui": shown}).encode())
    assert [step.text for step in steps if isinstance(step, Say)] == ["I begin.", "I go on."]
    assert [step.paths for step in steps if isinstance(step, Call)] == [("a.py",)]


def test_the_checklist_file_is_the_plan_in_the_end():
    task = {"api": [{"role": "user", "content": "<task>x</task>"}], "focus": "# List\n- [x] A\n- [ ] B\n"}
    assert read(json.dumps(task).encode())[-1] == Plan(0.0, (PlanItem("A", "done"), PlanItem("B")))


def test_records_that_say_nothing_are_skipped():
    reader = AGENT.reader()
    records = [{"ts": 1, "type": "say"}, {"ts": 2, "type": "say", "say": "made_up"}, {}]
    list(reader.read(ui({"type": "say", "say": "task", "text": "x"}, *records)))
    assert (reader.skipped, reader.malformed) == (3, 0)
