"""Conversations that programs on a framework keep in Segue, as the transcripts that Segue writes of them.

A transcript has a line for every change of the conversation: what was added, as a list of messages, and how
many of the user's prompts were withdrawn. Its first line says which conversation it is and where the program
works; a file beside it names the process that wrote last.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from ..core.runs.steps import End, Rewind, Start, Step
from .base import DECODE_ERRORS, Form, Found, Reader, SearchScope
from .common import seconds
from .transcript_files import bytes_of

SUFFIX, PROCESS_SUFFIX = ".jsonl", ".process"
_HEAD_BYTES = 8_192


class TranscriptLine(msgspec.Struct, omit_defaults=True):
    """A line of a transcript."""

    v: int = 0
    """The version of the conversation in the store after the change; 0 in the first line."""
    at: str = ""
    conversation: str = ""
    cwd: str = ""
    rewound: int = 0
    """How many of the user's prompts were withdrawn."""
    messages: list[Any] = []
    """What was added, as the interfaces of model providers have it."""


_line = msgspec.json.Decoder(TranscriptLine)


class ConversationReader:
    """Reads a line after the other, and never raises on their content."""

    def __init__(self, kept: Any = None) -> None:
        from .message_reader import MessageReader

        self.skipped = self.malformed = 0
        self._messages = MessageReader(kept)

    def keep(self) -> Any:
        return self._messages.keep()

    def read(self, record: bytes) -> Iterator[Step]:
        try:
            line = _line.decode(record)
        except DECODE_ERRORS:
            self.malformed += 1
            return
        at = seconds(line.at)
        if line.conversation:
            yield Start(at, "start", line.conversation, line.cwd)
        if line.rewound:
            yield Rewind(at, line.rewound)
        last: Step | None = None
        for last in self._messages.steps(at, line.messages):
            yield last
        if self._messages.is_turn_over(last):
            yield End(at)
        self.malformed += self._messages.malformed
        self.skipped += self._messages.skipped
        self._messages.malformed = self._messages.skipped = 0


class ConversationFormat:
    """The transcripts of programs on one framework."""

    form: Form = "lines"

    def __init__(self, name: str, title: str) -> None:
        self.name, self.title = name, title

    def recognises(self, head: bytes, name: str) -> bool:
        return Path(name).parent.name == self.name and _first_line(head) is not None

    def reader(self, kept: Any = None) -> Reader:
        return ConversationReader(kept)

    def load(self, path: Path, native: str) -> bytes:
        return bytes_of(path)

    def find(self, where: SearchScope) -> Iterator[Found]:
        """The project's transcripts, the newest first; only those are opened whose folder is not known."""
        if where.data is None:
            return
        folder = where.data / "conversations" / self.name
        opened = 0
        for path, stat in sorted(_transcripts(str(folder)), key=lambda pair: -pair[1].st_mtime_ns):
            cwd = where.known.get(path, "")
            if not cwd and (not where.heads_max or opened < where.heads_max):
                opened += 1
                first = _first_line(bytes_of(path, _HEAD_BYTES))
                cwd = first.cwd if first is not None else ""
            if cwd and where.holds(cwd):
                pid, is_alive = _process(path, where)
                native = os.path.basename(path).removesuffix(SUFFIX)
                yield Found(
                    self.name, path, native, stat.st_mtime, stat.st_size, cwd,
                    sign="alive" if is_alive else "ended" if pid else "", pid=pid if is_alive else 0,
                )  # fmt: skip

    def retention(self, where: SearchScope) -> int | None:
        return None


def _transcripts(folder: str) -> Iterator[tuple[str, os.stat_result]]:
    """The transcripts in a folder, of which there may be thousands, each with its stat."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(SUFFIX):
                with suppress(OSError):  # it was removed meanwhile
                    yield entry.path, entry.stat()


def _first_line(head: bytes) -> TranscriptLine | None:
    try:
        line = _line.decode(head.partition(b"\n")[0])
    except DECODE_ERRORS:
        return None
    return line if line.conversation else None


def _process(path: str, where: SearchScope) -> tuple[int, bool]:
    """The process that wrote last, and whether it lives; (0, False) if that is not known."""
    noted = bytes_of(path.removesuffix(SUFFIX) + PROCESS_SUFFIX, 64).decode("ascii", "replace")
    pid, _, started = noted.partition(" ")
    if not pid.isdecimal():
        return 0, False
    return int(pid), where.is_alive(int(pid), started)


OPENAI_AGENTS = ConversationFormat("openai-agents", "OpenAI Agents SDK")
PYDANTIC_AI = ConversationFormat("pydantic-ai", "Pydantic AI")
