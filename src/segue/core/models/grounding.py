"""Grounding: checking what a model said about a transcript against that transcript.

A claim names the steps or files that it rests on. It is kept only if the model was given these, if they
contain every significant word of the claim in the same order and sense, and if nothing that was observed
contradicts it, such as a check that failed or an item that is not finished. Every other claim is dropped and
counted, with the reason. What is kept is as trusted as the least trusted voice that it rests on. Whatever a
model sends, nothing here raises, and nothing is accepted unchecked.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from ..base.lazy import regex
from ..base.page import plain
from ..base.stem import stem
from ..base.values import Value
from ..brief.facts import BriefFacts, Claim
from ..brief.manifest_words import pending_calls
from ..language import sentences
from ..language.sentences import COMMON
from ..runs.identifiers import NAME, is_name

CLAIMS_MAX = 12
CHARS_MIN, CHARS_MAX = 12, 280
EVIDENCE_MAX = 6
WINDOW_SENTENCES = 2
WINDOW_SHARE = 0.75  # of a claim's words, in one place of what it rests on

KINDS = ("decision", "rejected", "learnt", "next", "risk")
VOICES = ("user", "agent", "fact", "tool")  # the most trusted first
SPEAKS = ("user", "agent")  # whose words may name an address


class ClaimSource(Value):
    """Something of a transcript that a claim may rest on."""

    id: str
    """``s41``: step 41; else the path of a file."""
    voice: str
    text: str
    at: int = 0


class Dropped(Value):
    """A claim that did not hold, and why."""

    reason: str
    text: str = ""


class Grounded(Value):
    """What remains of an answer."""

    kept: tuple[Claim, ...] = ()
    dropped: tuple[Dropped, ...] = ()

    @property
    def reasons(self) -> dict[str, int]:
        """How many were dropped, by reason."""
        return dict(Counter(one.reason for one in self.dropped))


class ObservedFacts(Value):
    """What was observed, as far as a claim can contradict it."""

    finished: tuple[str, ...] = ()
    unfinished: tuple[str, ...] = ()
    failing: tuple[str, ...] = ()
    running: tuple[str, ...] = ()
    """Calls that have no result, and what goes on in the background."""
    uncommitted: bool = False
    unpushed: bool = False
    """Whether there is a commit since which no push was seen."""


def observed(shown: BriefFacts) -> ObservedFacts:
    """What was observed, of all the facts of a brief: no claim may contradict it."""
    tree, probe = shown.tree, shown.probe
    dirty = probe.dirty if probe is not None and probe.head and not probe.cut else tree.changed
    return ObservedFacts(
        finished=(*shown.plan_done, *(commit.subject for commit in tree.commits)),
        unfinished=tuple(task.text for task in shown.plan),
        failing=tuple(f"{one.what} {one.why}" for one in shown.failing),
        running=(*pending_calls(shown), *(one.what for one in tree.running.values())),
        uncommitted=bool(dirty),
        unpushed=bool(tree.commits) and tree.pushed < tree.commits[-1].at,
    )


def ground(claims: Iterable[Any], sources: Sequence[ClaimSource], facts: ObservedFacts) -> Grounded:
    """Which of these claims hold, and why the others do not."""
    known = {source.id: source for source in sources}
    kept: list[Claim] = []
    dropped: list[Dropped] = []
    for place, raw in enumerate(claims):
        if place >= 4 * CLAIMS_MAX:
            dropped.append(Dropped("too many"))
            break
        claim, reason = _judged(raw, known, facts)
        if claim is not None and len(kept) >= CLAIMS_MAX:
            claim, reason = None, "too many"
        if claim is not None and any(_key(claim.text) == _key(one.text) for one in kept):
            claim, reason = None, "said twice"
        if claim is not None:
            kept.append(claim)
        else:
            dropped.append(Dropped(reason, _shown(raw)))
    return Grounded(tuple(kept), tuple(dropped))


def holds(claim: Claim, facts: ObservedFacts) -> bool:
    """Whether nothing that was observed since contradicts a claim."""
    return not _contradiction(claim.kind, claim.text, facts)


def _judged(raw: Any, known: dict[str, ClaimSource], facts: ObservedFacts) -> tuple[Claim | None, str]:
    if not isinstance(raw, dict):
        return None, "wrong type"
    kind, text, named = raw.get("kind"), raw.get("text"), raw.get("evidence")
    if not isinstance(kind, str) or not isinstance(text, str) or not isinstance(named, list):
        return None, "wrong type"
    if kind not in KINDS:
        return None, "unknown kind"
    text = plain(" ".join(text[: 4 * CHARS_MAX].split()))
    if not CHARS_MIN <= len(text) <= CHARS_MAX:
        return None, "length"
    if gives_orders(text):
        return None, "gives orders"
    if not named or len(named) > EVIDENCE_MAX or not all(isinstance(one, str) for one in named):
        return None, "no evidence"
    cited = [known[one] for one in dict.fromkeys(named) if one in known]
    if len(cited) != len(set(named)):
        return None, "evidence not in the transcript"
    if any(source.voice not in SPEAKS and gives_orders(source.text) for source in cited):
        return None, "evidence that gives orders"
    voices = {source.voice for source in cited}
    if voices <= {"tool", "fact"} and kind not in ("learnt", "risk"):
        return None, "no word of user or agent"
    reason = _unsupported(text, cited) or _contradiction(kind, text, facts)
    if reason:
        return None, reason
    trust = max(voices, key=VOICES.index)
    spoken = [source.at for source in cited]
    return Claim(kind, text, tuple(source.id for source in cited), trust, max(spoken)), ""


def _shown(raw: Any) -> str:
    text = raw.get("text") if isinstance(raw, dict) else raw
    return plain(" ".join(text[:CHARS_MAX].split())) if isinstance(text, str) else ""


def _key(text: str) -> str:
    return re.sub(r"\W+", " ", text.lower()).strip()


_ORDERS = regex(
    r"^\W*(?:you|please|always|never|must|ignore|disregard|forget|pretend|act as|do not|don't|remember)\b"
    r"|\b(?:curl|wget)\b.*\|\s*(?:ba|z|da)?sh\b|\brm\s+-\w*[rf]|[<>{}]|```|[\[(]/?segue[\])]"
    r"|\b(?:api[ _-]?key|password|credential|secret)s?\b.{0,40}\b(?:send|post|upload|print|paste|exfiltrat)"
    r"|\b(?:send|post|upload|print|paste|exfiltrat)\w*\b.{0,40}\b(?:api[ _-]?key|password|credential|secret)",
    re.I,
)


def gives_orders(text: str) -> bool:
    """Whether a text gives orders to its reader, or contains a command that nobody should run because of
    it."""
    return sentences.gives_orders(text) or _ORDERS.search(text) is not None


# -- is it supported by what it names?

_PATH = regex(r"[\w.~-]*(?:/[\w.~-]+)+/?|\b[\w-]+\.[a-z][a-z0-9]{0,4}\b")
_NUMBER = regex(r"(?<![\w.])\d+(?:[.,:]\d+)*%?(?![\w])")
_URL = regex(r"\bhttps?://\S+|\bwww\.\S+", re.I)
_TICKED = regex(r"`([^`]+)`")
_WORD = regex(r"[^\W_](?:[\w'’-]*[^\W_])?")
_SPLIT = regex(r"(?<=[.!?;])\s+|\n+")
_NOT = regex(
    r"\b(?:not|never|no|none|nor|neither|without|cannot|reject\w*|avoid\w*|refus\w*|against|abandon\w*|"
    r"instead|rather|unlike|nothing|fail\w*|stop\w*)\b|n['’]t\b",
    re.I,
)
_PERHAPS = regex(
    r"\b(?:if|unless|maybe|perhaps|might|may|could|would|should|possibly|probably|only|until|except|when|"
    r"whether|seems?|likely|suppose\w*|assum\w*|think|guess)\b|\?",
    re.I,
)
_GLUE = frozenset(
    stem(word)
    for word in """decided decide decision chose choose chosen choice picked because since therefore reason
    said says told asked wants wanted tried attempt attempted approach option agent user run step work project
    next then also that which was were has have had been for the and are with from into its this it is be to
    of in on at by as an or we i they he she their our my so not no never""".split()
)


def _stems(text: str) -> list[str]:
    """The significant words, as stems and in order."""
    found = []
    for match in _WORD.finditer(text.lower()):
        word = stem(match.group().replace("’", "'"))
        if len(word) > 1 and word not in _GLUE:
            found.append(word)
    return found


def _unsupported(text: str, cited: Sequence[ClaimSource]) -> str:
    """Why the sources that a claim names do not support its text; empty if they do."""
    whole = "\n".join(source.text for source in cited)
    low = whole.lower()
    spoken = "\n".join(source.text for source in cited if source.voice in SPEAKS).lower()
    if any(one.lower() not in spoken for one in _addresses(text)):
        return "an address that nobody named"
    for exact in _exact(text):
        if not _occurs(exact.lower(), low):
            return "names nothing that occurs there"
    said = _stems(text)
    if len({word for word in said if word not in COMMON}) < 2 and len(set(said)) < 3:
        return "says too little"
    if set(said) - set(_stems(whole)):
        return "not in the words of its evidence"
    window = _nearest(said, cited)
    there = _stems(window)
    if len(set(said) & set(there)) < WINDOW_SHARE * len(set(said)):
        return "put together from several places"
    if not _in_order([word for word in said if word in set(there)], there):
        return "in another order than its evidence"
    if bool(_NOT.search(text)) != bool(_NOT.search(window)):
        return "says the opposite"
    if _PERHAPS.search(window) and not _PERHAPS.search(text):
        return "surer than its evidence"
    return ""


def _exact(text: str) -> list[str]:
    """What a source must contain letter by letter: paths, addresses, commands, identifiers, numbers."""
    found = _addresses(text)
    bare = _URL.sub(" ", text)
    found += _TICKED.findall(bare)
    found += [one.rstrip(".") for one in _PATH.findall(bare)]
    found += [one for one in NAME.findall(bare) if is_name(one)]
    found += _NUMBER.findall(bare)
    return [one for one in found if one]


def _addresses(text: str) -> list[str]:
    return [one.rstrip(".,;:)") for one in _URL.findall(text)]


def _occurs(exact: str, text: str) -> bool:
    """Whether a text contains a word by itself, not as a part of something longer."""
    at = text.find(exact)
    while at >= 0:
        before, behind = text[at - 1 : at] if at else "", text[at + len(exact) : at + len(exact) + 1]
        if not (_joins(before) and _joins(exact[0])) and not (_joins(behind) and _joins(exact[-1])):
            return True
        at = text.find(exact, at + 1)
    return False


def _joins(letter: str) -> bool:
    return bool(letter) and (letter.isalnum() or letter == "_")


def _nearest(said: Sequence[str], cited: Sequence[ClaimSource]) -> str:
    """The sentence, or pair of sentences, in the sources that has most of these words."""
    wanted = set(said)
    best, most = "", (-1, 0)
    for source in cited:
        parts = [part for part in _SPLIT.split(source.text) if part.strip()]
        for length in range(1, WINDOW_SENTENCES + 1):
            for at in range(max(1, len(parts) - length + 1)):
                window = " ".join(parts[at : at + length])
                rank = (len(wanted & set(_stems(window))), -len(window))
                if rank > most:
                    best, most = window, rank
    return best


def _in_order(said: Sequence[str], there: Sequence[str]) -> bool:
    """Whether all words of the one occur in the other, in the same order."""
    left = iter(there)
    return all(any(word == other for other in left) for word in said)


# -- does something that was observed contradict it?

_FINISHED = regex(
    r"\b(?:done|complete[ds]?|completely|finish\w*|pass(?:es|ed|ing)?|green|verified|works?|working|ready|"
    r"merged|deployed|shipped|proven|fixed|resolved|solved|succe\w+|implemented|all set|"
    r"no (?:errors?|failures?|longer))\b",
    re.I,
)
_PROOF = regex(r"\b(?:pass\w*|green|verified|works?|working|proven|tests?|checks?|succe\w+|fixed)\b", re.I)

_ALL_COMMITTED = regex(
    r"\b(?:all|everything|every change|the changes?)\b.{0,40}\b(?:is|are|was|were)? ?committed\b"
    r"|working tree (?:is )?clean", re.I,
)  # fmt: skip
_PUSHED = regex(r"\b(?:is|are|was|were|been|and|i) pushed\b|^\W*pushed\b", re.I)


def _contradiction(kind: str, text: str, facts: ObservedFacts) -> str:
    """What was observed that contradicts a text; empty if nothing does."""
    claims_end = _FINISHED.search(text) is not None and _NOT.search(text) is None
    if claims_end:
        if any(_about(text, item) for item in facts.unfinished):
            return "an item that is not finished"
        if facts.failing and _PROOF.search(text):
            return "a check that failed"
        if any(_about(text, call) for call in facts.running):
            return "a call that has no result"
        if not any(_about(text, item) for item in facts.finished):
            return "nothing was seen to be finished"
    if _NOT.search(text) is None and kind != "next":
        if facts.uncommitted and _ALL_COMMITTED.search(text):
            return "changes that are not committed"
        if facts.unpushed and _PUSHED.search(text):
            return "a push that nobody saw"
    if kind == "next" and any(_about(text, item) for item in facts.finished):
        return "an item that is finished"
    return ""


def _about(text: str, item: str) -> bool:
    """Whether a text is about an item, that is, contains most of the item's words."""
    wanted = {word for word in _stems(item) if word not in COMMON}
    return bool(wanted) and len(wanted & set(_stems(text))) >= 0.6 * len(wanted)
