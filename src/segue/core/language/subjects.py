"""What a text is about: the stems of its words and the names in it, to tell whether two texts speak of the
same thing."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from ..base.lazy import regex
from ..base.stem import STOP_WORDS, stem

_WORD = regex(r"[^\W_][\w'’-]*(?:[./:][\w-]+)*|[\w./-]*[/.][\w./-]+")
_SAYS_LITTLE = STOP_WORDS | frozenset(
    """please also add make sure use using used want need needs should must let lets let's get got go now then
    new file files code change changes changed work works working thing things way one two first last next
    yes ok okay thanks thank just like still again already well good great right done finished completed
    complete implement implemented implementation update updated create created write written fix fixed
    everything something anything all each every when once after before end until while into onto instead
    rather than never always only don't dont not no none can't cannot will would could may might can do does
    did run ran it's its i'm i've i'll you're we're that's there's here's what's keep kept put set see look
    und oder der die das den dem ein eine einen ist sind nicht auch bitte noch mit für von auf aus bei wenn
    et ou le la les un une des du de est sont pas aussi avec pour dans sur quand y o el los las una es son no
    también con para en cuando e os as um uma é são não também com il lo gli è sono non anche per""".split()
)
_LONG_NAME = 4


@lru_cache(maxsize=512)
def subjects_of(text: str) -> frozenset[str]:
    """The stems of the words that say what a text is about; of paths their last parts as well; of scripts
    without spaces each pair of neighbouring characters."""
    found: set[str] = set()
    for raw in _WORD.findall(text.lower()):
        if raw in _SAYS_LITTLE:
            continue
        word = raw.replace("-", "_")
        if not word.isascii() and any(ord(char) > 0x2E7F for char in word):
            wide = "".join(char for char in word if ord(char) > 0x2E7F)
            found.update(wide[at : at + 2] for at in range(len(wide) - 1))
            found.update(_stems(char for char in word.split() if char.isascii()))
        elif "/" in word or "." in word:
            name = word.strip("./")
            found.add(name)
            found.update(
                _stems(part for part in name.replace(".", "/").split("/") if len(part) >= _LONG_NAME)
            )
        elif len(word) > 1:
            found.update(_stems([word.replace("’", "'").removesuffix("'s")]))
    found.discard("")
    return frozenset(found)


def _stems(words: Iterable[str]) -> set[str]:
    return {stem(word) for word in words if word and word not in _SAYS_LITTLE}


def weight(subjects: frozenset[str]) -> float:
    """How much something is about: of scripts without spaces, three pairs of characters are a word."""
    wide = sum(not subject.isascii() and ord(subject[0]) > 0x2E7F for subject in subjects)
    return len(subjects) - wide + wide / 3


def shares(text: str, other: str) -> tuple[int, int]:
    """How many of what a text is about another one speaks of too, and how many there are."""
    mine = subjects_of(text)
    return len(mine & subjects_of(other)), len(mine)
