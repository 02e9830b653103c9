"""Agents' own states: any JSON value of any size, of which only what changed is stored.

The rope of the newest save is cached; every use checks with the session's state whether it is still the
newest. If somebody else changed an agent's state between reading and saving it, StaleVersion is raised and
nothing is lost: load it, then save again.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import msgspec

from ...core.base.values import Value
from ...core.journal import pieces
from ...core.sessions.commands import SaveAgent, merges
from ...errors import DamagedError, StaleVersion, UnknownAgent
from .repository import Saved, SessionRepository, stream_of

_CACHED_ROPES = 16


class _Kept(Value):
    """An agent's state as it was last seen here."""

    rope: pieces.Rope
    cuts: tuple[str, ...] | None
    """The stored addresses, if they differ from those of the rope."""
    version: int
    """The version of the session when this was seen."""

    def addresses(self) -> tuple[str, ...]:
        return self.rope.addresses if self.cuts is None else self.cuts


class AgentStates:
    """The states of all agents of all sessions of a store."""

    def __init__(self, repository: SessionRepository) -> None:
        self._repository = repository
        self._kept: dict[tuple[str, str], _Kept] = {}
        self._lock = threading.RLock()

    def save(
        self, session: str, agent: str, value: Any, *, commit: Callable[..., Saved], since: int | None = None
    ) -> Saved:
        """Store what is new in a value with ``commit``; ``since`` is the version at which it was last
        seen."""
        with self._lock:
            kept = self._kept.get((session, agent))
            cached = self._repository.cached(session)
            if kept is None or cached is None or kept.version != cached.version:
                kept = self._newest(session, agent, kept)
            if since is not None:
                self._check_since(session, agent, since)
            saving = pieces.save(kept.rope if kept.cuts is None else pieces.Rope(), value)
            splices, fresh = saving.splices, saving.fresh
            if kept.cuts is not None:
                splices, fresh = pieces.resplice(kept.cuts, saving.settle())
            if kept.rope.sections and not splices:
                return Saved(session, self._newest(session, agent, kept).version, 0)
            save = SaveAgent(agent, saving.size, splices)
            saved = commit((save,), pieces=fresh, since=kept.version)
            self._kept.pop((session, agent), None)  # it is unusable if settling fails half-way
            rope = saving.settle() if kept.cuts is None else saving.rope
            self._remember(session, agent, _Kept(rope, None, saved.version))
            return saved

    def _check_since(self, session: str, agent: str, since: int) -> None:
        stream = stream_of(session)
        save = SaveAgent(agent, 0, ())
        version = self._repository.journal.head(stream).version
        between = self._repository.journal.read(stream, after=since) if since < version else []
        if since > version or not all(merges(save, event) for event in between):
            raise StaleVersion(f"agent {agent} of {stream}", since, version)

    def _newest(self, session: str, agent: str, seen: _Kept | None) -> _Kept:
        """What a save is compared with, as stored now. Raises StaleVersion if somebody else changed it."""
        state = self._repository.state(session)
        held = state.agents.get(agent)
        stored = held.pieces if held else ()
        if seen is not None and seen.addresses() != stored:
            self._kept.pop((session, agent))
            raise StaleVersion(f"agent {agent} of session/{session}", seen.version, state.version)
        if stored:
            with suppress(DamagedError):
                return self._kept_for(session, agent, stored, state.version)
        return _Kept(pieces.Rope(), stored or None, state.version)

    def forget(self, session: str) -> None:
        """Drop the cached states of a session's agents, because the session went back to an earlier state."""
        self._kept = {place: kept for place, kept in self._kept.items() if place[0] != session}

    def load(self, session: str, agent: str) -> Any:
        """The state that was saved last. Raises UnknownAgent or DamagedError."""
        with self._lock:
            try:
                return self._loaded(session, agent)
            except DamagedError:  # or the session was archived between its events and its pieces
                self._repository.forget(session)
                return self._loaded(session, agent)

    def _loaded(self, session: str, agent: str) -> Any:
        state = self._repository.state(session)
        held = state.agents.get(agent)
        if held is None or not held.pieces:
            hint = "see `segue agent list`"
            raise UnknownAgent(f"no state of agent {agent!r} in {session}", hint=hint)
        return self._kept_for(session, agent, held.pieces, state.version).rope.value()

    def _kept_for(self, session: str, agent: str, addresses: tuple[str, ...], version: int) -> _Kept:
        kept = self._kept.get((session, agent))
        if kept is not None and kept.addresses() == addresses:
            return self._remember(session, agent, msgspec.structs.replace(kept, version=version))
        found = self._repository.journal.pieces(addresses)
        missing = sum(address not in found for address in addresses)
        source = f"the state of agent {agent}"
        if missing:
            raise DamagedError(source, session, f"{missing} of its pieces are missing")
        try:
            rope, aligned = pieces.load([found[a] for a in addresses], addresses)
        except msgspec.DecodeError as fault:
            raise DamagedError(source, session, str(fault)) from fault
        return self._remember(session, agent, _Kept(rope, None if aligned else addresses, version))

    def _remember(self, session: str, agent: str, kept: _Kept) -> _Kept:
        if len(self._kept) >= _CACHED_ROPES:
            self._kept.clear()
        self._kept[session, agent] = kept
        return kept
