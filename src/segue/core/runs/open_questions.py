"""What a message of the agent leaves open at its end: a question to the user, or an offer what to do next.

A prompt like "yes, do that" means nothing by itself. What it answers is determined as soon as it is read,
because newer messages soon displace the agent's; for a mere number or letter it is the option that it
selects.
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
"""An offer is among the last ``_LATE`` sentences of a message, and is quoted with up to four before it."""
_ASKS = regex(
    r"\b(?:want me to|would you like|(?:shall|should|can|could) (?:i|we)|say (?:go|so|the word)|your call"
    r"|if you(?:['\u2019]d| would)? (?:want|like|prefer)|let me know|whenever you"
    r"|when you(?:['\u2019]re ready| want| give))\b",
    re.I,
)
"""Phrases that explicitly leave a decision to the user; other offers only say what the agent would do."""
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


def open_question(text: str) -> str:
    """The question that a message leaves to the user at its end, or an empty text."""
    question = question_or_offer(text)
    last = sentences(question)[-1:] if question else []
    return question if last and _is_left(last[0]) else ""


def question_or_offer(text: str) -> str:
    """The question or offer at the end of a message, with the sentences that explain it, or an empty text."""
    said = [sentence for sentence in sentences(text[-_TAIL_CHARS:]) if not _NOISE.match(sentence)]
    late = range(len(said) - 1, max(-1, len(said) - 1 - _LATE), -1)
    last = next((at for at in late if _is_open(said[at])), None)
    if last is None:
        return ""
    parts = [said[last]]
    for before in reversed(said[max(0, last - _PARTS_MAX + 1) : last]):
        is_clear = is_substantial(" ".join(parts)) and not _POINTS.search(parts[0]) and not _is_open(before)
        if is_clear or sum(map(len, parts)) + len(before) > OFFER_CHARS:
            break
        parts.insert(0, before)
    context = [part if part[-1] in ".!?:;…," else f"{part}." for part in parts[:-1]]
    return " ".join([*context, parts[-1]])[: 2 * OFFER_CHARS]


def answered_offer(digest: RunDigest, prompt: str) -> str:
    """What a prompt answers, according to the agent's last message; empty if the prompt speaks for itself."""
    if is_substantial(prompt):
        return ""
    last = next((step for step in reversed(digest.tail) if step.kind in ("say", "prompt")), None)
    message = last.text if last is not None and last.kind == "say" else ""
    choice = _CHOICE.match(prompt) if len(prompt) <= _CHOICE_CHARS else None
    offer = (_option(message, choice[1] or choice[2]) if choice else "") or question_or_offer(message)
    return offer or (digest.answers if _GOING_ON.match(prompt) else "")


def _is_open(sentence: str) -> bool:
    return _is_left(sentence) or _OFFERS.search(sentence) is not None


def _is_left(sentence: str) -> bool:
    return sentence.endswith("?") or _ASKS.search(sentence) is not None


def _option(text: str, mark: str) -> str:
    """The line of a message that a number or a letter refers to."""
    lines = re.findall(rf"(?mi)^\W*(?:option )?{re.escape(mark)} ?[\])*.:—-][ *]*(\w.*)$", text)
    return " ".join(lines[-1].replace("**", "").split())[:OFFER_CHARS] if lines else ""
