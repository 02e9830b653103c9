"""Options of the Claude Agent SDK with Segue's hooks in the program's own process.

The SDK has no hook for the start of a session, so the first prompt counts as the start, and what follows a
compaction as the start behind it. A hook never breaks the agent: whatever goes wrong, the answer is empty.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

import msgspec
from claude_agent_sdk import ClaudeAgentOptions, HookMatcher
from claude_agent_sdk.types import HookContext, HookEvent, HookInput, HookJSONOutput

from ...api.segue import Segue
from ...services.hooks.handler import answered
from ...settings import environment_now
from ..opened import in_thread, segue_of
from .sessions import SegueSessionStore

AGENT = "claude-code"
TESTED = "0.2.182"
"""The version of the SDK that this was tested with."""
HOOK_SECONDS = 15.0
HEAD_BYTES = 4 << 20
"""In so much of a transcript an answer of the agent must be, if there is one."""
EVENTS: tuple[HookEvent, ...] = ("UserPromptSubmit", "PostToolUse", "PreCompact", "Stop")


def segue_options(
    options: ClaudeAgentOptions | None = None, *, segue: Segue | None = None, stores: bool = True
) -> ClaudeAgentOptions:
    """The options, or new ones, with Segue: the agent's first prompt comes with the brief, what it does is
    saved, and it cannot stop with a claim that features of the session do not bear out.

    With ``stores`` its session is also kept in Segue's store, so that ``resume`` works on another machine; a
    ``session_store`` of the program's own stays. Hooks that the program has stay, too.
    """
    options = options if options is not None else ClaudeAgentOptions()
    opened = segue_of(segue)
    hooks = SegueHooks(opened, options.env)
    merged = dict(options.hooks or {})
    for event in EVENTS:
        matcher = HookMatcher(hooks=[hooks.answer], timeout=HOOK_SECONDS)
        merged[event] = [*merged.get(event, []), matcher]
    changed = replace(options, hooks=merged)
    if stores and changed.session_store is None:
        changed = replace(changed, session_store=SegueSessionStore(opened), session_store_flush="eager")
    return changed


class SegueHooks:
    """The hooks of one program."""

    def __init__(self, segue: Segue, environment: Mapping[str, str]) -> None:
        workspace = segue.workspace
        self._home = str(workspace.home.path)
        own = {**environment_now(), **environment}
        self._environment = {
            **{name: own[name] for name in ("HOME", "PATH", "CLAUDE_CONFIG_DIR") if own.get(name)},
            **workspace.environment,
            "SEGUE_HOME": self._home,
        }
        for name in ("store", "api_key"):
            if value := workspace.settings.text(name):
                self._environment[f"SEGUE_{name.upper()}"] = value
        self._started: set[str] = set()
        """The sessions that were given their brief."""
        self._compacted: set[str] = set()
        """The sessions whose window was emptied since they last got a brief."""

    async def answer(self, input: HookInput, tool_use_id: str | None, context: HookContext) -> HookJSONOutput:
        """The answer to an event of the SDK."""
        payload = cast(dict[str, Any], input)
        return cast(HookJSONOutput, await in_thread(lambda: self._answered(payload)))

    def _answered(self, payload: dict[str, Any]) -> dict[str, Any]:
        event, session = str(payload.get("hook_event_name")), str(payload.get("session_id"))
        if event == "PreCompact":
            self._compacted.add(session)
        told = ""
        if event in ("UserPromptSubmit", "PostToolUse"):
            told = self._start(payload, session)
        reply = self._ask(event, payload)
        inner = reply.get("hookSpecificOutput") or {}
        if told:
            more = inner.get("additionalContext") or ""
            whole = "\n\n".join(filter(None, (told, more)))
            return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": whole}}
        return reply

    def _start(self, payload: dict[str, Any], session: str) -> str:
        """The brief that is due before a prompt or behind a tool; empty if none is."""
        if session in self._compacted:
            source = "compact"
        elif session in self._started or payload.get("hook_event_name") != "UserPromptSubmit":
            return ""
        else:
            source = "resume" if has_content(str(payload.get("transcript_path") or "")) else "startup"
        self._started.add(session)
        self._compacted.discard(session)
        about = {name: value for name, value in payload.items() if name != "prompt"}
        reply = self._ask("SessionStart", {**about, "hook_event_name": "SessionStart", "source": source})
        return str((reply.get("hookSpecificOutput") or {}).get("additionalContext") or "")

    def _ask(self, event: str, payload: dict[str, Any]) -> dict[str, Any]:
        said = answered(self._home, AGENT, event, msgspec.json.encode(payload), self._environment)
        try:
            value = msgspec.json.decode(said) if said else {}
        except msgspec.DecodeError:  # words for a compaction, which the SDK has no place for
            return {}
        return value if isinstance(value, dict) else {}


def has_content(path: str) -> bool:
    """Whether the transcript of a session has an answer of the agent."""
    from ...agents.transcript_files import bytes_of

    return b'"type":"assistant"' in bytes_of(path, HEAD_BYTES) if path else False
