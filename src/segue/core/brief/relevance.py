"""The worth of words and names for the next run: the chance that the run would have said or used them next.

The weights are a rounded logistic fit over some hundred transcripts of twenty projects; small changes to them
make little difference. Only the texts in a digest are used, so the cost does not grow with the transcript.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Set
from itertools import chain

import msgspec

from ..base.lazy import regex
from ..base.text import ESCAPE_SEQUENCES
from ..runs.digest import tail
from ..runs.identifiers import NAME, is_name, may_name
from ..runs.model import RecentStep, RunDigest, SaidText

WORD = regex(r"[A-Za-z][A-Za-z0-9_-]{3,}")
_ESCAPED = regex(r"\\[nrt]")
_DRIVE = regex(r"(?<![A-Za-z0-9])[A-Za-z]:\\")  # in a path, where a backslash does not escape anything
_LIBRARY = regex(
    r"^(?:console|Math|JSON|Object|Array|Promise|os|sys|path|self|this|process|fmt|strings|errors|t|std|np|e\.g|"
    r"i\.e)\."
    r"|(?:^|\.)(?:com|org|io|dev|net)$|^node_modules$|^\d|^v?\d+\.\d|REDACTED|^tool_use|^toolu_|^call_|^msg_|^in_progress$|^tool_use_error$|^file_path$|^old_string$|^new_string$"
)
_RANDOM = regex(r"[A-Za-z]\d+[A-Za-z]{1,4}\d+[A-Za-z]|\d[A-Za-z]{1,4}\d+[A-Za-z]{1,4}\d")
_PIECE = regex(r"[A-Za-z0-9]{8,}")
_CURVE = regex(r"^[A-Za-z]{1,2}\d+\.\d")  # in the path of a drawing
_ID = regex(r"[0-9a-f]{4,}-[0-9a-f]{4}-[0-9a-f]{4}|:\d+(?::|$)")
"""Matches identifiers that only a program uses: UUIDs and positions in files."""
_KEY = regex(r'"([A-Za-z_]\w{5,})"\s?:')
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

_ENDS_AS_FILE = regex(r"\.[a-z]{1,4}$")  # files have lines of their own
FRESH_STEPS, OWN_FRESH_STEPS = 30, 15
"""What the agent wrote in its last few steps is often finished; it tends to return to what it wrote
before."""

_CALLS = frozenset(
    {"read", "edit", "create", "delete", "run", "search", "plan", "agent", "ask", "web", "other"}
)


def words(text: str) -> set[str]:
    """The meaningful words of a text, in lower case."""
    return {word.lower().strip("-_") for word in WORD.findall(text)} - COMMON


class Worth(msgspec.Struct):
    """The worth of words and names, and the file in which each name mostly occurred."""

    words: dict[str, float]
    names: dict[str, float]
    homes: dict[str, str]  # name -> path


def worth(digest: RunDigest, traces: list[RecentStep] | None = None) -> Worth:
    """The worth of everything in a digest's last steps, or in the steps that are passed in."""
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


def _words(digest: RunDigest, traces: list[RecentStep]) -> dict[str, float]:
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
        often = said.get(word, 0)  # indexing a Counter is slow for missing words
        score = -3.2 + 0.77 * math.log1p(often) + 0.2 * math.log1p(prompted.get(word, 0))
        score -= 0.2 * math.log1p(when.get(word, 50)) + 0.026 * len(word)
        if often and not lately.get(word):
            score -= 0.4
        for weight, group in groups:
            if word in group:
                score += weight
        found[word] = _chance(score)
    return found


class _Name:
    """How often, where, how recently and by whom a name was used in the last steps."""

    __slots__ = (
        "counts", "failures", "fresh", "homes", "keys", "own_at", "own_fresh", "reads", "results", "steps",
    )  # fmt: skip

    def __init__(self) -> None:
        self.steps = self.counts = 0
        self.keys = 0  # the number of outputs in which it is only the key of a field
        self.reads = self.results = self.failures = 0  # the number of reads, results and failures with it
        self.own_at = -60  # when the agent itself last used it
        self.fresh = self.own_fresh = 0.0
        self.homes: dict[str, int] = {}


def _seen(names_in: _NamesIn, traces: list[RecentStep]) -> dict[str, _Name]:
    found: dict[str, _Name] = {}
    for at, one in enumerate(traces):
        kind, path, age = one.kind, one.path, len(traces) - 1 - at
        own = kind in _CALLS or kind == "say"
        looks, result, failure = kind in ("read", "search"), kind == "result", kind == "failure"
        late, own_late = math.exp(-age / FRESH_STEPS), math.exp(-age / OWN_FRESH_STEPS)
        weight = 2 if kind in ("edit", "create") else 1
        fields = _fields(one) if result else ()
        for token, count in names_in.text(one.text).items():
            name = found.get(token)
            if name is None:
                name = found[token] = _Name()
            name.steps += 1
            name.counts += count
            name.fresh += late
            if own:
                name.own_at = at
                name.own_fresh += own_late
                name.reads += looks
            elif result:
                name.results += 1
                name.keys += token in fields
            else:
                name.failures += failure
            if path:
                name.homes[path] = name.homes.get(path, 0) + count * weight
    return found


def _fields(result: RecentStep) -> Set[str]:
    """The keys in JSON output of a program, but not of a file."""
    if result.path or '":' not in result.text:
        return frozenset()
    return set(_KEY.findall(result.text))


def _names(digest: RunDigest, traces: list[RecentStep]) -> tuple[dict[str, float], dict[str, str]]:
    names_in = _NamesIn()
    seen = _seen(names_in, traces)
    said = _tokens(names_in, digest.says)
    prompted = _tokens(names_in, digest.prompts)
    planned = {
        token for item in digest.plan if item[1] in ("pending", "active") for token in NAME.findall(item[0])
    }
    summed = _tokens(names_in, [digest.summary] if digest.summary else [])
    last, unseen, log1p = len(traces) - 1, _Name(), math.log1p
    last_path = next((one.path for one in reversed(traces) if one.path), "")
    worths: dict[str, float] = {}
    for token in set(seen) | set(said) | set(prompted) | set(summed):
        if _LIBRARY.search(token) or _ID.search(token) or _is_random(token):
            continue
        name = seen.get(token, unseen)
        if name.steps and name.steps == name.keys and not (token in said or token in prompted):
            continue  # it occurs only as a key in outputs
        score = -2.2 + 0.2 * log1p(name.steps) + 0.85 * log1p(name.counts)
        score -= 0.85 * log1p(name.results) + 0.7 * log1p(name.reads) + 0.5 * log1p(name.failures)
        score += log1p(name.fresh) - 1.65 * log1p(name.own_fresh) - 0.52 * log1p(last - name.own_at)
        score += 0.55 * log1p(said.get(token, 0)) + 0.35 * (token in prompted) + 1.05 * (token in planned)
        if "." in token:
            score -= 0.75 if _ENDS_AS_FILE.search(token) else 0.25
        score -= 2.0 * (":" in token)
        if name is unseen:
            score += 0.95
        elif last_path and last_path in name.homes:
            score += 0.17
        worths[token] = _chance(score)
    homes = {token: name.homes for token, name in seen.items() if name.homes}
    return worths, {token: max(paths, key=paths.__getitem__) for token, paths in homes.items()}


def _is_random(token: str) -> bool:
    """Whether a token or a part of it is an id or a key, in which letters and digits alternate."""
    if not _RANDOM.search(token):
        return _CURVE.match(token) is not None
    return any(_RANDOM.search(piece) for piece in _PIECE.findall(token))


class _NamesIn(dict[str, tuple[str, ...]]):
    """A cache of the names in each piece of text without whitespace, because most pieces recur."""

    def __missing__(self, piece: str) -> tuple[str, ...]:
        found = tuple([token for token in NAME.findall(piece) if is_name(token)]) if may_name(piece) else ()
        self[piece] = found
        return found

    def text(self, text: str) -> dict[str, int]:
        """How often each name occurs in a text."""
        here: dict[str, int] = {}
        if "\x1b" in text:
            text = ESCAPE_SEQUENCES.sub(" ", text)
        if "\\n" in text and not (":\\" in text and _DRIVE.search(text)):
            text = _ESCAPED.sub(" ", text)  # a quoted text, in which line breaks are escaped
        for token in chain.from_iterable(map(self.__getitem__, text.split())):
            here[token] = here.get(token, 0) + 1
        return here


def _tokens(names_in: _NamesIn, texts: list[SaidText]) -> Counter[str]:
    return Counter(token for one in texts for token in names_in.text(one.text))
