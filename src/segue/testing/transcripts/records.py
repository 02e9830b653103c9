"""What several makers of transcripts need: times, JSON in lines, and arguments of tools."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from ...core.runs.steps import Call, Usage


def stamp(at: float) -> str:
    """A time as agents in JavaScript write it: UTC, with milliseconds and ``Z``."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def json_lines(records: Iterable[Any], separators: tuple[str, str] = (",", ":")) -> bytes:
    """The records as JSON, one per line."""
    lines = (json.dumps(record, ensure_ascii=False, separators=separators) for record in records)
    return "".join(f"{line}\n" for line in lines).encode()


def first_path(call: Call) -> str:
    """The first file that a call names; empty if it names none."""
    return call.paths[0] if call.paths else ""


def content_of(call: Call) -> str:
    """What a call writes: its text without the path on the first line."""
    return call.text.removeprefix(f"{first_path(call)}\n")


def other_arguments(call: Call) -> dict[str, Any]:
    """The arguments of a tool that has no form of its own here."""
    path = {"path": first_path(call)} if call.paths else {}
    return {"pattern" if call.act == "search" else "input": call.text, **path}


def sent_tokens(step: Usage) -> tuple[int, int, int]:
    """What was sent to the model: anew, from its cache, and into its cache. A step that says only how much is
    in the window stands for a prompt without a cache."""
    told = (step.input, step.cache_read, step.cache_write)
    return told if any(told) else (step.context, 0, 0)
