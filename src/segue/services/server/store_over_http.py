"""The store of a server, for its clients: one method of a port for each request.

Whoever asks was let in already; here is decided what a role may do, and that a key of one agent reads and
writes as that agent and nobody else, in this one place. Bytes are read by the types of ``stores.remote.wire``
before anything happens. A write that comes a second time while the first is under way, or soon after it, gets
the answer of the first: clients send again what was not answered. After a restart they look for themselves.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

import msgspec
from msgspec.structs import replace

from ...core.journal.event import Event
from ...core.journal.pieces import address as address_of
from ...core.memories.model import Memory, MemoryReader, audience_of
from ...errors import NotAllowed, StoreBusy, StoreError, UsageError
from ...settings import own_version
from ...stores.base import Append, Journal, Memories, MemoryChange, Runs
from ...stores.remote import wire

READER, WRITER, ADMIN = ROLES = ("reader", "writer", "admin")
PAGE_EVENTS, PAGE_BYTES, STEP_EVENTS = 5_000, 8 << 20, 500
ATTEMPTS_MAX, ATTEMPT_SECONDS_MAX, ATTEMPT_BYTES_MAX = 4_096, 900.0, 64 << 20
WAIT_SECONDS = 30.0
OWN_STREAMS = ("session/", "tree/", "ledger/trust")
"""Where it counts who declared something; ledgers of holds, runs and hooks are written by Segue itself."""


class StoreAccess(Protocol):
    """What a request may do."""

    @property
    def key(self) -> str: ...
    @property
    def role(self) -> str: ...
    @property
    def project(self) -> str: ...
    @property
    def agent(self) -> str: ...


Method = Callable[[Journal, Any, StoreAccess], Any]


def need(port: str, method: str) -> str:
    """The role that a method needs; UsageError if there is no such method."""
    return _found(port, method)[0]


def call(journal: Journal, access: StoreAccess, port: str, method: str, body: bytes) -> bytes:
    """What a method of a port answers, as bytes; raises what the store raises."""
    role, kind, work = _found(port, method)
    _demand(access, role)
    if access.agent and (port, method) in _OF_ALL:
        raise NotAllowed(
            f"this key is bound to the agent {access.agent}, and this is about the memories of all",
            hint="use an admin's key that is bound to no agent",
        )
    try:
        asked: Any = wire.decode(body, kind)
    except msgspec.MsgspecError as fault:
        raise UsageError(f"the body of {port}/{method} cannot be read: {fault}", hint=_HINT) from None
    attempt = getattr(asked, "attempt", "")
    if not attempt:
        return wire.encode(work(journal, asked, access))
    name = hashlib.sha256(
        f"{access.project} {access.key} {port}/{method} {attempt}".encode("utf-8", "replace")
    ).hexdigest()
    return _attempts.once(name, lambda: wire.encode(work(journal, asked, access)))


_HINT = "are client and server of the same version?"


def _found(port: str, method: str) -> tuple[str, Any, Method]:
    found = _METHODS.get((port, method))
    if found is None:
        raise UsageError(f"there is no {port[:40]!r}/{method[:40]!r} in a store", hint=_HINT)
    return found


def _demand(access: StoreAccess, role: str) -> None:
    if ROLES.index(access.role) < ROLES.index(role):
        raise NotAllowed(
            f"this key has the role {access.role}, and this needs {role}",
            hint="ask an admin of the server for a key of that role",
        )


# -- once ------------------------------------------------------------------------------------------


class _Attempt:
    def __init__(self) -> None:
        self.over = threading.Event()
        self.answer: bytes | None = None
        self.begun = time.monotonic()


class Attempts:
    """Writes that are under way, or were a moment ago, by name."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: OrderedDict[str, _Attempt] = OrderedDict()
        self._bytes = 0

    def once(self, name: str, work: Callable[[], bytes]) -> bytes:
        """Do it, or wait for whoever does; one that failed may be tried again."""
        while True:
            with self._lock:
                found = self._known.get(name)
                mine = found is None
                if found is None:
                    found = self._known[name] = _Attempt()
                    self._forget()
            if mine:
                return self._do(name, found, work)
            if not found.over.wait(WAIT_SECONDS):
                raise StoreBusy("the same write is under way", hint="try again")
            if found.answer is not None:
                return found.answer

    def _do(self, name: str, attempt: _Attempt, work: Callable[[], bytes]) -> bytes:
        try:
            attempt.answer = work()
            return attempt.answer
        finally:
            with self._lock:
                if attempt.answer is None:
                    self._known.pop(name, None)
                else:
                    self._bytes += len(attempt.answer)
            attempt.over.set()

    def _forget(self) -> None:
        """The oldest go; what is under way stays."""
        before = time.monotonic() - ATTEMPT_SECONDS_MAX
        while self._known:
            name, first = next(iter(self._known.items()))
            few = len(self._known) <= ATTEMPTS_MAX and self._bytes <= ATTEMPT_BYTES_MAX
            if first.answer is None or (few and first.begun > before):
                return
            self._bytes -= len(first.answer)
            self._known.pop(name)


_attempts = Attempts()


# -- the journal -----------------------------------------------------------------------------------


def _append(journal: Journal, asked: wire.AppendAsk, access: StoreAccess) -> list[tuple[bytes, bytes]]:
    _check_drafts(asked.appends, access)
    if any(address_of(body) != address for address, body in asked.pieces.items()):
        raise UsageError("a piece is not what its address says", hint=_HINT)
    more: dict[str, Any] = {}
    if asked.memories is not None:
        more["memories"] = _checked(_memories(journal), asked.memories.change(), access)
    events = journal.append(*asked.appends, pieces=asked.pieces or None, **more)
    return [(event.header(), event.hash) for event in events]


def _check_drafts(appends: Sequence[Append], access: StoreAccess) -> None:
    """A key of one agent declares as that agent."""
    for wish in appends:
        if not access.agent or not wish.stream.startswith(OWN_STREAMS):
            continue
        other = next((draft.actor for draft in wish.drafts if draft.actor != access.agent), None)
        if other is not None:
            raise _not_as(access, other)


def _not_as(access: StoreAccess, other: str) -> NotAllowed:
    return NotAllowed(
        f"this key is bound to the agent {access.agent}, and this is by {other[:60]!r}",
        hint=f"set SEGUE_ACTOR={access.agent}, or use another key",
    )


def _read(journal: Journal, asked: wire.ReadAsk, _: StoreAccess) -> wire.StreamPage:
    most = min(asked.limit or PAGE_EVENTS, PAGE_EVENTS)
    kept: list[Event] = []
    size, after = 0, asked.after
    while len(kept) < most:
        step = min(STEP_EVENTS, most - len(kept))  # few enough that what is too much is never in memory
        events = journal.read(asked.stream, after=after, limit=step)
        for event in events:
            size += len(event.body) + 400
            if size > PAGE_BYTES and kept:
                return wire.StreamPage(wire.rows_of(kept), more=True)
            kept.append(event)
        if len(events) < step:
            return wire.StreamPage(wire.rows_of(kept))
        after = events[-1].version
    return wire.StreamPage(wire.rows_of(kept), more=most != asked.limit)


def _head(journal: Journal, asked: wire.NameAsk, _: StoreAccess) -> tuple[int, bytes]:
    head = journal.head(asked.name)
    return head.version, head.hash


def _pieces(journal: Journal, asked: wire.NamesAsk, _: StoreAccess) -> list[tuple[str, bytes, bool]]:
    _check_addresses(asked.names)
    found = journal.pieces(asked.names)
    return [(address, body, address_of(body) == address) for address, body in found.items()]


def _check_addresses(names: Iterable[str]) -> None:
    try:
        for name in names:
            bytes.fromhex(name)
    except ValueError:
        raise UsageError("an address of a piece is hexadecimal", hint=_HINT) from None


def _snapshots(journal: Journal, asked: wire.SnapshotsAsk, _: StoreAccess) -> list[Any]:
    found = journal.snapshots(asked.streams, cards=asked.cards)
    return [replace(one, state=b"") if asked.cards else one for one in found.values()]


def _erase(journal: Journal, asked: wire.EraseAsk, access: StoreAccess) -> None:
    _check_drafts(asked.appends, access)
    _check_addresses(asked.pieces)
    journal.erase(asked.rewrites, asked.pieces, *asked.appends)


def _drop(journal: Journal, asked: wire.DropAsk, _: StoreAccess) -> None:
    _check_addresses(asked.pieces)
    journal.drop(*asked.streams, pieces=asked.pieces, beside=asked.beside)


def _about(_: Journal, asked: wire.NameAsk, access: StoreAccess) -> wire.About:
    return wire.About(own_version(), access.project, access.role, access.agent)


# -- memories --------------------------------------------------------------------------------------


def _runs(journal: Journal) -> Runs:
    found: Runs | None = getattr(journal, "runs", None)
    if found is None:
        raise StoreError("the store of this server keeps no runs", hint="see `segue doctor` there")
    return found


def _memories(journal: Journal) -> Memories:
    found: Memories | None = getattr(journal, "memories", None)
    if found is None:
        raise StoreError("the store of this server keeps no memories", hint="see `segue doctor` there")
    return found


def _as(reader: MemoryReader, access: StoreAccess) -> MemoryReader:
    """Who reads: with a key of one agent, that agent."""
    return replace(reader, agent=access.agent) if access.agent else reader


def _checked(store: Memories, change: MemoryChange, access: StoreAccess) -> MemoryChange:
    """The change, if it is by the agent that the key is bound to."""
    agent = access.agent
    if not agent:
        return change
    told = [kept.memory.agent for kept in change.adds]
    told += [vote.voter for vote in change.votes] + [trace.actor for trace in change.trail]
    other = next((name for name in told if name != agent), None)
    if other is not None:
        raise _not_as(access, other)
    named = [vote.memory for vote in change.votes] + [id for id, _, _ in change.recalls]
    for audience in store.meant(named).values() if named else ():
        if audience.scope.startswith("agent-") and agent not in audience.names:
            raise _not_as(access, audience.names[0])
    for kept in (*change.puts, *change.vectors):
        if not _may_see(kept.memory, agent) or not _sees(store, kept.memory, agent):
            raise _not_as(access, kept.memory.agent)
    return change


def _may_see(memory: Memory, agent: str) -> bool:
    """Whether a memory is no other agent's own."""
    return not memory.scope.startswith("agent-") or agent in audience_of(memory).names


def _sees(store: Memories, memory: Memory, agent: str) -> bool:
    """Whether the agent may see what is there under this id: what it cannot see it cannot change."""
    reader = MemoryReader(
        agent, memory.namespace, memory.user, (memory.session,), (memory.project,), memory.organization
    )
    return bool(store.get([memory.id], reader))


def _write(journal: Journal, asked: wire.WriteAsk, access: StoreAccess) -> list[str]:
    store = _memories(journal)
    return store.write(_checked(store, asked.change.change(), access))


def _unembedded(journal: Journal, asked: wire.UnembeddedAsk, access: StoreAccess) -> list[tuple[int, Memory]]:
    found = _memories(journal).unembedded(asked.model, asked.limit, asked.within)
    return [(no, one) for no, one in found if not access.agent or _may_see(one, access.agent)]


def _listing(journal: Journal, asked: wire.ListingAsk, access: StoreAccess) -> list[Memory]:
    return _memories(journal).listing(_as(asked.reader, access), asked.where, asked.now, asked.limit)


def _near(journal: Journal, asked: wire.NearAsk, access: StoreAccess) -> list[tuple[int, float]]:
    reader = _as(asked.reader, access)
    return _memories(journal).near(reader, asked.model, asked.vector, asked.where, asked.limit)


def _match(journal: Journal, asked: wire.MatchAsk, access: StoreAccess) -> Any:
    return _memories(journal).match(_as(asked.reader, access), asked.words, asked.where, asked.limit)


def _compact(journal: Journal, asked: wire.TextAsk, access: StoreAccess) -> None:
    if asked.text:  # it rewrites what others said
        _demand(access, ADMIN)
    _memories(journal).compact(asked.text)


_METHODS: dict[tuple[str, str], tuple[str, Any, Method]] = {
    ("journal", "append"): (WRITER, wire.AppendAsk, _append),
    ("journal", "read"): (READER, wire.ReadAsk, _read),
    ("journal", "head"): (READER, wire.NameAsk, _head),
    ("journal", "streams"): (READER, wire.NameAsk, lambda j, a, _: j.streams(a.name)),
    ("journal", "pieces"): (READER, wire.NamesAsk, _pieces),
    ("journal", "snapshots"): (READER, wire.SnapshotsAsk, _snapshots),
    ("journal", "keep"): (WRITER, wire.KeepAsk, lambda j, a, _: j.keep(a.snapshot)),
    ("journal", "erase"): (ADMIN, wire.EraseAsk, _erase),
    ("journal", "drop"): (ADMIN, wire.DropAsk, _drop),
    ("journal", "about"): (READER, wire.NameAsk, _about),
    ("runs", "put"): (WRITER, wire.PutAsk, lambda j, a, _: _runs(j).put(a.rows)),
    ("runs", "get"): (READER, wire.NameAsk, lambda j, a, _: _runs(j).get(a.name)),
    ("runs", "rows"): (
        READER, wire.RowsAsk, lambda j, a, _: _runs(j).rows(projects=a.projects, session=a.session)
    ),
    ("runs", "known"): (READER, wire.NameAsk, lambda j, a, _: _runs(j).known()),
    ("runs", "drop"): (WRITER, wire.NamesAsk, lambda j, a, _: _runs(j).drop(a.names)),
    ("memories", "write"): (WRITER, wire.WriteAsk, _write),
    ("memories", "get"): (READER, wire.GetAsk, lambda j, a, x: _memories(j).get(a.ids, _as(a.reader, x))),
    ("memories", "listing"): (READER, wire.ListingAsk, _listing),
    ("memories", "match"): (READER, wire.MatchAsk, _match),
    ("memories", "near"): (READER, wire.NearAsk, _near),
    ("memories", "take"): (
        READER, wire.NumbersAsk, lambda j, a, x: _memories(j).take(a.numbers, _as(a.reader, x))
    ),
    ("memories", "places"): (
        READER, wire.NumbersAsk, lambda j, a, x: _memories(j).places(a.numbers, _as(a.reader, x), a.reach)
    ),
    ("memories", "trail"): (
        READER, wire.TrailAsk, lambda j, a, x: _memories(j).trail(_as(a.reader, x), a.id, a.limit)
    ),
    ("memories", "unembedded"): (WRITER, wire.UnembeddedAsk, _unembedded),
    ("memories", "meant"): (ADMIN, wire.NamesAsk, lambda j, a, _: _memories(j).meant(a.names)),
    ("memories", "everything"): (ADMIN, wire.NameAsk, lambda j, a, _: _memories(j).everything()),
    ("memories", "carried"): (
        ADMIN, wire.CarriedAsk, lambda j, a, _: _memories(j).carried(a.after, a.limit)
    ),
    ("memories", "compact"): (WRITER, wire.TextAsk, _compact),
}  # fmt: skip
_OF_ALL = (("memories", "everything"), ("memories", "carried"), ("memories", "meant"))
"""What tells of every memory, whoever it is for."""
METHODS = tuple(_METHODS)
"""Every (port, method) that there is."""
