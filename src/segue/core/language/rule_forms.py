"""What the wordings of a language are made of, as far as rules go.

Every expression is for text in lower case with straight apostrophes. ``opens`` is tried where a clause
begins, so that "never touch legacy/" is an order and "the tests never pass" is none; ``says`` is looked for
within a clause, for wordings that are an order wherever they stand ("must not"). A language is tried only on
a sentence that has one of its ``marks``, or that is written in its script. The languages themselves are in
the modules ``rules_of_*``.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from ..base.lazy import regex

NOTHING = regex(r"(?!)")
"""Matches nothing."""
END = r"\s*(?:$|[.,;:!()。，！、；])"
"""Where a clause ends."""
_SIGNS = r"[^\w\"'“‘`«<>$\[{|/(~@#]*+"
"""What may stand before the first word of an order: emphasis and symbols, but no quotation and no code."""


class RuleForms(NamedTuple):
    """How rules are worded in one language."""

    opens: re.Pattern[str]
    """Matches where a clause begins that gives an order that holds on."""
    bans: re.Pattern[str]
    """Matches where a sentence begins that names what must not be, without a verb: "no mocks"."""
    says: re.Pattern[str]
    """Is found in a clause that says how things have to be."""
    passes: re.Pattern[str]
    """Is found in a clause that holds for the moment only, or that muses or tells."""
    asks: re.Pattern[str]
    """Matches at the beginning of a sentence that asks, with or without a question mark."""
    allows: re.Pattern[str]
    """Is found in a clause that allows something."""
    lead: re.Pattern[str] = NOTHING
    """Matches what may stand before an order: signs, and words such as "and please"."""
    marks: frozenset[str] = frozenset()
    """Words in lower case; every rule and every permission has one of them."""
    saying: frozenset[str] = frozenset()
    """Words in lower case; every clause in which ``says`` is found has one of them. Empty: any may have."""
    foreign_words: frozenset[str] = frozenset()
    """Words of other languages that have some of these marks, too."""
    foreign: re.Pattern[str] = NOTHING
    """Is found in sentences of such languages that are not ASCII."""


def one_of(*wordings: str) -> str:
    """An expression that matches any of these."""
    return "(?:" + "|".join(wordings) + ")"


def leading(words: str) -> str:
    """An expression for what may stand before an order: signs, and words such as "and please"."""
    return rf"{_SIGNS}(?:{words}\b[,:.!]*\s+)*+"


def words(text: str) -> frozenset[str]:
    """The words of a text as a set."""
    return frozenset(text.split())
