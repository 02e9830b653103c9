"""The transcript that would have been written if the window had been compacted elsewhere, in other words.

The records are the real ones, byte for byte, but for the compactions that really happened, which are taken
out, and for ``parentUuid`` where the record that it names is gone, or has a summary behind it now.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple
from uuid import NAMESPACE_OID, uuid5

from bench.blind.formats.claude_code import ClaudeCode
from bench.blind.transcript import joined, mapping, text_of

CONTINUED = "This session is being continued from a previous conversation"
HEAD = (
    f"{CONTINUED} that ran out of context. The summary below covers the earlier portion of the conversation."
)
_COMMAND = re.compile(
    r"<command-name>\s*/?compact\s*</command-name>|<local-command-stdout>[^<]{0,20}Compacted"
)
_PLACE = ("cwd", "sessionId", "version", "gitBranch", "userType", "slug")


class Compacted(NamedTuple):
    """A compaction that is made up."""

    record: int  # before which it stands
    summary: str


def retold(transcript: ClaudeCode, until: int, compactions: Sequence[Compacted]) -> bytes:
    """The records before ``until`` with these compactions. One at that very place stands at the end."""
    writing = _Writing()
    due = list(compactions)
    for number, line in enumerate(transcript.lines[:until]):
        while due and due[0].record <= number:
            writing.compact(due.pop(0).summary)
        writing.add(line)
    for one in due:
        if one.record <= until:
            writing.compact(one.summary)
    return b"".join(writing.lines)


class _Writing:
    """The lines so far."""

    def __init__(self) -> None:
        self.lines: list[bytes] = []
        self._last: dict[str, Any] = {}  # the last record of the main conversation
        self._at = ""
        self._instead: dict[str, str] = {}  # the record that a parent's place was taken by
        self._count = 0

    def add(self, line: bytes) -> None:
        """Write a real record, unless it tells of a compaction."""
        record = _record(line)
        if record is None:
            self.lines.append(line)
            return
        id = text_of(record.get("uuid"))
        if _tells_of_compaction(record):
            if id:
                self._instead[id] = text_of(self._last.get("uuid"))
            return
        parent = self._parent(text_of(record.get("parentUuid")))
        if parent != text_of(record.get("parentUuid")):
            line = _line({**record, "parentUuid": parent or None})
        self.lines.append(line if line.endswith(b"\n") else line + b"\n")
        self._at = text_of(record.get("timestamp")) or self._at
        if id and not record.get("isSidechain"):
            self._last = record

    def compact(self, summary: str) -> None:
        """Write a compaction as the agent does: a boundary, and its summary as a user's message."""
        self._count += 1
        last = text_of(self._last.get("uuid"))
        boundary, own = (self._id(part) for part in ("boundary", "summary"))
        place = {key: self._last[key] for key in _PLACE if key in self._last}
        about = {"isSidechain": False, **place, "timestamp": self._at}
        self.lines.append(_line({
            "parentUuid": None, "logicalParentUuid": last or None, **about, "type": "system",
            "subtype": "compact_boundary", "content": "Conversation compacted", "isMeta": False,
            "level": "info", "compactMetadata": {"trigger": "auto"}, "uuid": boundary,
        }))  # fmt: skip
        record = {
            "parentUuid": boundary, **about, "type": "user", "uuid": own, "isCompactSummary": True,
            "isVisibleInTranscriptOnly": True,
            "message": {"role": "user", "content": f"{HEAD}\n\n{summary.strip()}"},
        }  # fmt: skip
        self.lines.append(_line(record))
        if last:
            self._instead[last] = own
        self._last = record

    def _id(self, part: str) -> str:
        return str(uuid5(NAMESPACE_OID, f"{self._last.get('sessionId')} {part} {self._count}"))

    def _parent(self, id: str) -> str:
        while id in self._instead:
            id = self._instead[id]
        return id


def _record(line: bytes) -> dict[str, Any] | None:
    """A line's record; None if it is anything but one object."""
    try:
        value = json.loads(line)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _line(record: dict[str, Any]) -> bytes:
    return json.dumps(record).encode() + b"\n"


def _tells_of_compaction(record: dict[str, Any]) -> bool:
    if record.get("type") == "system":
        return record.get("subtype") == "compact_boundary"
    if record.get("type") != "user":
        return False
    text = joined(mapping(record.get("message")).get("content")).lstrip()
    return bool(record.get("isCompactSummary")) or text.startswith(CONTINUED) or bool(_COMMAND.match(text))
