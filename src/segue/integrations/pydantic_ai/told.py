"""Pydantic AI's messages in the words of a model provider's interface, for a conversation's transcript."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any


def told(items: Sequence[Any]) -> list[Any]:
    """What items of a conversation are as messages; what was told before, and what is no message, is left
    out."""
    found: list[Any] = []
    for item in items:
        message = None if item.get("told") else item.get("kept") or (item.get("entry") or {}).get("message")
        if "call" in item:
            result = item["result"]["value"]
            found.append({"role": "tool", "tool_call_id": item["call"], "content": _text(result)})
        elif message is not None and message.get("kind") == "request":
            found += _request(message, item.get("answered") or ())
        elif message is not None:
            found += _response(message)
    return found


def _request(message: dict[str, Any], answered: Sequence[str]) -> Iterator[dict[str, Any]]:
    stamp = message.get("timestamp") or ""
    for part in message.get("parts") or ():
        kind, content = part.get("part_kind"), part.get("content")
        at = {"timestamp": part.get("timestamp") or stamp}
        if kind == "user-prompt":
            yield {"role": "user", "content": _blocks(content), **at}
        elif kind == "tool-return" and part.get("tool_call_id") not in answered:
            yield {"role": "tool", "tool_call_id": part.get("tool_call_id"), "content": _text(content), **at}
        elif kind == "retry-prompt" and part.get("tool_call_id"):
            yield {"role": "tool", "tool_call_id": part["tool_call_id"], "content": _text(content), **at}


def _response(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    words, thoughts, calls = [], [], []
    for part in message.get("parts") or ():
        kind = part.get("part_kind")
        if kind == "text":
            words.append(str(part.get("content") or ""))
        elif kind == "thinking":
            thoughts.append(str(part.get("content") or ""))
        elif kind == "tool-call":
            function = {"name": part.get("tool_name"), "arguments": part.get("args") or {}}
            calls.append({"id": part.get("tool_call_id"), "function": function})
    spoken: dict[str, Any] = {
        "role": "assistant", "content": "\n".join(words), "timestamp": message.get("timestamp") or "",
        "model": message.get("model_name") or "",
    }  # fmt: skip
    usage = message.get("usage") or {}
    if usage.get("input_tokens"):
        details = {"cached_tokens": usage.get("cache_read_tokens") or 0}
        spoken["usage"] = {
            "input_tokens": usage["input_tokens"], "output_tokens": usage.get("output_tokens") or 0,
            "input_tokens_details": details,
        }  # fmt: skip
    if calls:
        spoken["tool_calls"] = calls
    if any(thoughts):
        spoken["reasoning"] = "\n".join(thoughts)
    yield spoken


def _blocks(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(one for one in content or () if isinstance(one, str))


def _text(content: Any) -> Any:
    return content if isinstance(content, str) else {"result": content} if content is not None else ""
