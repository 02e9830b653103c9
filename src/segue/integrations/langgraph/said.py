"""What people and graphs say to each other, found in the values that a graph is given and gives.

Values may be of any form, so this is a guess at what a reader would want to see, and never an error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

_START, _INTERRUPT, _RESUME = "__start__", "__interrupt__", "__resume__"
_FEW = 4


def said_in(values: Mapping[str, Any]) -> str:
    """What a graph was asked to do, by the values of its first channels; empty if nothing says so."""
    given = values.get(_START, values)
    if isinstance(given, Mapping):
        messages = given.get("messages")
        if messages:
            return _last_message(messages)
        texts = [
            f"{name}: {value}" for name, value in given.items() if isinstance(value, str) and value.strip()
        ]
        return texts[0].partition(": ")[2] if len(texts) == 1 else "; ".join(texts[:_FEW])
    return given if isinstance(given, str) else ""


def _last_message(messages: Any) -> str:
    last = messages[-1] if isinstance(messages, Sequence) and not isinstance(messages, str) else messages
    if isinstance(last, tuple | list) and len(last) == 2:
        return text_of(last[1])
    if isinstance(last, Mapping):
        return text_of(last.get("content"))
    return text_of(getattr(last, "content", last))


def text_of(value: Any) -> str:
    """The words of a value: a text itself, the texts of the parts of a message, else nothing."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return " ".join(filter(None, (text_of(one) for one in value)))
    if isinstance(value, Mapping):
        return text_of(value.get("text"))
    return ""


def questions_in(writes: Sequence[tuple[str, Any]]) -> list[str]:
    """What a graph asks where it stopped to wait for an answer."""
    found = []
    for channel, value in writes:
        if channel == _INTERRUPT:
            stops = value if isinstance(value, Sequence) and not isinstance(value, str) else [value]
            found += [_question(getattr(one, "value", one)) for one in stops]
    return found


def _question(value: Any) -> str:
    if isinstance(value, Mapping):
        for name in ("question", "query", "message", "text", "task", "prompt"):
            if isinstance(value.get(name), str):
                return str(value[name])
    return value if isinstance(value, str) else repr(value)[:300]


def answer_in(writes: Sequence[tuple[str, Any]]) -> str:
    """What somebody answered."""
    for channel, value in writes:
        if channel == _RESUME:
            last = value[-1] if isinstance(value, list) and value else value
            return last if isinstance(last, str) else repr(last)[:300]
    return ""
