"""Memories in memory: the reference for the port, and what a store without memories is given."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from ...core.memories import model as mem
from ...core.memories.model import Audience, Memory, MemoryAudit, MemoryFilter, MemoryReader
from ...core.memories.ranking import Hit, Neighbours, Pairs, SessionNeighbours, Texts, length_of
from ...errors import StaleVersion
from ..memory_changes import MemoryChange, MemoryWithHistory, StoredMemory
from ..vectors import ScanIndex, bits_of, joined

_ANYTIME = ""


class VolatileMemories:
    """Dictionaries and a lock."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._rows: dict[int, StoredMemory] = {}
        self._numbers: dict[str, int] = {}
        self._votes: dict[tuple[int, str], mem.Vote] = {}
        self._recalls: dict[int, tuple[int, str]] = {}
        self._trail: list[tuple[int, MemoryAudit]] = []
        self._last = 0

    def write(self, change: MemoryChange) -> list[str]:
        with self._lock:
            self.check(change)
            ids = [self._add(kept) for kept in change.adds]
            for kept in change.puts:
                no = self._numbers[kept.memory.id]
                self._rows[no] = kept if kept.memory.live else replace(kept, words="", model="", vector=b"")
            for vote in change.votes:
                if vote.memory in self._numbers:
                    self._votes[self._numbers[vote.memory], vote.voter] = vote
            for id, more, at in change.recalls:
                no = self._numbers.get(id, 0)
                if no:
                    self._recalls[no] = (self._recalls.get(no, (0, ""))[0] + more, at)
            for kept in change.vectors:
                no = self._numbers.get(kept.memory.id, 0)
                there = self._rows.get(no)
                if there is not None and there.memory.revision == kept.memory.revision:
                    self._rows[no] = replace(there, model=kept.model, vector=kept.vector)
            renamed = {kept.memory.id: id for kept, id in zip(change.adds, ids, strict=True)}
            for trace in change.trail:
                id = renamed.get(trace.memory, trace.memory)
                if trace.memory == id and id in self._numbers:
                    self._trail.append((self._numbers[id], trace))
            return ids

    def check(self, change: MemoryChange) -> None:
        """StaleVersion if a put comes too late, or says what another memory says."""
        said: dict[tuple[Audience, bytes], str] = {}
        for kept in change.puts:
            memory = kept.memory
            there = self._rows.get(self._numbers.get(memory.id, 0))
            actual = there.memory.revision if there else 0
            key = mem.audience_of(memory), mem.hash_of(memory)
            other = said.get(key) or self._saying(*key, but=memory.id) if memory.live else ""
            if actual != memory.revision - 1 or other:
                raise StaleVersion(f"memory {memory.id}", memory.revision - 1, actual)
            if memory.live:
                said[key] = memory.id

    def _saying(self, audience: Audience, own: bytes, but: str = "") -> str:
        for kept in self._rows.values():
            there = kept.memory
            same = there.live and mem.audience_of(there) == audience and mem.hash_of(there) == own
            if same and there.id != but:
                return there.id
        return ""

    def _add(self, kept: StoredMemory) -> str:
        memory = kept.memory
        if memory.id in self._numbers:
            return memory.id
        there = self._saying(mem.audience_of(memory), mem.hash_of(memory)) if memory.live else ""
        if there:
            return there
        self._last += 1
        self._rows[self._last] = kept if memory.live else replace(kept, words="", model="", vector=b"")
        self._numbers[memory.id] = self._last
        return memory.id

    def _whole(self, no: int) -> Memory:
        votes = [vote.vote for (of, _), vote in self._votes.items() if of == no]
        recalled, at = self._recalls.get(no, (0, ""))
        return replace(
            self._rows[no].memory, helpful=votes.count("helpful"), harmful=votes.count("harmful"),
            recalled=recalled, recalled_at=at,
        )  # fmt: skip

    def _seen(self, reader: MemoryReader) -> Iterator[tuple[int, StoredMemory]]:
        for no, kept in self._rows.items():
            if mem.may_read(reader, mem.audience_of(kept.memory)):
                yield no, kept

    def get(self, ids: Sequence[str], reader: MemoryReader) -> list[Memory]:
        with self._lock:
            numbers = [self._numbers[id] for id in ids if id in self._numbers]
            return list(self.take(numbers, reader).values())

    def meant(self, ids: Sequence[str]) -> dict[str, Audience]:
        with self._lock:
            there = {id: self._rows[self._numbers[id]] for id in ids if id in self._numbers}
            return {id: mem.audience_of(kept.memory) for id, kept in there.items()}

    def take(self, numbers: Sequence[int], reader: MemoryReader) -> dict[int, Memory]:
        with self._lock:
            return {
                no: self._whole(no)
                for no in numbers
                if no in self._rows and mem.may_read(reader, mem.audience_of(self._rows[no].memory))
            }

    def listing(self, reader: MemoryReader, where: MemoryFilter, now: str, limit: int = 0) -> list[Memory]:
        with self._lock:
            seen = [(no, kept.memory) for no, kept in self._seen(reader)]
            found = [(memory.created, no) for no, memory in seen if mem.fits(where, memory, now)]
            found.sort(reverse=True)
            return [self._whole(no) for _, no in (found[:limit] if limit else found)]

    def _live(self, reader: MemoryReader, where: MemoryFilter) -> Iterator[tuple[int, StoredMemory]]:
        narrow = MemoryFilter(types=where.types, agents=where.agents, sessions=where.sessions, dead=True)
        for no, kept in self._seen(reader):
            if kept.memory.live and mem.fits(narrow, kept.memory, _ANYTIME):
                yield no, kept

    def match(self, reader: MemoryReader, words: Sequence[str], where: MemoryFilter, limit: int) -> Texts:
        with self._lock:
            hits = []
            counts = [0] * len(words)
            for no, kept in self._live(reader, where):
                own = set(kept.words.split())
                held = sum(1 << place for place, word in enumerate(words) if word in own)
                for place in range(len(words)):
                    counts[place] += held >> place & 1
                if held:
                    hits.append(Hit(no, held, length_of(kept.words)))
            lengths = [length_of(kept.words) for _, kept in self._seen(reader) if kept.memory.live]
            mean = sum(lengths) / len(lengths) if lengths else 1.0
            return Texts(hits, counts, len(lengths), mean)

    def near(self, reader: MemoryReader, model: str, vector: bytes, where: MemoryFilter, limit: int) -> Pairs:
        with self._lock:
            bodies = {no: kept.vector for no, kept in self._live(reader, where) if kept.model == model}
            made = ScanIndex()
            made.add(joined((no, 0, bits_of(body)) for no, body in bodies.items()))
            return made.near(vector, {0}, None, limit, lambda numbers: {no: bodies[no] for no in numbers})

    def places(self, numbers: Sequence[int], reader: MemoryReader, reach: int = 0) -> Neighbours:
        with self._lock:
            rows: dict[str, list[int]] = {}
            live = {no: kept.memory.session for no, kept in self._seen(reader) if kept.memory.live}
            for no, session in live.items():
                rows.setdefault(session, []).append(no)
            found = {}
            for no in numbers:
                session = live.get(no, "")
                if session:
                    row, at = rows[session], rows[session].index(no)
                    beside = [
                        [row[place] for place in (at - far, at + far) if 0 <= place < len(row)]
                        for far in range(1, reach + 1)
                    ]
                    found[no] = SessionNeighbours(session, beside)
            return found

    def trail(self, reader: MemoryReader, id: str = "", limit: int = 100) -> list[MemoryAudit]:
        with self._lock:
            seen = {no for no, _ in self._seen(reader)}
            found = [trace for no, trace in self._trail if no in seen and id in ("", trace.memory)]
            return found[::-1][:limit]

    def unembedded(self, model: str, limit: int, within: int = 0) -> list[tuple[int, Memory]]:
        with self._lock:
            newest = list(self._rows.items())[-within:] if within else self._rows.items()
            rows = [(no, k.memory) for no, k in newest if k.memory.live and k.model != model]
            return rows[::-1][:limit]

    def everything(self) -> list[StoredMemory]:
        with self._lock:
            return [replace(kept, memory=self._whole(no), vector=b"") for no, kept in self._rows.items()]

    def carried(self, after: int = 0, limit: int = 500) -> list[MemoryWithHistory]:
        with self._lock:
            numbers = [no for no in self._rows if no > after][:limit]
            return [
                MemoryWithHistory(
                    no,
                    replace(self._rows[no], memory=self._whole(no), words=""),
                    [vote for (of, _), vote in sorted(self._votes.items()) if of == no],
                    [trace for of, trace in self._trail if of == no],
                )
                for no in numbers
            ]

    def compact(self, text: str = "") -> None:
        if text:
            with self._lock:
                masked = [(no, replace(t, reason=t.reason.replace(text, "***"))) for no, t in self._trail]
                self._trail = masked
                self._votes = {
                    key: replace(vote, context=vote.context.replace(text, "***"))
                    for key, vote in self._votes.items()
                }
