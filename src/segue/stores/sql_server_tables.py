"""The port of a server's own tables in SQL: keys, audit and answers, in the database of its journal."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import asdict

from ..core.server.access import AuditLine, KeptResponse, KeyRecord
from .sql import SqlDatabase

_LINES_CUT_AT_ONCE = 5_000


def _columns(kind: type[KeyRecord | AuditLine | KeptResponse]) -> str:
    return ", ".join(kind.__struct_fields__)


def _insert(table: str, kind: type[KeyRecord | AuditLine | KeptResponse]) -> str:
    values = ", ".join(f":{name}" for name in kind.__struct_fields__)
    return f"INSERT INTO segue.{table} (namespace, {_columns(kind)}) VALUES (:namespace, {values})"


_PUT_KEY = f"{_insert('server_keys', KeyRecord)} ON CONFLICT (namespace, id) DO UPDATE SET " + ", ".join(
    f"{name} = excluded.{name}" for name in KeyRecord.__struct_fields__ if name != "id"
)
_NOTE = _insert("server_audit", AuditLine)
_ANSWER = f"{_insert('server_answers', KeptResponse)} ON CONFLICT DO NOTHING"
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
        sql = f"SELECT {_columns(KeyRecord)} FROM segue.server_keys WHERE namespace = :namespace"
        return [KeyRecord(*row) for row in self._sql.rows(f"{sql} ORDER BY created, id")]

    def key(self, id: str) -> KeyRecord | None:
        sql = f"SELECT {_columns(KeyRecord)} FROM segue.server_keys WHERE namespace = :namespace AND id = :id"
        found = self._sql.rows(sql, id=id)
        return KeyRecord(*found[0]) if found else None

    def put_key(self, record: KeyRecord) -> None:
        self._sql.repeatable(lambda db: db.change(_PUT_KEY, **asdict(record)))

    def note(self, lines: Sequence[AuditLine]) -> None:
        """Should the commit have been in doubt, a line is there twice, which does less harm than none."""
        rows = [asdict(line) for line in lines]
        self._sql.repeatable(lambda db: db.many(_NOTE, rows))

    def audit(self, *, project: str = "", before: int = 0, limit: int = 100) -> list[tuple[int, AuditLine]]:
        sql = f"SELECT no, {_columns(AuditLine)} FROM segue.server_audit WHERE namespace = :namespace"
        sql += " AND project = :project" if project else ""
        sql += " AND no < :before" if before else ""
        sql += " ORDER BY no DESC LIMIT :limit"
        found = self._sql.rows(sql, project=project, before=before, limit=limit)
        return [(no, AuditLine(*row)) for no, *row in found]

    def answered(self, id: str) -> KeptResponse | None:
        sql = (
            f"SELECT {_columns(KeptResponse)} FROM segue.server_answers"
            " WHERE namespace = :namespace AND id = :id"
        )
        found = self._sql.rows(sql, id=id)
        return KeptResponse(*found[0]) if found else None

    def answer(self, answer: KeptResponse) -> None:
        self._sql.repeatable(lambda db: db.change(_ANSWER, **asdict(answer)))

    def forget(self, before: str) -> None:
        sql = "DELETE FROM segue.server_answers WHERE namespace = :namespace AND at < :before"
        self._sql.repeatable(lambda db: db.change(sql, before=before))

    def cut_audit(self, before: str) -> int:
        return self._sql.repeatable(lambda db: db.change(_CUT, before=before))
