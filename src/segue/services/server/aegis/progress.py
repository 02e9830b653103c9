"""How far a session is, in the words of Aegis Memory's clients.

An update says how things are, not what happened: what must be done so that they are so is found out from the
state, and made durable in one commit. If somebody else was faster it is found out anew, so that nobody's
write is lost: ``completed`` adds, in order, and ``next`` and ``blocked`` take the place of what was there.
A word for the status that means more than is known is refused.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import msgspec

from ....core.base.values import Value, parse_digits
from ....core.features.verdict import gate
from ....core.journal import pieces
from ....core.sessions import commands as do
from ....core.sessions.checkpoint import Checkpoint, commands
from ....core.sessions.commands import Command
from ....core.sessions.state import OPEN, SessionState, key
from ....errors import BadValue, SessionOver, UnknownSession, UsageError
from ...workspace.open_session import start_session
from ...workspace.session_handle import SessionHandle
from ...workspace.workspace import Workspace

LABEL = "aegis"
"""The agent state that holds what those clients say beyond what Segue knows: a `Label`."""
STATUSES = {
    "active": "active", "in_progress": "active", "started": "active", "resumed": "active",
    "paused": "paused", "blocked": "active", "completed": "completed", "complete": "completed",
    "abandoned": "abandoned", "failed": "abandoned",
}  # fmt: skip
ITEMS_MAX = 10_000
_LABELS_MAX = 1_024

Items = Sequence[str] | None
Blocked = Iterable[Mapping[str, str]] | None


class Label(Value, omit_defaults=True):
    """What a client calls things; it changes nothing of what they are."""

    status: str = ""
    total: int = 0
    namespace: str = ""
    agent: str = ""
    user: str = ""


class BlockedItem(Value):
    """An item that waits, and for what."""

    item: str
    reason: str


class SessionProgress(Value):
    """How far a session is."""

    id: str
    session_id: str
    status: str
    completed_count: int
    total_items: int
    progress_percent: float
    completed_items: list[str]
    next_items: list[str]
    blocked_items: list[BlockedItem]
    updated_at: str
    in_progress_item: str | None = None
    summary: str | None = None
    last_action: str | None = None
    agent_id: str | None = None


class ProgressUpdate(Value):
    """How things are; what is None stays as it is."""

    completed: Items = None
    in_progress: str | None = None
    next: Items = None
    blocked: Blocked = None
    summary: str | None = None
    last_action: str | None = None
    status: str | None = None
    total: int | None = None


def create(
    workspace: Workspace, session: str, label: Label | None = None, update: ProgressUpdate | None = None
) -> SessionProgress:
    """A session of this id; if there is one already, that one as it is, with what the update says."""
    update = checked(update or ProgressUpdate())
    try:
        if workspace.repository.cached(session) is not None or workspace.repository.exists(session):
            return change(workspace, session, update, label)
    except UnknownSession:
        workspace.repository.forget(session)
    start_session(workspace, goal_in(update.summary or "") or session, id=session)
    return change(workspace, session, update, label)


def get(workspace: Workspace, session: str) -> SessionProgress:
    """How far it is, as of now; UnknownSession."""
    state = workspace.repository.state(session)
    return shown(state, label_of(workspace, state))


def change(
    workspace: Workspace, session: str, update: ProgressUpdate, label: Label | None = None
) -> SessionProgress:
    """Bring a session to where it is said to be, in one commit; UnknownSession."""
    update = checked(update)
    look = STATUSES.get(update.status or "") == "completed"
    _, state = workspace.repository.commit_made(
        session, lambda state: _commands(workspace, state, update, label or Label()), look=look
    )
    return shown(state, label_of(workspace, state))


def known_status(status: str | None) -> None:
    """UsageError if this is no word for a status."""
    if status is not None and status not in STATUSES:
        raise UsageError(f"unknown status: {status[:40]!r}", hint="one of " + ", ".join(STATUSES))


def checked(update: ProgressUpdate) -> ProgressUpdate:
    """The update with lists that can be read twice. UsageError if it is not made of texts and such lists."""
    known_status(update.status)
    for name in ("in_progress", "summary", "last_action"):
        if not isinstance(getattr(update, name), str | None):
            raise UsageError(f"{name} is not a text", hint="leave it out, or give a text")
    return msgspec.structs.replace(
        update, completed=_items("completed", update.completed), next=_items("next_items", update.next),
        blocked=_blocked(update.blocked),
    )  # fmt: skip


def _items(name: str, items: Any) -> Items:
    if items is None:
        return None
    if isinstance(items, str) or not isinstance(items, Iterable):
        raise UsageError(f"{name} is not a list of texts", hint='for example ["user model", "tests"]')
    listed = list(items)
    for item in listed:
        if not isinstance(item, str) or not item.strip():
            raise UsageError(f"{name} has an item that is not a text: {item!r}"[:200], hint="items are texts")
    return listed


def _blocked(blocked: Any) -> Blocked:
    hint = 'for example [{"item": "tests", "reason": "no database"}]'
    if blocked is None:
        return None
    if isinstance(blocked, str | Mapping) or not isinstance(blocked, Iterable):
        raise UsageError("blocked is not a list of items with reasons", hint=hint)
    listed = list(blocked)
    for one in listed:
        item = one.get("item") if isinstance(one, Mapping) else None
        reason = one.get("reason") if isinstance(one, Mapping) else ""
        if not isinstance(item, str) or not item.strip() or not isinstance(reason, str | None):
            raise UsageError(f"a blocked item has an item and a reason, both texts: {one!r}"[:200], hint=hint)
    return listed


def goal_in(summary: str) -> str:
    """The goal that a first summary tells; the recipe writes ``Starting:`` before it."""
    return summary.strip().removeprefix("Starting:").strip()


def shown(state: SessionState, label: Label) -> SessionProgress:
    """A state in those words."""
    items = state.items.flat()
    done = [items[place].text for place in state.done.flat()]
    active = [items[place].text for place in state.active]
    waits = [items[place].text for place in state.next]
    stuck = [BlockedItem(items[place].text, items[place].reason) for place in state.blocked]
    total = max(len(done) + len(active) + len(waits) + len(stuck), label.total)
    return SessionProgress(
        id=state.id, session_id=state.id, status=_word(state, label), completed_count=len(done),
        total_items=total, progress_percent=round(100.0 * len(done) / total, 2) if total else 0.0,
        completed_items=done, next_items=waits, blocked_items=stuck, updated_at=state.updated,
        in_progress_item=active[-1] if active else None, last_action=state.last_action or None,
        summary=state.summary or (state.goal if state.goal != state.id else None),
        agent_id=label.agent or None,
    )  # fmt: skip


def _word(state: SessionState, label: Label) -> str:
    if state.status != "completed" and STATUSES.get(label.status) == state.status:
        return label.status
    return "active" if state.status == "created" else state.status


def _commands(
    workspace: Workspace, state: SessionState, update: ProgressUpdate, more: Label
) -> tuple[list[Command], Mapping[str, bytes]]:
    checkpoint = _checkpoint(state, update)
    wanted = commands(checkpoint) if checkpoint != Checkpoint(stay=True, new=True) else []
    fresh = _relabel(workspace, state, update, more, wanted)
    if update.status is not None:
        wanted += _move(workspace, state, STATUSES[update.status], update.summary or "")
    return wanted, fresh


def _checkpoint(state: SessionState, update: ProgressUpdate) -> Checkpoint:
    """What brings the plan, the summary and the last action to where they are said to be."""
    done, waiting = update.completed or (), update.next or ()
    blocked: list[Any] = list(update.blocked or ())
    if not all(isinstance(one, Mapping) and one.get("item") for one in blocked):
        raise BadValue("a blocked item has no name", hint='{"item": "…", "reason": "…"}')
    stuck = {str(one["item"]): str(one.get("reason") or "") for one in blocked}
    if len(done) + len(waiting) + len(stuck) > ITEMS_MAX:
        raise UsageError(f"more than {ITEMS_MAX:,} items at once", hint="send only what is new")
    named = {*done, *stuck, *([update.in_progress] if update.in_progress else ())}
    gone: list[str] = []
    if update.blocked is not None:
        gone += [state.items[place].text for place in state.blocked]
    if update.next is not None:
        gone += [text for place in state.next if (text := state.items[place].text) not in waiting]
    if update.in_progress is not None:
        gone += [state.items[place].text for place in state.active]
    gone = [text for text in gone if text not in named]
    begins = [one for one in (update.in_progress,) if one and _status(state, one) != "active"]
    summary = update.summary if update.summary != state.summary else None
    # one that was dropped is added where it waits
    later = [text for text in waiting if text in gone or _status(state, text) in ("", "dropped")]
    if later:  # what is done and under way comes before it in the plan
        later = [text for text in (*done, *begins) if _is_new(state, text)] + later
    return Checkpoint(
        drop=tuple((text, "") for text in gone),
        add=tuple(dict.fromkeys(later)),
        done=tuple(text for text in done if _status(state, text) != "done"),
        block=tuple(stuck.items()), stay=True, new=True, begin=tuple(begins),
        summary=summary, note=update.last_action or None,
    )  # fmt: skip


def _is_new(state: SessionState, text: str) -> bool:
    """Whether no item of the plan is meant, neither by its text nor by its number."""
    return not _status(state, text) and parse_digits(text.removeprefix("#")) < 0


def _status(state: SessionState, text: str) -> str:
    place = state.items.find(key(text), lambda row: row.key or row.text)
    return state.items[place].status if place >= 0 else ""


def _move(workspace: Workspace, state: SessionState, wanted: str, summary: str) -> list[Command]:
    """What brings the lifecycle to where it is said to be."""
    now = state.status
    if wanted in ("active", "paused") and now not in OPEN:
        raise SessionOver(f"session {state.id} is {now}", hint="begin a new one, under another id")
    if wanted == "active":
        return [do.Resume()] if now in ("paused", "created") else []
    if wanted == "paused":
        return [do.Pause()] if now != "paused" else []
    if wanted == "abandoned":
        return [do.Abandon(summary)] if now != "abandoned" else []
    if now == "completed":
        return []
    if not state.features:
        return [do.Complete(summary)]
    from ...features.features import Features, unverified

    features = Features(SessionHandle(workspace, state.id))
    covered, attest = features.covered(state), features.attest_allowed
    found = gate(state, covered, attest=attest)
    if not found.ok:
        raise unverified(found)
    return [do.Complete(summary, "", covered, attest)]


_labels: OrderedDict[tuple[str, ...], Label] = OrderedDict()
"""Labels by the addresses of their pieces: those name what they hold, so it never grows old."""


def label_of(workspace: Workspace, state: SessionState) -> Label:
    """What clients say of a session beyond what is known."""
    held = state.agents.get(LABEL)
    if held is None or not held.pieces:
        return Label()
    found = _labels.get(held.pieces)
    if found is None:
        there = workspace.store.pieces(held.pieces)
        found = Label()
        with suppress(KeyError, msgspec.MsgspecError):
            value = pieces.decode(b"".join(there[address] for address in held.pieces))
            found = msgspec.convert(value, Label)
        _labels[held.pieces] = found
        if len(_labels) > _LABELS_MAX:
            with suppress(KeyError):
                _labels.popitem(last=False)
    return found


def _relabel(
    workspace: Workspace, state: SessionState, update: ProgressUpdate, more: Label, commands: list[Command]
) -> Mapping[str, bytes]:
    """Add the save of a label that is another one now; gives its pieces."""
    old = label_of(workspace, state)
    told: dict[str, Any] = {name: value for name, value in msgspec.to_builtins(more).items() if value}
    if update.total is not None:
        told["total"] = max(0, update.total)
    if _word(state, old) != update.status and STATUSES.get(update.status or "") in ("active", "abandoned"):
        told["status"] = update.status
    new = msgspec.structs.replace(old, **told) if told else old
    if new == old or state.status not in OPEN:
        return {}
    saving = pieces.save(pieces.Rope(), msgspec.to_builtins(new))
    held = state.agents.get(LABEL)
    splices, fresh = saving.splices, saving.fresh
    if held is not None and held.pieces:
        splices, fresh = pieces.resplice(held.pieces, saving.settle())
    commands.append(do.SaveAgent(LABEL, saving.size, splices))
    return fresh
