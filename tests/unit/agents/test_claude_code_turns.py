"""Where a turn of Claude Code ends: several records say so, and none of them is always there."""

from __future__ import annotations

import json
from typing import Any

import pytest

from segue.agents.claude_code import AGENT
from segue.core.runs.digest import fold
from segue.core.runs.steps import End, Prompt, Recap, Say, Start, Step

AT = 1_700_000_000.0
STAMP = "2023-11-14T22:13:20.000Z"


def line(type: str, **fields: Any) -> bytes:
    return json.dumps({"type": type, "timestamp": STAMP, "sessionId": "s1", **fields}).encode()


def said(stop: str | None = None, **block: str) -> bytes:
    content = [block or {"type": "text", "text": "All is done."}]
    return line("assistant", message={"role": "assistant", "content": content, "stop_reason": stop})


def hook(event: str) -> bytes:
    return line("progress", data={"type": "hook_progress", "hookEvent": event, "command": "true"})


def told(*records: bytes) -> list[Step]:
    reader = AGENT.reader()
    return [step for record in records for step in reader.read(record) if not isinstance(step, Start)]


DONE = [Say(AT, "All is done."), End(AT, "turn")]


@pytest.mark.parametrize(
    "sign",
    [line("system", subtype="turn_duration"), line("system", subtype="stop_hook_summary"), hook("Stop")],
)
def test_each_sign_of_a_turns_end_is_one_and_a_second_one_says_nothing_new(sign: bytes) -> None:
    ended = said("end_turn")
    assert told(said(), sign) == told(ended) == told(ended, sign, sign) == DONE
    request = line("user", message={"role": "user", "content": "Go on."})
    assert told(ended, sign, request, ended, sign) == [*DONE, Prompt(AT, "Go on."), *DONE]


def test_a_thought_before_the_last_words_and_a_hook_of_a_call_end_no_turn() -> None:
    thought = said("end_turn", type="thinking", thinking="x")
    large = line("progress", data={"type": "agent_progress", "hookEvent": "Stop", "prompt": "x" * 4_000})
    assert told(thought, hook("PostToolUse"), large, said("tool_use")) == DONE[:1]


def notice(summary: str, result: str = "") -> str:
    found = f"<result>{result}</result>" if result else ""
    return (
        "<task-notification><task-id>1</task-id><tool-use-id>t1</tool-use-id>"
        f"<summary>{summary}</summary>{found}</task-notification>"
    )


def sent(result: str) -> list[bytes]:
    call = {"type": "tool_use", "id": "t1", "name": "Agent", "input": {"description": "Audit", "prompt": "x"}}
    block = {"type": "tool_result", "tool_use_id": "t1", "content": result}
    return [
        line("assistant", message={"role": "assistant", "content": [call]}),
        line("user", message={"role": "user", "content": [block]}),
    ]


def test_a_sub_agent_in_the_background_is_pending_until_a_notice_brings_what_it_found() -> None:
    launched = sent("Async agent launched successfully.\nagentId: a1")
    digest = fold(told(*launched))
    assert list(digest.pending) == ["t1"] and not digest.reports
    text = notice('Agent "Audit" finished', "Two rows overlap.")
    queued = line("attachment", attachment={
        "type": "queued_command", "prompt": text, "commandMode": "task-notification",
    })  # fmt: skip
    for record in (line("user", message={"role": "user", "content": text}), queued):
        digest = fold(told(*launched, record))
        assert not digest.pending and [one.text for one in digest.reports] == ["Two rows overlap."]


def test_a_command_in_the_background_that_ended_is_a_recap() -> None:
    text = notice('Background command "Build" completed (exit code 0)')
    [step] = told(line("user", message={"role": "user", "content": text}))
    assert step == Recap(AT, 'Background command "Build" completed (exit code 0)')
