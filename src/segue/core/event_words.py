"""How an event is shown: as a line of text for people, and as a JSON object for programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from . import event_kinds as ev
from .base import canonical
from .base.text import one_line
from .base.values import count
from .features.model import DEFINED
from .ledger.model import KINDS
from .sessions.state import OBSERVER, SUPERVISOR, action_words, observed_agent


def _with(text: str, detail: str, separator: str = ": ") -> str:
    return f"{text}{separator}{detail}" if detail else text


def _focus(body: ev.FocusSet) -> str:
    where = body.file or body.note_title or body.note_id
    return _with(f"focus on {where}", body.position, ":") if where else "focus cleared"


def _described(body: ev.Described) -> str:
    parts = [f"{name}: {text}" for name, text in (("goal", body.goal), ("summary", body.summary)) if text]
    return "; ".join(parts) or "goal or summary cleared"


def _pairs(values: dict[str, Any]) -> str:
    parts = [f"{name}={value}" for name, value in sorted(values.items()) if value not in ("", 0, False)]
    return ", ".join(parts) or "nothing set"


def _gap(body: ev.Gap) -> str:
    which = f"version {body.first}" if body.first == body.last else f"versions {body.first}-{body.last}"
    return _with(f"{which} could not be recovered", body.reason)


def _completed(body: ev.Completed) -> str:
    text = _with("completed", body.summary)
    if body.forced:
        return f"{text} (forced, {len(body.unproven)} not proven: {body.forced})"
    return f"{text} ({body.proven} proven)" if body.proven else text


def _feature_changed(body: ev.FeatureChanged) -> str:
    what = ", ".join(name for name in DEFINED if getattr(body, name) is not None)
    return _with(f"feature {body.id}: {what} changed", body.reason, ", because: ")


def _ran(body: ev.CheckRan) -> str:
    ended = f"exit {body.exit_code}" if body.exit_code is not None else f"signal {body.signal}"
    outcome = body.fault or ("timed out" if body.timed_out else ended)
    return f"feature {body.feature}: ran {body.command}: {outcome} in {body.duration_seconds:.1f} s"


def _said(body: ev.SaidKept) -> str:
    if not body.run and len(body.entries) == 1 and not body.entries[0].run:
        return f"{body.entries[0].kind} added to the ledger: {body.entries[0].text}"
    parts = [f"{_kinds(entry.kind for entry in body.entries)} kept"] if body.entries else []
    settled = sum(change.state not in ("", "open", "active") for change in body.changes)
    opened = sum(change.state in ("open", "active") for change in body.changes)
    parts += [f"{settled} settled"] if settled else []
    parts += [f"{opened} opened"] if opened else []
    rest = len(body.changes) - settled - opened
    parts += [f"{rest} more known of"] if rest else []
    return _with("said", ", ".join(parts))


def _kinds(kinds: Iterable[str]) -> str:
    """How many entries there are of each kind."""
    numbers = Counter(kinds)
    named = [
        count(numbers[kind], kind, "failing" if kind == "failing" else "") for kind in KINDS if numbers[kind]
    ]
    return ", ".join(named)


def _corrected(body: ev.EntryCorrected) -> str:
    change = body.change
    text = f"ledger: {change.id}"
    if change.state:
        text = _with(f"{text} is {change.state}", change.why, ", because: ")
    return f"{text} now reads: {change.text}" if change.text else text


def _joined(body: ev.LedgerJoined) -> str:
    where = f"session {body.session} was joined into this one" if body.session else "the ledger was read"
    return _with(where, _kinds(entry.kind for entry in body.entries))


WORDS: dict[type[ev.Body], Callable[[Any], str]] = {
    ev.Created: lambda b: f"session started: {b.goal}",
    ev.Started: lambda b: "started",
    ev.SessionPaused: lambda b: _with("paused", b.reason) + ("" if b.cause == "user" else f" ({b.cause})"),
    ev.Resumed: lambda b: "resumed",
    ev.Completed: _completed,
    ev.Abandoned: lambda b: _with("abandoned", b.reason),
    ev.Described: _described,
    ev.Handed: lambda b: _with(f"handed to {b.to}", b.note),
    ev.Rewound: lambda b: f"back to checkpoint {b.name}" if b.name else f"undone, back to version {b.to}",
    ev.Gap: _gap,
    ev.Imported: lambda b: _with("imported", b.source, " from "),
    ev.Erased: lambda b: f"text erased from {count(len(b.versions), 'event')}",
    ev.ItemAdded: lambda b: f"planned: {b.text}",
    ev.ItemBegun: lambda b: f"begun: {b.text}",
    ev.ItemDone: lambda b: f"done: {b.text}",
    ev.ItemBlocked: lambda b: _with(f"blocked: {b.text}", b.reason, ", because: "),
    ev.ItemUnblocked: lambda b: f"unblocked: {b.text}",
    ev.ItemDropped: lambda b: _with(f"dropped: {b.text}", b.reason, ", because: "),
    ev.Noted: lambda b: action_words(b.text) if observed_agent(b.text) else f"note: {b.text}",
    ev.Decided: lambda b: _with(f"decided: {b.text}", b.why, ", because: "),
    ev.Asked: lambda b: f"asked: {b.text}",
    ev.Answered: lambda b: f"answered: {b.text}: {b.answer}",
    ev.Learnt: lambda b: f"learnt: {b.text}",
    ev.ErrorSeen: lambda b: f"error: {b.text}",
    ev.PendingRefused: lambda b: _with(f"not saved: {b.what}: {b.reason}", b.declared, ", declared "),
    ev.ErrorSolved: lambda b: f"solved: {b.text}: {b.solution}",
    ev.ThreadMoved: lambda b: f"thread {b.topic}: {b.status}",
    ev.FocusSet: _focus,
    ev.NotesLoaded: lambda b: f"notes loaded: {', '.join(b.ids)}",
    ev.ChangesSeen: lambda b: f"uncommitted changes: {len(b.changes)}",
    ev.ContextNoted: lambda b: f"context: {_pairs(b.values)}",
    ev.Counted: lambda b: f"counted: {_pairs(b.counts)}",
    ev.BudgetSet: lambda b: (
        f"budget: {_pairs({k: v for k in b.__struct_fields__ if (v := getattr(b, k)) is not None})}"
    ),
    ev.BudgetSpent: lambda b: f"spent: {b.cost:g} USD, {b.tokens:,} tokens",
    ev.AgentNoted: lambda b: f"agent {b.agent}: {_pairs(b.values)}",
    ev.AgentSaved: lambda b: f"agent {b.agent}: state saved, {b.size:,} bytes",
    ev.AgentDropped: lambda b: f"agent {b.agent}: forgotten",
    ev.Marked: lambda b: _with(f"checkpoint {b.name}", b.note),
    ev.SaidKept: _said,
    ev.EntryCorrected: _corrected,
    ev.LedgerJoined: _joined,
    ev.FeatureAdded: lambda b: _with(f"feature {b.id}: {b.description}", b.source, ", from "),
    ev.FeatureChanged: _feature_changed,
    ev.FeatureRemoved: lambda b: _with(f"feature {b.id}: removed", b.reason, ", because: "),
    ev.FeatureMoved: lambda b: _with(_with(f"feature {b.id}: {b.status}", b.reason), b.claim, ", "),
    ev.StepAttested: lambda b: f"feature {b.feature}: {b.who} attests {b.step}: {b.note}",
    ev.ChecksBegun: lambda b: f"feature {b.feature}: {count(len(b.checks), 'check')} started",
    ev.CheckRan: _ran,
    ev.CheckReported: lambda b: f"feature {b.feature}: {b.source} says {b.passed} passed, {b.failed} failed",
    ev.TranscriptShared: lambda b: f"transcript of {b.agent} {b.native} shared, {b.size:,} bytes",
    ev.ArchiveWritten: lambda b: f"session {b.id} archived, {count(b.events, 'event')} in {b.size:,} bytes",
    ev.ArchiveRestored: lambda b: f"session {b.id} brought back from the archive",
    ev.GraphBegun: lambda b: f"thread {b.thread}: {'checkpoints begin' if b.generation else 'deleted'}",
    ev.NamespaceAdded: lambda b: f"checkpoints of {b.namespace or 'the graph'} begin",
    ev.CheckpointPut: lambda b: f"checkpoint {b.id} of a graph",
    ev.WritesPut: lambda b: f"writes after checkpoint {b.id} of a graph",
    ev.EvidenceVoided: lambda b: f"evidence of {b.feature or 'all features'} no longer counts: {b.reason}",
}


def is_bookkeeping(event: ev.Event) -> bool:
    """Whether an event only says what Segue counted or kept for itself."""
    body = ev.read_body(event)
    if isinstance(body, ev.AgentSaved):
        return body.agent == SUPERVISOR
    return isinstance(body, ev.Counted) and event.actor == OBSERVER


def event_words(event: ev.Event) -> str:
    """What happened, on one line."""
    body = ev.read_body(event)
    describe = WORDS.get(type(body)) if body is not None else None
    if describe is not None:
        text = one_line(describe(body))
    else:
        text = f"{one_line(event.kind)} (unknown to this version of Segue)"
    return f"{text} [partly erased]" if event.erased else text


def event_object(event: ev.Event) -> dict[str, Any]:
    """The envelope and the body as stored, for JSON output. An unreadable body is ``None``."""
    try:
        body = canonical.decode(event.body)
    except (ValueError, UnicodeDecodeError):
        body = None
    return {
        "version": event.version, "kind": event.kind, "at": event.at, "actor": event.actor, "run": event.run,
        "format": event.format, "left": event.left, "erased": event.erased,
        "known": ev.read_body(event) is not None, "words": event_words(event), "body": body,
        "hash": event.hash.hex(), "prev": event.prev.hex(),
    }  # fmt: skip
