"""`/v1/sessions/{id}/ledger`: what was said in a session and holds, and what people correct in it.

A server reads no transcripts: clients send what runs said when they sync.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from ....core.ledger.model import KINDS
from ....core.sessions.ledger_commands import ADDED, added_kind
from ....errors import UsageError
from ....services.ledger.ledger_service import CorrectedLedger, LedgerService, ShownEntry
from ....services.sessions.repository import Saved
from ...render import plain
from ..server.parameters import SAVED, Id, RequestBody, Text, with_more
from ..server.route import Caller, route

PATH = "/v1/sessions/{id}/ledger"
IDS_MAX = 1_000
_ENTRY: dict[str, Any] = plain(
    ShownEntry(
        "3f2ab1c9d0", "rule", "Never push to main.", by="user", at="2026-11-15T09:00:00.000000Z",
        run="codex/5f6d", step=2, handle="3f2a",
    )
)  # fmt: skip
_DROPPED = {
    **_ENTRY, "state": "withdrawn", "since": "2026-11-15T10:12:00.000000Z", "why": "the bot pushes",
    "corrected": "user",
}  # fmt: skip


class LedgerEntries(msgspec.Struct):
    """Entries in the order in which they were said."""

    entries: list[ShownEntry]


class LedgerChange(RequestBody):
    """What to correct. ``done``, ``drop`` and ``reopen`` take ``ids``, ``edit`` one of them and a ``text``,
    ``add`` a ``kind`` and a ``text``."""

    action: Literal["done", "drop", "reopen", "edit", "add"]
    ids: Annotated[list[Id], Meta(max_length=IDS_MAX)] = []
    """Ids of entries, or handles."""
    kind: Literal[("", *ADDED)] = ""  # type: ignore[valid-type]
    text: Text = ""
    why: Text = ""
    """With ``drop``: the reason."""
    of: Id = ""
    """With ``add``: the entry that it belongs to."""


@route("GET", PATH, role="reader", response={"entries": [_ENTRY]})
def show_ledger(
    caller: Caller, id: str, all: bool = False, kind: Literal[("", *KINDS)] = "",  # type: ignore[valid-type]
) -> LedgerEntries:  # fmt: skip
    """What was said and holds; with `all` also what is settled, with `kind` only entries of that kind."""
    return LedgerEntries(caller.session(id).ledger.entries(all=all, kind=kind))


@route(
    "POST", PATH, role="writer", body={"action": "drop", "ids": ["3f2a"], "why": "the bot pushes"},
    response={**SAVED, "new": [], "replaced_goal": "", "entries": [_DROPPED]},
)  # fmt: skip
def change_ledger(caller: Caller, id: str, body: LedgerChange) -> CorrectedLedger:
    """Correct entries, or add one; all or none. What was corrected stays when transcripts are read again."""
    ledger = caller.session(id).ledger
    saved = _changed(ledger, body)
    return with_more(CorrectedLedger, saved, entries=ledger.changed(saved))


def _changed(ledger: LedgerService, body: LedgerChange) -> Saved:
    if body.action == "add":
        kind = added_kind(body.kind)
        if kind is None:
            raise UsageError("`add` needs a kind", hint="one of " + ", ".join(ADDED))
        return ledger.add(kind, body.text, of=body.of)
    if body.action == "edit":
        if len(body.ids) != 1:
            raise UsageError("`edit` needs exactly one id", hint='{"action": "edit", "ids": ["3f2a"], …}')
        return ledger.edit(body.ids[0], body.text)
    if body.action == "drop":
        return ledger.drop(*body.ids, why=body.why)
    return ledger.done(*body.ids) if body.action == "done" else ledger.reopen(*body.ids)
