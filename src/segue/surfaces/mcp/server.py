"""The MCP server, by the official SDK: tools, and the brief as a prompt and a resource."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio
import anyio.to_thread
import mcp.types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from ... import __version__
from .calls import Calls, ToolOutcome
from .early_answers import NAME, PROMPT, RESOURCE, EarlyAnswers
from .tools import BRIEF_URI, INSTRUCTIONS, Arguments, listed

Call = Callable[[Any, str, Arguments], ToolOutcome]


def made(call: Call, brief: Callable[[Any], str]) -> Server[Any]:
    """An MCP server that answers with these functions; each gets the context of its request."""

    async def list_tools(context: Any, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[types.Tool.model_validate(one) for one in listed()])

    async def call_tool(context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        outcome = await anyio.to_thread.run_sync(call, context, params.name, params.arguments or {})
        value = outcome.value
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=outcome.text)],
            structured_content=value if isinstance(value, dict) else {"result": value},
            is_error=outcome.failed,
        )

    async def list_prompts(context: Any, params: Any) -> types.ListPromptsResult:
        return types.ListPromptsResult(prompts=[types.Prompt.model_validate(PROMPT)])

    async def get_prompt(context: Any, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        if params.name != PROMPT["name"]:
            raise ValueError(f"there is no prompt {params.name}")
        text = await anyio.to_thread.run_sync(brief, context)
        message = types.PromptMessage(role="user", content=types.TextContent(type="text", text=text))
        return types.GetPromptResult(description=PROMPT["description"], messages=[message])

    async def list_resources(context: Any, params: Any) -> types.ListResourcesResult:
        return types.ListResourcesResult(resources=[types.Resource.model_validate(RESOURCE)])

    async def read_resource(
        context: Any, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        if str(params.uri) != BRIEF_URI:
            raise ValueError(f"there is no resource {params.uri}")
        text = await anyio.to_thread.run_sync(brief, context)
        content = types.TextResourceContents(uri=BRIEF_URI, mime_type="text/plain", text=text)
        return types.ReadResourceResult(contents=[content])

    return Server(
        NAME, version=__version__, instructions=INSTRUCTIONS,
        on_list_tools=list_tools, on_call_tool=call_tool, on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
        on_list_resources=list_resources, on_read_resource=read_resource,
    )  # fmt: skip


class _ToAgent:
    """The stream that the SDK writes to."""

    def __init__(self, front: EarlyAnswers) -> None:
        self._front = front

    async def write(self, text: str) -> None:
        self._front.write(text)

    async def flush(self) -> None:
        pass


def serve(front: EarlyAnswers, calls: Calls) -> None:
    """Serve until the agent closes the connection."""

    async def run() -> None:
        server = made(lambda _, name, arguments: calls.call(name, arguments), lambda _: calls.brief())
        to_agent: Any = _ToAgent(front)
        async with stdio_server(anyio.wrap_file(front.lines), to_agent) as (reading, writing):
            front.loaded.set()
            await server.run(reading, writing, server.create_initialization_options())

    anyio.run(run)
