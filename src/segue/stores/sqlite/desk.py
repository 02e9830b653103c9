"""The port of a server's own tables on SQLite: keys, audit and answers, in the file of its journal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import apsw

from ...core.server.access import AuditLine, KeptResponse, KeyRecord

if TYPE_CHECKING:
    from .database import Database

_KEY = ", ".join(KeyRecord.__struct_fields__)
_LINE = ", ".join(AuditLine.__struct_fields__)
_ANSWER = ", ".join(KeptResponse.__struct_fields__)


class SqliteDesk:
    """Keys, audit and answers in a file."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def keys(self) -> list[KeyRecord]:
        rows = self._fetch(f"SELECT {_KEY} FROM server_keys ORDER BY created, id")
        return [KeyRecord(*row) for row in rows]

    def key(self, id: str) -> KeyRecord | None:
        rows = self._fetch(f"SELECT {_KEY} FROM server_keys WHERE id = ?", (id,))
        return KeyRecord(*rows[0]) if rows else None

    def put_key(self, record: KeyRecord) -> None:
        self._many("INSERT OR REPLACE INTO server_keys VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", [record])

    def note(self, lines: Sequence[AuditLine]) -> None:
        self._many(f"INSERT INTO server_audit ({_LINE}) VALUES (?, ?, ?, ?, ?, ?)", lines)

    def audit(self, *, project: str = "", before: int = 0, limit: int = 100) -> list[tuple[int, AuditLine]]:
        sql = (
            f"SELECT no, {_LINE} FROM server_audit WHERE (?1 = '' OR project = ?1) AND (?2 = 0 OR no < ?2)"
            " ORDER BY no DESC LIMIT ?3"
        )
        return [(no, AuditLine(*row)) for no, *row in self._fetch(sql, (project, before, limit))]

    def answered(self, id: str) -> KeptResponse | None:
        rows = self._fetch(f"SELECT {_ANSWER} FROM server_answers WHERE id = ?", (id,))
        return KeptResponse(*rows[0]) if rows else None

    def answer(self, answer: KeptResponse) -> None:
        self._many("INSERT OR IGNORE INTO server_answers VALUES (?, ?, ?, ?, ?, ?)", [answer])

    def forget(self, before: str) -> None:
        self._database.writing(lambda db: db.execute("DELETE FROM server_answers WHERE at < ?", (before,)))

    def cut_audit(self, before: str) -> int:
        oldest = "SELECT no FROM server_audit ORDER BY no LIMIT 5000"
        sql = f"DELETE FROM server_audit WHERE no IN ({oldest}) AND at < ?"

        def work(db: apsw.Connection) -> int:
            db.execute(sql, (before,))
            return db.changes()

        return self._database.writing(work)

    def _fetch(self, sql: str, values: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        try:
            return self._database.connection().execute(sql, values).fetchall()
        except apsw.Error as fault:
            raise self._database.translate(fault) from fault

    def _many(self, sql: str, values: Sequence[KeyRecord | AuditLine | KeptResponse]) -> None:
        rows = [tuple(getattr(one, name) for name in one.__struct_fields__) for one in values]
        self._database.writing(lambda db: db.executemany(sql, rows))
