"""The rung of tables: what the schema declares and the file lacks is made anew around a whole journal.

Snapshots are folded from the journal again when they are needed. Memories come back from their rows, or from
the pages that still hold them, with the votes and the trail as far as those are there. Runs, and what was
counted of projects, come from the newest backup, and a sync reads what is newer. What nothing else holds is
gone, and said. If the journal's own tables are what is missing, a new store is built of what is left.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import apsw

from ...._failpoints import trip
from ....core.base.values import Value, count
from ....errors import SegueError
from ....stores.memory_changes import MemoryChange
from ....stores.sqlite.memories import SqliteMemories
from ....stores.sqlite.read_only import opened_to_read
from ....stores.sqlite.schema_check import (
    JOURNAL,
    Deviation,
    deviations_of,
    make_right,
    memory_tables,
    tables,
)
from ...workspace.data_folder import DataFolder
from ...workspace.store_note import read_note
from .from_memories import gathered, with_words
from .sources import backups

FROM_BACKUP = ("runs", "project_facts")
"""Tables whose rows were observed, so that those of a backup are better than none."""
_NUMBERED = ("memory_counts", "memory_votes", "memory_trail")
"""What is kept beside memories, by their numbers."""
_IDS = (
    "SELECT no, CAST(body AS TEXT) ->> 'id' FROM memory_bodies WHERE json_valid(CAST(body AS TEXT))",
    "SELECT no, id FROM memories",
)
_TALLY = (
    "INSERT OR IGNORE INTO memory_counts (no, helpful, harmful) SELECT no,"
    " count(*) FILTER (WHERE vote = 'helpful'), count(*) FILTER (WHERE vote = 'harmful')"
    " FROM memory_votes GROUP BY no"
)
_BUSY_MS = 10_000


class TableFaults(Value):
    """What a store's file has that is not as the schema declares it."""

    found: list[Deviation]

    @property
    def in_journal(self) -> list[str]:
        """What is wrong with the journal itself: nothing in the file can replace that."""
        return [
            one.told
            for one in self.found
            if one.table in JOURNAL and one.kind == "table" and not one.keeps_rows
        ]

    @property
    def told(self) -> list[str]:
        """All of it, in words."""
        return [one.told for one in self.found]

    @property
    def lost(self) -> set[str]:
        """The tables that are empty once they are made anew."""
        return {one.table for one in self.found if one.kind == "table" and not one.keeps_rows}


def table_faults(path: Path) -> TableFaults:
    """How a store's file differs from what the schema declares."""
    return TableFaults(deviations_of(path))


def mend_tables(home: DataFolder, path: Path, faults: TableFaults) -> list[str]:
    """Make all of it right in one transaction; what became of it, in words. Nobody else may have the store
    open. Raises apsw.Error if the file does not allow it."""
    anew = _memories_anew(faults)
    memories = _MemoriesOf(path, home) if anew else None
    db = apsw.Connection(str(path), apsw.SQLITE_OPEN_READWRITE)
    try:
        db.set_busy_timeout(_BUSY_MS)
        db.pragma("synchronous", "FULL")
        with db:
            make_right(db, faults.found, anew)
            if memories is not None:
                memories.put_back(db.cursor())
            filled = _fill(db, backups(home), faults.lost)
            _name_again(db, home)
            trip("recover.before_tables")
    finally:
        db.close()
    trip("recover.after_tables")
    return _told(faults, filled, memories.lost if memories is not None else [])


def _memories_anew(faults: TableFaults) -> frozenset[str]:
    """All tables of memories, if one of them or what keeps the same from being kept twice is not right."""
    ours = memory_tables()
    wrong = any(one.table in ours and one.kind in ("table", "index") for one in faults.found)
    return ours if wrong else frozenset()


class _MemoriesOf:
    """Memories and what is kept beside them, as far as the file and its backups still have them."""

    def __init__(self, path: Path, home: DataFolder) -> None:
        self._memories = gathered([path, *backups(home)])
        self._rows = _rows_of(path)
        back = {memory.id for memory in self._memories}
        self.lost = sorted(set(_ids_in(path).values()) - back)
        """The ids of memories of which nothing else is left."""

    def put_back(self, db: apsw.Cursor) -> None:
        """Add them, and what is kept beside them, to tables that are empty."""
        if self._memories:
            SqliteMemories.apply(db, MemoryChange(adds=[with_words(memory) for memory in self._memories]))
        rows: list[Any] = db.execute("SELECT id, no FROM memories").fetchall()
        numbers: dict[str, int] = dict(rows)
        for table, beside in self._rows.items():
            for id, row in beside:
                if id in numbers:
                    _insert(db, table, {**row, "no": numbers[id]})
        db.execute(_TALLY)


def _rows_of(path: Path) -> dict[str, list[tuple[str, dict[str, Any]]]]:
    """Counts, votes and trail with the ids of their memories; none of a table that cannot be read."""
    found: dict[str, list[tuple[str, dict[str, Any]]]] = {}
    ids = _ids_in(path)
    with suppress(apsw.Error), closing(opened_to_read(path)) as db:
        for table in _NUMBERED:
            with suppress(apsw.Error):
                names = [row[0] for row in db.execute("SELECT name FROM pragma_table_info(?)", (table,))]
                rows = [dict(zip(names, row, strict=True)) for row in db.execute(f"SELECT * FROM {table}")]
                found[table] = [(ids[row["no"]], row) for row in rows if row.get("no") in ids]
    return found


def _ids_in(path: Path) -> dict[int, str]:
    """The ids of memories by their numbers, from either of the tables that have both."""
    ids: dict[int, str] = {}
    with suppress(apsw.Error), closing(opened_to_read(path)) as db:
        for sql in _IDS:
            with suppress(apsw.Error):
                rows: list[Any] = db.execute(sql).fetchall()
                ids.update(rows)
    return ids


def _insert(db: apsw.Cursor, table: str, row: Mapping[str, Any]) -> None:
    columns = ", ".join(row)
    marks = ", ".join(f":{name}" for name in row)
    with suppress(apsw.SQLError):  # a column that the table does not have
        db.execute(f"INSERT OR REPLACE INTO {table} ({columns}) VALUES ({marks})", dict(row))


def _fill(db: apsw.Connection, files: Iterable[Path], lost: set[str]) -> dict[str, str]:
    """Fill tables that are empty now with the rows of the newest backup that has them; its name by table."""
    filled: dict[str, str] = {}
    for file in files:
        with suppress(apsw.Error, SegueError), closing(opened_to_read(file)) as backup:
            for table in FROM_BACKUP:
                if table in lost and table not in filled and _copy_rows(backup, db, table):
                    filled[table] = file.name
    return filled


def _copy_rows(source: apsw.Connection, target: apsw.Connection, table: str) -> bool:
    rows = source.execute(f"SELECT * FROM {table}").fetchall()
    if rows:
        marks = ", ".join("?" * len(rows[0]))
        target.executemany(f"INSERT OR IGNORE INTO {table} VALUES ({marks})", rows)
    return bool(rows)


def _name_again(db: apsw.Connection, home: DataFolder) -> None:
    """Give a store that lost its id the one that the note beside it remembers."""
    note = read_note(home.store_note)
    if note is not None and note.store:
        db.execute("INSERT OR IGNORE INTO meta VALUES ('store', ?)", (note.store,))


def carry_over(source: Path, target: Path) -> None:
    """Take what is kept beside the journal into a store that was built anew, from a file of which only tables
    of the journal are gone. Memories are there already."""
    beside = sorted(tables() - JOURNAL - memory_tables() - {"meta", "snapshots"})
    with closing(apsw.Connection(str(target), apsw.SQLITE_OPEN_READWRITE)) as db:
        with suppress(apsw.Error), closing(opened_to_read(source)) as before, db:
            for table in beside:
                with suppress(apsw.SQLError):
                    _copy_rows(before, db, table)
        db.pragma("wal_checkpoint(TRUNCATE)")


def _told(faults: TableFaults, filled: Mapping[str, str], lost: list[str]) -> list[str]:
    told = [f"{one.told}: made right" for one in faults.found if one.table not in faults.lost]
    for table in sorted(faults.lost - memory_tables()):
        if table in filled:
            done = f"made anew with what {filled[table]} has of it; `segue sync` reads what is newer"
        elif table in FROM_BACKUP:
            done = "made anew; `segue sync` reads it again from transcripts and their copies"
        elif table.startswith("server_"):
            done = "made anew; what it held is lost"
        else:
            done = "made anew"
        told.append(f"the table {table}: {done}")
    of_memories = sorted(faults.lost & memory_tables())
    if of_memories:
        told.append(f"{', '.join(of_memories)}: made anew from the memories that are left")
        gone = " and ".join(name for name in of_memories if name in ("memory_votes", "memory_trail"))
        told += [f"{gone}: what it held is lost"] if gone else []
    if lost:
        told.append(f"nothing is left of {count(len(lost), 'memory', 'memories')}: {', '.join(lost)}")
    return told
