"""Whether a text says what an entry says: compared by what both are about, not by their words."""

from __future__ import annotations

from collections.abc import Iterable

from ..base.lazy import regex
from ..language.subjects import subjects_of
from .model import Entry

COVERED_SHARE = 0.75
EXACT_SHARE = 0.9
"""A rule is covered only if hardly anything of it is missing: half a rule is another rule."""
_NEGATED = regex(
    r"(?i)\b(?:never|not|no|n't|don't|dont|avoid|without|must|only|always|nicht|nie|niemals|kein\w*|nur|immer"
    r"|jamais|pas|toujours|nunca|siempre|sempre|mai|nooit|altijd|nigdy|zawsze|никогда|всегда|не)\b"
    r"|不要|别|禁止|必须|始终|しない|禁止|必ず|하지|항상"
)


def is_covered(entry: Entry, text: str) -> bool:
    """Whether a text says what an entry says. The sentence that says it must forbid if the entry does."""
    words = " ".join(entry.text.split()).casefold()
    flat_text = " ".join(text.split()).casefold()
    if words.rstrip(".!") in flat_text:
        return True
    mine = subjects_of(entry.text[:2_000])
    if not mine:
        return False
    share = EXACT_SHARE if entry.kind in ("rule", "permission") else COVERED_SHARE
    if len(mine & subjects_of(text)) < share * len(mine):
        return False
    if entry.kind not in ("rule", "permission", "choice"):
        return True
    return any(_says(entry, mine, part, share) for part in _passages(text))


def _says(entry: Entry, mine: frozenset[str], passage: str, share: float) -> bool:
    if len(mine & subjects_of(passage)) < share * len(mine):
        return False
    return entry.kind != "rule" or not _NEGATED.search(entry.text) or _NEGATED.search(passage) is not None


def _passages(text: str) -> Iterable[str]:
    """The lines of a text, each with the one before it."""
    lines = [line for line in text.split("\n") if line.strip()]
    return [f"{before}\n{line}" for before, line in zip(["", *lines], lines, strict=False)]


def lacking(entries: Iterable[Entry], text: str) -> list[Entry]:
    """The entries that a text does not say."""
    return [entry for entry in entries if not is_covered(entry, text)]
