"""The conversations of Gemini CLI, versions 0.4 to 0.61, as far as we read them.

The older form is one document with the fields of a header and ``messages``. The newer is a log of lines: a
header, messages, ``{"$set": {…}}`` to change the header, and ``{"$rewindTo": id}`` when the user goes back. A
message with the id of an earlier one replaces it; that is how tool calls appear once they have ended.
``$set.messages`` is the history that the model sees after a resume or a compression: a copy of the past, not
new work.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Raw, Struct, field

from ...core.base.lazy import json_decoder


class Tokens(Struct, gc=False):
    input: int = 0  # the whole prompt, cached tokens too
    output: int = 0
    cached: int | None = None  # of the input
    thoughts: int | None = None
    tool: int | None = None  # of what its tools put into the prompt; not part of the input


class Thinking(Struct, gc=False):
    """An element of ``thoughts``: a summary of what the model thought."""

    subject: str = ""
    description: str = ""
    timestamp: str | None = None


class Record(Struct, gc=False, rename="camel"):
    """A line, a message of a document, or a document."""

    # of a header or a document
    session_id: str | None = None
    start_time: str | None = None
    summary: str | None = None  # one line for the list of conversations
    directories: list[str] | None = None
    messages: Raw = Raw()
    # of a change
    set: Raw = field(name="$set", default=Raw())
    rewind_to: str | None = field(name="$rewindTo", default=None)
    # of a message
    id: str | None = None
    timestamp: str | None = None
    type: str | None = None  # user, gemini, info, warning, error
    content: Raw = Raw()  # a text, or a list of parts
    display_content: Raw = Raw()  # what the user typed, if files were added to the content
    thoughts: list[Thinking] | None = None
    tool_calls: Raw = Raw()
    tokens: Tokens | None = None
    model: str | None = None


class Function(Struct, gc=False):
    """``functionCall`` or ``functionResponse`` of a part."""

    id: str | None = None
    name: str = ""
    args: Any = None
    response: Any = None  # {output} or {error}


class Part(Struct, gc=False, rename="camel"):
    """A part of a content; other parts have ``inlineData``, images as base64."""

    text: str | None = None
    thought: bool | None = None
    function_call: Function | None = None
    function_response: Function | None = None


class ToolCall(Struct, gc=False, rename="camel"):
    id: str = ""
    name: str = ""
    args: Any = None
    status: str = ""  # success, error, cancelled; before: validating, scheduled, executing …
    timestamp: str | None = None
    result: Raw = Raw()
    result_display: Raw = Raw()  # a text, or an object that depends on the tool


class Display(Struct, gc=False, rename="camel"):
    """``resultDisplay`` of a tool that writes files."""

    is_new_file: bool | None = None
    original_content: str | None = None


RECORD = json_decoder(Record)
PART = json_decoder(Part)
CALL = json_decoder(ToolCall)
DISPLAY = json_decoder(Display)
LIST = msgspec.json.Decoder(list[Raw])

# Beginnings of texts in user messages that no user typed.
NOT_TYPED = (
    "This is the Gemini CLI. We are setting up the context",
    "Here is the user's editor context",
    "Here is a summary of changes in the user's editor context",
    "[The previous response was interrupted",
    "System: ",
)
FILES = "--- Content from referenced files ---"
