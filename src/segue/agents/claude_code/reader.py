"""Reads Claude Code's records as steps.

Only what the user typed becomes a prompt. The lines of a sub-agent are left out in the main file, because its
report is the result of the call that started it; in a file of its own they are the work.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any
from zlib import crc32

import msgspec

from ...core.base.lazy import regex
from ...core.runs.steps import (
    DETACHED,
    Call,
    Compact,
    End,
    Fault,
    Interrupt,
    Model,
    Plan,
    PlanItem,
    Prompt,
    Recap,
    Report,
    Result,
    Rewind,
    Say,
    Settled,
    Start,
    Step,
    Thought,
    Title,
    Typed,
    Usage,
)
from ..base import DECODE_ERRORS, decode_any, decode_part, salvaged_line
from ..common import blocks_text, brief_steps, prompt_steps, seconds
from .background import ASKED, TEAM, launch_in, members_left, notice_in, notice_steps, poll_steps
from .calls import call_steps, edited_place
from .wire import (
    ABORTED,
    ATTACHED,
    ATTACHMENT,
    CONTINUED,
    INTERRUPTED,
    NOT_TYPED,
    RECORD,
    REJECTED,
    REJECTED_NOTE,
    REJECTED_QUESTION,
    REJECTED_REASONS,
    SUMMARY_FOOT,
    SUMMARY_HEAD,
    TAG,
    UNKNOWN_OUTCOME,
    UNSAID,
    Attachment,
    Block,
    Message,
    Record,
)

CONTROLS = frozenset(
    "add-dir agents bashes bug chrome clear color compact config context copy cost desktop diff doctor "
    "effort exit export extra-usage fast feedback fork help hooks ide insights install-github-app "
    "install-slack-app keybindings login logout mcp memory migrate-installer mobile model output-style "
    "passes permissions plugin plugins privacy-settings quit rate-limit-options release-notes "
    "reload-plugins remote-control remote-env rename resume rewind sandbox skills stats status statusline "
    "stickers tasks terminal-setup theme think-back todos upgrade usage vim voice".split()
)  # commands about the agent itself, not about the work
_EXIT = regex(r"Exit code (\d+)\s*\n?")
_BARE_REFUSALS = regex(r"2\.0\.(?:\d|[12]\d)\Z")
"""Versions that gave the model the user's words alone as the error of a rejected call."""
_SENTENCE = regex(
    r"(?![\w./()-]+:\s)(?!File |Found \d|This |Claude |Command )(?!.*\b[A-Z]{3,}\b)"
    r"(?!.*(?i:\berror\b|\bfailed\b|\binvalid\b|\bcannot\b|denied|not found|no such))"
    r"[^\W\d_]\S*(?: \S+){2,120}"
)
"""One line of several words that does not look like the error of a program or of the agent."""
_TASK = regex(r"Task #(\S+) created successfully: (.*)")
_REMINDER = regex(
    r"<(system-reminder|hook_context|ide_selection|ide_opened_file|ide_diagnostics)\b.*?</\1>", re.S
)
_PERSISTED = regex(
    r"\s*<persisted-output>\s*(?:Output too large[^\n]*\n+)?(?:Preview[^\n]*\n)?"
    r"(.*?)(?:</persisted-output>|\Z)",
    re.S,
)
_SLASH = regex(r"<command-name>\s*(/?[^<]*?)\s*</command-name>")
_SLASH_ARGS = regex(r"<command-args>(.*?)</command-args>", re.S)
LED = '<teammate-message teammate_id="team-lead"'
_LED = regex(rf"{LED}[^>]*>(.*?)</teammate-message>", re.S)
_ATTACHMENTS = ("queued_command", "hook_additional_context", "hook_success")
_NOTE_BYTES = 2_000
_QUEUED_MAX = 8
_POLLS_MAX = _OUTSIDE_MAX = 16
_REPORTED_MAX = 8
_TURNS_MAX = 64
_ID_CHARS = 13
_QUEUED = ["", ""]  # a prompt that belongs to no record yet


class Reader:
    """See ``agents.base.Reader``."""

    def __init__(self, kept: Any = None) -> None:
        self.skipped = self.malformed = 0
        kept = kept if isinstance(kept, dict) else {}
        self._place: list[str] = list(kept.get("place") or ("", "", "", ""))  # native, cwd, branch, version
        self._seen: tuple[str | None, ...] = ()  # what the last record said of its place
        self._model: str = kept.get("model", "")
        self._usage: str = kept.get("usage", "")  # the last response, and what was told of its output
        self._output: int = kept.get("output", 0)
        self._side: bool = kept.get("side", False)  # the file is a sub-agent's own
        self._begun: bool = kept.get("begun", False)
        self._trigger: list[Any] = list(kept.get("trigger") or ("", 0))
        self._queued: list[str] = list(kept.get("queued") or ())
        self._given: str = kept.get("given", "")  # fingerprint of the last brief
        self._turns: list[list[str]] = list(kept.get("turns") or ())  # of each prompt: parent, own id
        self._over: bool = kept.get("over", False)  # the end of the turn has been reported
        self._busy: bool = kept.get("busy", False)  # the agent is at work
        self._polls: dict[str, str] = dict(kept.get("polls") or {})  # open call -> the process that it asks
        self._reported: list[str] = list(kept.get("reported") or ())  # sub-agents whose reports are known
        self._outside: list[str] = list(kept.get("outside") or ())  # the last calls of servers' tools
        self._first: float = kept.get("first", 0.0)  # times of the first and the newest record
        self._newest: float = kept.get("newest", 0.0)
        self._copies: bool = kept.get("copies", False)  # records are being repeated

    def keep(self) -> dict[str, Any]:
        return {
            "place": self._place, "model": self._model, "usage": self._usage,
            "output": self._output, "side": self._side, "begun": self._begun,
            "trigger": self._trigger, "queued": self._queued, "given": self._given, "turns": self._turns,
            "over": self._over, "busy": self._busy,
            "polls": self._polls, "reported": self._reported, "outside": self._outside,
            "first": self._first, "newest": self._newest, "copies": self._copies,
        }  # fmt: skip

    def read(self, record: bytes) -> Iterable[Step]:
        return self.read_view(memoryview(record))

    def read_view(self, line: memoryview) -> Iterable[Step]:
        try:
            record = RECORD.decode(line)
        except DECODE_ERRORS:
            records, bad = salvaged_line(bytes(line), RECORD, self.malformed)
            self.malformed += bad
            return [step for record in records for step in self._record(record)]
        return self._record(record)

    def _record(self, record: Record) -> Iterable[Step]:
        handle = _HANDLERS.get(record.type)
        if handle is None:
            self.skipped += 1
            return ()
        if record.is_sidechain and not self._side:
            if self._begun or not record.agent_id:
                return self._used_aside(record)
            self._side = True
        self._begun = True
        at = seconds(record.timestamp)
        spoken = record.type in ("user", "assistant")
        return () if spoken and at and self._is_copied(at) else handle(self, record, at)

    def _is_copied(self, at: float) -> bool:
        """Whether a record was written before: an editor that resumes a conversation may write all of it
        once more, from the first record on."""
        if at > self._newest:  # nearly always
            self._first = self._first or at
            self._newest, self._copies = at, False
            return False
        self._copies = self._copies or (at == self._first and at + 1 < self._newest)
        return self._copies

    def _start_if_moved(self, record: Record, at: float) -> list[Step]:
        """A ``Start`` if the conversation, folder, branch or version changed."""
        seen = (record.session_id, record.cwd, record.git_branch, record.version, record.agent_id)
        if seen == self._seen:  # nearly always
            return []
        self._seen = seen
        native = record.session_id or ""
        if self._side and record.agent_id:
            native = f"agent-{record.agent_id}"
        now = [native, record.cwd or "", record.git_branch or "", record.version or ""]
        before, self._place = self._place, [new or old for new, old in zip(now, self._place, strict=True)]
        if before == self._place:
            return []
        parent = record.session_id or "" if self._side and record.agent_id else _forked(record)
        native, cwd, branch, version = self._place
        how: Any = ""
        if native != before[0]:
            how = "fork" if record.forked_from else "resume" if before[0] else "start"
        if branch == DETACHED and before[2] in ("", DETACHED):
            branch = ""  # else it must be said that the branch was left
        return [Start(at, how, native, cwd, branch, "", version, parent)]

    # -- a method for each type of record

    def _user(self, record: Record, at: float) -> list[Step]:
        message = self._message(record)
        steps = self._start_if_moved(record, at)
        if message is None or message.content is None:
            return steps
        if record.is_compact_summary:
            steps.append(self._compact(at, blocks_text(_untyped(message.content))))
            return steps
        blocks = [Block("text", message.content)] if isinstance(message.content, str) else message.content
        for block in blocks:
            if block.type == "tool_result":
                steps += self._result(block, record, at)
            elif block.type == "text" and block.text:
                meta = bool(record.is_meta) or _is_foreign(record.origin)
                steps_of_text = self._text(block.text, at, meta, record)
                steps += self._with_rewinds(steps_of_text, record)
        return steps

    def _with_rewinds(self, steps: Iterable[Step], record: Record) -> list[Step]:
        """The steps, with a ``Rewind`` before a prompt that follows the same record as an earlier one: the
        user went back and changed it."""
        result: list[Step] = []
        for step in steps:
            if isinstance(step, Prompt):
                now = [(record.parent_uuid or "")[:_ID_CHARS], (record.uuid or "")[:_ID_CHARS]]
                parents = [turn[0] for turn in self._turns] if now[0] else []
                if now[0] in parents:
                    same = parents.index(now[0])
                    if self._turns[same][1] != now[1]:
                        result.append(Rewind(step.at, len(self._turns) - same))
                        del self._turns[same:]
                self._turns.append(now)
                if len(self._turns) > _TURNS_MAX:
                    del self._turns[0]
            result.append(step)
        return result

    def _text(
        self, text: str, at: float, meta: bool, record: Record | None = None, how: Typed = ""
    ) -> Iterable[Step]:
        if "<" in text:
            text = _REMINDER.sub("", text)
        text = text.strip()
        if _is_harness(text):
            if text.startswith(INTERRUPTED):
                self._busy = False
                return [Interrupt(at, "by the user")]
            if text.startswith(CONTINUED):
                return [self._compact(at, text)]
            if record is not None and text.startswith(TEAM):
                if record.agent_name and text.startswith(LED):
                    return _lead_messages(text, at)
                return list(members_left(text, at, str(record.team_name)))
            return () if meta else self._tagged(text, at)
        if not text or meta:
            return ()
        self._busy = True
        if self._queued and (mark := _fingerprint(text)) in self._queued:
            self._queued.remove(mark)  # it was reported as a prompt when it was queued
            return ()
        return prompt_steps(at, text, how)

    def _tagged(self, text: str, at: float) -> Iterator[Step]:
        """The steps of a text in tags: a slash command of the user, or a notice about a background task."""
        slash = _SLASH.search(text)
        if notice := notice_in(text):
            yield from self._notice(notice, at)
        elif slash and slash[1]:
            name, arguments = slash[1].lstrip("/"), _SLASH_ARGS.search(text)
            words = arguments[1].strip() if arguments else ""
            if words or name not in CONTROLS:
                yield Prompt(at, f"/{name} {words}".strip(), "command")

    def _notice(self, notice: str, at: float) -> Iterable[Step]:
        """The steps of a notice, reported once: one that arrives during a turn is in several records."""
        if (mark := _fingerprint(notice)) in self._queued:
            self._queued.remove(mark)
            return ()
        return self._ended(notice, at)

    def _ended(self, notice: str, at: float) -> list[Step]:
        steps = list(notice_steps(notice, at))
        if steps and isinstance(steps[0], Report) and isinstance(steps[-1], Settled):
            self._reported = [*self._reported, steps[-1].process][-_REPORTED_MAX:]
        return steps

    def _result(self, block: Block, record: Record, at: float) -> Iterable[Step]:
        text = block.content if isinstance(block.content, str) else blocks_text(block.content)
        id, failed = block.tool_use_id, bool(block.is_error)
        process = self._polls.pop(id, "") if self._polls else ""
        if failed and (words := _refusal(text, record.version)) is not None:
            if id in self._outside and not record.tool_denial_kind:
                words = ""  # a server may have written it
            refused: list[Step] = [Interrupt(at, words, id), Result(at, id)]
            return self._with_rewinds([*refused, Prompt(at, words, "refusal")], record) if words else refused
        if text.startswith(UNKNOWN_OUTCOME):
            return ()  # a note of the agent at resume: the call stays pending
        if process:
            steps = poll_steps(at, id, not failed, process, text)
            if process in self._reported:  # a notice has brought the report of this sub-agent
                steps = [step for step in steps if not isinstance(step, Report)]
            return steps
        if not failed and (launch := launch_in(text, record.tool_use_result)):
            return [Result(at, id, True, None, launch[1], process=launch[0])]
        if not failed and text.startswith("The file ") and record.tool_use_result:
            place = edited_place(record.tool_use_result)
            return [Result(at, id, True, None, text, place=place, overwrote=True)]
        return _plain_result(text, id, failed, at)

    def _compact(self, at: float, summary: str) -> Compact:
        trigger, tokens = self._trigger
        self._trigger = ["", 0]
        own_words = SUMMARY_FOOT.sub("", SUMMARY_HEAD.sub("", summary, count=1))
        return Compact(at, own_words.strip(), trigger, tokens)

    def _assistant(self, record: Record, at: float) -> list[Step]:
        message = self._message(record)
        steps = self._start_if_moved(record, at)
        if message is None:
            return steps
        if record.is_api_error_message:
            steps.append(Fault(at, blocks_text(_untyped(message.content)), record.api_error_status or 0))
            return steps
        if message.model and message.model != self._model and message.model != "<synthetic>":
            self._model = message.model
            steps.append(Model(at, message.model))
        blocks = (
            message.content if isinstance(message.content, list) else [Block("text", message.content or "")]
        )
        for block in blocks:
            if block.type == "tool_use":
                steps += self._call(block, at)
            elif block.type == "text" and block.text.strip() and block.text != UNSAID:
                steps.append(Say(at, block.text))
            elif block.type == "thinking" and block.thinking.strip():
                steps.append(Thought(at, block.thinking))
        steps += self._used(record, message, at)
        self._over, self._busy = False, True
        if message.stop_reason == "end_turn" and blocks and blocks[-1].type == "text":
            steps += self._turn_over(at)
        return steps

    def _used(self, record: Record, message: Message, at: float) -> list[Usage]:
        """What a response used, unless a record before said the same of it."""
        used = message.usage
        if used is None or not message.id:
            return []
        if message.id == self._usage and used.output_tokens == self._output:
            return []
        self._usage, self._output = message.id, used.output_tokens
        written, read = used.cache_creation_input_tokens, used.cache_read_input_tokens
        context = used.input_tokens + written + read
        if not context:
            return []
        kept_long = used.cache_creation.ephemeral_1h_input_tokens if used.cache_creation is not None else 0
        return [
            Usage(
                at, message.id, context, used.output_tokens, cost=record.cost_usd or 0.0,
                input=used.input_tokens, cache_read=read, cache_write=written, cache_write_1h=kept_long,
            )
        ]  # fmt: skip

    def _used_aside(self, record: Record) -> list[Usage]:
        """What a sub-agent used that has no transcript of its own: early versions wrote its records among
        those of its lead, whose window it does not fill."""
        message = record.message if record.type == "assistant" else None
        if message is None or record.is_api_error_message:
            return []
        used = self._used(record, message, seconds(record.timestamp))
        return [msgspec.structs.replace(step, context=0, model=message.model) for step in used]

    def _call(self, block: Block, at: float) -> list[Step]:
        steps = call_steps(block, at)
        if block.name in ASKED and isinstance(steps[0], Call) and steps[0].process:
            self._polls[block.id] = steps[0].process
            while len(self._polls) > _POLLS_MAX:
                del self._polls[next(iter(self._polls))]
        elif block.name.startswith("mcp__"):
            self._outside = [*self._outside, block.id][-_OUTSIDE_MAX:]
        return steps

    def _turn_over(self, at: float) -> Iterator[Step]:
        """The end of a turn, reported once: up to three records mark it, and older versions write only
        some."""
        self._busy = False
        if not self._over:
            self._over = True
            yield End(at, "turn")

    def _progress(self, record: Record, at: float) -> Iterable[Step]:
        """One kind of progress matters: that the hooks for the end of a turn run."""
        if memoryview(record.data).nbytes > _NOTE_BYTES:  # these contain messages of sub-agents
            return ()
        note = _any(record.data)
        stopping = isinstance(note, dict) and note.get("hookEvent") == "Stop"
        return self._turn_over(at) if stopping else ()

    def _system(self, record: Record, at: float) -> Iterator[Step]:
        match record.subtype:
            case "compact_boundary":
                about = record.compact_metadata
                self._trigger = [about.trigger, about.pre_tokens] if about else ["", 0]
            case "away_summary":
                yield Recap(at, blocks_text(_any(record.content)))
            case "api_error":
                error = _any(record.error)
                text = error.get("formatted") or error.get("message") if isinstance(error, dict) else error
                yield Fault(at, text if isinstance(text, str) else "", retrying=bool(record.retry_attempt))
            case "turn_duration" | "stop_hook_summary":
                yield from self._turn_over(at)
            case _:
                self.skipped += 1

    def _queue_operation(self, record: Record, at: float) -> Iterator[Step]:
        text = blocks_text(_any(record.content)).strip()
        if "<" in text:
            text = _REMINDER.sub("", text).strip()
        if record.operation == "enqueue" and (notice := notice_in(text)):
            yield from self._ended(notice, at)
            self._queued = [*self._queued, _fingerprint(notice)][-_QUEUED_MAX:]
            return
        typed = text and not text.startswith(("/", '{"task_id"')) and not _is_harness(text)
        if record.operation == "enqueue" and typed:
            self._queued = [*self._queued, _fingerprint(text)][-_QUEUED_MAX:]
            how: Typed = "queued" if self._busy else ""
            yield from self._with_rewinds(prompt_steps(at, text, how), record)
        elif record.operation == "popAll" and (mark := _fingerprint(text)) in self._queued:
            self._queued.remove(mark)  # moved back to the input line
            if _QUEUED in self._turns:
                self._turns.remove(_QUEUED)
            yield Rewind(at, text=text)

    def _attachment(self, record: Record, at: float) -> Iterable[Step]:
        try:
            known = ATTACHED.decode(record.attachment).type in _ATTACHMENTS
        except DECODE_ERRORS:
            known = True
        attachment = decode_part(bytes(record.attachment), ATTACHMENT, Attachment) if known else None
        if attachment is None or attachment.type not in _ATTACHMENTS:
            self.skipped += 1
            return ()
        if attachment.type == "queued_command":
            if attachment.command_mode == "task-notification":
                return self._notice(notice_in(blocks_text(attachment.prompt).strip()), at)
            if attachment.command_mode not in ("", "prompt") or _is_foreign(attachment.origin):
                return ()
            queued = self._text(blocks_text(attachment.prompt), at, False, how="queued")
            return self._with_rewinds(queued, record)
        return [*self._start_if_moved(record, at), *self._hook(attachment, at)]

    def _hook(self, attachment: Attachment, at: float) -> Iterator[Step]:
        """Our own brief, reported once: a hook's output is in two records."""
        for text in _hook_texts(attachment):
            for step in brief_steps(at, text):
                if (mark := _fingerprint(text.strip())) != self._given:
                    self._given = mark
                    yield step

    def _title(self, record: Record, at: float) -> Iterator[Step]:
        title = record.custom_title or record.ai_title or record.title
        if title:
            yield Title(at, title)

    def _exit(self, record: Record, at: float) -> Iterator[Step]:
        yield End(at, "exit")

    def _message(self, record: Record) -> Message | None:
        if record.message is None:
            self.malformed += 1
        return record.message


_HANDLERS = {
    "user": Reader._user,
    "assistant": Reader._assistant,
    "system": Reader._system,
    "progress": Reader._progress,
    "queue-operation": Reader._queue_operation,
    "attachment": Reader._attachment,
    "ai-title": Reader._title,
    "custom-title": Reader._title,
    "cost-state": Reader._exit,
}


def _forked(record: Record) -> str:
    """The conversation that this one was forked from."""
    source = record.forked_from
    native = source.get("sessionId") if isinstance(source, dict) else source
    return native if isinstance(native, str) else ""


def _fingerprint(text: str) -> str:
    """A few characters by which a text is recognised later."""
    return f"{len(text)}-{crc32(text.encode('utf-8', 'replace')):x}"


def _is_foreign(origin: Any) -> bool:
    """Whether a program or another agent wrote a text in the user's place."""
    kind = origin.get("kind") if isinstance(origin, dict) else None
    return isinstance(kind, str) and kind not in ("human", "task-notification")


def _is_harness(text: str) -> bool:
    """Whether the harness wrote this text in the user's place."""
    tag = TAG.match(text)
    return text.startswith(NOT_TYPED) or (tag is not None and f"</{tag[1]}>" in text)


def _hook_texts(attachment: Attachment) -> list[str]:
    """The texts that a hook added for the model, or its output as it was printed."""
    if attachment.type == "hook_additional_context":
        content = attachment.content
        texts = content if isinstance(content, list) else [content]
        return [text for text in texts if isinstance(text, str)]
    printed = attachment.stdout if isinstance(attachment.stdout, str) else ""
    if not printed.lstrip().startswith("{"):
        return [printed]
    output = decode_any(printed.encode("utf-8", "replace"))
    inner = output.get("hookSpecificOutput") if isinstance(output, dict) else None
    text = inner.get("additionalContext") if isinstance(inner, dict) else None
    return [text] if isinstance(text, str) else []


def _any(raw: msgspec.Raw) -> Any:
    data = bytes(raw)
    return decode_any(data) if data else None


def _untyped(content: str | list[Block] | None) -> Any:
    return content if isinstance(content, str) else [{"text": block.text} for block in content or ()]


def _lead_messages(text: str, at: float) -> Iterator[Step]:
    """The tasks that the lead of a team gave to this member; notices of the lead are left out."""
    for body in _LED.findall(text):
        words = body.strip()
        notice = decode_any(words.encode("utf-8", "replace")) if words.startswith("{") else None
        if isinstance(notice, dict):
            parts = (
                [notice.get("subject"), notice.get("description")]
                if notice.get("type") == "task_assignment"
                else []
            )
            words = "\n".join(part for part in parts if isinstance(part, str))
        if words:
            yield Prompt(at, words)


def _refusal(text: str, version: str | None) -> str | None:
    """The user's words in the result of a call that the user rejected, empty if there are none; None if the
    call was not rejected."""
    if text.startswith(REJECTED):
        words = next((text.partition(mark)[2] for mark in REJECTED_REASONS if mark in text), "")
        words = words.partition(REJECTED_NOTE)[0].strip()
        return "" if words.startswith(REJECTED_QUESTION) else words
    if version and _BARE_REFUSALS.match(version) and _SENTENCE.fullmatch(text):
        return text
    return None


def _plain_result(text: str, id: str, failed: bool, at: float) -> list[Step]:
    if text.lstrip()[:18] == "<persisted-output>" and (preview := _PERSISTED.match(text)):
        text = preview[1].strip()
    if failed and (text.startswith(INTERRUPTED) or text.endswith(ABORTED)):
        return [Result(at, id, text=text.removesuffix(ABORTED).rstrip() if text.endswith(ABORTED) else "")]
    code = _EXIT.match(text) if failed else None
    result = Result(at, id, not failed, int(code[1]) if code else None, text[code.end() :] if code else text)
    if text.startswith("Task #"):
        task = _TASK.match(text)
        if task:
            return [result, Plan(at, (PlanItem(task[2].strip(), "pending", task[1]),), whole=False)]
    return [result]
