"""The position of a conversation in a script, judged only by what the agent sends."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from tests.support.scripted.wires import Asked, Message

from segue.core.base.values import Value

_MARK = re.compile(r"SCRIPT:([\w-]+)(?:@(\d+))?")
_INJECTED = re.compile(r"<(hook_context|system-reminder)\b.*?</\1>", re.DOTALL)
_SUMMARISING = ("Respond with TEXT ONLY", "CONTEXT CHECKPOINT COMPACTION", "summarizes internal chat history")


class Spot(Value):
    """A turn of a script; without a name, no script is meant."""

    script: str = ""
    turn: int = 0


def turns_in(messages: Sequence[Message]) -> int:
    """How many turns of the model are among these messages; consecutive ones count once."""
    count, before = 0, ""
    for one in messages:
        count += one.role == "model" and before != "model"
        before = one.role
    return count


def marked(messages: Sequence[Message]) -> Spot:
    """The place that the last prompt with a mark means. What hooks put beside a prompt does not count."""
    for n in range(len(messages) - 1, -1, -1):
        one = messages[n]
        found = _MARK.search(_INJECTED.sub("", one.text)) if one.role in ("user", "model") else None
        if found and (one.role == "user" or found[2]):  # a summary may appear as the model's own message
            return Spot(found[1], int(found[2] or 0) + turns_in(messages[n + 1 :]))
    return Spot()


def is_aside(asked: Asked) -> bool:
    """Whether a request is not about the work itself, but asks for a title, a summary or a classification."""
    last = next((one.text for one in reversed(asked.messages) if one.role == "user"), "")
    return not asked.tools or asked.json_wanted is not None or any(word in last for word in _SUMMARISING)


def aside(asked: Asked, spot: Spot, summary: str = "") -> str:
    """The answer to such a request. A summary is the one given, or says how far the script has come."""
    if asked.json_wanted is not None:
        return json.dumps(_fitting(asked.json_wanted))
    recent = "\n".join(one.text for one in asked.messages[-3:]).lower()
    if any(word in recent for word in ("summar", "compact", "compress")):
        if summary:
            return f"<summary>\n{summary}\n</summary>"
        mark = f"SCRIPT:{spot.script}@{spot.turn}" if spot.script else "the work"
        return f"<summary>\nUp to now some turns were taken. Go on with {mark}\n</summary>"
    if "title" in recent:
        return json.dumps({"title": "A piece of work", "isNewTopic": False})
    return "All right."


def _fitting(schema: dict[str, Any]) -> dict[str, Any]:
    """The smallest object that fits a schema."""
    empty: dict[str, Any] = {"number": 0, "integer": 0, "boolean": False, "array": [], "object": {}}
    return {
        name: one["enum"][0] if one.get("enum") else empty.get(str(one.get("type")).lower(), "none")
        for name, one in schema.get("properties", {}).items()
    }
