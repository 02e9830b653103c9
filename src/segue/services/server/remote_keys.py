"""The keys and the quotas of a server, asked for over HTTP by an admin's key."""

from __future__ import annotations

import builtins
from typing import Any
from urllib.parse import quote

import msgspec

from ...core.server.access import PREFIX, AuditLine, KeyRecord, clean_project, id_in
from ...stores.remote import RemoteStore
from .keys import NewKey
from .quotas import Amounts, QuotaUse


class RemoteKeys:
    """What `Keys` does, on a server that is elsewhere."""

    def __init__(self, journal: RemoteStore) -> None:
        self._client = journal.client

    def create(self, *, project: str = "", **fields: str) -> NewKey:
        """Make a key; without a project, for that of the caller's key."""
        return msgspec.convert(self._client.ask("POST", "/v1/keys", {"project": project, **fields}), NewKey)

    def list(self) -> list[KeyRecord]:
        """The keys that this one may manage."""
        found: Any = self._client.ask("GET", "/v1/keys")
        return [msgspec.convert({**one, "hash": ""}, KeyRecord) for one in found["keys"]]

    def revoke(self, id: str) -> KeyRecord:
        """Revoke a key: with the next request it is not known any more."""
        found: Any = self._client.ask("DELETE", f"/v1/keys/{_quoted(id)}")
        return msgspec.convert({**found, "hash": ""}, KeyRecord)

    def rotate(self, id: str, *, grace: str = "", expires: str = "") -> NewKey:
        """A new key in the place of another."""
        how = {"grace": grace, "expires": expires}
        return msgspec.convert(self._client.ask("POST", f"/v1/keys/{_quoted(id)}/rotate", how), NewKey)

    def audit(self, *, project: str = "", limit: int = 100) -> builtins.list[AuditLine]:
        """What was done with keys, the newest first."""
        found: Any = self._client.ask("GET", f"/v1/audit?limit={limit}")
        lines = [msgspec.convert(one, AuditLine) for one in found["lines"]]
        return [line for line in lines if not project or line.project == project]


class RemoteQuotas:
    """What an operator does with `Quotas`, on a server that is elsewhere."""

    def __init__(self, journal: RemoteStore) -> None:
        self._client = journal.client

    def set(self, project: str, limits: Amounts) -> None:
        """Change limits of a project."""
        self._client.ask("PUT", f"/v1/quotas/{clean_project(project)}", dict(limits))

    def use(self, project: str = "") -> list[QuotaUse]:
        """Every limit, of one project or of all that this key may see, with what is used of it."""
        found = msgspec.convert(self._client.ask("GET", "/v1/quotas")["quotas"], list[QuotaUse])
        return [one for one in found if project in ("", one.project)]


def _quoted(id: str) -> str:
    """An id in a path; of a token only its id, since paths are logged on the way."""
    return quote(id_in(id) if id.startswith(f"{PREFIX}_") else id, safe="")
