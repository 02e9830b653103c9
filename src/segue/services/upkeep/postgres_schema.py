"""The tables of a Postgres store, and who may do what with them: looked at, made, brought up to date."""

from __future__ import annotations

from contextlib import closing

from ...core.base.values import Value
from ...errors import UsageError
from ...settings import Settings
from ...stores.postgres import PostgresStore, is_postgres, shown
from ...stores.postgres.roles import OWNER, READER, WRITER, statements
from ...stores.postgres.schema import SCHEMA

_LOOK = """
    SELECT current_user::text, current_database()::text,
        CASE WHEN to_regnamespace('segue') IS NULL THEN has_database_privilege(current_database(), 'CREATE')
            ELSE has_schema_privilege('segue', 'CREATE') END
"""


class SchemaState(Value):
    """The tables of a store, as a role finds them."""

    store: str
    database: str
    schema: int
    """0 where there are no tables."""
    newest: int
    """The schema of this Segue."""
    role: str
    may_change: bool
    """Whether this role may change tables, which a server's should not."""


def look(settings: Settings, *, upgrade: bool = False) -> SchemaState:
    """The tables as they are, or with ``upgrade`` as they are after it. Raises as the store does."""
    with closing(_store(settings)) as journal:
        database = journal.database
        [(role, name, may_change)] = database.fetch_as_is(_LOOK)
        if upgrade:
            database.index_words()
        schema = database.schema_there()
        return SchemaState(database.address.shown, name, schema, SCHEMA, role, may_change)


def roles_sql(database: str, owner: str = "", writer: str = "", reader: str = "") -> list[str]:
    """What makes the roles, for a superuser to run in the database."""
    return statements(database, owner=owner or OWNER, writer=writer or WRITER, reader=reader or READER)


def _store(settings: Settings) -> PostgresStore:
    where = settings.text("store")
    if not is_postgres(where):
        hint = "SEGUE_STORE=postgresql://owner@host/database segue schema"
        raise UsageError(f"{shown(where) or 'the data folder'} is not a Postgres store", hint=hint)
    return PostgresStore(where, busy_timeout_ms=int(settings.number("busy_timeout_ms")))
