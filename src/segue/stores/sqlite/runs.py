"""The port of runs on SQLite: rows in the same file as the journal, replaced whole.

Nothing here is the truth: a recovery builds a store without runs, and the next sync brings them back.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import apsw

from ..._failpoints import trip
from ...errors import DamagedError
from ..base import RunRow

if TYPE_CHECKING:
    from .journal import SqliteJournal

_COLUMNS = "key, agent, native, project, session, path, cwd, last, facts"
_PUT = f"""
    INSERT INTO runs ({_COLUMNS}, reading) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, coalesce(?10, x''))
    ON CONFLICT (key) DO UPDATE SET agent = ?2, native = ?3, project = ?4, session = ?5, path = ?6, cwd = ?7,
        last = ?8, facts = ?9, reading = coalesce(?10, reading)
"""


class SqliteRuns:
    """Runs in the file of a journal."""

    def __init__(self, journal: SqliteJournal) -> None:
        self._journal = journal

    def put(self, rows: Sequence[RunRow]) -> None:
        def work(db: apsw.Connection) -> None:
            values = (tuple(_storable(getattr(row, n)) for n in RunRow.__struct_fields__) for row in rows)
            db.executemany(_PUT, values)
            trip("store.runs.before_commit")

        self._connected()
        self._journal.database.writing(work)
        trip("store.runs.after_commit")

    def get(self, key: str) -> RunRow | None:
        rows = self._fetch(f"SELECT {_COLUMNS}, reading FROM runs WHERE key = ?", (key,))
        return RunRow(*rows[0]) if rows else None

    def rows(self, *, projects: Iterable[str] = (), session: str = "") -> list[RunRow]:
        wanted, values = [], list(projects)
        if values:
            wanted.append(f"project IN ({', '.join('?' * len(values))})")
        if session:
            wanted.append("session = ?")
            values.append(session)
        where = f"WHERE {' AND '.join(wanted)}" if wanted else ""
        sql = f"SELECT {_COLUMNS} FROM runs {where} ORDER BY last DESC, key"
        return [RunRow(*row) for row in self._fetch(sql, tuple(map(_storable, values)))]

    def known(self) -> dict[str, str]:
        return dict(self._fetch("SELECT path, cwd FROM runs", ()))

    def drop(self, keys: Iterable[str]) -> None:
        rows = [(key,) for key in keys]
        self._connected()
        self._journal.database.writing(lambda db: db.executemany("DELETE FROM runs WHERE key = ?", rows))

    def _connected(self) -> apsw.Connection:
        if self._journal.database.replaced():
            self._journal.close()
        return self._journal.database.connection()

    def _fetch(self, sql: str, values: tuple) -> list[tuple]:  # type: ignore[type-arg]
        db = self._connected()
        try:
            if not self._journal.database.writable:  # of a newer schema, or older and read-only
                known = db.execute("SELECT 1 FROM sqlite_schema WHERE name = 'runs'").fetchone()
                if known is None:
                    return []
            return db.execute(sql, values).fetchall()
        except UnicodeDecodeError as fault:
            path = str(self._journal.database.path)
            raise DamagedError("the store", path, "a text is not UTF-8") from fault
        except apsw.Error as fault:
            raise self._journal.database.translate(fault) from fault


def _storable(value: object) -> object:
    """Paths may hold bytes that are no text; SQLite takes only what is."""
    if isinstance(value, str) and not value.isascii():
        return value.encode("utf-8", "replace").decode()
    return value
