"""How useful a handover was to the run that came after it, judged by that run's own steps.

Pure. The facts of the brief that the run was given are looked for in what it did: files that it touched,
commands that it ran, items that it moved, decisions that it spoke of. What counts against it is what the run
had to find again (files that were known and are read once more), what the user had to repeat, and what was
wrong. A score does not measure the run: one that turned to something else leaves every fact unused, and the
reasons say so.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence

from ..base.lazy import regex
from ..base.text import clean_text
from ..base.values import Value, count
from ..language.sentences import COMMON, WORD
from ..runs.identifiers import NAME, is_name
from ..runs.shell_commands import parse_shell
from ..runs.steps import EDITS, Call, Given, Plan, Prompt, Result, Say, Step, Usage

USED, FOUND_AGAIN, REPEATED, WRONG, SPEED = 40.0, 25.0, 15.0, 10.0, 10.0
"""The points for each part, 100 in total."""
CALLS_QUICK, CALLS_SLOW = 5, 60
"""With so few calls until the first edit a run gets all points for speed, with so many none."""
ALIKE = 0.6
_PATH = regex(r"(?<![\w/.-])(?:[\w.-]+/)*[\w-]+\.[A-Za-z]{1,5}(?![\w/])")
_CODE = regex(r"`([^`\n]{2,120})`")
_NO = regex(
    r"^\s*(?:no\b|nope\b|wrong\b|that'?s (?:not|wrong)\b|actually\b|stop\b|i (?:already )?(?:said|told)\b)",
    re.I,
)
_LISTS = {
    "open": "; ",
    "plan": "; ",
    "next": "; ",
    "blocked": " | ",
    "decided": " | ",
    "standing": " | ",
    "rules": " | ",
    "questions": " | ",
}
_ITEMS = ("open", "plan", "next", "blocked")


class ToldFact(Value):
    """A fact that the run was given."""

    kind: str
    """file, command, item, decision, goal or name."""
    text: str
    used: bool = False


class Measures(Value):
    """What was counted."""

    reads: int = 0
    """Files that were read before the first edit, or at all if there was none."""
    known: int = 0
    """Of those, files that the run before had read or changed already."""
    prompts: int = 0
    repeated: int = 0
    """Prompts that repeat what the run was told."""
    corrections: int = 0
    missing: int = 0
    """Files that the brief names and that could not be read."""
    calls_to_edit: int = 0
    """Calls up to the first edit; 0 if there was none."""
    seconds_to_edit: float = 0.0
    tokens_to_edit: int = 0


class Score(Value):
    """A score with its reasons."""

    score: float
    facts: tuple[ToldFact, ...]
    measures: Measures
    reasons: tuple[str, ...]

    @property
    def kinds(self) -> dict[str, list[int]]:
        """For each kind of fact: how many were given, and how many of them were used."""
        found: dict[str, list[int]] = {}
        for fact in self.facts:
            row = found.setdefault(fact.kind, [0, 0])
            row[0] += 1
            row[1] += fact.used
        return found


def facts_in(brief: str) -> list[ToldFact]:
    """The facts in a brief."""
    found: dict[tuple[str, str], None] = {}
    for raw in brief.split("\n"):
        line = re.sub(r"^- \*\*([^*]+):\*\*", r"\1:", raw.strip())
        label, colon, rest = line.partition(":")
        kind = label.partition(" (")[0].lower()
        if not colon or not label.partition(" (")[0].isupper():
            rest, kind = line, ""
        if kind in ("goal", "request", "user"):
            found["goal", rest.strip().strip('"')] = None
        elif kind in _LISTS:
            texts = (text.strip().removeprefix("now ") for text in rest.split(_LISTS[kind]))
            name = "item" if kind in _ITEMS else "decision"
            found.update(
                {(name, text): None for text in texts if len(text) > 3 and not text.startswith("and ")}
            )
        for path in _PATH.findall(rest):
            found["file", path] = None
        ran = [rest.partition("$ ")[2].partition(" → ")[0]] if rest.startswith("- $ ") else []
        for code in [*_CODE.findall(rest), *ran]:
            short = parse_shell(code).short
            if short and " " in code:
                found["command", short] = None
    return [ToldFact(kind, text) for kind, text in found if text]


class _Seen:
    """What a run did, gathered in one pass."""

    def __init__(self, known: Collection[str]) -> None:
        self.known = {_tail(path) for path in known}
        self.touched: list[str] = []
        self.read: list[str] = []
        self.commands: set[str] = set()
        self.words: set[str] = set()
        self.prompts: list[str] = []
        self.calls = self.output = 0
        self.began = 0.0
        self.edit: tuple[int, float, int] | None = None
        """Calls, seconds and tokens up to the first edit."""
        self.paths_by_call: dict[str, tuple[str, ...]] = {}
        self.failed: list[str] = []
        self.usage: dict[str, int] = {}

    def take(self, step: Step) -> None:
        if step.at and not self.began:
            self.began = step.at
        match step:
            case Call():
                self._call(step)
            case Result() if step.ok is False and step.id in self.paths_by_call:
                self.failed += self.paths_by_call[step.id]
            case Prompt():
                self.prompts.append(step.text)
            case Say():
                self.words |= words_of(step.text)
            case Plan():
                for item in step.items:
                    self.words |= words_of(item.text)
            case Usage():
                self.usage[step.key] = step.output
            case _:
                pass

    def _call(self, step: Call) -> None:
        self.calls += 1
        paths, edits = list(step.paths), step.act in EDITS
        reads = [] if edits else list(step.paths) if step.act == "read" else []
        if step.command:
            seen = parse_shell(step.command)
            if seen.short:
                self.commands.add(seen.short)
            paths += [*seen.reads, *seen.writes]
            reads += seen.reads
            edits = edits or bool(seen.writes)
        if step.id:
            self.paths_by_call[step.id] = tuple(_tail(path) for path in step.paths)
        self.touched += map(_tail, paths)
        self.words |= words_of(f"{step.note} {step.text[:2000]}")
        if self.edit is None:
            self.read += map(_tail, reads)
            if edits:
                self.edit = (self.calls, step.at - self.began if step.at else 0.0, sum(self.usage.values()))


def judge(
    brief: str, steps: Iterable[Step], known: Collection[str] = (), before: Sequence[str] = ()
) -> Score:
    """The score of a brief by the steps of the run that was given it.

    ``known`` are the files that the run before had read or changed, ``before`` what its user had said."""
    seen = _Seen(known)
    for step in steps:
        if not isinstance(step, Given):
            seen.take(step)
    facts = tuple(_looked_for(fact, seen) for fact in facts_in(brief))
    measures = _measured(facts, seen, before)
    return Score(_score(facts, measures), facts, measures, tuple(_reasons(facts, measures)))


def _looked_for(fact: ToldFact, seen: _Seen) -> ToldFact:
    match fact.kind:
        case "file":
            used = _tail(fact.text) in seen.touched
        case "command":
            used = fact.text in seen.commands
        case _:
            told = words_of(fact.text)
            used = bool(told) and len(told & seen.words) >= ALIKE * len(told)
    return ToldFact(fact.kind, fact.text, used)


def _measured(facts: Sequence[ToldFact], seen: _Seen, before: Sequence[str]) -> Measures:
    reads = list(dict.fromkeys(seen.read))
    given = {_tail(fact.text) for fact in facts if fact.kind == "file"}
    told = [words_of(fact.text) for fact in facts if fact.kind in ("goal", "decision", "item")]
    told += [words_of(text) for text in before]
    later = seen.prompts[1:] if seen.prompts else []
    calls, seconds, tokens = seen.edit or (0, 0.0, 0)
    return Measures(
        len(reads), sum(path in seen.known for path in reads), len(seen.prompts),
        sum(_is_repeated(text, told) for text in seen.prompts), sum(bool(_NO.match(text)) for text in later),
        len(given & set(seen.failed)), calls, round(max(0.0, seconds), 1), tokens,
    )  # fmt: skip


def _is_repeated(prompt: str, told: Sequence[set[str]]) -> bool:
    """Whether a prompt of some length repeats what the run was told."""
    said = words_of(prompt)
    return len(said) >= 4 and any(len(said & one) >= ALIKE * len(said) for one in told)


def _score(facts: Sequence[ToldFact], m: Measures) -> float:
    if not facts:
        return 0.0
    used = sum(fact.used for fact in facts) / len(facts)
    again = m.known / m.reads if m.reads else 0.0
    repeated = min(1.0, (m.repeated + m.corrections) / 2)
    files = sum(fact.kind == "file" for fact in facts)
    wrong = m.missing / files if files else 0.0
    slow = (m.calls_to_edit - CALLS_QUICK) / (CALLS_SLOW - CALLS_QUICK) if m.calls_to_edit else 0.5
    parts = (
        USED * min(1.0, used * 2),  # a brief says more than any run needs, so half of it gets all points
        FOUND_AGAIN * (1 - again), REPEATED * (1 - repeated), WRONG * (1 - wrong),
        SPEED * (1 - min(1.0, max(0.0, slow))),
    )  # fmt: skip
    return round(sum(parts), 1)


def _reasons(facts: Sequence[ToldFact], m: Measures) -> list[str]:
    if not facts:
        return ["the brief contained nothing to look for"]
    used = [fact for fact in facts if fact.used]
    lines = [f"{len(used)} of {len(facts)} facts were used" + (f": {_some(used)}" if used else "")]
    if m.reads:
        lines.append(f"{m.known} of {m.reads} files read before the first edit were known already")
    if m.repeated:
        lines.append(f"the user repeated what the run had been told, in {m.repeated} of {m.prompts} prompts")
    if m.corrections:
        lines.append(f"the user corrected the run {count(m.corrections, 'time')}")
    if m.missing:
        lines.append(f"{count(m.missing, 'file')} named in the brief could not be read")
    if m.calls_to_edit:
        tokens = f", {m.tokens_to_edit:,} tokens" if m.tokens_to_edit else ""
        lines.append(
            f"first edit after {count(m.calls_to_edit, 'call')}, {m.seconds_to_edit:g} seconds{tokens}"
        )
    else:
        lines.append("the run edited nothing")
    unused = [fact for fact in facts if not fact.used]
    if unused:
        lines.append(f"not used: {_some(unused)}")
    return lines


def _some(facts: Sequence[ToldFact]) -> str:
    texts = [clean_text(" ".join(fact.text.split()))[:60] for fact in facts[:4]]
    return "; ".join(texts) + (f" and {len(facts) - 4} more" if len(facts) > 4 else "")


def words_of(text: str) -> set[str]:
    """The words of a text that tell it from others."""
    names = {name.lower() for name in NAME.findall(text) if is_name(name)}
    return names | {word.lower() for word in WORD.findall(text) if word.lower() not in COMMON}


def _tail(path: str) -> str:
    """A path by its name: one run writes it absolute, the next relative."""
    return path.replace("\\", "/").rstrip("/").rpartition("/")[2]


def chart(scores: Sequence[float], *, unicode: bool = True) -> str:
    """A chart of scores from 0 to 100, one column each."""
    marks = "▁▂▃▄▅▆▇█" if unicode else "_.-~=+*#"
    top = len(marks) - 1
    return "".join(marks[min(top, max(0, int(score / 100 * len(marks))))] for score in scores)
