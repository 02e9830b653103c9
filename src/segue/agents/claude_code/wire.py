"""The records of Claude Code's transcripts, versions 1.0 to 2.1, as far as we read them.

A line is a record; new types appear with every version and are skipped. One response of the model is several
``assistant`` lines, one per content block, with the same ``message.id`` and the same usage. Most bytes are
copies (``toolUseResult``, ``progress``, ``prompt_snapshot``), which are not decoded.
"""

from __future__ import annotations

from typing import Any

from msgspec import Raw, Struct, field

from ...core.base.lazy import json_decoder, regex


class CacheCreation(Struct, gc=False):
    """How long what was written to the cache stays there."""

    ephemeral_1h_input_tokens: int = 0


class Tokens(Struct, gc=False):
    """``message.usage``. The output is that up to the record: the last record of a response has all of it."""

    input_tokens: int = 0
    cache_creation_input_tokens: int = 0
    cache_read_input_tokens: int = 0
    output_tokens: int = 0
    cache_creation: CacheCreation | None = None


class Block(Struct, gc=False):
    """A block of ``message.content``: text, tool_use, tool_result, image, thinking …"""

    type: str = ""
    text: str = ""
    thinking: str = ""  # empty in many versions, which only keep a signature
    id: str = ""  # of a tool_use
    name: str = ""
    input: Any = None
    tool_use_id: str = ""  # of a tool_result
    content: Any = None
    is_error: bool | None = None


class Message(Struct, gc=False):
    """A message to or from the API."""

    id: str = ""
    model: str = ""
    content: str | list[Block] | None = None
    usage: Tokens | None = None
    stop_reason: str | None = None


class CompactMetadata(Struct, gc=False, rename="camel"):
    trigger: str = ""
    pre_tokens: int = 0


class Attachment(Struct, gc=False):
    """The types that matter: ``queued_command``, which the user typed while the agent worked, and the output
    of hooks (``hook_additional_context``, ``hook_success``)."""

    type: str = ""
    content: Any = None  # of a hook: texts
    stdout: Any = None  # of a hook: a text, or JSON that contains it
    prompt: Any = None
    origin: Any = None
    command_mode: str = field(name="commandMode", default="")


class Attached(Struct, gc=False):
    """The type of an attachment alone: most are large and not needed."""

    type: str = ""


class Record(Struct, gc=False, rename="camel"):
    """A line of a transcript."""

    type: str = ""
    uuid: str | None = None
    parent_uuid: str | None = None
    subtype: str | None = None
    timestamp: str | None = None
    session_id: str | None = None
    cwd: str | None = None
    git_branch: str | None = None
    version: str | None = None
    agent_id: str | None = None
    agent_name: Any = None
    """Set for a member of a team, whose "user" is the team lead."""
    team_name: Any = None
    is_sidechain: bool | None = None
    is_meta: bool | None = None
    origin: Any = None
    """Who wrote a text in the user's place; newer versions only, and not if the user typed it."""
    is_compact_summary: bool | None = None
    is_api_error_message: bool | None = None
    api_error_status: int | None = None
    forked_from: Any = None
    message: Message | None = None
    cost_usd: float | None = field(name="costUSD", default=None)  # early versions only
    content: Raw = Raw()  # of system records and of queue operations
    operation: str | None = None
    tool_denial_kind: str | None = None  # why a call was not run; newer versions only
    tool_use_result: Raw = Raw()  # decoded only where a result names a process
    attachment: Raw = Raw()
    data: Raw = Raw()  # of progress
    compact_metadata: CompactMetadata | None = None
    error: Raw = Raw()
    retry_attempt: int | None = None
    ai_title: str | None = None
    custom_title: str | None = None
    title: str | None = None


RECORD = json_decoder(Record)
ATTACHED = json_decoder(Attached)
ATTACHMENT = json_decoder(Attachment)

# Beginnings of texts in user records that no user typed. Nor did a user type what is in a tag of the harness,
# whose name has a hyphen or an underscore.
TAG = regex(r"<([a-z]+(?:[-_][a-z]+)+)\b[^>]*>")
NOT_TYPED = (
    "Caveat:",
    "[Request interrupted",
    "This session is being continued",
    "Base directory for this skill:",
    "<channel source=",
    "<tick>",
)
INTERRUPTED = "[Request interrupted by user"
ABORTED = "<error>Command was aborted before completion</error>"
CONTINUED = "This session is being continued from a previous conversation"
SUMMARY_HEAD = regex(rf"{CONTINUED}[^\n]*\n+(?:Summary:\n)?")
SUMMARY_FOOT = regex(
    r"\n+(?:If you need specific details from before compaction|Please continue the conversation from where "
    r"|Continue the conversation from where |Recent messages are preserved verbatim)[^\n]*"
)
"""What Claude Code itself writes around the summary of a conversation, for the model that goes on."""
REJECTED = (
    "The user doesn't want to proceed with this tool use",
    "The user doesn't want to take this action right now",
    "The agent proposed a plan that was rejected by the user",
    "User chose to stay in plan mode",
)
REJECTED_REASONS = ("the user said:", "The user provided the following reason for the rejection:")
REJECTED_NOTE = "Note: The user's next message"  # added by the harness after the user's reason
REJECTED_QUESTION = "The user wants to clarify these questions"  # written by the harness instead of a reason
UNKNOWN_OUTCOME = "[Tool call interrupted:"
UNSAID = "No response requested."  # written by the harness in the place of an answer
