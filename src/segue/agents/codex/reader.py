"""Reads the records of a rollout as steps; each step comes with the first record that has it.

Codex writes most things twice, as an item of the model and as an event for the user, but some versions only
once; so neither is relied upon, and the second one is dropped. Of a history that a fork copied into its file,
only the user's requests are reported, as inherited: they say what the fork is about, but the work is not its
own. What a sub-agent was sent to do is its prompt, whoever wrote it. No record is held back until the next
one arrives, so a file that was cut off gives the same steps as far as it goes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, cast

import msgspec

from ...core.base.lazy import regex
from ...core.runs.steps import Call, Given, Model, Prompt, Result, Say, Start, Step, Thought, Title
from ..base import DECODE_ERRORS, decode_line, salvaged_line
from ..common import injected_briefs, plain_text, seconds
from . import wire
from .calls import full_name
from .flight import ITEMS, Flight
from .kept import restored
from .turns import Turns
from .wire import number, parsed, table, text
from .words import blocks, briefs_in, request_in, typed_in

_COPY_SECONDS = 2.0  # a copied history is written at once, with the time of the fork
_DELEGATED = regex(r"<codex_delegation>.*?<input>(.*?)(?:</input>|\Z)", re.S)
"""How a conversation begins that another one started; the user may go on with it."""
_ADDRESSED = regex(r"\A(?:[A-Z][A-Za-z ]{2,20}: [^\n]*\n)+Payload:\n")
"""The lines above a message from one agent to another."""
_NOTICE, _NOTICE_END = "<subagent_notification>", "</subagent_notification>"

Handler = Callable[[float, wire.Body], Iterable[Step]]


class Reader:
    """Reads one rollout."""

    def __init__(self, kept: Any = None) -> None:
        self.kept = restored(kept)
        self.flight = Flight(self.kept)
        self.turns = turns = Turns(self.kept)
        self.skipped = 0
        self.malformed = 0
        self._kinds: dict[str, Handler] = {
            "session_meta": self._meta,
            "turn_context": self._turn,
            "compacted": turns.compacted,
            "token_usage_record": turns.spent,
            "inter_agent_communication": self._between,
        }
        self._items: dict[str, Handler] = {
            "message": self._message,
            "function_call": self._call,
            "custom_tool_call": self._call,
            "local_shell_call": self._call,
            "tool_search_call": self._call,
            "function_call_output": self._output,
            "custom_tool_call_output": self._output,
            "tool_search_output": self._found,
            "web_search_call": self._search,
            "agent_message": self._between,
            "reasoning": self._reasoned,
        }
        self._events: dict[str, Handler] = {
            "user_message": self._asked,
            "agent_message": self._said,
            "agent_reasoning": self._thought,
            "agent_reasoning_raw_content": self._thought,
            "item_completed": self._completed,
            "token_count": turns.counted,
            "task_started": turns.started,
            "task_complete": turns.ended,
            "turn_aborted": turns.aborted,
            "thread_rolled_back": turns.rolled_back,
            "context_compacted": turns.compacting,
            "thread_name_updated": turns.named,
            "error": turns.fault,
            "stream_error": turns.retried,
            "exited_review_mode": turns.reviewed,
            **dict.fromkeys(ITEMS, self._done),
        }
        self._inner = {"response_item": self._items, "event_msg": self._events}

    def keep(self) -> Any:
        return msgspec.to_builtins(self.kept)

    def read(self, record: bytes) -> Iterable[Step]:
        """The steps of one line."""
        return self.read_view(memoryview(record))

    def read_view(self, line: memoryview) -> Iterable[Step]:
        try:
            whole = wire.WHOLE.decode(line)
        except DECODE_ERRORS:
            return self._in_parts(bytes(line))
        payload, kept, kind = whole.payload, self.kept, whole.type
        if payload is msgspec.UNSET:
            return self._in_parts(bytes(line))
        if kept.copying:
            return self._line(whole, payload)
        kept.form = "envelope"
        handlers = self._inner.get(kind)
        handler = self._kinds.get(kind) if handlers is None else handlers.get(payload.type)
        if handler is None:
            self.skipped += 1
            return ()
        return handler(seconds(whole.timestamp), payload)

    def _in_parts(self, record: bytes) -> Iterable[Step]:
        """The steps of a line without a payload, or with a payload that has a field of a wrong type."""
        try:
            line = wire.LINE.decode(record)
        except DECODE_ERRORS:
            return self._salvaged(record)
        return self._line(line, line.payload) if line.payload else self._bare(line, msgspec.Raw(record))

    def _salvaged(self, record: bytes) -> list[Step]:
        """The steps of a line that is not one intact record: several joined, a torn or a damaged one."""
        if self.kept.form == "bare":
            pieces, bad = decode_line(record, wire.BARE, self.malformed)
            lines = [(wire.Line(piece.type, piece.timestamp), _encoded(piece)) for piece in pieces]
        else:
            records, bad = salvaged_line(record, wire.LINE, self.malformed)
            lines = [(piece, piece.payload) for piece in records if piece.payload]
            self.skipped += len(records) - len(lines)
        self.malformed += bad
        steps: list[Step] = []
        for line, payload in lines:
            steps.extend(self._line(line, payload) if line.payload else self._bare(line, payload))
        return steps

    def _bare(self, line: wire.Line, payload: wire.Body) -> Iterable[Step]:
        """The steps of a record without an envelope; in a file with envelopes it is a fragment."""
        kept, kind = self.kept, text(line.type)
        handler = self._items.get(kind)
        if not kind and not kept.native:
            handler = self._meta  # only the first line has no type
        if handler is None or kept.form == "envelope":
            self.skipped += 1
            return ()
        kept.form = "bare"
        return handler(seconds(line.timestamp), payload)

    def _line(self, line: wire.Line | wire.Whole, payload: wire.Body) -> Iterable[Step]:
        kind = text(line.type)
        self.kept.form = "envelope"
        if self.kept.copying and not self._is_own(kind, seconds(line.timestamp), line.ordinal, payload):
            return self._copied(kind, seconds(line.timestamp), payload)
        if kind in self._inner:
            inner = wire.kind_of(payload)
            handler = self._inner[kind].get(inner) if inner is not None else self._broken
        else:
            handler = self._kinds.get(kind)
        if handler is None:
            self.skipped += 1
            return ()
        return handler(seconds(line.timestamp), payload)

    def _copied(self, kind: str, at: float, payload: wire.Body) -> Iterable[Step]:
        """The user's requests in a history that a fork copied."""
        self.skipped += 1
        inner = wire.kind_of(payload)
        if (kind, inner) == ("event_msg", "thread_rolled_back"):
            return self.turns.rolled_back(at, payload)
        steps: Iterable[Step] = ()
        if (kind, inner) == ("response_item", "message"):
            steps = self._message(at, payload)
        elif (kind, inner) == ("event_msg", "user_message"):
            steps = self._asked(at, payload)
        return [Prompt(at, step.text, "inherited") for step in steps if isinstance(step, Prompt)]

    def _broken(self, at: float, payload: wire.Body) -> Iterable[Step]:
        self.malformed += 1
        return ()

    def _body(self, payload: wire.Body, decoder: msgspec.json.Decoder[wire.T]) -> wire.T | None:
        if isinstance(payload, wire.Item):
            return cast("wire.T", payload)
        body = wire.decode(payload, decoder)
        if body is None:
            self.malformed += 1
        return body

    # Starts and settings

    def _meta(self, at: float, payload: wire.Body) -> Iterator[Step]:
        meta = self._body(payload, wire.META)
        if meta is None:
            return
        if not (text(meta.id) or text(meta.cwd)):
            self.skipped += 1
            return
        kept, native, at = self.kept, text(meta.id), at or seconds(meta.timestamp)
        forked = text(meta.forked_from_id)
        if kept.native and native != kept.native and at <= kept.began + _COPY_SECONDS:
            kept.copying = True  # the head of the history that was copied
            return
        is_first = not kept.native
        kept.native, kept.began, kept.cwd = native, at, text(meta.cwd)
        parent = text(meta.parent_thread_id) or _spawner(meta.source)
        delegated = text(meta.thread_source) == "subagent" and not text(meta.source)
        kept.is_sub = delegated or "subagent" in table(meta.source)
        kept.own_from = number(meta.subagent_history_start_ordinal)
        is_copied = bool(forked) and not table(meta.history_base)
        kept.copying = is_first and (is_copied or kept.own_from > 0)
        git = table(meta.git)
        yield Start(
            at,
            "resume" if not is_first else "fork" if forked and not kept.is_sub else "start",
            native,
            kept.cwd,
            text(git.get("branch")),
            text(git.get("commit_hash")),
            text(meta.cli_version),
            parent or forked,
        )

    def _is_own(self, kind: str, at: float, ordinal: Any, payload: wire.Body) -> bool:
        """Whether a fork's own work begins with this record."""
        kept = self.kept
        if kept.own_from and isinstance(ordinal, int):
            own = ordinal >= kept.own_from
        elif at > kept.began + _COPY_SECONDS:
            own = True
        elif kind in ("turn_context", "event_msg"):
            turn = wire.decode(payload, wire.TURN) or wire.Turn()
            is_settings = text(turn.type) == "thread_settings_applied"
            is_mine = is_settings and text(turn.thread_id) == kept.native
            own = is_mine or _is_later(turn.turn_id, kept.native)
        else:
            own = False
        kept.copying = not own
        return own

    def _turn(self, at: float, payload: wire.Body) -> Iterator[Step]:
        turn = self._body(payload, wire.TURN)
        if turn is None:
            return
        cwd, model = text(turn.cwd), text(turn.model)
        if cwd and cwd != self.kept.cwd:
            self.kept.cwd = cwd
            yield Start(at, cwd=cwd)
        if model and model != self.kept.model:
            self.kept.model = model
            yield Model(at, model)

    # Messages

    def _message(self, at: float, payload: wire.Body) -> Iterable[Step]:
        message = self._body(payload, wire.MESSAGE)
        if message is None:
            return ()
        if message.role == "assistant":
            return self._say(at, "r", "\n".join(filter(None, blocks(message.content))))
        return self._heard(at, message)

    def _heard(self, at: float, message: wire.Message) -> Iterator[Step]:
        if message.role in ("user", "developer"):
            yield from self._briefs(at, "r", briefs_in(message.content, message.about))
        if message.role == "user":
            yield from self._prompt(at, "r", typed_in(message.content, message.about))
            for block in blocks(message.content):
                yield from self._notice(at, block.strip())

    def _briefs(self, at: float, channel: str, briefs: list[str]) -> Iterator[Step]:
        for brief in briefs:
            for step in injected_briefs(at, brief):
                if isinstance(step, Given) and not self.kept.is_twin(channel, "given", step.text):
                    yield step

    def _notice(self, at: float, notice_text: str) -> Iterator[Step]:
        """The steps of a notice from Codex in the user's role."""
        if notice_text.startswith("<turn_aborted>"):
            yield from self.turns.notice(at)
        elif notice_text.startswith(_NOTICE):
            notice = table(parsed(notice_text.removeprefix(_NOTICE).removesuffix(_NOTICE_END).strip()))
            yield from self.flight.reports(at, {text(notice.get("agent_path")): notice.get("status")})

    def _between(self, at: float, payload: wire.Body) -> Iterable[Step]:
        """A message from one agent to another: one from a sub-agent is a report, and one to this sub-agent is
        its task."""
        message = self._body(payload, wire.MESSAGE)
        if message is None:
            return ()
        author, recipient = text(message.author).rstrip("/"), text(message.recipient).rstrip("/")
        words = _ADDRESSED.sub("", "\n".join(filter(None, blocks(message.content))), count=1).strip()
        if not (words and author and recipient):
            return ()
        if author.startswith(f"{recipient}/"):
            return self.flight.report(at, author, words)
        is_task = self.kept.is_sub and recipient.startswith(f"{author}/")
        is_new = is_task and self.kept.is_new_report(f"to {recipient}", words)
        return self._prompt(at, "e", words) if is_new else ()

    def _asked(self, at: float, payload: wire.Body) -> Iterable[Step]:
        event = self._body(payload, wire.EVENT)
        if event is None or text(event.kind) not in ("", "plain"):
            return ()
        return self._typed(at, [text(event.message)])

    def _typed(self, at: float, texts: list[str]) -> Iterator[Step]:
        yield from self._briefs(at, "e", briefs_in(texts, None))
        yield from self._prompt(at, "e", request_in("\n".join(filter(None, texts))))

    def _said(self, at: float, payload: wire.Body) -> Iterable[Step]:
        event = self._body(payload, wire.EVENT)
        return self._say(at, "e", text(event.message)) if event is not None else ()

    def _say(self, at: float, channel: str, words: str) -> Iterable[Step]:
        if not words.strip() or self.kept.is_twin(channel, "say", words):
            return ()
        if channel == "r" and self.kept.has_items:
            self.kept.pairs.pop()
            return ()  # what it answered when it was asked for a summary, which is no item
        return (Say(at, words),)

    def _thought(self, at: float, payload: wire.Body) -> Iterable[Step]:
        event = self._body(payload, wire.EVENT)
        return self._think(at, "e", [text(event.text)]) if event is not None else ()

    def _reasoned(self, at: float, payload: wire.Body) -> Iterable[Step]:
        """The thoughts in an item of the model, in the parts in which the events have them."""
        item = self._body(payload, wire.REASONING)
        if item is None or not (item.summary or item.content):
            return ()
        return self._think(at, "r", blocks(item.summary) or blocks(item.content))

    def _think(self, at: float, channel: str, thoughts: list[str]) -> Iterable[Step]:
        return [
            Thought(at, words)
            for words in thoughts
            if words.strip() and not self.kept.is_twin(channel, "think", words)
        ]

    def _prompt(self, at: float, channel: str, words: str) -> Iterator[Step]:
        if not words or self.kept.is_twin(channel, "ask", words):
            return
        kept, delegated = self.kept, _DELEGATED.match(words)
        task = delegated[1].strip() if delegated else words
        if (kept.is_sub or delegated) and not kept.has_title and not kept.copying:
            kept.has_title = True  # another agent's words name the conversation
            yield Title(at, task)
        yield Prompt(at, task, "queued" if kept.at_work else "")

    # Actions

    def _call(self, at: float, payload: wire.Body) -> Iterable[Step]:
        call = self._body(payload, wire.TOOL_CALL)
        if call is None:
            return ()
        id = text(call.call_id) or text(call.id)
        self.kept.at_work = self.kept.in_turn
        if isinstance(call.action, dict):
            return self.flight.begin(at, id, "local_shell", {"command": call.action.get("command")})
        name = full_name(text(call.name), text(call.namespace)) or "tool_search"
        return self.flight.begin(at, id, name, call.arguments if call.arguments is not None else call.input)

    def _output(self, at: float, payload: wire.Body) -> Iterable[Step]:
        output = self._body(payload, wire.OUTPUT)
        if output is None or not text(output.call_id):
            return ()
        return self.flight.output(at, output.call_id, output.output)

    def _found(self, at: float, payload: wire.Body) -> Iterable[Step]:
        """The result of a search for tools, which only lists them."""
        output = self._body(payload, wire.OUTPUT)
        return self.flight.output(at, text(output.call_id), "") if output and text(output.call_id) else ()

    def _search(self, at: float, payload: wire.Body) -> Iterator[Step]:
        call = self._body(payload, wire.TOOL_CALL)
        if call is None:
            return
        self.kept.searches += 1
        id = text(call.id) or f"web_search-{self.kept.searches}"
        action = {
            key: value for key, value in table(call.action).items() if key in ("query", "url", "pattern")
        }
        yield Call(at, id, "web_search", "web", text=plain_text(action))
        if call.status in ("completed", "failed"):
            yield Result(at, id, call.status == "completed")

    def _completed(self, at: float, payload: wire.Body) -> Iterable[Step]:
        event = self._body(payload, wire.EVENT)
        return self._done(at, event.item) if event is not None and event.item else ()

    def _done(self, at: float, payload: wire.Body) -> Iterable[Step]:
        item = self._body(payload, wire.ITEM)
        if item is None:
            return ()
        kind = text(item.type)
        if kind in ITEMS:
            return self.flight.item(at, item)
        if kind == "UserMessage":
            return self._typed(at, blocks(item.content))
        if kind == "AgentMessage":
            self.kept.has_items = True
            return self._say(at, "e", "\n".join(filter(None, blocks(item.content))))
        if kind == "Reasoning":
            return self._think(at, "e", blocks(item.summary_text) or blocks(item.raw_content))
        if kind == "ContextCompaction":
            return self.turns.compacting(at, payload)
        if kind == "ExitedReviewMode":
            return self.turns.reviewed(at, payload)
        return ()


def _encoded(record: wire.Bare) -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.encode(record))


def _spawner(source: Any) -> str:
    """The run that started this sub-agent, from the field ``source``."""
    sub = table(table(source).get("subagent"))
    return text(table(sub.get("thread_spawn")).get("parent_thread_id"))


def _is_later(turn: Any, native: str) -> bool:
    """Whether a turn started after the conversation. Since 0.1xx both ids begin with a time (UUID v7)."""
    ids = (text(turn), native)
    if any(len(id) != 36 or id[14] != "7" for id in ids):
        return False
    return ids[0][:13] >= ids[1][:13]
