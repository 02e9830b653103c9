"""The form of a list of messages: what counts as a message, and where the list stands in a document.

A list stands alone, under ``messages`` of an object, or has a line for every message.
"""

from __future__ import annotations

from typing import Any

from ..core.base.json_prefix import decode_prefix
from ..errors import TranscriptUnreadable
from .base import decode_any

ROLES = {
    "user": "user", "human": "user", "assistant": "assistant", "ai": "assistant", "model": "assistant",
    "tool": "tool", "function": "tool", "system": "system", "developer": "system",
}  # fmt: skip
ITEMS = frozenset({"function_call", "function_call_output", "reasoning"})
HINT = "a message is an object with a role (user, assistant, system, tool) and a content"


def is_message(value: Any) -> bool:
    """Whether a value is a message of one of the interfaces that are known."""
    if not isinstance(value, dict):
        return False
    role, content = value.get("role"), value.get("content")
    if role is None and str(value.get("type")) in ITEMS:
        return True
    if not isinstance(role, str) or role not in ROLES:
        return False
    calls = value.get("tool_calls") or value.get("function_call")
    is_empty = content is None and "content" in value and ROLES[role] != "user"
    return isinstance(content, str | list) or bool(calls) or is_empty


def listed_messages(body: bytes) -> list[Any]:
    """The elements of a document that may be messages; empty if it has none of the three forms."""
    text = body.removeprefix(b"\xef\xbb\xbf").strip()
    whole = decode_any(text)
    if isinstance(whole, dict) and isinstance(whole.get("messages"), list):
        whole = whole["messages"]
    if isinstance(whole, list):
        return whole
    if isinstance(whole, dict):
        return [whole]
    rows: list[Any] = []
    for line in filter(bytes.strip, text.split(b"\n")):
        rows.append(decode_any(line))
        if not isinstance(rows[-1], dict):
            return []
    return rows


def checked_messages(messages: list[Any], where: str) -> None:
    """Raise TranscriptUnreadable if there are no messages, or if something among them is none."""
    if not messages:
        raise TranscriptUnreadable(f"cannot read {where}: it is not a list of messages", hint=HINT)
    for number, message in enumerate(messages, 1):
        if not is_message(message):
            raise TranscriptUnreadable(f"cannot read {where}: element {number} is not a message", hint=HINT)


def begins_with_message(head: bytes) -> bool:
    """Whether the first element of the list that a file begins with is a message."""
    text = head.decode("utf-8", "ignore").lstrip("\ufeff \t\r\n")
    at = text.find("[", 0, 4_096) if text.startswith("{") and '"messages"' in text[:4_096] else 0
    at += text[at : at + 1] == "["
    at += len(text[at:]) - len(text[at:].lstrip())
    try:
        value, _ = decode_prefix(text, at)
    except (ValueError, RecursionError):
        return False
    return is_message(value)
