"""Whether what clients saw can have been: every history is checked against what is stored at the end.

A write puts a token behind a version of a session, and an acknowledged one says at which version it is. A
read gives a version, and the tokens up to it. Versions order everything: an operation that ended before
another began has seen no more than that one. Of a write whose outcome its client never learnt, anything may
be so but two of it. Times are those of one clock, which all clients share.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

SAVED, REFUSED, UNKNOWN = "saved", "refused", "unknown"


@dataclass(frozen=True)
class Write:
    """A token that a client wrote, and what it was told."""

    client: str
    session: str
    token: str
    began: float
    ended: float
    outcome: str = SAVED
    """``saved``, ``refused`` (it is certain that nothing was written) or ``unknown``."""
    version: int = 0
    """At which it was saved; 0 if the client was not told."""


@dataclass(frozen=True)
class Read:
    """What a client saw of a session: the token of each version, empty where there is none."""

    client: str
    session: str
    began: float
    ended: float
    tokens: tuple[str, ...]

    @property
    def version(self) -> int:
        return len(self.tokens)


@dataclass(frozen=True)
class Held:
    """A hold as its client had it: acknowledged at ``since``, given back (or lost, as it was told) at
    ``until``."""

    client: str
    session: str
    since: float
    until: float
    fence: int


@dataclass(frozen=True)
class Fault:
    """Something that cannot have been."""

    kind: str
    session: str
    told: str

    def __str__(self) -> str:
        return f"{self.kind} in {self.session}: {self.told}"


Stored = Mapping[str, Sequence[str]]
"""The token of each version of each session, from version 1 on, as it is at the end."""


def faults(operations: Iterable[Write | Read | Held], stored: Stored) -> list[Fault]:
    """Everything that cannot have been; empty if the history is one of a store that loses nothing."""
    writes: dict[str, list[Write]] = defaultdict(list)
    reads: dict[str, list[Read]] = defaultdict(list)
    holds: dict[str, list[Held]] = defaultdict(list)
    for one in operations:
        if isinstance(one, Write):
            writes[one.session].append(one)
        elif isinstance(one, Read):
            reads[one.session].append(one)
        else:
            holds[one.session].append(one)
    found: list[Fault] = []
    for session in sorted({*writes, *reads, *stored}):
        kept = tuple(stored.get(session, ()))
        found += _of_writes(session, writes[session], kept)
        found += _of_reads(session, reads[session], kept)
        found += _of_order(session, writes[session], reads[session])
    for session, held in holds.items():
        found += _of_holds(session, held)
    return found


def _of_writes(session: str, writes: Sequence[Write], kept: Sequence[str]) -> list[Fault]:
    found = []
    counts = Counter(token for token in kept if token)
    known = {write.token for write in writes}
    found += [Fault("doubled write", session, f"{t} is there {n} times") for t, n in counts.items() if n > 1]
    found += [Fault("unknown write", session, f"nobody wrote {t}") for t in counts if t not in known]
    for write in writes:
        if write.outcome == REFUSED and write.token in counts:
            found.append(Fault("refused write", session, f"{write.token} was refused, and is there"))
        if write.outcome != SAVED:
            continue
        if write.token not in counts:
            told = f"{write.token} was acknowledged to {write.client} at {write.version}, and is not there"
            found.append(Fault("lost write", session, told))
        elif write.version and kept[write.version - 1 : write.version] != (write.token,):
            found.append(Fault("moved write", session, f"{write.token} is not at {write.version}"))
    return found


def _of_reads(session: str, reads: Sequence[Read], kept: Sequence[str]) -> list[Fault]:
    return [
        Fault("state that never was", session, f"{read.client} saw {_difference(read.tokens, kept)}")
        for read in reads
        if read.tokens != kept[: read.version]
    ]


def _difference(seen: Sequence[str], kept: Sequence[str]) -> str:
    for version, token in enumerate(seen, 1):
        there = kept[version - 1] if version <= len(kept) else "nothing"
        if token != there:
            return f"{token!r} at {version}, where {there!r} is"
    return "nothing"


def _of_order(session: str, writes: Sequence[Write], reads: Sequence[Read]) -> list[Fault]:
    """Operations in the order in which they began, against the newest version that was seen before that."""
    told = [(w.began, w.ended, w.version, 1, w.client) for w in writes if w.outcome == SAVED and w.version]
    told += [(r.began, r.ended, r.version, 0, r.client) for r in reads]
    ended = sorted((end, version, client) for _, end, version, _, client in told)
    found, place, newest, who = [], 0, 0, ""
    for began, _, version, step, client in sorted(told):
        while place < len(ended) and ended[place][0] < began:
            if ended[place][1] > newest:
                newest, who = ended[place][1:]
            place += 1
        if version < newest + step:
            told_of = f"{client} was at {version}, after {who} was at {newest}"
            found.append(Fault("version going back", session, told_of))
    return found


def _of_holds(session: str, holds: Sequence[Held]) -> list[Fault]:
    found: list[Fault] = []
    last: Held | None = None
    for held in sorted(holds, key=lambda one: one.since):
        if last is not None and held.since < last.until:
            found.append(Fault("two holders", session, f"{last.client} and {held.client} at the same time"))
        if last is not None and held.fence <= last.fence:
            found.append(Fault("fence going back", session, f"{held.fence} after {last.fence}"))
        last = held if last is None or held.until > last.until else last
    return found


def pauses(writes: Iterable[Write], since: float) -> dict[str, float]:
    """For each client that had a write acknowledged behind a moment, how long after it the first one was."""
    first: dict[str, float] = {}
    for write in sorted(writes, key=lambda one: one.ended):
        if write.outcome == SAVED and write.ended >= since:
            first.setdefault(write.client, write.ended - since)
    return first
