"""What a raw transcript says happened, record by record: the ground that statements are held against."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

STEP = 100
"""Between records that hold several things: a message with its calls."""

Plan = list[tuple[str, str]]  # (item, "open", "now", "done" or "dropped")


_BRIEF = re.compile(r"\[segue\] W.*?\[/segue\][^\n]*", re.S)


@dataclass(slots=True)
class Edit:
    """A file that a call changes."""

    path: str
    how: Literal["edit", "create", "delete"] = "edit"
    added: str = ""
    removed: str = ""


@dataclass(slots=True)
class Result:
    """What became of a call."""

    record: int
    text: str = ""
    failed: bool | None = None  # as the agent recorded it
    exit: int | None = None
    refused: bool = False
    stopped: bool = False
    answered: str = ""  # what else belongs to the answer: structured output, a sub-agent's report
    runs: str = ""  # the process that goes on in the background, until its end is told


@dataclass(slots=True)
class Call:
    """A call of a tool, and its result if there is one."""

    record: int
    id: str
    tool: str
    arguments: dict[str, Any] = field(default_factory=dict)
    command: str = ""
    folder: str = ""
    edits: list[Edit] = field(default_factory=list)
    result: Result | None = None
    at: int = 0  # its place among the calls


@dataclass(slots=True)
class Message:
    """Words of the user or of the agent. ``sure`` is whether the user certainly typed them, as a message."""

    record: int
    text: str
    sure: bool = True
    how: str = ""


@dataclass(slots=True)
class Transcript:
    """All that is told of a run up to a record."""

    agent: str
    records: int = 0
    calls: list[Call] = field(default_factory=list)
    users: list[Message] = field(default_factory=list)
    said: list[Message] = field(default_factory=list)
    thoughts: list[Message] = field(default_factory=list)
    notices: list[Message] = field(default_factory=list)
    given: list[Message] = field(default_factory=list)  # briefs of earlier runs
    plans: list[tuple[int, Plan]] = field(default_factory=list)
    started: dict[str, int] = field(default_factory=dict)  # process or sub-agent -> record
    ended: dict[str, int] = field(default_factory=dict)
    turn_ends: list[int] = field(default_factory=list)
    interrupts: list[int] = field(default_factory=list)
    faults: list[Message] = field(default_factory=list)
    folders: list[tuple[int, str]] = field(default_factory=list)
    branches: list[tuple[int, str]] = field(default_factory=list)
    times: list[tuple[int, str]] = field(default_factory=list)
    written: dict[int, str] = field(default_factory=dict)  # when the user's records say they were written
    compactions: list[int] = field(default_factory=list)
    counts_calls: bool = True  # whether all calls are still in it

    def finish(self) -> Transcript:
        """Number the calls, and take what earlier runs said out of the user's messages."""
        for at, call in enumerate(self.calls):
            call.at = at
        for one in self.users:
            if briefs := _BRIEF.findall(one.text):
                self.given += [Message(one.record, brief) for brief in briefs]
                one.text = _BRIEF.sub("", one.text).strip()
        self.users = [one for one in self.users if one.text]
        return self

    def give(self, record: int, texts: Any) -> None:
        """Take the briefs in what a hook printed."""
        self.given += [Message(record, brief) for brief in _BRIEF.findall(values_of(texts))]


def decoded(line: str) -> Iterator[dict[str, Any]]:
    """The objects on a line; two may be glued together."""
    reader, at, line = json.JSONDecoder(), 0, line.strip()
    while at < len(line):
        try:
            value, at = reader.raw_decode(line, at)
        except ValueError:
            return
        if isinstance(value, dict):
            yield value
        while at < len(line) and line[at].isspace():
            at += 1


def text_of(content: Any) -> str:
    """The text of a content, whatever its form."""
    if isinstance(content, str):
        return content
    if isinstance(content, dict):
        return text_of(content.get("text") or content.get("content") or content.get("output") or "")
    if isinstance(content, list):
        return "\n".join(text_of(block) for block in content)
    return ""


def values_of(value: Any) -> str:
    """All texts and numbers inside arguments, without keys."""
    if isinstance(value, dict):
        return "\n".join(values_of(item) for item in value.values())
    if isinstance(value, list):
        return "\n".join(values_of(item) for item in value)
    return "" if value is None else str(value)


_PATCHED = re.compile(r"^\*\*\* (Add|Delete|Update) File: (.+?)\s*$|^\*\*\* Move to: (.+?)\s*$", re.M)


def patch_edits(patch: str) -> list[Edit]:
    """The files of a patch in the form of ``apply_patch``."""
    edits: list[Edit] = []
    hows: dict[str, Literal["edit", "create", "delete"]] = {
        "Add": "create", "Delete": "delete", "Update": "edit",
    }  # fmt: skip
    for line in patch.split("\n"):
        if match := _PATCHED.match(line):
            if match[3]:
                edits.append(Edit(match[3], "create"))
            else:
                edits.append(Edit(match[2], hows[match[1]]))
        elif edits and line.startswith("+"):
            edits[-1].added += line[1:] + "\n"
        elif edits and line.startswith("-"):
            edits[-1].removed += line[1:] + "\n"
    return edits
