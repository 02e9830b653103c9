"""The events of Copilot CLI, versions 0.0.3 to 1.0, as far as we read them.

A line is an event: ``{type, data, id, timestamp, parentId}``, with ``agentId`` if a sub-agent sent it. The
form of ``data`` depends on the type. Nearly half of the lines are ``hook.start`` and ``hook.end``, and much
of the rest is telemetry; neither is decoded.
"""

from __future__ import annotations

from typing import Any

from msgspec import Raw, Struct

from ...core.base.lazy import json_decoder

HOOK = b'{"type":"hook.'  # the beginning of nearly every second line


class Event(Struct, gc=False, rename="camel"):
    """A line of the transcript."""

    type: str = ""
    data: Raw = Raw()
    id: str = ""
    timestamp: str | int | float | None = None
    agent_id: str | None = None


class Place(Struct, gc=False, rename="camel"):
    """``context`` of a start, and the whole of ``session.context_changed``."""

    cwd: str = ""
    branch: str | None = None
    head_commit: str | None = None


class Begun(Struct, gc=False, rename="camel"):
    """``session.start`` and ``session.resume``."""

    session_id: str = ""
    copilot_version: str = ""
    context: Place | None = None
    selected_model: str | None = None
    detached_from_spawning_parent_session_id: str | None = None


class UserMessage(Struct, gc=False, rename="camel"):
    """``content`` is what was typed; ``transformedContent``, which has additions, is not read."""

    content: str = ""
    source: str | None = None  # such as "skill-pdf" or "agent-3" if nobody typed it
    delivery: str | None = None  # idle; steering or queued if the agent was at work
    is_autopilot_continuation: bool | None = None


class ToolRequest(Struct, gc=False, rename="camel"):
    tool_call_id: str = ""
    name: str = ""
    arguments: Any = None
    intention_summary: str | None = None


class AssistantMessage(Struct, gc=False, rename="camel"):
    message_id: str = ""
    api_call_id: str | None = None
    content: str = ""
    reasoning_text: str | None = None  # ``reasoningOpaque`` is the same encrypted
    model: str | None = None
    output_tokens: int | None = None
    parent_tool_call_id: str | None = None
    tool_requests: list[ToolRequest] | None = None


class ToolStart(Struct, gc=False, rename="camel"):
    tool_call_id: str = ""
    tool_name: str = ""
    arguments: Any = None


class ToolOutput(Struct, gc=False):
    content: str = ""  # what the model got; ``detailedContent`` is for display


class ToolError(Struct, gc=False):
    message: str = ""
    code: str | None = None  # "rejected" or "denied" if the user did not allow the call


class ToolComplete(Struct, gc=False, rename="camel"):
    tool_call_id: str = ""
    success: bool | None = None
    result: ToolOutput | str | None = None
    error: ToolError | str | None = None


class Subagent(Struct, gc=False, rename="camel"):
    """``subagent.started``: the call that started it, and its name."""

    tool_call_id: str = ""
    agent_name: str = ""
    agent_display_name: str | None = None


class NotificationKind(Struct, gc=False, rename="camel"):
    type: str = ""  # shell_completed, shell_detached_completed, agent_completed, agent_idle …
    shell_id: str | None = None
    agent_id: str | None = None
    exit_code: int | None = None
    status: str | None = None  # of an agent: completed or failed


class Notification(Struct, gc=False):
    """``system.notification``: what the harness tells the model of its own accord."""

    content: str = ""
    kind: NotificationKind | None = None


class Compaction(Struct, gc=False, rename="camel"):
    """``session.compaction_start`` and ``session.compaction_complete``."""

    success: bool | None = None
    trigger: str | None = None
    custom_instructions: str | None = None
    summary_content: str | None = None
    current_tokens: int | None = None
    pre_compaction_tokens: int | None = None
    post_compaction_tokens: int | None = None
    token_limit: int | None = None
    error: str | None = None
    status_code: int | None = None


class Truncation(Struct, gc=False, rename="camel"):
    messages_removed_during_truncation: int = 0
    pre_truncation_tokens_in_messages: int = 0


class Usage(Struct, gc=False, rename="camel"):
    """``assistant.usage`` (``cost`` is in requests, not dollars) and ``session.usage_info``."""

    api_call_id: str | None = None
    parent_tool_call_id: str | None = None
    model: str | None = None
    input_tokens: int | None = None  # cached ones too
    output_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    current_tokens: int | None = None
    token_limit: int | None = None


class PlanChange(Struct, gc=False, rename="camel"):
    """``session.plan_changed`` mostly says only that ``plan.md`` changed; some versions include the plan."""

    plan: str | None = None
    content: str | None = None
    plan_content: str | None = None  # of ``exit_plan_mode.requested``


class ModelTokens(Struct, gc=False, rename="camel"):
    """The tokens of a model, sub-agents' too."""

    input_tokens: int = 0  # cached ones too
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0


class ModelMetrics(Struct, gc=False):
    usage: ModelTokens | None = None


class Ending(Struct, gc=False, rename="camel"):
    """``session.shutdown``, ``session.idle`` and ``session.task_complete``."""

    shutdown_type: str | None = None
    session_start_time: int | float | None = None
    model_metrics: dict[str, ModelMetrics] | None = None
    """What was used since that time; no other event on disk says what was sent to the model."""
    error_reason: str | None = None
    current_tokens: int | None = None
    aborted: bool | None = None
    summary: str | None = None
    outcome: str | None = None


class Trouble(Struct, gc=False, rename="camel"):
    """``session.error``, ``model.call_failure`` and ``abort``."""

    message: str | None = None
    error_message: str | None = None
    error_type: str | None = None
    status_code: int | None = None
    reason: str | None = None


class Change(Struct, gc=False, rename="camel"):
    """``session.model_change`` and ``session.title_changed``."""

    new_model: str | None = None
    title: str | None = None


EVENT = json_decoder(Event)
