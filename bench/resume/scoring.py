"""How much of the needs a brief meets, and what is wrong with it.

A heap of bare words is no brief: words in a run of more than 14 tokens without punctuation or a function word
do not count, and a text with less than 10 % function words is scored by half.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from bench.resume.needs import FUNCTION, PLAN_OVER, Cut, Needs, plan_of, telling_lines, words
from bench.resume.observed import Observation, base

WEIGHTS = {
    "files": 0.15,
    "commands": 0.10,
    "todos": 0.15,
    "goal": 0.15,
    "intent": 0.15,
    "identifiers": 0.20,
    "error": 0.10,
}
AHEAD = ("files", "commands", "intent", "identifiers")  # what only the future tells
VERBATIM = ("files", "commands", "identifiers")  # found as they are written, not by words
BARE_MAX, FUNCTION_MIN, LIST_MAX = 14, 0.10, 10

_PIECE = re.compile(r"[A-Za-z0-9_./\-]+|[.,;:!?()\[\]{}|•·→`'\"\n]")
_NO_SIGN = re.compile(r"[A-Za-z0-9_./\-]")
_LETTERS = re.compile(r"[A-Za-z]+$")


@dataclass(slots=True)
class Score:
    """What a brief is worth at a cut, all shares between 0 and 1."""

    total: float
    parts: dict[str, float]  # category -> recall; "future" among them
    function_share: float = 0.0
    precision: float | None = None  # of the files that it names; None where it names none
    violations: dict[str, int] = field(default_factory=dict)
    long_lists: int = 0
    size: int = 0


def readable(brief: str) -> tuple[str, float]:
    """A brief without its heaps of words, and the share of function words in it."""
    pieces = _PIECE.findall(brief)
    pieces_kept: list[str] = []
    bare: list[str] = []
    for piece in pieces:
        if piece.lower() in FUNCTION or not _NO_SIGN.match(piece):
            pieces_kept += [*bare[:BARE_MAX], piece]
            bare = []
        else:
            bare.append(piece)
    plain = [piece.lower() for piece in pieces if _LETTERS.match(piece)]
    share = sum(word in FUNCTION for word in plain) / max(1, len(plain))
    return " ".join(pieces_kept + bare[:BARE_MAX]), share


def score(brief: str, needed: Needs, *, gated: bool = True) -> Score:
    """The recall of every category, and their weighted mean."""
    readable_text, share = readable(brief)
    brief_words = words(readable_text if gated else brief)
    low = brief.lower()
    factor = 0.5 if gated and share < FUNCTION_MIN else 1.0
    parts = {category: factor * _recall(category, needed[category], low, brief_words) for category in needed}
    total = _mean(parts, tuple(parts))
    if any(category in parts for category in AHEAD):
        parts["future"] = _mean(parts, AHEAD)
    return Score(total, parts, share, size=len(brief.encode("utf-8", "replace")))


def _mean(parts: dict[str, float], categories: Sequence[str]) -> float:
    present = [category for category in categories if category in parts]
    return sum(WEIGHTS[category] * parts[category] for category in present) / sum(
        WEIGHTS[category] for category in present
    )


def _recall(category: str, wanted: dict[str, float], low: str, brief_words: set[str]) -> float:
    met = sum(weight for what, weight in wanted.items() if _is_met(category, what, low, brief_words))
    return met / sum(wanted.values())


def _is_met(category: str, what: str, low: str, brief_words: set[str]) -> bool:
    if category in VERBATIM:
        return what.lower() in low
    if category == "todos":
        item_words = words(what) or {what.lower()}
        return len(item_words & brief_words) >= 0.6 * len(item_words)
    return what in brief_words


# -- what is wrong with a brief

_SECTION = re.compile(r"^(?:[-*] )?(?:\*\*)?([A-Z][A-Za-z ]*?)(?: \([^)]*\))?:(?:\*\*)? ?(.*)$")
_SHOWN_OPEN = frozenset({"plan", "next", "open", "todo", "blocked"})
_SHOWN_BROKEN = frozenset({"broken", "failing"})
_ITEM = re.compile(r"; | \| ")


def sections(brief: str, wanted: frozenset[str]) -> list[str]:
    """What stands behind these labels."""
    matches = (_SECTION.match(line) for line in brief.split("\n"))
    return [match[2] for match in matches if match and match[1].lower() in wanted]


def _plain(text: str) -> str:
    """A text for comparing: quotation marks may have been changed where it was quoted."""
    return " ".join(text.lower().replace('"', "'").split())


def finished_as_open(brief: str, cut: Cut) -> int:
    """Finished items of the plan that the brief shows as open."""
    plan = plan_of(cut.past)
    still = {_plain(text) for text, state in plan if state not in PLAN_OVER}
    over = {_plain(text) for text, state in plan if state in PLAN_OVER} - still
    open_items = [
        _plain(item).removeprefix("now ").rstrip("…")
        for line in sections(brief, _SHOWN_OPEN)
        for item in _ITEM.split(line)
    ]
    return sum(any(len(item) >= 8 and text.startswith(item) for text in over) for item in open_items)


def solved_as_broken(brief: str, cut: Cut) -> int:
    """Failures that went away when the same call was made again, and that the brief still shows."""
    broken = _plain(" ".join(sections(brief, _SHOWN_BROKEN)))
    failed: dict[str, str] = {}
    solved: list[str] = []
    for result in cut.past:
        if result.kind != "result" or not result.typed:
            continue
        if result.failed:
            failed[result.typed] = _first_line(result)
        elif result.typed in failed:
            solved.append(failed.pop(result.typed))
    still = set(failed.values())
    return sum(len(line) >= 20 and line in broken and line not in still for line in set(solved))


def _first_line(result: Observation) -> str:
    return _plain(telling_lines(result.text).split("\n")[0])[:60]


def file_precision(brief: str, cut: Cut) -> float | None:
    """Of the known files that the brief names, the share that is touched next."""
    known = {base(path) for observation in cut.past for path in observation.files}
    ahead = {base(path) for observation in cut.future for path in observation.files}
    named = {name for name in known if _is_named(name, brief)}
    return len(named & ahead) / len(named) if named else None


def _is_named(name: str, brief: str) -> bool:
    at = brief.find(name)
    while at >= 0:
        before, after = brief[at - 1 : at], brief[at + len(name) : at + len(name) + 1]
        if not (before.isalnum() or before in ("_", "-")) and not (after.isalnum() or after == "_"):
            return True
        at = brief.find(name, at + 1)
    return False


def long_lists(brief: str) -> int:
    """Lines that are lists of more than ten items."""
    return sum(_items(line) > LIST_MAX for line in brief.split("\n"))


def _items(line: str) -> int:
    """The items on a line, 0 where it is prose."""
    parts = [part.split() for part in re.split(r", |; | \| ", line)]
    return len(parts) if sum(len(part) <= 3 for part in parts) >= 0.7 * len(parts) else 0


def judged(brief: str, needed: Needs, cut: Cut, budget: int, *, gated: bool = True) -> Score:
    """The score of a brief, with its precision and its violations."""
    result = score(brief, needed, gated=gated)
    result.precision = file_precision(brief, cut)
    result.long_lists = long_lists(brief)
    result.violations = {
        "finished shown as open": finished_as_open(brief, cut),
        "solved shown as broken": solved_as_broken(brief, cut),
        "over budget": int(result.size > budget),
    }
    return result
