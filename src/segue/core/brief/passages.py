"""Passages: parts of a run's texts, quoted verbatim, in the order in which a reader needs them.

A passage is a few lines that belong together: some sentences, a part of an edit, of a file or of an output.
Their order does not depend on the budget: the next passage is always the one that adds most for its size. A
budget therefore only decides how far one reads, and a larger one contains everything of a smaller. The value
of a passage is what the run would have said or used next (``relevance.py``); the user's words, the agent's
last message, the newest edits and failures come before other texts of the same value.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from heapq import heapify, heappop, heappush

import msgspec

from ..base.lazy import regex
from ..runs import sentences
from ..runs.identifiers import NAME, is_name
from ..runs.model import RecentStep, RunDigest
from ..runs.quotable import SAID, RunText
from .facts import command_value, file_value
from .relevance import COMMON, Worth, worth

POOL_CHARS = 600_000
LINES = 4  # of an output or a file, in one passage
PROSE_CHARS, LINE_CHARS, SENTENCE_CHARS = 240, 240, 600
NAMES_MAX, NAMES_LINE = 1_500, 8
TRACE_CHARS = 5_000
WEIGHTS = {
    "prompt": 1.5,
    "say": 1.3,
    "edit": 1.0,
    "create": 1.0,
    "run": 1.0,
    "summary": 1.0,
    "recap": 1.0,
    "report": 0.8,
}
OTHER_WEIGHT, NAMES_WEIGHT = 0.7, 0.7
LISTED, LISTED_CHANCE = 6, 0.2
LISTS = frozenset({"names", "commands", "files"})  # these are not quotations
RECENT, SURE = {"prompt": 12, "say": 6}, {"prompt": 1.0, "say": 0.3}  # recent messages get extra value
NEEDED = 2.5  # the factor for the end of the work
WORD_WORTH, NAME_WORTH = 0.01, 0.02  # for words and names that are not in the digest
COST_POWER = 0.65
_NUMBERED = regex(r"^\s*\d+(?:→|\t|:(?=\s))")
_FENCED = regex(r"```[^\n]*\n(.*?)(?:```|\Z)", re.S)


class Passage(msgspec.Struct, gc=False):
    """Lines that are quoted together."""

    kind: str
    head: str
    text: str
    at: int
    number: int = 0  # its position in its block
    weight: float = 1.0
    command: bool = False  # whether the head is a command
    sure: float = 0.0  # value that does not depend on what else is quoted


def passages(blocks: Sequence[RunText], digest: RunDigest, said: str = "") -> Iterator[Passage]:
    """The passages of a run, the most useful first. ``said`` is what the reader knows already."""
    pool = list(_pool(blocks, digest.cwd))
    known = _worth(blocks, digest)
    pool += _names(known)
    pool += _lists(digest, said)
    return _ordered(pool, known, said)


# -- what may be quoted


def _pool(blocks: Sequence[RunText], cwd: str) -> Iterator[Passage]:
    """The passages of all blocks, newest first; a line that a newer one contains is left out."""
    lines: set[str] = set()
    left = POOL_CHARS
    needed = _needed(blocks)
    recent = dict(RECENT)
    for block in reversed(blocks):
        if left <= 0 and block.kind not in SAID:
            continue
        weight = WEIGHTS.get(block.kind, OTHER_WEIGHT) * (NEEDED if block.at in needed else 1.0)
        head = within(block.path, cwd) if block.path else block.head
        recent[block.kind] = recent.get(block.kind, 0) - 1
        sure = SURE.get(block.kind, 0.0) if recent[block.kind] >= 0 else 0.0
        for number, part in enumerate(parts(block)):
            new = [line for line in part.split("\n") if line.strip() not in lines]
            if not new:
                continue
            lines.update(line.strip() for line in new)
            text = "\n".join(new)
            left -= len(text)
            yield Passage(block.kind, head, text, block.at, number, weight, not block.path, sure)


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


def _names(known: Worth) -> Iterator[Passage]:
    """The valuable names, a few on a line, under the file in which they occurred."""
    homes: dict[str, list[str]] = {}
    for name in sorted(known.names, key=lambda name: (-known.names[name], name))[:NAMES_MAX]:
        home = known.homes.get(name, "").replace("\\", "/").rsplit("/", 1)[-1]
        homes.setdefault(home, []).append(name)
    for home, names in homes.items():
        for at in range(0, len(names), NAMES_LINE):
            yield Passage("names", home, ", ".join(names[at : at + NAMES_LINE]), 0, at, NAMES_WEIGHT)


def _lists(digest: RunDigest, said: str) -> Iterator[Passage]:
    """The commands and files that are not mentioned yet, a few on a line, the likeliest first."""
    low = said.lower()
    ran = sorted(
        digest.commands.items(), key=lambda pair: (-command_value(pair[0], pair[1], digest.steps), pair[0])
    )
    shorts = [
        f"{short} (failed)" if use.ok is False else short for short, use in ran if len(short) <= LINE_CHARS
    ]
    files = digest.files
    ranked = sorted(files, key=lambda path: (-file_value(files[path], digest.steps, path), path))
    ranked = [within(path, digest.cwd) for path in ranked]
    for kind, told in (("commands", shorts), ("files", ranked)):
        new = [one for one in told if one.lower() not in low]
        for at in range(0, len(new), LISTED):
            line = new[at : at + LISTED]
            chance = LISTED_CHANCE / (1 + at / 20)
            yield Passage(kind, "", "; ".join(line), 0, at, sure=chance * len(line))


# -- their value


def _worth(blocks: Sequence[RunText], digest: RunDigest) -> Worth:
    traces = [RecentStep(one.kind, one.text[:TRACE_CHARS], one.path) for one in blocks]
    return worth(digest, traces)


class _Tokens:
    """A cache of the values of words and names."""

    def __init__(self, known: Worth) -> None:
        self.worth = known
        self._seen: dict[str, tuple[tuple[str, float], ...]] = {}

    def of(self, text: str) -> dict[str, float]:
        """The words and names of a text with their values."""
        values: dict[str, float] = {}
        seen = self._seen
        for token in NAME.findall(text):
            pairs = seen.get(token)
            if pairs is None:
                pairs = seen[token] = tuple(self._values(token))
            values.update(pairs)
        return values

    def _values(self, token: str) -> Iterator[tuple[str, float]]:
        if is_name(token):
            yield f"={token.lower()}", self.worth.names.get(token, NAME_WORTH)
        for part in re.split(r"[.:]+", token):
            word = part.lower().strip("-_")
            if len(word) > 3 and word not in COMMON and word[0].isalpha():
                yield word, self.worth.words.get(word, WORD_WORTH)


def _ordered(pool: list[Passage], known: Worth, said: str) -> Iterator[Passage]:
    """The passages, always the one next that adds most for its size.

    What a passage adds only shrinks as others are chosen. An earlier value is therefore an upper bound, and
    only the first entry of the heap has to be evaluated again.
    """
    tokens = _Tokens(known)
    seen = set(tokens.of(said))
    contents = [tokens.of(one.text) for one in pool]
    costs = [math.pow(len(one.text.encode("utf-8", "replace")) + 8, COST_POWER) / one.weight for one in pool]

    def rate(at: int) -> float:
        new = contents[at]
        # fsum, because the order of a sum must not make a difference
        return (
            math.fsum([pool[at].sure, *(value for key, value in new.items() if key not in seen)]) / costs[at]
        )

    heap = [(-rate(at), at) for at in range(len(pool))]
    heapify(heap)
    rest: list[Passage] = []
    while heap:
        before, at = heappop(heap)
        value = rate(at)
        if value <= 0:
            rest.append(pool[at])
            continue
        if heap and value < -before - 1e-12 and -value > heap[0][0]:
            heappush(heap, (-value, at))
            continue
        yield pool[at]
        seen.update(contents[at])
    rest.sort(key=lambda one: (-one.at, one.number))
    yield from (one for one in rest if one.kind not in LISTS)
