"""What happened in a transcript, for choosing a cut and for telling what really came after it.

The truth must not come from the code that is judged: nothing under ``bench.blind`` uses Segue's readers, so
that what they overlook, or see where it is not, is missed by nobody else.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Literal, Protocol

Kind = Literal["user", "said", "call", "result", "stopped", "compacted"]
COPIED_MIN = 40  # so many records of one moment at the start are a history that was copied
COPIED_SECONDS = 2


@dataclass(slots=True)
class Event:
    """One thing that happened.

    ``record`` is where the transcript says it: a cut there keeps all records before, and not this one. A
    compaction's text is the agent's own summary, and its record is the first that tells of it.
    """

    record: int
    kind: Kind
    text: str = ""  # of a call, its arguments
    tool: str = ""
    failed: bool = False


class Transcript(Protocol):
    """A transcript that can be cut."""

    agent: str
    path: Path
    events: list[Event]
    copied: int  # the records of a copied history, which was never a moment of this run

    def write_until(self, record: int, folder: Path) -> Path:
        """Write what the agent had written before this record into a folder, and return its path."""
        ...


def in_order(events: Iterator[Event]) -> list[Event]:
    """The events by their records; a compaction is known before its summary is."""
    return sorted(events, key=lambda event: event.record)


def joined(content: Any) -> str:
    """The text of a message's content, whatever its form."""
    if isinstance(content, str):
        return content
    if isinstance(content, dict):
        content = [content]
    if not isinstance(content, list):
        return ""
    texts = (
        joined(block.get("text") or block.get("content") or "") if isinstance(block, dict) else str(block)
        for block in content
    )
    return "\n".join(text for text in texts if text)


def blocks(content: Any) -> list[dict[str, Any]]:
    """A message's content as blocks; a bare text is one."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def arguments_text(arguments: Any) -> str:
    """A call's arguments as the judge sees them."""
    return arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)


def mapping(value: Any) -> dict[str, Any]:
    """A value if it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) else {}


def text_of(value: Any) -> str:
    """A value if it is a text, else an empty one."""
    return value if isinstance(value, str) else ""


def written(folder: Path, name: str, data: bytes) -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


class Lines(ABC):
    """A transcript of JSON records, one per line; the records of a cut are lines."""

    agent = ""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lines = path.read_bytes().splitlines(keepends=True)
        self.copied = self._copied()
        self.events = in_order(self._events())

    def write_until(self, record: int, folder: Path) -> Path:
        return written(folder, self.path.name, b"".join(self.lines[:record]))

    def records(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """(line, record); a line that is no JSON object is passed over, two glued ones are two."""
        for number, line in enumerate(self.lines):
            for record in _objects(line.decode("utf-8", "replace")):
                yield number, record

    @abstractmethod
    def _events(self) -> Iterator[Event]:
        """The events of the transcript, in any order."""

    def _copied(self) -> int:
        stamps = [
            (number, moment) for number, record in self.records() if (moment := _moment(record)) is not None
        ]
        if not stamps:
            return 0
        limit = stamps[0][1] + timedelta(seconds=COPIED_SECONDS)
        at_once = [number for number, moment in stamps if moment < limit]
        return at_once[-1] + 1 if len(at_once) > COPIED_MIN else 0


def _objects(line: str) -> Iterator[dict[str, Any]]:
    decoder = json.JSONDecoder()
    rest = line.strip()
    while rest:
        try:
            value, end = decoder.raw_decode(rest)
        except ValueError:
            return
        if isinstance(value, dict):
            yield value
        rest = rest[end:].lstrip()


def _moment(record: dict[str, Any]) -> datetime | None:
    try:
        return datetime.fromisoformat(text_of(record.get("timestamp"))).replace(tzinfo=None)
    except ValueError:
        return None
