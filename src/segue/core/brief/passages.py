"""Passages: parts of a run's texts, quoted verbatim, in the order in which a reader needs them.

A passage is a few lines that belong together: some sentences, a part of an edit, of a file or of an output.
Their order does not depend on the budget, which therefore only decides how far one reads: a larger one
contains everything of a smaller. The newest comes first; the user's words, the agent's messages, edits and
failures come before other texts of about the same age.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec

from ..base.lazy import regex
from ..runs import sentences
from ..runs.model import RunDigest
from ..runs.quotable import SAID, RunText

POOL_CHARS = 600_000
LINES = 4  # of an output or a file, in one passage
PROSE_CHARS, LINE_CHARS, SENTENCE_CHARS = 240, 240, 600
AGES = {
    "prompt": 0.1, "say": 0.35, "summary": 0.4, "recap": 0.4, "failure": 0.5, "edit": 0.5, "create": 0.5,
    "delete": 0.5, "run": 0.7, "report": 0.8,
}  # fmt: skip
"""How much faster or slower than an output a text of each kind grows old."""
PART_AGE = 0.35  # the later parts of a long text come after the beginnings of older ones
NEEDED_AGE = 0.2  # of the end of the work
_NUMBERED = regex(r"^\s*\d+(?:→|\t|:(?=\s))")
_FENCED = regex(r"```[^\n]*\n(.*?)(?:```|\Z)", re.S)


class Passage(msgspec.Struct, gc=False):
    """Lines that are quoted together."""

    kind: str
    head: str
    text: str
    at: int
    number: int = 0  # its position in its block
    age: float = 0.0
    command: bool = False  # whether the head is a command


def passages(blocks: Sequence[RunText], digest: RunDigest, said: str = "") -> Iterator[Passage]:
    """The passages of a run, the most useful first. ``said`` is what the reader knows already."""
    pool = [one for one in _pool(blocks, digest.cwd) if one.kind not in SAID or one.text not in said]
    pool.sort(key=lambda one: (one.age, -one.at, one.number))
    return iter(pool)


def _pool(blocks: Sequence[RunText], cwd: str) -> Iterator[Passage]:
    """The passages of all blocks, newest first; a line that a newer one contains is left out."""
    lines: set[str] = set()
    left = POOL_CHARS
    needed = _needed(blocks)
    for back, block in enumerate(reversed(blocks)):
        if left <= 0 and block.kind not in SAID:
            continue
        slow = AGES.get(block.kind, 1.0) * (NEEDED_AGE if block.at in needed else 1.0)
        head = within(block.path, cwd) if block.path else block.head
        for number, part in enumerate(parts(block)):
            new = [line for line in part.split("\n") if line.strip() not in lines]
            if not new:
                continue
            lines.update(line.strip() for line in new)
            text = "\n".join(new)
            left -= len(text)
            age = slow * (back + 1) * (1 + PART_AGE * number)
            yield Passage(block.kind, head, text, block.at, number, age, not block.path)


def within(path: str, cwd: str) -> str:
    """The path relative to the working directory, if it is inside."""
    folder = cwd.rstrip("/\\")
    return (
        path[len(folder) + 1 :]
        if folder and path.startswith(folder) and path[len(folder) :][:1] in ("/", "\\")
        else path
    )


def _needed(blocks: Sequence[RunText]) -> set[int]:
    """When the last message of each side, the two newest edits and the last failure occurred."""
    wanted = {"prompt": 1, "say": 1, "edit": 2, "failure": 1}
    found = set()
    for block in reversed(blocks):
        if wanted.get(block.kind, 0) > 0:
            wanted[block.kind] -= 1
            found.add(block.at)
    return found


def parts(block: RunText) -> Iterator[str]:
    """The parts of a block that make sense alone."""
    if block.kind not in SAID:
        yield from _cut(block.text)
        return
    together: list[str] = []
    for sentence in sentences.sentences(block.text):
        if len(sentence) < 12:
            continue
        together.append(sentence[:SENTENCE_CHARS])
        if sum(map(len, together)) > PROSE_CHARS:
            yield " ".join(together)
            together = []
    if together:
        yield " ".join(together)
    if "```" in block.text:
        for code in _FENCED.findall(block.text):
            yield from _cut(code)


def _cut(text: str) -> Iterator[str]:
    lines = [_NUMBERED.sub("", line).rstrip()[:LINE_CHARS] for line in text.split("\n")]
    lines = [line for line in lines if len(line) > 3 and not line.isspace()]
    for at in range(0, len(lines), LINES):
        yield "\n".join(lines[at : at + LINES])
