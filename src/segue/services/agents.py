"""Agents' own states: any JSON value of any size, of which only what changed is stored.

The rope of the newest save is kept in memory; whether it is still the newest is asked of the
session's state at every use. Whoever saw an agent's state and saves another, while somebody
else changed it in between, gets StaleVersion and loses nothing: load it, then save again.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec

from ..core import pieces
from ..core.commands import SaveAgent
from ..core.values import Value
from ..errors import DamagedError, StaleVersion, UnknownAgent
from .book import Book, Saved

if TYPE_CHECKING:
    from .sessions import Session

_CACHED_ROPES = 16


class _Kept(Value):
    rope: pieces.Rope
    addresses: tuple[str, ...]
    """As the session's state names them."""
    aligned: bool
    """Whether the rope has the same cuts."""
    version: int = 0
    """The session's, when this was seen."""


class AgentStates:
    """The states of all agents of all sessions of a store."""

    def __init__(self, book: Book) -> None:
        self._book = book
        self._kept: dict[tuple[str, str], _Kept] = {}

    def save(self, session: Session, agent: str, value: Any) -> Saved:
        """Store what is new of a value."""
        state = self._book.state(session.id)
        held = state.agents.get(agent)
        stored = held.pieces if held else ()
        seen = self._kept.get((session.id, agent))
        if seen is not None and seen.addresses != stored:
            self._kept.pop((session.id, agent))
            raise StaleVersion(f"agent {agent} of session/{session.id}", seen.version, state.version)
        kept = self._base(session.id, agent, stored, state.version)
        saving = pieces.save(kept.rope, value)
        splices, fresh = saving.splices, saving.fresh
        if not kept.aligned:
            splices, fresh = pieces.resplice(stored, saving.rope)
        if stored and not splices:
            return Saved(session.id, state.version, 0)
        saved = session.apply(SaveAgent(agent, saving.size, splices), pieces=fresh)
        newest = self._book.known(session.id).agents[agent].pieces
        self._remember(session.id, agent, _Kept(saving.rope, newest, True, saved.version))
        return saved

    def _base(self, session: str, agent: str, stored: tuple[str, ...], version: int) -> _Kept:
        """What a save is compared with; nothing, if there is nothing or it is damaged."""
        if stored:
            with suppress(DamagedError):
                return self._kept_for(session, agent, stored, version)
        return _Kept(pieces.EMPTY, (), not stored)

    def forget(self, session: str) -> None:
        """What was seen of a session's agents no longer counts: we went back ourselves."""
        self._kept = {place: kept for place, kept in self._kept.items() if place[0] != session}

    def load(self, session: Session, agent: str) -> Any:
        """The newest value."""
        state = self._book.state(session.id)
        held = state.agents.get(agent)
        if held is None or not held.pieces:
            raise UnknownAgent(f"no state of agent {agent!r} in {session.id}", hint="see `segue agent list`")
        return self._kept_for(session.id, agent, held.pieces, state.version).rope.value()

    def _kept_for(self, session: str, agent: str, addresses: tuple[str, ...], version: int) -> _Kept:
        kept = self._kept.get((session, agent))
        if kept is not None and (kept.addresses is addresses or kept.addresses == addresses):
            return kept
        found = self._book.journal.pieces(addresses)
        missing = sum(address not in found for address in addresses)
        source = f"the state of agent {agent}"
        if missing:
            raise DamagedError(source, session, f"{missing} of its pieces are missing")
        try:
            rope, aligned = pieces.load([found[a] for a in addresses], addresses)
        except msgspec.DecodeError as fault:
            raise DamagedError(source, session, str(fault)) from fault
        return self._remember(session, agent, _Kept(rope, addresses, aligned, version))

    def _remember(self, session: str, agent: str, kept: _Kept) -> _Kept:
        if len(self._kept) >= _CACHED_ROPES:
            self._kept.clear()
        self._kept[session, agent] = kept
        return kept
