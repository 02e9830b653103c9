"""The port of a server's own tables in SQL: keys, audit, quotas, answers; in the database of its journal."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import asdict

from ..core.server.access import AuditLine, KeptResponse, KeyRecord
from ..core.server.quota import Quota
from .sql import SqlDatabase, insert

_LINES_CUT_AT_ONCE = 5_000


def _select(table: str, kind: type[KeyRecord | AuditLine | KeptResponse | Quota], more: str = "") -> str:
    columns = ", ".join(kind.__struct_fields__)
    return f"SELECT {more}{columns} FROM segue.{table} WHERE namespace = :namespace"


_KEYS = _select("server_keys", KeyRecord)
_NEW = ", ".join(f"{name} = excluded.{name}" for name in KeyRecord.__struct_fields__ if name != "id")
_ADD_KEY = insert("server_keys", KeyRecord.__struct_fields__)
_PUT_KEY = f"{_ADD_KEY} ON CONFLICT (namespace, id) DO UPDATE SET {_NEW}"
_QUOTAS = _select("server_quotas", Quota)
_NO_QUOTA = "DELETE FROM segue.server_quotas WHERE namespace = :namespace AND project = :project"
_NEW_LIMITS = ", ".join(f"{name} = excluded.{name}" for name in Quota.__struct_fields__ if name != "project")
_ADD_QUOTA = insert("server_quotas", Quota.__struct_fields__)
_PUT_QUOTA = f"{_ADD_QUOTA} ON CONFLICT (namespace, project) DO UPDATE SET {_NEW_LIMITS}"
_NOTE = insert("server_audit", AuditLine.__struct_fields__)
_ANSWER = f"{insert('server_answers', KeptResponse.__struct_fields__)} ON CONFLICT DO NOTHING"
_CUT = f"""
    DELETE FROM segue.server_audit WHERE namespace = :namespace AND at < :before AND no IN
        (SELECT no FROM segue.server_audit WHERE namespace = :namespace
            ORDER BY no LIMIT {_LINES_CUT_AT_ONCE})
"""


class SqlServerTables:
    """Keys, audit, quotas and answers in a database."""

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

    def quotas(self) -> list[Quota]:
        return [Quota(*row) for row in self._sql.rows(f"{_QUOTAS} ORDER BY project")]

    def put_quota(self, quota: Quota) -> None:
        if quota.limits:
            self._sql.repeatable(lambda db: db.change(_PUT_QUOTA, **asdict(quota)))
        else:
            self._sql.repeatable(lambda db: db.change(_NO_QUOTA, project=quota.project))

    def cut_audit(self, before: str) -> int:
        return self._sql.repeatable(lambda db: db.change(_CUT, before=before))
