"""How agents are started, and what is heard in their output. The real ones are asked in tests/e2e."""

from __future__ import annotations

import json
from typing import Any

import pytest

from segue.agents import agent
from segue.agents.base import AgentOutput, json_objects
from segue.core.supervision.decide import trouble_of
from segue.services.supervision.launchers import launchable

CASES: dict[str, tuple[list[Any], AgentOutput]] = {
    "claude-code": (
        [
            {"type": "system", "subtype": "init", "session_id": "n1"},
            {"type": "result", "is_error": True, "result": "Invalid API key", "api_error_status": 401,
             "session_id": "n1", "total_cost_usd": 0.25},
        ],
        AgentOutput("n1", "Invalid API key", 401, 0.25),
    ),
    "codex": (
        [
            {"type": "thread.started", "thread_id": "n1"},
            {"type": "turn.failed", "error": {"message": "unexpected status 429"}},
        ],
        AgentOutput("n1", "unexpected status 429"),
    ),
    "opencode": (
        [
            {"type": "step_start", "sessionID": "n1", "part": {}},
            {"type": "step_finish", "sessionID": "n1", "part": {"cost": 0.5}},
            {"type": "error", "sessionID": "n1", "error": {"data": {"message": "no key", "statusCode": 401}}},
        ],
        AgentOutput("n1", "no key", 401, 0.5),
    ),
    "gemini-cli": (
        [
            {"type": "init", "session_id": "n1"},
            {"type": "result", "status": "error", "error": {"message": "got status: 429 Too Many"}},
        ],
        AgentOutput("n1", "got status: 429 Too Many", 429),
    ),
    "cline": (
        [
            {"type": "task_started", "taskId": "n1"},
            {"type": "say", "say": "api_req_started", "text": "{}"},
            {"type": "ask", "ask": "api_req_failed", "text": "{}"},
            {"type": "error", "message": '{"message": "401 Incorrect API key", "status": 401}'},
        ],
        AgentOutput("n1", "401 Incorrect API key", 401),
    ),
}  # fmt: skip


RETRIES: dict[str, tuple[str, str]] = {
    "claude-code": (
        '{"type":"system","subtype":"init","session_id":"n1"}\n'
        '{"type":"system","subtype":"api_retry","attempt":1,"max_retries":10,"error_status":null,'
        '"error":"unknown"}',
        '{"type":"assistant","message":{}}',
    ),
    "codex": (
        '{"type":"thread.started","thread_id":"n1"}\n'
        '{"type":"error","message":"Reconnecting... waiting for network '
        '(Connection failed: error sending request)"}',
        '{"type":"item.completed","item":{}}',
    ),
    "opencode": (
        'timestamp=2026-11-16T17:09:00.555Z level=ERROR run=a message="stream error" providerID=x modelID=y '
        'session.id=ses_1 small=false agent=build mode=primary error.error="AI_APICallError: Cannot connect '
        'to API: Unable to connect. Is the computer able to access the url?"',
        '{"type":"step_start","sessionID":"n1","part":{}}',
    ),
    "gemini-cli": (
        "Attempt 1 failed. Retrying with backoff... Error: exception TypeError: fetch failed sending request",
        '{"type":"message","role":"assistant","content":"x"}',
    ),
    "cline": (
        '{"type":"task_started","taskId":"n1"}\n'
        '{"type":"say","say":"error_retry","text":"{\\"attempt\\":1,\\"errorMessage\\":'
        '\\"{\\\\\\"message\\\\\\":\\\\\\"Connection error.\\\\\\"}\\"}"}',
        '{"type":"say","say":"text","text":"x"}',
    ),
}
"""What each agent prints when its model cannot be reached, and a line that it prints when it goes on."""


@pytest.mark.parametrize("name", RETRIES)
def test_that_a_model_cannot_be_reached_is_heard_until_the_agent_goes_on(name: str) -> None:
    refused, goes_on = RETRIES[name]
    launcher = agent(name).launcher  # type: ignore[attr-defined]
    assert trouble_of(launcher.parse_output(f"{refused}\n").retrying) == "unreachable"
    assert launcher.parse_output(f"{refused}\n{goes_on}\n").retrying == ""


def test_a_tool_that_failed_is_no_fault_of_the_run() -> None:
    printed = {"type": "tool_result", "status": "error", "error": {"message": "no such tool"}}
    launcher = agent("gemini-cli").launcher  # type: ignore[attr-defined]
    assert launcher.parse_output(json.dumps(printed)).fault == ""


def test_five_agents_can_be_launched() -> None:
    assert launchable() == {
        "claude-code": "claude",
        "codex": "codex",
        "opencode": "opencode",
        "gemini-cli": "gemini",
        "cline": "cline",
    }


@pytest.mark.parametrize("name", CASES)
def test_what_an_agent_prints_says_its_conversation_and_what_went_wrong(name: str) -> None:
    printed, heard = CASES[name]
    text = "warning: not JSON\n" + "\n".join(json.dumps(one) for one in printed) + '\n{"torn": '
    assert agent(name).launcher.parse_output(text) == heard  # type: ignore[attr-defined]
    assert agent(name).launcher.parse_output("") == AgentOutput()  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", CASES)
def test_a_command_line_holds_the_prompt_and_what_was_asked(name: str) -> None:
    launcher = agent(name).launcher  # type: ignore[attr-defined]
    fresh = launcher.headless("do it", native="n1", resume="", full_access=False, more=["--model", "x"])
    again = launcher.headless("do it", native="", resume="n2", full_access=True, more=[])
    shown = launcher.interactive("do it", resume="n2", more=[])
    assert fresh[0] == launcher.command and "x" in fresh and "n2" not in fresh
    assert " ".join(fresh).endswith("do it") and " ".join(again).endswith("do it")
    assert "n2" in again and len(set(again) - set(fresh)) >= 1
    assert "n2" in shown and shown[-1] == "do it"


@pytest.mark.parametrize(
    ("prompt", "words"),
    [
        ("make  it", ["make", "", "it"]),
        ("exit 1 of 2.5: x", ["exit\u00a01", "of", "2.5:", "x"]),
        ("12 files", ["\u00a012", "files"]),
        ("a\n- b --c", ["a\n-", "b", "--c"]),
    ],
)
def test_opencode_is_given_words_that_it_joins_to_the_prompt(prompt: str, words: list[str]) -> None:
    launcher = agent("opencode").launcher  # type: ignore[attr-defined]
    given = launcher.headless(prompt, native="", resume="", full_access=False, more=[])
    assert given[given.index("--") + 1 :] == words


def test_objects_are_found_between_other_lines() -> None:
    assert list(json_objects('x\n{"a": 1}\n[1]\n{"b"\n {"c": 2} tail')) == [{"a": 1}, {"c": 2}]
    assert list(json_objects('{\n "a": {\n "b": 1}}')) == [{"a": {"b": 1}}]
