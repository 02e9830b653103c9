"""`/v1/quotas`: how much projects may hold and how often they may ask, and how much of that is used."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

from ....core.server.access import ALL_PROJECTS
from ....core.server.quota import LIMIT_MAX
from ....errors import NotAllowed
from ....services.server.quotas import QuotaUse
from ..server.parameters import RequestBody
from ..server.route import Caller, route
from .keys import reach_of

Limit = Annotated[int, Meta(ge=0, le=LIMIT_MAX)]


class QuotaRequest(RequestBody):
    """Limits to set: 0 takes one away, and those that are not named stay."""

    sessions: Limit | UnsetType = UNSET
    events: Limit | UnsetType = UNSET
    memories: Limit | UnsetType = UNSET
    bytes: Limit | UnsetType = UNSET
    requests: Limit | UnsetType = UNSET
    """A minute, with all keys of the project."""


class QuotaList(msgspec.Struct):
    quotas: list[QuotaUse]


@route("GET", "/v1/quotas", role="admin", tag="keys", errors=())
def list_quotas(caller: Caller) -> QuotaList:
    """The quotas of the projects that the caller may manage, and how much of each is used."""
    reach = reach_of(caller)
    return QuotaList(caller.server.projects.quotas.use("" if reach == ALL_PROJECTS else reach))


@route("PUT", "/v1/quotas/{project}", role="admin", tag="keys", errors=(), body={"events": 100_000})
def set_quota(caller: Caller, project: str, body: QuotaRequest) -> QuotaList:
    """Set limits of a project; with a key for all projects only. Every server knows it within seconds."""
    if reach_of(caller) != ALL_PROJECTS:
        raise NotAllowed(
            "quotas are set by whoever runs the server", hint="ask for a key of all projects, or for more"
        )
    caller.server.projects.check_pause(caller.access.project)
    limits = {name: value for name in body.__struct_fields__ if (value := getattr(body, name)) is not UNSET}
    caller.server.projects.quotas.set(project, limits)
    return QuotaList(caller.server.projects.quotas.use(project))
