"""The API history to steps: what the model got and gave."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...core.runs.steps import (
    Call,
    Compact,
    Fault,
    Interrupt,
    Model,
    Prompt,
    Report,
    Result,
    Say,
    Start,
    Step,
    Usage,
)
from ..common import blocks_text, hooked, seconds
from . import wire
from .calls import ASKING, tool_steps
from .texts import DENIED, INTERRUPTED, MODEL, TurnPart, answered, briefs_of, is_set, outcome, said, words_of

_PROMPT_SECONDS = 30  # so long after the user typed it, a message may reach the model


class Conversation:
    """Reads messages in order. ``alone``: no UI messages tell tokens, reports and resumes;
    ``told``: the prompts that they tell, with their times."""

    def __init__(self, alone: bool, told: list[tuple[float, str]]) -> None:
        self._alone = alone
        self._told = told
        self._pending: dict[str, str] = {}  # id of a call to its tool
        self._spoken: set[str] = set()  # ids of tools through which the agent speaks
        self._model = ""
        self._open: tuple[str, str] | None = None  # (tool, text) of a result whose content may follow

    def read(self, messages: list[wire.Message], times: list[float]) -> Iterator[Step]:
        for index, (message, at) in enumerate(zip(messages, times, strict=True)):
            blocks = message.content if isinstance(message.content, list) else []
            if isinstance(message.content, str):
                blocks = [wire.Block("text", message.content)]
            if message.is_summary:
                if self._alone:
                    yield Compact(at, "\n".join(block.text for block in blocks if block.text), "auto")
            elif message.role == "user":
                yield from self._user(at, blocks)
            elif message.role == "assistant":
                yield from self._assistant(at, index, message, blocks)

    # what the model gave

    def _assistant(
        self, at: float, index: int, message: wire.Message, blocks: list[wire.Block]
    ) -> Iterator[Step]:
        yield from self._modelled(at, message.model_info.model_id if message.model_info else "")
        native = any(block.type == "tool_use" for block in blocks)
        count = 0
        for block in blocks:
            if block.type == "tool_use" and block.id:
                given = block.input if isinstance(block.input, dict) else {}
                yield from self._tool(at, block.id, block.name, given)
            elif block.type == "text" and block.text:
                text, steps = _uninterrupted(at, block.text)
                for part in [text.strip()] if native else said(text):
                    if isinstance(part, str):
                        if part:
                            yield Say(at, part)
                        continue
                    count += 1
                    yield from self._tool(at, f"{int(message.ts or index)}.{count}", part.name, part.given)
                yield from steps
        if self._alone and message.metrics and (tokens := message.metrics.tokens):
            key = f"api-{int(message.ts or index)}"
            cost = message.metrics.cost or 0.0
            yield Usage(at, key, tokens.prompt + tokens.cached, tokens.completion, cost=cost)

    def _tool(self, at: float, id: str, name: str, given: dict[str, Any]) -> Iterator[Step]:
        for step in tool_steps(at, id, name, given):
            if isinstance(step, Call):
                self._pending[id] = name
            yield step
        if name in ASKING:
            self._spoken.add(id)

    def _modelled(self, at: float, name: str) -> Iterator[Step]:
        if name and name != self._model:
            self._model = name
            yield Model(at, name)

    # what the model got

    def _user(self, at: float, blocks: list[wire.Block]) -> Iterator[Step]:
        for block in blocks:
            if block.type == "tool_result":
                yield from self._native(at, block)
            elif block.type == "text" and block.text:
                yield from self._text(at, block.text)
        yield from self._close(at)

    def _native(self, at: float, block: wire.Block) -> Iterator[Step]:
        answer = answered(blocks_text(block.content))
        tool = self._pending.pop(block.tool_use_id, "")
        if tool:
            yield from _ended(at, block.tool_use_id, tool, answer.text, block.is_error)
        if block.tool_use_id in self._spoken and is_set(answer.text):
            yield from self._prompts(at, answer.text)

    def _text(self, at: float, text: str) -> Iterator[Step]:
        if self._open and not self._open[1].strip() and self._open[0] not in ASKING:
            self._open = (self._open[0], text)  # Roo: the header alone, what the tool gave in the next block
            return
        if text.lstrip().startswith("<hook_context"):
            yield from hooked(at, text)
        answer = answered(text)
        if "<environment_details>" in text and (found := MODEL.search(text)):
            yield from self._modelled(at, found[1])
        if answer.kind == "result":
            yield from self._close(at)
            self._open = (answer.tool, answer.text)
        if answer.kind in ("words", "resume") or (answer.kind == "result" and answer.tool in ASKING):
            yield from self._words(at, answer)
        elif answer.kind == "report" and answer.text:
            yield Report(at, answer.text, call=self._answered("new_task"))

    def _words(self, at: float, answer: TurnPart) -> Iterator[Step]:
        if self._open and self._open[0] == "ask_followup_question":
            self._open = (self._open[0], self._open[1].strip() or answer.text)
        if answer.kind == "resume" and self._alone:
            yield Start(at, "resume")
        yield from self._prompts(at, answer.text)

    def _prompts(self, at: float, text: str) -> Iterator[Step]:
        """What the user typed and the UI messages do not tell: theirs is without what was added."""
        if any(0 <= at - when <= _PROMPT_SECONDS for when, _ in self._told):
            return
        yield from briefs_of(at, text)
        for words in words_of(text):
            if all(words != told for _, told in self._told):
                yield Prompt(at, words)

    def _close(self, at: float) -> Iterator[Step]:
        """The result whose content is complete now."""
        if self._open is None:
            return
        tool, given = self._open
        self._open = None
        if tool == "new_task" and given.lstrip().startswith("Successfully created new task"):
            return  # it is pending until it reports
        if id := self._answered(tool):
            if tool == "ask_followup_question":
                given = "\n".join(words_of(given)) or given
            yield from _ended(at, id, tool, given)

    def _answered(self, tool: str) -> str:
        """The id of the call that an answer to this tool is for, and no longer pending: the first of the last
        message that has one. One of before that was interrupted is never answered."""
        calls = [id for id, name in self._pending.items() if name == tool]
        last = calls[-1].rpartition(".")[0] if calls else ""
        id = next((id for id in calls if id.rpartition(".")[0] == last), "")
        self._pending.pop(id, None)
        return id


def _ended(at: float, id: str, tool: str, given: str, error: bool | None = None) -> Iterator[Step]:
    """What a call gave, or that the user did not want it, and what was said then."""
    if DENIED.match(given):
        yield Interrupt(at, "\n".join(words_of(given)), id)
        yield Result(at, id)
    else:
        yield Result(at, id, *outcome(tool, given, error))


def _uninterrupted(at: float, text: str) -> tuple[str, list[Step]]:
    """A text without the harness's note that it was cut off, and that note as a step."""
    if "[Response interrupted by " not in text:
        return text, []
    found = INTERRUPTED.search(text)
    if not found:
        return text, []
    by = found[1]
    step: Step = Fault(at, by) if "API" in by else Interrupt(at, by)
    return INTERRUPTED.sub("", text), [] if "tool use" in by else [step]


def times_of(messages: list[wire.Message], shown: list[wire.Shown]) -> list[float]:
    """When each message was there: what it says itself, else what the UI says; never going back."""
    marks: dict[int, float] = {}
    for one in shown:
        if one.ts and isinstance(one.conversation_history_index, int):
            index = one.conversation_history_index
            marks[index] = min(marks.get(index, float("inf")), seconds(one.ts))
    requests = iter([seconds(one.ts) for one in shown if one.say == "api_req_started"] if not marks else ())
    times: list[float] = []
    for index, message in enumerate(messages):
        at = seconds(message.ts) or marks.get(index, 0.0)
        if not at and message.role == "user":
            at = next(requests, 0.0)
        times.append(max(at, times[-1] if times else 0.0))
    return times
