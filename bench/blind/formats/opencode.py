"""OpenCode: the document that ``opencode export`` writes. A record is a message's beginning, or a part.

The agent writes over what it wrote: a document holds how each call ended, and on the user's messages and the
session what had changed in the end. So a cut takes away what was not known then.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.blind.transcript import Event, arguments_text, in_order, mapping, text_of, written

_SESSION_KEPT = ("id", "slug", "projectID", "directory", "parentID", "title", "version")
_ENDED = ("finish", "error", "cost", "tokens")


def recognises(head: bytes, name: str) -> bool:
    start = head.lstrip()
    return name.endswith(".json") and start.startswith(b"{") and b'"info"' in start[:200] and b'"id"' in head


class OpenCode:
    agent = "opencode"
    copied = 0

    def __init__(self, path: Path) -> None:
        self.path = path
        document = mapping(json.loads(path.read_bytes()))
        self.session = mapping(document.get("info"))
        self.messages = [mapping(message) for message in document.get("messages") or ()]
        self.places = [
            (number, part)
            for number, message in enumerate(self.messages)
            for part in range(-1, len(_parts(message)))
        ]
        self.events = in_order(self._events())

    def _events(self) -> Iterator[Event]:
        record_of = {place: record for record, place in enumerate(self.places)}
        compaction: int | None = None
        for number, message in enumerate(self.messages):
            info = mapping(message.get("info"))
            begins = record_of[number, -1]
            if info.get("role") == "user" and any(p.get("type") == "compaction" for p in _parts(message)):
                compaction = begins
            elif info.get("role") == "user":
                yield from _user(begins, message)
            elif info.get("summary") is True:
                summary = "\n".join(text for part in _parts(message) if (text := _said(part)))
                yield Event(begins if compaction is None else compaction, "compacted", summary)
                compaction = None
            else:
                records = [record_of[number, index] for index in range(len(_parts(message)))]
                for index, part in enumerate(_parts(message)):
                    begun = zip(records[index + 1 :], _parts(message)[index + 1 :], strict=True)
                    ends = _times(part).get("end")
                    later = [record for record, one in begun if not _is_later(ends, _times(one).get("start"))]
                    known = later[0] if later else max(records) + 1
                    yield from _part(records[index], known, part)
                if mapping(info.get("error")).get("name") == "MessageAbortedError":
                    yield Event(record_of[number, len(_parts(message)) - 1], "stopped", "by the user")

    def write_until(self, record: int, folder: Path) -> Path:
        number, part = self.places[record]
        messages = [_known(message) for message in self.messages[:number]]
        if part > 0:
            messages.append(_begun(self.messages[number], part))
        session = {key: value for key, value in self.session.items() if key in _SESSION_KEPT}
        session["time"] = {"created": mapping(self.session.get("time")).get("created")}
        data = json.dumps({"info": session, "messages": messages}, ensure_ascii=False, indent=2).encode()
        return written(folder, self.path.name, data)


def _parts(message: dict[str, Any]) -> list[dict[str, Any]]:
    return [mapping(part) for part in message.get("parts") or ()]


def _said(part: dict[str, Any]) -> str:
    hidden = part.get("type") != "text" or part.get("synthetic") or part.get("ignored")
    return "" if hidden else text_of(part.get("text")).strip()


def _typed(part: dict[str, Any]) -> str:
    command = text_of(part.get("command"))
    return f"/{command}" if part.get("type") == "subtask" and command else _said(part)


def _user(record: int, message: dict[str, Any]) -> Iterator[Event]:
    texts = [text for part in _parts(message) if (text := _typed(part)) and not text.startswith("<")]
    if texts:
        yield Event(record, "user", "\n".join(texts))


def _part(record: int, known: int, part: dict[str, Any]) -> Iterator[Event]:
    """What a part tells; the result of a call is ``known`` before a later record."""
    if text := _said(part):
        yield Event(record, "said", text)
    elif part.get("type") == "tool":
        state = mapping(part.get("state"))
        yield Event(record, "call", arguments_text(state.get("input")), text_of(part.get("tool")))
        if state.get("status") in ("completed", "error"):
            text = text_of(state.get("output")) or text_of(state.get("error"))
            yield Event(max(record, known - 1), "result", text, failed=state.get("status") == "error")


def _known(message: dict[str, Any]) -> dict[str, Any]:
    """A message without the changes that its turn made in the end."""
    info = mapping(message.get("info"))
    if info.get("role") != "user":
        return message
    return {**message, "info": {key: value for key, value in info.items() if key != "summary"}}


def _begun(message: dict[str, Any], parts: int) -> dict[str, Any]:
    """A response as it was when so many of its parts were written."""
    info = mapping(_known(message)["info"])
    kept = {key: value for key, value in info.items() if key not in _ENDED}
    kept["time"] = {"created": mapping(info.get("time")).get("created")}
    everything = _parts(message)
    now = _times(everything[parts]).get("start") if parts < len(everything) else None
    return {**message, "info": kept, "parts": [_running(part, now) for part in everything[:parts]]}


def _running(part: dict[str, Any], now: Any) -> dict[str, Any]:
    """A part as it was at a time: a call that ended later was still running."""
    end = _times(part).get("end")
    if part.get("type") != "tool" or not _is_later(end, now):
        return part
    state = mapping(part.get("state"))
    running = {"status": "running", "input": state.get("input"), "time": {"start": _times(part).get("start")}}
    return {**part, "state": running}


def _times(part: dict[str, Any]) -> dict[str, Any]:
    return mapping(mapping(part.get("state") or part).get("time"))


def _is_later(end: Any, now: Any) -> bool:
    return isinstance(end, int | float) and isinstance(now, int | float) and end > now
