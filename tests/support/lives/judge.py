"""Compares what a run was told with what held at that moment.

What holds must be in the text, wherever: its words as they were said, up to whitespace, quotation marks, case
and a full stop at the end. What the agent's own summary of a compacted window has need not be told again.

What is gone must not be told as holding: its words may stand only in lines about the past (``PAST``). There
is one more place for them, a message that is quoted with other parts of it. If such a part was taken back,
the text must also have the words that took it back. If it was a point of a list that is done, the points that
are open must stand elsewhere by themselves.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from .model import KINDS, Gone, Moment, Statement

PAST = frozenset({
    "TRAIL", "LAST WORDS", "LAST THOUGHT", "TREE", "FACTS", "ANSWERED", "BEFORE", "IN REPLY TO",
})  # fmt: skip
"""Labels of lines about what was, with the lines that continue them."""
_LABEL = re.compile(r"^ *(?:- )?\**([A-Z][A-Z ]*[A-Z])(?: \([^)]*\))?\**:")
_CONTINUES = ("  ", "- ", "— ")
_MARKS = re.compile("[\"'`“”„‚‘’«»「」『』]")


class Verdict(NamedTuple):
    """What a run was not told, and what it was told that holds no more."""

    moment: Moment
    text: str
    wanted: tuple[Statement, ...]
    """What had to be told."""
    missing: tuple[Statement, ...]
    wrong: tuple[Gone, ...]

    def __str__(self) -> str:
        return "\n".join((
            f"run {self.moment.run} ({self.moment.agent}), {self.moment.what}",
            *(f"  MISSING {one.kind}: {' / '.join(one.words)}" for one in self.missing),
            *(f"  GONE {one.statement.kind}: {one.statement.core}" for one in self.wrong),
            "  TOLD:", *(f"  | {line}" for line in self.text.splitlines()),
        ))  # fmt: skip


def judged(moment: Moment, text: str) -> Verdict:
    """The verdict on what was told at a moment."""
    told, kept = normal(text), normal(moment.summary)
    wanted = tuple(one for one in moment.holds if not _has(moment.summary, kept, one))
    missing = tuple(one for one in wanted if not _has(text, told, one))
    present = normal("\n".join(present_lines(text)))
    wrong = tuple(one for one in moment.gone if _is_told_as_holding(one, moment, present, told))
    return Verdict(moment, text, wanted, missing, wrong)


def _has(text: str, told: str, statement: Statement) -> bool:
    """Whether a text, which is also given without what may differ, tells a statement. A question with all of
    its options does not tell which one was taken: then the answer must stand somewhere by itself."""
    if not all(normal(words) in told for words in statement.words):
        return False
    if not statement.rivals or not _lists(told, normal(statement.words[0]), statement):
        return True
    answer = rf"(?:[\"“:|]|\W-) *{re.escape(statement.answer)}(?:[\"”]| *\(| *$)"
    return re.search(answer, text, re.I | re.M) is not None


def _lists(told: str, question: str, statement: Statement) -> bool:
    """Whether a question is always followed by the options that were not taken."""
    options = [normal(words) for words in (*statement.words[1:], *statement.rivals)]
    room = sum(map(len, options)) + 6 * len(options)
    after = [rest[:room] for rest in told.split(question)[1:]]
    return all(option in rest for rest in after for option in options[1:])


def normal(text: str) -> str:
    """A text without what may differ between words as they were said and as they are told."""
    text = _MARKS.sub("", unicodedata.normalize("NFC", text).casefold())
    return " ".join(text.split()).rstrip(".。")


def present_lines(text: str) -> Iterator[str]:
    """The lines that are not about the past."""
    is_past = False
    for line in text.splitlines():
        label = _LABEL.match(line)
        if line.removeprefix("TREE:").lstrip().startswith("FAILING"):
            is_past = False  # it is about now, though it stands in the tree
        elif label is not None:
            is_past = label[1] in PAST
        elif not line.startswith(_CONTINUES):
            is_past = False
        if not is_past:
            yield line


def _is_told_as_holding(gone: Gone, moment: Moment, present: str, told: str) -> bool:
    statement = gone.statement
    core = normal(statement.core)
    if core not in present:
        return False
    open_parts = [one for one in moment.holds if one.message and one.message == statement.message]
    gone_parts = [one.statement for one in moment.gone if one.statement.message == statement.message]
    parts = {normal(part) for one in (*open_parts, *gone_parts) for part in (*one.words, one.core)}
    for quote in quotes(normal(statement.message), core, parts - {core}) if statement.message else ():
        present = present.replace(quote, " ")
    if core in present:
        return True
    if gone.by:
        return normal(gone.by) not in told
    return not all(normal(one.core) in present for one in open_parts)


def quotes(message: str, core: str, others: Iterable[str]) -> list[str]:
    """The stretches of a message that hold this part of it and at least one other, the longest first."""
    at = message.find(core)
    until = at + len(core)
    spans = [(message.find(words), message.find(words) + len(words)) for words in others]
    begins = {0, at, *(begin for begin, _ in spans if begin >= 0)}
    ends = {len(message), until, *(end for begin, end in spans if begin >= 0)}
    stretches = [message[begin:end] for begin in begins for end in ends if begin <= at and end >= until]
    return sorted((one for one in stretches if one != core), key=len, reverse=True)


@dataclass
class Tally:
    """How much of what held was told over many moments, and how much of what was gone."""

    held: Counter[str] = field(default_factory=Counter)
    told: Counter[str] = field(default_factory=Counter)
    gone: Counter[str] = field(default_factory=Counter)
    wrong: Counter[str] = field(default_factory=Counter)
    moments: int = 0

    def add(self, verdict: Verdict) -> None:
        self.moments += 1
        missing = {one.id for one in verdict.missing}
        for one in verdict.wanted:
            for key in _keys(one):
                self.held[key] += 1
                self.told[key] += one.id not in missing
        wrong = {one.statement.id for one in verdict.wrong}
        for gone in verdict.moment.gone:
            for key in _keys(gone.statement):
                self.gone[key] += 1
                self.wrong[key] += gone.statement.id in wrong

    @property
    def share(self) -> float:
        """The part of what held that was told; 1 if nothing held."""
        held = sum(self.held[kind] for kind in KINDS)
        return sum(self.told[kind] for kind in KINDS) / held if held else 1.0

    @property
    def wrongs(self) -> int:
        return sum(self.wrong[kind] for kind in KINDS)

    @property
    def goners(self) -> int:
        """How often something was gone."""
        return sum(self.gone[kind] for kind in KINDS)

    def table(self) -> str:
        """A row for each kind, and for rules one for each language."""
        head = f"{'':12}{'held':>8}{'told':>8}{'share':>8}{'gone':>8}{'told as holding':>17}"
        counts = (self.held, self.told, self.gone, self.wrong)
        rows = {key: [one[key] for one in counts] for key in (*KINDS, *sorted({*self.held} - {*KINDS}))}
        rows["all"] = [sum(one[kind] for kind in KINDS) for one in counts]
        lines = [
            f"{key:12}{held:8}{told:8}{told / held if held else 1:8.3f}{gone:8}{wrong:17}"
            for key, (held, told, gone, wrong) in rows.items()
        ]
        return "\n".join((f"{self.moments} moments", head, *lines))


def _keys(statement: Statement) -> Iterator[str]:
    yield statement.kind
    if statement.kind == "rule":
        yield f"  rule {statement.language}"
