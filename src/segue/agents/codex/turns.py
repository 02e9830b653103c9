"""The course of a turn: tokens spent, the window compacted, the turn ended, aborted or failed."""

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
    """What the events of one transcript say about its turns."""

    def __init__(self, kept: RolloutMemory) -> None:
        self.kept = kept

    def started(self, at: float, payload: wire.Body) -> Iterator[Step]:
        self.kept.window = number(_event(payload).model_context_window) or self.kept.window
        yield from ()

    def ended(self, at: float, payload: wire.Body) -> Iterator[Step]:
        event = _event(payload)
        if event.error is None:
            yield End(at, "turn", text(event.last_agent_message))
            return
        problem = text(table(event.error).get("message")) or text(event.error)
        yield from self._fault(at, "e", problem, table(event.error).get("codex_error_info"))
        yield End(at, "error", text(event.last_agent_message) or problem)

    def aborted(self, at: float, payload: wire.Body) -> Iterator[Step]:
        if not self.kept.is_twin("e", "abort", ""):
            yield Interrupt(at, text(_event(payload).reason))

    def rolled_back(self, at: float, payload: wire.Body) -> Iterator[Step]:
        if turns := number(_event(payload).num_turns):
            yield Rewind(at, turns)

    def notice(self, at: float) -> Iterator[Step]:
        """The model was told that its turn was aborted."""
        if not self.kept.is_twin("r", "abort", ""):
            yield Interrupt(at, "interrupted")

    def fault(self, at: float, payload: wire.Body) -> Iterator[Step]:
        event = _event(payload)
        yield from self._fault(at, "r", text(event.message), event.codex_error_info)

    def retried(self, at: float, payload: wire.Body) -> Iterator[Step]:
        event = _event(payload)
        yield Fault(at, text(event.message), _status(event.codex_error_info), retrying=True)

    def _fault(self, at: float, channel: str, problem: str, info: Any) -> Iterator[Step]:
        if not self.kept.is_twin(channel, "fault", problem):
            yield Fault(at, problem, _status(info))

    def compacted(self, at: float, payload: wire.Body) -> Iterator[Step]:
        told = text((wire.decode(payload, wire.COMPACTED) or wire.Compacted()).message)
        if not self.kept.is_twin("r", "compact", ""):
            yield Compact(at, told.partition(_SUMMARY)[2].strip() or told, tokens=self.kept.context)

    def compacting(self, at: float, payload: wire.Body) -> Iterator[Step]:
        if not self.kept.is_twin("e", "compact", ""):
            yield Compact(at, tokens=self.kept.context)

    def counted(self, at: float, payload: wire.Body) -> Iterable[Step]:
        told = wire.decode(payload, wire.COUNTED)
        if told is None or told.info is None:
            return ()
        self.kept.window = told.info.model_context_window or self.kept.window
        return self._used(at, told.info.last, told.info.total)

    def spent(self, at: float, payload: wire.Body) -> Iterable[Step]:
        told = wire.decode(payload, wire.SPENT)
        return self._used(at, told.usage, told.thread_token_usage) if told is not None else ()

    def _used(self, at: float, last: wire.Tokens | None, total: wire.Tokens | None) -> Iterable[Step]:
        """Told again and again; a new response is one that moved the total or the window."""
        if last is None or not last.total_tokens:
            return ()
        key = f"{total.total_tokens if total else 0}/{last.total_tokens}"
        if key == self.kept.usage:
            return ()
        self.kept.usage, self.kept.context = key, last.total_tokens
        return (Usage(at, key, last.total_tokens, last.output_tokens, self.kept.window),)

    def named(self, at: float, payload: wire.Body) -> Iterator[Step]:
        if name := text(_event(payload).thread_name):
            yield Title(at, name)

    def reviewed(self, at: float, payload: wire.Body) -> Iterator[Step]:
        review = table(_event(payload).review_output)
        found = [text(table(one).get("title")) for one in rows(review.get("findings"))]
        said = "\n".join(filter(None, (text(review.get("overall_explanation")), *found)))
        if said:
            yield Report(at, said, "review")


def _event(payload: wire.Body) -> wire.Event:
    return wire.decode(payload, wire.EVENT) or wire.Event()


def _status(info: Any, depth: int = 0) -> int:
    """The HTTP status somewhere in an error's details."""
    if depth > _DEPTH_MAX:
        return 0
    found = number(table(info).get("http_status_code"))
    return found or next(filter(None, (_status(one, depth + 1) for one in table(info).values())), 0)
