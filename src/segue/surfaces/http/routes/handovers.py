"""`/v1/handovers`: how handovers went. They are run by clients, where the working trees are."""

from __future__ import annotations

from typing import Any

import msgspec

from ....core import event_kinds as ev
from ....core.handover.events import checkpoint_of
from ....errors import UnknownHandoff
from ....handover.scoring import ScoredHandover, scores_in
from ...render import plain
from ..server.parameters import Name
from ..server.route import Caller, route


class Handover(msgspec.Struct):
    """The newest handover of a working tree."""

    tree: str
    """The hash that identifies the working tree."""
    status: str
    steps: dict[str, str]
    started_at: str | None
    finished_at: str | None
    run: str
    session: str


class HandoverList(msgspec.Struct):
    handovers: list[Handover]


class HandoverEvent(msgspec.Struct):
    version: int
    kind: str
    at: str
    actor: str
    body: dict[str, Any]


class HandoverHistory(msgspec.Struct):
    handover: Handover
    history: list[HandoverEvent]
    scores: list[ScoredHandover]


def _handover(caller: Caller, tree: str) -> Handover | None:
    events = caller.segue.workspace.store.read(f"handover/{tree}")
    if not events:
        return None
    found = checkpoint_of([(ev.read_body(event), event.at) for event in events])
    more = found.get("segue", {})
    return Handover(
        tree, str(found["status"]), {name: str(how) for name, how in found["steps"].items()},
        found["started_at"], found["finished_at"], str(more.get("run", "")), str(more.get("session", "")),
    )  # fmt: skip


@route("GET", "/v1/handovers", role="reader", errors=())
def list_handovers(caller: Caller) -> HandoverList:
    """How far the newest handover of each working tree came. Handovers are run by clients."""
    names = [name.removeprefix("handover/") for name, _ in caller.segue.workspace.store.streams("handover/")]
    found = [_handover(caller, name) for name in names]
    return HandoverList([one for one in found if one is not None])


@route("GET", "/v1/handovers/{tree}", role="reader")
def get_handover(caller: Caller, tree: Name) -> HandoverHistory:
    """The handovers of a working tree: how far the newest came, all of their events, and how useful they were
    to the runs that came after."""
    found = _handover(caller, tree)
    if found is None:
        raise UnknownHandoff(f"no handover of {tree[:60]!r} is known", hint="GET /v1/handovers lists them")
    journal = caller.segue.workspace.store
    events = [
        HandoverEvent(event.version, event.kind, event.at, event.actor, plain(ev.read_body(event)) or {})
        for event in journal.read(f"handover/{tree}")
    ]
    return HandoverHistory(found, events, scores_in(journal.read(f"score/{tree}")))
