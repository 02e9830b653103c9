"""Three roles for one database: an owner, who changes tables, and those who write and read what is in them.

Servers and clients write as the writer and never as the owner. Whoever only looks, on a standby perhaps, is
the reader. What a session of the store needs is set for the roles themselves: behind a pooler nobody has a
session of its own.
"""

from __future__ import annotations

from ...core.base.lazy import regex
from ...errors import BadName
from .connection import ABANDONED_MS

OWNER, WRITER, READER = "segue_owner", "segue_writer", "segue_reader"
LOCK_MS, STATEMENT_MS = 10_000, 60_000
_NAME = regex(r"[a-z_][a-z0-9_]{0,62}")


def statements(database: str, *, owner: str = OWNER, writer: str = WRITER, reader: str = READER) -> list[str]:
    """What a superuser runs once, in the database; each statement may be run again."""
    for name in (owner, writer, reader):
        if not _NAME.fullmatch(name):
            hint = "use lower-case letters, digits and _, at most 63"
            raise BadName(f"{name!r} cannot be used as a role name", hint=hint)
    quoted = '"' + database.replace('"', '""') + '"'
    both = f"{writer}, {reader}"
    own = f"ALTER DEFAULT PRIVILEGES FOR ROLE {owner} IN SCHEMA segue GRANT"
    return [
        *(_made(name) for name in (owner, writer, reader)),
        f"GRANT CREATE, CONNECT ON DATABASE {quoted} TO {owner}",
        f"GRANT CONNECT ON DATABASE {quoted} TO {both}",
        f"CREATE SCHEMA IF NOT EXISTS segue AUTHORIZATION {owner}",
        f"GRANT USAGE ON SCHEMA segue TO {both}",
        f"{own} SELECT, INSERT, UPDATE, DELETE ON TABLES TO {writer}",
        f"{own} USAGE ON SEQUENCES TO {writer}",
        f"{own} SELECT ON TABLES TO {reader}",
        f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA segue TO {writer}",
        f"GRANT USAGE ON ALL SEQUENCES IN SCHEMA segue TO {writer}",
        f"GRANT SELECT ON ALL TABLES IN SCHEMA segue TO {reader}",
        f"ALTER ROLE {writer} SET lock_timeout = {LOCK_MS}",
        f"ALTER ROLE {writer} SET idle_in_transaction_session_timeout = {ABANDONED_MS}",
        f"ALTER ROLE {writer} SET statement_timeout = {STATEMENT_MS}",
        f"ALTER ROLE {writer} SET synchronous_commit = on",
        f"ALTER ROLE {reader} SET default_transaction_read_only = on",
        f"ALTER ROLE {reader} SET statement_timeout = {STATEMENT_MS}",
    ]


def _made(name: str) -> str:
    return (
        f"DO $$ BEGIN CREATE ROLE {name} LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE;"
        " EXCEPTION WHEN duplicate_object THEN NULL; END $$"
    )
