"""Where transcripts are cut: one case a transcript, because two moments of one run would tell on each other.

A cut is right before a call in the middle of the work, or right before the agent compacted its window. Which
is decided by the seed alone: the same seed and the same transcripts give the same cases, and what a
transcript's own cut is does not depend on the others.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Literal

from bench.blind.formats import files, read
from bench.blind.transcript import Event, Transcript

CutKind = Literal["cut", "compaction"]
CALLS_AFTER = 12  # as many as the judge sees
CALLS_AFTER_MIN = 6  # so many of them before the window was compacted, and after a compaction
CALLS_BEFORE_MIN = 20  # or a third of all, where that is less


@dataclass(slots=True, frozen=True)
class Plan:
    """What a round consists of."""

    seed: int = 1
    cases: int = 24
    compactions: int = 4
    calls_min: int = 40
    most: dict[str, int] = field(default_factory=dict)  # of a format
    without: frozenset[str] = frozenset()  # the transcripts of other rounds
    source_most: int = 0  # cases of a source; 0: as many as there are


@dataclass(slots=True)
class Candidate:
    """A transcript, and the records before which it could be cut."""

    name: str
    path: Path
    agent: str
    records: dict[CutKind, list[int]]
    repository: str = ""  # where it is known

    @property
    def source(self) -> str:
        """Where it comes from: its repository, else its name up to ``--``, else its folder."""
        if self.repository:
            return self.repository
        stem, dashes, _ = self.name.partition("--")
        return stem if dashes else self.name.rpartition("/")[0]


@dataclass(slots=True)
class Case:
    """A transcript that is cut, with what came before and what came next."""

    number: int
    kind: CutKind
    name: str
    record: int
    transcript: Transcript

    @property
    def label(self) -> str:
        return f"{self.number:02}"

    @property
    def past(self) -> list[Event]:
        return self.transcript.events[: _index(self.transcript.events, self.record)]

    @property
    def future(self) -> list[Event]:
        """The next calls and all that was said between them, until the window is compacted (again)."""
        return list(_until_compacted(self.transcript.events, self.record))

    @property
    def summary(self) -> str:
        """The agent's own, at a compaction."""
        at = [event for event in self.transcript.events if event.record == self.record]
        return "\n".join(event.text for event in at if event.kind == "compacted")


def candidates(folders: Iterable[Path], plan: Plan) -> Iterator[Candidate]:
    """The transcripts of some folders that are long enough, and that no other round has used."""
    for name, path in files(folders):
        transcript = None if name in plan.without else read(path)
        if transcript is None or _calls(transcript.events) < plan.calls_min:
            continue
        records: dict[CutKind, list[int]] = {
            "cut": list(_records_of(transcript, "call")),
            "compaction": list(_records_of(transcript, "compacted")),
        }
        if records["cut"]:
            yield Candidate(name, path, transcript.agent, records)


def cases(found: Sequence[Candidate], plan: Plan) -> list[Case]:
    """The cases of a round, in an order that tells nothing."""
    random = Random(plan.seed)
    picked = list(_picked(found, plan, random))
    random.shuffle(picked)
    made = []
    for number, (kind, candidate) in enumerate(picked):
        transcript = read(candidate.path)
        assert transcript is not None, candidate.path
        record = Random(f"{plan.seed} {candidate.name}").choice(candidate.records[kind])
        made.append(Case(number, kind, candidate.name, record, transcript))
    return made


def _picked(found: Sequence[Candidate], plan: Plan, random: Random) -> Iterator[tuple[CutKind, Candidate]]:
    """Formats take turns, up to their limits, and within a format the sources do."""
    left = random.sample(found, len(found))
    sizes = Counter(candidate.agent for candidate in found)
    turns = sorted(sizes, key=lambda agent: (-sizes[agent], agent))
    agents: Counter[str] = Counter()
    sources: Counter[str] = Counter()
    wanted: tuple[tuple[CutKind, int], ...] = (("compaction", plan.compactions), ("cut", plan.cases))
    for kind, limit in wanted:
        while True:
            took = agents.total()
            for agent in turns:
                able = [
                    one
                    for one in left
                    if one.agent == agent
                    and one.records[kind]
                    and (not plan.source_most or sources[one.source] < plan.source_most)
                ]
                if not able or agents.total() >= limit or agents[agent] >= plan.most.get(agent, limit):
                    continue
                candidate = min(able, key=lambda one: sources[one.source])
                left.remove(candidate)
                agents[agent] += 1
                sources[candidate.source] += 1
                yield kind, candidate
            if agents.total() == took:
                break


def _records_of(transcript: Transcript, kind: Literal["call", "compacted"]) -> Iterator[int]:
    """The records of a kind before which a cut leaves enough on both sides."""
    events = transcript.events
    total = _calls(events)
    before_min = min(CALLS_BEFORE_MIN, total // 3)
    rest_min = CALLS_AFTER if kind == "call" else CALLS_AFTER_MIN
    before, asked, last, waits = 0, False, -1, False
    for event in events:
        is_place = event.kind == kind and event.record >= transcript.copied and event.record != last
        is_place = is_place and not (kind == "call" and waits)  # calls of one response are one step
        waits = event.kind == "call" if event.kind in ("call", "result") else waits
        if is_place and (kind == "call" or event.text.strip()):
            last = event.record
            after = _calls(_until_compacted(events, event.record))
            enough = after >= CALLS_AFTER_MIN and total - before >= rest_min
            if asked and before >= before_min and enough:
                yield event.record
        before += event.kind == "call"
        asked = asked or event.kind == "user"


def _until_compacted(events: Sequence[Event], record: int) -> Iterator[Event]:
    calls = 0
    for position in range(_index(events, record), len(events)):
        event = events[position]
        if event.kind == "compacted" and event.record == record:
            continue  # the one that was cut before
        if event.kind == "compacted" or (event.kind == "call" and calls == CALLS_AFTER):
            return
        calls += event.kind == "call"
        yield event


def _index(events: Sequence[Event], record: int) -> int:
    """The first event of a record, or of those after it."""
    return bisect_left(events, record, key=lambda event: event.record)


def _calls(events: Iterable[Event]) -> int:
    return sum(event.kind == "call" for event in events)
