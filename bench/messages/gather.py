"""Messages of users, drawn from public transcripts, with what readers need to judge each.

Repositories take turns, and within one its transcripts do. A later message is drawn at random from its run; a
first message counts only if an earlier run of the same repository is there, whose messages came before it.
Who reads a message is also shown what came after it, to say how it ended.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from itertools import zip_longest
from pathlib import Path
from random import Random

from bench.blind.formats import files, read
from bench.blind.transcript import Event, Transcript

WORDS = Path(__file__).parent / "words.md"
MESSAGES, KEY = "messages.md", "messages.jsonl"
PER_REPOSITORY, FIRST_SHARE = 5, 0.25
EARLIER, EARLIER_CHARS, SAID_CHARS, TEXT_CHARS = 3, 500, 1_500, 4_000
LATER, LATER_CHARS, END_CHARS = 8, 300, 900


@dataclass(slots=True)
class Message:
    """A message, what came before it, and what came after."""

    id: str
    repository: str
    transcript: str
    before: str
    """The transcript of the run before it in the same repository, of a first message."""
    kind: str
    """first or later."""
    half: str
    """tuning or kept."""
    text: str
    earlier: list[str] = field(default_factory=list)
    agent_last: str = ""
    stopped: bool = False
    """Whether the user had stopped the agent right before."""
    answer: str = ""
    """What the agent said last before the next message."""
    later: list[str] = field(default_factory=list)
    end: str = ""
    """What the agent said last in the run."""


def gather(corpus: Sequence[Path], *, wanted: int, seed: int) -> list[Message]:
    """So many messages, from as many repositories as there are."""
    random = Random(seed)
    found: dict[str, list[tuple[str, Path]]] = {}
    for name, path in files(corpus):
        if "sessions/" in name:
            found.setdefault(name.partition("/sessions/")[0].rpartition("/")[2], []).append((name, path))
    repositories = sorted(found)
    random.shuffle(repositories)
    drawn = [list(_of_repository(repository, found[repository], random)) for repository in repositories]
    messages = [one for turn in zip_longest(*drawn) for one in turn if one is not None][:wanted]
    kept = set(repositories[: len(repositories) // 2])
    for number, message in enumerate(messages):
        message.id = f"{number:03}"
        message.half = "kept" if message.repository in kept else "tuning"
    return messages


def _of_repository(repository: str, named: Sequence[tuple[str, Path]], random: Random) -> Iterator[Message]:
    runs = [
        (name, run)
        for name, path in named
        if not path.name.startswith("agent-") and (run := read(path)) is not None and _typed(run)
    ]
    runs.sort(key=lambda pair: _began(pair[1]))
    order = list(range(len(runs)))
    random.shuffle(order)
    firsts = int(PER_REPOSITORY * FIRST_SHARE + random.random())
    seen: set[str] = set()
    for count, at in enumerate(order * PER_REPOSITORY):
        if count >= PER_REPOSITORY * 4 or len(seen) >= PER_REPOSITORY:
            return
        name, run = runs[at]
        is_first = at > 0 and firsts > 0
        typed = _typed(run)
        index = typed[0] if is_first else random.choice(typed[1:] or [-1])
        if index < 0 or run.events[index].text in seen:
            continue
        firsts -= is_first
        seen.add(run.events[index].text)
        before = runs[at - 1] if is_first else None
        yield _message(repository, name, run, index, before)


def _message(
    repository: str, name: str, run: Transcript, index: int, before: tuple[str, Transcript] | None
) -> Message:
    events = run.events
    past = before[1].events if before else events[:index]
    earlier = [one.text[:EARLIER_CHARS] for one in past if one.kind == "user"][-EARLIER:]
    since = [one for one in events[:index] if one.kind in ("said", "user", "call", "stopped")]
    spoken = [one for one in past if one.kind == "said"]
    rest = events[index + 1 :]
    turn = rest[: next((at for at, one in enumerate(rest) if one.kind == "user"), len(rest))]
    return Message(
        "", repository, name, before[0] if before else "", "first" if before else "later", "",
        events[index].text[:TEXT_CHARS], earlier, _last_said(spoken, SAID_CHARS),
        bool(since) and since[-1].kind == "stopped", _last_said(turn, END_CHARS),
        [one.text[:LATER_CHARS] for one in rest if one.kind == "user"][:LATER], _last_said(rest, END_CHARS),
    )  # fmt: skip


def _typed(run: Transcript) -> list[int]:
    """The places of what the user wrote in this run itself."""
    return [
        at
        for at, one in enumerate(run.events)
        if one.kind == "user" and one.record >= run.copied and one.text.strip()
    ]


def _last_said(events: Sequence[Event], chars: int) -> str:
    return next((one.text[-chars:] for one in reversed(events) if one.kind == "said"), "")


def _began(run: Transcript) -> str:
    with run.path.open(encoding="utf-8", errors="replace") as file:
        for line in file:
            _, mark, rest = line.partition('"timestamp":"')
            if mark:
                return rest[:24]
    return ""


def write(messages: Sequence[Message], out: Path) -> None:
    """The messages with what is behind them, and the text for readers."""
    out.mkdir(parents=True)
    rows = [json.dumps(asdict(one), ensure_ascii=False) for one in messages]
    (out / KEY).write_text("\n".join(rows) + "\n", encoding="utf-8")
    parts = [WORDS.read_text(encoding="utf-8"), *map(_shown, messages)]
    (out / MESSAGES).write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def _shown(message: Message) -> str:
    earlier = "\n".join(f"- {_quoted(one)}" for one in message.earlier) or "- (none)"
    later = "\n".join(f"- {_quoted(one)}" for one in message.later) or "- (none)"
    where = "in an earlier run" if message.kind == "first" else "in this run"
    stopped = " (the user then stopped the agent)" if message.stopped else ""
    return (
        f"# {message.id}\n\nThe user's earlier messages {where}:\n{earlier}\n\n"
        f"The agent said last{stopped}:\n{_quoted(message.agent_last) or '(nothing)'}\n\n"
        f"## THE MESSAGE TO LABEL\n{message.text}\n\n"
        f"What came after: the agent's last words of that turn:\n{_quoted(message.answer) or '(none)'}\n\n"
        f"The user's next messages:\n{later}\n\nThe agent's last words of the run:\n{_quoted(message.end)}"
    )


def _quoted(text: str) -> str:
    return text.strip().replace("\n", "\n  ")
