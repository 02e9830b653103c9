"""What a file has in the place of what the schema declares, and how it is made right.

What every command needs is declared once, by the migrations: they are run in memory, and the tables, indexes
and columns that come of it are held against those of the file. A trigger on a table of ours, or an index that
refuses rows, is nobody's business but ours; the numbers in the file's header say whose file it is.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import closing, suppress
from functools import cache
from pathlib import Path
from typing import Any

import apsw

from ...core.base.values import Value
from .read_only import opened_to_read
from .schema import APPLICATION_ID, MEMORIES_SINCE, MIGRATIONS, READABLE_FROM, SCHEMA, statements

JOURNAL = frozenset({"streams", "events", "pieces"})
"""The tables that nothing else in the file can replace."""
_PARTS = "SELECT type, name, tbl_name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
_SAYS = "SELECT count(*) FROM meta WHERE key = 'readable_from' AND value = ?"
_CARRIED = "temp.carried"
_BUSY_MS = 10_000


class Deviation(Value):
    """One thing in the file that is not as the schema declares it."""

    kind: str
    """table, index, trigger or setting."""
    name: str
    told: str
    """In words, with its name."""
    table: str = ""
    """The table that it is, or belongs to."""
    foreign: bool = False
    """Whether it should not be there at all."""
    keeps_rows: bool = False
    """Of a table: whether it has all its columns, and some too many."""


class _Part(Value):
    kind: str
    name: str
    table: str
    sql: str
    columns: tuple[str, ...] = ()


class _Declared:
    """All parts that a schema declares, by name."""

    def __init__(self, db: apsw.Connection) -> None:
        self.db = db
        self.parts = _parts(db)
        self.tables = {name: part for name, part in self.parts.items() if part.kind == "table"}
        self.indexes = {name: part for name, part in self.parts.items() if part.kind == "index"}


@cache
def _declared(schema: int) -> _Declared:
    db = apsw.Connection(":memory:")
    for script in MIGRATIONS[:schema]:
        for statement in statements(script):
            db.execute(statement)
    return _Declared(db)


@cache
def memory_tables() -> frozenset[str]:
    """The tables of memories, and those that SQLite keeps for their index of words."""
    before, since = _declared(MEMORIES_SINCE - 1).tables, _declared(MEMORIES_SINCE).tables
    return frozenset(since.keys() - before.keys())


def tables() -> frozenset[str]:
    """All tables of today's schema."""
    return frozenset(_declared(SCHEMA).tables)


def _parts(db: apsw.Connection) -> dict[str, _Part]:
    found: dict[str, _Part] = {}
    rows: list[tuple[Any, ...]] = db.execute(_PARTS).fetchall()
    for kind, name, table, sql in rows:
        columns: list[Any] = []
        if kind == "table" and not _is_virtual(sql):
            columns = db.execute("SELECT name FROM pragma_table_info(?)", (name,)).fetchall()
        found[name] = _Part(kind, name, table, sql or "", tuple(row[0] for row in columns))
    return found


def _is_virtual(sql: str) -> bool:
    return sql.upper().startswith("CREATE VIRTUAL")


def _plain(sql: str) -> str:
    """A statement without what does not matter: spaces, quotes and case."""
    return "".join(sql.split()).replace('"', "").replace("'", "").lower()


def deviations(db: apsw.Connection) -> list[Deviation]:
    """Everything in a file that is not as its schema declares it; nothing of a file of a newer schema, nor of
    an empty one. Raises apsw.Error if it cannot be read."""
    there = _parts(db)
    version = int(db.pragma("user_version"))
    own = _own_schema(db, version, there)
    if own is None or not (there or version):
        return []
    found = [*_settings(db, version, own, there), *_foreign(db, own, there)]
    declared = _declared(own)
    for name, part in declared.tables.items():
        shadowed = _index_of_words(name, declared)
        if not shadowed or shadowed in there:
            found += _of_table(part, there.get(name), shadowed)
    whole = {name for name in declared.tables if name not in {one.table for one in found}}
    for name, part in declared.indexes.items():
        if part.table in whole and (name not in there or _plain(there[name].sql) != _plain(part.sql)):
            what = "missing" if name not in there else "changed"
            found.append(Deviation("index", name, f"the index {name} is {what}", part.table))
    return found


def deviations_of(path: Path) -> list[Deviation]:
    """The deviations of a file, as two looks at it give them alike: another process may be changing it. None
    if the file cannot be read; then that is what is wrong with it."""
    with suppress(apsw.Error):
        first = _looked_at(path)
        again = _looked_at(path) if first else []
        return [one for one in first if one in again]
    return []


def _looked_at(path: Path) -> list[Deviation]:
    with closing(opened_to_read(path)) as db:
        db.set_busy_timeout(_BUSY_MS)
        return deviations(db)


def _own_schema(db: apsw.Connection, version: int, there: dict[str, _Part]) -> int | None:
    """The schema that a file is of, whatever number its header has; None if it is of a newer one, or if that
    cannot be told."""
    said = 0
    if "meta" in there:
        row = db.execute("SELECT value FROM meta WHERE key = 'readable_from'").fetchone()
        first = str(row[0] if row else "").partition(":")[0]
        said = int(first) if first.isdecimal() else 0
    if 1 <= said <= SCHEMA and said != version:
        return said
    if version > SCHEMA:
        return None
    later = _declared(SCHEMA).tables.keys() - _declared(version).tables.keys()
    return SCHEMA if later & there.keys() else version


def _settings(db: apsw.Connection, version: int, own: int, there: dict[str, _Part]) -> list[Deviation]:
    found = []
    if int(db.pragma("application_id")) != APPLICATION_ID:
        told = "the application id in the file's header is not Segue's"
        found.append(Deviation("setting", "application_id", told))
    if version != own:
        told = f"the schema version in the file's header is {version}, but its tables are of {own}"
        found.append(Deviation("setting", "user_version", told))
    if own == SCHEMA and "meta" in there:
        [(there_is,)] = db.execute(_SAYS, (_readable_from(own),)).fetchall()
        if not there_is:
            told = "the entry readable_from of the table meta is gone"
            found.append(Deviation("setting", "readable_from", told))
    return found


def _readable_from(schema: int) -> str:
    return f"{schema}:{READABLE_FROM}"


def _foreign(db: apsw.Connection, own: int, there: dict[str, _Part]) -> list[Deviation]:
    """What others put on tables of ours and what can refuse or change what is written."""
    declared, found = _declared(own), []
    for name, part in there.items():
        if part.table not in declared.tables or name in declared.parts:
            continue
        if part.kind == "trigger":
            told = f"the trigger {name} on the table {part.table} is not Segue's"
            found.append(Deviation("trigger", name, told, part.table, foreign=True))
        elif part.kind == "index" and _refuses_rows(db, part):
            told = f"the index {name} on the table {part.table} is not Segue's, and refuses rows"
            found.append(Deviation("index", name, told, part.table, foreign=True))
    return found


def _refuses_rows(db: apsw.Connection, index: _Part) -> bool:
    sql = 'SELECT "unique" FROM pragma_index_list(?) WHERE name = ?'
    return bool(db.execute(sql, (index.table, index.name)).fetchone() in ((1,), None))


def _of_table(part: _Part, there: _Part | None, shadowed: str) -> list[Deviation]:
    if there is None:
        told = f"the table {part.name} is missing"
        return [Deviation("table", part.name, told, shadowed or part.name)]
    if there.kind != "table":
        told = f"the table {part.name} is missing, and a {there.kind} has its name"
        return [Deviation("table", part.name, told, part.name)]
    if _plain(there.sql) == _plain(part.sql):
        return []
    lacks = [column for column in part.columns if column not in there.columns]
    if lacks:
        which = "column" if len(lacks) == 1 else "columns"
        told = f"the table {part.name} lacks the {which} {', '.join(lacks)}"
        return [Deviation("table", part.name, told, shadowed or part.name)]
    keeps = bool(part.columns) and not shadowed
    told = f"the table {part.name} was changed"
    return [Deviation("table", part.name, told, shadowed or part.name, keeps_rows=keeps)]


def _index_of_words(name: str, declared: _Declared) -> str:
    """The virtual table that SQLite keeps this table for; empty if it is one of its own."""
    virtual = (one for one, part in declared.tables.items() if _is_virtual(part.sql))
    return next((one for one in virtual if name.startswith(f"{one}_")), "")


def make_right(db: apsw.Connection, found: Sequence[Deviation], anew: Collection[str] = ()) -> None:
    """Make everything as today's schema declares it, within a transaction of the caller. Tables that deviate
    and those that are to be made ``anew`` are empty then, unless they only had too much."""
    declared = _declared(SCHEMA)
    kept = {one.table for one in found if one.keeps_rows} - set(anew)
    wrong = {one.table for one in found if one.kind == "table"} | set(anew)
    for one in found:
        if one.foreign:
            db.execute(f"DROP {one.kind} IF EXISTS {_quoted(one.name)}")
    for name in declared.tables:  # in the order of the migrations
        if name in wrong and not _index_of_words(name, declared):
            _make_table(db, declared, name, carry=name in kept)
    there = _parts(db)
    for name, part in declared.indexes.items():
        if name in there and _plain(there[name].sql) != _plain(part.sql):
            db.execute(f"DROP INDEX {_quoted(name)}")
            del there[name]
        if name not in there:
            _make_index(db, part)
    sql = "INSERT OR REPLACE INTO meta VALUES ('readable_from', ?)"
    db.execute(sql, (_readable_from(SCHEMA),))
    db.pragma("application_id", APPLICATION_ID)
    db.pragma("user_version", SCHEMA)


def _make_table(db: apsw.Connection, declared: _Declared, name: str, *, carry: bool) -> None:
    part = declared.tables[name]
    columns = ", ".join(map(_quoted, part.columns))
    if carry:
        db.execute(f"CREATE TEMP TABLE carried AS SELECT {columns} FROM main.{_quoted(name)}")
    _drop(db, name)
    db.execute(part.sql)
    if carry:
        db.execute(f"INSERT OR IGNORE INTO main.{_quoted(name)} ({columns}) SELECT {columns} FROM {_CARRIED}")
        db.execute(f"DROP TABLE {_CARRIED}")
    elif part.columns:
        first = declared.db.execute(f"SELECT {columns} FROM {_quoted(name)}").fetchall()
        marks = ", ".join("?" * len(part.columns))
        db.executemany(f"INSERT INTO main.{_quoted(name)} ({columns}) VALUES ({marks})", first)


def _drop(db: apsw.Connection, name: str) -> None:
    there = _parts(db).get(name)
    if there is not None:
        try:
            db.execute(f"DROP {there.kind} {_quoted(name)}")
        except apsw.Error:  # an index of words that lacks a part cannot be dropped as what it is
            if not _is_virtual(there.sql):
                raise
            _forget(db, name)
    for part in _parts(db).values():
        if part.kind == "table" and _index_of_words(part.name, _declared(SCHEMA)) == name:
            db.execute(f"DROP TABLE {_quoted(part.name)}")


def _forget(db: apsw.Connection, name: str) -> None:
    """Take a table out of the schema, and nothing else."""
    db.execute("PRAGMA writable_schema = ON")
    try:
        db.execute("DELETE FROM sqlite_schema WHERE name = ?", (name,))
    finally:
        db.execute("PRAGMA writable_schema = RESET")


def _make_index(db: apsw.Connection, part: _Part) -> None:
    try:
        db.execute(part.sql)
    except apsw.ConstraintError:
        if part.table != "pieces":
            raise
        sql = (
            "DELETE FROM pieces WHERE no NOT IN (SELECT no FROM (SELECT no, row_number() OVER "
            "(PARTITION BY address ORDER BY erased DESC, no) AS place FROM pieces) WHERE place = 1)"
        )
        db.execute(sql)  # the same piece twice; one that a scrub rewrote stays
        db.execute(part.sql)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
