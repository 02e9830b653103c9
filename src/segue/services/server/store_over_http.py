"""The store of a server, for its clients: one method of a port for each request.

Whoever asks was let in already; here is decided what a role may do, and that a key of one agent reads and
writes as that agent and nobody else, in this one place. Requests are read by the signatures of the ports
(``stores.remote.ports``) before anything happens; the table at the end says for each method which role it
needs and what is looked at first. A write that comes a second time while the first is under way, or soon
after it, gets the answer of the first: clients send again what was not answered. After a restart they look
for themselves.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from ...core.base.values import Value
from ...core.journal.event import Event
from ...core.journal.pieces import address as address_of
from ...core.memories.model import Audience, Memory, audience_fields, audience_of
from ...core.server.access import Access
from ...errors import NotAllowed, StoreBusy, UsageError
from ...settings import own_version
from ...stores.base import Append, Memories, Snapshot, Store
from ...stores.memory_changes import MemoryChange
from ...stores.remote import wire
from ...stores.remote.memories import reader_of
from ...stores.remote.ports import About, port_method

PAGE_EVENTS, PAGE_BYTES, STEP_EVENTS = 5_000, 8 << 20, 500
ATTEMPTS_MAX, ATTEMPT_SECONDS_MAX, ATTEMPT_BYTES_MAX = 4_096, 900.0, 64 << 20
WAIT_SECONDS = 30.0
OWN_STREAMS = ("session/", "tree/", "ledger/trust")
"""Where it counts who declared something; ledgers of holds, runs and hooks are written by Segue itself."""
_HINT = "check that client and server have the same version"


class Rule(Value):
    """What a method needs, and what happens beside calling it."""

    role: str
    check: Callable[[Store, Any, Access], None] | None = None
    """Raises if the request may not be carried out."""
    answer: Callable[[Any, Any, Access], Any] | None = None
    """What the method gave, as it is answered."""
    instead: Callable[[Store, Any, Access], Any] | None = None
    """Answers the request without calling the method."""


def need(port: str, method: str) -> str:
    """The role that a method needs; UsageError if there is no such method."""
    return _rule(port, method).role


def call(store: Store, access: Access, port: str, method: str, body: bytes) -> bytes:
    """What a method of a port answers, as bytes; raises what the store raises."""
    rule = _rule(port, method)
    access.demand(rule.role)
    try:
        asked: Any = wire.decode(body, port_method(port, method).request)
    except msgspec.MsgspecError as fault:
        raise UsageError(f"the body of {port}/{method} cannot be read: {fault}", hint=_HINT) from None

    def work() -> bytes:
        return wire.encode(_worked(store, access, port, method, asked))

    if not (attempt := getattr(asked, "attempt", "")):
        return work()
    name = f"{access.project} {access.key} {port}/{method} {attempt}".encode("utf-8", "replace")
    return _attempts.once(hashlib.sha256(name).hexdigest(), work)


def _worked(store: Store, access: Access, port: str, method: str, asked: Any) -> Any:
    """What a request is answered, by the rule for it. Whoever reads with a key of one agent is that agent."""
    rule = _rule(port, method)
    if access.agent and hasattr(asked, "reader"):
        asked = replace(asked, reader=replace(asked.reader, agent=access.agent))
    if rule.check is not None:
        rule.check(store, asked, access)
    if rule.instead is not None:
        return rule.instead(store, asked, access)
    place = store if port == "journal" else getattr(store, port)
    found = port_method(port, method).call(place, asked)
    return found if rule.answer is None else rule.answer(found, asked, access)


def _rule(port: str, method: str) -> Rule:
    found = _RULES.get((port, method))
    if found is None:
        raise UsageError(f"there is no {port[:40]!r}/{method[:40]!r} in a store", hint=_HINT)
    return found


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
                raise StoreBusy("the same write is in progress", hint="try again")
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


def _check_append(store: Store, asked: Any, access: Access) -> None:
    _check_drafts(asked.appends, access)
    pieces = asked.pieces or {}
    if any(address_of(body) != address for address, body in pieces.items()):
        raise UsageError("a piece does not match its address", hint=_HINT)
    if asked.memories is not None:
        _check_change(store.memories, asked.memories, access)


def _check_drafts(appends: Sequence[Append], access: Access) -> None:
    """A key of one agent declares as that agent."""
    for wish in appends:
        if not access.agent or not wish.stream.startswith(OWN_STREAMS):
            continue
        other = next((draft.actor for draft in wish.drafts if draft.actor != access.agent), None)
        if other is not None:
            raise _not_as(access, other)


def _not_as(access: Access, other: str) -> NotAllowed:
    told = f"this key is bound to the agent {access.agent}, but this is by {other[:60]!r}"
    return NotAllowed(told, hint=f"set SEGUE_ACTOR={access.agent}, or use another key")


def _headers(events: list[Event], *_: Any) -> list[tuple[bytes, bytes]]:
    """Of what was appended, what the client does not have yet."""
    return [(event.header(), event.hash) for event in events]


def _page(store: Store, asked: Any, _: Access) -> wire.StreamPage:
    most = min(asked.limit or PAGE_EVENTS, PAGE_EVENTS)
    kept: list[Event] = []
    size, after = 0, asked.after
    while len(kept) < most:
        step = min(STEP_EVENTS, most - len(kept))  # few enough that what is too much is never in memory
        events = store.read(asked.stream, after=after, limit=step)
        for event in events:
            size += len(event.body) + 400
            if size > PAGE_BYTES and kept:
                return wire.StreamPage(wire.rows_of(kept), more=True)
            kept.append(event)
        if len(events) < step:
            return wire.StreamPage(wire.rows_of(kept))
        after = events[-1].version
    return wire.StreamPage(wire.rows_of(kept), more=most != asked.limit)


def _check_pieces(_: Store, asked: Any, access: Access) -> None:
    """Of whatever names pieces, their addresses; of what also appends, who declares it."""
    _check_drafts(getattr(asked, "appends", ()), access)
    try:
        for name in asked.addresses if hasattr(asked, "addresses") else asked.pieces:
            bytes.fromhex(name)
    except ValueError:
        raise UsageError("an address of a piece is hexadecimal", hint=_HINT) from None


def _proven_pieces(found: dict[str, bytes], *_: Any) -> list[tuple[str, bytes, bool]]:
    return [(address, body, address_of(body) == address) for address, body in found.items()]


def _snapshots(found: dict[str, Snapshot], asked: Any, _: Access) -> list[Snapshot]:
    return [replace(one, state=b"") if asked.cards else one for one in found.values()]


def _about(_: Store, asked: Any, access: Access) -> About:
    return About(own_version(), access.project, access.role, access.agent)


def _check_change(memories: Memories, change: MemoryChange, access: Access) -> None:
    """NotAllowed unless the change is by the agent that the key is bound to."""
    agent = access.agent
    if not agent:
        return
    told = [kept.memory.agent for kept in change.adds]
    told += [vote.voter for vote in change.votes] + [trace.actor for trace in change.trail]
    other = next((name for name in told if name != agent), None)
    if other is not None:
        raise _not_as(access, other)
    named = [vote.memory for vote in change.votes] + [id for id, _, _ in change.recalls]
    for audience in memories.meant(named).values() if named else ():
        if audience.scope.startswith("agent-") and agent not in audience.names:
            raise _not_as(access, audience.names[0])
    for kept in (*change.puts, *change.vectors):
        if not _may_see(kept.memory, agent) or not _sees(memories, kept.memory, agent):
            raise _not_as(access, kept.memory.agent)


def _check_write(store: Store, asked: Any, access: Access) -> None:
    _check_change(store.memories, asked.change, access)


def _may_see(memory: Memory, agent: str) -> bool:
    return not memory.scope.startswith("agent-") or agent in audience_of(memory).names


def _sees(memories: Memories, memory: Memory, agent: str) -> bool:
    """Whether the agent may see what is there under this id: what it cannot see it cannot change."""
    return bool(memories.get([memory.id], reader_of(memory, agent)))


def _audiences(found: dict[str, Audience], _: Any, access: Access) -> dict[str, tuple[Any, ...]]:
    return {id: audience_fields(audience) for id, audience in found.items()}


def _visible(found: list[tuple[int, Memory]], _: Any, access: Access) -> list[tuple[int, Memory]]:
    return [(no, one) for no, one in found if not access.agent or _may_see(one, access.agent)]


def _check_unbound(_: Store, asked: Any, access: Access) -> None:
    """What tells of every memory, whoever it is for, is not for a key of one agent."""
    if access.agent:
        told = f"this key is bound to the agent {access.agent}, but this is about everyone's memories"
        raise NotAllowed(told, hint="use an admin's key that is bound to no agent")


def _check_compact(_: Store, asked: Any, access: Access) -> None:
    if asked.text:  # it rewrites what others said
        access.demand("admin")


_RULES: dict[tuple[str, str], Rule] = {
    ("journal", "append"): Rule("writer", _check_append, _headers),
    ("journal", "read"): Rule("reader", instead=_page),
    ("journal", "head"): Rule("reader", answer=lambda head, *_: (head.version, head.hash)),
    ("journal", "streams"): Rule("reader"),
    ("journal", "pieces"): Rule("reader", _check_pieces, _proven_pieces),
    ("journal", "snapshots"): Rule("reader", answer=_snapshots),
    ("journal", "keep"): Rule("writer"),
    ("journal", "erase"): Rule("admin", _check_pieces),
    ("journal", "drop"): Rule("admin", _check_pieces),
    ("journal", "about"): Rule("reader", instead=_about),
    ("runs", "put"): Rule("writer"),
    ("runs", "get"): Rule("reader"),
    ("runs", "rows"): Rule("reader"),
    ("runs", "known"): Rule("reader"),
    ("runs", "drop"): Rule("writer"),
    ("project_facts", "put"): Rule("writer"),
    ("project_facts", "get"): Rule("reader"),
    ("project_facts", "rows"): Rule("reader"),
    ("project_facts", "drop"): Rule("writer"),
    ("memories", "write"): Rule("writer", _check_write),
    ("memories", "get"): Rule("reader"),
    ("memories", "listing"): Rule("reader"),
    ("memories", "match"): Rule("reader"),
    ("memories", "near"): Rule("reader"),
    ("memories", "take"): Rule("reader"),
    ("memories", "places"): Rule("reader"),
    ("memories", "trail"): Rule("reader"),
    ("memories", "unembedded"): Rule("writer", answer=_visible),
    ("memories", "meant"): Rule("admin", _check_unbound, answer=_audiences),
    ("memories", "everything"): Rule("admin", _check_unbound),
    ("memories", "carried"): Rule("admin", _check_unbound),
    ("memories", "compact"): Rule("writer", _check_compact),
}
METHODS = tuple(_RULES)
"""Every (port, method) that there is."""
