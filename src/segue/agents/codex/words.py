"""Whose words a text is: what the user typed, told apart from what Codex puts in the user's mouth.

Codex sends instructions, surroundings, notices and hook output in the user's role. Newer versions say
of each block what it is; older ones only wrap it in a tag or begin it with a known line. A text that
cannot be told apart here is still a prompt if an event says that the user sent it.
"""

from __future__ import annotations

from typing import Any

from ...core.base.lazy import regex
from ...core.runs.inherited import OPENING
from ..common import typed as without_brief
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
_ABOVE_IDE_REQUEST = "# Context from my IDE setup:"
_IDE_REQUEST = "## My request for Codex:"


def is_harness(said: str) -> bool:
    """Is it a block that Codex or a hook wrote, not the user?"""
    said = said.strip()
    if said.startswith(_NOT_TYPED):
        return True
    tag = _WRAPPED.match(said)
    return tag is not None and said.endswith(f"</{tag[1]}>")


def asked(said: str) -> str:
    """The user's request without what an editor put above it; empty if it is not the user's."""
    if said.startswith(_ABOVE_IDE_REQUEST):
        _, marker, request = said.rpartition(_IDE_REQUEST)  # what is selected above may hold one too
        said = request if marker else said
    return without_brief(said)


def blocks(content: Any) -> list[str]:
    """The texts of a message's content, a block each."""
    if isinstance(content, str):
        return [content]
    return [
        text(table(block).get("text")) if not isinstance(block, str) else block for block in rows(content)
    ]


def typed(content: Any, about: Any) -> str:
    """What the user typed in a message of the user's role."""
    said = blocks(content)
    kinds = rows(table(about).get("content_item_kinds"))
    if len(kinds) != len(said):
        kinds = [""] * len(said)
    return asked(
        "\n".join(one for one, kind in zip(said, kinds, strict=True) if one and _is_typed(one, kind))
    )


def briefs(content: Any, about: Any) -> list[str]:
    """The briefs of ours in a message: what a hook put in, or the user pasted."""
    said = blocks(content)
    kinds = rows(table(about).get("content_item_kinds"))
    if len(kinds) != len(said):
        kinds = [""] * len(said)
    known = ("", "unknown", "hooks.additional_context", "user.text")
    return [
        one.strip()
        for one, kind in zip(said, kinds, strict=True)
        if kind in known and one.lstrip().startswith(OPENING)
    ]


def _is_typed(said: str, kind: Any) -> bool:
    if isinstance(kind, str) and kind not in ("", "unknown"):
        return kind.startswith("user.")
    return not is_harness(said)
