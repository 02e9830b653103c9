"""Standing instructions: the sentences of a prompt that hold beyond it, recognised by their form.

Agents obey what a brief shows as standing. So a sentence counts only if it is an order: not a question, with
or without a question mark, not a request for the moment, and not a remark about how things are. A later
message takes a rule or a choice back if it names it and says that it no longer holds.
"""

from __future__ import annotations

import re

from ..base.lazy import regex
from ..base.stem import stem
from .sentences import given_to_template, sentences

PROMPT_CHARS_MAX = 6_000
SENTENCE_CHARS_MIN, SENTENCE_CHARS_MAX = 12, 200
RULES_MAX = 6
_WORDS_MIN = 4
_MARKS = (  # every rule contains one of these
    "not", "n't", "never", "always", "must", "should", "only ", "prefer", "from now on", "make sure", "avoid",
    "remember", "ensure", "stop ", "no need", "keep in mind", "instead of", "rather than", "dont",
)  # fmt: skip
_STARTS = r"(?:^|[,;:(.!?*-]\s*|\b(?:and|but|please|also|then)\s+)"
_ORDER = regex(
    rf"{_STARTS}(?:(?:never|always)\b(?!\s+(?:be|been|has|have|had|is|was|just|\w+ed)\b)"
    r"|(?:do not|don't|dont)\b(?!\s+(?:like|see|know|think|worry|care|mind)\b)"
    r"|(?:prefer|avoid|remember (?:to|that|not)|stop \w+ing|keep in mind)\b"
    r"|(?:make sure|ensure)\b.{0,40}\b(?:never|always|not|don't|dont|every|each|whenever|all|stays?"
    r"|remains?)\b"
    r"|only (?:use|do|change|touch|edit|run)\b|(?:always )?use\b.{1,40}\b(?:not|instead of|rather than)\b)"
    r"|\b(?:you|we) (?:must|should) (?:not|never|always|only|keep|leave|preserve)\b|\bfrom now on\b",
    re.I,
)
_OURS = regex(r"\bwe (?:do not|don't|dont) (?:need|want|use|have to|support|ship)\b", re.I)
_HEDGED = regex(
    r"\b(?:perhaps|maybe|i (?:think|thought|guess)|if we|so(?: that)? (?:we|you)|not sure)\b", re.I
)
_ASKS = regex(
    r"(?i)^(?:(?:and|but|also|so|ok|okay|well|hmm|oh|yeah|then)[,. ]+)*"
    r"(?:is|are|was|were|can|could|would|does|did|do (?:you|we|i)|should (?:we|i)|shouldn't|"
    r"how|what|whats|what's|why|which|who)\b"
)
_PRINTED = regex(
    r"^\s*(?:at\s|[\[{<|>$]|\d{4}-\d\d-\d\d|(?:error|warning|warn|info|debug|fatal|hint|note|npm)\b\S*[:!]"
    r"|\S+:\d+|[\w.]*(?:Error|Exception|Warning):)|\b\w+(?:Error|Exception):|::",
    re.I,
)
"""Lines that a program printed and the user pasted."""
_FENCED = regex(r"^ {0,3}(```|~~~).*?^ {0,3}\1", re.S | re.M)
_FRENCH = regex(r"(?i)[à-ÿ]|\b(?:les|une|est|sont|nous|vous|des|du|au)\b")
"""In French "dont" is not a negation."""
_WAITS = regex(
    r"(?:\bnot|n't|\bdont)\s+(?:(?:\w+\s+){0,3}"
    r"(?:act|implement|code|start|begin|change|edit|write|make|do|touch|modify|build|fix|add)\b"
    r".{0,40}\b(?:yet|for now)\b"
    r"|(?:implement|act|make any changes|change anything|do anything)(?: anything| it| this)?"
    r"\s*(?:$|[.,;!]|just\b))",
    re.I,
)
"""Matches orders to wait, which hold only for the request that they are part of."""


_CLAUSE = regex(r"[,;:\n]|\s(?:and|but|und|aber|et|mais|y|pero)\s", re.I)
_FORGETS = regex(
    r"\b(?:forget|ignore|drop|scrap|lift|withdraw|disregard|never ?mind|cancel|revoke|vergiss|ignoriere"
    r"|oublie[zr]?|olvida)\b.*\b(?:rules?|instructions?|restrictions?|ban|decisions?|choices?|never|always"
    r"|not|regel|vorgabe|entscheidung|nie|immer|règle|regla|nunca)\b"
    r"|\b(?:rules?|restrictions?|ban|decisions?|regel|règle|regla)\b.*\b(?:lifted|withdrawn|dropped|gone|over)\b",
    re.I,
)
"""Matches clauses that take back a rule or a decision and call it so."""
_ALLOWS = regex(
    r"\b(?:you|we) (?:may|can|are allowed to) (?!want|need|have|see|also)"
    r"|\b(?:is|are|it'?s) (?:now )?(?:fine|ok|okay|allowed)\b|\bfeel free to\b"
    r"|\bdu darfst\b|\bdarfst du\b|\bist (?:jetzt )?erlaubt\b|\b(?:tu peux|vous pouvez|puedes)\b",
    re.I,
)
"""Matches permissions, which end a prohibition."""
_ENDS = regex(
    r"\bno longer\b|\bany ?more\b|\bafter all\b|\binstead\b|\bchanged my mind\b"
    r"|\b(?:don't|do not|needn't|need not) (?:need|have)\b|\bnicht mehr\b|\bstattdessen\b"
    r"|\bne .{1,30} plus\b|\bya no\b",
    re.I,
)
"""Matches words that say that something was so until now."""
_NEGATES = regex(
    r"\b(?:never|not|no|avoid|without|nicht|nie|niemals|kein\w*|jamais|pas|nunca|dont)\b|n['’]t\b", re.I
)
_BACK_MARKS = (  # every message that takes something back contains one of these
    "forget", "ignor", "drop", "scrap", "lift", "withdraw", "disregard", "mind", "cancel", "revoke",
    "vergiss", "oublie", "olvida", "rule", "restriction", "ban", "decision", "regel", "règle", "regla",
    " may ", " can ", "allowed", "fine", "ok", "free to", "darfst", "erlaubt", "peux", "pouvez", "puedes",
    "no longer", "more", "after all", "instead", "need", "have", "nicht mehr", "stattdessen", " plus",
    "ya no",
)  # fmt: skip
_NAMING = regex(r"[^\W_]{2,}")
_ORDERING = frozenset(
    """a an the and or of to in for on with by from at is are be it this that as if then but so can will has
    have i you we my our your please do don't dont does not never always must should only use run make sure
    keep when before after every each any all no than rather instead avoid prefer ensure remember from now
    rule der die das und nie immer nicht zu im in""".split()
)


def takes_back(said: str, text: str) -> bool:
    """Whether a later message withdraws a rule or a choice: it says so, and it shares its words."""
    low = text.lower()
    if not any(mark in low for mark in _BACK_MARKS):
        return False
    named = _names(said)
    if not named or not any(mark.search(text) for mark in (_FORGETS, _ALLOWS, _ENDS)):
        return False
    prohibits = _NEGATES.search(said) is not None
    for clause in (part for sentence in sentences(text) for part in _CLAUSE.split(sentence)):
        shared = len(named & _names(clause))
        if shared and 3 * shared >= len(named) and _FORGETS.search(clause):
            return True
        if shared < min(2, len(named)) or 2 * shared < len(named):
            continue
        allows = prohibits and _ALLOWS.search(clause) and not _NEGATES.search(clause)
        if allows or _ENDS.search(clause):
            return True
    return False


def _names(text: str) -> set[str]:
    """What a sentence is about: the stems of its words, without those of orders."""
    words = (word.lower() for word in _NAMING.findall(text))
    return {stem(word) for word in words if word not in _ORDERING}


def standing_rules(prompt: str) -> list[str]:
    """The rules and corrections in a prompt, at most ``RULES_MAX``."""
    if len(prompt.split(None, _WORDS_MIN - 1)) < _WORDS_MIN:  # "go on"
        return []
    template = given_to_template(prompt)
    if template is not None:
        prompt = template[0]  # the rest is how a command works, which the user did not write for this work
    if len(prompt) > PROMPT_CHARS_MAX or not _may_have_rule(prompt):
        return []
    prose = _FENCED.sub("\n", prompt) if "```" in prompt or "~~~" in prompt else prompt
    return [sentence for sentence in sentences(prose) if _is_rule(sentence)][:RULES_MAX]


def _may_have_rule(text: str) -> bool:
    low = text.lower()
    return any(map(low.__contains__, _MARKS))


def _is_rule(sentence: str) -> bool:
    if not SENTENCE_CHARS_MIN <= len(sentence) <= SENTENCE_CHARS_MAX or not _may_have_rule(sentence):
        return False
    if sentence[-1] in "?:" or sentence.startswith("//") or len(sentence.split()) < _WORDS_MIN:
        return False
    if _PRINTED.search(sentence) or _ASKS.search(sentence) or _WAITS.search(sentence):
        return False
    if "dont" in sentence.lower() and _FRENCH.search(sentence):
        return False
    if _ORDER.search(sentence):
        return True
    return _OURS.search(sentence) is not None and _HEDGED.search(sentence) is None
