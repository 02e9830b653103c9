"""Passages: parts of a run's texts, quoted as they are, in the order in which a reader needs them.

A passage is a few lines that stand together: some sentences, a piece of an edit, of a file or of an output.
Their order does not know the budget: always the passage comes next that says most that is not said yet, for
its size. So a budget is only how far one reads, and a larger one has all of the smaller. What is worth
saying is what the run would have said or used next (``core.worth``); the user's words, the agent's last
message, the newest edits and what fails come before other texts of the same worth.
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
LINES = 4  # of an output or a file, that stand together
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
LISTS = frozenset({"names", "commands", "files"})  # not quoted: made of what was seen
RECENT, SURE = {"prompt": 12, "say": 6}, {"prompt": 1.0, "say": 0.3}  # exchanges that are always told
NEEDED = 2.5  # how much more the end of the work weighs
WORD_WORTH, NAME_WORTH = 0.01, 0.02  # of what nothing is known about
COST_POWER = 0.65
_NUMBERED = regex(r"^\s*\d+(?:→|\t|:(?=\s))")
_FENCED = regex(r"```[^\n]*\n(.*?)(?:```|\Z)", re.S)


class Passage(msgspec.Struct, gc=False):
    """Lines that are quoted together."""

    kind: str
    head: str
    text: str
    at: int
    number: int = 0  # within its block
    weight: float = 1.0
    command: bool = False  # is the head a command?
    sure: float = 0.0  # worth that does not depend on what else is said


def passages(blocks: Sequence[RunText], digest: RunDigest, said: str = "") -> Iterator[Passage]:
    """The passages of a run, those first that are needed most; ``said`` is what the reader knows already."""
    pool = list(_pool(blocks, digest.cwd))
    known = _worth(blocks, digest)
    pool += _names(known)
    pool += _lists(digest, said)
    return _ordered(pool, known, said)


# -- what may be quoted


def _pool(blocks: Sequence[RunText], cwd: str) -> Iterator[Passage]:
    """Passages newest first; a line that a newer one has is not said again."""
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
    """A path as one would write it in the folder of the work."""
    folder = cwd.rstrip("/\\")
    return (
        path[len(folder) + 1 :]
        if folder and path.startswith(folder) and path[len(folder) :][:1] in ("/", "\\")
        else path
    )


def _needed(blocks: Sequence[RunText]) -> set[int]:
    """The last words of each side, the two newest edits and what failed last."""
    wanted = {"prompt": 1, "say": 1, "edit": 2, "failure": 1}
    found = set()
    for block in reversed(blocks):
        if wanted.get(block.kind, 0) > 0:
            wanted[block.kind] -= 1
            found.add(block.at)
    return found


def parts(block: RunText) -> Iterator[str]:
    """A block in pieces that can stand alone."""
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
    """Names that are in play, a few on a line, under the file where they were seen."""
    homes: dict[str, list[str]] = {}
    for name in sorted(known.names, key=lambda name: (-known.names[name], name))[:NAMES_MAX]:
        home = known.homes.get(name, "").replace("\\", "/").rsplit("/", 1)[-1]
        homes.setdefault(home, []).append(name)
    for home, names in homes.items():
        for at in range(0, len(names), NAMES_LINE):
            yield Passage("names", home, ", ".join(names[at : at + NAMES_LINE]), 0, at, NAMES_WEIGHT)


def _lists(digest: RunDigest, said: str) -> Iterator[Passage]:
    """Every command and file that is not named yet, a few on a line, the likeliest first."""
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


# -- what it is worth


def _worth(blocks: Sequence[RunText], digest: RunDigest) -> Worth:
    traces = [RecentStep(one.kind, one.text[:TRACE_CHARS], one.path) for one in blocks]
    return worth(digest, traces)


class _Tokens:
    """Words and names of a text, looked at once each."""

    def __init__(self, known: Worth) -> None:
        self.worth = known
        self._seen: dict[str, tuple[tuple[str, float], ...]] = {}

    def of(self, text: str) -> dict[str, float]:
        """What a text says, with what each is worth."""
        found: dict[str, float] = {}
        seen = self._seen
        for token in NAME.findall(text):
            told = seen.get(token)
            if told is None:
                told = seen[token] = tuple(self._told(token))
            found.update(told)
        return found

    def _told(self, token: str) -> Iterator[tuple[str, float]]:
        if is_name(token):
            yield f"={token.lower()}", self.worth.names.get(token, NAME_WORTH)
        for part in re.split(r"[.:]+", token):
            word = part.lower().strip("-_")
            if len(word) > 3 and word not in COMMON and word[0].isalpha():
                yield word, self.worth.words.get(word, WORD_WORTH)


def _ordered(pool: list[Passage], known: Worth, said: str) -> Iterator[Passage]:
    """Always the one that adds most for its size.

    What a passage adds only shrinks as others are said, so a value that was right earlier is an upper bound:
    only the first of the heap is looked at again."""
    tokens = _Tokens(known)
    seen = set(tokens.of(said))
    told = [tokens.of(one.text) for one in pool]
    costs = [math.pow(len(one.text.encode("utf-8", "replace")) + 8, COST_POWER) / one.weight for one in pool]

    def rate(at: int) -> float:
        new = told[at]
        # fsum: the order of a sum must not show
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
        seen.update(told[at])
    rest.sort(key=lambda one: (-one.at, one.number))
    yield from (one for one in rest if one.kind not in LISTS)
