"""Whether an agent's last message claims that the work is done.

A claim is a sentence near the end that says so about the work as a whole. A message that asks, plans, waits
or says that something is left does not claim it. In case of doubt there is no claim, because a gate that
holds up the answer to a question helps nobody.
"""

from __future__ import annotations

import re

from ..base.lazy import regex

_TAIL_CHARS = 1_200
_DONE = regex(
    r"""
    (?:^|[\s(*_])(?:
        all\s+(?:\w+\s+){0,3}(?:done|set|complete[d]?|finished|implemented|pass(?:es|ed|ing)?)
      | (?:everything|it|this|that|work|tasks?|features?|items?|implementation|refactor(?:ing)?|migration|fix|
          job|goal|they)
        (?:'s|\s+is|\s+are|\s+has\s+been|\s+have\s+been)?\s+(?:now\s+|all\s+|fully\s+)*
        (?:done|complete[d]?|finished|implemented|in\s+place|ready|works?|working)
      | (?:i\s+have|i've|i|we|we've|we\s+have)\s+(?:now\s+|successfully\s+|just\s+)*
        (?:finished|completed|implemented|fixed|done)
      | (?:successfully|fully)\s+(?:implemented|completed|finished|fixed)
      | (?:the\s+)?(?:tests?|checks?|suite)\s+(?:all\s+|now\s+)*pass(?:es|ed)?
      | (?:^|[.!\n]\s*)(?:fixed|implemented|merged|pushed|released|shipped|behoben|corrigé
          |arreglado)[.!]
      | (?:done|complete|completed|finished|fertig|erledigt|terminé|listo|hecho)\s*(?:[.,!:)✅*_]|\Z)
    )
    """,
    re.I | re.X,
)
_LEFT = regex(
    r"\b(?:not|isn't|aren't|n't|never|until|once|when|if|before|after|partially|partly|almost|nearly|half)\b"
    r"[^.!?\n]{0,40}$",
    re.I,
)
_OPEN = regex(
    r"\b(?:still (?:need|have|has|to|missing|fail)|remain(?:s|ing)|left to do|to do next|next step|"
    r"i(?:'ll| will) (?:now|next|continue|go on)|not (?:yet|done|finished|complete)|todo)\b",
    re.I,
)

_PARTLY = regex(
    r"(?i)\b(?:for now|so far|that much|for the moment|half|partly|partially|first part|the first step)\b"
)


def says_partly(message: str) -> bool:
    """Whether a message says that what is done is not all."""
    return _PARTLY.search(message) is not None


def says_unfinished(message: str) -> bool:
    """Whether a message says by either that something is left."""
    return leaves_open(message) or says_partly(message)


def leaves_open(message: str) -> bool:
    """Whether the end of a message says that something is left to do."""
    return _OPEN.search(message.strip()[-_TAIL_CHARS:]) is not None


def claims_done(message: str) -> bool:
    """Whether a message says that the work is done."""
    text = message.strip()[-_TAIL_CHARS:]
    if not text or text.endswith("?") or _OPEN.search(text):
        return False
    return any(not _LEFT.search(text[: claim.start() + 1]) for claim in _DONE.finditer(text))
