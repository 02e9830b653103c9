"""The store note: a small file beside the embedded store that says which store stands there.

It is written by whoever wrote to the store, when that is closed and from time to time. So an empty file, a
missing one, an older copy or another store in its place is told from a store that is only new. What it says
is a lower bound: the store holds at least so much. It is lowered before anything is taken out of the store.
"""

from __future__ import annotations

from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ..._files import open_file
from ...core.base.values import Value, count
from ...effects.clock import now
from ...effects.files.atomic import replace_quickly, write_whole

if TYPE_CHECKING:
    from ...stores.sqlite import SqliteStore
    from .data_folder import DataFolder

NOTE_BYTES_MAX = 4096
EMPTY_STORE_BYTES_MAX = 1 << 18
"""A store that never held anything is smaller than this."""


class StoreNote(Value):
    """What is known of the store that stands in a place."""

    store: str
    """The id that the store was given when it was made; empty for one that has none."""
    schema: int
    events: int
    """Of all sessions together; archived ones do not count."""
    memories: int
    at: str

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


def held_before(home: DataFolder) -> str:
    """What the store that stood here is known to have held, in words; empty if nothing is known, or if its
    file is larger than that of an empty store, as ``home.damage`` saw it."""
    if home.size_seen_bytes > EMPTY_STORE_BYTES_MAX:
        return ""
    note = read_note(home.store_note)
    return f"it held {note.told()} on {note.at[:10]}" if note is not None and note.events else ""


def note_store(home: DataFolder, journal: SqliteStore, *, less_events: int = 0) -> None:
    """Note what a store holds now, less the events that are about to be taken out of it. Raises what reading
    the store raises, and OSError."""
    from ...stores.sqlite.upkeep import contents, name_store

    held = contents(journal.database)
    if not held.store:
        name_store(journal.database)
        held = contents(journal.database)
    events = max(0, sum(held.sessions.values()) - less_events)
    _write(home.store_note, StoreNote(held.store, held.schema, events, held.memories_made, now()))


def _write(path: Path, note: StoreNote) -> None:
    """Replace the note. Only the first one is synced: a lost update says less, and nothing wrong."""
    body = msgspec.json.encode(note)
    if path.exists():
        replace_quickly(path, body)
    else:
        write_whole(path, body)


def missing_in(home: DataFolder, journal: SqliteStore, backup: Path) -> str:
    """What a backup holds that the store does not hold, in words; empty if the store holds all of it.
    Sessions that were archived since do not count as missing. Raises SegueError if either cannot be read."""
    from ...stores.sqlite import SqliteStore
    from ...stores.sqlite.upkeep import contents, memory_ids

    with closing(SqliteStore(backup, read_only=True)) as other:
        there, here = contents(other.database), contents(journal.database)
        for name, version in there.sessions.items():
            own = here.sessions.get(name, 0)
            if own < version and not home.archived(name.removeprefix("session/")).is_file():
                return f"{name} is at version {own}, and at {version} in {backup.name}"
        lost = memory_ids(other.database) - memory_ids(journal.database) if there.memories_made else ()
    return f"{count(len(lost), 'memory', 'memories')} of {backup.name} are not in the store" if lost else ""


def behind_note(home: DataFolder, journal: SqliteStore) -> str:
    """Why the store in this place is not the one that stood here last, or an older state of it, in words;
    empty if it is, or nothing is known."""
    from ...stores.sqlite.upkeep import contents

    note = read_note(home.store_note)
    if note is None:
        return ""
    held = contents(journal.database)
    events = sum(held.sessions.values())
    if events < note.events or held.memories_made < note.memories:
        now_held = StoreNote(held.store, held.schema, events, held.memories_made, "").told()
        return f"it holds {now_held}, and held {note.told()} at {note.at[:16]}Z: it is an older state"
    if note.store and held.store and note.store != held.store:
        return f"another store stood here at {note.at[:16]}Z"
    return ""
