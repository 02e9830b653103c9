"""The repository of sessions: loads their states and commits commands. The only writer of their streams.

Optimistic: a command is decided in the state that is known, and appended with that version.
If somebody else was faster the new events are folded in and the command is decided again,
provided that it merges with them; otherwise the caller gets StaleVersion. So no writer waits
for another, and nobody's write is lost.

What decides commands is imported at the first write, because most hooks only read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, TypedDict

import msgspec

from ... import errors
from ...core.base.lazy import json_decoder
from ...core.base.text import clean_name
from ...core.base.values import Value
from ...core.journal.event import Body, Erased, Event, draft
from ...core.sessions import snapshot
from ...core.sessions.command import Command, Refusal
from ...core.sessions.fold import fold
from ...core.sessions.state import SessionState
from ...core.sessions.status import Card, card_of
from ...effects.clock import now
from ...effects.pause_file import PauseFile
from ...errors import SegueError, StaleVersion, StoreError, UnknownSession
from ...stores.base import Append, Journal, Snapshot

if TYPE_CHECKING:
    from ...stores.memory_changes import MemoryChange

SNAPSHOT_EVENTS_READ = 64
"""A process that had to fold more events than this leaves a snapshot for the next one."""
SNAPSHOT_EVENTS_WRITTEN = 256
"""A snapshot is written after this many events of our own, or one for each KB of a large state."""
_CACHED_SESSIONS = 128
_RETRIES = 1000

_cards = json_decoder(Card)
_ERRORS = {
    kind.code: kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, SegueError) and kind.__init__ is SegueError.__init__
}


class _Known(Value):
    """A session as last seen here."""

    state: SessionState
    head: bytes
    """The hash of the last event that was seen, because the same version of another history is another
    state."""


class Saved(Value):
    """A command that is durable now."""

    session: str
    version: int
    events: int
    """How many events it added; 0 if nothing had to change."""
    warnings: tuple[str, ...] = ()
    new: tuple[str, ...] = ()
    """Items that were not in the plan before, and were finished, begun, blocked or dropped."""
    replaced_goal: str = ""
    """The goal that was replaced, if there was another one before."""


@lru_cache(maxsize=256)
def stream_of(session: str) -> str:
    """The stream of a session. Raises BadName for an invalid id."""
    return "session/" + clean_name(session, what="session id")


def _can_be(stream: str) -> bool:
    """Whether the name of a stream is valid for a session: other programs that write to a store can use any
    name."""
    with suppress(errors.BadName):
        clean_name(stream.removeprefix("session/"))
        return True
    return False


def refuse(refusal: Refusal) -> SegueError:
    """The error that a refusal stands for."""
    fault = _ERRORS.get(refusal.code, errors.RefusedError)(refusal.message, hint=refusal.hint)
    for name, value in refusal.facts.items():
        setattr(fault, name, value)
    return fault


Guards = Callable[[], Sequence[Append]]
Make = Callable[[SessionState], tuple[Sequence[Command], Mapping[str, bytes] | None]]
"""Makes the commands for a state, and the pieces that they name."""
Learnt = Callable[[str, Sequence[str]], "MemoryChange"]


class CommitOptions(TypedDict, total=False):
    """What may go into a commit with its commands; see ``SessionRepository.commit``."""

    pieces: Mapping[str, bytes] | None
    guards: Guards | None
    since: int | None
    actor: str
    memories: MemoryChange | None


class SessionRepository:
    """Sessions of one store, as one actor sees and writes them."""

    def __init__(
        self, journal: Journal, *, actor: str, run: str = "", pause_file: PauseFile | None = None,
        mask: Callable[[str], str] | None = None, after_write: Callable[[int], None] | None = None,
    ) -> None:  # fmt: skip
        self.journal = journal
        self.actor = actor
        self.run = run
        self.pause_file = pause_file or PauseFile([])
        self.mask = mask
        self._after_write = after_write
        self.learnt: Learnt | None = None
        """Set where the store keeps memories: what is learnt is also one, in the same commit."""
        self.sessions_max = _CACHED_SESSIONS
        self.cards_seen: dict[str, tuple[int, Card]] = {}
        """The cards of the last list by stream, with the versions that they are of. Whoever lists often hands
        them on to the next repository."""
        self._known: dict[str, _Known] = {}
        self._unsnapped: dict[str, int] = {}

    def state(self, session: str) -> SessionState:
        """The state as of now; raises UnknownSession."""
        return _begun(session, self._refresh(session))

    def cached(self, session: str) -> SessionState | None:
        """The state as last seen here, without asking the store."""
        known = self._known.get(session)
        return known.state if known else None

    def seen(self) -> list[str]:
        """The sessions whose states are cached."""
        return list(self._known)

    def exists(self, session: str) -> bool:
        """Whether a session of this id was ever begun."""
        return self.journal.head(stream_of(session)).version > 0

    def state_at(self, session: str, version: int) -> SessionState:
        """The state as it was at a version."""
        return fold_all(self.journal.read(stream_of(session), limit=version))

    def _refresh(self, session: str) -> SessionState:
        """The newest state: the cached one with the events since, or loaded anew if the cached one is no
        longer valid."""
        stream = stream_of(session)
        state = self.cached(session)
        kept = state.version if state else 0
        if state is None:
            state, kept = self._from_snapshot(stream)
        known, head = self._known.get(session), self.journal.head(stream)
        events = self.journal.read(stream, after=state.version) if head.version > state.version else []
        last = events[0].prev if events else head.hash
        other_history = known is not None and known.head and known.head != last
        scrubbed = any(event.kind == Erased.KIND for event in events)
        if known is not None and (head.version < state.version or other_history or scrubbed):
            self.forget(session)  # dropped, recovered or scrubbed: the cached state is no longer valid
            watch = getattr(self.journal, "watch", None)
            if watch is not None and head.version and not scrubbed:
                is_behind = head.version < state.version
                watch.check(self.journal, stream, state.version, replaced=not is_behind)
            return self._refresh(session)
        for event in events:
            state = fold(state, event)
        if state.version:
            self._remember(session, state, events[-1].hash if events else head.hash)
        if state.version - kept > SNAPSHOT_EVENTS_READ:
            self._snap(session, state)
        return state

    def _state_of_events(self, session: str) -> SessionState:
        """The newest state of a session that has no snapshot: unless it is cached, all of its events tell it,
        without another question to the store."""
        if self.cached(session) is not None:
            return self.state(session)
        events = self.journal.read(stream_of(session))
        state = _begun(session, fold_all(events))
        self._remember(session, state, events[-1].hash)
        if state.version > SNAPSHOT_EVENTS_READ:
            self._snap(session, state)
        return state

    def _from_snapshot(self, stream: str) -> tuple[SessionState, int]:
        kept = self.journal.snapshots([stream]).get(stream)
        if kept is not None and kept.fold == snapshot.FOLD:
            with suppress(msgspec.MsgspecError):
                state = snapshot.decode(snapshot.unsealed(kept.state))
                if state.version <= self.journal.head(stream).version:
                    return state, kept.version
        return SessionState(), 0

    def _remember(self, session: str, state: SessionState, head: bytes) -> SessionState:
        self._known.pop(session, None)  # those that were seen last stay
        self._known[session] = _Known(state, head)
        if len(self._known) > self.sessions_max:
            with suppress(KeyError, RuntimeError):  # another thread was faster
                oldest = next(iter(self._known))
                self._known.pop(oldest)
                self._unsnapped.pop(oldest, None)
        return state

    def forget(self, session: str = "") -> None:
        """Drop cached states, because the store was changed by other means."""
        if session:
            self._known.pop(session, None)
        else:
            self._known.clear()
        self.cards_seen.clear()

    def _snap(self, session: str, state: SessionState) -> None:
        """Store a snapshot. It is only a cache, so failing to store it is not an error."""
        if self.pause_file.in_force():
            return
        with suppress(StoreError, errors.AccessError, OverflowError):
            made = snapshot_of(session, state)
            self.journal.keep(made)
            self._unsnapped[session] = min(0, SNAPSHOT_EVENTS_WRITTEN - len(made.state) // 1024)

    def cards(self) -> list[Card]:
        """Every session, the most recently active first."""
        heads = [head for head in self.journal.streams("session/") if _can_be(head[0])]
        seen = {name: card for name, version in heads if (card := self._card_seen(name, version)) is not None}
        kept = self.journal.snapshots((name for name, _ in heads if name not in seen), cards=True)
        cards = [seen.get(name) or self._card(name, version, kept.get(name)) for name, version in heads]
        self.cards_seen.clear()
        self.cards_seen |= {name: (version, card) for (name, version), card in zip(heads, cards, strict=True)}
        return sorted(cards, key=lambda card: (card.last_active, card.id), reverse=True)

    def _card_seen(self, name: str, version: int) -> Card | None:
        """The card of a session that has not changed since it was made."""
        seen = self.cards_seen.get(name)
        return seen[1] if seen is not None and seen[0] == version else None

    def _card(self, name: str, version: int, found: Snapshot | None) -> Card:
        card = _card_in(found) if found is not None and found.version == version else None
        if card is not None:
            return card
        session = name.removeprefix("session/")
        state = self.state(session) if found is not None else self._state_of_events(session)
        if state.status not in ("active", "created"):
            self._snap(session, state)
        return card_of(state)

    def commit(
        self, session: str, commands: Sequence[Command], *, pieces: Mapping[str, bytes] | None = None,
        guards: Guards | None = None, since: int | None = None, actor: str = "", exact: bool = False,
        memories: MemoryChange | None = None, at: str = "",
    ) -> Saved:  # fmt: skip
        """Make commands durable, all or none. ``at`` is when it happened, if that is not now. ``guards``
        adds conditions and appends to the same commit.
        ``since`` is the version that the commands were made for, if any; with ``exact`` they are valid at
        that version only. ``actor`` declares them instead of the usual one. Changes of ``memories`` are part
        of the commit."""
        from ...core.sessions.commands import Learn

        self.pause_file.check()
        commands = self._cleaned(commands)
        texts: list[str] = []
        newest = False  # whether an old state would not do
        for command in commands:
            newest = newest or command.LOOKS or not command.MERGES
            if type(command) is Learn:
                texts.append(command.text)
        if texts and self.learnt is not None:
            memories = self.learnt(session, texts)
        cached = None if newest else self.cached(session)
        if cached is not None and since is not None and cached.version < since:
            cached = None  # a slower thread has put back an older state than the caller has seen
        saved, _ = self._commit(
            session, cached, actor or self.actor, commands, pieces, guards=guards, since=since, exact=exact,
            memories=memories, at=at,
        )  # fmt: skip
        return saved

    def commit_made(self, session: str, make: Make, *, look: bool = False) -> tuple[Saved, SessionState]:
        """Commit the commands that ``make`` returns for a state, all or none; returns the result and the
        state after it. If somebody else wrote first, ``make`` is called again with the new state, so it
        merges with anything. With ``look`` it begins with the newest state, otherwise with the one last
        seen."""
        self.pause_file.check()
        return self._commit(session, None if look else self.cached(session), self.actor, make=make)

    def _commit(
        self, session: str, cached: SessionState | None, actor: str, commands: Sequence[Command] = (),
        pieces: Mapping[str, bytes] | None = None, *, make: Make | None = None, guards: Guards | None = None,
        since: int | None = None, exact: bool = False, memories: MemoryChange | None = None, at: str = "",
    ) -> tuple[Saved, SessionState]:  # fmt: skip
        """Decide and append, again and again until nobody else writes in between: commands that ``make``
        returns for each state, or the given ones as long as they merge with what others wrote. The ``cached``
        state is tried first; commands that change nothing in it are decided once more in the newest one."""
        from ...core.sessions.commands import decide_all

        stream = stream_of(session)
        more: dict[str, MemoryChange] = {} if memories is None else {"memories": memories}
        state, newest = (self._refresh(session), True) if cached is None else (cached, False)
        for _ in range(_RETRIES):
            if make is not None:
                made, pieces = make(_begun(session, state))
                commands = self._cleaned(made)
            elif since is not None and state.version != since:
                behind = exact or state.version < since
                if behind or not self._all_merge(commands, stream, since):
                    raise StaleVersion(stream, since, state.version)
            outcome = decide_all(state, commands, at=at or now(), actor=actor, run=self.run)
            if isinstance(outcome, Refusal) or not outcome.drafts:
                if not newest:
                    state, newest = self._refresh(session), True
                    continue
                if isinstance(outcome, Refusal):
                    raise refuse(outcome)
                return Saved(session, state.version, 0), state
            own = Append(stream, state.version, outcome.drafts)
            try:
                events = self.journal.append(own, *(guards() if guards else ()), pieces=pieces, **more)
            except StaleVersion as stale:
                if stale.stream == stream:
                    if make is None and not self._all_merge(commands, stream, state.version):
                        raise
                    state, newest = self._refresh(session), True
                elif guards is None:
                    raise
                continue
            state, count = outcome.state, len(outcome.drafts)
            self._remember(session, state, events[count - 1].hash)
            self._written(session, state, count)
            new, goal = outcome.new, outcome.replaced_goal
            return Saved(session, state.version, count, new=new, replaced_goal=goal), state
        raise errors.StoreBusy(f"session {session} changed {_RETRIES} times while writing", hint="try again")

    def _cleaned(self, commands: Sequence[Command]) -> Sequence[Command]:
        from ...core.sessions.cleaning import clean_command

        return [clean_command(command, mask=self.mask) for command in commands]

    def _all_merge(self, commands: Sequence[Command], stream: str, after: int) -> bool:
        """Whether commands may be decided again after what others wrote since a version."""
        from ...core.sessions.commands import merges

        theirs = self.journal.read(stream, after=after)
        return all(merges(command, event) for command in commands for event in theirs)

    def _written(self, session: str, state: SessionState, count: int) -> None:
        unsnapped = self._unsnapped[session] = self._unsnapped.get(session, 0) + count
        if unsnapped >= SNAPSHOT_EVENTS_WRITTEN:
            self._snap(session, state)
        if self._after_write is not None:
            self._after_write(count)


def _begun(session: str, state: SessionState) -> SessionState:
    """The state. Raises UnknownSession if it belongs to a session that was never begun."""
    if not state.version:
        raise UnknownSession(
            f"there is no session {session!r}", hint="`segue list --all` shows the ones that exist"
        )
    return state


def _card_in(kept: Snapshot) -> Card | None:
    if kept.fold == snapshot.FOLD and kept.card:
        with suppress(msgspec.MsgspecError):
            return _cards.decode(snapshot.unsealed(kept.card))
    return None


def append_last(journal: Journal, stream: str, *bodies: Body, actor: str, run: str = "") -> None:
    """Append to a ledger, after whatever others append at the same time."""
    drafts = [draft(body, at=now(), actor=actor, run=run) for body in bodies]
    while drafts:
        with suppress(StaleVersion):
            journal.append(Append(stream, journal.head(stream).version, drafts))
            return


def fold_all(events: Sequence[Event]) -> SessionState:
    """The state after all events of a stream."""
    state = SessionState()
    for event in events:
        state = fold(state, event)
    return state


def snapshot_of(session: str, state: SessionState) -> Snapshot:
    """The snapshot of a state, as it is stored."""
    card = snapshot.sealed(msgspec.json.encode(card_of(state), order="sorted"))
    sealed = snapshot.sealed(snapshot.encode(state))
    return Snapshot(stream_of(session), state.version, snapshot.FOLD, sealed, card)
