"""A round on disk: a page for each case and the words for readers in ``cases/``, and what is behind them in
``key.json``, which readers are not given."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from bench.blind.transcript import Event
from bench.common import fenced
from bench.told.machine import PlayedCase
from bench.told.placed import KnownRun
from bench.told.runs import opened

WORDS = Path(__file__).parent / "words.md"
CASES, KEY = "cases", "key.json"
RUNS_SHOWN = 5
MESSAGES_FIRST, MESSAGES_LAST, MESSAGE_CHARACTERS = 3, 3, 600
LAST_WORDS_CHARACTERS, PROMPT_CHARACTERS = 1_200, 4_000
CALLS_NEXT, CALL_CHARACTERS = 8, 150
TOLD = "## What the run was told"
NOTHING = "(nothing)"


@dataclass(slots=True)
class CaseKey:
    """What is behind a case."""

    case: str
    repository: str
    agent: str
    run: str
    earlier: list[str]
    began: str
    """When the run really began."""
    bytes: int
    """Of what it was told."""
    kind: str
    """What kind of brief that is, by its text."""
    shown: str
    """The line that its user was shown."""
    faults: str
    seconds: float


@dataclass(slots=True)
class Key:
    """What is behind a round."""

    seed: int
    cases: list[CaseKey]

    def write(self, out: Path) -> None:
        out.mkdir(parents=True, exist_ok=True)
        text = json.dumps(asdict(self), indent=1, ensure_ascii=False)
        (out / KEY).write_text(text, encoding="utf-8", errors="replace")

    @classmethod
    def read(cls, out: Path) -> Key:
        fields = json.loads((out / KEY).read_text(encoding="utf-8"))
        return cls(fields["seed"], [CaseKey(**case) for case in fields["cases"]])


def key_of(played: PlayedCase) -> CaseKey:
    case, told = played.case, played.told
    began = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(case.moment))
    return CaseKey(
        case.label, case.later.repository, case.later.agent, case.later.native,
        [run.native for run in case.earlier], began, len(told.text.encode("utf-8", "replace")), told.kind,
        told.shown, told.faults, round(played.seconds, 1),
    )  # fmt: skip


def write_words(out: Path) -> None:
    """Write what readers are asked."""
    _write(out / CASES / "words.md", WORDS.read_text(encoding="utf-8"))


def write_page(out: Path, played: PlayedCase) -> None:
    """Write the page of a case."""
    _write(out / CASES / f"{played.case.label}.md", page(played))


def page(played: PlayedCase) -> str:
    """A case as readers see it."""
    told = played.told
    shown = f"Its user was shown: {told.shown}" if told.shown else "Its user was shown nothing."
    parts = [
        f"# Case {played.case.label}",
        "## Earlier runs in this project",
        *_earlier(played),
        "## The first prompt of the new run",
        f"{_when(played.now)}, {played.case.later.agent}:",
        fenced(_clipped(played.case.later.prompt, PROMPT_CHARACTERS)),
        "## What the agent and the user did next",
        fenced("\n\n".join(_next(played)) or NOTHING),
        TOLD,
        fenced(told.text) if told.text else NOTHING,
        shown,
    ]
    return "\n\n".join(parts) + "\n"


def _earlier(played: PlayedCase) -> Iterator[str]:
    known = sorted(played.earlier, key=lambda one: one.last)
    left_out = played.case.left_out + len(known) - RUNS_SHOWN
    if left_out > 0:
        yield f"{left_out} older runs are not shown."
    for number, run in enumerate(known[-RUNS_SHOWN:], 1):
        yield f"### Run {number}: {_about(run, played)}"
        yield fenced("\n\n".join(_shown(run)) or NOTHING)


def _about(known: KnownRun, played: PlayedCase) -> str:
    moved = played.now - played.case.moment
    ended = f"last active {_before(played.case.moment - known.last)} before the new run began"
    if played.case.is_open(known.run):
        ended = "still open when the new run began"
    calls = sum(event.kind == "call" for event in known.events)
    began = _when(known.run.marks[0] + moved)
    return f"{known.run.agent} {known.run.native[:8]}, began {began}, {ended}, {calls} calls"


def _shown(known: KnownRun) -> Iterator[str]:
    """What a run's user wrote, and the agent's last words."""
    asked = [event for event in known.events if event.kind == "user"]
    left_out = len(asked) - MESSAGES_FIRST - MESSAGES_LAST
    for number, event in enumerate(asked):
        if left_out > 0 and number == MESSAGES_FIRST:
            yield f"[… {left_out} more messages of the user …]"
        if number < MESSAGES_FIRST or number >= len(asked) - MESSAGES_LAST:
            yield f"USER: {_clipped(event.text, MESSAGE_CHARACTERS)}"
    said = next((event for event in reversed(known.events) if event.kind == "said"), None)
    if said is not None:
        yield f"THE AGENT'S LAST WORDS: {_clipped(said.text, LAST_WORDS_CHARACTERS)}"


def _next(played: PlayedCase) -> Iterator[str]:
    """The first calls of the later run, and the user's next message."""
    transcript = opened(played.case.later.path)
    events = transcript.events if transcript is not None else []
    first = next((event.record for event in events if event.kind == "user"), 0)
    following = [event for event in events if event.record > first]
    asked = next((event for event in following if event.kind == "user"), None)
    calls = [event for event in following if event.kind == "call"][:CALLS_NEXT]
    for event in sorted(_present(*calls, asked), key=lambda event: event.record):
        if event.kind == "call":
            yield f"CALL {event.tool}: {_clipped(event.text, CALL_CHARACTERS)}"
        else:
            yield f"THE USER'S NEXT MESSAGE: {_clipped(event.text, MESSAGE_CHARACTERS)}"


def _present(*events: Event | None) -> Sequence[Event]:
    return [event for event in events if event is not None]


def _clipped(text: str, characters: int) -> str:
    return text if len(text) <= characters else text[:characters] + " […]"


def _when(moment: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(moment))


def _before(seconds: float) -> str:
    for size, name in ((86_400, "days"), (3_600, "hours"), (60, "minutes")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {name}"
    return f"{seconds:.0f} seconds"


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", errors="replace")
