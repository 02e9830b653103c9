"""The fold of events into the state of a session.

``fold`` is pure and total: it returns a state for every state and every event, even if the event's kind is
unknown or it refers to rows that are gone. The new state shares what did not change with the old one.
"""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite
from typing import Any, TypeVar

from msgspec.structs import replace

from ..base.persistent_list import Rows
from ..base.persistent_places import Places
from ..base.values import Value
from ..journal.event import Body, Event, Gap, read_body
from ..ledger.events import EntryCorrected, LedgerJoined, SaidKept
from ..ledger.fold import take_corrected, take_joined, take_kept
from ..ledger.model import Ledger
from . import events as ev, state as st
from .feature_fold import HANDLERS as _FEATURE_HANDLERS


class EnvelopeFacts(Value, gc=False):
    """The fields of an envelope that the fold uses."""

    version: int
    at: str
    actor: str


Changes = dict[str, Any]
_R = TypeVar("_R", st.Question, st.Trouble)
_Handler = Callable[[st.SessionState, Any, EnvelopeFacts], Changes]


def fold(state: st.SessionState, event: Event) -> st.SessionState:
    """The state after an event."""
    return fold_body(state, read_body(event), version=event.version, at=event.at, actor=event.actor)


def fold_body(
    state: st.SessionState, body: Body | None, *, version: int, at: str, actor: str
) -> st.SessionState:
    """``fold`` for a body that is already decoded. None stands for an unknown kind."""
    if body is None:
        changes: Changes = {"unknown": state.unknown + 1}
    else:
        handler = _HANDLERS.get(type(body))
        changes = handler(state, body, EnvelopeFacts(version, at, actor)) if handler else {}
    updated = state.updated
    if at > updated:
        changes["updated"] = at
        if state.status == "active" and at[:19] != updated[:19]:
            gap = _seconds(updated, at)
            if gap <= st.IDLE_SECONDS:
                changes["active_seconds"] = state.active_seconds + gap
    return replace(state, version=version, **changes)


def _seconds(earlier: str, later: str) -> float:
    """The seconds between two times, from times cut to whole seconds so that sums do not lose fractions."""
    try:
        if earlier[:17] == later[:17]:  # within a minute: no calendar needed
            return float(int(later[17:19]) - int(earlier[17:19]))
        from datetime import datetime

        return (datetime.fromisoformat(later[:19]) - datetime.fromisoformat(earlier[:19])).total_seconds()
    except (ValueError, TypeError):
        return 0.0


def _move(state: st.SessionState, text: str, status: str, at: str, reason: str = "") -> Changes:
    item_key = st.key(text)
    index = state.items.find(item_key, st.key_of)
    if index < 0:
        index, was = len(state.items), ""
        own_key = "" if item_key == text else item_key
        items = state.items.append_keyed(item_key, st.Item(text, status, at, reason, own_key), st.key_of)
    else:
        old = state.items[index]
        was = old.status
        items = state.items.replace(index, st.Item(old.text, status, at, reason, old.key))
    changes: Changes = {"items": items}
    if was == status:
        return changes
    if was in ("next", "active", "blocked"):
        changes[was] = getattr(state, was).removed(index)
    elif was == "done":
        changes["done"] = Rows(i for i in state.done if i != index)
    if status in ("next", "active", "blocked"):
        changes[status] = getattr(state, status).added(index)
    elif status == "done":
        changes["done"] = state.done.append(index)
    return changes


def _created(state: st.SessionState, body: ev.Created, event: EnvelopeFacts) -> Changes:
    return {
        "id": body.id, "goal": body.goal, "organization": body.organization, "project": body.project,
        "project_name": body.project_name, "type": body.type, "status": "created", "created": event.at,
    }  # fmt: skip


def _imported(state: st.SessionState, body: ev.Imported, event: EnvelopeFacts) -> Changes:
    names = (*st.LIFE_FIELDS, "created", "active_seconds")
    return {k: v for k, v in _known(state, body.lifecycle).items() if k in names}


def _described(state: st.SessionState, body: ev.Described, event: EnvelopeFacts) -> Changes:
    return {name: text for name in ("goal", "summary") if (text := getattr(body, name)) is not None}


def _completed(state: st.SessionState, body: ev.Completed, event: EnvelopeFacts) -> Changes:
    changes: Changes = {"status": "completed", "ended": event.at}
    if body.summary:
        changes["summary"] = body.summary
    return changes


def _begun(state: st.SessionState, body: ev.ItemBegun, event: EnvelopeFacts) -> Changes:
    changes = _move(state, body.text, "active", event.at)
    return changes if body.quiet else changes | {"last_action": body.text}


def _decided(state: st.SessionState, body: ev.Decided, event: EnvelopeFacts) -> Changes:
    metrics = state.metrics
    return {
        "decisions": state.decisions.append(st.Decision(body.text, body.why, event.at, event.actor)),
        "metrics": replace(metrics, decisions_made=metrics.decisions_made + 1),
    }


def _asked(state: st.SessionState, body: ev.Asked, event: EnvelopeFacts) -> Changes:
    metrics = state.metrics
    return {
        "questions": _appended(state.questions, st.Question(body.text, event.at)),
        "metrics": replace(metrics, questions_asked=metrics.questions_asked + 1),
    }


def _appended(rows: Rows[_R], row: _R) -> Rows[_R]:
    """The rows with one more, which gets its key."""
    row_key = st.key(row.text)
    return rows.append_keyed(row_key, row if row_key == row.text else replace(row, key=row_key), st.key_of)


def _answered(state: st.SessionState, body: ev.Answered, event: EnvelopeFacts) -> Changes:
    index = st.find_question(state, body.text)
    if index < 0:
        row = st.Question(body.text, event.at, body.answer, event.at)
        return {"questions": _appended(state.questions, row)}
    row = replace(state.questions[index], answer=body.answer, answered_at=event.at)
    return {"questions": state.questions.replace(index, row)}


def _error_seen(state: st.SessionState, body: ev.ErrorSeen, event: EnvelopeFacts) -> Changes:
    index = st.find_trouble(state, body.text)
    if index < 0:
        return {"troubles": _appended(state.troubles, st.Trouble(body.text, event.at))}
    old = state.troubles[index]
    return {"troubles": state.troubles.replace(index, st.Trouble(old.text, event.at, key=old.key))}


def _error_solved(state: st.SessionState, body: ev.ErrorSolved, event: EnvelopeFacts) -> Changes:
    index = st.find_trouble(state, body.text)
    if index < 0:
        row = st.Trouble(body.text, event.at, body.solution, event.at)
        return {"troubles": _appended(state.troubles, row)}
    row = replace(state.troubles[index], solution=body.solution, solved_at=event.at)
    return {"troubles": state.troubles.replace(index, row)}


def _thread(state: st.SessionState, body: ev.ThreadMoved, event: EnvelopeFacts) -> Changes:
    old = state.threads.get(body.topic)
    notes = tuple(dict.fromkeys((*(old.notes if old else ()), *body.notes)))
    thread = st.Thread(body.topic, body.status, event.at, notes)
    return {"threads": {**state.threads, body.topic: thread}}


def _notes_loaded(state: st.SessionState, body: ev.NotesLoaded, event: EnvelopeFacts) -> Changes:
    notes = dict(state.notes)
    for note in body.ids:
        old = notes.get(note, st.NoteUse())
        notes[note] = st.NoteUse(old.count + body.used, event.at, body.paths.get(note, old.path))
    context = state.context
    tokens = context.total_tokens_loaded + body.tokens
    if not _fits(tokens):
        return {"notes": notes}
    return {"notes": notes, "context": replace(context, total_tokens_loaded=tokens)}


def _fits(value: Any) -> bool:
    """Whether a value can be stored: numbers must be finite, and integers must fit into 64 bits."""
    if isinstance(value, float):
        return isfinite(value)
    return not isinstance(value, int) or -(2**63) <= value < 2**63


def _known(part: Any, values: dict[str, Any]) -> dict[str, Any]:
    """The values that belong to a field of this part and have the field's type."""
    known: dict[str, Any] = {}
    for name, value in values.items():
        if name in part.__struct_fields__:
            old = getattr(part, name)
            types = (int, float) if isinstance(old, float) else type(old)
            has_type = isinstance(value, types) and isinstance(value, bool) == isinstance(old, bool)
            if has_type and _fits(value):
                known[name] = value
    return known


def _counted(state: st.SessionState, body: ev.Counted, event: EnvelopeFacts) -> Changes:
    totals: dict[str, Any] = {}
    for name, increment in body.counts.items():
        if name in state.metrics.__struct_fields__ and isfinite(increment):
            old = getattr(state.metrics, name)
            total = round(old + increment, 9) if isinstance(old, float) else old + int(increment)
            if _fits(total):
                totals[name] = total
    return {"metrics": replace(state.metrics, **totals)}


def _budget_set(state: st.SessionState, body: ev.BudgetSet, event: EnvelopeFacts) -> Changes:
    values = {name: getattr(body, name) for name in body.__struct_fields__}
    return {"budget": replace(state.budget, **{k: v for k, v in values.items() if v is not None})}


def _budget_spent(state: st.SessionState, body: ev.BudgetSpent, event: EnvelopeFacts) -> Changes:
    changes = _counted(state, ev.Counted({"estimated_cost": body.cost}), event)
    total = state.budget.tokens_used + body.tokens
    if _fits(total):
        changes["budget"] = replace(state.budget, tokens_used=total)
    return changes


def _agent_noted(state: st.SessionState, body: ev.AgentNoted, event: EnvelopeFacts) -> Changes:
    old = state.agents.get(body.agent, st.AgentState())
    values = {k: v for k, v in _known(old, body.values).items() if k not in ("pieces", "size", "saved_at")}
    return {"agents": {**state.agents, body.agent: replace(old, **values)}}


def _agent_saved(state: st.SessionState, body: ev.AgentSaved, event: EnvelopeFacts) -> Changes:
    old = state.agents.get(body.agent, st.AgentState())
    pieces = list(old.pieces)
    for index, removed, added in body.splices:
        pieces[index : index + removed] = added
    new = replace(old, pieces=tuple(pieces), size=body.size, saved_at=event.at)
    return {"agents": {**state.agents, body.agent: new}}


def _handed(state: st.SessionState, body: ev.Handed, event: EnvelopeFacts) -> Changes:
    handing = st.Handing(body.to, body.note, event.at)
    return {"handed": (*state.handed, handing), "last_action": st.handing_words(handing)}


def _ledger(ledger: Ledger) -> Changes:
    return {"said": ledger.entries, "heard": ledger.heard}


def _rewound(state: st.SessionState, body: ev.Rewound, event: EnvelopeFacts) -> Changes:
    from .rewind import apply

    changes = apply(state, body.patch)
    return changes | _indexes(changes.get("items", state.items), changes.get("done", state.done))


def _indexes(items: Rows[st.Item], done: Rows[int]) -> Changes:
    """The fields of indexes, rebuilt from the items: a patch may be applied to another state than its own."""
    by_status: dict[str, list[int]] = {"next": [], "active": [], "blocked": [], "done": []}
    for index, item in enumerate(items):
        by_status.setdefault(item.status, []).append(index)
    finished = set(by_status["done"])
    in_order = dict.fromkeys([*(i for i in done if i in finished), *by_status["done"]])
    return {"done": Rows(in_order)} | {k: Places(by_status[k]) for k in ("next", "active", "blocked")}


_HANDLERS: dict[type[Body], _Handler] = {
    ev.Created: _created,
    ev.Started: lambda s, b, e: {"status": "active", "started": e.at},
    ev.SessionPaused: lambda s, b, e: {
        "status": "paused", "paused": e.at, "pause_reason": b.reason, "pause_cause": b.cause,
    },
    ev.Resumed: lambda s, b, e: {
        "status": "active", "resumed": e.at, "paused": "", "pause_reason": "", "pause_cause": "",
    },
    ev.Completed: _completed,
    ev.Abandoned: lambda s, b, e: {"status": "abandoned", "ended": e.at, "end_reason": b.reason},
    ev.Imported: _imported,
    ev.Described: _described,
    ev.Handed: _handed,
    ev.Rewound: _rewound,
    Gap: lambda s, b, e: {"gaps": (*s.gaps, (b.first, b.last))},
    ev.ItemAdded: lambda s, b, e: _move(s, b.text, "next", e.at),
    ev.ItemBegun: _begun,
    ev.ItemDone: lambda s, b, e: _move(s, b.text, "done", e.at) | {"last_action": b.text},
    ev.ItemBlocked: lambda s, b, e: _move(s, b.text, "blocked", e.at, b.reason),
    ev.ItemUnblocked: lambda s, b, e: _move(s, b.text, "next", e.at),
    ev.ItemDropped: lambda s, b, e: _move(s, b.text, "dropped", e.at, b.reason),
    ev.Noted: lambda s, b, e: {"last_action": b.text},
    ev.Decided: _decided,
    ev.Asked: _asked,
    ev.Answered: _answered,
    ev.Learnt: lambda s, b, e: {"findings": s.findings.append(st.Finding(b.text, e.at, e.actor))},
    ev.ErrorSeen: _error_seen,
    ev.ErrorSolved: _error_solved,
    ev.PendingRefused: lambda s, b, e: _error_seen(s, ev.ErrorSeen(f"not kept: {b.what} ({b.reason})"), e),
    ev.ThreadMoved: _thread,
    ev.FocusSet: lambda s, b, e: {"focus": st.Focus(b.note_id, b.note_title, b.file, b.position)},
    ev.NotesLoaded: _notes_loaded,
    ev.ChangesSeen: lambda s, b, e: {"changes": tuple(b.changes)},
    ev.ContextNoted: lambda s, b, e: {"context": replace(s.context, **_known(s.context, b.values))},
    ev.Counted: _counted,
    ev.BudgetSet: _budget_set,
    ev.BudgetSpent: _budget_spent,
    ev.AgentNoted: _agent_noted,
    ev.AgentSaved: _agent_saved,
    ev.AgentDropped: lambda s, b, e: {"agents": {k: v for k, v in s.agents.items() if k != b.agent}},
    ev.Marked: lambda s, b, e: {"marks": {**s.marks, b.name: st.Mark(e.version, e.at, b.note)}},
    SaidKept: lambda s, b, e: _ledger(take_kept(s.ledger, b, e.at)),
    EntryCorrected: lambda s, b, e: _ledger(take_corrected(s.ledger, b, e.at)),
    LedgerJoined: lambda s, b, e: _ledger(take_joined(s.ledger, b)),
    **_FEATURE_HANDLERS,
}  # fmt: skip
