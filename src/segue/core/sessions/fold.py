"""The fold of events into the state of a session.

``fold`` is pure and total: it returns a state for every state and every event, even if the event's kind is
unknown or it refers to rows that are gone. The new state shares what did not change with the old one.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable
from math import isfinite
from typing import Any

from msgspec.structs import replace

from ..base.persistent_list import Rows
from ..base.values import Value
from ..journal.event import Body, Event, Gap, read_body
from . import events as ev
from .feature_fold import HANDLERS as _FEATURE_HANDLERS
from .state import (
    IDLE_SECONDS,
    LIFE_FIELDS,
    AgentState,
    Decision,
    Finding,
    Focus,
    Handing,
    Item,
    Mark,
    NoteUse,
    Question,
    SessionState,
    Thread,
    Trouble,
    find_question,
    find_trouble,
    key,
    key_of,
)


class EnvelopeFacts(Value, gc=False):
    """The fields of an envelope that the fold uses."""

    version: int
    at: str
    actor: str


Changes = dict[str, Any]
_Handler = Callable[[SessionState, Any, EnvelopeFacts], Changes]


def fold(state: SessionState, event: Event) -> SessionState:
    """The state after an event."""
    return fold_body(state, read_body(event), version=event.version, at=event.at, actor=event.actor)


def fold_body(state: SessionState, body: Body | None, *, version: int, at: str, actor: str) -> SessionState:
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
            if gap <= IDLE_SECONDS:
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


def _without(indexes: tuple[int, ...], index: int) -> tuple[int, ...]:
    at = bisect_left(indexes, index)
    return (*indexes[:at], *indexes[at + 1 :]) if at < len(indexes) and indexes[at] == index else indexes


def _with(indexes: tuple[int, ...], index: int) -> tuple[int, ...]:
    if not indexes or indexes[-1] < index:
        return (*indexes, index)
    longer = list(indexes)
    insort(longer, index)
    return tuple(longer)


def _move(state: SessionState, text: str, status: str, at: str, reason: str = "") -> Changes:
    item_key = key(text)
    index = state.items.find(item_key, key_of)
    if index < 0:
        index, was = len(state.items), ""
        own_key = "" if item_key == text else item_key
        items = state.items.append_keyed(item_key, Item(text, status, at, reason, own_key), key_of)
    else:
        old = state.items[index]
        was = old.status
        items = state.items.replace(index, Item(old.text, status, at, reason, old.key))
    changes: Changes = {"items": items}
    if was == status:
        return changes
    if was in ("next", "active", "blocked"):
        changes[was] = _without(getattr(state, was), index)
    elif was == "done":
        changes["done"] = Rows(i for i in state.done if i != index)
    if status in ("next", "active", "blocked"):
        changes[status] = _with(getattr(state, status), index)
    elif status == "done":
        changes["done"] = state.done.append(index)
    return changes


def _created(state: SessionState, body: ev.Created, event: EnvelopeFacts) -> Changes:
    return {
        "id": body.id, "goal": body.goal, "organization": body.organization, "project": body.project,
        "project_name": body.project_name, "type": body.type, "status": "created", "created": event.at,
    }  # fmt: skip


def _imported(state: SessionState, body: ev.Imported, event: EnvelopeFacts) -> Changes:
    names = (*LIFE_FIELDS, "created", "active_seconds")
    return {k: v for k, v in _known(state, body.lifecycle).items() if k in names}


def _described(state: SessionState, body: ev.Described, event: EnvelopeFacts) -> Changes:
    changes: Changes = {}
    if body.goal is not None:
        changes["goal"] = body.goal
    if body.summary is not None:
        changes["summary"] = body.summary
    return changes


def _completed(state: SessionState, body: ev.Completed, event: EnvelopeFacts) -> Changes:
    changes: Changes = {"status": "completed", "ended": event.at}
    if body.summary:
        changes["summary"] = body.summary
    return changes


def _begun(state: SessionState, body: ev.ItemBegun, event: EnvelopeFacts) -> Changes:
    changes = _move(state, body.text, "active", event.at)
    if not body.quiet:
        changes["last_action"] = body.text
    return changes


def _done(state: SessionState, body: ev.ItemDone, event: EnvelopeFacts) -> Changes:
    changes = _move(state, body.text, "done", event.at)
    changes["last_action"] = body.text
    return changes


def _decided(state: SessionState, body: ev.Decided, event: EnvelopeFacts) -> Changes:
    metrics = state.metrics
    return {
        "decisions": state.decisions.append(Decision(body.text, body.why, event.at, event.actor)),
        "metrics": replace(metrics, decisions_made=metrics.decisions_made + 1),
    }


def _asked(state: SessionState, body: ev.Asked, event: EnvelopeFacts) -> Changes:
    metrics = state.metrics
    question_key = key(body.text)
    question = Question(body.text, event.at, key="" if question_key == body.text else question_key)
    return {
        "questions": state.questions.append_keyed(question_key, question, key_of),
        "metrics": replace(metrics, questions_asked=metrics.questions_asked + 1),
    }


def _answered(state: SessionState, body: ev.Answered, event: EnvelopeFacts) -> Changes:
    index = find_question(state, body.text)
    if index < 0:
        question_key = key(body.text)
        row = Question(
            body.text, event.at, body.answer, event.at, "" if question_key == body.text else question_key
        )
        return {"questions": state.questions.append_keyed(question_key, row, key_of)}
    old = state.questions[index]
    row = Question(old.text, old.at, body.answer, event.at, old.key)
    return {"questions": state.questions.replace(index, row)}


def _pending_refused(state: SessionState, body: ev.PendingRefused, event: EnvelopeFacts) -> Changes:
    return _error_seen(state, ev.ErrorSeen(f"not kept: {body.what} ({body.reason})"), event)


def _error_seen(state: SessionState, body: ev.ErrorSeen, event: EnvelopeFacts) -> Changes:
    index = find_trouble(state, body.text)
    if index >= 0:
        old = state.troubles[index]
        return {"troubles": state.troubles.replace(index, Trouble(old.text, event.at, key=old.key))}
    error_key = key(body.text)
    row = Trouble(body.text, event.at, key="" if error_key == body.text else error_key)
    return {"troubles": state.troubles.append_keyed(error_key, row, key_of)}


def _error_solved(state: SessionState, body: ev.ErrorSolved, event: EnvelopeFacts) -> Changes:
    index = find_trouble(state, body.text)
    if index < 0:
        error_key = key(body.text)
        row = Trouble(
            body.text, event.at, body.solution, event.at, "" if error_key == body.text else error_key
        )
        return {"troubles": state.troubles.append_keyed(error_key, row, key_of)}
    old = state.troubles[index]
    row = Trouble(old.text, old.at, body.solution, event.at, old.key)
    return {"troubles": state.troubles.replace(index, row)}


def _thread(state: SessionState, body: ev.ThreadMoved, event: EnvelopeFacts) -> Changes:
    old = state.threads.get(body.topic)
    notes = tuple(dict.fromkeys((*(old.notes if old else ()), *body.notes)))
    thread = Thread(body.topic, body.status, event.at, notes)
    return {"threads": {**state.threads, body.topic: thread}}


def _notes_loaded(state: SessionState, body: ev.NotesLoaded, event: EnvelopeFacts) -> Changes:
    notes = dict(state.notes)
    for note in body.ids:
        old = notes.get(note, NoteUse())
        notes[note] = NoteUse(old.count + 1, event.at, body.paths.get(note, old.path))
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


def _context(state: SessionState, body: ev.ContextNoted, event: EnvelopeFacts) -> Changes:
    return {"context": replace(state.context, **_known(state.context, body.values))}


def _counted(state: SessionState, body: ev.Counted, event: EnvelopeFacts) -> Changes:
    totals: dict[str, Any] = {}
    for name, increment in body.counts.items():
        if name in state.metrics.__struct_fields__ and isfinite(increment):
            old = getattr(state.metrics, name)
            total = round(old + increment, 9) if isinstance(old, float) else old + int(increment)
            if _fits(total):
                totals[name] = total
    return {"metrics": replace(state.metrics, **totals)}


def _budget_set(state: SessionState, body: ev.BudgetSet, event: EnvelopeFacts) -> Changes:
    values = {name: getattr(body, name) for name in body.__struct_fields__}
    return {"budget": replace(state.budget, **{k: v for k, v in values.items() if v is not None})}


def _budget_spent(state: SessionState, body: ev.BudgetSpent, event: EnvelopeFacts) -> Changes:
    changes = _counted(state, ev.Counted({"estimated_cost": body.cost}), event)
    total = state.budget.tokens_used + body.tokens
    if _fits(total):
        changes["budget"] = replace(state.budget, tokens_used=total)
    return changes


def _agent_noted(state: SessionState, body: ev.AgentNoted, event: EnvelopeFacts) -> Changes:
    old = state.agents.get(body.agent, AgentState())
    values = {k: v for k, v in _known(old, body.values).items() if k not in ("pieces", "size", "saved_at")}
    return {"agents": {**state.agents, body.agent: replace(old, **values)}}


def _agent_saved(state: SessionState, body: ev.AgentSaved, event: EnvelopeFacts) -> Changes:
    old = state.agents.get(body.agent, AgentState())
    pieces = list(old.pieces)
    for index, removed, added in body.splices:
        pieces[index : index + removed] = added
    new = replace(old, pieces=tuple(pieces), size=body.size, saved_at=event.at)
    return {"agents": {**state.agents, body.agent: new}}


def _agent_dropped(state: SessionState, body: ev.AgentDropped, event: EnvelopeFacts) -> Changes:
    return {"agents": {name: agent for name, agent in state.agents.items() if name != body.agent}}


def _marked(state: SessionState, body: ev.Marked, event: EnvelopeFacts) -> Changes:
    return {"marks": {**state.marks, body.name: Mark(event.version, event.at, body.note)}}


def _handed(state: SessionState, body: ev.Handed, event: EnvelopeFacts) -> Changes:
    action = f"handed to {body.to}" + (f": {body.note}" if body.note else "")
    return {"handed": (*state.handed, Handing(body.to, body.note, event.at)), "last_action": action}


def _rewound(state: SessionState, body: ev.Rewound, event: EnvelopeFacts) -> Changes:
    from .rewind import apply

    changes = apply(state, body.patch)
    return changes | _indexes(changes.get("items", state.items), changes.get("done", state.done))


def _indexes(items: Rows[Item], done: Rows[int]) -> Changes:
    """The fields of indexes, rebuilt from the items: a patch may be applied to another state than its own."""
    by_status: dict[str, list[int]] = {"next": [], "active": [], "blocked": [], "done": []}
    for index, item in enumerate(items):
        by_status.setdefault(item.status, []).append(index)
    finished = set(by_status["done"])
    in_order = dict.fromkeys([*(i for i in done if i in finished), *by_status["done"]])
    return {"done": Rows(in_order)} | {k: tuple(by_status[k]) for k in ("next", "active", "blocked")}


def _gap(state: SessionState, body: Gap, event: EnvelopeFacts) -> Changes:
    return {"gaps": (*state.gaps, (body.first, body.last))}


def _focus(state: SessionState, body: ev.FocusSet, event: EnvelopeFacts) -> Changes:
    return {"focus": Focus(body.note_id, body.note_title, body.file, body.position)}


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
    Gap: _gap,
    ev.ItemAdded: lambda s, b, e: _move(s, b.text, "next", e.at),
    ev.ItemBegun: _begun,
    ev.ItemDone: _done,
    ev.ItemBlocked: lambda s, b, e: _move(s, b.text, "blocked", e.at, b.reason),
    ev.ItemUnblocked: lambda s, b, e: _move(s, b.text, "next", e.at),
    ev.ItemDropped: lambda s, b, e: _move(s, b.text, "dropped", e.at, b.reason),
    ev.Noted: lambda s, b, e: {"last_action": b.text},
    ev.Decided: _decided,
    ev.Asked: _asked,
    ev.Answered: _answered,
    ev.Learnt: lambda s, b, e: {"findings": s.findings.append(Finding(b.text, e.at, e.actor))},
    ev.ErrorSeen: _error_seen,
    ev.ErrorSolved: _error_solved,
    ev.PendingRefused: _pending_refused,
    ev.ThreadMoved: _thread,
    ev.FocusSet: _focus,
    ev.NotesLoaded: _notes_loaded,
    ev.ChangesSeen: lambda s, b, e: {"changes": tuple(b.changes)},
    ev.ContextNoted: _context,
    ev.Counted: _counted,
    ev.BudgetSet: _budget_set,
    ev.BudgetSpent: _budget_spent,
    ev.AgentNoted: _agent_noted,
    ev.AgentSaved: _agent_saved,
    ev.AgentDropped: _agent_dropped,
    ev.Marked: _marked,
    **_FEATURE_HANDLERS,
}  # fmt: skip
