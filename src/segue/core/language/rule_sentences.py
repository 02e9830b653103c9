"""The sentences of a message in which its user may say a rule: what they wrote themselves, one by one.

A message may hold the text of a command, code, a log, a plan that an agent wrote, or a whole document. What
a command wrote is left out. In a document only the first paragraph counts as the user's own; of a very long
one, only the beginning and the end are read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from ..base.lazy import regex
from .rule_forms import RuleForms
from .rules_of_east_asia import CHINESE, JAPANESE, KOREAN
from .rules_of_english import ENGLISH
from .rules_of_french import FRENCH
from .rules_of_germanic import DUTCH, GERMAN
from .rules_of_romance import ITALIAN, PORTUGUESE, SPANISH
from .rules_of_slavic import POLISH, RUSSIAN
from .sentences import given_to_template, unlinked, verbatim_sentences

WHOLE_CHARS_MAX, END_CHARS = 6_000, 2_000
"""Of a message longer than the first, so much is read of its beginning and of its end."""
_TYPED_CHARS_MAX, _TYPED_LINES_MAX = 800, 8
_TITLE_WORDS_MAX, _TITLE_CHARS_MAX = 3, 12
SPACED = (ENGLISH, GERMAN, FRENCH, SPANISH, PORTUGUESE, ITALIAN, DUTCH, POLISH, RUSSIAN)
"""The languages whose words are set apart by spaces."""
_TITLES = frozenset(
    """rules constraints guardrails restrictions conventions regeln vorgaben einschränkungen règles
    contraintes interdictions reglas restricciones regras restrições regole vincoli regels beperkingen zasady
    ograniczenia правила ограничения""".split()
)
"""Words that stand above a list of rules."""
_OF_PROJECT = regex(
    r"^\W*(?:\w+ ){0,2}(?:working|ground|house|coding|project|general|standing) "
    r"(?:rules|conventions|constraints)\b"
    r"|\b(?:rules|conventions|constraints) (?:for|of|in) (?:this|the|our|my) "
    r"(?:whole |entire )?(?:project|repo\w*)",
    re.I,
)
"""A longer title of rules: that of a list of business rules is none."""
_LABELS = _TITLES | frozenset(
    """rule constraint restriction regel vorgabe règle contrainte regla restricción regra restrição regola
    vincolo beperking zasada ograniczenie правило ограничение""".split()
)
"""Words that may also stand before one rule: "Rule: no mocks"."""
_MARKS = _LABELS.union(*(forms.marks for forms in SPACED))
_LANGUAGES_BY_MARK = {
    mark: [number for number, forms in enumerate(SPACED) if mark in forms.marks] for mark in _MARKS
}
_EAST_ASIAN_TITLES = regex(
    r"(?:规则|規則|约束|約束|规范|規範|ルール|制約|규칙|제약|원칙)[\s\d*]*[:：]?[\s*]*$"
)
EAST_ASIAN = regex("[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]")
_KANA, _HANGUL = regex("[\u3040-\u30ff]"), regex("[\uac00-\ud7af]")
_TO_SPACES = dict.fromkeys(map(ord, ".,;:!?\"()[]{}<>*#_/+&=~`|\\\n\t-'@$%^"), " ")
_WORD = regex(r"[^\W_]+")
_FENCED = regex(r"^ {0,3}(```|~~~).*?^ {0,3}\1", re.S | re.M)
_GIVEN = regex(r"<(user_?(?:input|request|query|prompt)|command-args|arguments?)>(.*?)</\1>", re.S | re.I)
"""What the user gave to a command, in the prompt that the command made of it."""
_LOWER_SENTENCE = regex(
    r"(?:(?<=[^\W\d_A-Z]{2}[.!?])(?<!etc\.)(?<! vs\.)|(?<=[/)`'\"][.!?]))\s+(?=[a-zà-öø-ÿа-яё])"
)
"""Where a sentence ends and the next one begins in lower case."""
_LABEL = regex(r"[^\w\"'`(<\[{]{0,4}[^\W\d_][\w ]{0,24}?\s?[:：]\s*")
_TITLE = regex(r"\s{0,3}(?:(#{1,6}\s)|\*\*)?[^\n]{3,60}?([:：])?(?:\*\*)?([:：])?\s*$")
_PRINTED = regex(r"\b\w+(?:Error|Exception|Warning): |\bWARN(?:ING)?\b[\]:]")
"""A line that a program printed: what else stands on it is not the user's either."""
_ENTRY = regex(r"\s*(?:[-*•+]|\d{1,2}[.)])\s+\S")


class Sentence(NamedTuple):
    """A sentence that may say a rule or a permission."""

    text: str
    """As it is written."""
    low: str
    """As ``plain`` gives it."""
    words: frozenset[str]
    languages: list[RuleForms]
    """Those that it may be written in."""
    is_listed: bool
    """Whether it is an entry of a list of rules."""
    is_quoted: bool
    """Whether it stands in a text as long as those that people paste."""

    def label(self) -> tuple[int, bool]:
        """Where the label ends that the sentence begins with, 0 if there is none; and whether it announces a
        rule."""
        label = _LABEL.match(self.low) if ":" in self.low or "：" in self.low else None
        return (label.end(), _names_rules(label[0], _LABELS)) if label else (0, False)


@lru_cache(maxsize=8)
def sentences_of(message: str) -> tuple[Sentence, ...]:
    """The sentences that have one of the marks of a language, or that stand in a list of rules. A message is
    asked for its rules and its permissions, so they are remembered."""
    return tuple(_sentences_of(message))


def _sentences_of(message: str) -> Iterator[Sentence]:
    own = _own_words(message)
    is_document = _is_document(own)
    for prose in _ends(own):
        east = east_asian(prose)
        if "\n" in prose and not east and _MARKS.isdisjoint(words_of(prose)):
            continue
        prose = _FENCED.sub("\n", prose) if "```" in prose or "~~~" in prose else prose
        own_end = max(prose.find("\n\n"), 0) if is_document else len(prose)
        listed, at = False, 0
        for line in prose.split("\n"):
            words, quoted = words_of(line), at > own_end
            at += len(line) + 1
            if listed and not _ENTRY.match(line):
                listed = not line.strip()
            if _PRINTED.search(line):
                continue
            if listed or east or not _MARKS.isdisjoint(words):
                yield from _sentences_of_line(line, east, listed, quoted)
                may_announce = bool(east) or not _TITLES.isdisjoint(words)
                listed = listed or (may_announce and _announces_rules(line))


def words_of(text: str) -> list[str]:
    """The words of a text in lower case, without signs."""
    low = text.lower()
    return low.translate(_TO_SPACES).split() if low.isascii() else _WORD.findall(low)


def plain(text: str) -> str:
    """The text in lower case on one line, with straight apostrophes, and without emphasis and the targets of
    links."""
    return " ".join(unlinked(text).lower().replace("’", "'").replace("**", "").split())


def east_asian(text: str) -> list[RuleForms]:
    """The language of East Asia that the text is written in, if any."""
    if text.isascii() or not EAST_ASIAN.search(text):
        return []
    return [JAPANESE if _KANA.search(text) else KOREAN if _HANGUL.search(text) else CHINESE]


def _own_words(message: str) -> str:
    """What the user wrote of a message that a command may have written out."""
    template = given_to_template(message)
    if template is not None:
        return template[0]  # the rest is how a command works, which the user did not write for this work
    given = _GIVEN.search(message) if "</" in message else None
    return given[2].strip() if given else message


def _ends(message: str) -> list[str]:
    """The message; of a very long one, its beginning and its end."""
    if len(message) <= WHOLE_CHARS_MAX:
        return [message]
    return [message[:END_CHARS].rpartition("\n")[0], message[-END_CHARS:].partition("\n")[2]]


def _is_document(message: str) -> bool:
    """Whether a message is so long that most of it was pasted."""
    return len(message) > WHOLE_CHARS_MAX or (
        len(message) > _TYPED_CHARS_MAX and message.count("\n") >= _TYPED_LINES_MAX
    )


def _sentences_of_line(line: str, east: list[RuleForms], listed: bool, quoted: bool) -> Iterator[Sentence]:
    for part in verbatim_sentences(line):
        ends = ". " in part or "! " in part or "? " in part
        for text in _LOWER_SENTENCE.split(part) if ends else (part,):
            if text.count("**") % 2:
                text = text.strip("* ")  # the other half of the emphasis is in another sentence
            low = plain(text)
            if not _may_order(low):
                continue
            words = frozenset(words_of(text))
            languages = [forms for forms in (*_spaced(words, low), *east) if not forms.asks.match(low)]
            if languages or listed or not _LABELS.isdisjoint(words):
                yield Sentence(text, low, words, languages, listed, quoted)
                listed = False  # the rest of an entry explains its first sentence


def _may_order(low: str) -> bool:
    """Whether a sentence is more than a word, and no question, row of a table or half of a quotation."""
    if low[:1] in ("", "|") or low[-1] in "?？:：" or low.count('"') % 2:
        return False
    return " " in low or (not low.isascii() and len(low) >= 4)


def _spaced(words: frozenset[str], low: str) -> list[RuleForms]:
    """The languages with spaces that a sentence may be a rule in."""
    marked = {number for word in words for number in _LANGUAGES_BY_MARK.get(word, ())}
    return [
        forms
        for forms in (SPACED[number] for number in sorted(marked))
        if forms.foreign_words.isdisjoint(words) and (low.isascii() or not forms.foreign.search(low))
    ]


def _announces_rules(line: str) -> bool:
    """Whether a line is the title of a list of rules."""
    title = _TITLE.match(line) if not _ENTRY.match(line) else None
    return title is not None and any(title.groups()) and _names_rules(line, _TITLES)


def _names_rules(text: str, titles: frozenset[str]) -> bool:
    words = words_of(text)
    if not titles.isdisjoint(words) and (len(words) <= _TITLE_WORDS_MAX or _OF_PROJECT.search(text)):
        return True
    east = not text.isascii() and len(text) <= _TITLE_CHARS_MAX
    return east and _EAST_ASIAN_TITLES.search(text) is not None
