"""Commands of Cline that were under way, or whose results it had not sent yet."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.unit.agents.test_cline import T, kinds, read, texts, ui

from segue.core.runs.steps import Call, Result, Say


def test_a_call_in_an_answer_that_is_under_way_is_told_by_the_ui():
    """Cline runs a command as soon as it stands in the answer, which it writes down when it has ended."""
    asked = {"type": "say", "say": "api_req_started", "text": '{"request":"x"}'}
    listing = "<list_files>\n<path>.</path>\n</list_files>"
    messages = [
        {"role": "user", "ts": (T + 1) * 1000, "content": texts("<task>Build.</task>")},
        {"role": "assistant", "ts": (T + 3) * 1000, "content": texts(f"I look.\n{listing}")},
        {"role": "user", "content": texts("[list_files for '.'] Result:\na.py")},
    ]
    shown = json.loads(
        ui(
            {"type": "say", "say": "task", "text": "Build."},
            asked,
            {"type": "say", "say": "text", "text": "I look.", "conversationHistoryIndex": 0},
            {"type": "say", "say": "tool", "text": '{"tool":"listFilesTopLevel","path":"."}'},
            asked,
            {"type": "say", "say": "text", "text": "Now I build.", "conversationHistoryIndex": 2},
            {"type": "say", "say": "command", "text": "make all", "conversationHistoryIndex": 2},
        )
    )
    steps = read(json.dumps({"api": messages, "ui": shown}).encode())
    assert [step.text for step in steps if isinstance(step, Say)] == ["I look.", "Now I build."]
    assert [step.command for step in steps if isinstance(step, Call)] == ["", "make all"]
    assert len([step for step in steps if isinstance(step, Result)]) == 1, "the command has none yet"
    messages.append({"role": "assistant", "content": texts("Now I build.\n<execute_command>\n"
                     "<command>make all</command>\n</execute_command>")})  # fmt: skip
    assert kinds(read(json.dumps({"api": messages, "ui": shown}).encode())) == kinds(steps)


@pytest.mark.parametrize("is_written", [False, True], ids=["while the answer comes", "after the answer"])
def test_the_output_of_a_command_that_has_ended_is_its_result_before_the_next_request(is_written):
    """Cline writes results to its API history with the next request."""
    messages = [{"role": "user", "ts": T * 1000, "content": texts("<task>Build.</task>")}]
    command = "<execute_command>\n<command>make all</command>\n</execute_command>"
    if is_written:
        messages.append({"role": "assistant", "content": texts(f"I build.\n{command}")})
    command_shown = {"type": "say", "say": "command", "text": "make all", "commandCompleted": True}
    shown = [
        {"type": "say", "say": "task", "text": "Build."},
        {"type": "say", "say": "api_req_started", "text": '{"request":"x"}'},
        {"type": "say", "say": "text", "text": "I build."},
        command_shown,
        {"type": "ask", "ask": "command_output", "text": "cc a.c\n"},
        {"type": "say", "say": "command_output", "text": "2 warnings"},
    ]

    def read_of(*shown):
        return read(json.dumps({"api": messages, "ui": json.loads(ui(*shown))}).encode())

    steps = read_of(*shown)
    (call,) = (step for step in steps if isinstance(step, Call))
    (result,) = (step for step in steps if isinstance(step, Result))
    assert (result.id, result.ok, result.exit, result.text) == (call.id, None, None, "cc a.c\n2 warnings")
    del command_shown["commandCompleted"]
    assert not [step for step in read_of(*shown) if isinstance(step, Result)], "it has not ended"


def test_a_command_that_is_shown_last_and_has_printed_nothing_has_no_result():
    command = "<execute_command>\n<command>make all</command>\n</execute_command>"
    messages = [
        {"role": "user", "ts": T * 1000, "content": texts("<task>Build.</task>")},
        {"role": "assistant", "ts": T * 1000, "content": texts(command)},
    ]
    shown: list[dict[str, Any]] = [
        {"type": "say", "say": "task", "text": "Build."},
        {"type": "say", "say": "command", "text": "make all", "commandCompleted": True},
        {"type": "say", "say": "text", "text": "That is built."},
    ]
    for last, results in ((2, 0), (3, 1)):
        steps = read(json.dumps({"api": messages, "ui": json.loads(ui(*shown[:last]))}).encode())
        assert sum(isinstance(step, Result) for step in steps) == results


@pytest.mark.parametrize("shows", [1, 2], ids=["as long as it is not shown", "when it is shown"])
def test_the_output_of_a_command_is_its_result_after_a_resume_and_of_no_later_command(shows):
    """A resumed task asks the model without the result of the command before it."""
    command = "<execute_command>\n<command>make all</command>\n</execute_command>"
    messages = [
        {"role": "user", "ts": T * 1000, "content": texts("<task>Build.</task>")},
        {"role": "assistant", "ts": (T + 2) * 1000, "content": texts(f"I build.\n{command}")},
        {"role": "user", "ts": (T + 5) * 1000, "content": texts("[TASK RESUMPTION] It was interrupted.")},
        {"role": "assistant", "ts": (T + 7) * 1000, "content": texts(f"Once more.\n{command}")},
    ]
    asked = {"type": "say", "say": "api_req_started", "text": '{"request":"x"}'}
    shown: list[dict[str, Any]] = [
        {"type": "say", "say": "task", "text": "Build."},
        asked,
        {"type": "say", "say": "command", "text": "make all", "commandCompleted": True},
        {"type": "say", "say": "command_output", "text": "2 warnings"},
        {"type": "ask", "ask": "resume_task"},
        asked,
        {"type": "say", "say": "command", "text": "make all"},
    ]
    task = {"api": messages, "ui": json.loads(ui(*(shown if shows == 2 else shown[:-1])))}
    steps = read(json.dumps(task).encode())
    first, second = (step.id for step in steps if isinstance(step, Call))
    results = [(step.id, step.text) for step in steps if isinstance(step, Result)]
    assert second not in [id for id, _ in results]
    if shows == 2:
        assert results == [(first, "2 warnings")]
        places = [steps.index(step) for step in steps if isinstance(step, Call | Result)]
        assert [type(steps[place]) for place in places] == [Call, Result, Call]
