"""The hooks of Gemini CLI, in the form of Claude Code's with names of its own.

Only JSON reaches the model. A call that was pending when the agent was killed is in no transcript; the hook
before a tool, which is opt-in, is its only trace. A stop is refused by the decision to deny.
"""

from __future__ import annotations

from ..hooks import ClaudeStyleHooks
from .tools import ACTS


class GeminiHooks(ClaudeStyleHooks):
    agent = "gemini-cli"
    kinds = {
        "SessionStart": "start",
        "BeforeAgent": "prompt",
        "AfterAgent": "stop",
        "BeforeTool": "tool",
        "AfterTool": "tool",
        "PreCompress": "compact",
        "SessionEnd": "end",
    }
    done = ("AfterTool",)
    takes_context = ("SessionStart", "BeforeAgent")
    refusal = "deny"
    acts = ACTS
    texts = {"prompt": ("prompt",), "stop": ("prompt_response",), "tool": ("command", "file_path", "path")}


HOOKS = GeminiHooks()
