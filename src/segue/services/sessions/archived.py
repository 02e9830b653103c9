"""Sessions that are archived in a store that machines share: each a stream with the pieces of one file.

What is archived is out of the way of all that lists, counts and searches sessions, and can be brought back
from any machine. An archive counts from the commit on that brings its last piece; what somebody left who died
before that is no archive, and the one before it still holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...core import event_kinds as ev
from ...core.base.canonical import sha256
from ...core.base.values import Value
from ...core.journal.pieces import address as address_of
from ...effects.clock import now
from ...errors import DamagedError
from ...stores.base import Append, Journal

PREFIX = "archive/"
BROUGHT_BACK = "restored/"
PIECE_BYTES = 1 << 20
COMMIT_PIECES = 4
"""How many pieces are written in one commit: far below what a server takes in one request."""


class ArchivedSession(Value):
    """An archive, as its stream tells it."""

    id: str
    goal: str
    events: int
    size: int
    hash: str
    at: str
    pieces: tuple[str, ...]
    version: int


def is_archived(journal: Journal, session: str) -> bool:
    """Whether a session is archived in the store."""
    return journal.head(PREFIX + session).version > 0


def archived_sessions(journal: Journal) -> list[str]:
    """The ids of all sessions that are archived in the store."""
    return [name.removeprefix(PREFIX) for name, _ in journal.streams(PREFIX)]


def about(journal: Journal, session: str) -> ArchivedSession | None:
    """The newest archive of a session that is whole; None if there is none."""
    events = journal.read(PREFIX + session)
    found, pieces = None, dict[str, dict[str, None]]()
    for event in events:
        told = ev.read_body(event)
        if isinstance(told, ev.ArchiveWritten):
            own = pieces.setdefault(told.hash, {})
            own.update(dict.fromkeys(told.pieces))
            if len(own) == -(-told.size // PIECE_BYTES):
                found = ArchivedSession(
                    session, told.goal, told.events, told.size, told.hash, event.at, tuple(own),
                    events[-1].version,
                )  # fmt: skip
    return found


def read(journal: Journal, found: ArchivedSession) -> bytes:
    """What was archived. Raises DamagedError unless it is whole."""
    parts = []
    for first in range(0, len(found.pieces), COMMIT_PIECES):
        wanted = found.pieces[first : first + COMMIT_PIECES]
        there = journal.pieces(wanted)
        places = enumerate(wanted, first)
        parts += [_unpacked(found.id, place, there.get(address, b"")) for place, address in places]
    body = b"".join(parts)
    if len(body) != found.size or sha256(body).hexdigest() != found.hash:
        raise DamagedError("the archive", PREFIX + found.id, "its bytes are not those that were written")
    return body


def write(journal: Journal, session: str, goal: str, events: int, body: bytes, *, actor: str) -> None:
    """Archive these bytes under the id of a session; what was archived before goes when they are there."""
    version, whole = journal.head(PREFIX + session).version, sha256(body).hexdigest()
    cuts = [body[at : at + PIECE_BYTES] for at in range(0, len(body), PIECE_BYTES)]
    for first in range(0, len(cuts), COMMIT_PIECES):
        some = [
            _packed(session, place, cut)
            for place, cut in enumerate(cuts[first : first + COMMIT_PIECES], first)
        ]
        pieces = {address_of(piece): piece for piece in some}
        told = ev.ArchiveWritten(session, goal, events, len(body), whole, list(pieces))
        drafts = [ev.draft(told, at=now(), actor=actor)]
        version = journal.append(Append(PREFIX + session, version, drafts), pieces=pieces)[-1].version
    there = about(journal, session)
    old = set(piece_addresses(journal.read(PREFIX + session))) - set(there.pieces if there else ())
    if old:
        journal.drop(pieces=sorted(old))


def piece_addresses(events: Iterable[ev.Event]) -> list[str]:
    """The address of every piece that these events refer to."""
    told = map(ev.read_body, events)
    return [address for body in told if isinstance(body, ev.ArchiveWritten) for address in body.pieces]


def _packed(session: str, place: int, cut: bytes) -> bytes:
    """A piece that no other archive can have: it goes with its own."""
    return f"{session}\n{place}\n".encode() + cut


def _unpacked(session: str, place: int, piece: bytes) -> bytes:
    """What is in a piece; nothing if it is missing or another's."""
    mark = f"{session}\n{place}\n".encode()
    return piece[len(mark) :] if piece.startswith(mark) else b""


def drop(journal: Journal, session: str) -> None:
    """Remove the archive of a session, if there is one."""
    events = journal.read(PREFIX + session)
    if events:
        journal.drop(Append(PREFIX + session, events[-1].version), pieces=piece_addresses(events))


def note_brought_back(journal: Journal, session: str, *, actor: str) -> None:
    """Note that a session was brought back now."""
    stream = BROUGHT_BACK + session
    draft = ev.draft(ev.ArchiveRestored(session), at=now(), actor=actor)
    journal.append(Append(stream, journal.head(stream).version, [draft]))


def brought_back(journal: Journal, sessions: Sequence[str]) -> dict[str, str]:
    """When those of these were last brought back that ever were."""
    there = dict(journal.streams(BROUGHT_BACK))
    found = {}
    for session in sessions:
        version = there.get(BROUGHT_BACK + session, 0)
        if version:
            found[session] = journal.read(BROUGHT_BACK + session, after=version - 1)[-1].at
    return found


def forget_brought_back(journal: Journal, session: str) -> None:
    """Forget that a session was ever brought back."""
    stream = BROUGHT_BACK + session
    if version := journal.head(stream).version:
        journal.drop(Append(stream, version))
