"""Reads Gemini CLI's conversations as steps.

A record is a whole file, of either form, so that each message is reported once, in its last version, and what
the user rewound is left out. A call appears in the file only when it has ended. What the user types while the
agent is at work reaches the model in a frame of instructions, and so does the notice that a command in the
background has ended.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any, TypeVar

import msgspec

from ...core.base.lazy import regex
from ...core.base.record_lines import PassedLines, record_lines
from ...core.runs.steps import (
    Compact,
    End,
    Fault,
    Interrupt,
    Model,
    Prompt,
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
from ..base import decode_any, decode_line, decode_part
from ..common import elements, injected_briefs, plain_text, repaired_json, seconds, typed_how, typed_text
from . import tools
from .wire import (
    CALL,
    DISPLAY,
    FILES,
    LIST,
    NOT_TYPED,
    PART,
    RECORD,
    Display,
    Function,
    Part,
    Record,
    ToolCall,
)

T = TypeVar("T", bound=msgspec.Struct)
_SNAPSHOT = regex(r"<state_snapshot>(.*?)(?:</state_snapshot>|\Z)", re.S)
_WORKSPACE = regex(r"Workspace Directories:\**\s*\n\s*-\s*(.+)|working (?:in|directory)[^\n]*?: (/.+)")
_CANCELLED = regex(r"(?:Request|Operation) cancell?ed\b", re.I)
_SQUEEZED = regex(r"compressed from (\d+) to \d+ tokens")
_API = regex(
    r"API Error|quota|rate.?limit|overloaded|exhausted|unavailable|authenticat|network|fetch failed"
    r"|timed? ?out",
    re.I,
)
_STATUS = regex(r"(?:status|code)\D{0,5}([45]\d\d)\b", re.I)
_STEERED = regex(
    r"\s*User (?:steering update|hints):\s*<user_input>\s*(.*?)\s*</user_input>\s*Internal instruction: .*",
    re.S,
)
_ENDED = regex(
    r"\[Background command completed (?:(successfully)|with error: .*?)\. Output saved to "
    r"[^\]]*?background-(\d+)\.log\]\s*(.*)\Z",
    re.S,
)
_SESSION = regex(r'"sessionId"\s*:\s*"([^"\\]+)"')
_BEGUN = regex(r'"startTime"\s*:\s*"([^"\\]+)"')
_MESSAGES = regex(r'"messages"\s*:\s*(?=\[)')


class Reader:
    """See ``agents.base.Reader``."""

    def __init__(self, kept: Any = None) -> None:
        self.skipped = self.malformed = 0
        self._begin()

    def _begin(self) -> None:
        self._entries: dict[str, Record] = {}  # by id, in order; headers and changes too
        self._past: set[str] = set()  # ids that are only in ``$set.messages``
        self._native = self._cwd = self._model = ""
        self._answered: set[str] = set()
        self._running: set[str] = set()  # processes in the background
        self._snapshots: set[str] = set()
        self._compact_reported = False  # from its summary; a notice follows
        self._spoke: str | None = ""  # id of the last message without calls

    def keep(self) -> None:
        """No state: the next record is the whole conversation again."""

    def read(self, record: bytes) -> Iterable[Step]:
        self._begin()
        for parsed in self._records(record):
            self._enter(parsed)
        return list(self._all_steps())

    def _all_steps(self) -> Iterator[Step]:
        for current, after in pairwise([*self._entries.values(), None]):
            if current is not None:
                yield from self._steps(current)
                if self._closes(current) and (after is None or after.type != "gemini"):
                    yield End(seconds(current.timestamp))

    # -- from a file to records

    def _records(self, data: bytes) -> Iterator[Record]:
        body = data.removeprefix(b"\xef\xbb\xbf").strip()
        first, _, rest = body.partition(b"\n")
        if rest and (first.rstrip().endswith(b"}") or rest.lstrip().startswith(b'{"')):
            passed = PassedLines()
            for line in record_lines(body, passed):
                yield from self._line(bytes(line))
            self.malformed += passed.malformed
            return
        whole = _part(body, RECORD, Record) if body else None
        if whole is not None:
            yield whole
        elif body:
            text = repaired_json(body).decode()
            if elements(text, -1):  # intact records without newlines between them
                yield from self._line(body)
            else:
                self.malformed += 1
                yield _salvaged(text)

    def _line(self, line: bytes) -> Iterator[Record]:
        records, bad = decode_line(line, RECORD, self.malformed)
        self.malformed += bad
        yield from records

    def _enter(self, record: Record) -> None:
        """Put a record in its place: a message replaces an earlier one with the same id."""
        if record.rewind_to is not None:
            self._rewind(record.rewind_to)
        elif record.id is not None:
            self._entries[record.id] = record
        elif bytes(record.set):
            self._change(record)
        elif record.session_id is not None or bytes(record.messages):
            self._entries[f"# {len(self._entries)}"] = record
            for message in self._messages(record.messages):
                self._entries[message.id or f"# {len(self._entries)}"] = message
        elif record.type is not None:
            self._entries[f"# {len(self._entries)}"] = record
        else:
            self.skipped += 1

    def _change(self, record: Record) -> None:
        change = _part(record.set, RECORD, Record)
        if change is None:
            self.malformed += 1
            return
        for message in self._messages(change.messages):
            self._past.add(message.id or "")
            if any(mark in bytes(message.content) for mark in (b"<session_context>", b"<state_snapshot>")):
                message.type = "past"
                self._entries.setdefault(f"past {message.id} {len(bytes(message.content))}", message)
        if change.summary or change.directories:
            change.session_id = None
            self._entries[f"# {len(self._entries)}"] = change

    def _rewind(self, id: str) -> None:
        ids = list(self._entries)
        if id in self._entries:
            ids = ids[ids.index(id) :]
        elif id not in self._past:
            self.malformed += 1
            return
        for entry in ids:
            if not entry.startswith(("#", "past ")):
                del self._entries[entry]

    def _messages(self, raw: msgspec.Raw) -> list[Record]:
        messages = [_part(row, RECORD, Record) for row in self._list(raw)]
        self.malformed += messages.count(None)
        return [row for row in messages if row is not None]

    def _list(self, raw: msgspec.Raw) -> list[msgspec.Raw]:
        if bytes(raw) in (b"", b"null"):
            return []
        try:
            return LIST.decode(raw)
        except (msgspec.DecodeError, RecursionError):
            self.malformed += 1
            return []

    # -- from records to steps

    def _steps(self, record: Record) -> Iterator[Step]:
        at = seconds(record.timestamp)
        match record.type:
            case None:
                yield from self._header(record)
            case "user":
                yield from self._user(record, at)
            case "gemini":
                yield from self._gemini(record, at)
            case "past":
                for text in _texts(self._parts(record.content)):
                    yield from self._harness(text, at)
            case "info" | "warning" | "error":
                yield from self._notice(record, at)
            case _:
                self.skipped += 1

    def _header(self, record: Record) -> Iterator[Step]:
        at = seconds(record.start_time)
        if record.session_id:
            again, self._native = bool(self._native), record.session_id
            yield Start(at, "resume" if again else "start", record.session_id)
        if record.directories:
            yield from self._start_if_moved(at, record.directories[0])
        if record.summary:
            yield Title(at, record.summary)

    def _start_if_moved(self, at: float, cwd: str) -> Iterator[Step]:
        if cwd and cwd != self._cwd:
            self._cwd = cwd
            yield Start(at, cwd=cwd)

    def _user(self, record: Record, at: float) -> Iterator[Step]:
        parts = self._parts(record.content)
        for part in parts:
            answer = part.function_response
            if answer is not None and answer.id not in self._answered:
                yield from self._answer(answer, answer.id or "", "", at)
        for text in _texts(parts):
            yield from injected_briefs(at, text)
        display_parts = self._parts(record.display_content)
        is_shown = any(part.text for part in display_parts)
        texts = []
        for text in _texts(display_parts if is_shown else parts):
            yield from self._harness(text, at)
            if steered := _STEERED.fullmatch(text):
                yield from self._steered(steered[1], at)
            else:
                texts.append(typed_text(tools.untagged(text)))
        text = "\n".join(part for part in texts if part and not part.startswith(NOT_TYPED))
        if text and text != "Please continue.":
            yield Prompt(at, text, typed_how(text) if is_shown else "")

    def _steered(self, text: str, at: float) -> Iterator[Step]:
        """The steps of what reached the model while it was at work: the user's words, and after them the
        notice that a command in the background has ended."""
        ended = _ENDED.search(text)
        if words := typed_text(text[: ended.start()] if ended else text):
            yield Prompt(at, words, "queued")
        if ended:
            self._running.discard(ended[2])
            yield Settled(at, ended[2], bool(ended[1]), ended[3])

    def _harness(self, text: str, at: float) -> Iterator[Step]:
        """The steps of a text of the harness in the user's role: the working folder, or a compression."""
        if "<session_context>" in text or text.startswith(NOT_TYPED[0]):
            place = _WORKSPACE.search(text)
            yield from self._start_if_moved(at, (place[1] or place[2]).strip() if place else "")
        snapshot = _SNAPSHOT.search(text)
        if snapshot and snapshot[1].strip() not in self._snapshots:
            self._snapshots.add(snapshot[1].strip())
            self._compact_reported = True
            yield Compact(at, snapshot[1].strip())

    def _gemini(self, record: Record, at: float) -> Iterator[Step]:
        self._compact_reported = False
        if record.model and record.model != self._model:
            self._model = record.model
            yield Model(at, record.model)
        parts = self._parts(record.content)
        for thought in record.thoughts or ():
            if words := f"{thought.subject}\n{thought.description.strip()}".strip():
                yield Thought(seconds(thought.timestamp) or at, words)
        texts = []
        for part in parts:
            if part.text and not part.thought:
                texts.append(part.text)
            elif part.text and part.text.strip():
                yield Thought(at, part.text.strip())
        text = "\n".join(texts)
        if text.strip():
            yield Say(at, text)
        used = record.tokens
        if used is not None and used.input:
            cached = min(used.cached or 0, used.input)
            yield Usage(
                at, record.id or "", used.input, used.output + (used.thoughts or 0),
                input=used.input - cached + (used.tool or 0), cache_read=cached,
            )  # fmt: skip
        calls = [_part(row, CALL, ToolCall) for row in self._list(record.tool_calls)]
        self.malformed += calls.count(None)
        call_ids = {call.id for call in calls if call is not None}
        for part in parts:
            request = part.function_call
            if request is not None and request.id not in call_ids:
                yield tools.call(at, request.id or "", request.name, request.args, Display(), self._running)
        if text.strip() and not calls and not any(part.function_call for part in parts):
            self._spoke = record.id
        for call in calls:
            if call is not None:
                yield from self._call(call, at)

    def _closes(self, record: Record) -> bool:
        """Whether a message makes no calls, and so ends the turn unless the agent continues by itself."""
        return record.type == "gemini" and self._spoke == record.id

    def _call(self, call: ToolCall, at: float) -> Iterator[Step]:
        about = decode_part(bytes(call.result_display), DISPLAY, Display) or Display()
        yield tools.call(at, call.id, call.name, call.args, about, self._running)
        plan = tools.plan(at, call.args) if call.name == "write_todos" else None
        if plan is not None and call.status != "error":
            yield plan
        title = call.args.get("title") if isinstance(call.args, dict) else None
        if call.name == "update_topic" and isinstance(title, str):
            yield Title(at, title)
        if call.status in tools.RAN:
            answers = [part.function_response for part in self._parts(call.result)]
            answer = next(
                (candidate for candidate in answers if candidate is not None), Function(name=call.name)
            )
            if answer.response is None:
                answer.response = plain_text(_any(call.result)) or plain_text(_any(call.result_display))
            answer.name = call.name
            arguments = call.args if isinstance(call.args, dict) else {}
            ended_at = seconds(call.timestamp) or at
            yield from self._answer(answer, call.id, call.status, ended_at, about.is_new_file is False)
            if self._running and call.status == "success":
                for process in tools.killed(str(arguments.get("command") or ""), self._running):
                    self._running.discard(process)
                    yield Settled(ended_at, process)
            if tools.ACTS.get(call.name) == "agent" and call.status == "success":
                text = tools.output(call.name, answer.response).text
                yield Report(at, text, str(arguments.get("agent_name") or call.name), call.id)

    def _answer(
        self, answer: Function, id: str, status: str, at: float, overwrote: bool = False
    ) -> Iterator[Step]:
        self._answered.add(id)
        output = tools.output(answer.name, answer.response)
        words = tools.plan_refusal(answer.name, output.text)
        if words is not None or (status == "cancelled" and tools.REFUSED.match(output.text)):
            yield Interrupt(at, words or "", id)
            if words:
                yield Prompt(at, words, "refusal")
            yield Result(at, id)
            return
        ok = None if status == "cancelled" else output.succeeded if status != "error" else False
        if output.process:
            self._running.add(output.process)
        yield Result(at, id, ok, output.exit, output.text, process=output.process, overwrote=overwrote)
        for process, succeeded in tools.listed(answer.name, output.text):
            if process in self._running:
                self._running.discard(process)
                yield Settled(at, process, succeeded)

    def _notice(self, record: Record, at: float) -> Iterator[Step]:
        text = "\n".join(_texts(self._parts(record.content)))
        squeezed = _SQUEEZED.search(text)
        if _CANCELLED.match(text):
            yield Interrupt(at, text)
        elif squeezed and not self._compact_reported:
            yield Compact(at, tokens=int(squeezed[1]))
        elif record.type == "error" and _API.search(text):
            status = _STATUS.search(text)
            yield Fault(at, text, int(status[1]) if status else 0)
        else:
            self.skipped += 1

    def _parts(self, raw: msgspec.Raw) -> list[Part]:
        """The parts of a content; a text is a single part."""
        data = bytes(raw)
        if data[:1] == b"[":
            parts = [_text(row) or _part(row, PART, Part) for row in self._list(raw)]
            self.malformed += parts.count(None)
            return [part for part in parts if part is not None]
        if data[:1] == b"{":
            row = _part(raw, PART, Part)
            return [row] if row is not None else []
        return [part for part in [_text(raw)] if part is not None]


def _text(raw: msgspec.Raw) -> Part | None:
    text = _any(raw) if bytes(raw)[:1] == b'"' else None
    return Part(text) if isinstance(text, str) else None


def _texts(parts: list[Part]) -> Iterator[str]:
    """The texts of a user's parts, without the files that the harness added after them."""
    for part in parts:
        text, mark, _ = (part.text or "").partition(FILES)
        if text.strip():
            yield text
        if mark:
            return


def _any(raw: msgspec.Raw) -> Any:
    return decode_any(raw) if bytes(raw) else None


def _part(raw: msgspec.Raw | bytes, decoder: msgspec.json.Decoder[T], kind: type[T]) -> T | None:
    return decode_part(bytes(raw), decoder, kind)


def _salvaged(text: str) -> Record:
    """A record of the intact parts of a torn document."""
    native, begun, messages = _SESSION.search(text), _BEGUN.search(text), _MESSAGES.search(text)
    whole = elements(text, messages.end()) if messages else []
    return Record(
        session_id=native[1] if native else None,
        start_time=begun[1] if begun else None,
        messages=msgspec.Raw(f"[{','.join(whole)}]".encode()),
    )
