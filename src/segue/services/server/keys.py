"""The keys of a server: made, looked up, rotated and revoked; a token is shown once and never kept."""

from __future__ import annotations

import builtins
import secrets

from msgspec.structs import replace

from ...core.base.text import clean_name, clean_text
from ...core.base.values import Value
from ...core.server import access as core
from ...core.server.access import ALL_PROJECTS, Access, AuditLine, KeyRecord
from ...effects.clock import moment, now
from ...errors import UnknownKey, UsageError
from ...stores.base import ServerTables

LOCAL = "local"
"""Whoever has the store itself, as in the audit."""


class NewKey(Value):
    """A key that was made: the only time that its token is seen."""

    key: str
    id: str
    role: str
    project: str
    agent: str = ""
    name: str = ""
    expires: str = ""


class Keys:
    """The keys that a server knows."""

    def __init__(self, tables: ServerTables) -> None:
        self.tables = tables

    def create(
        self, *, project: str = "", role: str = "writer", agent: str = "", name: str = "",
        expires: str = "", by: str = LOCAL,
    ) -> NewKey:  # fmt: skip
        """Make a key; ``expires`` as ``90d``, nothing for one that lasts."""
        id, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
        token = core.token_of(id, secret)
        record = KeyRecord(
            id, core.hashed(token), core.clean_role(role),
            project if project == ALL_PROJECTS else core.clean_project(project or core.DEFAULT_PROJECT),
            clean_name(agent, what="agent") if agent else "", clean_text(name, what="name", limit=100),
            now(), by, moment(core.seconds_of(expires)) if expires else "",
        )  # fmt: skip
        self.tables.put_key(record)
        self._note(record, f"create key {id}", by)
        return NewKey(token, id, record.role, record.project, record.agent, record.name, record.expires)

    def list(self) -> list[KeyRecord]:
        """All keys, also those that have expired or were revoked."""
        return self.tables.keys()

    def get(self, id: str) -> KeyRecord:
        """A key by its id, or by its token."""
        found = self.tables.key(core.id_in(id) if id.startswith(f"{core.PREFIX}_") else id)
        if found is None:
            raise UnknownKey(f"there is no key {id[:12]!r}", hint="`segue key list` lists the keys")
        return found

    def revoke(self, id: str, *, by: str = LOCAL) -> KeyRecord:
        """Revoke a key: with the next request it is not known any more."""
        record = self.get(id)
        if not record.revoked or record.revoked > now():
            record = replace(record, revoked=now())
            self.tables.put_key(record)
            self._note(record, f"revoke key {record.id}", by)
        return record

    def rotate(self, id: str, *, grace: str = "", expires: str = "", by: str = LOCAL) -> NewKey:
        """A new key in the place of another, which holds on for ``grace`` (``1h``), by default not at all."""
        old = self.get(id)
        if old.state(now()) != "live":
            hint = "make a new one with `segue key create`"
            raise UsageError(f"key {old.id} is {old.state(now())}", hint=hint)
        same = {name: getattr(old, name) for name in ("project", "role", "agent", "name")}
        made = self.create(**same, expires=expires, by=by)
        until = moment(core.seconds_of(grace)) if grace else now()
        self.tables.put_key(replace(old, revoked=until))
        self._note(old, f"rotate key {old.id} to {made.id}", by)
        return made

    def audit(self, *, project: str = "", limit: int = 100) -> builtins.list[AuditLine]:
        """What was done with keys, the newest first."""
        return [line for _, line in self.tables.audit(project=project, limit=limit)]

    def check(self, token: str, project: str = "") -> Access:
        """What a token gives; NotKnown or NotAllowed."""
        record = self.tables.key(core.id_in(token)) if token else None
        return core.granted(record, token, project, now())

    def _note(self, record: KeyRecord, act: str, by: str) -> None:
        about = f"{record.role} {record.agent}".strip()
        self.tables.note([AuditLine(now(), by, record.project, act, about=about)])
