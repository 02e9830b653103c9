"""The agent's sentences, each with the label of the brief's line that it belongs to."""

from __future__ import annotations

import re

import msgspec

from ..base.lazy import regex
from ..runs import sentences
from ..runs.brief_labels import Label
from ..runs.model import RunDigest, SaidText


class Sentence(msgspec.Struct, gc=False):
    """A sentence of the agent, and the label that it belongs to."""

    text: str
    label: str
    at: int
    weight: float = 1.0


_LEAD = regex(
    r"^(?:(?:Perfect|Great|Excellent|Good|Okay|OK|Alright|Now|So|Hmm|Wait|Actually|Yes|Sure)\b[!,.:]?\s+"
    r"(?:—\s+)?)+(?=\S)"
)
_INTENT = regex(
    r"^(?:(?:let me|let's|i'll|i will|i'm going to|i need to|i should|i want to|i'm)\s+"
    r"(?:now |also |first |quickly |just )*)",
    re.I,
)
_GOING = regex(r"\b(?:let me|i'll|i will|i'm going to|i need to|next|now|remaining|still)\b", re.I)
_LEFT = regex(
    r"^next\b|\b(?:next steps?|remaining (?:work|steps?|tasks?|items?|todos?)|remains to|left to do|not yet|"
    r"still (?:needs?|to|open|missing|have to|has to|must|want))\b",
    re.I,
)
_DONE = regex(
    r"^[✅✓☑]|\b(?:added|fixed|updated|created|implemented|removed|renamed|moved|wrote|written|committed|pushed|merged|passes|"
    r"passed|passing|done|complete|completed|works|verified|replaced|refactored|resolved|succeeded|successful|"
    r"successfully|addressed|landed|deployed|released|published|shipped|finished|all \w+(?: \w+)? pass)\b",
    re.I,
)
_NOT_YET = regex(
    r"(?:n't|\b(?:not|never|cannot|nothing|none|without|be|until|once|before|if))\s+(?:\w+\s+){0,2}$", re.I
)
"""Matches what precedes a word of ``_DONE`` if the thing was not done."""
_FOUND = regex(
    r"\b(?:because|turns? out|root cause|caused?|reason|issue|problem|bug|found|discovered|noticed|"
    r"reali[sz]ed|requires?|needs?|must|only (?:works?|when|if)|\w+n't|cannot|not|missing|never|always|"
    r"instead|actually|fail(?:s|ed|ing)?|expect(?:s|ed)?|means)\b",
    re.I,
)
"""Matches sentences that state how things are; any other sentence is only a remark."""
_CHITCHAT = regex(
    r"^(?:Let me know|You're (?:absolutely )?right|Would you like|Want me to|Here(?:'s| is| are) )", re.I
)


def spoken(digest: RunDigest, *, finished: bool) -> list[Sentence]:
    """The sentences that the next run may need. If the turn is ``finished``, nothing in them is under way."""
    last_prompt = digest.prompts[-1].at if digest.prompts else 0
    result: list[Sentence] = []
    for age, message in enumerate(reversed(digest.says[-16:])):
        fresh = age < 2 and message.at > last_prompt
        new = _spoken(message, fresh, 1.25 if age == 0 else 1.1 if age == 1 else 1.0)
        result += map(_of_a_finished_turn, new) if finished else new
    for recap in digest.recaps[-1:]:
        new = _spoken(recap, recap.at > last_prompt, 1.2)
        result += map(_of_a_finished_turn, new) if finished else new
    for report in digest.reports[-2:]:
        new = [one for one in _spoken(report, False, 1.0) if not sentences.gives_orders(one.text)]
        result += [Sentence(one.text, Label.REPORTED, one.at, 0.9) for one in new]
    for note in digest.notes[-4:]:
        result.append(Sentence(note.text, Label.LAST_STEPS, note.at, 1.0))
    if digest.summary:
        result += _spoken(digest.summary, False, 0.9)
    return result


def _spoken(said: SaidText, fresh: bool, weight: float) -> list[Sentence]:
    found = []
    for raw in sentences.sentences(said.text):
        text = _LEAD.sub("", raw)
        going = fresh and _GOING.search(text) is not None
        label = (
            Label.UNDER_WAY if going
            else Label.DECIDED if sentences.is_choice(text)
            else Label.DONE if _is_done(text)
            else Label.UNDER_WAY if fresh
            else Label.LEARNT if _FOUND.search(text)
            else Label.NOTED
        )  # fmt: skip
        if label != Label.UNDER_WAY and _INTENT.match(text):
            label = Label.LAST_STEPS
        text = _INTENT.sub("", text)
        if text.endswith("?"):
            if not fresh:
                continue
            label = Label.ASKED_THE_USER
        if 18 <= len(text) <= 320 and not _CHITCHAT.match(text) and " " in text and text.count(",") < 8:
            text = text[0].upper() + text[1:]
            found.append(
                Sentence(text.rstrip(":") + "." if text.endswith(":") else text, label, said.at, weight)
            )
    return found


def _is_done(text: str) -> bool:
    return any(not _NOT_YET.search(text, 0, found.start()) for found in _DONE.finditer(text))


def _of_a_finished_turn(one: Sentence) -> Sentence:
    if one.label != Label.UNDER_WAY:
        return one
    return Sentence(one.text, Label.NEXT if _LEFT.search(one.text) else Label.LAST_SAID, one.at, one.weight)
