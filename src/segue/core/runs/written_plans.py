"""Plans that were only written down: lists with boxes, and numbered steps that are announced as a plan.

Boxes say what is done. Of numbered steps nobody says it: they count as open until the agent speaks of a later
one, and are forgotten when the work has gone on for long without a word about them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..base.lazy import regex
from . import sentences

if TYPE_CHECKING:
    from .model import RunDigest

LINE_CHARS = 200
NUMBERED_STEPS_MAX = 80
"""After so many steps of work nobody knows which of the numbered ones are done."""
_TEXT_CHARS = 20_000
_LINES_MIN, _LINES_MAX = 2, 20
_ANNOUNCED = regex(
    r"(?im)^[^\n]{0,120}\b(?:plan|(?:next|remaining|following|implementation) (?:steps|tasks)|steps|to-?dos?|"
    r"roadmap|(?:what(?:'s| is)|things|work) (?:left|remaining)(?: to do)?)\b[^\n]{0,60}$\n"
)
_PAST = regex(
    r"(?i)\b(?:built|completed|already|summary|handled|reviewed|approved|executed|finished|execution plan|"
    r"flags|implemented|analysis|status|would you like|questions|please|manual|need the following|"
    r"what (?:was|i|we) (?:done|did))\b|\bcomplete\W*$"
)
"""A line that tells of what was, asks the user, or is of something else, announces no plan of the agent's."""
_FOR_THE_USER = regex(
    r"(?:Click|Press|Go to|Right-click|Navigate|Log ?in|Sign in|Type|Paste|Select|Choose)\b|.*[?？]$"
)
"""What a person does at a screen, or answers."""
_BETWEEN_MAX = 3
_CHOOSE = regex(r"(?i)\b(?:options|alternatives|choices|choose|which (?:one|approach)|either)\b")
"""What is offered for a choice is not all to be done."""
_TICKED = ("✅", "✔", "☑", "~~")
_ANNOUNCING = ("plan", "steps", "tasks", "todo", "to-do", "roadmap", "left", "remaining")
"""Each of those has one of these in it."""
_NUMBERED = regex(r"(?m)^(?:#{1,4} +)?(\d{1,2})[.)] +(\S[^\n]*)$")
_SPOKEN = regex(r"\b[Ss]tep (\d{1,2})\b(?:[^\n.]{0,30}\b(done|complete|completed|finished)\b)?")


def sketch(digest: RunDigest, text: str, *, own: bool = False) -> None:
    """Take in a plan from a text; ``own``: the agent's words, which may number its steps."""
    found = sentences.checklist(text)
    if found is not None:
        _keep(digest, *found, numbered=False)
        return
    if not own:
        return
    lines = numbered(text)
    if lines:
        _keep(digest, [], lines, numbered=True)
    elif digest.numbered and "tep " in text:
        _advance(digest, text)


def numbered(text: str) -> list[str]:
    """The steps of a plan that is announced and then numbered from 1 on."""
    text = text[:_TEXT_CHARS]
    if ("1. " not in text and "1) " not in text) or ("2. " not in text and "2) " not in text):
        return []
    for head in _announced(text):
        lines: list[str] = []
        for one in _NUMBERED.finditer(text, head.end()):
            if not lines and not _follows(head[0], text[head.end() : one.start()]):
                break
            if int(one[1]) != len(lines) + 1 or one[2].startswith(_TICKED):
                break
            lines.append(_bare(one[2]))
        theirs = sum(_FOR_THE_USER.match(line) is not None for line in lines)
        if _LINES_MIN <= len(lines) <= _LINES_MAX and 2 * theirs < len(lines):
            return lines
    return []


def _follows(head: str, between: str) -> bool:
    """Whether a list belongs to the line that announces it: little stands between, and it is no choice."""
    lines = [line for line in between.split("\n") if line.strip()]
    return len(lines) <= _BETWEEN_MAX and not _CHOOSE.search("\n".join([head, *lines]))


def _announced(text: str) -> Iterator[re.Match[str]]:
    """The lines that announce a plan; only those with one of the words are looked at closely."""
    low = text.lower()
    if len(low) != len(text):  # some letters grow: places would not agree
        yield from _ANNOUNCED.finditer(text)
        return
    starts = set()
    for word in _ANNOUNCING:
        at = low.find(word)
        while at >= 0:
            starts.add(low.rfind("\n", 0, at) + 1)
            end = low.find("\n", at)
            at = low.find(word, end) if end >= 0 else -1
    for start in sorted(starts):
        if (head := _ANNOUNCED.match(text, start)) and not _PAST.search(head[0]):
            yield head


def _bare(line: str) -> str:
    return line.replace("**", "").replace("`", "").strip().rstrip(":")


def _keep(digest: RunDigest, done: list[str], todo: list[str], *, numbered: bool) -> None:
    digest.sketch_done = [sentences.clip(line, LINE_CHARS) for line in done]
    digest.sketch = [sentences.clip(line, LINE_CHARS) for line in todo]
    digest.sketched, digest.numbered = digest.steps, numbered


def _advance(digest: RunDigest, text: str) -> None:
    """The agent speaks of a step: those before it are done."""
    spoken = _SPOKEN.findall(text)
    total = len(digest.sketch_done) + len(digest.sketch)
    place, over = int(spoken[-1][0]) if spoken else 0, bool(spoken and spoken[-1][1])
    finished = place if over else place - 1
    if 0 < place <= total and finished > len(digest.sketch_done):
        lines = digest.sketch_done + digest.sketch
        digest.sketch_done, digest.sketch = lines[:finished], lines[finished:]
        digest.sketched = digest.steps


def is_current(digest: RunDigest) -> bool:
    """Whether the plan that was written down still says something."""
    return bool(digest.sketch) and (
        not digest.numbered or digest.steps - digest.sketched <= NUMBERED_STEPS_MAX
    )
