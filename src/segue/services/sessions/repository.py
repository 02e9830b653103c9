"""The book: loads sessions and commits commands. The only writer of session streams.

Optimistic: a command is decided in the state that is known, and appended with that version.
If somebody else was faster the new events are folded in and the command is decided again,
provided that it merges with them; otherwise the caller gets StaleVersion. So no writer waits
for another, and nobody's write is lost.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache, partial

import msgspec

from ... import errors
from ...core.base import canonical
from ...core.base.lazy import json_decoder
from ...core.base.text import clean_name
from ...core.base.values import Value
from ...core.journal.event import Body, Draft, Erased, Event
from ...core.sessions import snapshot
from ...core.sessions.apart import apart
from ...core.sessions.cleaning import clean_command
from ...core.sessions.commands import Command, Learn, Refusal, decide_all, merges
from ...core.sessions.fold import fold, fold_body
from ...core.sessions.state import SessionState
from ...core.sessions.status import Card, card_of
from ...effects.clock import now
from ...effects.pause_file import PauseFile
from ...errors import SegueError, StaleVersion, StoreError, UnknownSession
from ...stores.base import Append, Journal, MemoryChange, Snapshot

SNAPSHOT_EVENTS_READ = 64
"""Whoever had to fold more than this leaves a snapshot for the next."""
SNAPSHOT_EVENTS_WRITTEN = 256
"""So many events of our own, or one for each KB of the state, are worth a snapshot."""
_CACHED_SESSIONS = 128
_RETRIES = 1000
_WAITING_MAX = 63

_cards = json_decoder(Card)
_ERRORS = {
    kind.code: kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, SegueError) and kind.__init__ is SegueError.__init__
}


class _Known(Value):
    """A session as last seen here: a folded state, and commits of ours that wait to be folded.

    Folding right behind a commit is slow (the disk has emptied the processor's caches) and of
    no use until somebody looks. Commands that are ``apart`` from the waiting ones are decided
    without them; all else folds them first.
    """

    state: SessionState
    head: bytes = b""
    """The hash of the last event that was seen, where it is known: the same version of another
    history is another state."""
    count: int = 0
    """How many of ``waiting`` wait."""
    waiting: list[tuple[Body, int, str]] = msgspec.field(default_factory=list)
    """(body, version, when); shared with those that follow, which only add to it."""
    looked: set[str] = msgspec.field(default_factory=set)
    """The items that the waiting ones look at; maybe more, since a commit adds its own before it is one."""

    @property
    def version(self) -> int:
        return self.state.version + self.count


class Saved(Value):
    """A command that is durable now."""

    session: str
    version: int
    events: int
    """How many facts it added; 0 if all was so already."""
    warnings: tuple[str, ...] = ()


@lru_cache(maxsize=256)
def stream_of(session: str) -> str:
    """The stream of a session; refuses an id that cannot be one."""
    return "session/" + clean_name(session, what="session id")


def _can_be(stream: str) -> bool:
    """Whether a stream has the name of a session: whoever writes a store without us can write any."""
    with suppress(errors.BadName):
        clean_name(stream.removeprefix("session/"))
        return True
    return False


def refuse(refusal: Refusal) -> SegueError:
    """The error that a refusal stands for."""
    return _ERRORS.get(refusal.code, errors.RefusedError)(refusal.message, hint=refusal.hint)


Guards = Callable[[], Sequence[Append]]
Make = Callable[[SessionState], tuple[Sequence[Command], Mapping[str, bytes]]]
"""What a state gives rise to: commands, and pieces that they name."""
Learnt = Callable[[str, Sequence[str]], MemoryChange]
"""What a session learnt, as memories."""


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
        self._clean = partial(clean_command, mask=mask)
        self._after_write = after_write
        self.learnt: Learnt | None = None
        """Set where the store keeps memories: what is learnt is also one, in the same commit."""
        self.sessions_max = _CACHED_SESSIONS
        """How many sessions are kept as last seen."""
        self._known: dict[str, _Known] = {}
        self._unsnapped: dict[str, int] = {}

    # -- reading -------------------------------------------------------------------------------

    def state(self, session: str) -> SessionState:
        """The state as of now; raises UnknownSession."""
        state = self._refresh(session)
        if not state.version:
            raise UnknownSession(
                f"there is no session {session!r}", hint="`segue list --all` names those that exist"
            )
        return state

    def cached(self, session: str) -> SessionState | None:
        """The state as last seen here, without asking the store."""
        known = self._known.get(session)
        if known is None or not known.count:
            return known.state if known else None
        state = known.state
        for body, version, at in known.waiting[: known.count]:
            state = fold_body(state, body, version=version, at=at, actor=self.actor)
        return self._remember(session, state, known.head)

    def seen(self) -> list[str]:
        """The sessions whose states are cached."""
        return list(self._known)

    def known(self, session: str) -> SessionState:
        """The state as last seen here: good enough to decide on, since appends are checked."""
        return self.cached(session) or self.state(session)

    def known_version(self, session: str) -> int:
        """The version as last seen here, without asking the store; 0 if it was not seen."""
        known = self._known.get(session)
        return known.version if known else 0

    def exists(self, session: str) -> bool:
        """Whether a session of this id was ever begun."""
        return self.journal.head(stream_of(session)).version > 0

    def state_at(self, session: str, version: int) -> SessionState:
        """The state as it was at a version."""
        return fold_all(self.journal.read(stream_of(session), limit=version))

    def _refresh(self, session: str) -> SessionState:
        """The newest state: the cached one and what came since, or a new one if that is void."""
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
            self.forget(session)  # dropped, recovered or scrubbed: what we know no longer counts
            return self._refresh(session)
        for event in events:
            state = fold(state, event)
        if state.version:
            self._remember(session, state, events[-1].hash if events else head.hash)
        if state.version - kept > SNAPSHOT_EVENTS_READ:
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
        """Drop what is cached: the store was changed behind our back."""
        if session:
            self._known.pop(session, None)
        else:
            self._known.clear()

    def _snap(self, session: str, state: SessionState) -> None:
        """Leave a snapshot; it is a cache, so a store that cannot take it is no fault."""
        if self.pause_file.in_force():
            return
        with suppress(StoreError, errors.AccessError, OverflowError):
            made = snapshot_of(session, state)
            self.journal.keep(made)
            self._unsnapped[session] = min(0, SNAPSHOT_EVENTS_WRITTEN - len(made.state) // 1024)

    def cards(self) -> list[Card]:
        """Every session, the most recently active first."""
        heads = [head for head in self.journal.streams("session/") if _can_be(head[0])]
        kept = self.journal.snapshots((name for name, _ in heads), cards=True)
        cards = []
        for name, version in heads:
            found = kept.get(name)
            card = _card_in(found) if found is not None and found.version == version else None
            if card is not None:
                cards.append(card)
            else:
                session = name.removeprefix("session/")
                state = self.state(session)
                cards.append(card_of(state))
                if state.status not in ("active", "created"):
                    self._snap(session, state)
        return sorted(cards, key=lambda card: (card.last_active, card.id), reverse=True)

    # -- writing -------------------------------------------------------------------------------

    def commit_apart(
        self, session: str, commands: Sequence[Command], pieces: Mapping[str, bytes] | None, since: int | None
    ) -> Saved | None:
        """``commit`` the short way, for the most common commands; None if this is not one of their cases.
        Its steps are few: behind the sync of the commit before, each costs three times what it costs in a
        loop."""
        known = self._known.get(session)
        if known is None:
            return None
        state, count, looked = known.state, known.count, known.looked
        version = expect = state.version + count
        if since is not None and since != version:
            return None
        self.pause_file.check()
        at, drafts, more = now(), [], []
        for command in commands:
            outcome = apart(state, command, self._clean)
            if outcome is None or outcome[1] in looked:
                return None
            body, item = outcome
            if item:
                looked.add(item)
            version += 1
            more.append((body, version, at))
            drafts.append(Draft(body.KIND, canonical.encode(body), at, self.actor, self.run, body.FORMAT))
        if not drafts:
            return None
        try:
            events = self.journal.append(Append(stream_of(session), expect, drafts), pieces=pieces)
        except StaleVersion:
            return None
        waiting, added = known.waiting, len(more)
        if len(waiting) != count:  # another thread added to it, in a history that is gone
            waiting = waiting[:count]
        waiting += more
        self._known[session] = _Known(state, events[-1].hash, count + added, waiting, looked)
        if count + added > _WAITING_MAX:
            self.cached(session)
        self._written(session, added)
        return Saved(session, version, added)

    def commit(
        self, session: str, commands: Sequence[Command], *, pieces: Mapping[str, bytes] | None = None,
        guards: Guards | None = None, since: int | None = None, actor: str = "", exact: bool = False,
        memories: MemoryChange | None = None,
    ) -> Saved:  # fmt: skip
        """Make commands durable, all or none. ``guards`` adds what must hold or happen with it;
        ``since`` is the version that the commands were made for, if they were made for one, and with
        ``exact`` the only one; ``actor`` is who declares them, if that is another one than usual; what
        happens to ``memories`` happens with them."""
        self.pause_file.check()
        commands = tuple(map(self._clean, commands))
        texts = [command.text for command in commands if type(command) is Learn]
        if texts and self.learnt is not None:
            memories = self.learnt(session, texts)
        return self._commit_merging(
            session, commands, pieces, guards, since, actor or self.actor, memories, exact
        )

    def _commit_merging(
        self, session: str, commands: Sequence[Command], pieces: Mapping[str, bytes] | None,
        guards: Guards | None, since: int | None, actor: str, memories: MemoryChange | None = None,
        exact: bool = False,
    ) -> Saved:  # fmt: skip
        stream = stream_of(session)
        more: dict[str, MemoryChange] = {} if memories is None else {"memories": memories}
        optimistic = all(c.MERGES and not c.LOOKS for c in commands)
        cached = self.cached(session) if optimistic else None
        if cached is not None and since is not None and cached.version < since:
            cached = None  # a thread that was slower put back what it knew: the caller has seen more
        state = cached or self._refresh(session)
        for _ in range(_RETRIES):
            if since is not None and state.version != since:
                between = self.journal.read(stream, after=since)
                if exact or state.version < since or not all(merges(c, e) for c in commands for e in between):
                    raise StaleVersion(stream, since, state.version)
            outcome = decide_all(state, commands, at=now(), actor=actor, run=self.run)
            if isinstance(outcome, Refusal) or not outcome.drafts:
                if cached is not None:
                    cached, state = None, self._refresh(session)
                    continue
                if isinstance(outcome, Refusal):
                    raise refuse(outcome)
                return Saved(session, state.version, 0)
            try:
                own = Append(stream, state.version, outcome.drafts)
                events = self.journal.append(own, *(guards() if guards else ()), pieces=pieces, **more)
            except StaleVersion as stale:
                if stale.stream != stream:
                    if guards is None:
                        raise
                    continue
                theirs = self.journal.read(stream, after=state.version)
                if not all(merges(command, event) for command in commands for event in theirs):
                    raise
                cached, state = None, self._refresh(session)
                continue
            head = next(e.hash for e in reversed(events) if e.stream == stream)
            self._remember(session, outcome.state, head)
            self._written(session, len(outcome.drafts))
            return Saved(session, outcome.state.version, len(outcome.drafts))
        raise errors.StoreBusy(f"session {session} changed {_RETRIES} times while writing", hint="try again")

    def commit_made(self, session: str, make: Make, *, look: bool = False) -> tuple[Saved, SessionState]:
        """Make durable what ``make`` wishes for in the state that it is given, all or none; and the state
        then. If somebody else was faster it is made anew, in what is there by now: so it merges with
        anything. ``look`` begins with the newest state; else the last one seen is tried first."""
        self.pause_file.check()
        stream, cached = stream_of(session), None if look else self.cached(session)
        state = cached or self.state(session)
        for _ in range(_RETRIES):
            wishes, pieces = make(state)
            commands = tuple(map(self._clean, wishes))
            outcome = decide_all(state, commands, at=now(), actor=self.actor, run=self.run)
            if isinstance(outcome, Refusal) or not outcome.drafts:
                if cached is not None:
                    cached, state = None, self.state(session)
                    continue
                if isinstance(outcome, Refusal):
                    raise refuse(outcome)
                return Saved(session, state.version, 0), state
            try:
                events = self.journal.append(Append(stream, state.version, outcome.drafts), pieces=pieces)
            except StaleVersion as stale:
                if stale.stream != stream:
                    raise
                cached, state = None, self.state(session)
                continue
            self._remember(session, outcome.state, events[-1].hash)
            self._written(session, len(outcome.drafts))
            return Saved(session, outcome.state.version, len(outcome.drafts)), outcome.state
        raise errors.StoreBusy(f"session {session} changed {_RETRIES} times while writing", hint="try again")

    def _written(self, session: str, count: int) -> None:
        unsnapped = self._unsnapped[session] = self._unsnapped.get(session, 0) + count
        if unsnapped >= SNAPSHOT_EVENTS_WRITTEN:
            self._snap(session, self.known(session))
        if self._after_write is not None:
            self._after_write(count)


def _card_in(kept: Snapshot) -> Card | None:
    if kept.fold == snapshot.FOLD and kept.card:
        with suppress(msgspec.MsgspecError):
            return _cards.decode(snapshot.unsealed(kept.card))
    return None


def fold_all(events: Sequence[Event]) -> SessionState:
    """The state that a whole journal comes to."""
    state = SessionState()
    for event in events:
        state = fold(state, event)
    return state


def snapshot_of(session: str, state: SessionState) -> Snapshot:
    """The snapshot of a state, as it is stored."""
    card = snapshot.sealed(msgspec.json.encode(card_of(state), order="sorted"))
    return Snapshot(
        stream_of(session), state.version, snapshot.FOLD, snapshot.sealed(snapshot.encode(state)), card
    )
