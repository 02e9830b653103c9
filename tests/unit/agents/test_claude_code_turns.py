"""Where a turn of Claude Code ends: several records say so, and none of them is always there; and what stands
before the next one after a compaction."""

from __future__ import annotations

import json
from typing import Any

import pytest

from segue.agents.claude_code import AGENT
from segue.core.runs.steps import Compact, End, Prompt, Say, Start, Step, Thought

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


@pytest.mark.parametrize(
    "foot",
    [
        "\n\nIf you need specific details from before compaction (like exact code snippets, error messages, "
        "or content you generated), read the full transcript at: /home/u/x.jsonl",
        "\nPlease continue the conversation from where we left it off without asking the user any further "
        "questions. Continue with the last task that you were asked to work on.",
        "\n\nIf you need specific details from before compaction, read the full transcript at: /x.jsonl\n\n"
        "Recent messages are preserved verbatim.\nContinue the conversation from where it left off.",
    ],
)
def test_what_the_agent_writes_around_a_summary_is_no_part_of_it(foot: str) -> None:
    head = (
        "This session is being continued from a previous conversation that ran out of context. "
        "The summary below covers the earlier portion of the conversation.\n\nSummary:\n"
    )
    body = "1. Primary Request:\n   The parser.\n\n2. Summary:\n   If you need it, ask."
    message = {"role": "user", "content": f"{head}{body}{foot}"}
    assert told(line("user", message=message, isCompactSummary=True)) == [Compact(AT, body)]
