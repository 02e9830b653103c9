"""The UI messages to steps: times, tokens, the user's words, and the rest where the API history is gone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ...core.runs.steps import Call, Compact, Fault, Interrupt, Plan, Report, Result, Say, Start, Step, Usage
from ..base import T, decoded
from ..common import checklist, heard, seconds, typed
from . import wire
from .calls import completed, shown_call, todos_of
from .texts import answered, outcome, words_of

# Kinds that say nothing to us, and no kind at all.
_QUIET = frozenset(
    "reasoning hook_status hook_output_stream checkpoint_created checkpoint_saved api_req_finished info "
    "mcp_server_request_started shell_integration_warning api_req_deleted deleted_api_reqs".split()
)


class Screen:
    """Reads UI messages in order. ``full(at)``: is this a time that the API history does not tell?"""

    def __init__(self, full: Callable[[float], bool], window: int) -> None:
        self.skipped = 0
        self._full = full
        self._window = window
        self._pending: list[Call] = []
        self._output: list[str] = []
        self._resuming = False

    def read(self, shown: list[wire.Shown]) -> Iterator[Step]:
        first = _first(shown)
        for one in sorted(shown, key=lambda one: seconds(one.ts)):
            at, kind = seconds(one.ts), one.say or one.ask or ""
            if one is first and kind in ("task", "text"):
                yield from self._prompt(at, one.text)
                continue
            handle = _ALWAYS.get(kind) or (_FULL.get(kind) if self._full(at) else None)
            if handle:
                yield from handle(self, at, one)
            elif kind not in _FULL:
                self.skipped += kind not in _QUIET

    # always

    def _prompt(self, at: float, text: str | None) -> Iterator[Step]:
        yield from self._resumed(at)
        yield from heard(at, text or "")

    def _feedback(self, at: float, one: wire.Shown) -> Iterator[Step]:
        yield from self._prompt(at, one.text)

    def _request(self, at: float, one: wire.Shown) -> Iterator[Step]:
        yield from self._resumed(at)
        about = _inner(one.text, wire.REQUEST, wire.Request)
        if about is None:
            return
        yield from self._results(at, about.request)
        cached = 0 if about.api_protocol == "openai" else about.cache_writes + about.cache_reads
        if about.tokens_in or about.tokens_out or cached:
            context = about.tokens_in + cached
            yield Usage(at, f"ui-{at:.3f}", context, about.tokens_out, self._window, about.cost or 0.0)
        if not self._full(at):
            return  # the API history has a note of it
        if about.cancel_reason == "user_cancelled":
            yield Interrupt(at, about.cancel_reason)
        elif about.cancel_reason or about.streaming_failed_message:
            yield Fault(at, about.streaming_failed_message or about.cancel_reason or "")

    def _results(self, at: float, request: str) -> Iterator[Step]:
        """The next request carries what the calls before it gave."""
        if not self._pending:
            self._output.clear()
            return
        answer = answered(request)
        given = answer.text if answer.kind == "result" else "\n".join(self._output)
        for call in self._pending:
            text, given = given, ""
            ok, code, text = outcome(call.tool, text)
            if call.act == "ask":
                text = "\n".join(words_of(text)) or text
            yield Result(at, call.id, ok, code, text)
        self._pending.clear()
        self._output.clear()

    def _resume(self, at: float, one: wire.Shown) -> Iterator[Step]:
        self._resuming = True
        return iter(())

    def _resumed(self, at: float) -> Iterator[Step]:
        """An open task is resumed when something comes after the offer to do so."""
        if self._resuming:
            self._resuming = False
            self._pending.clear()  # nobody waited for what they gave
            yield Start(at, "resume")

    def _condensed(self, at: float, one: wire.Shown) -> Iterator[Step]:
        if about := one.context_condense or one.context_truncation:
            yield Compact(at, about.summary, "auto", about.prev_context_tokens)

    def _failed(self, at: float, one: wire.Shown) -> Iterator[Step]:
        about = _inner(one.text, wire.REQUEST, wire.Request)
        text = (about.error_message if about else None) or one.text or ""
        yield Fault(at, text, retrying=one.ask is None)

    def _progress(self, at: float, one: wire.Shown) -> Iterator[Step]:
        if items := checklist(one.text or ""):
            yield Plan(at, items)

    def _report(self, at: float, one: wire.Shown) -> Iterator[Step]:
        if one.text:
            yield Report(at, one.text)

    # where the API history is gone

    def _said(self, at: float, one: wire.Shown) -> Iterator[Step]:
        if text := (one.text or "").strip():
            yield Say(at, text)

    def _command(self, at: float, one: wire.Shown) -> Iterator[Step]:
        if one.text:
            yield self._called(Call(at, _id(at), "execute_command", "run", one.text, one.text))

    def _printed(self, at: float, one: wire.Shown) -> Iterator[Step]:
        if one.text:
            self._output.append(one.text)
        return iter(())

    def _tool(self, at: float, one: wire.Shown) -> Iterator[Step]:
        tool = _inner(one.text, wire.TOOL, wire.ToolShown)
        if tool is None:
            return
        yield self._called(shown_call(at, _id(at), tool))
        if items := todos_of(tool.todos):
            yield Plan(at, items)

    def _question(self, at: float, one: wire.Shown) -> Iterator[Step]:
        tool = _inner(one.text, wire.TOOL, wire.ToolShown)
        question = (tool.question if tool else None) or one.text or ""
        yield self._called(Call(at, _id(at), "ask_followup_question", "ask", question, note=question))

    def _responded(self, at: float, one: wire.Shown) -> Iterator[Step]:
        tool = _inner(one.text, wire.TOOL, wire.ToolShown)
        if text := (tool.response if tool else None) or one.text:
            yield Say(at, text)

    def _completed(self, at: float, one: wire.Shown) -> Iterator[Step]:
        if one.say:  # the question whether it is good has no text
            yield from completed(at, one.text or "")

    def _condensing(self, at: float, one: wire.Shown) -> Iterator[Step]:
        yield Compact(at, one.text or "", "manual" if one.ask == "condense" else "auto")

    def _called(self, call: Call) -> Call:
        self._pending.append(call)
        return call


def _first(shown: list[wire.Shown]) -> wire.Shown | None:
    """The message with the task: Cline marks it, in Roo it is the first."""
    return next((one for one in shown if one.say == "task"), shown[0] if shown else None)


def prompts_of(shown: list[wire.Shown]) -> list[tuple[float, str]]:
    """When the user typed what."""
    first = _first(shown)
    return [
        (seconds(one.ts), typed(one.text or ""))
        for one in shown
        if one.say == "user_feedback" or (one is first and one.say in ("task", "text"))
    ]


def _id(at: float) -> str:
    return f"ui-{at:.3f}"


def _inner(text: str | None, decoder: Any, kind: type[T]) -> T | None:
    """The JSON in a text."""
    return decoded(text.encode("utf-8", "replace"), decoder, kind) if text and text.startswith("{") else None


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
}
_FULL: dict[str, _Handler] = {
    "text": Screen._said,
    "command": Screen._command,
    "command_output": Screen._printed,
    "mcp_server_response": Screen._printed,
    "tool": Screen._tool,
    "use_mcp_server": Screen._tool,
    "followup": Screen._question,
    "plan_mode_respond": Screen._responded,
    "completion_result": Screen._completed,
    "condense": Screen._condensing,
    "summarize_task": Screen._condensing,
    "subtask_result": Screen._report,
}
