"""Reads UI messages as steps: times, tokens, the user's words, and the rest where the API history lacks
it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ...core.base.values import Value
from ...core.runs.steps import (
    Call,
    Compact,
    Fault,
    Interrupt,
    Plan,
    Prompt,
    Report,
    Result,
    Say,
    Start,
    Step,
    Thought,
    Usage,
)
from ..base import T, decode_part
from ..common import checklist, injected_briefs, seconds, typed_how, typed_text
from . import wire
from .calls import completed, shown_call, todos_of
from .texts import answered, goes_on, outcome, words_of

# Kinds of messages that give no steps.
_QUIET = frozenset(
    "hook_status hook_output_stream checkpoint_created checkpoint_saved api_req_finished info "
    "mcp_server_request_started shell_integration_warning api_req_deleted deleted_api_reqs".split()
)


class Screen:
    """Reads UI messages in order; ``full(at)`` says whether the API history lacks this time, ``refusals`` are
    prompts that the API history has, with the calls that they reject."""

    def __init__(self, full: Callable[[float], bool], window: int, refusals: set[str]) -> None:
        self.skipped = 0
        self._refusals = refusals
        self._full = full
        self._window = window
        self._pending: list[Call] = []
        self._output: list[str] = []
        self._resuming = False

    def read(self, shown: list[wire.Shown]) -> Iterator[Step]:
        first = _first(shown)
        for message in sorted(shown, key=lambda message: seconds(message.ts)):
            at, kind = seconds(message.ts), message.say or message.ask or ""
            if message is first and kind in ("task", "text"):
                yield from self._prompt(at, message.text)
                continue
            handle = _ALWAYS.get(kind) or (_FULL.get(kind) if self._full(at) else None)
            if handle:
                yield from handle(self, at, message)
            elif kind not in _FULL:
                self.skipped += kind not in _QUIET

    # messages that always count

    def _prompt(self, at: float, text: str | None) -> Iterator[Step]:
        yield from self._resumed(at)
        text = text or ""
        yield from injected_briefs(at, text)
        words = typed_text(text)
        if words and words not in self._refusals:
            yield Prompt(at, words, typed_how(words))

    def _feedback(self, at: float, message: wire.Shown) -> Iterator[Step]:
        yield from self._prompt(at, message.text)

    def _request(self, at: float, message: wire.Shown) -> Iterator[Step]:
        yield from self._resumed(at)
        about = _inner(message.text, wire.REQUEST, wire.Request)
        if about is None:
            return
        yield from self._results(at, about.request)
        cached = about.cache_writes + about.cache_reads
        is_inside = about.api_protocol == "openai"  # what came from the cache is part of what was sent
        fresh = max(0, about.tokens_in - cached) if is_inside else about.tokens_in
        context = about.tokens_in if is_inside else about.tokens_in + cached
        if context or about.tokens_out:
            yield Usage(
                at, f"ui-{at:.3f}", context, about.tokens_out, self._window, about.cost or 0.0, fresh,
                about.cache_reads, about.cache_writes,
            )  # fmt: skip
        if not self._full(at):
            return  # the API history has it
        if about.cancel_reason == "user_cancelled":
            yield Interrupt(at, about.cancel_reason)
        elif about.cancel_reason or about.streaming_failed_message:
            yield Fault(at, about.streaming_failed_message or about.cancel_reason or "")

    def _results(self, at: float, request: str) -> Iterator[Step]:
        """The results of the calls before a request, which the request contains."""
        if not self._pending:
            self._output.clear()
            return
        answer = answered(request)
        output = answer.text if answer.kind == "result" else "\n".join(self._output)
        for call in self._pending:
            text, output = output, ""
            process = call.command if goes_on(call.tool, text) else ""
            ok, code, text = outcome(call.tool, text)
            if call.act == "ask":
                text = "\n".join(words_of(text)) or text
            yield Result(at, call.id, ok, code, text, process=process)
        self._pending.clear()
        self._output.clear()

    def _resume(self, at: float, message: wire.Shown) -> Iterator[Step]:
        self._resuming = True
        return iter(())

    def _resumed(self, at: float) -> Iterator[Step]:
        """A ``Start`` if something follows the offer to resume the task."""
        if self._resuming:
            self._resuming = False
            self._pending.clear()  # their results were lost
            yield Start(at, "resume")

    def _condensed(self, at: float, message: wire.Shown) -> Iterator[Step]:
        if about := message.context_condense or message.context_truncation:
            yield Compact(at, about.summary, "auto", about.prev_context_tokens)

    def _failed(self, at: float, message: wire.Shown) -> Iterator[Step]:
        about = _inner(message.text, wire.REQUEST, wire.Request)
        text = (about.error_message if about else None) or message.text or ""
        yield Fault(at, text, retrying=message.ask is None)

    def _progress(self, at: float, message: wire.Shown) -> Iterator[Step]:
        if items := checklist(message.text or ""):
            yield Plan(at, items)

    def _thought(self, at: float, message: wire.Shown) -> Iterator[Step]:
        if text := (message.text or "").strip():
            yield Thought(at, text)

    def _report(self, at: float, message: wire.Shown) -> Iterator[Step]:
        if message.text:
            yield Report(at, message.text)

    # messages that count where the API history lacks the time

    def _text_message(self, at: float, message: wire.Shown) -> Iterator[Step]:
        if text := (message.text or "").strip():
            yield Say(at, text)

    def _command(self, at: float, message: wire.Shown) -> Iterator[Step]:
        if message.text:
            yield self._called(Call(at, _id(at), "execute_command", "run", message.text, message.text))

    def _output_message(self, at: float, message: wire.Shown) -> Iterator[Step]:
        if message.text:
            self._output.append(message.text)
        return iter(())

    def _tool(self, at: float, message: wire.Shown) -> Iterator[Step]:
        tool = _inner(message.text, wire.TOOL, wire.ToolShown)
        if tool is None:
            return
        call = shown_call(at, _id(at), tool)
        if call.act == "search" and isinstance(tool.content, str) and tool.content:
            yield call  # it is shown with what it found
            yield Result(at, call.id, True, None, tool.content)
        else:
            yield self._called(call)
        if items := todos_of(tool.todos):
            yield Plan(at, items)

    def _question(self, at: float, message: wire.Shown) -> Iterator[Step]:
        tool = _inner(message.text, wire.TOOL, wire.ToolShown)
        question = (tool.question if tool else None) or message.text or ""
        yield self._called(Call(at, _id(at), "ask_followup_question", "ask", question, note=question))

    def _response(self, at: float, message: wire.Shown) -> Iterator[Step]:
        tool = _inner(message.text, wire.TOOL, wire.ToolShown)
        if text := (tool.response if tool else None) or message.text:
            yield Say(at, text)

    def _completed(self, at: float, message: wire.Shown) -> Iterator[Step]:
        if message.say:  # the question whether the user accepts it has no text
            yield from completed(at, message.text or "")

    def _condensing(self, at: float, message: wire.Shown) -> Iterator[Step]:
        yield Compact(at, message.text or "", "manual" if message.ask == "condense" else "auto")

    def _called(self, call: Call) -> Call:
        self._pending.append(call)
        return call


def _first(shown: list[wire.Shown]) -> wire.Shown | None:
    """The message with the task: Cline marks it, with Roo it is the first one."""
    return next((message for message in shown if message.say == "task"), shown[0] if shown else None)


def prompts_of(shown: list[wire.Shown]) -> list[tuple[float, str]]:
    """The user's prompts with their times."""
    first = _first(shown)
    return [
        (seconds(message.ts), typed_text(message.text or ""))
        for message in shown
        if message.say == "user_feedback" or (message is first and message.say in ("task", "text"))
    ]


class ShownCommand(Value):
    """A command in the UI."""

    at: float
    """When it was shown or, if it has printed something, when it last did."""
    is_over: bool
    """Whether it has ended, with whatever exit code."""
    text: str = ""
    """What it printed, once it is over."""


def shown_commands(shown: list[wire.Shown]) -> dict[str, list[ShownCommand]]:
    """The commands that the UI shows, each with all its runs in the order of time. They have the outputs of
    those whose results are in no message, as the next request was not made or the task was resumed."""
    commands: dict[str, list[ShownCommand]] = {}
    last: list[ShownCommand] = []
    for message in sorted(shown, key=lambda message: seconds(message.ts)):
        kind, at, text = message.say or message.ask, seconds(message.ts), message.text or ""
        if kind == "command":
            last = commands.setdefault(text, [])
            last.append(ShownCommand(at, message.command_completed))
        elif kind == "command_output" and last and last[-1].is_over:
            before = last.pop()
            printed = "\n".join(filter(None, (before.text, text.removesuffix("\n"))))
            last.append(ShownCommand(at, True, printed))
    return commands


def has_thoughts(shown: list[wire.Shown]) -> bool:
    """Whether the messages have what the agent thought."""
    return any(message.say == "reasoning" and message.text for message in shown)


def _id(at: float) -> str:
    return f"ui-{at:.3f}"


def _inner(text: str | None, decoder: Any, kind: type[T]) -> T | None:
    """The JSON object that a text is; None if it is none."""
    return (
        decode_part(text.encode("utf-8", "replace"), decoder, kind) if text and text.startswith("{") else None
    )


_Handler = Callable[[Screen, float, wire.Shown], Iterator[Step]]

_ALWAYS: dict[str, _Handler] = {
    "user_feedback": Screen._feedback,
    "api_req_started": Screen._request,
    "resume_task": Screen._resume,
    "resume_completed_task": Screen._resume,
    "condense_context": Screen._condensed,
    "sliding_window_truncation": Screen._condensed,
    "api_req_failed": Screen._failed,
    "error_retry": Screen._failed,
    "api_req_retry_delayed": Screen._failed,
    "task_progress": Screen._progress,
    "reasoning": Screen._thought,
}
_FULL: dict[str, _Handler] = {
    "text": Screen._text_message,
    "command": Screen._command,
    "command_output": Screen._output_message,
    "mcp_server_response": Screen._output_message,
    "tool": Screen._tool,
    "use_mcp_server": Screen._tool,
    "followup": Screen._question,
    "plan_mode_respond": Screen._response,
    "completion_result": Screen._completed,
    "condense": Screen._condensing,
    "summarize_task": Screen._condensing,
    "subtask_result": Screen._report,
}
