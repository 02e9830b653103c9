"""What a store lost of sessions and agents' states, and what an emergency file brings back of it."""

from __future__ import annotations

from ....core import event_kinds as ev
from ....core.sessions.rewind import difference
from ....core.sessions.state import SessionState
from ....effects.clock import now
from ....stores.base import Append, Journal
from ...resume import emergency
from ...sessions.repository import fold_all, stream_of
from .result import ACTOR


def lost_pieces(journal: Journal) -> list[tuple[str, int]]:
    """(session, how many) pieces that states name and the store does not have."""
    lost: list[tuple[str, int]] = []
    for stream, _ in journal.streams("session/"):
        for agent in fold_all(journal.read(stream)).agents.values():
            have = journal.pieces(agent.pieces)
            gone = sum(address not in have for address in agent.pieces)
            if gone:
                lost.append((stream.removeprefix("session/"), gone))
    return lost


def restore_state(journal: Journal, found: emergency.Emergency) -> list[str]:
    """A session that the journal has lost, or only the beginning of, from a file's state."""
    state = emergency.state_in(found)
    stream = stream_of(found.session_id)
    head = journal.head(stream)
    if state is None or not state.version or head.version >= state.version:
        return []
    now_state = fold_all(journal.read(stream)) if head.version else SessionState()
    reason = f"from the emergency file of {found.time}"
    if any(isinstance(g, ev.Gap) and g.reason == reason for g in map(ev.read_body, journal.read(stream))):
        return []
    bodies: list[ev.Body] = []
    if not head.version:
        bodies.append(
            ev.Created(
                found.session_id,
                state.goal,
                state.organization,
                state.project,
                state.type,
                state.project_name,
            )
        )
    bodies.append(ev.Gap(head.version + 1, state.version, reason))
    bodies.append(ev.Rewound(state.version, difference(now_state, state, lifecycle=True), "emergency"))
    drafts = [ev.draft(body, at=now(), actor=ACTOR) for body in bodies]
    journal.append(Append(stream, head.version, drafts))
    return [f"the state of {found.session_id} at version {state.version}"]
