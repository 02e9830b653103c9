"""Conversations of programs that are no agent of ours: what a caller hands over in a file or in memory.

``messages`` is a JSON list of messages as the interfaces of model providers have them, ``log`` is plain text.
They are no agents: nothing looks for their files, and only a list of messages is recognised by its content,
if every element is one. Any text would pass as a log, so a log must be named.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .._files import open_file
from ..errors import TranscriptUnreadable
from .base import HEAD_BYTES, Form, Found, Reader, SearchScope
from .message_format import begins_with_message, checked_messages, is_message, listed_messages
from .transcript_files import document

LOG_BYTES_MAX = 16_000_000


class _OwnFormat:
    """The parts of an ``Agent`` that have no meaning for a file that nobody finds."""

    form: Form = "document"

    def find(self, where: SearchScope) -> Iterator[Found]:
        return iter(())

    def retention(self, where: SearchScope) -> int | None:
        return None


class MessageList(_OwnFormat):
    """A list of messages, an object that has one under ``messages``, or a message on every line."""

    name = "messages"
    title = "a list of messages"

    def recognises(self, head: bytes, name: str) -> bool:
        """Whether a file with this beginning is a list of messages, as far as one can see there."""
        if len(head) >= HEAD_BYTES:
            return begins_with_message(head)
        found = listed_messages(head)
        return bool(found) and all(map(is_message, found))

    def load(self, path: Path, native: str) -> bytes:
        """The file, if every element of its list is a message. Raises TranscriptUnreadable."""
        body = document(path)
        checked_messages(listed_messages(body), str(path))
        return body

    def reader(self, kept: Any = None) -> Reader:
        from .message_reader import MessageReader

        return MessageReader()


class PlainLog(_OwnFormat):
    """The log of a session as text."""

    name = "log"
    title = "a plain log"

    def recognises(self, head: bytes, name: str) -> bool:
        return False

    def load(self, path: Path, native: str) -> bytes:
        """The end of the file, from a line's beginning on. Raises TranscriptUnreadable if it is not text."""
        with open_file(path) as file:
            beyond = max(0, path.stat().st_size - LOG_BYTES_MAX)
            file.seek(beyond)
            body = file.read(LOG_BYTES_MAX)
        if beyond:
            body = body.partition(b"\n")[2]
        if b"\0" in body or body.decode("utf-8", "replace").count("\ufffd") > len(body) // 100:
            raise TranscriptUnreadable(f"cannot read {path}: it is not text", hint="a log is a text file")
        return body

    def reader(self, kept: Any = None) -> Reader:
        from .log_reader import LogReader

        return LogReader()


MESSAGES, LOG = MessageList(), PlainLog()
