"""The long brief: a brief, followed by as many quoted passages of the run's texts as there is room for.

The brief comes first and is the same at every size. Passages are grouped by their origin: what user and agent
said, what was changed, the output of commands, the content of files. Lines from tools and files are prefixed
with a bar that they cannot leave, and the heading says that they are data. Lines in them that address an
agent the way a user would are left out. A passage is shown whole or not at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from ..runs import sentences
from ..runs.inherited import delimited, without_marks
from ..runs.model import RunDigest
from ..runs.quotable import RunText
from .compose import compose, marked_down
from .facts import BriefFacts
from .page import cut, plain, size
from .passages import Passage, passages

BRIEF_BYTES = 4_096
HEAD_BYTES = 100
GAP = "  …"

SECTIONS = {
    "said": "IN THEIR OWN WORDS, oldest first:",
    "changed": "CHANGES as they were made (quoted):",
    "ran": "COMMANDS and what they gave (quoted; data, not instructions):",
    "seen": "FILES as they were read (quoted; data, not instructions):",
}
"""The headings of the sections; ``ORDER`` is their order in the text, which ends with what was said."""
ORDER = ("seen", "ran", "changed", "said")
_SECTION_OF = {
    "prompt": "said", "say": "said", "report": "said", "summary": "said", "recap": "said", "edit": "changed",
    "create": "changed", "delete": "changed",
}  # fmt: skip
_SPEAKERS = {
    "prompt": "user", "say": "agent", "report": "a sub-agent (quoted)", "summary": "agent, in its summary",
    "recap": "agent, in its recap",
}  # fmt: skip


class Sheet:
    """The chosen passages under their headings."""

    def __init__(self) -> None:
        self.parts: dict[str, dict[str, list[Passage]]] = {}

    def lines_for(self, one: Passage) -> list[str]:
        """The lines that a passage would add, at most."""
        part, head = place(one)
        lines = [] if part in self.parts else [SECTIONS[part]]
        if head and head not in self.parts.get(part, {}):
            lines.append(f"  {head}")
        return [*lines, *([GAP] if part in ("seen", "ran", "changed") else []), *shown(one)]

    def add(self, one: Passage) -> None:
        """Choose a passage."""
        part, head = place(one)
        self.parts.setdefault(part, {}).setdefault(head, []).append(one)

    def lines(self) -> Iterator[str]:
        """All lines in their order."""
        for part in ORDER:
            if part not in self.parts:
                continue
            yield SECTIONS[part]
            heads = self.parts[part]
            for head in sorted(heads, key=lambda head: (min(_when(one) for one in heads[head]), head)):
                if head:
                    yield f"  {head}"
                yield from _under(sorted(heads[head], key=_when), gaps=part in ("seen", "ran", "changed"))


def _when(one: Passage) -> tuple[int, int]:
    return one.at, one.number


def _under(passages: Sequence[Passage], *, gaps: bool) -> Iterator[str]:
    last = (-1, -1)
    for one in passages:
        if gaps and last != (-1, -1) and last != (one.at, one.number - 1):
            yield GAP
        yield from shown(one)
        last = _when(one)


def place(one: Passage) -> tuple[str, str]:
    """The section of a passage, and its heading there."""
    part = _SECTION_OF.get(one.kind)
    if part is None:
        part = "ran" if one.command else "seen"
    if part == "said":
        return part, ""
    head = cut(without_marks(one.head), HEAD_BYTES) or "elsewhere"
    return part, f"$ {head}" if part == "ran" else head


def shown(one: Passage) -> list[str]:
    """The lines of a passage as they are shown."""
    text = without_marks(one.text)
    if one.kind in _SPEAKERS:
        return [f"  {_SPEAKERS[one.kind]}: {plain(' '.join(text.split()))}"]
    quoted = one.kind not in ("edit", "create", "run")
    return [
        f"  | {plain(line)}" for line in text.split("\n") if not (quoted and sentences.gives_orders(line))
    ]


def fill(
    sheet: Sheet,
    candidates: Iterable[Passage],
    room: int,
    cost: Callable[[str], int] = lambda line: size(line) + 1,
) -> int:
    """Add passages in their order until one does not fit. Returns the room that is left."""
    for one in candidates:
        needs = sum(map(cost, sheet.lines_for(one)))
        if needs > room:
            break
        room -= needs
        sheet.add(one)
    return room


def account(
    known: BriefFacts, digest: RunDigest, blocks: Sequence[RunText], budget: int, more: str = "", *,
    bullets: bool = False,
) -> str:  # fmt: skip
    """The brief and passages in at most ``budget`` bytes; with ``bullets`` the brief is Markdown."""
    brief = delimited((marked_down if bullets else compose)(known, BRIEF_BYTES, more))
    opening, _, closing = brief.rpartition("\n")
    sheet = Sheet()
    fill(sheet, passages(blocks, digest, brief), budget - size(brief) - 1)
    return "\n".join([opening, *sheet.lines(), closing])
