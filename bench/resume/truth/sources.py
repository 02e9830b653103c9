"""Transcripts of all formats that can be cut: which records one has, and a copy of its first ones."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.resume.truth import claude_code, cline, codex, copilot_cli, gemini_cli, opencode
from bench.resume.truth.events import Transcript

_RECORDS_MIN = 5
_APART = 20  # records between a call and its copy; less is the same call told in parts
_SAVED_MS = 500  # so long after a request is begun, its messages are on disk
_NOT_TRANSCRIPTS = (
    "checkpoints.jsonl",
    "history.jsonl",
    "logs.json",
    "task_metadata.json",
    "api_conversation_history.json",
)


@dataclass(slots=True)
class Source:
    """A transcript, its agent, and its records."""

    path: Path
    agent: str
    records: list[Any] = field(default_factory=list)
    document: dict[str, Any] = field(default_factory=dict)  # what stands around the records
    beside: list[Any] = field(default_factory=list)  # the conversation of a task, which has another file

    def cuts(self) -> list[int]:
        """The numbers of first records at which it may be cut: all but those inside a copy of the
        conversation, which is written at once; of a task only those at which its two files agree, which is
        right after a request was begun, and what was condensed is not needed."""
        if not self.beside:
            begin, end = _copied(self.records) if self.agent == "claude-code" else (0, 0)
            return [at for at in range(3, len(self.records) + 1) if not begin <= at < end]
        known = (self.beside[1].get("ts") or 0) if len(self.beside) > 1 else 0
        return [
            at
            for at, one in enumerate(self.records, 1)
            if at > 4 and one.get("say") == "api_req_started" and (one.get("ts") or 0) >= known
        ]

    def read(self, cut: int) -> Transcript:
        """What its first records tell."""
        records = self.records[:cut]
        if self.agent == "claude-code":
            return claude_code.read(records)
        if self.agent == "codex":
            return codex.read(records)
        if self.agent == "copilot-cli":
            return copilot_cli.read(records)
        if self.agent == "gemini-cli":
            if self.path.suffix == ".jsonl":
                records = [json.loads(line) for line in records if line.strip()]
            return gemini_cli.read(records)
        if self.agent == "opencode":
            return opencode.read(records, str(self.document.get("info", {}).get("directory") or ""))
        return cline.read(records, self._conversation(cut), self.agent)

    def copy(self, folder: Path, cut: int) -> Path:
        """A transcript of the same format with its first records only."""
        path = folder / self.path.name
        records = self.records[:cut]
        if self.path.suffix == ".jsonl":
            path.write_text("\n".join(records) + "\n", encoding="utf-8")
        elif self.agent == "gemini-cli":
            _write(path, {**self.document, "messages": records})
        elif self.agent == "opencode":
            _write(path, {**self.document, "messages": _messages(records)})
        else:
            _write(path, records)
            _write(folder / "api_conversation_history.json", self._conversation(cut))
        return path

    def _conversation(self, cut: int) -> list[Any]:
        last = max((one.get("ts") or 0 for one in self.records[:cut]), default=0) + _SAVED_MS
        return [one for one in self.beside if (one.get("ts") or 0) <= last]


def _copied(lines: list[str]) -> tuple[int, int]:
    """Where the conversation stands in its own file once more, as after it was resumed: its calls have ids
    that were there before."""
    seen: dict[str, int] = {}
    again: list[int] = []
    for at, line in enumerate(lines):
        marks = re.findall(r'"(?:tool_use",\s?"id|tool_use_id)":\s?"[^"]+"', line)
        again += [at for mark in marks if at - seen.setdefault(mark, at) > _APART]
    return (min(again), max(again) + 1) if again else (0, 0)


def _write(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")


def _messages(records: list[tuple[dict[str, Any], dict[str, Any] | None]]) -> list[dict[str, Any]]:
    """The messages of a session of which only these parts exist; one that is not whole has not ended."""
    messages: list[dict[str, Any]] = []
    for info, part in records:
        if not messages or messages[-1]["info"].get("id") != info.get("id"):
            begun = {key: value for key, value in info.items() if key not in ("finish", "error")}
            time = info.get("time")
            if isinstance(time, dict):
                begun["time"] = {key: value for key, value in time.items() if key != "completed"}
            messages.append({"info": begun, "parts": []})
        if part is None:
            messages[-1]["info"] = info
        else:
            messages[-1]["parts"].append(part)
    return messages


def sources(folders: Iterable[Path]) -> list[Source]:
    """Every transcript in these folders that is long enough to be cut, in the order of their names."""
    found: list[Source] = []
    for folder in folders:
        for root, _, names in os.walk(folder):
            for name in names:
                if name.endswith((".jsonl", ".json")) and name not in _NOT_TRANSCRIPTS:
                    source = source_of(Path(root, name))
                    if source is not None and len(source.records) >= _RECORDS_MIN:
                        found.append(source)
    return sorted(found, key=lambda one: str(one.path))


def source_of(path: Path) -> Source | None:
    """The transcript in a file, or None if it is of no format that is known here."""
    text = path.read_text(encoding="utf-8", errors="replace")
    if path.suffix == ".jsonl":
        return _lines(path, text)
    try:
        document = json.loads(text)
    except ValueError:
        return None
    if path.name == "ui_messages.json" and isinstance(document, list):
        beside = path.with_name("api_conversation_history.json")
        conversation = json.loads(beside.read_text(encoding="utf-8")) if beside.exists() else []
        rows = [one for one in document if isinstance(one, dict)]
        agent = "cline" if any(one.get("say") == "task" for one in rows) else "roo"
        return Source(path, agent, rows, beside=conversation)
    if not isinstance(document, dict) or not isinstance(document.get("messages"), list):
        return None
    around = {key: value for key, value in document.items() if key != "messages"}
    messages = [one for one in document["messages"] if isinstance(one, dict)]
    if "projectHash" in document:
        return Source(path, "gemini-cli", messages, around)
    if "info" in document:
        parts: list[Any] = []
        for message in messages:
            info = message.get("info") or {}
            parts += [(info, part) for part in message.get("parts") or []]
            parts.append((info, None))
        return Source(path, "opencode", parts, around)
    return None


def _lines(path: Path, text: str) -> Source | None:
    lines = [line for line in text.split("\n") if line.strip()]
    head = "\n".join(lines[:12]).replace(": ", ":")
    if '"session_meta"' in head or '"response_item"' in head:
        return Source(path, "codex", lines)
    if '"projectHash"' in head:
        return Source(path, "gemini-cli", lines)
    if '"type":"session.start"' in head:
        return Source(path, "copilot-cli", lines)
    if '"sessionId"' in head and any(
        mark in head for mark in ('"type":"user"', '"parentUuid"', '"type":"summary"')
    ):
        return Source(path, "claude-code", lines)
    return None
