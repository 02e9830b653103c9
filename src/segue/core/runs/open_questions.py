"""What a message leaves open at its end: a question to the user, or an offer of what to do next.

A "yes, do that" says nothing by itself. What it answers is worked out when it is said, because the agent's
message is soon pushed out by newer ones; a bare number or letter gets the option that it chooses.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ..base.lazy import regex
from .sentences import is_substantial, sentences

if TYPE_CHECKING:
    from .model import RunDigest

OFFER_CHARS, _TAIL_CHARS = 400, 2_400
_CHOICE_CHARS = 40
_LATE, _PARTS_MAX = 6, 5
"""An offer stands among the last sentences of a message, and is told with at most four before it."""
_ASKS = regex(
    r"\b(?:want me to|would you like|(?:shall|should|can|could) (?:i|we)|say (?:go|so|the word)|your call"
    r"|if you(?:['\u2019]d| would)? (?:want|like|prefer)|let me know|whenever you"
    r"|when you(?:['\u2019]re ready| want| give))\b",
    re.I,
)
"""What leaves it to the user in so many words; an offer may also just say what the agent would do."""
_OFFERS = regex(
    r"\bi (?:can|could|would|suggest|recommend)\b|\bi['\u2019](?:d|ll)\b|\b(?:happy|ready) to\b|\bproposal\b"
    r"|\brecommend(?:ation|ed)?\b|\bnext (?:up|steps?|milestone)\b|\b(?:likely|proposed|right) fix\b",
    re.I,
)
_POINTS = regex(r"\b(?:th(?:is|ese|ose|at)|which|above|following|any of|it|they|them)\b", re.I)
_NOISE = regex(r"^(?:::|<|\W+$)")  # directives and tags for a program that shows the message, and rulers
_CHOICE = regex(
    r"^\W*(?:(?:ok(?:ay)?|yes|and|let['\u2019]?s|we|i|go|do|try|with|take|want|the|option|number)\W+)*"
    r"#?(?:([1-9])\b|([a-h])[.)!]*$)",
    re.I,
)
_GOING_ON = regex(
    r"^\W*(?:(?:ok(?:ay)?|yes|please|sorry|now)\W+)*(?:continue|go on|proceed|resume|keep going)\b", re.I
)


def asked(text: str) -> str:
    """What a message leaves to the user at its end; "" where it leaves nothing."""
    found = asking(text)
    last = sentences(found)[-1:] if found else []
    return found if last and _is_left(last[0]) else ""


def asking(text: str) -> str:
    """The question or offer at the end of a message, with what it is about; "" where there is none."""
    told = [one for one in sentences(text[-_TAIL_CHARS:]) if not _NOISE.match(one)]
    late = range(len(told) - 1, max(-1, len(told) - 1 - _LATE), -1)
    last = next((at for at in late if _is_open(told[at])), None)
    if last is None:
        return ""
    parts = [told[last]]
    for before in reversed(told[max(0, last - _PARTS_MAX + 1) : last]):
        full = is_substantial(" ".join(parts)) and not _POINTS.search(parts[0]) and not _is_open(before)
        if full or sum(map(len, parts)) + len(before) > OFFER_CHARS:
            break
        parts.insert(0, before)
    whole = [one if one[-1] in ".!?:;…," else f"{one}." for one in parts[:-1]]
    return " ".join([*whole, parts[-1]])[: 2 * OFFER_CHARS]


def offered(digest: RunDigest, prompt: str) -> str:
    """What a prompt answers that says nothing by itself, by the agent's last message."""
    if is_substantial(prompt):
        return ""
    last = next((one for one in reversed(digest.tail) if one.kind in ("say", "prompt")), None)
    said = last.text if last is not None and last.kind == "say" else ""
    chosen = _CHOICE.match(prompt) if len(prompt) <= _CHOICE_CHARS else None
    found = (_option(said, chosen[1] or chosen[2]) if chosen else "") or asking(said)
    return found or (digest.answers if _GOING_ON.match(prompt) else "")


def _is_open(sentence: str) -> bool:
    return _is_left(sentence) or _OFFERS.search(sentence) is not None


def _is_left(sentence: str) -> bool:
    return sentence.endswith("?") or _ASKS.search(sentence) is not None


def _option(text: str, mark: str) -> str:
    """The line of a message that a number or a letter stands for."""
    lines = re.findall(rf"(?mi)^\W*(?:option )?{re.escape(mark)} ?[\])*.:—-][ *]*(\w.*)$", text)
    return " ".join(lines[-1].replace("**", "").split())[:OFFER_CHARS] if lines else ""
