"""What a recovery reads: the damaged file, originals that were kept, backups; and what can be made of them.

The pages of each file are read one by one, without trusting its header or any tree. A row counts only if it
has the hash that it was stored with; what several files have is merged by stream and version.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from ...._files import read_text
from ....core.base.values import Value, count
from ....core.journal.chain import Missing, assemble
from ....core.journal.event import Event
from ....core.memories.model import Memory
from ....effects.clock import now
from ....stores.sqlite.salvage import salvage
from ....stores.sqlite.upkeep import restore
from ...sessions.repository import fold_all
from ...workspace.data_folder import DataFolder
from .result import ACTOR

NOTE_CHARS_MAX = 8192
_STAMP_DIGITS = 14
"""Of a time, down to the second."""


class Source(Value):
    """Streams and pieces from one place."""

    name: str
    streams: dict[str, list[Event]]
    pieces: dict[str, bytes]
    erased: frozenset[str] = frozenset()
    heads: dict[str, int] = {}
    """Versions that streams are known to have had."""
    notes: list[str] = []
    is_backup: bool = False

    def all(self) -> Iterator[Event]:
        """Every event."""
        for events in self.streams.values():
            yield from events


class SourceFile(Value):
    """A file that is read."""

    name: str
    kind: str
    path: Path


def places(home: DataFolder) -> list[SourceFile]:
    """Whatever may hold events, the best first.

    An original that an earlier recovery kept is read only if it is newer than every backup: that recovery
    made one of all that it had found, and what was erased since then must not come back.
    """
    path = home.database
    found = []
    if path.is_file() or path.with_name(f"{path.name}-wal").is_file():
        found.append(SourceFile("the damaged store", "damaged file", path))
    aside = kept_aside(home)
    if aside is not None:
        found.append(SourceFile(f"the original in {aside.parent.name}", "damaged file", aside))
    made = backups(home)
    newest = _stamp(made[0].name) if made else ""
    found += [
        SourceFile(f"the original kept in {one.parent.name}", "damaged file", one)
        for one in home.originals()
        if _stamp(one.parent.name) > newest and one != aside
    ]
    return found + [SourceFile(f"backup {one.name}", "backup", one) for one in made]


def kept_aside(home: DataFolder) -> Path | None:
    """The original that an interrupted recovery kept, if its note names one; anything else in the note is
    nothing of ours."""
    with suppress(OSError, ValueError):
        named = Path(read_text(home.swap_note, size=NOTE_CHARS_MAX)) / home.database.name
        if named.parent.parent == home.damaged and named.is_file():
            return named
    return None


def backups(home: DataFolder) -> list[Path]:
    """The backups, the newest first."""
    return sorted(filter(Path.is_file, home.backups.glob("segue-*.db")), reverse=True)


def _stamp(name: str) -> str:
    return "".join(filter(str.isdecimal, name))[:_STAMP_DIGITS]


def doubt(home: DataFolder, sources: Sequence[Source], memories: Iterable[Memory]) -> str:
    """What may be lost without a trace: whatever was written after the newest that came back."""
    saved = {(e.stream, e.version) for source in sources if source.is_backup for e in source.all()}
    last = next(iter(backups(home)), None)
    made = _stamp(last.name) if last is not None else ""
    later = [e.at for source in sources for e in source.all() if (e.stream, e.version) not in saved]
    later += [at for one in memories if _stamp(at := max(one.created, one.updated)) > made]
    if later:
        when = max(later)[:19].replace("T", " ")
        return f"the newest that came back is of {when} UTC: what was written later, if anything was, is lost"
    if not made:
        return "nothing was found"
    day, clock = f"{made[:4]}-{made[4:6]}-{made[6:8]}", f"{made[8:10]}:{made[10:12]}:{made[12:14]}"
    told = f"nothing after the backup of {day} {clock} UTC was found"
    return f"{told}: what was written later is lost, memories too"


def read_wreck(place: SourceFile) -> Source:
    """All that a file still holds."""
    wreck = salvage(place.path)
    streams: dict[str, list[Event]] = {}
    for loose in sorted(wreck.events, key=lambda loose: (not loose.sure, loose.event.version)):
        streams.setdefault(loose.event.stream, []).append(loose.event)
    heads = {wreck.names[n]: version for n, version in wreck.heads.items() if n in wreck.names}
    is_backup = place.kind == "backup"
    return Source(place.name, streams, wreck.pieces, wreck.erased_pieces, heads, wreck.notes, is_backup)


def write(path: Path, sources: list[Source]) -> list[Missing]:
    """A new store of what these have; what none of them had."""
    names = sorted({name for source in sources for name in source.streams})
    pieces: dict[str, bytes] = {}
    erased: set[str] = set()
    for source in sources:
        for address, body in source.pieces.items():
            if address not in pieces:
                pieces[address] = body
                erased |= {address} & source.erased
    missing: list[Missing] = []
    streams: list[tuple[str, list[Event]]] = []
    for name in names:
        whole = assemble(name, [s.streams.get(name, []) for s in sources], at=now(), actor=ACTOR)
        if whole.events:
            streams.append((name, whole.events))
        missing += whole.missing + _missing_end(name, sources)
        if name.startswith("session/"):
            missing += _missing_pieces(name, whole.events, pieces)
    restore(path, streams, pieces, frozenset(erased))
    return missing


def _missing_end(stream: str, sources: list[Source]) -> list[Missing]:
    """Versions behind the last readable one that the stream is known to have had."""
    known = max((source.heads.get(stream, 0) for source in sources), default=0)
    last = max((event.version for s in sources for event in s.streams.get(stream, ())), default=0)
    return [Missing(stream, last + 1, known, "no source had them")] if known > last else []


def _missing_pieces(stream: str, events: list[Event], pieces: dict[str, bytes]) -> list[Missing]:
    gone = []
    for name, agent in fold_all(events).agents.items():
        lost = sum(address not in pieces for address in agent.pieces)
        if lost:
            gone.append(Missing(stream, 0, 0, f"{count(lost, 'piece')} of the state of agent {name}"))
    return gone
