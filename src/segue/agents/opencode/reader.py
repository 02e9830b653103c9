"""Reads OpenCode's conversations as steps.

A record is a whole conversation. Only what the user typed becomes a prompt: parts that the harness or a
plugin added are ``synthetic``, and a sub-agent's report of a task in the background is one of them. The body
of a slash command is stored as if it had been typed, unless a sub-agent runs it. What the user reverted is
left out. A pending or running tool has no result; if the process is gone, the agent died during that call.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

import msgspec

from ...core.base.lazy import regex
from ...core.runs.steps import (
    EDITS,
    Call,
    Compact,
    End,
    Fault,
    Interrupt,
    Model,
    Plan,
    PlanItem,
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
from ..base import decode_part
from ..common import brief_steps, elements, injected_briefs, repaired_json, seconds, typed_text
from . import tools
from .wire import (
    DOCUMENT,
    INFO,
    LIST,
    MESSAGE,
    METADATA,
    PART,
    SESSION,
    STATE,
    TODO,
    Document,
    Error,
    Info,
    Message,
    Metadata,
    Part,
    Revert,
    Session,
    State,
    Times,
    Todo,
    Tokens,
)

T = TypeVar("T", bound=msgspec.Struct)
_UNNAMED = regex(r"(New|Child) session - \d{4}-")
_QUOTED = regex(r'"((?:[^"\\]|\\.)*)"', re.S)
_INFO = regex(r'"info"\s*:\s*(?=\{)')
_MESSAGES = regex(r'"messages"\s*:\s*(?=\[)')
_QUIET = frozenset(
    {"step-start", "snapshot", "file", "agent", "subtask", "patch", "compaction"}
)  # parts that give no step of their own


class Reader:
    """See ``agents.base.Reader``."""

    def __init__(self, kept: Any = None) -> None:
        self.skipped = self.malformed = 0
        self._begin()

    def _begin(self) -> None:
        self._cwd = self._model = ""
        self._context = 0
        self._trigger = "auto"
        self._plan: tuple[PlanItem, ...] = ()
        self._prompted = ""  # the text of the last prompt
        self._repeated = False  # by the harness, after the compaction that is under way
        self._began = 0.0
        self._worked_until = 0.0  # when the last response ended
        self._background: dict[str, tuple[str, str]] = {}  # task -> the call that began it, the agent's name

    def keep(self) -> None:
        """No state: the next record is the whole conversation again."""

    def read(self, record: bytes) -> Iterable[Step]:
        self._begin()
        document = self._document(record)
        if document is None:
            return []
        return list(self._steps(document))

    def _document(self, record: bytes) -> Document | None:
        document = _part(record, DOCUMENT, Document)
        if document is None:
            self.malformed += 1
            document = _salvaged(repaired_json(record).decode())
        return document

    def _steps(self, document: Document) -> Iterator[Step]:
        session = _part(document.info, SESSION, Session) or Session()
        self._cwd = session.directory
        at = self._began = _time(session.time, "created")
        if session.id or session.directory:
            yield Start(
                at, "start", session.id, session.directory, "", "", session.version, session.parent or ""
            )
        if session.title and not _UNNAMED.match(session.title):
            yield Title(at, session.title)
        for info, parts in self._messages(document.messages, session.revert):
            if info.role == "user":
                yield from self._user(info, parts)
            elif info.role == "assistant":
                yield from self._assistant(info, parts)
            else:
                self.skipped += 1
        yield from self._todos(document.todos)

    def _messages(self, raw: msgspec.Raw, revert: Revert | None) -> Iterator[tuple[Info, list[Part]]]:
        """Every message with its parts, up to the point that the user reverted to."""
        for row in self._list(raw):
            message = _part(row, MESSAGE, Message)
            info = _part(message.info, INFO, Info) if message is not None else None
            if message is None or info is None:
                self.malformed += 1
                continue
            parts = self._parts(message.parts)
            if revert and revert.message and info.id == revert.message:
                ids = [part.id for part in parts]
                if revert.part in ids:
                    yield info, parts[: ids.index(revert.part)]
                return
            yield info, parts

    def _parts(self, raw: msgspec.Raw) -> list[Part]:
        parts = [_part(row, PART, Part) for row in self._list(raw)]
        self.malformed += parts.count(None)
        return [part for part in parts if part is not None]

    def _list(self, raw: msgspec.Raw) -> list[msgspec.Raw]:
        if not bytes(raw):
            return []
        try:
            return LIST.decode(raw)
        except (msgspec.DecodeError, RecursionError):
            self.malformed += 1
            return []

    # -- messages

    def _user(self, info: Info, parts: list[Part]) -> Iterator[Step]:
        at = _time(info.time, "created")
        texts = []
        command = ""
        for part in parts:
            if part.type == "text":
                if part.text and not part.synthetic and not part.ignored:
                    text = _unquoted(part.text)
                    yield from injected_briefs(at, text)
                    texts.append(typed_text(text))
                elif part.synthetic:
                    yield from brief_steps(at, part.text)
                    yield from self._notice(at, part.text)
            elif part.type == "compaction":
                self._trigger = "manual" if part.auto is False else "auto"
                self._repeated = bool(part.overflow)
            elif part.type == "subtask" and part.command:
                command = f"/{part.command}"
            elif part.type not in _QUIET:
                self.skipped += 1
        text = "\n".join(texts).strip() or command
        if not text:
            return
        is_copy, self._repeated = self._repeated and text == self._prompted, False
        if not is_copy:
            self._prompted = text
            queued = 0 < at < self._worked_until
            yield Prompt(at, text, "command" if text == command else "queued" if queued else "")

    def _notice(self, at: float, text: str) -> Iterator[Step]:
        """The steps of the harness's notice that a task in the background has ended."""
        if ended := tools.settled(text):
            task, succeeded, report = ended
            yield Settled(at, task, succeeded, report)
            call, name = self._background.pop(task, ("", ""))
            if succeeded and report:
                yield Report(at, report, name, call)

    def _assistant(self, info: Info, parts: list[Part]) -> Iterator[Step]:
        at = _time(info.time, "created")
        self._worked_until = _time(info.time, "completed")
        yield from self._settings(info, at)
        if bytes(info.summary) == b"true":
            yield from self._compaction(info, parts, at)
            return
        yield from self._work(info, parts, at)
        if info.error is not None:
            yield _failed(info.error, _time(info.time, "completed") or at)
        elif info.finish == "stop" and info.time and info.time.completed:
            yield End(_time(info.time, "completed"))

    def _settings(self, info: Info, at: float) -> Iterator[Step]:
        cwd = info.path.cwd if info.path else ""
        if cwd and cwd != self._cwd:
            self._cwd = cwd
            yield Start(at, cwd=cwd)
        model = "/".join(filter(None, (info.provider_id, info.model_id)))
        if model and model != self._model:
            self._model = model
            yield Model(at, model)

    def _compaction(self, info: Info, parts: list[Part], at: float) -> Iterator[Step]:
        before = self._context
        usage = list(self._usage(info, parts, at))
        text = "\n".join(part.text for part in parts if part.type == "text" and part.text)
        if info.error is not None:
            yield _failed(info.error, at)
        elif text:
            yield Compact(_time(info.time, "completed") or at, text, self._trigger, before)
        yield from usage

    def _work(self, info: Info, parts: list[Part], at: float) -> Iterator[Step]:
        changed = [path for part in parts if part.type == "patch" for path in part.files or ()]
        for part in parts:
            if part.type == "text":
                if part.text.strip() and not part.synthetic and not part.ignored:
                    yield Say(_time(part.time, "start") or at, part.text)
            elif part.type == "tool":
                for step in self._tool(part, at):
                    if isinstance(step, Call) and step.act in EDITS:
                        changed = [path for path in changed if path not in step.paths]
                    elif isinstance(step, Result) and changed and part.tool == "bash":
                        step, changed = msgspec.structs.replace(step, paths=tuple(changed)), []
                    yield step
            elif part.type == "reasoning":
                if part.text.strip():
                    yield Thought(_time(part.time, "start") or at, part.text)
            elif part.type == "retry" and part.error:
                yield _failed(part.error, _time(part.time, "created") or at, retrying=True)
            elif part.type not in _QUIET and part.type != "step-finish":
                self.skipped += 1
        yield from self._usage(info, parts, at)

    def _usage(self, info: Info, parts: list[Part], at: float) -> Iterator[Step]:
        is_copied = 0 < _time(info.time, "created") < self._began  # a fork has a copy of what was before it
        at = _time(info.time, "completed") or at
        finished = [part for part in parts if part.type == "step-finish" and part.tokens]
        used = [(part.tokens, part.id or info.id, part.cost) for part in finished]
        for tokens, key, cost in used or [(info.tokens, info.id, info.cost)]:
            yield from self._used(tokens, key, cost, at, is_copied)

    def _used(
        self, tokens: Tokens | None, key: str, cost: float | None, at: float, is_copied: bool
    ) -> Iterator[Step]:
        if tokens is None:
            return
        read, written = (tokens.cache.read, tokens.cache.write) if tokens.cache else (0, 0)
        context = tokens.input + read + written
        if not context:
            return
        self._context = context
        if is_copied:
            yield Usage(at, key, context)
            return
        output = tokens.output + tokens.reasoning
        yield Usage(at, key, context, output, 0, cost or 0.0, tokens.input, read, written)

    def _tool(self, part: Part, at: float) -> Iterator[Step]:
        state = _part(part.state, STATE, State)
        if state is None:
            self.malformed += 1
            return
        about = _part(state.metadata, METADATA, Metadata) or Metadata()
        began = _time(state.time, "start") or at
        id = part.call or part.id
        task = state.input.get("task_id") if part.tool == "task" and isinstance(state.input, dict) else None
        process = task if isinstance(task, str) and task in self._background else ""
        yield tools.call(began, id, part.tool, state, about, process)
        if part.tool == "todowrite" and state.status != "error":
            plan = tools.plan(began, state.input.get("todos") if isinstance(state.input, dict) else None)
            if plan is not None:
                self._plan = plan.items
                yield plan
        if state.status in ("completed", "error"):
            yield from self._ended(part.tool, id, state, about, _time(state.time, "end") or began)

    def _ended(self, tool: str, id: str, state: State, about: Metadata, at: float) -> Iterator[Step]:
        succeeded: bool | None = state.status == "completed" and not about.exit
        raw = (state.output if state.status == "completed" else state.error) or ""
        text = tools.output(tool, raw)
        if state.status == "error" and (refused := tools.REFUSED.match(text)):
            words = (refused[1] or "").strip()
            yield Interrupt(at, words, id)
            if words and tool in tools.ACTS:  # an error of a server's tool may be any text
                yield Prompt(at, words, "refusal")
            yield Result(at, id)
            return
        name = state.input.get("subagent_type") if isinstance(state.input, dict) else None
        name = name if isinstance(name, str) else ""
        if tool == "task" and (begun := tools.TASK_STATE.match(raw)) and begun[2] == "running":
            is_new = begun[1] not in self._background
            self._background.setdefault(begun[1], (id, name))
            yield Result(at, id, None, None, text, process=begun[1] if is_new else "")
            return
        if tool == "bash":
            text, note = tools.shell_output(text)
            if note:
                text = f"{text}\n{note}".strip()
                succeeded = None if tools.ABORTED in note else False
        elif about.interrupted:
            succeeded = None
        if tool == "task" and succeeded and text:
            yield Report(at, text, name, id)
        yield Result(at, id, succeeded, about.exit, text, overwrote=bool(about.exists))

    def _todos(self, raw: msgspec.Raw) -> Iterator[Step]:
        rows = [_part(row, TODO, Todo) for row in self._list(raw)]
        todos = [row for row in rows if row is not None]
        plan = tools.plan(0, [{"content": todo.content, "status": todo.status} for todo in todos])
        if plan and plan.items and plan.items != self._plan:
            yield Plan(max(seconds(todo.time_updated or 0) for todo in todos), plan.items)


def _failed(error: Error, at: float, retrying: bool = False) -> Step:
    text = (error.data.message if error.data else "") or error.message or error.name
    if error.name == "MessageAbortedError":
        return Interrupt(at, text)
    return Fault(at, text, (error.data and error.data.status) or 0, retrying)


def _part(raw: msgspec.Raw | bytes, decoder: msgspec.json.Decoder[T], kind: type[T]) -> T | None:
    data = bytes(raw)
    if not data:
        return None
    return decode_part(data, decoder, kind)


def _time(times: Times | None, which: str) -> float:
    return seconds(getattr(times, which) or 0) if times else 0.0


def _unquoted(text: str) -> str:
    """A text without quotes around it; ``opencode run`` stores an argument with spaces in quotes."""
    match = _QUOTED.fullmatch(text.strip())
    return match[1].replace('\\"', '"') if match else text


def _salvaged(text: str) -> Document | None:
    """A document of the intact parts of a torn one; None if there are none."""
    info, messages = _INFO.search(text), _MESSAGES.search(text)
    if info is None and messages is None:
        return None
    about = elements(text, info.end() - 1)[:1] if info and not _later(info, messages) else []
    whole = elements(text, messages.end()) if messages else []
    return Document(
        msgspec.Raw(about[0].encode()) if about else msgspec.Raw(),
        msgspec.Raw(f"[{','.join(whole)}]".encode()),
    )


def _later(info: re.Match[str], messages: re.Match[str] | None) -> bool:
    """Whether this is the info of the first message, not of the conversation."""
    return messages is not None and info.start() > messages.start()
