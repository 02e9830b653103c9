"""What a run was told by our own brief, read back out of its transcript.

A run that starts from a brief and dies before it says anything new must not lose what the brief carried. So
the lines of a brief are labelled, and this reads the labels that hold on: goal, standing instructions, open
items, decisions. A text is only taken for ours where a hook or a prompt put it, never in a tool's output.
"""

from __future__ import annotations

import msgspec

OPENING, CLOSING = "[segue]", "[/segue]"
BEGINNING = "Where the last run stopped"
BETWEEN = " | "  # of items that may hold a semicolon


class Inherited(msgspec.Struct, omit_defaults=True, frozen=True):
    """What the brief said that this run was given: it holds until the run says otherwise."""

    goal: str = ""
    standing: tuple[str, ...] = ()
    plan: tuple[str, ...] = ()
    blocked: tuple[str, ...] = ()
    decided: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.goal or self.standing or self.plan or self.blocked or self.decided)


def parted(text: str) -> tuple[str, str]:
    """(our brief in a text, the words around it)."""
    start = text.find(OPENING)
    if start < 0 or (start and text[start - 1] != "\n" and text[:start].strip().count("\n") > 2):
        return "", text
    end = text.find(CLOSING, start)
    if end < 0 and not text.startswith(f"{OPENING} {BEGINNING}", start):
        return "", text  # words about us
    stop = len(text) if end < 0 else text.find("\n", end)
    stop = len(text) if stop < 0 else stop
    return text[start:stop], f"{text[:start]}{text[stop:]}".strip()


def inherited(brief: str) -> Inherited:
    """The facts of a brief that hold on."""
    found: dict[str, str] = {}
    for line in brief.split("\n"):
        label, colon, rest = line.partition(":")
        if colon and not line.startswith(" "):
            found[label.partition(" (")[0]] = rest.strip()
    plan = [item.removeprefix("now ") for item in _items(found.get("PLAN", ""), "; ")]
    return Inherited(
        goal=found.get("GOAL", ""),
        standing=_items(found.get("STANDING", ""), BETWEEN),
        plan=tuple(item for item in plan if not (item.startswith("and ") and item.endswith(" more"))),
        blocked=_items(found.get("BLOCKED", ""), BETWEEN),
        decided=_items(found.get("DECIDED", ""), BETWEEN),
    )


def _items(text: str, between: str) -> tuple[str, ...]:
    return tuple(item.strip() for item in text.split(between) if item.strip())
