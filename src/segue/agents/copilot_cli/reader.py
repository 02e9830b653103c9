"""Reads Copilot CLI's events as steps.

Only what was typed becomes a prompt: the harness also sends user messages for skills and sub-agents, and to
keep the autopilot going. A call is reported when the model requests it, and not again when it runs. A
sub-agent's actions are reported but not its messages: its report is the result of the call that started it
or, if it works in the background, of a later ``read_agent``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec

from ...core.base.lazy import regex
from ...core.runs.steps import (
    Compact,
    End,
    Fault,
    Interrupt,
    Model,
    Plan,
    Prompt,
    Recap,
    Report,
    Result,
    Say,
    Settled,
    Start,
    Step,
    Thought,
    Title,
    Usage,
)
from ..base import decode_line, decode_part
from ..common import checklist, injected_briefs, seconds, typed_how, typed_text
from . import wire
from .calls import call_of, plan_of
from .usage_totals import UsageTotals

_EXIT = regex(r"\s*<[^<>\n]{0,80}\bexit(?:ed)?(?: with)?(?: exit)? code:? (-?\d{1,10})[^<>\n]{0,40}>\s*\Z")
_GOES_ON = regex(
    r"\s*<command (?:started in background )?with (?:shellId|sessionId|id): ([^\s<>]+)"
    r"(?: is still running[^<>]*)?>\s*\Z"
)
_STOPPED = regex(r"\s*<command with (?:shellId|sessionId|id): [^\s<>]+ stopped>\s*\Z")
_AGENT_BEGUN = regex(r"\AAgent started in background with agent_id: ([^\s,]+?)\.?(?=[\s,]|\Z)")
_AGENT_READ = regex(
    r"\AAgent [^\n.]*\. agent_id: ([^\s,]+)(?:[^\n]*?\bstatus: (\w+))?[^\n]*\n*(?:Result:\n)?"
)
_NOTICE = regex(r"</?system_notification>")
_OVER: dict[str, bool | None] = {"completed": True, "idle": True, "failed": False, "cancelled": None}
_NOT_TYPED = ("skill", "agent", "system", "autopilot", "schedule", "hook", "notification", "background")
_DOES_TO_PROCESS = {"read_agent": "consult", "write_agent": "instruct"}
_FRAMES = (
    "<skill-context",
    "<system_notification",
    "<system_reminder",
)  # beginnings of texts that nobody typed
_ADDED = regex(
    r"<(current_datetime|reminder|system_reminder|tools_changed_notice)>.*?</\1>", re.S
)  # what older versions put around the words of the user
_REFUSED = regex(r"\AThe user rejected this tool call\.(?: User feedback:(.*))?\s*\Z", re.S)
_ANSWERED = regex(r"\AUser (?:selected|responded): ")
_AWAY = "The user is not available to respond"
_CALLED_MAX = 256  # requested calls that have not ended yet
_AGENTS_MAX = 32
_RUNNING_MAX = 64  # processes in the background
_TAIL_CHARS = 600  # of an output, in which the harness's note about the command is searched


class Reader:
    """See ``agents.base.Reader``."""

    def __init__(self, kept: Any = None) -> None:
        self.skipped = self.malformed = 0
        kept = kept if isinstance(kept, dict) else {}
        self._model: str = kept.get("model", "")
        called = kept.get("called") or {}
        if not isinstance(called, dict):
            called = dict.fromkeys(called, "")
        self._called: dict[str, str] = dict(called)  # call -> what its tool does to which process
        self._running: dict[str, str] = dict(kept.get("running") or ())  # process -> name, if it is an agent
        self._agents: dict[str, str] = dict(kept.get("agents") or ())
        self._trigger: str = kept.get("trigger", "")
        self._tokens: int = kept.get("tokens", 0)  # before the compaction in progress
        self._last: bool = kept.get("last", False)  # the newest message requested no calls
        self._ended: bool = kept.get("ended", False)
        self._totals = UsageTotals(kept.get("totals"))

    def keep(self) -> dict[str, Any]:
        return {
            "model": self._model, "called": self._called, "running": self._running, "agents": self._agents,
            "trigger": self._trigger, "tokens": self._tokens, "last": self._last, "ended": self._ended,
            "totals": self._totals.keep(),
        }  # fmt: skip

    def read(self, record: bytes) -> Iterable[Step]:
        if record.startswith(wire.HOOK) and record.find(b'{"type"', 1) < 0:
            self.skipped += 1
            return ()
        events, bad = decode_line(record, wire.EVENT, self.malformed)
        self.malformed += bad
        return [step for event in events for step in self._event(event)]

    def _event(self, event: wire.Event) -> Iterable[Step]:
        entry = _HANDLERS.get(event.type)
        if entry is None:
            self.skipped += 1
            return ()
        decoder, handle = entry
        raw = bytes(event.data)
        body = decode_part(raw, decoder, decoder.type) if raw and raw != b"null" else decoder.type()
        if body is None:
            self.malformed += 1
            return ()
        return handle(self, event, seconds(event.timestamp), body)

    # the conversation

    def _start(self, event: wire.Event, at: float, body: wire.Begun) -> Iterator[Step]:
        place = body.context or wire.Place()
        yield Start(
            at,
            "start" if event.type == "session.start" else "resume",
            body.session_id,
            place.cwd,
            place.branch or "",
            place.head_commit or "",
            body.copilot_version,
            body.detached_from_spawning_parent_session_id or "",
        )
        self._called.clear()
        self._ended = self._last = False
        yield from self._model_change(at, body.selected_model)

    def _place(self, event: wire.Event, at: float, body: wire.Place) -> Iterator[Step]:
        if body.cwd or body.branch or body.head_commit:
            yield Start(at, "", "", body.cwd, body.branch or "", body.head_commit or "")

    def _cleared(self, event: wire.Event, at: float, body: wire.Ending) -> Iterator[Step]:
        yield Start(at, "clear")

    def _model_change(self, at: float, name: str | None) -> Iterator[Step]:
        if name and name != self._model:
            self._model = name
            yield Model(at, name)

    def _changed(self, event: wire.Event, at: float, body: wire.Change) -> Iterator[Step]:
        yield from self._model_change(at, body.new_model)
        if body.title:
            yield Title(at, body.title)

    # messages

    def _user(self, event: wire.Event, at: float, body: wire.UserMessage) -> Iterator[Step]:
        harness = body.is_autopilot_continuation or event.agent_id
        if harness or (body.source or "").startswith(_NOT_TYPED) or body.content.startswith(_FRAMES):
            return
        yield from injected_briefs(at, body.content)
        if text := typed_text(_ADDED.sub("", body.content)):
            self._ended = self._last = False
            queued = body.delivery in ("steering", "queued")
            yield Prompt(at, text, "queued" if queued else typed_how(text))

    def _assistant(self, event: wire.Event, at: float, body: wire.AssistantMessage) -> Iterator[Step]:
        side = bool(event.agent_id or body.parent_tool_call_id)
        if not side:
            yield from self._model_change(at, body.model)
            if body.reasoning_text and (thought := body.reasoning_text.strip()):
                yield Thought(at, thought)
            if body.content.strip():
                yield Say(at, body.content.strip())
            if body.output_tokens:
                key = body.api_call_id or body.message_id or event.id
                yield self._totals.told(Usage(at, key, output=body.output_tokens), self._model)
            self._last = not body.tool_requests
            self._ended = False
        for request in body.tool_requests or ():
            yield from self._call(
                at, request.tool_call_id, request.name, request.arguments, request.intention_summary
            )

    # tools

    def _call(self, at: float, id: str, tool: str, arguments: Any, note: str | None) -> Iterator[Step]:
        if not id or id in self._called:
            return
        call = call_of(at, id, tool, arguments, note)
        self._called[id] = f"{_DOES_TO_PROCESS.get(tool, tool.partition('_')[0])} {call.process}"
        if len(self._called) > _CALLED_MAX:
            del self._called[next(iter(self._called))]
        yield call
        if plan := plan_of(call, arguments):
            yield plan

    def _tool_start(self, event: wire.Event, at: float, body: wire.ToolStart) -> Iterator[Step]:
        return self._call(at, body.tool_call_id, body.tool_name, body.arguments, None)

    def _tool_complete(self, event: wire.Event, at: float, body: wire.ToolComplete) -> Iterator[Step]:
        if not body.tool_call_id:
            self.malformed += 1
            return
        id = body.tool_call_id
        does, _, process = self._called.pop(id, "").partition(" ")
        text = body.result.content if isinstance(body.result, wire.ToolOutput) else body.result or ""
        if not text and body.error:
            text = body.error.message if isinstance(body.error, wire.ToolError) else body.error
        if body.success is False and _is_refusal(body.error) and (refused := _REFUSED.match(text)):
            words = (refused[1] or "").strip()
            yield Interrupt(at, words, id)
            if words:
                yield Prompt(at, words, "refusal")
            yield Result(at, id)
            return
        if does == "stop":
            yield from self._stopped(at, id, process, body.success, text)
        elif does in ("task", "consult"):
            yield from self._agent_output(at, id, process, body.success, text)
        elif does == "instruct" and body.success and process not in self._running:
            self._goes_on(process)
            yield Result(at, id, None, None, text, process=process)
        else:
            yield from self._output(at, id, process, body.success, text)

    def _output(self, at: float, id: str, process: str, ok: bool | None, text: str) -> Iterator[Step]:
        """The result of a call; of a command that goes on, the harness says so after the output."""
        text = "" if text.startswith(_AWAY) else _ANSWERED.sub("", text)
        code = None
        if ">" in text[-3:]:
            end = max(0, len(text) - _TAIL_CHARS)
            if goes_on := _GOES_ON.search(text[end:]):
                self._goes_on(goes_on[1])
                started = "" if process else goes_on[1]
                yield Result(at, id, None, None, text[: end + goes_on.start()], process=started)
                return
            if match := _EXIT.search(text[-200:]):
                code = int(match[1])
                text = text[: max(0, len(text) - 200) + match.start()]
                ok = ok is not False and code == 0
        yield Result(at, id, ok, code, text)
        if process and code is not None:
            yield from self._settled(at, process, code == 0, text)
        name = self._agents.pop(id, None)
        if name is not None and text and ok:
            yield Report(at, text, name, id)

    def _stopped(self, at: float, id: str, process: str, ok: bool | None, text: str) -> Iterator[Step]:
        yield Result(at, id, ok, None, _STOPPED.sub("", text))
        if ok is not False:
            yield from self._settled(at, process, None, "")

    def _agent_output(self, at: float, id: str, process: str, ok: bool | None, text: str) -> Iterator[Step]:
        """The result of a call that starts an agent in the background, or reads what it said."""
        if begun := _AGENT_BEGUN.match(text):
            self._goes_on(begun[1], self._agents.pop(id, ""))
            yield Result(at, id, None, None, text, process=begun[1])
            return
        read = _AGENT_READ.match(text)
        if not read or read[2] not in _OVER:
            yield from self._output(at, id, process, ok, text)
            return
        report = text[read.end() :].strip()
        yield Result(at, id, ok, None, report)
        if report and _OVER[read[2]]:
            yield Report(at, report, self._running.get(read[1], ""))
        yield from self._settled(at, read[1], _OVER[read[2]], "")

    def _goes_on(self, process: str, name: str = "") -> None:
        self._running[process] = name or self._running.get(process, "")
        if len(self._running) > _RUNNING_MAX:
            del self._running[next(iter(self._running))]

    def _settled(self, at: float, process: str, ok: bool | None, text: str) -> Iterator[Step]:
        """A step if the process was known to run: its end is told by a notice, and again when it is read."""
        if process in self._running:
            del self._running[process]
            yield Settled(at, process, ok, text)

    def _notified(self, event: wire.Event, at: float, body: wire.Notification) -> Iterator[Step]:
        kind = body.kind or wire.NotificationKind()
        if kind.type in ("shell_completed", "shell_detached_completed"):
            ok = None if kind.exit_code is None else kind.exit_code == 0
            yield from self._settled(at, kind.shell_id or "", ok, _NOTICE.sub("", body.content).strip())
        elif kind.type in ("agent_completed", "agent_idle"):
            ok = kind.status != "failed"
            yield from self._settled(at, kind.agent_id or "", ok, _NOTICE.sub("", body.content).strip())

    def _subagent(self, event: wire.Event, at: float, body: wire.Subagent) -> Iterable[Step]:
        self._agents[body.tool_call_id] = body.agent_display_name or body.agent_name
        if len(self._agents) > _AGENTS_MAX:
            del self._agents[next(iter(self._agents))]
        return ()

    def _plan(self, event: wire.Event, at: float, body: wire.PlanChange) -> Iterator[Step]:
        if items := checklist(body.plan or body.content or body.plan_content or ""):
            yield Plan(at, items)

    # the window

    def _compacting(self, event: wire.Event, at: float, body: wire.Compaction) -> Iterator[Step]:
        self._trigger, self._tokens = body.trigger or "", body.current_tokens or 0
        if self._tokens:
            yield Usage(at, event.id, self._tokens, window=body.token_limit or 0)

    def _compacted(self, event: wire.Event, at: float, body: wire.Compaction) -> Iterator[Step]:
        trigger = body.trigger or self._trigger
        tokens = body.pre_compaction_tokens or self._tokens
        self._trigger, self._tokens = "", 0
        if body.success is False:
            if body.status_code:
                yield Fault(at, body.error or "", body.status_code)
            return
        manual = trigger == "manual" or body.custom_instructions
        yield Compact(at, body.summary_content or "", "manual" if manual else "auto", tokens)
        if body.post_compaction_tokens:
            yield Usage(at, event.id, body.post_compaction_tokens, window=body.token_limit or 0)

    def _truncated(self, event: wire.Event, at: float, body: wire.Truncation) -> Iterator[Step]:
        if body.messages_removed_during_truncation > 0:
            yield Compact(at, trigger="auto", tokens=body.pre_truncation_tokens_in_messages)

    def _used(self, event: wire.Event, at: float, body: wire.Usage) -> Iterator[Step]:
        context = body.current_tokens or body.input_tokens or 0
        if (context or body.output_tokens) and not (event.agent_id or body.parent_tool_call_id):
            read, written = body.cache_read_tokens or 0, body.cache_write_tokens or 0
            fresh = max(0, (body.input_tokens or 0) - read - written)
            other = body.model if body.model and body.model != self._model else ""
            used = Usage(
                at, body.api_call_id or event.id, context, body.output_tokens or 0, body.token_limit or 0,
                input=fresh, cache_read=read, cache_write=written, model=other,
            )  # fmt: skip
            yield self._totals.told(used, other or self._model)

    # ends and failures

    def _turn_end(self, event: wire.Event, at: float, body: wire.Ending) -> Iterator[Step]:
        if self._last and not self._ended and not event.agent_id:
            self._ended = True
            yield End(at)

    def _idle(self, event: wire.Event, at: float, body: wire.Ending) -> Iterator[Step]:
        if not self._ended and not event.agent_id:
            self._ended = True
            yield End(at, "aborted" if body.aborted else "turn")

    def _complete(self, event: wire.Event, at: float, body: wire.Ending) -> Iterator[Step]:
        if body.summary:
            yield Recap(at, body.summary)
        self._last = body.outcome in (None, "", "completed")
        self._ended = False

    def _shutdown(self, event: wire.Event, at: float, body: wire.Ending) -> Iterator[Step]:
        if body.current_tokens:
            yield Usage(at, event.id, body.current_tokens)
        yield from self._totals.at_shutdown(at, event.id, body)
        self._ended = True
        failed = body.shutdown_type == "error"
        yield End(at, "error" if failed else "exit", body.error_reason or "")

    def _abort(self, event: wire.Event, at: float, body: wire.Trouble) -> Iterator[Step]:
        self._last = False
        self._called.clear()
        yield Interrupt(at, body.reason or "")

    def _fault(self, event: wire.Event, at: float, body: wire.Trouble) -> Iterator[Step]:
        text = body.message or body.error_message or body.error_type or ""
        yield Fault(at, text, body.status_code or 0, event.type == "model.call_failure")


def _is_refusal(error: wire.ToolError | str | None) -> bool:
    """Whether an error may be the user's refusal; the error of a server's tool may be any text."""
    return isinstance(error, wire.ToolError) and error.code in (None, "", "rejected", "denied")


def _decoder(kind: type[msgspec.Struct]) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(kind)


_Handler = Callable[[Reader, wire.Event, float, Any], Iterable[Step]]
_BEGUN, _ENDING, _TROUBLE = _decoder(wire.Begun), _decoder(wire.Ending), _decoder(wire.Trouble)
_COMPACTION, _USAGE, _CHANGE = _decoder(wire.Compaction), _decoder(wire.Usage), _decoder(wire.Change)
_PLAN = _decoder(wire.PlanChange)

_HANDLERS: dict[str, tuple[msgspec.json.Decoder[Any], _Handler]] = {
    "session.start": (_BEGUN, Reader._start),
    "session.resume": (_BEGUN, Reader._start),
    "session.context_changed": (_decoder(wire.Place), Reader._place),
    "session.context_cleared": (_ENDING, Reader._cleared),
    "session.model_change": (_CHANGE, Reader._changed),
    "session.title_changed": (_CHANGE, Reader._changed),
    "user.message": (_decoder(wire.UserMessage), Reader._user),
    "assistant.message": (_decoder(wire.AssistantMessage), Reader._assistant),
    "tool.execution_start": (_decoder(wire.ToolStart), Reader._tool_start),
    "tool.execution_complete": (_decoder(wire.ToolComplete), Reader._tool_complete),
    "system.notification": (_decoder(wire.Notification), Reader._notified),
    "subagent.started": (_decoder(wire.Subagent), Reader._subagent),
    "session.plan_changed": (_PLAN, Reader._plan),
    "exit_plan_mode.requested": (_PLAN, Reader._plan),
    "session.compaction_start": (_COMPACTION, Reader._compacting),
    "session.compaction_complete": (_COMPACTION, Reader._compacted),
    "session.truncation": (_decoder(wire.Truncation), Reader._truncated),
    "assistant.usage": (_USAGE, Reader._used),
    "session.usage_info": (_USAGE, Reader._used),
    "assistant.turn_end": (_ENDING, Reader._turn_end),
    "assistant.idle": (_ENDING, Reader._idle),
    "session.idle": (_ENDING, Reader._idle),
    "session.task_complete": (_ENDING, Reader._complete),
    "session.shutdown": (_ENDING, Reader._shutdown),
    "abort": (_TROUBLE, Reader._abort),
    "session.error": (_TROUBLE, Reader._fault),
    "model.call_failure": (_TROUBLE, Reader._fault),
}
