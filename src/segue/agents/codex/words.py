"""Distinguishes what the user typed from what Codex sends in the user's role.

Codex sends instructions, context, notices and hook output in the user's role. Newer versions state what each
block is; older ones only wrap it in a tag or begin it with a known line. A text that cannot be classified
here is still a prompt if an event says that the user sent it.
"""

from __future__ import annotations

from typing import Any

from ...core.base.lazy import regex
from ...core.runs.brief_text import OPENING
from ..common import typed_text as without_brief
from .wire import rows, table, text

_WRAPPED = regex(r"<([A-Za-z_][\w.-]*)[^<>]*>")
_NOT_TYPED = (
    "# AGENTS.md",
    "<environment_context>",
    "<user_instructions>",
    "<turn_aborted>",
    "<subagent_notification>",
    "<hook_prompt",
    "<image name=",
    "</image>",
    "<audio name=",
    "</audio>",
    "Another language model started to solve this problem",
    "You are performing a CONTEXT CHECKPOINT COMPACTION",
    "Warning: apply_patch was requested via",
    "Warning: The maximum number of unified exec",
)
_FRAME = regex(r"\s*# [A-Z][^\n]{3,60}:\n")  # an editor puts context or findings above the request
_IDE_REQUEST = "## My request for Codex:"


def is_harness(block: str) -> bool:
    """Whether Codex or a hook wrote a block, not the user."""
    block = block.strip()
    if block.startswith(_NOT_TYPED):
        return True
    tag = _WRAPPED.match(block)
    return tag is not None and block.endswith(f"</{tag[1]}>")


def request_in(request_text: str) -> str:
    """The user's request without the context that an editor put above it."""
    if _FRAME.match(request_text):
        _, marker, request = request_text.rpartition(_IDE_REQUEST)  # the context may contain the heading too
        request_text = request if marker else request_text
    return without_brief(request_text)


def blocks(content: Any) -> list[str]:
    """The texts of a message's content, one per block."""
    if isinstance(content, str):
        return [content]
    return [
        text(table(block).get("text")) if not isinstance(block, str) else block for block in rows(content)
    ]


def typed_in(content: Any, about: Any) -> str:
    """What the user typed, in a message of the user's role."""
    texts = blocks(content)
    kinds = rows(table(about).get("content_item_kinds"))
    if len(kinds) != len(texts):
        kinds = [""] * len(texts)
    return request_in(
        "\n".join(block for block, kind in zip(texts, kinds, strict=True) if block and _is_typed(block, kind))
    )


def briefs_in(content: Any, about: Any) -> list[str]:
    """The briefs of ours in a message, which a hook injected or the user pasted."""
    texts = blocks(content)
    kinds = rows(table(about).get("content_item_kinds"))
    if len(kinds) != len(texts):
        kinds = [""] * len(texts)
    known = ("", "unknown", "hooks.additional_context", "user.text")
    return [
        block.strip()
        for block, kind in zip(texts, kinds, strict=True)
        if kind in known and block.lstrip().startswith(OPENING)
    ]


def _is_typed(block: str, kind: Any) -> bool:
    if isinstance(kind, str) and kind not in ("", "unknown"):
        return kind.startswith("user.")
    return not is_harness(block)
