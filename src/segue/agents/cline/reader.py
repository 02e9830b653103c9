"""Reads a task of Cline or Roo as steps.

The API history is what was done; the UI messages add times, tokens and the user's own words, and have what
the API history lacks: what Roo cut off when it condensed, an answer that was still under way, with the calls
that had begun already, and the output of commands that had ended when the next request was not made yet. Both
are rewritten as a whole, so a torn one is read up to its last intact element.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from ...core.runs.steps import Call, Plan, Prompt, Result, Start, Step
from ..base import T, decode_part
from ..common import checklist, elements, repaired_json, seconds
from . import wire
from .api import Conversation, times_of
from .texts import CWD, WINDOW
from .ui import Screen, has_thoughts, prompts_of, shown_commands

_SCALE = {"": 1, "K": 1_000, "M": 1_000_000}
_WINDOW_MESSAGES = 12  # how many messages from the end are searched for the size of the window


class Reader:
    """See ``agents.base.Reader``; a record is what ``load`` returned, or one of the documents itself."""

    def __init__(self, kept: Any = None) -> None:
        self.skipped = self.malformed = 0

    def keep(self) -> None:
        return None

    def read(self, record: bytes) -> Iterable[Step]:
        task, bad = task_of(record)
        self.malformed += bad + task.bad
        messages = self._parts(task.api, wire.MESSAGE, wire.Message)
        shown = self._parts(task.ui, wire.SHOWN, wire.Shown)
        self.skipped += sum(not (message.say or message.ask) for message in shown)
        shown = [message for message in shown if message.say or message.ask]
        if not messages and not shown:
            return ()
        return list(_changes(self._steps(task, messages, shown)))

    def _parts(
        self, rows: list[msgspec.Raw] | None, decoder: msgspec.json.Decoder[T], kind: type[T]
    ) -> list[T]:
        parts = [decode_part(bytes(row), decoder, kind) for row in rows or ()]
        self.malformed += parts.count(None)
        return [part for part in parts if part is not None]

    def _steps(
        self, task: wire.Task, messages: list[wire.Message], shown: list[wire.Shown]
    ) -> Iterator[Step]:
        times = times_of(messages, shown)
        stamps = [stamp for stamp in (*times[:1], *(seconds(message.ts) for message in shown)) if stamp]
        yield _start(task, messages, min(stamps, default=0.0))
        api = list(Conversation(not shown, prompts_of(shown), has_thoughts(shown)).read(messages, times))
        refusals = {step.text for step in api if isinstance(step, Prompt) and step.how == "refusal"}
        screen = Screen(_Uncovered(task, messages, times, shown), _window(messages), refusals)
        yield from _with_outputs(list(heapq.merge(api, screen.read(shown), key=_time)), shown)
        self.skipped += screen.skipped
        if items := checklist(task.focus):
            yield Plan(max([*times[-1:], *stamps], default=0.0), items)


def _changes(steps: Iterator[Step]) -> Iterator[Step]:
    """The steps without a plan that repeats the one before; both documents contain plans."""
    before: tuple[Any, ...] = ()
    for step in steps:
        if isinstance(step, Plan):
            now = tuple((item.text, item.state) for item in step.items)
            if now == before:
                continue
            before = now
        yield step


def _with_outputs(steps: list[Step], shown: list[wire.Shown]) -> Iterator[Step]:
    """The steps, with the results of commands without one that the UI says have ended. One that is the last
    thing shown and has printed nothing may have ended with its agent, before its output was shown."""
    answered = {step.id for step in steps if isinstance(step, Result)}
    calls: dict[str, list[Call]] = {}
    for step in steps:
        if isinstance(step, Call) and step.command:
            calls.setdefault(step.command, []).append(step)
    results: list[Step] = []
    if any(call.id not in answered for same in calls.values() for call in same):
        commands, newest = shown_commands(shown), max((seconds(one.ts) for one in shown), default=0.0)
        for command, same in calls.items():
            shows = commands.get(command, [])
            for call, show in zip(reversed(same), reversed(shows), strict=False):
                is_known = show.is_over and bool(show.text or show.at < newest)
                if len(same) <= len(shows) and call.id not in answered and is_known:
                    results.append(Result(max(show.at, call.at), call.id, None, None, show.text))
    return heapq.merge(steps, sorted(results, key=_time), key=_time)


def _time(step: Step) -> float:
    return step.at


def _start(task: wire.Task, messages: list[wire.Message], at: float) -> Start:
    history, meta = task.history or wire.History(), task.meta or wire.Metadata()
    hosts = meta.environment_history or []
    version = next((host.cline_version for host in reversed(hosts) if host.cline_version), "")
    cwd = history.cwd or meta.workspace or ""
    if not cwd and messages and (match := CWD.search(_text(messages[0]))):
        cwd = match[1]
    return Start(at, "start", task.id, cwd, version=version, parent=history.parent_task_id or "")


def _text(message: wire.Message) -> str:
    if isinstance(message.content, str):
        return message.content
    return "\n".join(block.text for block in message.content or ())


def _window(messages: list[wire.Message]) -> int:
    """The size of the window according to the newest message to the model; 0 if none states it."""
    for message in messages[: -_WINDOW_MESSAGES - 1 : -1]:
        text = _text(message) if message.role == "user" else ""
        end = text.find(" tokens used") + 12
        if end >= 12 and (match := WINDOW.search(text, max(0, end - 80), end)):
            try:
                return int(float(match[1].replace(",", "")) * _SCALE[match[2]])
            except ValueError:
                return 0
    return 0


class _Uncovered:
    """Whether the API history lacks a time: it was replaced by a summary, is torn, does not exist, or has not
    got the answer yet, which it gets as a whole."""

    def __init__(
        self, task: wire.Task, messages: list[wire.Message], times: list[float], shown: list[wire.Shown]
    ) -> None:
        self._from = self._to = self._after = float("inf")
        if not messages:
            self._after = float("-inf")
        elif task.torn:
            self._after = times[-1]
        elif messages[-1].role == "user":
            asked = (seconds(message.ts) for message in shown if message.say == "api_req_started")
            self._after = max(asked, default=float("inf"))
        if len(messages) > 1 and messages[1].is_summary:
            self._from, self._to = times[0], times[1]

    def __call__(self, at: float) -> bool:
        return at > self._after or self._from < at < self._to


# reading the document


def task_of(record: bytes) -> tuple[wire.Task, int]:
    """The task in a document, and how many pieces of it were malformed."""
    if not record.strip():
        return wire.Task(), 0
    task, bad = _whole(record), 0
    if task is None:
        record = repaired_json(record)
        task = _whole(record)
    if task is None:
        task, bad = _salvaged(record.decode("utf-8", "replace")), 1
    return task, bad


def _whole(record: bytes) -> wire.Task | None:
    try:
        if record.lstrip()[:1] == b"[":
            return _classified(_ROWS.decode(record))
        return _task(_PARTS.decode(record))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _task(parts: dict[str, msgspec.Raw]) -> wire.Task:
    """A document that ``load`` made; a part of a wrong type is left out."""
    task = wire.Task(api=_list(parts.get("api")), ui=_list(parts.get("ui")))
    for name, kind in (("id", str), ("focus", str), ("torn", bool), ("bad", int)):
        value = _ANY.decode(parts[name]) if name in parts else None
        if isinstance(value, kind):
            setattr(task, name, value)
    if "history" in parts:
        task.history = decode_part(bytes(parts["history"]), wire.HISTORY, wire.History)
    if "meta" in parts:
        task.meta = decode_part(bytes(parts["meta"]), wire.METADATA, wire.Metadata)
    return task


def _list(raw: msgspec.Raw | None) -> list[msgspec.Raw] | None:
    try:
        return _ROWS.decode(raw) if raw is not None else None
    except msgspec.ValidationError:
        return None


def _classified(rows: list[msgspec.Raw], torn: bool = False) -> wire.Task:
    """A task from the rows of one document alone: UI messages have a type, messages a role."""
    for row in rows[:8]:
        shown = decode_part(bytes(row), wire.SHOWN, wire.Shown)
        if shown and (shown.say or shown.ask):
            return wire.Task(ui=rows)
    return wire.Task(api=rows, torn=torn)


def _salvaged(text: str) -> wire.Task:
    if text.lstrip().startswith("["):
        return _classified(_rows(text, text.index("[")), torn=True)
    task = wire.Task(torn=True)
    for name in ("api", "ui"):
        at = text.find(f'"{name}":[')
        if at >= 0:
            setattr(task, name, _rows(text, at + len(name) + 3))
    return task


def _rows(text: str, at: int) -> list[msgspec.Raw]:
    return [msgspec.Raw(element.encode("utf-8", "replace")) for element in elements(text, at)]


_ROWS = msgspec.json.Decoder(list[msgspec.Raw])
_PARTS = msgspec.json.Decoder(dict[str, msgspec.Raw])
_ANY: msgspec.json.Decoder[Any] = msgspec.json.Decoder()
