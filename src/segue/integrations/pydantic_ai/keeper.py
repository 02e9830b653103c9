"""A capability that keeps a run as it goes: messages before each request and behind each response, and the
result of each tool before the model sees it.

What was kept is on the disk. A run that goes on from a conversation that was cut off calls no tool again
whose result was kept: a call is the same if its id, its tool and its arguments are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import TypeAdapter
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.capabilities.abstract import ValidatedToolArgs, WrapRunHandler, WrapToolExecuteHandler
from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    ToolCallPart,
    ToolReturn,
    ToolReturnPart,
    UserContent,
)
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.run import AgentRunResult
from pydantic_ai.tools import AgentDepsT, RunContext, ToolDefinition
from pydantic_core import PydanticSerializationError

from ...core.base.canonical import sha256
from ..opened import in_thread
from .kept import ConversationLogs, values_of

_any: TypeAdapter[Any] = TypeAdapter(Any)
_returned = TypeAdapter(ToolReturnPart)
_content: TypeAdapter[str | Sequence[UserContent] | None] = TypeAdapter(str | Sequence[UserContent] | None)


def idempotency_key(context: RunContext[Any]) -> str:
    """A key for an outside effect of the tool call that is under way: the same when the call is made again
    after a kill, and no other call has it."""
    if context.conversation_id is None or context.tool_call_id is None:
        raise ValueError("a key exists only inside a tool, in a run with a conversation")
    return sha256(f"{context.conversation_id}\0{context.tool_call_id}".encode()).hexdigest()[:32]


@dataclass
class Keeper(AbstractCapability[AgentDepsT]):
    """Keeps a run as it goes; made by ``SegueConversations.keeper()``."""

    logs: ConversationLogs
    _counts: dict[str, int] = field(default_factory=dict, repr=False)
    """How many of its messages each run that is under way has kept."""

    async def prepare_model_request(
        self, ctx: RunContext[AgentDepsT], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        await self._keep(ctx, _of_run(ctx))
        return request_context

    async def after_model_request(
        self, ctx: RunContext[AgentDepsT], *, request_context: ModelRequestContext, response: ModelResponse
    ) -> ModelResponse:
        await self._keep(ctx, [*_of_run(ctx), response])
        return response

    async def wrap_run(self, ctx: RunContext[AgentDepsT], *, handler: WrapRunHandler) -> AgentRunResult[Any]:
        try:
            return await handler()
        finally:
            self._counts.pop(ctx.run_id or "", None)

    async def wrap_tool_execute(
        self, ctx: RunContext[AgentDepsT], *, call: ToolCallPart, tool_def: ToolDefinition,
        args: ValidatedToolArgs, handler: WrapToolExecuteHandler,
    ) -> Any:  # fmt: skip
        if ctx.conversation_id is None:
            return await handler(args)
        conversation, same = ctx.conversation_id, _same_call(call)
        kept = await in_thread(lambda: self.logs.kept(conversation))
        found = kept.results.get(same)
        if found is not None:
            return restored(found["result"])
        result = await handler(args)
        try:
            value = storable(result)
        except PydanticSerializationError:  # it cannot be saved with the conversation either
            return result
        item = {"call": call.tool_call_id, "same": same, "result": value, "on": kept.revision}
        await in_thread(lambda: self.logs.log(conversation).add([item]))
        return result

    async def _keep(self, ctx: RunContext[AgentDepsT], messages: list[ModelMessage]) -> None:
        if ctx.conversation_id is not None:
            conversation, run = ctx.conversation_id, ctx.run_id or ""
            await in_thread(lambda: self._keep_new(conversation, run, messages))

    def _keep_new(self, conversation: str, run: str, messages: list[ModelMessage]) -> None:
        """Keep the messages of a run that are not kept yet."""
        new = messages[self._counts.get(run, 0) :]
        if not new:
            return
        kept = self.logs.kept(conversation)
        values = values_of(new)
        if run not in self._counts and kept.messages and _parts(kept.messages[-1]) == _parts(values[0]):
            del values[0]  # the request that a run which was cut off had kept, sent again
        answered = sorted(found["call"] for found in kept.results.values())
        items = [{"kept": value, "on": kept.revision, "answered": answered} for value in values]
        self.logs.log(conversation).add(items)
        self._counts[run] = len(messages)


def _of_run(ctx: RunContext[Any]) -> list[ModelMessage]:
    """The messages of the present run, without the history that it began with."""
    return [message for message in ctx.messages if message.run_id == ctx.run_id]


def _parts(value: Any) -> Any:
    """What a stored message says, without when it was said."""
    return [{**part, "timestamp": ""} for part in value.get("parts") or ()]


def _same_call(call: ToolCallPart) -> str:
    """What two calls have in common that are the same one: id, tool and arguments."""
    arguments = call.args_as_json_str()
    return sha256(f"{call.tool_call_id}\0{call.tool_name}\0{arguments}".encode()).hexdigest()[:32]


def storable(result: Any) -> dict[str, Any]:
    """What a tool returned, as JSON."""
    whole = result if isinstance(result, ToolReturn) else ToolReturn(result)
    part = ToolReturnPart(tool_name="tool", content=whole.return_value, tool_call_id="")
    return {
        "value": _returned.dump_python(part, mode="json")["content"],
        "content": _content.dump_python(whole.content, mode="json"),
        "metadata": _any.dump_python(whole.metadata, mode="json"),
        "whole": whole is result,
    }


def restored(stored: Mapping[str, Any]) -> Any:
    """What a tool returned, of what was stored; a value of a type of the program's own is plain data then."""
    raw = {"tool_name": "tool", "content": stored["value"], "tool_call_id": ""}
    value = _returned.validate_python(raw).content
    if not stored["whole"]:
        return value
    return ToolReturn(value, content=_content.validate_python(stored["content"]), metadata=stored["metadata"])
