"""Plans that were only written as text: checklists, and numbered steps that are announced as a plan.

A checklist says what is done; numbered steps do not. They count as open until the agent mentions a later one,
and they are ignored once the work has gone on for long without mentioning any.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..base.lazy import regex
from ..language import sentences
from .model import ListedDocument, RunDigest

LINE_CHARS = 200
NUMBERED_STEPS_MAX = 80
"""After so many steps of the run it is no longer known which of the numbered ones are done."""
_TEXT_CHARS = 20_000
_DOCUMENT_CHARS, DOCUMENT_ITEMS_MAX = 60_000, 200
_LINES_MIN, _LINES_MAX = 2, 20
_ANNOUNCED = regex(
    r"(?im)^[^\n]{0,120}\b(?:plan|(?:next|remaining|following|implementation) (?:steps|tasks)|steps|to-?dos?|"
    r"roadmap|(?:what(?:'s| is)|things|work) (?:left|remaining)(?: to do)?)\b[^\n]{0,60}$\n"
    r"|^[^\n]{0,120}\b(?:i['’]ll|i will|i['’]m going to|let me|we['’]ll|we will|let['’]s|going to)\b"
    r"[^\n]{0,120}:\**[ \t]*$\n"
)
_PAST = regex(
    r"(?i)\b(?:built|completed|already|summary|handled|reviewed|approved|executed|finished|execution plan|"
    r"flags|implemented|analysis|status|would you like|questions|please|manual|need the following|"
    r"what (?:was|i|we) (?:done|did))\b|\bcomplete\W*$"
)
"""Matches lines that do not announce a plan: reports of the past, questions to the user and the like."""
_FOR_THE_USER = regex(
    r"(?:Click|Press|Go to|Right-click|Navigate|Log ?in|Sign in|Type|Paste|Select|Choose)\b|.*[?？]$"
)
"""Matches steps that a person does at a screen, and questions."""
_BETWEEN_MAX = 3
_CHOOSE = regex(r"(?i)\b(?:options|alternatives|choices|choose|which (?:one|approach)|either)\b")
"""Matches the introduction of alternatives, which are not all to be done."""
_TICKED = ("✅", "✔", "☑", "~~")
_ANNOUNCING = (
    "plan", "steps", "tasks", "todo", "to-do", "roadmap", "left", "remaining", "i'll", "i’ll", "i will",
    "going to", "let me", "we'll", "we’ll", "we will", "let's", "let’s",
)  # fmt: skip
"""Every match of ``_ANNOUNCED`` contains one of these."""
_FENCED = regex(r"```.*?(?:```|\Z)", re.S)  # in what a user gives, a sample of a form
_BOXES = regex(r"(?m)^[ \t]*(?:\d+(?:→|:|\t| *\|)[ \t]*)?[-*+] \[([ xX])\] +(\S.*)$")
_SET_BOXES = regex(r"[-*+] \\?\[[xX]\\?\] +([^'\"\n|/\\]+)")
"""A box that a command ticks off, as in ``sed 's/- \\[ \\] Test it/- [x] Test it/'``."""
_NUMBERED = regex(r"(?m)^(?:#{1,4} +)?(\d{1,2})[.)] +(\S[^\n]*)$")
_MENTIONED = regex(r"\b[Ss]tep (\d{1,2})\b(?:[^\n.]{0,30}\b(done|complete|completed|finished)\b)?")


def take_plan(digest: RunDigest, text: str, *, own: bool = False) -> None:
    """Update the digest's written plan from a text.

    Only in the agent's ``own`` words do numbered steps count, and mentions of them as progress.
    """
    checklist = sentences.checklist(text if own or "```" not in text else _FENCED.sub("", text))
    if checklist is not None:
        _set_plan(digest, *checklist, numbered=False)
        return
    if not own:
        return
    lines = numbered_plan(text)
    if lines:
        _set_plan(digest, [], lines, numbered=True)
    elif digest.numbered and "tep " in text:
        _advance(digest, text)


def take_document(digest: RunDigest, path: str, text: str) -> None:
    """Remember the checklist in a document that was read or written, in whole or in part."""
    rows = {
        what.strip().replace("**", ""): box in "xX" for box, what in _BOXES.findall(text[:_DOCUMENT_CHARS])
    }
    if len(rows) < _LINES_MIN or not path:
        return
    known = digest.document
    items = {**known.items, **rows} if known is not None and known.path == path else rows
    digest.document = ListedDocument(path, dict(list(items.items())[:DOCUMENT_ITEMS_MAX]))
    if digest.sketched_in == path:
        _work_through(digest)


def take_ticks(digest: RunDigest, text: str, *, is_command: bool = False) -> None:
    """Items of a document that an edit or a command ticked off: then that document is what is being worked
    through."""
    known = digest.document
    if known is None:
        return
    if is_command:
        ticked = [what.strip().replace("**", "") for what in _SET_BOXES.findall(text)]
    else:
        ticked = [what.strip().replace("**", "") for box, what in _BOXES.findall(text) if box in "xX"]
    if newly := [what for what in ticked if known.items.get(what) is False]:
        known.items.update(dict.fromkeys(newly, True))
        _work_through(digest)


def _work_through(digest: RunDigest) -> None:
    known = digest.document
    if known is not None:
        done = [what for what, is_ticked in known.items.items() if is_ticked]
        _set_plan(digest, done, [what for what, is_ticked in known.items.items() if not is_ticked])
        digest.sketched_in = known.path


def numbered_plan(text: str) -> list[str]:
    """The steps of a plan that is announced and numbered from 1 up; empty if there is none."""
    text = text[:_TEXT_CHARS]
    if ("1. " not in text and "1) " not in text) or ("2. " not in text and "2) " not in text):
        return []
    for head in _announced(text):
        lines: list[str] = []
        for step in _NUMBERED.finditer(text, head.end()):
            if not lines and not _follows(head[0], text[head.end() : step.start()]):
                break
            if int(step[1]) != len(lines) + 1 or step[2].startswith(_TICKED):
                break
            lines.append(step[2].replace("**", "").replace("`", "").strip().rstrip(":"))
        for_user = sum(_FOR_THE_USER.match(line) is not None for line in lines)
        if _LINES_MIN <= len(lines) <= _LINES_MAX and 2 * for_user < len(lines):
            return lines
    return []


def _follows(head: str, between: str) -> bool:
    """Whether a list belongs to the line that announces it: it follows soon and does not offer a choice."""
    lines = [line for line in between.split("\n") if line.strip()]
    return len(lines) <= _BETWEEN_MAX and not _CHOOSE.search("\n".join([head, *lines]))


def _announced(text: str) -> Iterator[re.Match[str]]:
    """The lines that announce a plan. The expression is tried only on lines with one of the words."""
    low = text.lower()
    if len(low) != len(text):  # lowering changed the length of some letters, so positions would not agree
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


def _set_plan(digest: RunDigest, done: list[str], todo: list[str], *, numbered: bool = False) -> None:
    digest.sketch_done = [sentences.clip(line, LINE_CHARS) for line in done]
    digest.sketch = [sentences.clip(line, LINE_CHARS) for line in todo]
    digest.sketched, digest.numbered, digest.sketched_in = digest.steps, numbered, ""


def _advance(digest: RunDigest, text: str) -> None:
    """Mark the steps before the one that the agent mentions last as done, and that one if it is finished."""
    mentions = _MENTIONED.findall(text)
    total = len(digest.sketch_done) + len(digest.sketch)
    number, is_finished = int(mentions[-1][0]) if mentions else 0, bool(mentions and mentions[-1][1])
    finished = number if is_finished else number - 1
    if 0 < number <= total and finished > len(digest.sketch_done):
        lines = digest.sketch_done + digest.sketch
        digest.sketch_done, digest.sketch = lines[:finished], lines[finished:]
        digest.sketched = digest.steps


def is_current(digest: RunDigest) -> bool:
    """Whether the written plan has open lines and is not out of date."""
    if not digest.sketch or not digest.numbered:
        return bool(digest.sketch)
    asked = max((one.at for one in digest.prompts if sentences.is_substantial(one.text)), default=0)
    return digest.sketched >= asked and digest.steps - digest.sketched <= NUMBERED_STEPS_MAX
