"""Where a turn of Claude Code ends: several records say so, and none of them is always there."""

from __future__ import annotations

import json
from typing import Any

import pytest

from segue.agents.claude_code import AGENT
from segue.core.runs.steps import End, Prompt, Say, Start, Step, Thought

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
    assert told(thought, hook("PostToolUse"), large, said("tool_use")) == [Thought(AT, "x"), *DONE[:1]]
