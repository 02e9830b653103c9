"""What each agent sends to its hooks, in its own form, and where its reply holds what the model is told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from segue.testing.transcripts.records import stamp


class Sender(NamedTuple):
    """What an agent tells of itself."""

    native: str
    cwd: str
    transcript: str
    now: float
    brief: str
    """What it was told at its start, if the prompt that follows is its first."""


Payload = Callable[[Sender, str, str], dict[str, Any]]
"""The payload of an event; the last argument is the source, the prompt, the last message or the reason."""


class AgentHooks(NamedTuple):
    """The names of an agent's events; empty where it has none."""

    payload: Payload
    start: str = ""
    prompt: str = ""
    stop: str = ""
    compact: str = ""
    end: str = ""
    summary: str = ""
    """What is told of a summary that is not in the transcript yet; the hook after a compaction comes then."""
    context: tuple[str, ...] = ("hookSpecificOutput", "additionalContext")
    writes_brief: bool = True
    """Whether what it was told stands in its transcript."""
    knows_transcript: bool = True
    """Whether its payloads name the transcript."""


def _claude(sender: Sender, event: str, words: str) -> dict[str, Any]:
    base = {"session_id": sender.native, "transcript_path": sender.transcript, "cwd": sender.cwd}
    mode = {"prompt_id": f"p-{sender.now:.0f}", "permission_mode": "default"}
    more: dict[str, dict[str, Any]] = {
        "SessionStart": {"source": words},
        "UserPromptSubmit": {**mode, "prompt": words},
        "PreCompact": {"trigger": words, "custom_instructions": None},
        "Stop": {**mode, "stop_hook_active": False, "last_assistant_message": words},
        "SubagentStop": {
            **mode,
            "agent_id": "a090806b804ed92bc",
            "agent_type": "",
            "stop_hook_active": False,
            "last_assistant_message": words,
        },
        "SessionEnd": {"reason": "clear" if words == "clear" else "prompt_input_exit"},
    }
    return {**base, "hook_event_name": event, **more[event]}


def _codex(sender: Sender, event: str, words: str) -> dict[str, Any]:
    base = {"session_id": sender.native, "transcript_path": sender.transcript, "cwd": sender.cwd}
    turn = {"turn_id": f"t-{sender.now:.0f}", "model": "gpt-5.5", "permission_mode": "default"}
    more: dict[str, dict[str, Any]] = {
        "SessionStart": {"model": "gpt-5.5", "permission_mode": "default", "source": words},
        "UserPromptSubmit": {**turn, "prompt": words},
        "PreCompact": {"turn_id": turn["turn_id"], "model": "gpt-5.5", "trigger": words},
        "Stop": {**turn, "stop_hook_active": False, "last_assistant_message": words},
        "SessionEnd": {"reason": "clear" if words == "clear" else "other"},
    }
    return {**base, "hook_event_name": event, **more[event]}


def _gemini(sender: Sender, event: str, words: str) -> dict[str, Any]:
    base = {"session_id": sender.native, "transcript_path": sender.transcript, "cwd": sender.cwd}
    before = f"<hook_context>{sender.brief}</hook_context>\n\n" if sender.brief else ""
    more: dict[str, dict[str, Any]] = {
        "SessionStart": {"source": words},
        "BeforeAgent": {"prompt": f"{before}{words}"},
        "AfterAgent": {"prompt": "", "prompt_response": words, "stop_hook_active": False},
        "SessionEnd": {"reason": words},
    }
    return {**base, "hook_event_name": event, "timestamp": stamp(sender.now), **more[event]}


def _opencode(sender: Sender, event: str, words: str) -> dict[str, Any]:
    more: dict[str, dict[str, Any]] = {
        "start": {"source": "startup" if words == "clear" else words},
        "prompt": {"text": words, "model": "model-1"},
        "compact": {},
        "idle": {},
    }
    return {"session_id": sender.native, "cwd": sender.cwd, **more[event]}


def _cline(sender: Sender, event: str, words: str) -> dict[str, Any]:
    about = {"taskId": sender.native, "ulid": "01M7EAMXCEWV01FAYC6WRS71W6"}
    more: dict[str, dict[str, Any]] = {
        "TaskStart": {"taskStart": {"taskMetadata": {**about, "initialTask": ""}}},
        "UserPromptSubmit": {"userPromptSubmit": {"prompt": words}},
        "PreCompact": {"preCompact": {"taskId": sender.native}},
        "TaskComplete": {"taskComplete": {"taskMetadata": {**about, "result": words, "command": ""}}},
    }
    return {
        "clineVersion": "3.82.0", "hookName": event, "timestamp": f"{sender.now * 1000:.0f}",
        "taskId": sender.native, "workspaceRoots": [sender.cwd],
        "model": {"provider": "openai", "slug": "model-1"}, **more[event],
    }  # fmt: skip


def _none(sender: Sender, event: str, words: str) -> dict[str, Any]:
    return {}


HOOKS = {
    "claude-code": AgentHooks(
        _claude, "SessionStart", "UserPromptSubmit", "Stop", "PreCompact", "SessionEnd", "SubagentStop"
    ),
    "codex": AgentHooks(_codex, "SessionStart", "UserPromptSubmit", "Stop", "PreCompact", "SessionEnd"),
    "gemini-cli": AgentHooks(
        _gemini, "SessionStart", "BeforeAgent", "AfterAgent", end="SessionEnd", writes_brief=False
    ),
    "opencode": AgentHooks(
        _opencode, "start", "prompt", "idle", "compact",
        context=("context",), writes_brief=False, knows_transcript=False,
    ),
    "cline": AgentHooks(
        _cline, "TaskStart", "UserPromptSubmit", "TaskComplete", "PreCompact",
        context=("contextModification",), knows_transcript=False,
    ),
    "copilot-cli": AgentHooks(_none),
    "roo": AgentHooks(_none),
}  # fmt: skip
