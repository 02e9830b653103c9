"""The events of a turn: usage, compaction, and how the turn ended, was aborted or failed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ...core.runs.steps import Compact, End, Fault, Interrupt, Report, Rewind, Step, Title, Usage
from . import wire
from .kept import RolloutMemory
from .wire import number, rows, table, text

_SUMMARY = "use the information in this summary to assist with your own analysis:"
_DEPTH_MAX = 4


class Turns:
    """Reads the events about the turns of one transcript."""

    def __init__(self, kept: RolloutMemory) -> None:
        self.kept = kept

    def started(self, at: float, payload: wire.Body) -> Iterator[Step]:
        self.kept.window = number(_event(payload).model_context_window) or self.kept.window
        self.kept.turned(True)
        yield from ()

    def ended(self, at: float, payload: wire.Body) -> Iterator[Step]:
        event = _event(payload)
        self.kept.turned(False)
        if event.error is None:
            yield End(at, "turn", text(event.last_agent_message))
            return
        problem = text(table(event.error).get("message")) or text(event.error)
        yield from self._fault(at, "e", problem, table(event.error).get("codex_error_info"))
        yield End(at, "error", text(event.last_agent_message) or problem)

    def aborted(self, at: float, payload: wire.Body) -> Iterator[Step]:
        self.kept.turned(False)
        if not self.kept.is_twin("e", "abort", ""):
            yield Interrupt(at, text(_event(payload).reason))

    def rolled_back(self, at: float, payload: wire.Body) -> Iterator[Step]:
        if turns := number(_event(payload).num_turns):
            yield Rewind(at, turns)

    def notice(self, at: float) -> Iterator[Step]:
        """The notice to the model that its turn was aborted."""
        self.kept.turned(False)
        if not self.kept.is_twin("r", "abort", ""):
            yield Interrupt(at, "interrupted")

    def fault(self, at: float, payload: wire.Body) -> Iterator[Step]:
        event = _event(payload)
        self.kept.turned(False)
        yield from self._fault(at, "r", text(event.message), event.codex_error_info)

    def retried(self, at: float, payload: wire.Body) -> Iterator[Step]:
        event = _event(payload)
        yield Fault(at, text(event.message), _status(event.codex_error_info), retrying=True)

    def _fault(self, at: float, channel: str, problem: str, info: Any) -> Iterator[Step]:
        if not self.kept.is_twin(channel, "fault", problem):
            yield Fault(at, problem, _status(info))

    def compacted(self, at: float, payload: wire.Body) -> Iterator[Step]:
        message = text((wire.decode(payload, wire.COMPACTED) or wire.Compacted()).message)
        if not self.kept.is_twin("r", "compact", ""):
            yield Compact(at, message.partition(_SUMMARY)[2].strip() or message, tokens=self.kept.context)

    def compacting(self, at: float, payload: wire.Body) -> Iterator[Step]:
        if not self.kept.is_twin("e", "compact", ""):
            yield Compact(at, tokens=self.kept.context)

    def counted(self, at: float, payload: wire.Body) -> Iterable[Step]:
        count = wire.decode(payload, wire.COUNTED)
        if count is None or count.info is None:
            return ()
        self.kept.window = count.info.model_context_window or self.kept.window
        return self._used(at, count.info.last, count.info.total)

    def spent(self, at: float, payload: wire.Body) -> Iterable[Step]:
        record = wire.decode(payload, wire.SPENT)
        return self._used(at, record.usage, record.thread_token_usage) if record is not None else ()

    def _used(self, at: float, last: wire.Tokens | None, total: wire.Tokens | None) -> Iterable[Step]:
        """Usage is recorded repeatedly; it belongs to a new response if the total changed. If only what is in
        the window changed, as after a compaction, there was no response."""
        if last is None or not last.total_tokens:
            return ()
        key = f"{total.total_tokens if total else 0}/{last.total_tokens}"
        if key == self.kept.usage:
            return ()
        is_response = total is None or self.kept.usage.partition("/")[0] != key.partition("/")[0]
        self.kept.usage, self.kept.context = key, last.total_tokens
        if not is_response:
            return (Usage(at, key, last.total_tokens, window=self.kept.window),)
        cached = min(last.cached_input_tokens, last.input_tokens)
        return (
            Usage(
                at, key, last.total_tokens, last.output_tokens, self.kept.window,
                input=last.input_tokens - cached, cache_read=cached,
            ),
        )  # fmt: skip

    def named(self, at: float, payload: wire.Body) -> Iterator[Step]:
        if name := text(_event(payload).thread_name):
            yield Title(at, name)

    def reviewed(self, at: float, payload: wire.Body) -> Iterator[Step]:
        review = table(_event(payload).review_output)
        titles = [text(table(finding).get("title")) for finding in rows(review.get("findings"))]
        review_text = "\n".join(filter(None, (text(review.get("overall_explanation")), *titles)))
        if review_text:
            yield Report(at, review_text, "review")


def _event(payload: wire.Body) -> wire.Event:
    return wire.decode(payload, wire.EVENT) or wire.Event()


def _status(info: Any, depth: int = 0) -> int:
    """The HTTP status anywhere in the details of an error; 0 if there is none."""
    if depth > _DEPTH_MAX:
        return 0
    status = number(table(info).get("http_status_code"))
    return status or next(filter(None, (_status(detail, depth + 1) for detail in table(info).values())), 0)
