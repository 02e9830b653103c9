"""`/v1/keys`: make, list, rotate and revoke keys; for admins, within the projects of their own key."""

from __future__ import annotations

import msgspec

from ....core.server.access import ALL_PROJECTS, KeyRecord
from ....effects.clock import now
from ....errors import NotAllowed, UnknownKey
from ....services.server.keys import NewKey
from ..server.context import NO_KEY
from ..server.parameters import RequestBody
from ..server.route import Caller, route


class KeyRequest(RequestBody):
    """A key to make."""

    role: str = "writer"
    project: str = ""
    """By default the project of the caller's key; ``*`` means all projects."""
    agent: str = ""
    name: str = ""
    expires: str = ""
    """How long it is valid, as ``90d`` or ``12h``; by default for ever."""


class KeyRotation(RequestBody):
    """How a key is replaced."""

    grace: str = ""
    """How long the old key stays valid, as ``1h``; by default not at all."""
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


def _shown(record: KeyRecord) -> ShownKey:
    return msgspec.convert({**msgspec.structs.asdict(record), "state": record.state(now())}, ShownKey)


def reach_of(caller: Caller) -> str:
    """The project whose keys the caller may manage; ``*`` for all projects."""
    own = caller.server.projects.server_tables.key(caller.access.key)
    return own.project if own is not None else ALL_PROJECTS


def _demand_key(caller: Caller) -> None:
    """Refuse a caller without a key, where none is asked for: a key would stay when the server asks again."""
    if caller.access.key == NO_KEY:
        raise NotAllowed(
            "you need a key to create, rotate or revoke keys",
            hint="create one on the server's machine with `segue key create`, and send it",
        )


def _manageable(caller: Caller, id: str) -> KeyRecord:
    """A key that the caller may manage. Raises UnknownKey for any other."""
    record, reach = caller.server.keys.get(id), reach_of(caller)
    if caller.access.agent not in ("", record.agent) or reach not in (ALL_PROJECTS, record.project):
        raise UnknownKey(f"there is no key {id[:12]!r}", hint="`segue key list` lists the keys")
    return record


@route(
    "POST", "/v1/keys", role="admin", status=201, errors=(),
    body={"role": "writer", "project": "web", "expires": "90d"},
)  # fmt: skip
def create_key(caller: Caller, body: KeyRequest) -> NewKey:
    """Make a key; its token is in this response and is never shown again."""
    _demand_key(caller)
    caller.server.projects.check_pause(caller.access.project)
    reach = reach_of(caller)
    project = body.project or caller.access.project
    if reach not in (ALL_PROJECTS, project):
        raise NotAllowed(
            "an admin of one project can only create keys for that project", hint=f"project {reach}"
        )
    agent = caller.access.act_as(body.agent)
    return caller.server.keys.create(
        project=project, role=body.role, agent=agent, name=body.name, expires=body.expires,
        by=caller.access.key,
    )  # fmt: skip


@route("GET", "/v1/keys", role="admin", errors=())
def list_keys(caller: Caller) -> KeyList:
    """All keys that the caller may manage."""
    reach = reach_of(caller)
    found = caller.server.keys.list()
    own = caller.access.agent
    return KeyList(
        [_shown(one) for one in found if reach in (ALL_PROJECTS, one.project) and own in ("", one.agent)]
    )


@route("DELETE", "/v1/keys/{id}", role="admin", status=200)
def revoke_key(caller: Caller, id: str) -> ShownKey:
    """Revoke a key; it is refused from the next request on."""
    _demand_key(caller)
    caller.server.projects.check_pause(caller.access.project)
    return _shown(caller.server.keys.revoke(_manageable(caller, id).id, by=caller.access.key))


@route("POST", "/v1/keys/{id}/rotate", role="admin", status=201, body={"grace": "1h"})
def rotate_key(caller: Caller, id: str, body: KeyRotation) -> NewKey:
    """Replace a key by a new one with the same role, project and agent."""
    _demand_key(caller)
    caller.server.projects.check_pause(caller.access.project)
    return caller.server.keys.rotate(
        _manageable(caller, id).id, grace=body.grace, expires=body.expires, by=caller.access.key
    )
