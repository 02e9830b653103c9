"""What several readers need: times, the plain text inside arguments, files named in a patch."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from ..core.base.json_prefix import decode_prefix
from ..core.base.lazy import regex
from ..core.runs.inherited import OPENING, split_brief
from ..core.runs.steps import Act, Given, PlanItem, Planning, Prompt, Step

_PATCHED = regex(r"^\*\*\* (Update|Add|Delete) File: (.+?)\s*$|^\*\*\* Move to: (.+?)\s*$", re.M)
_CHECK = regex(r"^[ \t]*(?:(?:[-*+]|\d+[.)])[ \t]*)?\[([ xX~/-])\][ \t]+(\S.*)", re.M)
_CHECKED: dict[str, Planning] = {" ": "pending", "x": "done", "X": "done"}
_INJECTED = regex(r"<hook_context\b.*?(?:</hook_context>|\Z)", re.S)
_TAG = regex(r"\A<hook_context\b[^>]*>|</hook_context>\Z")

_DEPTH_MAX = 12
_SECONDS_MAX = 253_402_300_800  # the year 10000


_MINUTES_MAX = 64
_minutes: dict[str, int] = {}
_SECOND = {f"{n:02}": 1000 * n for n in range(60)}
_THOUSANDTHS = {f".{n:03}Z": n for n in range(1000)}


def seconds(stamp: Any) -> float:
    """An ISO time, or a number of seconds or milliseconds, as seconds since the epoch; else 0."""
    found = 0.0
    try:
        if isinstance(stamp, str):
            minute = _minutes.get(stamp[:17])
            if minute is None:
                return _whole(stamp)
            second, rest = _SECOND.get(stamp[17:19]), _THOUSANDTHS.get(stamp[19:])
            return (
                (minute + second + rest) / 1000 if second is not None and rest is not None else _whole(stamp)
            )
        if isinstance(stamp, int | float):
            found = stamp / 1000 if stamp > 1e11 else float(stamp)
    except (ValueError, OverflowError, OSError):
        pass
    return found if 0 < found < _SECONDS_MAX else 0.0


def _whole(stamp: str) -> float:
    """A time of which all is read. Nearly all are written like ``2026-11-15T02:34:17.000Z``, and many lines
    have the same minute: of the next ones only the rest is read, with the same result."""
    found = datetime.fromisoformat(stamp).timestamp()
    if not 0 < found < _SECONDS_MAX:
        return 0.0
    if len(stamp) == 24 and stamp[16] == ":" and stamp[19:] in _THOUSANDTHS:
        if len(_minutes) >= _MINUTES_MAX:
            _minutes.clear()
        _minutes[stamp[:17]] = int(found // 60) * 60_000
    return found


def plain(value: Any, depth: int = 0) -> str:
    """The text inside a value: strings without keys and escapes, a line each."""
    if isinstance(value, str):
        return value
    if depth > _DEPTH_MAX:
        return ""
    if isinstance(value, dict):
        return "\n".join(filter(None, [plain(one, depth + 1) for one in value.values()]))
    if isinstance(value, list | tuple):
        return "\n".join(filter(None, [plain(one, depth + 1) for one in value]))
    return ""


def blocks_text(content: Any) -> str:
    """The text of a message's content: a string, or a list of blocks of which some hold text."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = []
        for block in content:
            if isinstance(block, str):
                parts.append(block)
            elif isinstance(block, dict):
                text = block.get("text")
                parts.append(text if isinstance(text, str) else blocks_text(block.get("content")))
        return "\n".join(part for part in parts if part)
    return ""


def patched(patch: str) -> tuple[Act, tuple[str, ...]]:
    """What an ``*** Begin Patch`` text does to which files."""
    found = _PATCHED.findall(patch)
    paths = tuple(dict.fromkeys(path or moved for _, path, moved in found))
    verbs = {verb for verb, _, _ in found if verb}
    act: Act = "create" if verbs == {"Add"} else "delete" if verbs == {"Delete"} else "edit"
    return act, paths


_BLANKS = bytes(32 if code < 32 and code not in (9, 10, 13) else code for code in range(256))
_ESCAPE = regex(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)", re.S
)


def mended(data: bytes) -> bytes:
    """JSON that a strict decoder takes: UTF-8, no mark at its start, no half of a surrogate pair, no NUL.

    Agents in JavaScript cut texts in the middle of an emoji and write the half as an escape; a power loss
    leaves NULs.
    """
    text = data.translate(_BLANKS).decode("utf-8", "replace").removeprefix("\ufeff").encode()
    return _ESCAPE.sub(lambda found: b"\\ufffd" if found[1] else found[0], text)


def elements(text: str, at: int) -> list[str]:
    """The whole elements of the JSON array whose bracket stands at ``at``, also if it is torn."""
    found: list[str] = []
    at += 1
    while True:
        while at < len(text) and text[at] in " \t\r\n,":
            at += 1
        try:
            _, end = decode_prefix(text, at)
        except (ValueError, RecursionError):
            return found
        found.append(text[at:end])
        at = end


def checklist(markdown: str) -> tuple[PlanItem, ...]:
    """The items of a Markdown list with boxes; ``[-]`` and ``[~]`` are being worked on."""
    found = _CHECK.findall(markdown)
    return tuple(PlanItem(text.rstrip(), _CHECKED.get(box, "active")) for box, text in found)


def typed(text: str) -> str:
    """What the user typed of a text: without what a hook put in, and without a brief of ours."""
    if "<hook_context" in text:
        text = _INJECTED.sub("", text)
    text = text.strip()
    return split_brief(text)[1] if text.startswith(OPENING) else text


def given(at: float, text: str) -> Iterator[Step]:
    """A text that a hook or the harness put in, if it is a brief of ours and nothing before it."""
    text = text.strip()
    if text.startswith(OPENING):
        yield Given(at, text)


def hooked(at: float, text: str) -> Iterator[Step]:
    """The briefs of ours that hooks put into a text of the user's turn, or that the user pasted before it."""
    if OPENING not in text:
        return
    for block in _INJECTED.findall(text):
        yield from given(at, _TAG.sub("", block))
    text = _INJECTED.sub("", text).strip()
    if text.startswith(OPENING):
        yield from given(at, split_brief(text)[0])


def heard(at: float, text: str) -> Iterator[Step]:
    """A text of the user's: the words as a prompt, a brief of ours in it as what the run was given."""
    yield from hooked(at, text)
    if words := typed(text):
        yield Prompt(at, words)
