"""What a brief would have had to say: the needs of the next forty calls that the past could know.

Recall is by words, paths and names, so that a brief of any form can be scored. Each need occurs in the past;
what nobody could know is not asked for.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from bench.resume.observed import Observation, Transcript, base

Needs = dict[str, dict[str, float]]  # category -> what -> weight
Rarity = Mapping[str, float]

HORIZON_CALLS = 40
PLAN_OVER = frozenset({"completed", "deleted", "done"})
EDITORS = frozenset({"Edit", "MultiEdit", "NotebookEdit", "Write", "apply_patch"})
UNKNOWN = "?"  # the rarity of what no transcript has

WORD = re.compile(r"[A-Za-z][A-Za-z0-9_\-]{3,}")
_TOKEN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:[._:/\-][A-Za-z0-9_]+)*")
_INNER = re.compile(r"[a-z][A-Z]|\w\.\w")
_LIBRARY = re.compile(
    r"^(Array|JSON|Math|Object|console|errors|fmt|os|path|process|self|std|strings|sys|t|this)\.|"
    r"^node_modules$|anthropic\.com"
)
_SAYS_NOTHING = frozenset(
    """a add added again all also an and any are as at be been but by can check code could did do does done
    down else file files first for from get gets got go going good great had has have he here how i i'll if in
    into is it its just let let's lets like line lines look looking looks made make makes may me might more
    most must my need needs new next no not now of ok okay on or other our out over please run running see she
    should so some test tests than that the their them then there these they this those to too under up us use
    used uses using very want wants was we were what when where which while who why will with would yes you
    your""".split()
)
FUNCTION = frozenset(
    """a after an and are as at be because before but by can created done edited failed failing fails for from
    had has have if in into is it next no not now of on only open or so still than that the then this to until
    was were when which will with""".split()
)
_BANNER = re.compile(
    r"^(Chunk ID|Exit code|Original token count|Output:|Process exited|Total output lines|Wall time|-{3,}|"
    r"={3,}|\s*$)"
)
_TELLING = re.compile(
    r"assert|can't|cannot|conflict|denied|error|exception|expected|fail|fatal|not found|panic|refused|"
    r"rejected|undefined|unexpected",
    re.I,
)
_EVERYDAY = frozenset(
    """awk cat cd chmod cp diff du echo export file find for grep head if ls mkdir mv nl printf pwd rg rm sed
    set sleep sort source (source stat tail tee test touch true wc which while""".split()
) | {"git add", "git commit", "git diff", "git log", "git status", "git -C"}


def words(text: str) -> set[str]:
    """The words of a text that say something."""
    return {word.lower().strip("-_") for word in WORD.findall(text)} - _SAYS_NOTHING


def names(text: str) -> list[str]:
    """The tokens of a text that look like identifiers, each as often as it occurs."""
    return [token for token in _TOKEN.findall(text) if _is_name(token)]


def _is_name(token: str) -> bool:
    return len(token) >= 6 and ("_" in token[1:-1] or _INNER.search(token) is not None)


def unpasted(text: str) -> str:
    """A request without pasted logs and code: no run of three or more lines that are not prose."""
    prose: list[str] = []
    pasted: list[str] = []
    for line in [*text.split("\n"), None]:
        if line is not None and line.strip() and not _is_prose(line):
            pasted.append(line)
            continue
        prose += pasted if len(pasted) < 3 else []
        pasted = []
        prose += [] if line is None else [line]
    return "\n".join(prose)


def _is_prose(line: str) -> bool:
    line_words = line.split()
    return len(line_words) >= 4 and any(word.lower().strip(".,:;!?") in FUNCTION for word in line_words)


def telling_lines(output: str) -> str:
    """The lines of a failed call's output that say why; without any, the last ones."""
    lines = [line.strip() for line in output.split("\n") if not _BANNER.match(line)]
    telling = [line for line in lines if _TELLING.search(line)][:4]
    return "\n".join(telling or lines[-3:])[:400]


class Known:
    """The words and names of the past, gathered as it grows."""

    def __init__(self) -> None:
        self.words: set[str] = set()
        self.names: set[str] = set()
        self.upto = 0

    def advance(self, seen: Sequence[Observation], to: int) -> None:
        for observation in seen[self.upto : to]:
            self.words |= words(observation.text)
            self.names.update(names(observation.text))
        self.upto = to


@dataclass(slots=True)
class Cut:
    """A transcript at the moment when the brief is made."""

    past: Sequence[Observation]
    future: Sequence[Observation]
    line: int  # the first one that the contender may not see
    summary: str = ""  # the agent's own, where it compacted here


def cuts(transcript: Transcript, count: int, compaction: bool) -> list[Cut]:
    """Where a transcript is cut: at so many calls, evenly, or wherever the agent compacted."""
    seen = transcript.seen
    if compaction:
        places = [at for at, observation in enumerate(seen) if observation.kind == "summary" and at > 30]
    else:
        calls = [at for at, observation in enumerate(seen) if observation.kind == "call"]
        places = [calls[int(len(calls) * (number + 1) / (count + 1))] for number in range(count)]
    return [
        Cut(
            seen[:at],
            _ahead(seen[at + 1 :] if compaction else seen[at:]),
            seen[at].line,
            seen[at].text if compaction else "",
        )
        for at in places
    ]


def _ahead(rest: Iterable[Observation]) -> list[Observation]:
    """The next forty calls and what was said between them; nothing behind a compaction."""
    ahead: list[Observation] = []
    calls = 0
    for observation in rest:
        if observation.kind == "summary" or calls >= HORIZON_CALLS:
            break
        ahead.append(observation)
        calls += observation.kind == "call"
    return ahead


def plan_of(past: Sequence[Observation]) -> list[tuple[str, str]]:
    """The agent's plan as it stood last."""
    last = next((observation.plan for observation in reversed(past) if observation.plan is not None), None)
    return list(last or ())


def needs(cut: Cut, known: Known, rarity: Rarity) -> Needs:
    """All that the future asks of the past, by category; a category without needs is not there."""
    touched = _files(cut)
    by_category = {
        "files": {name: float(weight) for name, weight in touched.items()},
        "commands": dict.fromkeys(_commands(cut), 1.0),
        "todos": {text: 1.0 for text, state in plan_of(cut.past) if state not in PLAN_OVER and text.strip()},
        "goal": dict.fromkeys(_goal(cut.past), 1.0),
        "intent": _intent(cut.future, known, rarity),
        "identifiers": dict.fromkeys(_identifiers(cut.future, known, rarity, touched), 1.0),
        "error": dict.fromkeys(_error(cut.past), 1.0),
    }
    return {category: wanted for category, wanted in by_category.items() if wanted}


def _files(cut: Cut) -> Counter[str]:
    """Files seen before that are touched next; a change counts twice."""
    known = {base(path) for observation in cut.past for path in observation.files}
    touched: Counter[str] = Counter()
    for observation in cut.future:
        for name in map(base, observation.files):
            if name in known:
                touched[name] += 2 if observation.tool in EDITORS else 1
    return touched


def _commands(cut: Cut) -> list[str]:
    known = {observation.command for observation in cut.past} - {""}
    again = Counter(
        observation.command
        for observation in cut.future
        if observation.command in known and not _everyday(observation.command)
    )
    return [command for command, _ in again.most_common(5)]


def _everyday(command: str) -> bool:
    return command in _EVERYDAY or command.split()[0] in _EVERYDAY


def _goal(past: Sequence[Observation]) -> set[str]:
    """The words of the standing request: the last one that is more than a "yes please"."""
    request = next(
        (
            observation.text
            for observation in reversed(past)
            if observation.kind == "user" and len(words(observation.text)) >= 4
        ),
        "",
    )
    request_words = WORD.findall(unpasted(request) or request)[:80]
    return {word.lower().strip("-_") for word in request_words} - _SAYS_NOTHING


def _intent(future: Sequence[Observation], known: Known, rarity: Rarity) -> dict[str, float]:
    """The words of what the agent says next, the rarer the weightier."""
    texts = [observation.text[:600] for observation in future if observation.kind == "say"][:3]
    return {word: rarity.get(word, rarity[UNKNOWN]) for word in words(" ".join(texts)) & known.words}


def _identifiers(
    future: Sequence[Observation], known: Known, rarity: Rarity, touched: Counter[str]
) -> list[str]:
    """The fifteen names used next that are rarest and used most."""
    used = Counter(
        name
        for observation in future
        if observation.kind in ("call", "say")
        for name in names(observation.text)
        if "/" not in name and not _LIBRARY.match(name)
    )
    wanted = [name for name in used if name in known.names and name not in touched]
    wanted.sort(key=lambda name: -math.log1p(used[name]) * rarity.get(name, rarity[UNKNOWN]))
    return wanted[:15]


def _error(past: Sequence[Observation]) -> list[str]:
    """The words of the error that was seen last, if it was lately."""
    failed = (
        observation
        for observation in reversed(past[-12:])
        if observation.kind == "result" and observation.failed and observation.text.strip()
    )
    last = next(failed, None)
    if last is None:
        return []
    error_words = list(dict.fromkeys(word.lower() for word in WORD.findall(telling_lines(last.text))))[:20]
    error_words = [word for word in error_words if word not in _SAYS_NOTHING]
    return error_words if len(error_words) >= 3 else []


def vocabulary(transcript: Transcript) -> set[str]:
    """The words and names that a transcript has, for counting in how many they occur."""
    terms: set[str] = set()
    for observation in transcript.seen:
        terms |= words((observation.shown or observation.text)[:2_000])
        terms.update(names(observation.text[:4_000]))
    return terms


def rarities(counted: Counter[str], transcripts: int) -> dict[str, float]:
    """How much a word or name tells, by the number of transcripts that have it."""
    rarity = {word: max(0.1, math.log((transcripts + 1) / (n + 0.5))) for word, n in counted.items()}
    rarity[UNKNOWN] = math.log((transcripts + 1) / 0.5)
    return rarity
