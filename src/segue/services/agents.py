"""Agents' own states: any JSON value of any size, of which only what changed is stored.

The rope of the newest save is kept in memory; whether it is still the newest is asked of the
session's state at every use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from ..core import pieces
from ..core.commands import SaveAgent
from ..core.values import Value
from ..errors import DamagedError, UnknownAgent
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


class AgentStates:
    """The states of all agents of all sessions of a store."""

    def __init__(self, book: Book) -> None:
        self._book = book
        self._kept: dict[tuple[str, str], _Kept] = {}

    def save(self, session: Session, agent: str, value: Any) -> Saved:
        """Store what is new of a value."""
        state = self._book.known(session.id)
        held = state.agents.get(agent)
        stored = held.pieces if held else ()
        kept = self._kept_for(session.id, agent, stored) if stored else _Kept(pieces.EMPTY, (), True)
        saving = pieces.save(kept.rope, value)
        splices, fresh = saving.splices, saving.fresh
        if not kept.aligned:
            splices, fresh = pieces.resplice(stored, saving.rope)
        if stored and not splices:
            return Saved(session.id, state.version, 0)
        saved = session.apply(SaveAgent(agent, saving.size, splices), pieces=fresh)
        newest = self._book.known(session.id).agents[agent].pieces
        self._remember(session.id, agent, _Kept(saving.rope, newest, True))
        return saved

    def load(self, session: Session, agent: str) -> Any:
        """The newest value."""
        held = self._book.state(session.id).agents.get(agent)
        if held is None or not held.pieces:
            raise UnknownAgent(f"no state of agent {agent!r} in {session.id}", hint="see `segue agent list`")
        return self._kept_for(session.id, agent, held.pieces).rope.value()

    def _kept_for(self, session: str, agent: str, addresses: tuple[str, ...]) -> _Kept:
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
        return self._remember(session, agent, _Kept(rope, addresses, aligned))

    def _remember(self, session: str, agent: str, kept: _Kept) -> _Kept:
        if len(self._kept) >= _CACHED_ROPES:
            self._kept.clear()
        self._kept[session, agent] = kept
        return kept
