"""Long conversations of Claude Code, each in six stretches of about as many events.

A stretch ends where a window could be full: right before the user's next words, or before what the agent does
after a call's result. What the user said is told from what an agent did by the plain readers of
``bench.blind``; answers to an agent's question are the user's words, too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from bench.blind.formats import files, read
from bench.blind.formats.claude_code import ClaudeCode
from bench.blind.transcript import Event, blocks, mapping, text_of
from bench.compactions.places import repository_of

STRETCHES = 6
REPOSITORY_MOST = 2
ASKING = "AskUserQuestion"
WORDS_MOST = 40_000  # characters of the user in a stretch: more would leave no room for what was done
USER_CHARACTERS = 3_000

Role = Literal["user", "choice", "said", "call", "result", "stopped"]


@dataclass(slots=True, frozen=True)
class Passage:
    """What happened, as people read it."""

    record: int
    role: Role
    text: str
    tool: str = ""
    failed: bool = False
    ends_turn: bool = False  # of what the agent said


@dataclass(slots=True, frozen=True)
class Limits:
    """Which conversations are taken."""

    conversations: int = 8
    calls_min: int = 60
    calls_max: int = 1_000  # a longer one would be read without nearly all that its calls gave
    messages_min: int = 8


@dataclass(slots=True)
class Conversation:
    """A conversation, and the records before which its stretches end."""

    number: int
    name: str
    path: str
    native: str
    calls: int
    messages: int
    compactions: int  # that really happened
    ends: list[int]

    @property
    def label(self) -> str:
        return f"{self.number:02}"


@dataclass(slots=True)
class _Found:
    name: str
    path: Path
    repository: str
    calls: int
    messages: int
    compactions: int
    ends: list[int]

    @property
    def rank(self) -> tuple[bool, int, str]:
        """Those that were compacted first, and the longest first."""
        return not self.compactions, -self.messages, self.name


def conversations(folders: Iterable[Path], limits: Limits) -> list[Conversation]:
    """The conversations of a benchmark: at most two of a repository."""
    taken: list[_Found] = []
    repositories: Counter[str] = Counter()
    for found in sorted(_found(folders, limits), key=lambda one: one.rank):
        if len(taken) < limits.conversations and repositories[found.repository] < REPOSITORY_MOST:
            repositories[found.repository] += 1
            taken.append(found)
    return [
        Conversation(
            number, one.name, str(one.path.absolute()), native(opened(one.path)), one.calls, one.messages,
            one.compactions, one.ends,
        )
        for number, one in enumerate(taken, 1)
    ]  # fmt: skip


def _found(folders: Iterable[Path], limits: Limits) -> Iterator[_Found]:
    """The conversations that are long enough, each once, though agents copy the history at a resume."""
    seen: set[tuple[str, ...]] = set()
    for name, path in files(folders):
        transcript = read(path)
        if not isinstance(transcript, ClaudeCode):
            continue
        kinds = Counter(event.kind for event in transcript.events)
        told = passages(transcript)
        asked = [one.text for one in told if one.role == "user"]
        is_long = limits.calls_min <= kinds["call"] <= limits.calls_max and len(asked) >= limits.messages_min
        ends = stretch_ends(told, len(transcript.lines)) if is_long else []
        if not ends or tuple(asked[:3]) in seen or _most_words(told, ends) > WORDS_MOST:
            continue
        seen.add(tuple(asked[:3]))
        yield _Found(
            name, path, repository_of(path, name), kinds["call"], len(asked), kinds["compacted"], ends
        )


def opened(path: Path) -> ClaudeCode:
    """The transcript of a conversation."""
    return ClaudeCode(path)


def native(transcript: ClaudeCode) -> str:
    """The agent's id of the conversation: its last one, as a resume may have changed it."""
    named = (text_of(record.get("sessionId")) for _, record in transcript.records())
    return [name for name in named if name][-1]


def passages(transcript: ClaudeCode) -> list[Passage]:
    """All that happened, without compactions."""
    answers = _answers(transcript)
    events = [event for event in transcript.events if event.kind != "compacted"]
    return [
        Passage(event.record, role, event.text, event.tool, event.failed, _ends_turn(events, at))
        for at, event in enumerate(events)
        if (role := _role(event, answers)) is not None
    ]


def _role(event: Event, answers: set[int]) -> Role | None:
    if event.kind == "compacted":
        return None
    is_answer = event.kind == "result" and event.record in answers and not event.failed
    return "choice" if is_answer else event.kind


def _answers(transcript: ClaudeCode) -> set[int]:
    """The records with what the user answered to an agent's question."""
    asked: set[str] = set()
    found: set[int] = set()
    for line, record in transcript.records():
        for block in blocks(mapping(record.get("message")).get("content")):
            if block.get("type") == "tool_use" and block.get("name") == ASKING:
                asked.add(text_of(block.get("id")))
            elif block.get("type") == "tool_result" and block.get("tool_use_id") in asked:
                found.add(line)
    return found


def _ends_turn(events: Sequence[Event], at: int) -> bool:
    """Whether the agent said this last before the user's next words, or at the end."""
    after = events[at + 1].kind if at + 1 < len(events) else "user"
    return events[at].kind == "said" and after in ("user", "stopped")


def stretch_ends(told: Sequence[Passage], records: int) -> list[int]:
    """The records before which the stretches end; empty if there are not enough places for that."""
    places = [at for at in range(1, len(told)) if _is_place(told, at)]
    ends: list[int] = []
    for stretch in range(1, STRETCHES):
        wanted = round(stretch * len(told) / STRETCHES)
        place = min(places, key=lambda at: abs(at - wanted), default=0)
        ends.append(told[place].record)
    return [*ends, records] if len({0, *ends, records}) == STRETCHES + 1 else []


def _is_place(told: Sequence[Passage], at: int) -> bool:
    """Whether a window could be full right before a passage: no call waits for its result there."""
    before, here = told[at - 1], told[at]
    acts = (one.role for one in told[at:] if one.role in ("call", "result", "choice"))
    if here.record <= before.record or before.role == "call" or next(acts, "call") != "call":
        return False
    return here.role == "user" or before.role in ("result", "choice", "stopped")


def in_stretches(told: Sequence[Passage], ends: Sequence[int]) -> list[list[Passage]]:
    """The passages of each stretch."""
    begins = [0, *ends[:-1]]
    return [
        [one for one in told if begin <= one.record < end] for begin, end in zip(begins, ends, strict=True)
    ]


def _most_words(told: Sequence[Passage], ends: Sequence[int]) -> int:
    """The characters of the user in the stretch in which there are the most, as a stretch shows them."""
    return max(
        sum(min(len(one.text), USER_CHARACTERS) for one in stretch if one.role in ("user", "choice"))
        for stretch in in_stretches(told, ends)
    )
