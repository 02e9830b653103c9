"""What several readers need: times, texts inside arguments, files in a patch, plans, briefs in prompts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from ..core.base.definitions import enclosing
from ..core.base.json_prefix import decode_prefix
from ..core.base.lazy import regex
from ..core.runs.brief_text import OPENING, split_brief
from ..core.runs.steps import Act, Change, Given, PlanItem, Planning, Prompt, Step, Typed

_PATCHED = regex(r"^\*\*\* (Update|Add|Delete) File: (.+?)\s*$|^\*\*\* Move to: (.+?)\s*$", re.M)
_RANGES = regex(r" -\d[\d,]* \+\d[\d,]* @@")
_CHECK = regex(r"^[ \t]*(?:(?:[-*+]|\d+[.)])[ \t]*)?\[([ xX~/-])\][ \t]+(\S.*)", re.M)
_CHECKED: dict[str, Planning] = {" ": "pending", "x": "done", "X": "done"}
_INJECTED = regex(r"<hook_context\b.*?(?:</hook_context>|\Z)", re.S)
_SLASH = regex(r"/[A-Za-z][\w:-]*(?=\s|\Z)")
_TAG = regex(r"\A<hook_context\b[^>]*>|</hook_context>\Z")

_DEPTH_MAX = 12
_SECONDS_MAX = 253_402_300_800  # the year 10000


_HOURS_MAX = 64
_hours: dict[str, int] = {}
_MINUTE = {f":{n:02}:": 60_000 * n for n in range(60)}
_SECOND = {f"{n:02}": 1000 * n for n in range(60)}
_THOUSANDTHS = {"Z": 0} | {f".{n:03}Z": n for n in range(1000)}


def seconds(stamp: Any) -> float:
    """An ISO time, or a number of seconds or milliseconds, as seconds since the epoch; 0 for anything
    else."""
    value = 0.0
    try:
        if isinstance(stamp, str):
            try:
                hour, minute = _hours[stamp[:13]], _MINUTE[stamp[13:17]]
                return (hour + minute + _SECOND[stamp[17:19]] + _THOUSANDTHS[stamp[19:]]) / 1000
            except KeyError:
                return _parsed(stamp)
        if isinstance(stamp, int | float):
            value = stamp / 1000 if stamp > 1e11 else float(stamp)
    except (ValueError, OverflowError, OSError):
        pass
    return value if 0 < value < _SECONDS_MAX else 0.0


def _parsed(stamp: str) -> float:
    """A time, parsed in full. Nearly all have the form ``2026-11-15T02:34:17.000Z``, or that without the
    fraction, and many lines share an hour, so the hour is cached and only the rest of the next ones is
    parsed."""
    value = datetime.fromisoformat(stamp).timestamp()
    if not 0 < value < _SECONDS_MAX:
        return 0.0
    if len(stamp) in (20, 24) and stamp[13:17] in _MINUTE and stamp[19:] in _THOUSANDTHS:
        if len(_hours) >= _HOURS_MAX:
            _hours.clear()
        _hours[stamp[:13]] = int(value // 3600) * 3_600_000
    return value


def plain_text(value: Any, depth: int = 0) -> str:
    """All strings inside a JSON value, one per line, without keys."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        value = list(value.values())
    if depth > _DEPTH_MAX or not isinstance(value, list):
        return ""
    texts = [item if isinstance(item, str) else plain_text(item, depth + 1) for item in value]
    return "\n".join(filter(None, texts))


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


def patch_targets(patch: str) -> tuple[Act, tuple[str, ...]]:
    """What an ``*** Begin Patch`` text does, and the files that it does it to."""
    rows = _PATCHED.findall(patch)
    paths = tuple(dict.fromkeys(path or moved for _, path, moved in rows))
    verbs = {verb for verb, _, _ in rows if verb}
    act: Act = "create" if verbs == {"Add"} else "delete" if verbs == {"Delete"} else "edit"
    return act, paths


def patch_changes(patch: str) -> tuple[Change, ...]:
    """What an ``*** Begin Patch`` text changes, a Change for each file; the text may have a shell command
    around it."""
    changes: list[Change] = []
    verb = path = moved = ""
    bodies: list[str] = []
    for section in f"\n{patch}".split("\n*** ")[1:]:
        heading, _, body = section.partition("\n")
        word, _, name = heading.partition(": ")
        if word == "Move to":
            moved = name.strip()
        elif heading.rstrip() != "End of File":
            changes += _file_changes(verb, path, moved, bodies)
            verb, path, moved, bodies = word, name.strip(), "", []
        if body:
            bodies.append(body)
    return (*changes, *_file_changes(verb, path, moved, bodies))


def _file_changes(verb: str, path: str, moved: str, bodies: list[str]) -> tuple[Change, ...]:
    """What one section of a patch changes: a file that is moved is deleted and there anew."""
    if not path:
        return ()
    body = "\n".join(bodies)
    if verb == "Add File":
        return (Change(path, "create", "", body.removeprefix("+").replace("\n+", "\n")),)
    if verb == "Delete File":
        return (Change(path, "delete"),)
    if verb != "Update File":
        return ()
    if not moved:
        return (hunks_change(path, body),)
    there = hunks_change(moved, body) if body else Change(moved, "create")
    return (Change(path, "delete"), there)


def hunks_change(path: str, hunks: str) -> Change:
    """What hunks change in a file. Their headings, if any, are joined by line ends, as the texts are."""
    old: list[str] = []
    new: list[str] = []
    heads: list[str] = []
    for line in hunks.removesuffix("\n").split("\n"):
        mark = line[0] if line else " "  # an empty line is context
        if mark == "+":
            new.append(line[1:])
        elif mark == "-":
            old.append(line[1:])
        elif mark == " ":
            old.append(rest := line[1:])
            new.append(rest)
        elif line.startswith("@@"):
            heads.append(_RANGES.sub("", line[2:], 1).strip())
    place = "\n".join(dict.fromkeys(filter(None, heads)))
    return Change(path, "edit", "\n".join(old), "\n".join(new), place)


def act_of(changes: tuple[Change, ...]) -> Act:
    """What a call with these changes does, in one word."""
    how = {change.how for change in changes}
    return how.pop() if len(how) == 1 else "edit"


_BLANKS = bytes(32 if code < 32 and code not in (9, 10, 13) else code for code in range(256))
_ESCAPE = regex(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)", re.S
)


def repaired_json(data: bytes) -> bytes:
    """JSON that a strict decoder accepts: UTF-8 without a byte order mark, half surrogate pairs or NULs.

    Agents in JavaScript cut texts in the middle of a surrogate pair and write the half as an escape; a power
    loss leaves NULs.
    """
    text = data.translate(_BLANKS)
    if not text.isascii():
        text = text.decode("utf-8", "replace").removeprefix("\ufeff").encode()
    if b"\\u" not in text:
        return text
    return _ESCAPE.sub(lambda match: b"\\ufffd" if match[1] else match[0], text)


def elements(text: str, at: int) -> list[str]:
    """The intact elements of the JSON array whose bracket is at ``at``, even if the array is torn."""
    intact: list[str] = []
    at += 1
    while True:
        while at < len(text) and text[at] in " \t\r\n,":
            at += 1
        try:
            _, end = decode_prefix(text, at)
        except (ValueError, RecursionError):
            return intact
        intact.append(text[at:end])
        at = end


def checklist(markdown: str) -> tuple[PlanItem, ...]:
    """The items of a Markdown task list; ``[-]`` and ``[~]`` mark those in progress."""
    rows = _CHECK.findall(markdown)
    return tuple(PlanItem(text.rstrip(), _CHECKED.get(box, "active")) for box, text in rows)


def todo_items(todos: list[Any], text_key: str, states: Mapping[str, Planning]) -> tuple[PlanItem, ...]:
    """A plan from a tool's list of objects; those without a text are left out."""
    return tuple(
        PlanItem(todo[text_key], states.get(str(todo.get("status")), "pending"))
        for todo in todos
        if isinstance(todo, dict) and isinstance(todo.get(text_key), str)
    )


def question_texts(arguments: dict[str, Any]) -> str:
    """The questions that a tool asks the user, one per line."""
    questions = arguments.get("questions")
    return "\n".join(
        question["question"]
        for question in (questions if isinstance(questions, list) else ())
        if isinstance(question, dict) and isinstance(question.get("question"), str)
    )


def typed_text(text: str) -> str:
    """The part of a text that the user typed: without what a hook injected, and without a brief of ours."""
    if "<hook_context" in text:
        text = _INJECTED.sub("", text)
    text = text.strip()
    return split_brief(text)[1] if text.startswith(OPENING) else text


def brief_steps(at: float, text: str) -> Iterator[Step]:
    """A step for a text that a hook or the harness injected, if it begins with a brief of ours."""
    text = text.strip()
    if text.startswith(OPENING):
        yield Given(at, text)


def injected_briefs(at: float, text: str) -> Iterator[Step]:
    """The briefs of ours that hooks injected into a text of the user, or that the user pasted before it."""
    if OPENING not in text:
        return
    for block in _INJECTED.findall(text):
        yield from brief_steps(at, _TAG.sub("", block))
    text = _INJECTED.sub("", text).strip()
    if text.startswith(OPENING):
        yield from brief_steps(at, split_brief(text)[0])


def prompt_steps(at: float, text: str, how: Typed = "") -> list[Step]:
    """The steps of a text of the user: what was typed as a prompt, and any brief of ours in it."""
    steps: list[Step] = list(injected_briefs(at, text)) if OPENING in text else []
    if words := typed_text(text):
        steps.append(Prompt(at, words, how))
    return steps


def replacement(path: str, edits: list[Any], old_key: str, new_key: str) -> tuple[Change, ...]:
    """What a tool's arguments, each the replacement of a text by another, change in a file."""
    pairs = [(edit.get(old_key), edit.get(new_key)) for edit in edits if isinstance(edit, dict)]
    old = [text for text, _ in pairs if isinstance(text, str)]
    new = [text for _, text in pairs if isinstance(text, str)]
    return (Change(path, "edit", "\n".join(old), "\n".join(new)),) if old or new else ()


def rewritten(path: str, before: str, after: str) -> Change:
    """What writing a whole file anew changes in it: from the first line that differs to the last."""
    old, new = before.split("\n"), after.split("\n")
    least = min(len(old), len(new))
    first = next((at for at in range(least) if old[at] != new[at]), least)
    same = next((at for at in range(least - first) if old[-1 - at] != new[-1 - at]), least - first)
    gone, came = old[first : len(old) - same], new[first : len(new) - same]
    place = enclosing(before, "\n".join(gone) or "\n".join(old[first : first + 3]))
    return Change(path, "edit", "\n".join(gone), "\n".join(came), place)


def typed_how(text: str) -> Typed:
    """How a prompt was typed, for an agent that stores a slash command as the user typed it."""
    return "command" if text.startswith("/") and _SLASH.match(text) else ""
