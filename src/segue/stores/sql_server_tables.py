"""The port of a server's own tables in SQL: keys, audit and answers, in the database of its journal."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import asdict

from ..core.server.access import AuditLine, KeptResponse, KeyRecord
from .sql import SqlDatabase, insert

_LINES_CUT_AT_ONCE = 5_000


def _select(table: str, kind: type[KeyRecord | AuditLine | KeptResponse], more: str = "") -> str:
    columns = ", ".join(kind.__struct_fields__)
    return f"SELECT {more}{columns} FROM segue.{table} WHERE namespace = :namespace"


_KEYS = _select("server_keys", KeyRecord)
_NEW = ", ".join(f"{name} = excluded.{name}" for name in KeyRecord.__struct_fields__ if name != "id")
_ADD_KEY = insert("server_keys", KeyRecord.__struct_fields__)
_PUT_KEY = f"{_ADD_KEY} ON CONFLICT (namespace, id) DO UPDATE SET {_NEW}"
_NOTE = insert("server_audit", AuditLine.__struct_fields__)
_ANSWER = f"{insert('server_answers', KeptResponse.__struct_fields__)} ON CONFLICT DO NOTHING"
_CUT = f"""
    DELETE FROM segue.server_audit WHERE namespace = :namespace AND at < :before AND no IN
        (SELECT no FROM segue.server_audit WHERE namespace = :namespace
            ORDER BY no LIMIT {_LINES_CUT_AT_ONCE})
"""


class SqlServerTables:
    """Keys, audit and answers in a database."""

    def __init__(self, sql: SqlDatabase) -> None:
        self._sql = sql

    def keys(self) -> list[KeyRecord]:
        return [KeyRecord(*row) for row in self._sql.rows(f"{_KEYS} ORDER BY created, id")]

    def key(self, id: str) -> KeyRecord | None:
        found = self._sql.rows(f"{_KEYS} AND id = :id", id=id)
        return KeyRecord(*found[0]) if found else None

    def put_key(self, record: KeyRecord) -> None:
        self._sql.repeatable(lambda db: db.change(_PUT_KEY, **asdict(record)))

    def note(self, lines: Sequence[AuditLine]) -> None:
        """Should the commit have been in doubt, a line is there twice, which does less harm than none."""
        rows = [asdict(line) for line in lines]
        self._sql.repeatable(lambda db: db.many(_NOTE, rows))

    def audit(self, *, project: str = "", before: int = 0, limit: int = 100) -> list[tuple[int, AuditLine]]:
        sql = _select("server_audit", AuditLine, "no, ")
        sql += " AND project = :project" if project else ""
        sql += " AND no < :before" if before else ""
        sql += " ORDER BY no DESC LIMIT :limit"
        found = self._sql.rows(sql, project=project, before=before, limit=limit)
        return [(no, AuditLine(*row)) for no, *row in found]

    def answered(self, id: str) -> KeptResponse | None:
        found = self._sql.rows(f"{_select('server_answers', KeptResponse)} AND id = :id", id=id)
        return KeptResponse(*found[0]) if found else None

    def answer(self, answer: KeptResponse) -> None:
        self._sql.repeatable(lambda db: db.change(_ANSWER, **asdict(answer)))

    def forget(self, before: str) -> None:
        sql = "DELETE FROM segue.server_answers WHERE namespace = :namespace AND at < :before"
        self._sql.repeatable(lambda db: db.change(sql, before=before))

    def cut_audit(self, before: str) -> int:
        return self._sql.repeatable(lambda db: db.change(_CUT, before=before))
