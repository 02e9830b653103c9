"""Reads the API history of a task as steps: the messages to and from the model."""

from __future__ import annotations

from bisect import bisect_right
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
    Thought,
    Usage,
)
from ..common import blocks_text, injected_briefs, seconds, typed_how
from . import wire
from .calls import ASKING, tool_steps
from .terminals import Terminals
from .texts import (
    ACTS,
    ENVIRONMENT,
    INTERRUPTED,
    MODEL,
    Thinking,
    TurnPart,
    answered,
    approved,
    assistant_parts,
    briefs_of,
    goes_on,
    is_set,
    outcome,
    refusal_words,
    spoken_parts,
    words_of,
)

_PROMPT_SECONDS = 30  # a message may reach the model this long after the user typed it


class Conversation:
    """Reads messages in order. ``alone``: there are no UI messages, which report tokens, resumes and reports;
    ``ui_prompts``: the prompts in UI messages with their times, which need not be reported again;
    ``ui_thinks``: the UI messages have what the agent thought."""

    def __init__(self, alone: bool, ui_prompts: list[tuple[float, str]], ui_thinks: bool) -> None:
        self._alone = alone
        self._ui_prompt_times = sorted(when for when, _ in ui_prompts)
        self._ui_prompts = {prompt for _, prompt in ui_prompts}
        self._ui_thinks = ui_thinks
        self._terminals = Terminals()
        self._details = ""  # about the editor, in the message that is read
        self._pending: dict[str, str] = {}  # id of a call -> its tool
        self._commands: dict[str, str] = {}  # id of a pending call of a shell -> its command line
        self._talking_calls: set[str] = set()  # ids of calls by which the agent talks to the user
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

    # messages from the model

    def _assistant(
        self, at: float, index: int, message: wire.Message, blocks: list[wire.Block]
    ) -> Iterator[Step]:
        yield from self._model_change(at, message.model_info.model_id if message.model_info else "")
        native = any(block.type == "tool_use" for block in blocks)
        count = 0
        for block in blocks:
            if block.type == "tool_use" and block.id:
                arguments = block.input if isinstance(block.input, dict) else {}
                yield from self._tool(at, block.id, block.name, arguments)
            elif block.type in ("thinking", "reasoning"):
                if not self._ui_thinks and (thought := (block.thinking or block.text).strip()):
                    yield Thought(at, thought)
            elif block.type == "text" and block.text:
                text, steps = _uninterrupted(at, block.text)
                for part in spoken_parts(text) if native else assistant_parts(text):
                    if isinstance(part, str):
                        yield Say(at, part)
                        continue
                    if isinstance(part, Thinking):
                        yield Thought(at, part.text)
                        continue
                    count += 1
                    yield from self._tool(
                        at, f"{int(message.ts or index)}.{count}", part.name, part.arguments
                    )
                yield from steps
        if self._alone and message.metrics and (tokens := message.metrics.tokens):
            key = f"api-{int(message.ts or index)}"
            cost = message.metrics.cost or 0.0
            yield Usage(
                at, key, tokens.prompt + tokens.cached, tokens.completion, cost=cost, input=tokens.prompt,
                cache_read=tokens.cached,
            )  # fmt: skip

    def _tool(self, at: float, id: str, name: str, arguments: dict[str, Any]) -> Iterator[Step]:
        for step in tool_steps(at, id, name, arguments):
            if isinstance(step, Call):
                self._pending[id] = name
                if step.command:
                    self._commands[id] = step.command
            yield step
        if name in ASKING:
            self._talking_calls.add(id)

    def _model_change(self, at: float, name: str) -> Iterator[Step]:
        if name and name != self._model:
            self._model = name
            yield Model(at, name)

    # messages to the model

    def _user(self, at: float, blocks: list[wire.Block]) -> Iterator[Step]:
        for block in blocks:
            if block.type == "tool_result":
                yield from self._native_result(at, block)
            elif block.type == "text" and block.text:
                yield from self._text(at, block.text)
        yield from self._close(at)
        if self._details and self._terminals.commands:
            yield from self._terminals.read(at, self._details)
        self._details = ""

    def _native_result(self, at: float, block: wire.Block) -> Iterator[Step]:
        answer = answered(blocks_text(block.content))
        tool = self._pending.pop(block.tool_use_id, "")
        if tool:
            yield from self._ended(at, block.tool_use_id, tool, answer.text, block.is_error)
        if block.tool_use_id in self._talking_calls and is_set(answer.text):
            yield from self._prompts(at, answer.text)

    def _text(self, at: float, text: str) -> Iterator[Step]:
        if self._open and not self._open[1].strip() and self._open[0] not in ASKING:
            self._open = (self._open[0], text)  # Roo has the header alone, and the output in the next block
            return
        if text.lstrip().startswith("<hook_context"):
            yield from injected_briefs(at, text)
        answer = answered(text)
        if (start := text.rfind(ENVIRONMENT)) >= 0:  # the last one: an output may look like it
            self._details = text[start:]
            if found := MODEL.search(text, start):
                yield from self._model_change(at, found[1])
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
        """What the user typed, unless the UI messages have it, which they do without additions."""
        later = bisect_right(self._ui_prompt_times, at)
        if later and at - self._ui_prompt_times[later - 1] <= _PROMPT_SECONDS:
            return
        yield from briefs_of(at, text)
        for words in words_of(text):
            if words not in self._ui_prompts:
                yield Prompt(at, words, typed_how(words))

    def _close(self, at: float) -> Iterator[Step]:
        """Report the open result, whose content is complete now."""
        if self._open is None:
            return
        tool, text = self._open
        self._open = None
        if tool == "new_task" and text.lstrip().startswith("Successfully created new task"):
            return  # pending until the sub-task reports
        if id := self._answered(tool):
            if tool == "ask_followup_question":
                text = "\n".join(words_of(text)) or text
            yield from self._ended(at, id, tool, text)

    def _ended(self, at: float, id: str, tool: str, text: str, error: bool | None = None) -> Iterator[Step]:
        """The result of a call, or an interrupt if the user denied it, with the user's words."""
        command = self._commands.pop(id, "")
        words = refusal_words(text)
        if words is not None and (not words or self._is_users(words, tool)):
            yield Interrupt(at, words, id)
            if words:
                yield Prompt(at, words, "refusal")
            yield Result(at, id)
            return
        words, answer = approved(text)
        if words and self._alone and self._is_users(words, tool):
            yield Prompt(at, words)
        process = command if goes_on(tool, answer) else ""
        if process:
            self._terminals.commands[process] = False
        yield Result(at, id, *outcome(tool, text, error), process=process)

    def _is_users(self, words: str, tool: str) -> bool:
        """Whether words in the answer to a call are the user's: the UI messages have them or, without those,
        the answer cannot be a text that the tool has read."""
        if not self._alone:
            return words in self._ui_prompts
        return ACTS.get(tool) in ("run", "edit", "create", "delete")

    def _answered(self, tool: str) -> str:
        """The id of the call that an answer to this tool belongs to, which is no longer pending: the first
        one of the last message with such a call. An earlier one was interrupted and is never answered."""
        calls = [id for id, name in self._pending.items() if name == tool]
        last = calls[-1].rpartition(".")[0] if calls else ""
        id = next((id for id in calls if id.rpartition(".")[0] == last), "")
        self._pending.pop(id, None)
        return id


def _uninterrupted(at: float, text: str) -> tuple[str, list[Step]]:
    """A text without the harness's note that it was interrupted, and the steps for that note."""
    if "[Response interrupted by " not in text:
        return text, []
    note = INTERRUPTED.search(text)
    if not note:
        return text, []
    by = note[1]
    step: Step = Fault(at, by) if "API" in by else Interrupt(at, by)
    return INTERRUPTED.sub("", text), [] if "tool use" in by else [step]


def times_of(messages: list[wire.Message], shown: list[wire.Shown]) -> list[float]:
    """The time of each message: its own, else that of the UI message; never decreasing."""
    marks: dict[int, float] = {}
    for ui_message in shown:
        if ui_message.ts and isinstance(ui_message.conversation_history_index, int):
            index = ui_message.conversation_history_index
            marks[index] = min(marks.get(index, float("inf")), seconds(ui_message.ts))
    starts = [seconds(ui_message.ts) for ui_message in shown if ui_message.say == "api_req_started"]
    requests = iter(starts if not marks else ())
    times: list[float] = []
    for index, message in enumerate(messages):
        at = seconds(message.ts) or marks.get(index, 0.0)
        if not at and message.role == "user":
            at = next(requests, 0.0)
        times.append(max(at, times[-1] if times else 0.0))
    return times
