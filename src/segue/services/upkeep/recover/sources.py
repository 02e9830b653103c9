"""What a recovery reads: the damaged file, originals that were kept, backups; and what can be made of them.

The pages of each file are read one by one, without trusting its header or any tree. A row counts only if it
has the hash that it was stored with; what several files have is merged by the chain of hashes. Where a
session has two histories, that of the first file stays under its id, and the other becomes one of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path

from msgspec.structs import replace

from ...._files import open_file, read_text
from ....core import event_kinds as ev
from ....core.base import canonical
from ....core.base.values import Value, count
from ....core.journal.event import Event
from ....core.journal.histories import Assembled, Missing, OtherHistory, assemble, held_in, sealed_again
from ....core.memories.model import Memory
from ....effects.clock import now
from ....errors import SegueError
from ....stores.sqlite import SqliteStore
from ....stores.sqlite.salvage import salvage
from ....stores.sqlite.schema import APPLICATION_ID
from ....stores.sqlite.upkeep import contents, restore
from ...sessions.repository import fold_all
from ...workspace.backups import dated_in_future, newest_first
from ...workspace.data_folder import DataFolder
from ...workspace.store_note import name_of_other, read_note
from .aside import is_no_file
from .result import ACTOR, KeptHistory

NOTE_CHARS_MAX = 8192
COPIES_MAX = 20
_HEADER_BYTES = 100
_MAGIC = b"SQLite format 3\0"
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
    names: frozenset[str] = frozenset()
    """Streams that it names, with or without events."""
    leftovers: frozenset[bytes] = frozenset()
    """Hashes of events that may have been written and never committed."""

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
    newest = _stamp(made[0].name) if made and not dated_in_future(made[0]) else ""
    found += [
        SourceFile(f"the original kept in {one.parent.name}", "damaged file", one)
        for one in home.originals()
        if _stamp(one.parent.name) > newest and one != aside
    ]
    found += [SourceFile(f"backup {one.name}", "backup", one) for one in made]
    return found + [SourceFile(f"the copy {one.name}", "copy", one) for one in copies_beside(home)]


def copies_beside(home: DataFolder) -> list[Path]:
    """Other files in the store's folder that are copies of it, as tools leave them that keep folders of
    several machines the same: they have the id that the store has, or had by its note and its backups."""
    found = [path for path in _databases(home.database.parent) if path != home.database]
    if not found:
        return []
    note = read_note(home.store_note)
    own = {_store_id(path) for path in (home.database, *backups(home))} | {note.store if note else ""}
    return [path for path in found[:COPIES_MAX] if _store_id(path) in own - {""}]


def _databases(folder: Path) -> Iterator[Path]:
    """The files of a folder that are stores, by their first bytes."""
    for path in sorted(folder.glob("*")):
        with suppress(OSError):
            if is_no_file(path) or path.is_symlink():
                continue
            with open_file(path) as file:
                header = file.read(_HEADER_BYTES)
            if header.startswith(_MAGIC) and header[68:72] == APPLICATION_ID.to_bytes(4, "big"):
                yield path


def _store_id(path: Path) -> str:
    with suppress(SegueError), closing(SqliteStore(path, read_only=True)) as journal:
        return contents(journal.database).store
    return ""


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
    return sorted(filter(Path.is_file, home.backups.glob("segue-*.db")), key=newest_first, reverse=True)


def _stamp(name: str) -> str:
    return "".join(filter(str.isdecimal, name))[:_STAMP_DIGITS]


def doubt(home: DataFolder, sources: Sequence[Source], memories: Iterable[Memory]) -> str:
    """What may be lost without a trace: whatever was written after the newest that came back."""
    saved = {e.hash for source in sources if source.is_backup for e in source.all()}
    last = next(iter(backups(home)), None)
    made = _stamp(last.name) if last is not None else ""
    later = [e.at for source in sources for e in source.all() if e.hash not in saved]
    later += [at for one in memories if _stamp(at := max(one.created, one.updated)) > made]
    if later:
        when = max(later)[:19].replace("T", " ")
        return f"the newest recovered event is from {when} UTC: anything written later is lost"
    if not made:
        return "nothing was found"
    day, clock = f"{made[:4]}-{made[4:6]}-{made[6:8]}", f"{made[8:10]}:{made[10:12]}:{made[12:14]}"
    told = f"nothing after the backup of {day} {clock} UTC was found"
    return f"{told}: anything written later is lost, memories too"


def read_wreck(place: SourceFile) -> Source:
    """All that a file still holds."""
    wreck = salvage(place.path)
    streams: dict[str, list[Event]] = {}
    for loose in sorted(wreck.events, key=lambda loose: (not loose.sure, loose.event.version)):
        streams.setdefault(loose.event.stream, []).append(loose.event)
    heads = {wreck.names[n]: version for n, version in wreck.heads.items() if n in wreck.names}
    leftovers = frozenset(loose.event.hash for loose in wreck.events if loose.leftover)
    return Source(
        place.name, streams, wreck.pieces, wreck.erased_pieces, heads, wreck.notes, place.kind == "backup",
        frozenset(wreck.names.values()), leftovers,
    )  # fmt: skip


class Written(Value):
    """What a store was made of."""

    missing: list[Missing]
    histories: list[KeptHistory]
    left_out: list[str]
    """A line for each stream of which something was found and is not there."""


def write(path: Path, sources: list[Source]) -> Written:
    """A new store of what these have; what none of them had, and what was found twice and differently."""
    pieces: dict[str, bytes] = {}
    erased: set[str] = set()
    for source in sources:
        for address, body in source.pieces.items():
            if address not in pieces:
                pieces[address] = body
                erased |= {address} & source.erased
    streams = _assembled(sources)
    kept = [] if not any(one.others for one in streams.values()) else _other_sessions(streams, sources)
    missing: list[Missing] = []
    for name, whole in streams.items():
        missing += whole.missing + _missing_end(name, sources)
        if name.startswith("session/"):
            missing += _missing_pieces(name, whole.events, pieces)
    restore(
        path, [(name, one.events) for name, one in sorted(streams.items()) if one.events], pieces,
        frozenset(erased),
    )  # fmt: skip
    return Written(missing, kept, [told for name, one in streams.items() if (told := _left_out(name, one))])


def _assembled(sources: list[Source]) -> dict[str, Assembled]:
    names = sorted({name for source in sources for name in source.streams})
    doubtful = frozenset[bytes]().union(*(source.leftovers for source in sources))
    if doubtful:
        doubtful -= {e.hash for s in sources for e in s.all() if e.hash not in s.leftovers}
    at = now()
    return {
        name: assemble(
            name, [s.streams.get(name, []) for s in sources], at=at, actor=ACTOR, doubtful=doubtful
        )
        for name in names
    }  # fmt: skip


def _other_sessions(streams: dict[str, Assembled], sources: list[Source]) -> list[KeptHistory]:
    """Make sessions of the other histories of sessions, unless an earlier recovery did; what was made."""
    kept = []
    for name, whole in list(streams.items()):
        for other in whole.others if name.startswith("session/") else ():
            own = name_of_other(name, other.parts)
            there = streams.get(own)
            if there is not None:
                if held_in(other.events, there.events):
                    continue
                own = name_of_other(name, other.events[-1])
            tip = other.events[-1].hash
            source = next(s.name for s in sources if any(e.hash == tip for e in s.streams.get(name, ())))
            streams[own] = _as_session(own, name, other, source)
            id, version = name.removeprefix("session/"), other.parts.version
            kept.append(KeptHistory(own.removeprefix("session/"), id, version, source))
    return kept


def _as_session(stream: str, of: str, other: OtherHistory, source: str) -> Assembled:
    """A session of its own that holds another history of one, and says so at its end."""
    at = now()
    whole = sealed_again(stream, [_renamed(event, stream) for event in other.events], at=at, actor=ACTOR)
    id = of.removeprefix("session/")
    told = ev.Noted(
        f"recovered from {source}: another history of {id}, from version {other.parts.version} on"
    )
    behind = ev.seal(stream, len(whole.events), whole.events[-1].hash, [ev.draft(told, at=at, actor=ACTOR)])
    return Assembled(stream, [*whole.events, *behind], whole.missing)


def _renamed(event: Event, stream: str) -> Event:
    """An event that creates a session under another id."""
    if event.kind != ev.Created.KIND:
        return event
    try:
        body = {**canonical.decode(event.body), "id": stream.removeprefix("session/")}
    except (ValueError, TypeError):
        return event
    return replace(event, body=canonical.encode(body))


def _left_out(stream: str, whole: Assembled) -> str:
    told = []
    if whole.left_out:
        told.append(f"{count(whole.left_out, 'event')} that may never have been committed")
    if whole.others and not stream.startswith("session/"):
        told.append(f"another history, from version {min(one.parts.version for one in whole.others)} on")
    return f"left out of {stream}: {', '.join(told)}" if told else ""


def _missing_end(stream: str, sources: list[Source]) -> list[Missing]:
    """Versions behind the last readable one that the stream is known to have had."""
    known = max((source.heads.get(stream, 0) for source in sources), default=0)
    last = max((event.version for s in sources for event in s.streams.get(stream, ())), default=0)
    return [Missing(stream, last + 1, known, "not found anywhere")] if known > last else []


def _missing_pieces(stream: str, events: list[Event], pieces: dict[str, bytes]) -> list[Missing]:
    gone = []
    for name, agent in fold_all(events).agents.items():
        lost = sum(address not in pieces for address in agent.pieces)
        if lost:
            gone.append(Missing(stream, 0, 0, f"{count(lost, 'piece')} of the state of agent {name}"))
    return gone
