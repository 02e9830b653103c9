"""Reads a plain log of a session as steps.

Lines that begin with a speaker (``User:``, ``Assistant:``) begin a message, lines that begin with a prompt
sign (``$ pytest``) a command, whose output follows it. Anything else is told as what the program said, one
paragraph at a time: a log does not tell the user's words unless it says whose they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from ..core.base.lazy import regex
from ..core.runs.steps import Call, End, Result, Say, Step
from .common import prompt_steps, seconds

ENTRIES_MAX = 2_000
_STAMP = regex(
    r"^[\[(]?(\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?)[\])]?\s*[-|:]?\s*"
    r"|^[\[(]?\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?[\])]?\s*[-|]?\s*"
)
_LEVEL = regex(r"^\[?(?:TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR|FATAL|CRITICAL)\]?\s*[:|-]?\s+")
_WHO = (
    r"(user|human|you|me)|(assistant|agent|ai|model|bot|claude|codex|gemini|gpt[\w.-]*)|(system|tool|output)"
)
_SPEAKER = regex(
    rf"^(?:#{{1,6}}\s+|\*\*)?(?:{_WHO})(?:\s*\([^)\n]*\))?(?:\*\*)?\s*[:>](?:\*\*)?\s*"
    rf"|^#{{1,6}}\s+(?:{_WHO})\s*$",
    re.I,
)
_COMMAND = regex(r"^(?:\$|❯|➜)\s+(\S.*)$")
_EXIT = regex(r"\bexit(?:ed)?(?: with)?(?: code| status)?[:= ]+(\d{1,3})\s*$", re.I)


class LogReader:
    """Reads the whole log at once, and never raises on its content."""

    def __init__(self) -> None:
        self.skipped = self.malformed = 0
        self._calls = 0

    def keep(self) -> Any:
        return None

    def read(self, record: bytes) -> Iterator[Step]:
        entries = _entries(record.decode("utf-8", "replace").removeprefix("\ufeff"))[-ENTRIES_MAX:]
        for entry in entries:
            yield from self._steps(entry)
        if entries and entries[-1].kind == "agent":
            yield End(entries[-1].at)

    def _steps(self, entry: _Entry) -> Iterator[Step]:
        at, text = entry.at, entry.text
        if entry.kind == "user":
            yield from prompt_steps(at, text)
        elif entry.kind in ("command", "tool"):
            self._calls += 1
            id, command = f"call-{self._calls}", entry.command
            found = _EXIT.search(text[-200:])
            code = int(found[1]) if found else None
            yield Call(
                at, id, "shell" if command else "tool", "run" if command else "other", command, command
            )
            yield Result(at, id, None if code is None else not code, code, text)
        else:
            yield Say(at, text)


class _Entry(NamedTuple):
    """A part of a log."""

    at: float
    kind: str  # user, agent, tool, command, or said where nobody is named
    command: str
    text: str


def _entries(log: str) -> list[_Entry]:
    """The parts of a log in their order. In the output of a command, a speaker counts only behind an empty
    line or a time: outputs may look like conversations."""
    entries: list[_Entry] = []
    at, kind, command, lines = 0.0, "said", "", list[str]()
    for raw in log.splitlines():
        stamp = _STAMP.match(raw)
        line = _LEVEL.sub("", raw[stamp.end() :] if stamp else raw)
        speaker, called = _SPEAKER.match(line), _COMMAND.match(line)
        if speaker and kind in ("command", "tool") and not stamp and (not lines or lines[-1].strip()):
            speaker = None
        if speaker or called or (kind == "said" and (stamp or not line.strip())):
            entries.append(_Entry(at, kind, command, "\n".join(lines).strip()))
            lines = []
        if stamp and stamp[1]:
            at = max(at, seconds(stamp[1].replace(",", ".").replace(" ", "T", 1)))
        if called:
            kind, command = "command", called[1].strip()
        elif speaker:
            who = [bool(speaker[n] or speaker[n + 3]) for n in (1, 2, 3)]
            kind, command = ("user", "agent", "tool")[who.index(True)], ""
            lines.append(line[speaker.end() :])
        else:
            lines.append(line)
    entries.append(_Entry(at, kind, command, "\n".join(lines).strip()))
    return [entry for entry in entries if entry.text or entry.command]
