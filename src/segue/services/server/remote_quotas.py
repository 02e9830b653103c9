"""The quotas of a server, asked for over HTTP by an admin's key."""

from __future__ import annotations

from urllib.parse import quote

import msgspec

from ...core.server.access import clean_project
from ...stores.remote import RemoteStore
from .quotas import Amounts, QuotaUse


class RemoteQuotas:
    """What an operator does with `Quotas`, on a server that is elsewhere."""

    def __init__(self, journal: RemoteStore) -> None:
        self._client = journal.client

    def set(self, project: str, limits: Amounts) -> None:
        """Change limits of a project."""
        clean_project(project)
        self._client.ask("PUT", f"/v1/quotas/{quote(project, safe='')}", dict(limits))

    def use(self, project: str = "") -> list[QuotaUse]:
        """Every limit, of one project or of all that this key may see, with what is used of it."""
        found = msgspec.convert(self._client.ask("GET", "/v1/quotas")["quotas"], list[QuotaUse])
        return [one for one in found if project in ("", one.project)]
