"""Keys and the audit over HTTP: for admins, within what their own key reaches."""

from __future__ import annotations

from typing import Annotated

import msgspec

from ....core.server.access import ALL_PROJECTS, AuditLine, KeyRecord
from ....effects.clock import now
from ....errors import NotAllowed, UnknownKey
from ....services.server.keys import NewKey
from ..server.parameters import WHOLE_MAX
from ..server.route import Visit, route

TAGS = ("keys",)
Before = Annotated[int, msgspec.Meta(ge=0, le=WHOLE_MAX, description="`next` of the page before.")]


class KeyWish(msgspec.Struct, forbid_unknown_fields=True):
    """A key to be made."""

    role: str = "writer"
    project: str = ""
    """Empty: the project of the key that asks; ``*``: all."""
    agent: str = ""
    name: str = ""
    expires: str = ""
    """As ``90d`` or ``12h``; empty: it lasts."""


class Rotation(msgspec.Struct, forbid_unknown_fields=True):
    """How a key is replaced."""

    grace: str = ""
    """How long the old one holds on, as ``1h``; empty: not at all."""
    expires: str = ""


class ShownKey(msgspec.Struct):
    """A key without anything secret."""

    id: str
    role: str
    project: str
    agent: str
    name: str
    created: str
    created_by: str
    expires: str
    revoked: str
    state: str


class KeyList(msgspec.Struct):
    keys: list[ShownKey]


class AuditPage(msgspec.Struct):
    lines: list[AuditLine]
    next: int = 0
    """Give it as ``before`` for older ones; 0: there are none."""


def _shown(record: KeyRecord) -> ShownKey:
    fields = {name: getattr(record, name) for name in ShownKey.__struct_fields__ if name != "state"}
    return ShownKey(**fields, state=record.state(now()))


def _reach(visit: Visit) -> str:
    """The projects whose keys this key may see: its own, or all."""
    own = visit.front.projects.server_tables.key(visit.access.key)
    return own.project if own is not None else ALL_PROJECTS


def _own(visit: Visit, id: str) -> KeyRecord:
    """A key within reach; any other is not there."""
    record, reach = visit.front.keys.get(id), _reach(visit)
    if visit.access.agent not in ("", record.agent) or reach not in (ALL_PROJECTS, record.project):
        raise UnknownKey(f"there is no key {id[:12]!r}", hint="`segue key list` names them")
    return record


@route("POST", "/v1/keys", need="admin", status=201, tags=TAGS, errors=())
def create_key(visit: Visit, data: KeyWish) -> NewKey:
    """Make a key; its token is in this answer and never again."""
    reach = _reach(visit)
    project = data.project or visit.access.project
    if reach not in (ALL_PROJECTS, project):
        raise NotAllowed("an admin of a project makes keys of that project", hint=f"project {reach}")
    agent = visit.access.act_as(data.agent)
    return visit.front.keys.create(
        project=project, role=data.role, agent=agent, name=data.name, expires=data.expires,
        by=visit.access.key,
    )  # fmt: skip


@route("GET", "/v1/keys", need="admin", tags=TAGS, errors=())
def list_keys(visit: Visit) -> KeyList:
    """All keys that this one may manage."""
    reach = _reach(visit)
    found = visit.front.keys.list()
    own = visit.access.agent
    return KeyList(
        [_shown(one) for one in found if reach in (ALL_PROJECTS, one.project) and own in ("", one.agent)]
    )


@route("DELETE", "/v1/keys/{id}", need="admin", status=200, tags=TAGS)
def revoke_key(visit: Visit, id: str) -> ShownKey:
    """From now on the key is not known."""
    return _shown(visit.front.keys.revoke(_own(visit, id).id, by=visit.access.key))


@route("POST", "/v1/keys/{id}/rotate", need="admin", status=201, tags=TAGS)
def rotate_key(visit: Visit, id: str, data: Rotation) -> NewKey:
    """A new key in the place of this one."""
    return visit.front.keys.rotate(
        _own(visit, id).id, grace=data.grace, expires=data.expires, by=visit.access.key
    )


@route("GET", "/v1/audit", need="admin", tags=TAGS, errors=())
def audit(visit: Visit, before: Before = 0, limit: int = 100) -> AuditPage:
    """What was done with keys, the newest first."""
    reach = _reach(visit)
    most = max(1, min(limit, 1_000))
    found = visit.front.projects.server_tables.audit(
        project="" if reach == ALL_PROJECTS else reach, before=before, limit=most
    )
    return AuditPage([line for _, line in found], found[-1][0] if len(found) == most else 0)


ROUTES = [create_key, list_keys, revoke_key, rotate_key, audit]
