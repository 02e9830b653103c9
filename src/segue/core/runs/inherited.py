"""What a run was told by our own brief, read back out of its transcript.

A run that starts from a brief and dies before it says anything new must not lose what the brief carried. So
the lines of a brief are labelled, and this reads the labels that hold on: goal, standing instructions, open
items, decisions; of a manifest, the same fields. A text is only taken for ours where a hook or a prompt put
it, never in a tool's output. Texts come back as they were shown, so an item that was cut is known again by
its beginning.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from ..base.json_edit import decode_prefix
from ..base.lazy import regex
from . import sentences as telling
from .brief_labels import Label
from .standing_rules import standing

OPENING, CLOSING = "[segue]", "[/segue]"
STOPPED, STANDS = "Where the last run stopped", "Where the work stands"  # how a brief begins
_UNMARKED = str.maketrans({"[": "(", "]": ")"})
BETWEEN = " | "  # of items that may hold a semicolon
UNREACHED = "the model failed: "  # blocked for that run only
MANIFEST = '"session_metadata"'  # the first key of a manifest

_MANIFEST = regex(r"\{\s*" + MANIFEST)
_BULLET = regex(r"^- \*\*([^*]+):\*\*")
_MORE = regex(r"and \d+ more$")


class Inherited(msgspec.Struct, omit_defaults=True, frozen=True):
    """What the brief said that this run was given: it holds until the run says otherwise."""

    goal: str = ""
    first: str = ""  # what was asked first of all, where that is not the goal
    standing: tuple[str, ...] = ()
    plan: tuple[str, ...] = ()
    blocked: tuple[str, ...] = ()
    decided: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return any((self.goal, self.first, self.standing, self.plan, self.blocked, self.decided))

    def without(self, settled: Iterable[str]) -> Inherited:
        """The same without items that are finished or given up."""
        over = list(settled)
        plan, blocked = _unsettled(self.plan, over), _unsettled(self.blocked, over)
        return self if (plan, blocked) == (self.plan, self.blocked) else _with(self, plan, blocked)


def _with(told: Inherited, plan: tuple[str, ...], blocked: tuple[str, ...]) -> Inherited:
    return msgspec.structs.replace(told, plan=plan, blocked=blocked)


def _unsettled(items: tuple[str, ...], over: list[str]) -> tuple[str, ...]:
    return tuple(item for item in items if not any(same(item, text) for text in over))


def same(shown: str, text: str) -> bool:
    """Is this the item that was shown, maybe cut?"""
    shown, text = as_item(shown), as_item(text)
    if shown.endswith("…"):
        return len(shown) > 8 and text.startswith(shown[:-1])
    return shown == text or shown.startswith(f"{text} (")


def as_item(text: str) -> str:
    """An item as it stands in a list: what parts the list does not stand in it."""
    text = " ".join(text.split())
    return text.replace("; ", ", ").replace(BETWEEN, ", ") if ";" in text or "|" in text else text


def unmarked(text: str) -> str:
    """A text in which our own marks do not stand: a quote must not end what it stands in."""
    if "segue]" not in text:
        return text
    return text.replace(OPENING, OPENING.translate(_UNMARKED)).replace(CLOSING, CLOSING.translate(_UNMARKED))


def sealed(brief: str) -> str:
    """A brief with our marks at its beginning and its end, and nowhere else."""
    if brief.count("segue]") <= 2:
        return brief
    told, _, closing = brief.rpartition("\n")
    end = CLOSING + unmarked(closing.removeprefix(CLOSING))
    return f"{OPENING}{unmarked(told.removeprefix(OPENING))}\n{end}"


def parted(text: str) -> tuple[str, str]:
    """(our brief in a text, the words around it)."""
    start = text.find(OPENING)
    if start < 0:
        return _parted_manifest(text)
    if start and text[start - 1] != "\n" and text[:start].strip().count("\n") > 2:
        return "", text
    end = text.find(CLOSING, start)
    if end < 0 and not text.startswith((f"{OPENING} {STOPPED}", f"{OPENING} {STANDS}"), start):
        return "", text  # words about us
    stop = len(text) if end < 0 else text.find("\n", end)
    stop = len(text) if stop < 0 else stop
    return text[start:stop], f"{text[:start]}{text[stop:]}".strip()


def _parted_manifest(text: str) -> tuple[str, str]:
    found = _MANIFEST.search(text) if MANIFEST in text else None
    if found is None:
        return "", text
    try:
        _, stop = decode_prefix(text, found.start())
    except (ValueError, RecursionError):
        return "", text
    around = text[: found.start()].removesuffix("```json\n") + text[stop:].removeprefix("\n```")
    return text[found.start() : stop], around.strip()


def inherited(brief: str) -> Inherited:
    """The facts of a brief that hold on."""
    if brief.startswith("{"):
        return _of_manifest(brief)
    found: dict[str, str] = {}
    for line in brief.split("\n"):
        label, colon, rest = _BULLET.sub(r"\1:", line).partition(":")
        if colon and not line.startswith(" "):
            found[label.partition(" (")[0]] = rest.strip()
    plan = [item.removeprefix("now ") for item in _items(found.get(Label.PLAN, ""), "; ")]
    goal = found.get(Label.GOAL, "")
    return Inherited(
        goal=goal,
        first=found.get(Label.FIRST_ASKED, ""),
        standing=_rules(_items(found.get(Label.STANDING, ""), BETWEEN), goal),
        plan=tuple(item for item in plan if not _MORE.match(item)),
        blocked=_blocked(_items(found.get(Label.BLOCKED, ""), BETWEEN)),
        decided=_decided(found.get(Label.DECIDED, "")),
    )


def _of_manifest(text: str) -> Inherited:
    try:
        sheet, _ = decode_prefix(text)
    except (ValueError, RecursionError):
        return Inherited()
    meta, critical = _part(sheet, "session_metadata"), _part(sheet, "critical_context")
    tasks = sheet.get("pending_tasks")
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


def _part(sheet: Any, key: str) -> dict[str, Any]:
    part = sheet.get(key)
    return part if isinstance(part, dict) else {}


def _texts(given: Any) -> tuple[str, ...]:
    return tuple(one for one in given if isinstance(one, str) and one) if isinstance(given, list) else ()


def _rules(listed: tuple[str, ...], goal: str) -> tuple[str, ...]:
    """What stands: as listed, and in the goal, which a later request may push aside."""
    within = [rule for rule in standing(goal) if not rule.endswith("…")]
    return tuple(dict.fromkeys([*listed, *within]))


def _blocked(items: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(item for item in items if not item.startswith(UNREACHED))


def _decided(line: str) -> tuple[str, ...]:
    """Decisions that were listed, or told in sentences."""
    return _items(line, BETWEEN) if BETWEEN in line else tuple(telling.sentences(line))


def _items(text: str, between: str) -> tuple[str, ...]:
    return tuple(item.strip() for item in text.split(between) if item.strip())
