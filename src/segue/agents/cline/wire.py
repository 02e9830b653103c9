"""The documents of a Cline or Roo task, as far as we read them.

``api_conversation_history.json`` contains the messages to and from the model, in Anthropic's form; tools are
blocks or, with Roo and with models without tools, XML in the text. ``ui_messages.json`` contains what the
user saw, with times and tokens. ``Task`` is our own document of both, made by ``load``.
"""

from __future__ import annotations

from typing import Any

from msgspec import Raw, Struct

from ...core.base.lazy import json_decoder


class Block(Struct, gc=False):
    """A block of a message: text, tool_use, tool_result, image, thinking …"""

    type: str = ""
    text: str = ""
    thinking: str = ""  # of a thinking block; a reasoning block has a text
    id: str = ""  # of a tool_use
    name: str = ""
    input: Any = None
    tool_use_id: str = ""  # of a tool_result
    content: Any = None
    is_error: bool | None = None


class ModelInfo(Struct, gc=False, rename="camel"):
    model_id: str = ""


class Tokens(Struct, gc=False):
    prompt: int = 0
    completion: int = 0
    cached: int = 0  # read from the cache or written to it


class Metrics(Struct, gc=False):
    tokens: Tokens | None = None
    cost: float | None = None


class Message(Struct, gc=False, rename="camel"):
    """An element of the API history."""

    role: str = ""
    content: str | list[Block] | None = None
    ts: int | float | None = None
    is_summary: bool | None = None  # Roo: the summary of a condensation
    model_info: ModelInfo | None = None
    metrics: Metrics | None = None


class Condense(Struct, gc=False, rename="camel"):
    summary: str = ""
    prev_context_tokens: int = 0


class Shown(Struct, gc=False, rename="camel"):
    """An element of the UI messages; ``text`` is often JSON again."""

    ts: int | float | None = None
    type: str = ""
    say: str | None = None
    ask: str | None = None
    text: str | None = None
    command_completed: bool = False
    conversation_history_index: int | None = None
    context_condense: Condense | None = None
    context_truncation: Condense | None = None
    model_info: ModelInfo | None = None


class Request(Struct, gc=False, rename="camel"):
    """The text of ``api_req_started``, and of a retry."""

    request: str = ""
    tokens_in: int = 0
    tokens_out: int = 0
    cache_writes: int = 0
    cache_reads: int = 0
    cost: float | None = None
    api_protocol: str | None = None
    cancel_reason: str | None = None
    streaming_failed_message: str | None = None
    error_message: str | None = None


class Todo(Struct, gc=False):
    content: str = ""
    status: str = ""


class ToolShown(Struct, gc=False, rename="camel"):
    """The text of a tool, a question, an MCP request or a response in plan mode."""

    tool: str = ""
    path: str | None = None
    content: Any = None
    diff: str | None = None
    regex: str | None = None
    question: str | None = None
    response: str | None = None
    server_name: str | None = None
    tool_name: str | None = None
    arguments: Any = None
    todos: list[Todo] | None = None
    batch_files: Any = None


class History(Struct, gc=False, rename="camel"):
    """An entry of ``taskHistory.json``, Roo's ``_index.json`` or ``history_item.json``."""

    id: str = ""
    cwd_on_task_initialization: str | None = None
    workspace: str | None = None
    parent_task_id: str | None = None

    @property
    def cwd(self) -> str:
        return self.cwd_on_task_initialization or self.workspace or ""


class Host(Struct, gc=False):
    cline_version: str | None = None


class Metadata(Struct, gc=False):
    """``task_metadata.json``."""

    environment_history: list[Host] | None = None
    workspace: str | None = None


class Task(Struct, gc=False):
    """What ``load`` makes of a folder: the intact elements of its documents, as they were."""

    id: str = ""
    api: list[Raw] | None = None
    ui: list[Raw] | None = None
    focus: str = ""  # a Markdown task list
    history: History | None = None
    meta: Metadata | None = None
    torn: bool = False  # the API history is torn
    bad: int = 0  # how many documents are torn


MESSAGE = json_decoder(Message)
SHOWN = json_decoder(Shown)
REQUEST = json_decoder(Request)
TOOL = json_decoder(ToolShown)
HISTORY = json_decoder(History)
METADATA = json_decoder(Metadata)
