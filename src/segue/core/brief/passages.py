"""Passages: parts of a run's texts, quoted verbatim, in the order in which a reader needs them.

A passage is a message, or some lines of an edit, a file or an output. Their order does not depend on the
budget, which therefore only decides how far one reads: a larger one contains everything of a smaller. The
newest comes first; the user's words, the agent's messages, edits and failures come before other texts of
about the same age. What matters most comes whole, as far as that is possible: the last messages, the newest
changes, the output of the checks that fail, and the last results. No line loses its end without saying how
much is missing, and lines that a newer text contains are left out with a mark in their place.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from ..base.lazy import regex
from ..base.page import wrapped
from ..language.sentences import flat
from ..runs.model import RunDigest
from ..runs.quotable import SAID, RunText
from ..runs.tree import still_failing

POOL_CHARS = 600_000
LINES = 8  # of an output or a file, in one passage
MESSAGE_CHARS, LINE_CHARS, LINE_SHOWN_CHARS = 1_600, 1_000, 600
WHOLE_CHARS = 4_000  # of a text that matters most, these come together
AGES = {
    "prompt": 0.1, "say": 0.3, "summary": 0.4, "recap": 0.4, "diff": 0.3, "failure": 0.5, "edit": 0.5,
    "create": 0.5, "delete": 0.5, "run": 0.7, "report": 0.8,
}  # fmt: skip
"""How much faster or slower than an output a text of each kind grows old."""
PART_AGE, MESSAGE_PART_AGE = 0.35, 0.1
"""The later parts of a long text come after the beginnings of older ones; those of a message sooner."""
NEEDED_AGE = 0.2  # of the end of the work
NEEDED = {"prompt": 2, "say": 2, "edit": 2, "create": 1, "failure": 1, "result": 3}
"""How many of the newest texts of each kind matter most."""
TOLD_CHARS = 60
LEFT_OUT = "…"
_NUMBERED = regex(r"^\s*\d+(?:→|\t|:(?=\s))")


class Passage(msgspec.Struct, gc=False):
    """Lines that are quoted together."""

    kind: str
    head: str
    text: str
    at: int
    number: int = 0  # its position in its block
    age: float = 0.0
    command: bool = False  # whether the head is a command
    parts: int = 1  # how many passages its block has


def passages(blocks: Sequence[RunText], digest: RunDigest, said: str = "") -> Iterator[Passage]:
    """The passages of a run, the most useful first. ``said`` is what the reader knows already."""
    known = flat(said)
    pool = [one for one in _pool(blocks, digest) if not _is_told(one, known)]
    pool.sort(key=lambda one: (one.age, -one.at, one.number))
    return iter(pool)


def _is_told(one: Passage, known: str) -> bool:
    """Whether a reader knows a message already. Short ones are told again: others answer them."""
    return one.kind in SAID and one.parts == 1 and len(one.text) >= TOLD_CHARS and flat(one.text) in known


def _pool(blocks: Sequence[RunText], digest: RunDigest) -> Iterator[Passage]:
    """The passages of all blocks, newest first."""
    seen: set[str] = set()
    left = POOL_CHARS
    needed = _needed(blocks, digest)
    for back, block in enumerate(reversed(blocks)):
        if left <= 0 and block.kind not in SAID:
            continue
        matters = id(block) in needed
        slow = AGES.get(block.kind, 1.0) * (NEEDED_AGE if matters else 1.0)
        aging = MESSAGE_PART_AGE if block.kind in SAID else PART_AGE
        head = within(block.path, digest.cwd) if block.path else block.head
        texts = list(parts(block))
        chars = 0
        for number, part in enumerate(texts):
            text = part if block.kind in SAID else _new_lines(part, seen)
            if not text:
                continue
            chars += len(text)
            left -= len(text)
            together = matters and chars <= WHOLE_CHARS
            age = slow * (back + 1) * (1 + (0 if together else aging * number))
            yield Passage(block.kind, head, text, block.at, number, age, not block.path, len(texts))


def _new_lines(part: str, seen: set[str]) -> str:
    """The part whole if most of its lines are new, else those that are, with a mark where others stood."""
    lines = part.split("\n")
    keys = [line.strip().lstrip("+-").strip() for line in lines]
    telling = [key for key in keys if len(key) > 3]
    new = [key for key in telling if key not in seen]
    if not new:
        return ""
    if 2 * len(new) < len(telling):
        kept = [line if key in new else LEFT_OUT for line, key in zip(lines, keys, strict=True)]
        lines = [line for at, line in enumerate(kept) if line != LEFT_OUT or kept[at - 1 : at] != [LEFT_OUT]]
    seen.update(new)
    return "\n".join(lines)


def within(path: str, cwd: str) -> str:
    """The path relative to the working directory, if it is inside."""
    folder = cwd.rstrip("/\\")
    return (
        path[len(folder) + 1 :]
        if folder and path.startswith(folder) and path[len(folder) :][:1] in ("/", "\\")
        else path
    )


def _needed(blocks: Sequence[RunText], digest: RunDigest) -> set[int]:
    """The blocks that matter most, by identity: the newest of some kinds, and the output of each check that
    still fails."""
    wanted = dict(NEEDED)
    failing = [name for name, _ in still_failing(digest.tree)]
    found = set()
    for block in reversed(blocks):
        if wanted.get(block.kind, 0) > 0:
            wanted[block.kind] -= 1
            found.add(id(block))
        elif block.kind == "failure" and (name := next((one for one in failing if one in block.head), "")):
            failing.remove(name)
            found.add(id(block))
    return found


def parts(block: RunText) -> Iterator[str]:
    """The parts of a block that make sense alone; together they are all of it."""
    lines = [line.rstrip() for line in block.text.split("\n") if line.strip()]
    if block.kind in SAID:
        yield from _messages([piece for line in lines for piece in wrapped(line, MESSAGE_CHARS)])
        return
    lines = [_whole(line) for line in (_NUMBERED.sub("", line) for line in lines) if line.strip()]
    for at in range(0, len(lines), LINES):
        yield "\n".join(lines[at : at + LINES])


def _messages(lines: Sequence[str]) -> Iterator[str]:
    """A message as one part or, if it is long, as several of whole lines."""
    together: list[str] = []
    for line in lines:
        if together and sum(map(len, together)) + len(line) > MESSAGE_CHARS:
            yield "\n".join(together)
            together = []
        together.append(line)
    if together:
        yield "\n".join(together)


def _whole(line: str) -> str:
    """The line or, if it is very long, its beginning and how much is missing."""
    if len(line) <= LINE_CHARS:
        return line
    return f"{line[:LINE_SHOWN_CHARS]}{LEFT_OUT} ({len(line) - LINE_SHOWN_CHARS:,} more characters)"
