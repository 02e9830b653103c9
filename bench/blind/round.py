"""A round on disk: folders for readers and for the judge, and the key that neither is given.

``readers/N/`` holds at most one text of a case, and each reader has about as many of each contender as the
others, so that a good reader helps all alike. A text that two contenders share is read once, for both. The
judge sees a case's texts and answers under letters that are dealt anew for every case. Who is who stands in
``key.json`` alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from random import Random

from bench.blind.contenders import Texts
from bench.blind.cuts import Case
from bench.blind.truth import truth
from bench.common import fenced

WORDS = Path(__file__).parent / "words"
ANSWERS, VERDICT, KEY = "answers.md", "verdict.md", "key.json"
JUDGED_START, JUDGED_END = 4_000, 8_000
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_HEADING = re.compile(r"^#+ *(?:case +)?(\d+)\b.*$", re.IGNORECASE | re.MULTILINE)


class AnswersMissing(Exception):
    """A reader has not answered a case."""


@dataclass(slots=True)
class CaseKey:
    """What is behind a case."""

    case: str
    kind: str
    agent: str
    transcript: str
    record: int
    letters: dict[str, str]  # the judge's letter -> contender
    readers: dict[str, str]  # the reader -> contender
    same: dict[str, str] = field(default_factory=dict)  # contender -> the one whose text is his, too


@dataclass(slots=True)
class Key:
    """What is behind a round."""

    seed: int
    bytes: int
    cases: list[CaseKey]

    def write(self, out: Path) -> None:
        text = json.dumps(asdict(self), indent=1, ensure_ascii=False)
        (out / KEY).write_text(text, encoding="utf-8")

    @classmethod
    def read(cls, out: Path) -> Key:
        fields = json.loads((out / KEY).read_text(encoding="utf-8"))
        return cls(fields["seed"], fields["bytes"], [CaseKey(**case) for case in fields["cases"]])


def write_round(out: Path, given: Sequence[tuple[Case, Texts]], *, seed: int, budget: int) -> Key:
    """Write the texts of all contenders, the readers' folders, the truth for the judge, and the key."""
    random = Random(seed)
    names = sorted({name for _, texts in given for name in texts.said})
    seats = random.sample(names, len(names))
    key = Key(seed, budget, [])
    for case, texts in given:
        for name, text in texts.said.items():
            _write(out / "texts" / name / f"{case.label}.txt", text)
        _write(out / "judge" / "truth" / f"{case.label}.md", truth(case))
        readers = {
            str((seats.index(name) + case.number) % len(seats) + 1): name for name in sorted(texts.said)
        }
        for reader, name in readers.items():
            _write(out / "readers" / reader / f"{case.label}.txt", texts.said[name])
        dealt = random.sample(sorted(texts.said), len(texts.said))
        letters = dict(zip(LETTERS, dealt, strict=False))
        agent = case.transcript.agent
        behind = CaseKey(case.label, case.kind, agent, case.name, case.record, letters, readers, texts.same)
        key.cases.append(behind)
    for reader in {reader for one in key.cases for reader in one.readers}:
        _write(out / "readers" / reader / "words.md", _words("reader"))
    _write(out / "judge" / "words.md", _words("judge"))
    key.write(out)
    return key


def write_judgement(out: Path) -> list[Path]:
    """Put the readers' answers beside the truth, and write the table that the judge fills in."""
    key = Key.read(out)
    answers = {reader: _answers(out / "readers" / reader / ANSWERS) for reader in _readers(key)}
    rows = []
    written = []
    for one in key.cases:
        readers = {name: reader for reader, name in one.readers.items()}
        parts = [(out / "judge" / "truth" / f"{one.case}.md").read_text(encoding="utf-8")]
        for letter, name in sorted(one.letters.items()):
            reader = readers[name]
            if one.case not in answers[reader]:
                raise AnswersMissing(f"{out / 'readers' / reader / ANSWERS} has no heading for {one.case}")
            text = (out / "texts" / name / f"{one.case}.txt").read_text(encoding="utf-8")
            parts += [
                f"## Text {letter}",
                fenced(_ends_of(text)),
                f"## Answer {letter}",
                answers[reader][one.case],
            ]
            rows.append(f"| {one.case} | {letter} | | | | | |")
        path = out / "judge" / f"{one.case}.md"
        _write(path, "\n\n".join(part.strip() for part in parts) + "\n")
        written.append(path)
    head = "| case | text | goal | next1 | any | misled | words |\n|---|---|---|---|---|---|---|"
    if not (out / "judge" / VERDICT).exists():
        _write(out / "judge" / VERDICT, "\n".join([head, *rows]) + "\n")
    return written


def _readers(key: Key) -> list[str]:
    return sorted({reader for one in key.cases for reader in one.readers})


def _answers(path: Path) -> Mapping[str, str]:
    """A reader's answers by case: what stands under headings such as ``## 07``."""
    if not path.exists():
        raise AnswersMissing(f"{path} is not there")
    text = path.read_text(encoding="utf-8")
    headings = list(_HEADING.finditer(text))
    ends = [heading.start() for heading in headings[1:]] + [len(text)]
    return {
        f"{int(heading[1]):02}": text[heading.end() : end].strip()
        for heading, end in zip(headings, ends, strict=True)
    }


def _ends_of(text: str) -> str:
    """A text as the judge is shown it: of a very long one the beginning and the end."""
    left_out = len(text) - JUDGED_START - JUDGED_END
    if left_out <= 0:
        return text
    return f"{text[:JUDGED_START]}\n[... {left_out} characters that the reader saw ...]\n{text[-JUDGED_END:]}"


def _words(whose: str) -> str:
    return (WORDS / f"{whose}.md").read_text(encoding="utf-8")


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", errors="replace")
