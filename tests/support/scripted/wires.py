"""The protocols: how a request is read, and how an answer goes out, whole or as a stream of events.

A wire is pure: it gives the events of an answer in order, and says before which one a stalling model falls
silent; the server writes them. Ids are made of the request's number: a script gives the same bytes again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from tests.support.scripted.dialects import Part
from tests.support.scripted.steps import Fault, kind_of

from segue.core.base.values import Value

PIECE = 40  # characters of a text, or of arguments, in one event


class Message(Value):
    """One entry of a conversation: role ``user``, ``model``, ``tool`` or ``system``."""

    role: str
    text: str


class Asked(Value):
    """A request, in one form for all protocols."""

    messages: list[Message]
    tools: list[str]
    model: str
    stream: bool
    json_wanted: dict[str, Any] | None = None  # a schema that the answer has to fit
    dialect: str = ""  # of the agent, where several ask by the same protocol; "" the protocol's


class Answer(Value):
    """What the model says."""

    number: int  # of the request
    model: str
    parts: Sequence[Part]
    used: int  # tokens of the window
    output: int


class Event(Value):
    """One event of a stream. A name of ``""`` sends the data alone."""

    name: str
    data: Any
    pause: bool = False  # a stalling model falls silent before this one


class Wire(Protocol):
    """One protocol."""

    name: str
    dialect: str

    def read(self, body: Mapping[str, Any]) -> Asked: ...

    def whole(self, answer: Answer) -> dict[str, Any]: ...

    def stream(self, answer: Answer) -> Iterator[Event]: ...

    def fault(self, fault: Fault) -> dict[str, Any]: ...


def words(value: Any) -> str:
    """All text of a JSON value, in order."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n".join(filter(None, map(words, value)))
    if isinstance(value, dict):
        return "\n".join(filter(None, map(words, value.values())))
    return ""


def pieces(text: str) -> Iterator[str]:
    return (text[at : at + PIECE] for at in range(0, len(text), PIECE))


class Anthropic:
    """Anthropic Messages: Claude Code."""

    name = "anthropic"
    dialect = "claude-code"

    def read(self, body: Mapping[str, Any]) -> Asked:
        messages = []
        for one in body.get("messages", ()):
            content, role = one["content"], "model" if one["role"] == "assistant" else one["role"]
            said = (
                [part for part in content if part.get("type") != "tool_result"]
                if isinstance(content, list)
                else content
            )
            results = [part for part in content if part not in said] if isinstance(content, list) else []
            messages += [Message("tool", words(results))] if results else []
            messages += [Message(role, words(said))] if said else []
        tools = [tool.get("name", "") for tool in body.get("tools") or ()]
        return Asked(messages, tools, body.get("model", ""), bool(body.get("stream")))

    def _content(self, answer: Answer) -> list[dict[str, Any]]:
        content: list[dict[str, Any]] = []
        for n, part in enumerate(answer.parts):
            if part.kind == "text":
                content.append({"type": "text", "text": part.text})
            elif part.kind == "thought":
                content.append({"type": "thinking", "thinking": part.text, "signature": "c2NyaXB0ZWQ="})
            else:
                id_ = f"toolu_scripted{answer.number:06d}{n:02d}"
                content.append({"type": "tool_use", "id": id_, "name": part.name, "input": part.arguments})
        return content

    def _message(self, answer: Answer) -> dict[str, Any]:
        usage = {
            "input_tokens": 12, "cache_creation_input_tokens": 300, "output_tokens": 1,
            "cache_read_input_tokens": max(0, answer.used - 312), "service_tier": "standard",
        }  # fmt: skip
        return {
            "id": f"msg_scripted{answer.number:06d}", "type": "message", "role": "assistant",
            "model": answer.model, "content": [], "stop_reason": None, "stop_sequence": None, "usage": usage,
        }  # fmt: skip

    def _stop(self, content: list[dict[str, Any]]) -> str:
        return "tool_use" if any(part["type"] == "tool_use" for part in content) else "end_turn"

    def whole(self, answer: Answer) -> dict[str, Any]:
        content, message = self._content(answer), self._message(answer)
        message["usage"]["output_tokens"] = answer.output
        return {**message, "content": content, "stop_reason": self._stop(content)}

    def stream(self, answer: Answer) -> Iterator[Event]:
        content = self._content(answer)
        yield _typed("message_start", message=self._message(answer))
        for n, part in enumerate(content):
            empty: dict[str, Any] = {**part}
            if part["type"] == "text":
                empty["text"] = ""
                deltas = [{"type": "text_delta", "text": piece} for piece in pieces(part["text"])]
            elif part["type"] == "thinking":
                empty.update(thinking="", signature="")
                deltas = [{"type": "thinking_delta", "thinking": part["thinking"]}]
                deltas.append({"type": "signature_delta", "signature": part["signature"]})
            else:
                empty["input"] = {}
                given = json.dumps(part["input"])
                deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces(given)]
            yield _typed("content_block_start", index=n, content_block=empty)
            for k, delta in enumerate(deltas):
                last = k == len(deltas) - 1 and n == len(content) - 1
                yield _typed("content_block_delta", pause=last, index=n, delta=delta)
            yield _typed("content_block_stop", index=n)
        end = {"stop_reason": self._stop(content), "stop_sequence": None}
        yield _typed("message_delta", delta=end, usage={"output_tokens": answer.output})
        yield _typed("message_stop")

    def fault(self, fault: Fault) -> dict[str, Any]:
        return {"type": "error", "error": {"type": kind_of(fault), "message": fault.message}}


class Responses:
    """OpenAI Responses: Codex."""

    name = "responses"
    dialect = "codex"
    _model = ("function_call", "custom_tool_call", "local_shell_call", "reasoning", "tool_search_call")

    def read(self, body: Mapping[str, Any]) -> Asked:
        given = body.get("input") or []
        if isinstance(given, str):
            given = [{"role": "user", "content": given}]
        messages, tools = [], list(body.get("tools") or ())
        for one in given:
            kind = one.get("type", "message")
            if kind == "message":
                role = {"assistant": "model", "developer": "system"}.get(
                    one.get("role"), one.get("role", "user")
                )
                messages.append(Message(role, words([part.get("text") for part in _parts(one)])))
            elif kind == "additional_tools":
                tools += one.get("tools", ())
            elif kind in self._model:
                messages.append(Message("model", ""))
            else:
                messages.append(Message("tool", words(one.get("output"))))
        return Asked(messages, _named(tools), body.get("model", ""), bool(body.get("stream")))

    def _items(self, answer: Answer) -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = []
        for n, part in enumerate(answer.parts):
            tail = f"{answer.number}_{n}"
            call = {
                "call_id": f"call_scripted{answer.number:06d}{n:02d}",
                "status": "completed",
                "name": part.name,
            }
            call |= {"namespace": part.space} if part.space else {}
            if part.kind == "text":
                text = {"type": "output_text", "text": part.text, "annotations": []}
                items.append({"type": "message", "id": f"msg_{tail}", "role": "assistant",
                              "status": "completed", "content": [text]})  # fmt: skip
            elif part.kind == "thought":
                summary = [{"type": "summary_text", "text": part.text}]
                items.append({"type": "reasoning", "id": f"rs_{tail}", "summary": summary})
            elif part.kind == "custom":
                items.append({"type": "custom_tool_call", "id": f"ctc_{tail}", **call, "input": part.text})
            else:
                given = json.dumps(part.arguments)
                items.append({"type": "function_call", "id": f"fc_{tail}", **call, "arguments": given})
        return items

    def _response(self, answer: Answer) -> dict[str, Any]:
        return {
            "id": f"resp_scripted{answer.number:06d}", "object": "response", "created_at": 0,
            "status": "in_progress", "model": answer.model, "output": [], "usage": None,
        }  # fmt: skip

    def whole(self, answer: Answer) -> dict[str, Any]:
        usage = {
            "input_tokens": answer.used, "input_tokens_details": {"cached_tokens": answer.used * 4 // 5},
            "output_tokens": answer.output, "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": answer.used + answer.output,
        }  # fmt: skip
        done = {"status": "completed", "output": self._items(answer), "usage": usage}
        return {**self._response(answer), **done}

    def stream(self, answer: Answer) -> Iterator[Event]:
        yield _typed("response.created", response=self._response(answer))
        items = self._items(answer)
        for n, item in enumerate(items):
            start = {**item, "content": [], "status": "in_progress"} if item["type"] == "message" else item
            yield _typed("response.output_item.added", output_index=n, item=start)
            if item["type"] == "message":
                for piece in pieces(item["content"][0]["text"]):
                    at = {"item_id": item["id"], "output_index": n, "content_index": 0}
                    yield _typed("response.output_text.delta", **at, delta=piece)
            yield _typed("response.output_item.done", pause=n == len(items) - 1, output_index=n, item=item)
        yield _typed("response.completed", response=self.whole(answer))

    def fault(self, fault: Fault) -> dict[str, Any]:
        return _openai_fault(fault)


class Chat:
    """OpenAI Chat Completions: OpenCode, and Cline, whose tools are in its prompt and in its texts."""

    name = "chat"
    dialect = "opencode"
    _roles = {"assistant": "model", "developer": "system"}

    def read(self, body: Mapping[str, Any]) -> Asked:
        messages = [
            Message(self._roles.get(one["role"], one["role"]), words(one.get("content")))
            for one in body.get("messages", ())
        ]
        tools = [tool.get("function", {}).get("name", "") for tool in body.get("tools") or ()]
        dialect = ""
        if messages and messages[0].text.startswith("You are Cline"):
            tools, dialect = re.findall(r"^## ([a-z_]+)$", messages[0].text, re.M), "cline"
            result = re.compile(r"(?:text\n)?\[\w+(?: for '[^\n]*')?\] Result:")
            messages = [Message("tool", m.text) if result.match(m.text) else m for m in messages]
        return Asked(messages, tools, body.get("model", ""), bool(body.get("stream")), dialect=dialect)

    def _said(self, answer: Answer) -> tuple[str, list[dict[str, Any]]]:
        text = "".join(part.text for part in answer.parts if part.kind == "text")
        calls = [
            {
                "index": n, "id": f"call_scripted{answer.number:06d}{n:02d}", "type": "function",
                "function": {"name": part.name, "arguments": json.dumps(part.arguments)},
            }
            for n, part in enumerate(p for p in answer.parts if p.kind == "tool")
        ]  # fmt: skip
        return text, calls

    def _base(self, answer: Answer, kind: str) -> dict[str, Any]:
        return {
            "id": f"chatcmpl-scripted{answer.number}",
            "object": kind,
            "created": 0,
            "model": answer.model,
        }

    def _usage(self, answer: Answer) -> dict[str, Any]:
        return {
            "prompt_tokens": answer.used, "completion_tokens": answer.output,
            "total_tokens": answer.used + answer.output,
            "prompt_tokens_details": {"cached_tokens": answer.used * 4 // 5},
        }  # fmt: skip

    def whole(self, answer: Answer) -> dict[str, Any]:
        text, calls = self._said(answer)
        message = {"role": "assistant", "content": text or None, **({"tool_calls": calls} if calls else {})}
        choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}
        return {**self._base(answer, "chat.completion"), "choices": [choice], "usage": self._usage(answer)}

    def stream(self, answer: Answer) -> Iterator[Event]:
        text, calls = self._said(answer)
        base = self._base(answer, "chat.completion.chunk")

        def chunk(delta: dict[str, Any], finish: str | None = None, pause: bool = False) -> Event:
            choice = {"index": 0, "delta": delta, "finish_reason": finish}
            return Event("", {**base, "choices": [choice]}, pause)

        yield chunk({"role": "assistant", "content": ""})
        for piece in pieces(text):
            yield chunk({"content": piece})
        for call in calls:
            yield chunk({"tool_calls": [call]})
        yield chunk({}, "tool_calls" if calls else "stop", pause=True)
        yield Event("", {**base, "choices": [], "usage": self._usage(answer)})
        yield Event("", "[DONE]")

    def fault(self, fault: Fault) -> dict[str, Any]:
        return _openai_fault(fault)


class Gemini:
    """Gemini's generateContent: Gemini CLI."""

    name = "gemini"
    dialect = "gemini-cli"

    def read(self, body: Mapping[str, Any]) -> Asked:
        messages = []
        for one in body.get("contents", ()):
            parts = one.get("parts", ())
            results = [part["functionResponse"] for part in parts if "functionResponse" in part]
            text = "\n".join(part["text"] for part in parts if "text" in part)
            messages += [Message("tool", words(results))] if results else []
            if text or not results:
                messages.append(Message("model" if one.get("role") == "model" else "user", text))
        tools = [
            f.get("name", "") for t in body.get("tools") or () for f in t.get("functionDeclarations", ())
        ]
        config = body.get("generationConfig") or {}
        schema = config.get("responseJsonSchema") or config.get("responseSchema")
        if schema is None and config.get("responseMimeType") == "application/json":
            schema = {}
        return Asked(messages, tools, "", stream=False, json_wanted=schema)

    def whole(self, answer: Answer) -> dict[str, Any]:
        parts: list[dict[str, Any]] = []
        for n, part in enumerate(answer.parts):
            if part.kind == "tool":
                call = {"id": f"fc{answer.number}_{n}", "name": part.name, "args": part.arguments}
                parts.append({"functionCall": call, "thoughtSignature": "c2NyaXB0ZWQ="})
            else:
                parts.append({"text": part.text, **({"thought": True} if part.kind == "thought" else {})})
        content = {"role": "model", "parts": parts}
        return {
            "candidates": [{"content": content, "finishReason": "STOP", "index": 0}],
            "usageMetadata": {
                "promptTokenCount": answer.used, "candidatesTokenCount": answer.output,
                "totalTokenCount": answer.used + answer.output,
                "cachedContentTokenCount": answer.used * 4 // 5,
            },
            "modelVersion": "scripted", "responseId": f"r{answer.number}",
        }  # fmt: skip

    def stream(self, answer: Answer) -> Iterator[Event]:
        yield Event("", self.whole(answer), pause=True)

    def fault(self, fault: Fault) -> dict[str, Any]:
        word = {401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 429: "RESOURCE_EXHAUSTED"}
        word[400] = "INVALID_ARGUMENT"
        return {
            "error": {
                "code": fault.status,
                "message": fault.message,
                "status": word.get(fault.status, "INTERNAL"),
            }
        }


def _typed(name: str, *, pause: bool = False, **data: Any) -> Event:
    return Event(name, {"type": name, **data}, pause)


def _openai_fault(fault: Fault) -> dict[str, Any]:
    return {"error": {"message": fault.message, "type": kind_of(fault), "code": fault.code or None}}


def _parts(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    content = message.get("content")
    return [{"text": content}] if isinstance(content, str) else list(content or ())


def _named(tools: list[Any]) -> list[str]:
    """Names of tools; those of a namespace as ``namespace.name``."""
    names = []
    for tool in tools:
        if tool.get("type") == "namespace":
            names += [f"{tool['name']}.{inner.get('name', '')}" for inner in tool.get("tools", ())]
        else:
            names.append(tool.get("name") or tool.get("type", ""))
    return names


def wire_of(path: str) -> Wire | None:
    """The protocol of a path."""
    if path.endswith("/messages"):
        return Anthropic()
    if path.endswith("/responses"):
        return Responses()
    if path.endswith("/chat/completions"):
        return Chat()
    if path.endswith(("enerateContent",)):
        return Gemini()
    return None
