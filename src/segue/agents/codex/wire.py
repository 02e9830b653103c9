"""The records of Codex's rollouts as they are in the file, versions 0.34 to 0.166.

Only the fields that the reader uses are declared, so that the decoder skips the rest (encrypted reasoning,
base instructions, replaced histories). Field types are loose on purpose: a version that writes a number
instead of a string must not cost the record. The reader takes values through ``text``, ``number``, ``table``
and ``rows``, which return an empty value for a wrong type.
"""

from __future__ import annotations

from typing import Any, TypeVar, cast

import msgspec

from ...core.base.lazy import json_decoder
from ..base import decode_any, decode_part

Loose = Any  # any JSON value

T = TypeVar("T", bound=msgspec.Struct)


class Line(msgspec.Struct, gc=False):
    """The envelope. Before 0.32 there was none, and a record was the payload itself."""

    type: Loose = ""
    timestamp: Loose = None
    ordinal: Loose = None
    payload: msgspec.Raw = msgspec.Raw()


class Kind(msgspec.Struct, gc=False):
    """The type of a payload, to decide whether the rest is decoded."""

    type: Loose = ""


class Meta(msgspec.Struct, gc=False):
    """``session_meta``: first in a file, and again after a copied history or when a thread is resumed."""

    id: Loose = ""
    timestamp: Loose = None
    forked_from_id: Loose = None
    parent_thread_id: Loose = None
    cwd: Loose = ""
    cli_version: Loose = ""
    source: Loose = None
    thread_source: Loose = None
    git: Loose = None
    history_base: Loose = None  # set in a fork that refers to its history instead of copying it
    subagent_history_start_ordinal: Loose = None


class Turn(msgspec.Struct, gc=False):
    """``turn_context``, and events with the id of a turn or a thread."""

    type: Loose = ""
    turn_id: Loose = ""
    thread_id: Loose = ""
    cwd: Loose = ""
    model: Loose = ""


class Message(msgspec.Struct, gc=False):
    """``message``, and ``agent_message`` from one agent to another."""

    role: Loose = ""
    content: Loose = None
    about: Loose = msgspec.field(default=None, name="internal_chat_message_metadata_passthrough")
    author: Loose = ""
    recipient: Loose = ""


class ToolCall(msgspec.Struct, gc=False):
    """``function_call``, ``custom_tool_call``, ``local_shell_call``, ``web_search_call``, …"""

    name: Loose = ""
    namespace: Loose = ""
    arguments: Loose = None  # a string of JSON
    input: Loose = None  # of a custom tool: plain text
    action: Loose = None
    call_id: Loose = ""
    id: Loose = ""
    status: Loose = ""


class Output(msgspec.Struct, gc=False):
    """``function_call_output`` and ``custom_tool_call_output``."""

    call_id: Loose = ""
    output: Loose = None


class Event(msgspec.Struct, gc=False):
    """``event_msg`` of the small kinds."""

    message: Loose = ""
    kind: Loose = ""
    reason: Loose = ""
    model_context_window: Loose = 0
    last_agent_message: Loose = None
    error: Loose = None
    codex_error_info: Loose = None
    thread_name: Loose = ""
    num_turns: Loose = 0  # of ``thread_rolled_back``
    review_output: Loose = None
    text: Loose = ""  # of ``agent_reasoning``
    item: msgspec.Raw = msgspec.Raw()


class Reasoning(msgspec.Struct, gc=False):
    """``reasoning``: encrypted, but some versions and models give a summary, or all of it, in plain words."""

    summary: Loose = None
    content: Loose = None


class Item(msgspec.Struct, gc=False):
    """A finished action: the item of ``item_completed``, and the ``*_end`` events of older versions."""

    type: Loose = ""
    id: Loose = ""
    call_id: Loose = ""
    content: Loose = None
    process_id: Loose = None
    command: Loose = None
    status: Loose = ""
    success: Loose = None
    exit_code: Loose = None
    aggregated_output: Loose = None
    stdout: Loose = None
    stderr: Loose = None
    changes: Loose = None
    server: Loose = ""
    tool: Loose = ""
    arguments: Loose = None
    invocation: Loose = None
    result: Loose = None
    error: Loose = None
    review_output: Loose = None
    statuses: Loose = None  # of sub-agents that were waited for
    agents_states: Loose = None
    receiver_agents: Loose = None
    summary_text: Loose = None  # of reasoning
    raw_content: Loose = None


class Compacted(msgspec.Struct, gc=False):
    """``compacted``; the replacement history in it is not needed."""

    message: Loose = ""


class Tokens(msgspec.Struct, gc=False):
    """The usage of a response, or of all together."""

    total_tokens: int = 0
    input_tokens: int = 0  # cached ones too
    cached_input_tokens: int = 0
    output_tokens: int = 0  # with reasoning


class Count(msgspec.Struct, gc=False):
    """The info of ``token_count``."""

    last: Tokens | None = msgspec.field(default=None, name="last_token_usage")
    total: Tokens | None = msgspec.field(default=None, name="total_token_usage")
    model_context_window: int | None = None


class Counted(msgspec.Struct, gc=False):
    """``token_count``: after a response and its tools, and sometimes repeated unchanged."""

    info: Count | None = None


class Spent(msgspec.Struct, gc=False):
    """``token_usage_record``, since 0.16x: right after a response, before its tools run."""

    usage: Tokens | None = None
    thread_token_usage: Tokens | None = None


class Payload(Item, gc=False):
    """The fields of all payloads above, so that a line is decoded once instead of three times.

    If a field has a wrong type, the line is decoded again in parts (``Line``)."""

    type: str = ""
    role: Loose = ""
    output: Loose = None
    name: Loose = ""
    input: Loose = None
    info: Count | None = None
    message: Loose = ""
    text: Loose = ""
    summary: Loose = None
    about: Loose = msgspec.field(default=None, name="internal_chat_message_metadata_passthrough")
    namespace: Loose = ""
    action: Loose = None
    author: Loose = ""
    recipient: Loose = ""
    kind: Loose = ""
    reason: Loose = ""
    model_context_window: Loose = 0
    last_agent_message: Loose = None
    codex_error_info: Loose = None
    thread_name: Loose = ""
    num_turns: Loose = 0
    item: Item | None = None
    usage: Tokens | None = None
    thread_token_usage: Tokens | None = None
    turn_id: Loose = ""
    thread_id: Loose = ""
    cwd: Loose = ""
    model: Loose = ""
    timestamp: Loose = None
    forked_from_id: Loose = None
    parent_thread_id: Loose = None
    cli_version: Loose = ""
    source: Loose = None
    thread_source: Loose = None
    git: Loose = None
    history_base: Loose = None
    subagent_history_start_ordinal: Loose = None


class Whole(msgspec.Struct, gc=False):
    """A line with its payload."""

    type: str = ""
    timestamp: Loose = None
    ordinal: Loose = None
    payload: Payload | msgspec.UnsetType = msgspec.UNSET


class Bare(msgspec.Struct, gc=False, omit_defaults=True):
    """Any record of the old form without an envelope, for finding one in a damaged line."""

    type: Loose = ""
    timestamp: Loose = None
    id: Loose = ""
    cwd: Loose = ""
    git: Loose = None
    role: Loose = ""
    content: Loose = None
    name: Loose = ""
    arguments: Loose = None
    input: Loose = None
    action: Loose = None
    call_id: Loose = ""
    status: Loose = ""
    output: Loose = None


LINE = json_decoder(Line)
WHOLE = json_decoder(Whole)
BARE = json_decoder(Bare)
KIND = json_decoder(Kind)
META = json_decoder(Meta)
TURN = json_decoder(Turn)
MESSAGE = json_decoder(Message)
TOOL_CALL = json_decoder(ToolCall)
OUTPUT = json_decoder(Output)
EVENT = json_decoder(Event)
ITEM = json_decoder(Item)
REASONING = json_decoder(Reasoning)
COMPACTED = json_decoder(Compacted)
COUNTED = json_decoder(Counted)
SPENT = json_decoder(Spent)


Body = msgspec.Raw | Item
"""A payload, decoded or not."""


def decode(raw: Body, decoder: msgspec.json.Decoder[T]) -> T | None:
    """A payload, as far as its fields can be decoded; None if it is not an object."""
    if isinstance(raw, Item):
        return cast("T", raw)  # a `Payload`, which has the fields of every kind, or the wanted kind itself
    try:
        return decoder.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return decode_part(bytes(raw), decoder, decoder.type)


_TYPED = b'{"type":"'


def kind_of(raw: Body) -> str | None:
    """The type of a payload; None if it is not an object. It is nearly always the first field, in which case
    nothing else is decoded."""
    if isinstance(raw, Item):
        return text(raw.type)
    head = memoryview(raw)[:80].tobytes()
    if head.startswith(_TYPED):
        end = head.find(b'"', len(_TYPED))
        name = head[len(_TYPED) : end]
        if end > 0 and b"\\" not in name:
            return name.decode("utf-8", "replace")
    inner = decode(raw, KIND)
    return None if inner is None else text(inner.type)


def parsed(value: Loose) -> Loose:
    """The JSON value inside a string; any other value is returned unchanged."""
    if isinstance(value, str) and value[:1] in ("{", "["):
        inner = decode_any(value)
        return value if inner is None else inner
    return value


def text(value: Loose) -> str:
    return value if isinstance(value, str) else ""


def number(value: Loose) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def table(value: Loose) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def rows(value: Loose) -> list[Any]:
    return value if isinstance(value, list) else []
