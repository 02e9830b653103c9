"""The port of a server's own tables on Postgres: keys, audit and answers, in the server's namespace."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from uuid import UUID

from ...core.server.access import AuditLine, KeptResponse, KeyRecord
from .database import Database, changed, many, plain

if TYPE_CHECKING:
    from psycopg import Connection

_KEY = ", ".join(KeyRecord.__struct_fields__)
_LINE = ", ".join(AuditLine.__struct_fields__)
_ANSWER = ", ".join(KeptResponse.__struct_fields__)
_PUT = f"""
    INSERT INTO segue.server_keys (namespace, {_KEY}) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)
    ON CONFLICT (namespace, id) DO UPDATE SET hash = excluded.hash, role = excluded.role,
        project = excluded.project, agent = excluded.agent, name = excluded.name,
        expires = excluded.expires, revoked = excluded.revoked
"""


class PostgresDesk:
    """Keys, audit and answers in a namespace."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def keys(self) -> list[KeyRecord]:
        sql = f"SELECT {_KEY} FROM segue.server_keys WHERE namespace = %s ORDER BY created, id"
        return [KeyRecord(*row) for row in self._database.fetch(sql, (self._database.namespace,))]

    def key(self, id: str) -> KeyRecord | None:
        sql = f"SELECT {_KEY} FROM segue.server_keys WHERE namespace = %s AND id = %s"
        rows = self._database.fetch(sql, (self._database.namespace, plain(id)))
        return KeyRecord(*rows[0]) if rows else None

    def put_key(self, record: KeyRecord) -> None:
        self._many(_PUT, [record])

    def note(self, lines: Sequence[AuditLine]) -> None:
        sql = f"INSERT INTO segue.server_audit (namespace, {_LINE}) VALUES (%s, %s, %s, %s, %s, %s, %s)"
        self._many(sql, lines)

    def audit(self, *, project: str = "", before: int = 0, limit: int = 100) -> list[tuple[int, AuditLine]]:
        sql = (
            f"SELECT no, {_LINE} FROM segue.server_audit WHERE namespace = %s"
            " AND (%s::text = '' OR project = %s) AND (%s::bigint = 0 OR no < %s) ORDER BY no DESC LIMIT %s"
        )
        values = (self._database.namespace, plain(project), plain(project), before, before, limit)
        return [(no, AuditLine(*row)) for no, *row in self._database.fetch(sql, values)]

    def answered(self, id: str) -> KeptResponse | None:
        sql = f"SELECT {_ANSWER} FROM segue.server_answers WHERE namespace = %s AND id = %s"
        rows = self._database.fetch(sql, (self._database.namespace, plain(id)))
        return KeptResponse(*rows[0]) if rows else None

    def answer(self, answer: KeptResponse) -> None:
        sql = (
            f"INSERT INTO segue.server_answers (namespace, {_ANSWER}) VALUES (%s, %s, %s, %s, %s, %s, %s)"
            " ON CONFLICT DO NOTHING"
        )
        self._many(sql, [answer])

    def forget(self, before: str) -> None:
        sql = "DELETE FROM segue.server_answers WHERE namespace = %s AND at < %s"

        def work(db: Connection[Any], _: UUID) -> bool:
            db.execute(sql, (self._database.namespace, before))
            return True

        self._database.transaction(work, lambda *_: None)

    def cut_audit(self, before: str) -> int:
        sql = (
            "DELETE FROM segue.server_audit WHERE namespace = %s AND at < %s AND no IN"
            " (SELECT no FROM segue.server_audit WHERE namespace = %s ORDER BY no LIMIT 5000)"
        )
        namespace = self._database.namespace

        def work(db: Connection[Any], _: UUID) -> int:
            return changed(db, sql, (namespace, before, namespace))

        return self._database.transaction(work, lambda *_: None)

    def _many(self, sql: str, values: Sequence[KeyRecord | AuditLine | KeptResponse]) -> None:
        rows = [(self._database.namespace, *map(_storable, _fields(one))) for one in values]

        def work(db: Connection[Any], _: UUID) -> bool:
            many(db, sql, rows)
            return True

        self._database.transaction(
            work, lambda *_: None
        )  # a line of the audit twice does less harm than none


def _fields(one: KeyRecord | AuditLine | KeptResponse) -> tuple[Any, ...]:
    return tuple(getattr(one, name) for name in one.__struct_fields__)


def _storable(value: Any) -> Any:
    return plain(value) if isinstance(value, str) else value
