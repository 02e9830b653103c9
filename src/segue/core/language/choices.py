"""Sentences in which an agent says what it chose, and why.

A choice binds those who come after; a next step does not. "I decided to compare in UTC because …" is one, "I
decided to look at the parser first" is none. In doubt it is none.
"""

from __future__ import annotations

import re

from ..base.lazy import regex
from .sentences import sentences

CHOICES_MAX, BYTES_MIN, CHARS_MAX = 4, 15, 400
_MARKS = (  # every choice contains one of these
    "decid", "decision", "chose", "opted", "settled on", "went with", "go with", "going with", "instead of",
    "rather than", "entschied", "entscheidung", "décid", "décision", "choisi", "opté", "decid", "decis",
    "elegí", "opté", "escolhi", "optei", "deciso", "scelto", "besloten", "gekozen", "besluit", "decyzja",
    "zdecydował", "wybrał", "решил", "выбрал", "决定", "決定", "选择", "選擇", "选用", "采用", "採用", "決め",
    "選び", "ことにし", "결정", "선택", "하기로",
)  # fmt: skip
_NO_STEP = (
    r"(?!\s*(?:to\s+)?(?:look|check|compare\s+(?:the|both|them)|try|read|see|wait|investigate|start|begin"
    r"|first|explore|continue|proceed|verify|run|ask)\b)"
)
_CLAUSE = r"(?:^|[;:—–,(]\s*|\b(?:so|and|but|therefore|thus|hence|then)\s+)\W{0,3}"
_DECIDED = regex(
    _CLAUSE + r"(?:for now,? )?(?:"
    r"(?:i|we)(?:['’]ve| have)?(?: (?:finally|deliberately|explicitly|therefore))? "
    r"(?:decided(?: (?:on|against|for|that|not|to))?\b|(?:chose|chosen|opted|settled on|went with)\b)"
    + _NO_STEP
    + r"|(?:i|we)(?:['’]| wi)ll go with\b|let['’]?s go with\b|going with\b"
    r"|(?:my |the |our |key |design )?decision(?: (?:here|made|taken))?(?: is)?: *|decided: *|chose\b"
    r"|ich habe mich (?:dafür|dagegen|für|gegen)\b|ich habe entschieden\b|entscheidung: *"
    r"|j['’]ai (?:décidé|choisi|opté)\b|décision ?: *|(?:he )?(?:decidido|decidí|elegí|optado|opté) "
    r"|decisión: *|(?:eu )?(?:decidi|escolhi|optei)\b|decisão: *|ho (?:deciso|scelto|optato)\b|decisione: *"
    r"|ik heb (?:besloten|gekozen)\b|besluit: *|zdecydowa(?:łem|łam)\b|wybra(?:łem|łam)\b|decyzja: *"
    r"|я (?:решила?|выбрала?)\b|我(?:决定|決定|选择|選擇|选用|采用|採用)|(?:决定|決定)[:：]"
    r")|(?:ことにしました|に決めました|を選びました|を採用しました)"
    r"|(?:하기로 (?:했습니다|결정)|결정했습니다|선택했습니다)",
    re.I,
)
_CONTRASTS = regex(
    _CLAUSE + r"(?:i|we)(?:['’]ll| will|['’]m|['’]re| am| are)? (?:now )?"
    r"(?:use|using|keep|keeping|kept|used|store|storing|put|putting|stick|sticking|switched|made)\b"
    r".{3,160}\b(?:instead of|rather than)\b",
    re.I,
)
_WHY = regex(
    r"(?:because|since|the reason|reason:|that way|this (?:way|keeps|avoids)|otherwise|weil|denn|grund|parce"
    r"|car|porque|perché|omdat|потому|因为|因為|なぜなら|왜냐하면)",
    re.I,
)
_NO_CHOICE = regex(
    r"(?-i:^\W*[A-Z][A-Z ]+:)|\?\s*$|^\W*(?:if|whether|unless|when|once|should|let me know|you (?:can"
    r"|could|decided|chose))\b"
    r"|\b(?:haven't|have not|not yet|can't|cannot) decided?\b|\bto be decided\b|\bthe user\b|\byou decide\b",
    re.I,
)


def choices_in(text: str) -> list[str]:
    """The choices in an agent's message, each as it was said, with the sentence after it that says why."""
    low = text.lower()
    if not any(mark in low for mark in _MARKS):
        return []
    told = sentences(text)
    choices: list[str] = []
    for at, sentence in enumerate(told):
        if not is_choice(sentence):
            continue
        reason = told[at + 1] if at + 1 < len(told) and _WHY.match(told[at + 1]) else ""
        whole = f"{sentence} {reason}" if reason else sentence
        choices.append(whole if len(whole) <= CHARS_MAX else sentence)
    return choices[:CHOICES_MAX]


def is_choice(sentence: str) -> bool:
    """Whether somebody says what they chose, and not only what they do next."""
    if len(sentence.encode()) < BYTES_MIN or len(sentence) > CHARS_MAX or _NO_CHOICE.search(sentence):
        return False
    return _DECIDED.search(sentence) is not None or _CONTRASTS.search(sentence) is not None
