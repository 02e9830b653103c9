"""`/v1/audit`: what was done with keys. `/v1/sessions/{id}/audit`: whether the history of a session is
intact."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from ....core.server.access import ALL_PROJECTS, AuditLine
from ....services.features.features import Audit
from ..server.parameters import INTEGER_MAX, Name
from ..server.route import Caller, route
from .keys import reach_of

Before = Annotated[int, Meta(ge=0, le=INTEGER_MAX, description="`next` of the previous page.")]
LINES_MAX = 1_000


class AuditPage(msgspec.Struct):
    lines: list[AuditLine]
    next: int = 0
    """The value of ``before`` for older lines; 0 if there are none."""


@route("GET", "/v1/audit", role="admin", tag="keys", errors=())
def audit(caller: Caller, before: Before = 0, limit: int = 100) -> AuditPage:
    """What was done with keys, the newest first."""
    reach = reach_of(caller)
    most = max(1, min(limit, LINES_MAX))
    found = caller.server.projects.server_tables.audit(
        project="" if reach == ALL_PROJECTS else reach, before=before, limit=most
    )
    return AuditPage([line for _, line in found], found[-1][0] if len(found) == most else 0)


class Audited(Audit, kw_only=True):
    """Whether the chain of events is as it was written."""

    ok: bool


@route("GET", "/v1/sessions/{id}/audit", role="reader", tag="features")
def audit_session(caller: Caller, id: str, head: Name = "") -> Audited:
    """Verify the chain of events up to its head. With ``head``, a hash that was noted elsewhere: it must be
    in the chain. Outputs of checks are kept by the client that ran them."""
    found = caller.session(id).features.audit(head)
    return Audited(found.session, found.version, found.head, found.evidence, found.faults, {}, ok=found.ok)
