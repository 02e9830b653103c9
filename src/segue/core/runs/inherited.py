"""What a run inherited from one of our briefs, read back from its transcript.

A run that starts from a brief and dies before it says anything new must not lose what was in the brief. So
the lines of a brief have labels, and the lines that still hold are read again: goal, standing instructions,
open items, decisions; from a manifest, the same fields. A text counts as our brief only in a prompt or the
output of a hook, never in the output of a tool. Items are read as they were shown, so one that was cut is
recognised by its beginning.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from ..base.json_prefix import decode_prefix
from ..base.lazy import regex
from . import sentences
from .brief_labels import Label
from .standing_rules import standing_rules

OPENING, CLOSING = "[segue]", "[/segue]"
STOPPED, STANDS = "Where the last run stopped", "Where the work stands"  # how a brief begins
_TO_PARENTHESES = str.maketrans({"[": "(", "]": ")"})
BETWEEN = " | "  # separates items that may contain a semicolon
UNREACHED = "the model failed: "  # such a blocker holds for that run only
MANIFEST = '"session_metadata"'  # the first key of a manifest

_MANIFEST = regex(r"\{\s*" + MANIFEST)
_BULLET = regex(r"^- \*\*([^*]+):\*\*")
_MORE = regex(r"and \d+ more$")


class Inherited(msgspec.Struct, omit_defaults=True, frozen=True):
    """The facts from the brief that a run was given. They hold until the run says otherwise."""

    goal: str = ""
    first: str = ""  # the very first request, if it is not the goal
    standing: tuple[str, ...] = ()
    plan: tuple[str, ...] = ()
    blocked: tuple[str, ...] = ()
    decided: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return any((self.goal, self.first, self.standing, self.plan, self.blocked, self.decided))

    def without(self, settled: Iterable[str]) -> Inherited:
        """The same facts without items that are finished or dropped."""
        texts = list(settled)
        plan, blocked = _unsettled(self.plan, texts), _unsettled(self.blocked, texts)
        if (plan, blocked) == (self.plan, self.blocked):
            return self
        return msgspec.structs.replace(self, plan=plan, blocked=blocked)


def _unsettled(items: tuple[str, ...], settled: list[str]) -> tuple[str, ...]:
    return tuple(item for item in items if not any(is_same_item(item, text) for text in settled))


def is_same_item(shown: str, text: str) -> bool:
    """Whether a text is the item that was shown in a brief, where it may have been shortened."""
    shown, text = as_item(shown), as_item(text)
    if shown.endswith("…"):
        return len(shown) > 8 and text.startswith(shown[:-1])
    return shown == text or shown.startswith(f"{text} (")


def as_item(text: str) -> str:
    """An item as it appears in a list, that is, without the list's separators."""
    text = " ".join(text.split())
    return text.replace("; ", ", ").replace(BETWEEN, ", ") if ";" in text or "|" in text else text


def without_marks(text: str) -> str:
    """The text with our marks made harmless, because a quotation must not end the brief that it is in."""
    if "segue]" not in text:
        return text
    for mark in (OPENING, CLOSING):
        text = text.replace(mark, mark.translate(_TO_PARENTHESES))
    return text


def delimited(brief: str) -> str:
    """The brief with our marks only at its beginning and its end, and harmless everywhere else."""
    if brief.count("segue]") <= 2:
        return brief
    body, _, closing = brief.rpartition("\n")
    end = CLOSING + without_marks(closing.removeprefix(CLOSING))
    return f"{OPENING}{without_marks(body.removeprefix(OPENING))}\n{end}"


def split_brief(text: str) -> tuple[str, str]:
    """Our brief in a text, and the text around it. The brief is empty if there is none."""
    start = text.find(OPENING)
    if start < 0:
        return _split_manifest(text)
    if start and text[start - 1] != "\n" and text[:start].strip().count("\n") > 2:
        return "", text
    end = text.find(CLOSING, start)
    if end < 0 and not text.startswith((f"{OPENING} {STOPPED}", f"{OPENING} {STANDS}"), start):
        return "", text  # a text about Segue
    stop = len(text) if end < 0 else text.find("\n", end)
    stop = len(text) if stop < 0 else stop
    return text[start:stop], f"{text[:start]}{text[stop:]}".strip()


def _split_manifest(text: str) -> tuple[str, str]:
    opening = _MANIFEST.search(text) if MANIFEST in text else None
    if opening is None:
        return "", text
    try:
        _, stop = decode_prefix(text, opening.start())
    except (ValueError, RecursionError):
        return "", text
    around = text[: opening.start()].removesuffix("```json\n") + text[stop:].removeprefix("\n```")
    return text[opening.start() : stop], around.strip()


def inherited_facts(brief: str) -> Inherited:
    """The facts in a brief that hold for the run that it was given to. Version 0.1 had other labels."""
    if brief.startswith("{"):
        return _from_manifest(brief)
    lines: dict[str, str] = {}
    for line in brief.split("\n"):
        label, colon, rest = _BULLET.sub(r"\1:", line).strip().removeprefix("- ").partition(":")
        if colon:
            lines.setdefault(label.partition(" (")[0], rest.strip())
    items = [
        item.removeprefix("now ") for item in _items(lines.get(Label.OPEN) or lines.get("PLAN", ""), "; ")
    ]
    goal = lines.get(Label.GOAL) or _quoted(
        lines.get(Label.REQUEST) or lines.get(Label.ADDS_TO) or lines.get(Label.USER, "")
    )
    return Inherited(
        goal=goal,
        first=_quoted(lines.get(Label.FIRST_REQUEST) or lines.get("FIRST ASKED", "")),
        standing=_rules(_items(lines.get(Label.RULES) or lines.get("STANDING", ""), BETWEEN), goal),
        plan=tuple(item for item in items if not _MORE.match(item)),
        blocked=_blocked(_items(lines.get(Label.BLOCKED, ""), BETWEEN)),
        decided=_decided(lines.get(Label.DECIDED, "")),
    )


def _quoted(text: str) -> str:
    """A text without the quotation marks around it."""
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] == '"' else text


def _from_manifest(text: str) -> Inherited:
    try:
        manifest, _ = decode_prefix(text)
    except (ValueError, RecursionError):
        return Inherited()
    meta, critical = _part(manifest, "session_metadata"), _part(manifest, "critical_context")
    tasks = manifest.get("pending_tasks")
    rows = [row for row in tasks if isinstance(row, dict)] if isinstance(tasks, list) else []
    blocked = [row for row in rows if row.get("status") == "blocked"]
    goal = str(meta.get("goal", ""))
    return Inherited(
        goal=goal,
        first=str(meta.get("first_asked", "")),
        standing=_rules(_texts(critical.get("standing_instructions")), goal),
        plan=_texts([row.get("task") for row in rows if row not in blocked]),
        blocked=_texts([row.get("task") for row in blocked]),
        decided=_texts(critical.get("key_decisions")),
    )


def _part(manifest: Any, key: str) -> dict[str, Any]:
    part = manifest.get(key)
    return part if isinstance(part, dict) else {}


def _texts(values: Any) -> tuple[str, ...]:
    if not isinstance(values, list):
        return ()
    return tuple(value for value in values if isinstance(value, str) and value)


def _rules(listed: tuple[str, ...], goal: str) -> tuple[str, ...]:
    """The listed rules and those in the goal, because a later request may replace the goal."""
    in_goal = [rule for rule in standing_rules(goal) if not rule.endswith("…")]
    return tuple(dict.fromkeys([*listed, *in_goal]))


def _blocked(items: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(item for item in items if not item.startswith(UNREACHED))


def _decided(line: str) -> tuple[str, ...]:
    """The decisions in a line, which may be a list or sentences."""
    return _items(line, BETWEEN) if BETWEEN in line else tuple(sentences.sentences(line))


def _items(text: str, between: str) -> tuple[str, ...]:
    return tuple(item.strip() for item in text.split(between) if item.strip())
