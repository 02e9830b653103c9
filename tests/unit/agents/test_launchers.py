"""How agents are started, and what is heard in their output. The real ones are asked in tests/e2e."""

from __future__ import annotations

import json
from typing import Any

import pytest

from segue.agents import agent
from segue.agents.base import AgentOutput, json_objects
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
}  # fmt: skip


def test_four_agents_can_be_launched() -> None:
    assert launchable() == {
        "claude-code": "claude",
        "codex": "codex",
        "opencode": "opencode",
        "gemini-cli": "gemini",
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
    assert fresh[0] == launcher.command and "do it" in fresh and "x" in fresh and "n2" not in fresh
    assert "n2" in again and "do it" in again and len(set(again) - set(fresh)) >= 1
    assert "n2" in shown and shown[-1] == "do it"


def test_objects_are_found_between_other_lines() -> None:
    assert list(json_objects('x\n{"a": 1}\n[1]\n{"b"\n {"c": 2} tail')) == [{"a": 1}, {"c": 2}]
    assert list(json_objects('{\n "a": {\n "b": 1}}')) == [{"a": {"b": 1}}]
