"""What a word or a name of the last steps is worth to the next run.

Worth is the chance that the run would say or use it next. The weights are a logistic fit over some hundred
transcripts of twenty projects, rounded; scores are flat around them. Only the texts that a digest keeps are
looked at, so the cost does not grow with the transcript.
"""

from __future__ import annotations

import math
from collections import Counter
from itertools import chain

import msgspec

from segue.core.digest import RunDigest, Trace, Words, tail
from segue.core.names import NAME, is_name

from .patterns import regex

WORD = regex(r"[A-Za-z][A-Za-z0-9_-]{3,}")
_LIBRARY = regex(
    r"^(?:console|Math|JSON|Object|Array|Promise|os|sys|path|self|this|process|fmt|strings|errors|t|std|np|e\.g|"
    r"i\.e)\."
    r"|(?:^|\.)(?:com|org|io|dev|net)$|^node_modules$|^\d|^v?\d+\.\d|REDACTED|^tool_use|^toolu_|^call_|^msg_|^in_progress$|^tool_use_error$|^file_path$|^old_string$|^new_string$"
)
COMMON = frozenset(
    """about above across actually after again against already also although always another anything around
    available back based because been before being below best better between both bring cannot case
    change changed changes check clear code come complete completed could create created current
    currently details different does done down each either else enough even every everything exactly
    existing explore file files find first fine fix following found from full getting give given good
    great happen have having here however implement include including instead into issue issues just
    keep know last later leave left less let's like line lines list little look looking looks made main
    make makes making many might more most much must need needed needs never next nothing notice once
    only open other otherwise over part perfect place please point possible probably problem proper
    properly quite rather read ready real really right same save says second section seems several
    should show shows similar simple simply since some something start started still such summary sure
    take task tell test tests than that their them then there these they thing things think this those
    though through time together too toward towards trying understand until update updated upon used
    user uses using various very want wants well were what when where whether which while will with
    within without work working works would write yes yet your""".split()
)

_CALLS = frozenset(
    {"read", "edit", "create", "delete", "run", "search", "plan", "agent", "ask", "web", "other"}
)


def words(text: str) -> set[str]:
    """A text's words that carry meaning, in lower case."""
    return {word.lower().strip("-_") for word in WORD.findall(text)} - COMMON


class Worth(msgspec.Struct):
    """Words and names with their worth, and in which files a name was seen."""

    words: dict[str, float]
    names: dict[str, float]
    homes: dict[str, str]  # name -> path


def worth(digest: RunDigest, traces: list[Trace] | None = None) -> Worth:
    """Look at what a digest kept, or at more steps than it kept."""
    traces = tail(digest) if traces is None else traces
    names, homes = _names(digest, traces)
    return Worth(_words(digest, traces), names, homes)


def _union(texts: list[str], most: int = 1_500) -> set[str]:
    found: set[str] = set()
    for text in texts:
        found |= words(text[:most])
    return found


def _chance(score: float) -> float:
    return 1 / (1 + math.exp(-score))


def _words(digest: RunDigest, traces: list[Trace]) -> dict[str, float]:
    says = [words(one.text) for one in digest.says]
    said = Counter(word for one in says for word in one)
    lately = Counter(word for one in says[-12:] for word in one)
    when = {word: len(says) - at for at, one in enumerate(says) for word in one}
    prompts = [words(one.text) for one in digest.prompts]
    prompted = Counter(word for one in prompts for word in one)
    calls = [one.text for one in traces if one.kind in _CALLS]
    results = [one.text for one in traces if one.kind in ("result", "failure")]
    groups: list[tuple[float, set[str]]] = [
        (0.84, says[-1] if says else set()),
        (0.36, says[-2] if len(says) > 1 else set()),
        (0.24, says[-3] if len(says) > 2 else set()),
        (0.43, prompts[-1] if prompts else set()),
        (0.15, prompts[-2] if len(prompts) > 1 else set()),
        (1.6, _union([item[0] for item in digest.plan if item[1] in ("pending", "active")])),
        (0.3, _union([item[0] for item in digest.plan if item[1] == "done"])),
        (0.4, _union([one.text for one in digest.notes[-3:]])),
        (0.6, _union(calls[-6:])),
        (0.35, _union(results[-3:])),
        (0.17, _union(results[-1:])),
        (0.18, _union([one.text for one in digest.reports[-2:]])),
    ]
    candidates = set(said) | set(prompted)
    for _, group in groups:
        candidates |= group
    found = {}
    for word in candidates:
        score = -3.2 + 0.77 * math.log1p(said[word]) + 0.2 * math.log1p(prompted[word])
        score -= 0.2 * math.log1p(when.get(word, 50)) + 0.026 * len(word)
        if said[word] and not lately[word]:
            score -= 0.4
        for weight, group in groups:
            if word in group:
                score += weight
        found[word] = _chance(score)
    return found


def _names(digest: RunDigest, traces: list[Trace]) -> tuple[dict[str, float], dict[str, str]]:
    steps: Counter[str] = Counter()
    counts: Counter[str] = Counter()
    by_kind: dict[str, Counter[str]] = {kind: Counter() for kind in ("edit", "read", "result", "failure")}
    at_last: dict[str, int] = {}
    homes: dict[str, Counter[str]] = {}
    looks = [
        at for at, one in enumerate(traces) if one.kind in _CALLS and one.kind not in ("edit", "create")
    ][-8:]
    lately: set[str] = set()
    names_in = _NamesIn()
    for at, one in enumerate(traces):
        here = names_in.text(one.text)
        kind = {"create": "edit", "search": "read"}.get(one.kind, one.kind)
        into = by_kind.get(kind)
        for token, count in here.items():
            steps[token] += 1
            counts[token] += count
            at_last[token] = at
            if into is not None:
                into[token] += 1
            if one.path:
                homes.setdefault(token, Counter())[one.path] += count * (2 if kind == "edit" else 1)
        if at in looks:
            lately |= here.keys()
    said = _tokens(names_in, digest.says)
    last_said = _tokens(names_in, digest.says[-1:])
    said_lately = _tokens(names_in, digest.says[-3:])
    prompted = _tokens(names_in, digest.prompts)
    planned = {
        token for item in digest.plan if item[1] in ("pending", "active") for token in NAME.findall(item[0])
    }
    summed = _tokens(names_in, [digest.summary] if digest.summary else [])
    last_path = next((one.path for one in reversed(traces) if one.path), "")
    worths: dict[str, float] = {}
    for token in set(counts) | set(said) | set(prompted) | set(summed):
        if _LIBRARY.search(token):
            continue
        score = -3.4 + 0.6 * math.log1p(steps[token]) + 0.95 * math.log1p(counts[token])
        score -= 0.15 * math.log1p(by_kind["edit"][token]) + 0.7 * math.log1p(by_kind["result"][token])
        score -= 1.05 * math.log1p(by_kind["read"][token]) + 0.9 * math.log1p(by_kind["failure"][token])
        score += 0.55 * math.log1p(said[token]) - 0.28 * math.log1p(len(traces) - 1 - at_last.get(token, -60))
        score += 0.3 * (token in prompted) + 0.34 * (token in lately) + 0.28 * (token in last_said)
        score += 0.26 * (token in said_lately) + 0.1 * (token in summed) + 0.75 * (token in planned)
        score -= 0.45 * ("." in token) + 0.01 * len(token)
        if token not in counts:
            score += 1.3
        elif last_path and last_path in homes.get(token, ()):
            score += 0.17
        worths[token] = _chance(score)
    return worths, {token: seen.most_common(1)[0][0] for token, seen in homes.items()}


class _NamesIn(dict[str, tuple[str, ...]]):
    """The names in a piece of text without blanks. No name holds a blank, and most pieces come often."""

    def __missing__(self, piece: str) -> tuple[str, ...]:
        found = tuple(token for token in NAME.findall(piece) if is_name(token))
        self[piece] = found
        return found

    def text(self, text: str) -> dict[str, int]:
        """How often a text has which names."""
        here: dict[str, int] = {}
        for token in chain.from_iterable(map(self.__getitem__, text.split())):
            here[token] = here.get(token, 0) + 1
        return here


def _tokens(names_in: _NamesIn, texts: list[Words]) -> Counter[str]:
    return Counter(token for one in texts for token in names_in.text(one.text))
