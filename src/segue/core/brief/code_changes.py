"""What a change of code is about: the function or heading that it stands in, what it defines, its telling
line."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from ..base.definitions import definition, definitions
from ..base.lazy import regex
from ..base.values import Value
from ..runs.model import TrailStep
from ..runs.steps import Change

LINES_MAX = 400
TOLD_CHARS = 200
_LITTLE = regex(r"^(?:import|from|use|using|#include|package|require|//|#\s|\*|/\*|<!--|[\])}{(;,]+$|\"\"\")")
_WORD = regex(r"[A-Za-z_]\w{3,}")


class ChangeWords(Value):
    """A change in words."""

    where: str = ""  # the definition or heading that it stands in
    new: tuple[str, ...] = ()  # definitions that it adds
    added: str = ""  # the new line that says most
    told: tuple[str, ...] = ()  # that line among others that say something, in their order
    removed: str = ""
    lines: int = 0  # of a new file


def change_words(change: Change) -> ChangeWords:
    """What a change is about."""
    new = change.new.split("\n")[:LINES_MAX]
    if change.how == "create":
        return ChangeWords(
            definition(change.place.partition("\n")[0]), tuple(definitions(new)[:4]), _telling(new, set()),
            lines=change.lines or len(new),
        )  # fmt: skip
    old = change.old.split("\n")[:LINES_MAX]
    before, after = {_key(line) for line in old}, {_key(line) for line in new}
    added = [line for line in new if line.strip() and _key(line) not in before]
    removed = [line for line in old if line.strip() and _key(line) not in after]
    place = change.place.partition("\n")[0]
    where = definition(place) or " ".join(place.split())[:50] or _above(new, added[:1])
    fresh = [name for name in definitions(added) if name != where]
    known = set(_WORD.findall(change.old))
    best = _telling(added, known)
    return ChangeWords(where, tuple(fresh[:5]), best, _around(best, added), _telling(removed, set()))


def with_places(trail: Sequence[TrailStep], edited: Mapping[str, tuple[str, ...]]) -> list[TrailStep]:
    """The trail with places for edits that do not tell theirs, where only one thing in their file is changed:
    ``edited`` are the names of what is, by path."""
    only = {path: names[0] for path, names in edited.items() if len(names) == 1}
    return [
        replace(step, changes=tuple(_placed(change, only) for change in step.changes))
        if step.changes
        else step
        for step in trail
    ]


def _placed(change: Change, only: Mapping[str, str]) -> Change:
    if change.how != "edit" or change.place:
        return change
    name = next((name for path, name in only.items() if f"/{change.path}".endswith(f"/{path}")), "")
    return replace(change, place=name) if name and not change_words(change).where else change


def _around(best: str, added: list[str]) -> tuple[str, ...]:
    """The line that says most among all that say something, if those are few; else with what follows it."""
    flat = [" ".join(line.split()) for line in added]
    said = [line for line in dict.fromkeys(flat) if line == best or _says_something(line)]
    if len(said) > 4 or sum(map(len, said)) > TOLD_CHARS:
        said = said[said.index(best) :][:4] if best in said else [best]
    return tuple(said)


def _says_something(line: str) -> bool:
    text = line.strip()
    return len(_WORD.findall(text)) >= 2 and not _LITTLE.match(text)


def _key(line: str) -> str:
    return line.strip(" \t,;")


def _above(lines: list[str], first: list[str]) -> str:
    """The last definition above the first added line, or in that line."""
    where = ""
    for line in lines:
        where = definition(line) or where
        if first and line is first[0]:
            break
    return where


def _telling(lines: list[str], known: set[str]) -> str:
    """The line that says most: one with names that were not there before, no import and no bracket."""
    best, most = "", 0.0
    for line in lines[:60]:
        text = " ".join(line.split())
        letters = sum(char.isalpha() or char == " " for char in text)
        value = 0.1 + min(len(text), 60) / 20 + 2 * bool(definition(line))
        value -= 2 * (letters < 0.6 * len(text)) + 4 * bool(_LITTLE.match(text))
        value += min(3, len(set(_WORD.findall(text)) - known))
        if value > most and re.search(r"\w", text):
            best, most = text, value
    return best
