"""The store note: a small file beside the embedded store that says which store stands there.

It is written by whoever wrote to the store, when that is closed and from time to time. So an empty file, a
missing one, an older copy, another history or another store in its place is told from a store that is only
new. What it says is a lower bound: the store holds at least so much, and the events that it names by their
hashes. Where the store does not hold them, the note stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from ..._files import open_file
from ...core.base.text import NAME_LIMIT
from ...core.base.values import Value, count
from ...core.journal.event import Event
from ...effects.clock import now
from ...effects.files.atomic import replace_quickly, write_whole
from ...errors import BadName

if TYPE_CHECKING:
    from ...stores.sqlite import SqliteStore
    from .data_folder import DataFolder

NOTE_BYTES_MAX = 16_384
HEADS_MAX = 16
"""How many sessions a note names: those that were written to last. Whatever is older than the store that
stood there lacks what was written last."""
_HASH_DIGITS = 16
Rows = Callable[[str, tuple[Any, ...]], list[tuple[Any, ...]]]
"""What a statement gives in a store."""


class NotedHead(Value, array_like=True):
    """The last event of a session, as a note remembers it."""

    stream: str
    version: int
    hash: str
    """The first hex digits."""


class StoreNote(Value):
    """What is known of the store that stands in a place."""

    store: str
    """The id that the store was given when it was made; empty for one that has none."""
    schema: int
    events: int
    """Of all sessions together; archived ones do not count."""
    memories: int
    at: str
    heads: list[NotedHead] = []
    """The sessions that were written to last, the newest first; none in a note of an older Segue."""

    def told(self) -> str:
        """What the store held, in words."""
        held = [count(self.events, "event")]
        held += [count(self.memories, "memory", "memories")] if self.memories else []
        return " and ".join(held)


def read_note(path: Path) -> StoreNote | None:
    """The note in a file; None if there is none that can be read."""
    with suppress(OSError, ValueError, msgspec.MsgspecError), open_file(path) as file:
        return msgspec.json.decode(file.read(NOTE_BYTES_MAX), type=StoreNote)
    return None


def lacking(home: DataFolder, note: StoreNote, rows: Rows) -> str:
    """What a store does not hold of what its note remembers, in words; empty if it holds it. Sessions that
    were archived since do not count."""
    from ...stores.sqlite.journal import HASH_AT
    from ...stores.sqlite.schema import MEMORIES_SINCE

    [(schema,)] = rows("PRAGMA user_version", ())
    if not schema:
        return ""
    if note.events and not rows("SELECT EXISTS (SELECT 1 FROM events)", ())[0][0]:
        return f"it is empty, but it held {note.told()} on {note.at[:10]}"
    for head in note.heads:
        found = rows(HASH_AT, (head.stream, head.version))
        if found and found[0][0].hex().startswith(head.hash):
            continue
        id = head.stream.removeprefix("session/")
        if found:
            return f"it has another version {head.version} of {id} than at {note.at[:16]}Z: another history"
        if not _is_archived(home, head.stream):
            return f"{id} was at version {head.version} at {note.at[:16]}Z, but is not now: an older state"
    made = rows("SELECT max(no) FROM memories", ())[0][0] if schema >= MEMORIES_SINCE else 0
    if (made or 0) < note.memories:
        held = count(note.memories, "memory", "memories")
        return f"it held {held} at {note.at[:16]}Z, but holds fewer now: an older state"
    return ""


def _is_archived(home: DataFolder, stream: str) -> bool:
    with suppress(BadName):
        return home.archived(stream.removeprefix("session/")).is_file()
    return False


def note_store(home: DataFolder, journal: SqliteStore, *, less_events: int = 0, anew: bool = False) -> None:
    """Note what a store holds now, less the events that are about to be taken out of it. A note that
    remembers what the store does not hold is left as it is, unless the store was made ``anew``. Raises what
    reading the store raises, and OSError."""
    from ...stores.sqlite.upkeep import contents, name_store

    old = None if anew else read_note(home.store_note)  # first: what it says was in the store by then
    if old is not None and behind(home, journal, old):
        return
    held = contents(journal.database)
    if not held.store:
        name_store(journal.database)
        held = contents(journal.database)
    events = max(0, sum(held.sessions.values()) - less_events)
    last = [head.stream for head in old.heads] if old is not None else _by_time(journal, held.sessions)
    heads = list(_heads(journal, [*journal.written_last(), *last]))[:HEADS_MAX]
    _write(home.store_note, StoreNote(held.store, held.schema, events, held.memories_made, now(), heads))


def _by_time(journal: SqliteStore, sessions: Mapping[str, int]) -> list[str]:
    """Sessions by the time of their last event, the newest first."""
    ends = {name: journal.read(name, after=version - 1)[-1].at for name, version in sessions.items()}
    return sorted(ends, key=lambda name: ends[name], reverse=True)


def _heads(journal: SqliteStore, streams: Iterable[str]) -> Iterator[NotedHead]:
    """Where sessions end, in this order; those that are not there are left out."""
    for stream in dict.fromkeys(streams):
        head = journal.head(stream)
        if head.version:
            yield NotedHead(stream, head.version, head.hash.hex()[:_HASH_DIGITS])


def _write(path: Path, note: StoreNote) -> None:
    """Replace the note. Only the first one is synced: a lost update says less, and nothing wrong."""
    body = msgspec.json.encode(note)
    if path.exists():
        replace_quickly(path, body)
    else:
        write_whole(path, body)


def name_of_other(stream: str, parts: Event) -> str:
    """The name of the session that a recovery keeps another history of one in, by its first event that
    differs."""
    suffix = f"-fork-{parts.hash.hex()[:8]}"
    return stream[: len("session/") + NAME_LIMIT - len(suffix)].rstrip(".") + suffix


def missing_in(home: DataFolder, journal: SqliteStore, backup: Path) -> str:
    """What a backup holds that the store does not hold, in words; empty if the store holds all of it.
    Sessions that were archived since do not count as missing. Raises SegueError if either cannot be read."""
    from ...stores.sqlite import SqliteStore
    from ...stores.sqlite.upkeep import contents, hash_at, heads, memory_ids

    with closing(SqliteStore(backup, read_only=True)) as other:
        there = contents(other.database)
        for name, (version, own) in heads(other.database).items() if there.schema else ():
            here = hash_at(journal.database, name, version)
            if here == own or _is_archived(home, name):
                continue
            if _kept_as_other(home, journal, other, name, version):
                continue
            if here:
                return f"version {version} of {name} is different in {backup.name}: another history"
            return f"{name} is at version {journal.head(name).version}, but at {version} in {backup.name}"
        lost = memory_ids(other.database) - memory_ids(journal.database) if there.memories_made else ()
    return f"{count(len(lost), 'memory', 'memories')} of {backup.name} are not in the store" if lost else ""


def _kept_as_other(
    home: DataFolder, journal: SqliteStore, other: SqliteStore, stream: str, version: int
) -> bool:
    """Whether a recovery kept the history that another store has of a session as a session of its own."""
    from ...core.journal.histories import held_in
    from ...stores.sqlite.upkeep import hash_at

    shared, apart = 0, version
    while apart - shared > 1:  # histories part once: look for the first version in which these differ
        middle = (shared + apart) // 2
        same = hash_at(journal.database, stream, middle) == hash_at(other.database, stream, middle)
        shared, apart = (middle, apart) if same else (shared, middle)
    [first] = other.read(stream, after=apart - 1, limit=1)
    kept = name_of_other(stream, first)
    if _is_archived(home, kept):
        return True
    return held_in(other.read(stream, after=version - 1, limit=1), journal.read(kept))


def behind(home: DataFolder, journal: SqliteStore, note: StoreNote) -> str:
    """Why the store in this place is not the one that its note speaks of, or an older state or another
    history of it, in words; empty if it is."""
    from ...stores.sqlite.upkeep import contents

    if told := lacking(home, note, journal.database.fetch):
        return told
    held = contents(journal.database)
    events = sum(held.sessions.values())
    if not note.heads and events < note.events:
        return f"it holds {count(events, 'event')}, but held {note.told()} at {note.at[:16]}Z: an older state"
    if note.store and held.store and note.store != held.store:
        return f"there was another store here at {note.at[:16]}Z"
    return ""


def behind_note(home: DataFolder, journal: SqliteStore) -> str:
    """Why the store in this place is not the one that stood here last; empty if it is, or nothing is
    known."""
    note = read_note(home.store_note)
    return behind(home, journal, note) if note is not None else ""
