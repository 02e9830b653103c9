"""What an agent's message proposes, and what of it a short answer takes up.

A message is read as the blocks that a person sees: headings, paragraphs and lists. An offer ("Want me to fix
these?") is told with the list that it points to; a number picks an item; "do the quick wins" takes up the
list below that heading.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from ..base.lazy import regex
from ..base.page import cut, size
from .assent_words import POINTS
from .sentences import begins_with_assent, flat, is_assent, sentences

ITEM_BYTES, ITEMS_MAX, LEAD_BYTES, OFFER_BYTES = 85, 8, 90, 240
FEW_WORDS = 5  # a question that says more does not need the list before it
LATE_BLOCKS = 3  # an offer stands at the end of a message
_HEADING_LEVEL, _LABEL_LEVEL = 6, 7  # a line in bold or with a colon is below all headings
_SHORT_SENTENCE, _SHORT_OFFER = 60, 130

PICKS = regex(r"^\W*(?:option |number |no\.? |#)?([A-Ha-h]|\d{1,2})\b(?!['%])", re.I)
_MORE_PICKS = regex(r"(?:\s*(?:,|&|\+|-|–|and|to|then)\s*(?:[A-Ha-h]|\d{1,2})\b)+", re.I)
_ALL = regex(r"\b(?:all|both|everything|each|them|these|those)\b", re.I)
_COMMON = frozenset(
    "a an the and or of to in for on with by from at is are was be it this that as if then but not no "
    "so can will has have i you we my please do "
    "does should would need want when after before what why how which there still make use let lets "
    "let's yes ok okay go ahead continue proceed "
    "thanks now just also all some any me us them they their your our more other very again".split()
)
_WORD = regex(r"[^\W\d_][\w'-]+")
_OFFERS = regex(
    r"[?？]\s*$|\b(?:want me to|would you like|do you want|shall i|should i|let me know|your call"
    r"|say the word|if you(?:['’]d)? (?:want|like|wish|prefer)|i can (?:also|then|next|now)|i could"
    r"|next steps?\b|i(?:['’]d| would) (?:suggest|recommend|propose))",
    re.I,
)
_POINTS_BACK = regex(
    r"\b(?:these|those|them|any of|which|all of|above|both|either|direction|options?|one of)\b",
    re.I,
)
_ASKING = regex(
    r"\?|\b(?:next|want|would you|should i|shall i|i can|options?|proceed|suggest|optional|could)\b", re.I
)
_LEAVES = regex(
    r"\?\s*$|\b(?:want me to|shall i|should i|let me know|your call|say the word|would you like)\b", re.I
)
_BULLET = regex(r"^\s*(?:[-*•+]|\d{1,2}[.)])\s+|^\s*#+\s*|^\s*>\s*")
_ITEM = regex(r"^(\s*)(?:[-*•+]|\d{1,2}[.)])\s+\S")
_HEADING = regex(r"^(#{1,6}) +\S|^\*\*[^*]+\*\*:?$|^[^\n]{3,80}:$")


class Block(NamedTuple):
    """A heading, a paragraph, or a list of what its entries say."""

    text: str = ""
    items: tuple[str, ...] = ()
    level: int = 0  # of a heading; 0 for what is none


def content_words(text: str) -> list[str]:
    """The words of a text that say what it is about."""
    return [word for word in _WORD.findall(text.lower()) if word not in _COMMON]


def blocks_of(said: str) -> list[Block]:
    """The blocks of a message in their order, without code, tables and entries below entries."""
    if "```" in said:
        said = re.sub(r"```.*?(?:```|\Z)", "\n\n", said, flags=re.S)
    blocks: list[Block] = []
    paragraph: list[str] = []
    entries: list[str] = []
    depth = 0

    def close() -> None:
        if paragraph:
            blocks.append(Block(flat("\n".join(paragraph))))
            paragraph.clear()
        if entries:
            blocks.append(Block(items=tuple(entry.rstrip(",") for entry in entries)))
            entries.clear()

    for line in said.split("\n"):
        item = _ITEM.match(line)
        bare = line.strip()
        if item is not None and (not entries or len(item[1]) <= depth):
            if paragraph:
                close()
            depth = len(item[1]) if not entries else depth
            entries.append(flat(_BULLET.sub("", line)).rstrip(","))
        elif item is not None or (entries and line.startswith("  ") and bare):
            if entries[-1].endswith((":", ",")):  # an entry that only leads to those below it
                entries[-1] += f" {flat(_BULLET.sub('', line)).rstrip(':,')},"
        elif not bare:
            if paragraph:
                close()
        elif bare.startswith("|") or set(bare) <= set("-=_*"):
            close()
        elif heading := _HEADING.match(bare):
            close()
            level = len(heading[1]) if heading[1] else _LABEL_LEVEL
            blocks.append(Block(flat(_BULLET.sub("", bare)), level=level))
        else:
            if entries:
                close()
            paragraph.append(line)
    close()
    return blocks


def answered(text: str, said: str) -> str:
    """What of the agent's words ``said`` a message answers: the chosen item, the offered list, the question,
    or the sentence that it takes up."""
    text = text.strip()
    told = sentences(said)
    if not told:
        return ""
    if items := [item for mark in picked(text) if (item := item_of(said, mark))]:
        return "; ".join(items)
    blocks = blocks_of(said)
    agrees = is_assent(text) or begins_with_assent(text)
    assents = agrees or bool(_ALL.search(text))
    if section := _section(blocks, text):
        return section
    if assents and (offer := offered(blocks)):
        return offer
    mine = {word[:5] for word in content_words(text)}
    if mine and not agrees and not told[-1].endswith("?"):
        shared = [len(mine & {word[:5] for word in content_words(sentence)}) for sentence in told]
        best = max(range(len(told)), key=lambda at: (shared[at], at))
        if shared[best]:
            short = size(told[best]) <= _SHORT_SENTENCE and best + 1 < len(told)
            return f"{told[best]} {told[best + 1]}" if short else told[best]
    if not assents and (offer := offered(blocks)):
        return offer
    if not assents and len(mine) > 1 and not told[-1].endswith("?"):
        return ""  # it speaks of something else
    late = range(len(told) - 1, max(-1, len(told) - 8), -1)
    asks = next((at for at in late if _LEAVES.search(told[at])), len(told) - 1)
    answer = told[asks]
    for before in reversed(told[max(0, asks - 2) : asks]):
        if size(answer) < 130 and (POINTS.search(answer) or size(answer) < _SHORT_SENTENCE):
            answer = f"{before} {answer}"
    return answer


def offered(blocks: Sequence[Block]) -> str:
    """What the end of a message offers: its sentences, and the list that follows them or that they point
    back to."""
    late = range(len(blocks) - 1, max(-1, len(blocks) - 1 - LATE_BLOCKS), -1)
    for at in late:
        block = blocks[at]
        if block.items:
            continue
        told = sentences(block.text)
        offers = [number for number, one in enumerate(told) if _OFFERS.search(one)]
        if not offers:
            continue
        start = offers[0]
        words = " ".join(told[start : offers[-1] + 1])
        if at + 1 < len(blocks) and blocks[at + 1].items:
            return f"{cut(words, OFFER_BYTES)} {_listed(blocks[at + 1].items)}"
        points = _POINTS_BACK.search(told[start]) and len(content_words(told[start])) <= FEW_WORDS
        if points and (listed := _lists_before(blocks, at)):
            return f"{listed} {cut(words, OFFER_BYTES)}"
        if size(words) >= _SHORT_SENTENCE:
            short = size(words) < _SHORT_OFFER and POINTS.search(words)
            before = f"{told[start - 1]} " if start and short else ""
            return cut(before + words, OFFER_BYTES)
        break
    return _closing_list(blocks)


def _lists_before(blocks: Sequence[Block], at: int) -> str:
    """The lists right before a paragraph, each with the line that leads to it, oldest first."""
    found: list[str] = []
    while at and (blocks[at - 1].items or blocks[at - 1].level == _LABEL_LEVEL):
        at -= 1
        if not blocks[at].items:
            continue
        lead = blocks[at - 1].text if at and not blocks[at - 1].items else ""
        told = sentences(lead)
        found.insert(0, f"{cut(told[-1], LEAD_BYTES)} {_listed(blocks[at].items)}" if told else
                     _listed(blocks[at].items))  # fmt: skip
    return " ".join(found)


def _closing_list(blocks: Sequence[Block]) -> str:
    """The list that closes a message, if the line before it or after it says that it is an offer."""
    for at in range(len(blocks) - 1, max(-1, len(blocks) - 3), -1):
        if len(blocks[at].items) < 2 or not at or blocks[at - 1].items:
            continue
        lead = blocks[at - 1].text
        tail = " ".join(block.text for block in blocks[at + 1 :])
        asks = tail.endswith("?")
        if _ASKING.search(lead) or asks:
            return f"{cut(lead, LEAD_BYTES)} {_listed(blocks[at].items)}" + (
                f" {cut(tail, LEAD_BYTES)}" if asks else ""
            )
    return ""


def _listed(items: Sequence[str]) -> str:
    more = f"; and {len(items) - ITEMS_MAX} more" if len(items) > ITEMS_MAX else ""
    return "; ".join(cut(item, ITEM_BYTES) for item in items[:ITEMS_MAX]) + more


def _section(blocks: Sequence[Block], text: str) -> str:
    """The lists under the heading that a message names: of "do the quick wins" the quick wins."""
    wanted = {word[:5] for word in content_words(text)}
    best, shared = -1, 0
    for at, block in enumerate(blocks):
        named = {word[:5] for word in content_words(block.text)} if block.level else set()
        common = len(wanted & named)
        if common > shared and 2 * common >= min(len(wanted), len(named), 4):
            best, shared = at, common
    if best < 0:
        return ""
    told = [blocks[best].text]
    for block in blocks[best + 1 :]:
        if block.level and block.level <= min(blocks[best].level, _HEADING_LEVEL):
            break
        if block.level == _LABEL_LEVEL == blocks[best].level:
            break
        if block.items:
            told.append(_listed(block.items))
        elif block.level:
            told.append(block.text)
    return " ".join(told) if len(told) > 1 else ""


def picked(text: str) -> list[str]:
    """The numbers or letters with which a message chooses from a list: of "1, 3 and 5" all three."""
    pick = PICKS.match(text)
    if pick is None or pick[1].lower() in ("i", "y", "n"):
        return []
    more = _MORE_PICKS.match(text, pick.end())
    marks = [pick[1], *re.findall(r"\b(?:[A-Ha-h]|\d{1,2})\b", more[0] if more else "")]
    if (
        more
        and len(marks) == 2
        and re.search(r"[-–]|\bto\b", more[0])
        and marks[0].isdigit()
        and marks[1].isdigit()
    ):
        return [str(number) for number in range(int(marks[0]), min(int(marks[1]), int(marks[0]) + 9) + 1)]
    return marks


def picks_from(said: str, text: str) -> bool:
    """Whether a message chooses from what another one lists: by a number, or by the words of one item."""
    if any(item_of(said, mark) for mark in picked(text)):
        return True
    words = flat(text).casefold()
    listed = [block.items for block in blocks_of(said) if len(block.items) > 1]
    options = [item.casefold().rstrip(".") for item in (listed[-1] if listed else ())]
    return sum(words.startswith(option) for option in options) == 1


def item_of(said: str, mark: str) -> str:
    """The line of a message that a number or a letter refers to."""
    lines = re.findall(rf"(?im)^[\s*#|>-]*\(?(?:option |phase |step )?{re.escape(mark)}[.):\s*|][^\n]*", said)
    return flat(lines[-1].strip("|#*> -")) if lines else ""
