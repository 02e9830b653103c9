"""Conversion between a session and the nested values of the session YAML format.

``document`` makes a document from a state; ``events_of`` makes the events of a session from a document.
Importing a document and exporting it again changes nothing: wherever it is written differently from what
``document`` would write (a null for an empty text, another notation of a time, unknown keys), the difference
is stored in the ``session.imported`` event, and an export uses it as long as the value is still the same.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import msgspec
from msgspec.structs import asdict

from ...errors import BadImport
from ..base import canonical
from ..base.lazy import regex
from ..base.text import slug
from ..base.values import Value, count
from ..journal.event import Body
from ..ledger.events import LedgerJoined
from ..ledger.model import Entry, HeardUpTo
from . import events as ev
from .fold import fold_body
from .state import TYPES, AgentState, Context, Metrics, SessionState, key
from .status import hints_of, threads_newest_first

VERSION = "1.0"
_CONTEXT = {
    "essential": ("org_index_hash", "project_index_hash", "decisions_loaded", "playbooks_loaded"),
    "recent": (
        "notes_created_count", "notes_updated_count", "conversations_count", "commits_count", "cutoff_date",
    ),
    "expanded": ("total_tokens_loaded",),
    "cache": ("search_cache_size", "embedding_cache_size"),
}  # fmt: skip
_AGENT = ("active", "mode", "pid", "working_memory_path", "suggestions_pending", "last_run", "last_topic")
_TIMES = ("created", "started", "paused", "resumed", "ended")
_CHANGES = ("created", "modified", "deleted")
_COMMIT, _CONTINUE, _BEGIN = "Commit uncommitted changes", "Continue: ", "Begin: "

_NUMBER_MAX = 1e300
_ID = regex(r"[0-9a-zA-Z]{4,64}")

Document = dict[str, Any]


# -- a state as a document ---------------------------------------------------------------------


def document(state: SessionState) -> Document:
    """The document for a state. It has every key, with null where nothing is known; only the ledger is left
    out where nothing was said."""
    life = {name: getattr(state, name) or None for name in _TIMES[:3]}
    life["pause_reason"] = state.pause_reason or None
    life |= {name: getattr(state, name) or None for name in _TIMES[3:]}
    return {
        "session": {
            "id": state.id,
            "version": VERSION,
            "organization": state.organization,
            "project": state.project or None,
            "type": state.type,
            "lifecycle": {**life, "duration_active_minutes": _minutes(state)},
            "context": _context(state),
            "working_state": _working_state(state),
            "agents": {name: _agent(state.agents[name]) for name in sorted(state.agents)},
            "metrics": asdict(state.metrics),
            "resumption": _resumption(state),
            **({"ledger": _ledger(state)} if state.said or state.heard else {}),
        }
    }


def _ledger(state: SessionState) -> Document:
    return {
        "entries": [msgspec.to_builtins(entry) for entry in state.said],
        "heard": {run: msgspec.to_builtins(state.heard[run]) for run in sorted(state.heard)},
    }


def _minutes(state: SessionState) -> int | float:
    minutes = round(state.active_seconds / 60, 6)
    return int(minutes) if minutes == int(minutes) else minutes


def _context(state: SessionState) -> Document:
    parts: Document = {
        part: {name: _or_null(getattr(state.context, name)) for name in names}
        for part, names in _CONTEXT.items()
    }
    parts["expanded"] = {"loaded_note_ids": sorted(state.notes), **parts["expanded"]}
    return parts


def _working_state(state: SessionState) -> Document:
    focus = state.focus
    return {
        "current_focus": {
            "note_id": focus.note_id or focus.file or None,
            "note_title": focus.note_title or None,
            "position": focus.position or None,
        },
        "open_threads": [
            {
                "topic": t.topic,
                "status": t.status,
                "last_activity": t.last_activity or None,
                "notes": [*t.notes],
            }
            for t in threads_newest_first(state)
        ],
        "uncommitted_changes": [{"file": file, "type": kind} for file, kind in state.changes],
    }


def _agent(agent: AgentState) -> Document:
    entry = {name: _or_null(getattr(agent, name)) for name in _AGENT}
    return {**entry, "pid": agent.pid or None}


def _resumption(state: SessionState) -> Document:
    hints = hints_of(state)
    return {
        "recommended_context": hints.recommended_notes,
        "open_questions": hints.open_questions,
        "next_actions": hints.next_actions,
    }


def _or_null(value: Any) -> Any:
    return None if value == "" else value


def left_out(state: SessionState) -> list[str]:
    """What of a session its document cannot express, in words: what an import of it would not bring back."""
    again = SessionState()
    try:
        bodies = events_of(document(state), imported=state.updated)
    except BadImport:
        return ["what an import needs"]
    for number, dated in enumerate(bodies, 1):
        again = fold_body(again, dated.body, version=number, at=dated.at, actor="")
    lost = ["the goal"] if again.goal != state.goal else []
    lost += ["the summary"] if again.summary != state.summary else []
    for name, one, several in _LISTS:
        known = {_identity(row) for row in getattr(again, name)}
        missing = sum(_identity(row) not in known for row in getattr(state, name))
        lost += [count(missing, one, several)] if missing else []
    saved = sum(bool(agent.pieces) for agent in state.agents.values())
    lost += [count(saved, "saved state of an agent", "saved states of agents")] if saved else []
    lost += [count(len(state.features), "feature")] if state.features else []
    lost += [count(len(state.marks), "checkpoint")] if state.marks else []
    lost += ["the budget"] if again.budget != state.budget else []
    lost += ["the handoffs"] if state.handed else []
    lost += ["the ledger"] if again.ledger != state.ledger else []
    return lost


_LISTS = (
    ("items", "item", "items"), ("decisions", "decision", "decisions"), ("questions", "answer", "answers"),
    ("findings", "finding", "findings"), ("troubles", "error", "errors"),
)  # fmt: skip


def _identity(row: Any) -> tuple[str, ...]:
    """What makes two rows of a list the same: their texts and states, not their times."""
    return tuple(getattr(row, name, "") for name in ("text", "status", "why", "answer", "solution"))


# -- differences in notation -------------------------------------------------------------------


def differences(ours: Document, theirs: Document) -> list[Document]:
    """Where an imported document differs from ours: a list of ``{at, was, said}``.

    ``at`` is the path, ``was`` our value and ``said`` theirs; a value that is absent is left out. Lists are
    compared as a whole, because their elements have no lasting names.
    """
    found: list[Document] = []
    for name in dict.fromkeys((*ours, *theirs)):
        was, said = ours.get(name), theirs.get(name)
        if isinstance(was, dict) and isinstance(said, dict):
            found += [{**inner, "at": [name, *inner["at"]]} for inner in differences(was, said)]
        elif name not in ours or name not in theirs or canonical.encode(was) != canonical.encode(said):
            difference: Document = {"at": [name]}
            found.append(difference)
            if name in ours:
                difference["was"] = was
            if name in theirs:
                difference["said"] = said
    return found


def written_as(ours: Document, form: list[Document]) -> Document:
    """Our document in the notation of an imported one, wherever our value is still the same as then."""
    result = _copied(ours)
    for difference in form:
        *path, name = difference["at"]
        part: Any = result
        for step in path:
            part = part.get(step) if isinstance(part, dict) else None
        if not isinstance(part, dict) or (name in part) != ("was" in difference):
            continue
        if "was" in difference and canonical.encode(part[name]) != canonical.encode(difference["was"]):
            continue
        if "said" in difference:
            part[name] = difference["said"]
        else:
            del part[name]
    return result


def _copied(part: Document) -> Document:
    return {name: _copied(value) if isinstance(value, dict) else value for name, value in part.items()}


# -- a document as events ----------------------------------------------------------------------


class DatedBody(Value):
    """An event body with its time according to the document."""

    at: str
    body: Body


class _Part:
    """A mapping in a document. Its values are read by name; raises BadImport if one has the wrong type."""

    def __init__(self, path: str, value: Any) -> None:
        self.path = path
        if value is not None and not isinstance(value, dict):
            raise _wrong(path, "a mapping")
        self.values: Document = value or {}

    def part(self, name: str) -> _Part:
        return _Part(self._at(name), self.values.get(name))

    def parts(self, name: str) -> list[_Part]:
        return [_Part(f"{self._at(name)}[{i}]", value) for i, value in enumerate(self._list(name))]

    def texts(self, name: str) -> list[str]:
        return [_text(f"{self._at(name)}[{i}]", value) for i, value in enumerate(self._list(name))]

    def _list(self, name: str) -> list[Any]:
        value = self.values.get(name)
        if value is not None and not isinstance(value, list):
            raise _wrong(self._at(name), "a list")
        return value or []

    def text(self, name: str) -> str:
        value = self.values.get(name)
        return "" if value is None else _text(self._at(name), value)

    def integer(self, name: str) -> int:
        value = self.values.get(name)
        if value is None:
            return 0
        if type(value) is not int:
            raise _wrong(self._at(name), "an integer")
        return value

    def number(self, name: str) -> float:
        value = self.values.get(name)
        if value is not None and (type(value) not in (int, float) or not abs(value) <= _NUMBER_MAX):
            raise _wrong(self._at(name), "a number")
        return float(value or 0)

    def flag(self, name: str) -> bool:
        value = self.values.get(name)
        if value is not None and type(value) is not bool:
            raise _wrong(self._at(name), "true or false")
        return bool(value)

    def time(self, name: str) -> str:
        """The time as events carry it. A time without a zone is taken as UTC."""
        text = self.text(name)
        if not text:
            return ""
        try:
            moment = datetime.fromisoformat(text)
            moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
        except (ValueError, OverflowError):
            raise _wrong(self._at(name), "a time such as 2026-01-15T10:30:00Z") from None
        return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")

    def of(self, part: type[Context] | type[Metrics] | type[AgentState], name: str) -> Any:
        """The value of a field, which must have the type that it has in this part of the state."""
        reader: dict[str, Callable[[str], Any]] = {
            "str": self.text, "int": self.integer, "float": self.number, "bool": self.flag,
        }  # fmt: skip
        value = reader[type(getattr(part(), name)).__name__](name)
        if isinstance(value, int | float) and value < 0:
            raise _wrong(self._at(name), "0 or more")
        return value

    def _at(self, name: str) -> str:
        return f"{self.path}.{name}" if self.path else name


def _text(path: str, value: Any) -> str:
    if type(value) not in (str, int, float):
        raise _wrong(path, "a text")
    return str(value)


def _wrong(path: str, wanted: str) -> BadImport:
    return BadImport(
        f"{path or 'the document'} must be {wanted}",
        hint="the session YAML format is described in docs/formats.md",
    )


def events_of(root: Document, *, imported: str) -> list[DatedBody]:
    """The events that make the session of a document. Raises BadImport if the document is malformed."""
    session = _Part("", root).part("session")
    _check(session)
    life = session.part("lifecycle")
    times = {name: life.time(name) for name in _TIMES}
    threads = [
        (part.time("last_activity"), part) for part in session.part("working_state").parts("open_threads")
    ]
    latest = max([*times.values(), *(at for at, _ in threads)]) or imported
    first = times["created"] or times["started"] or latest
    bodies = [DatedBody(first, _created(session))]
    bodies += _working_facts(session, latest)
    for at, part in threads:
        moved = ev.ThreadMoved(part.text("topic"), part.text("status"), part.texts("notes"))
        bodies.append(DatedBody(at or latest, moved))
    bodies += [DatedBody(latest, body) for body in (*_implied(session), *_said(session))]
    counts = session.part("metrics")
    sums = {name: counts.of(Metrics, name) for name in Metrics.__struct_fields__}
    sums["questions_asked"] -= sum(isinstance(dated.body, ev.Asked) for dated in bodies)
    if any(sums.values()):
        bodies.append(DatedBody(latest, ev.Counted({n: float(value) for n, value in sums.items() if value})))
    return [*bodies, DatedBody(latest, ev.Imported(_lifecycle(life, times), "yaml", [], imported))]


def _check(session: _Part) -> None:
    missing = [name for name in ("id", "organization", "type") if not session.text(name)]
    missing += ["lifecycle"] if not session.part("lifecycle").values else []
    if missing:
        raise BadImport(
            f"the document is not a session: {', '.join(missing)} missing",
            hint="a session needs id, organization, type and lifecycle",
        )
    if session.text("version") not in ("", VERSION):
        raise BadImport(
            f"session.version is {session.text('version')}; this Segue supports {VERSION}",
            hint="upgrade Segue",
        )
    kind = session.text("type")
    if kind not in TYPES:
        near = difflib.get_close_matches(kind, TYPES, n=1)
        hint = f"did you mean {near[0]}?" if near else "use one of " + ", ".join(TYPES)
        raise BadImport(f"unknown session type: {kind}", hint=hint)


def _created(session: _Part) -> ev.Created:
    state = session.part("working_state")
    topics = [part.text("topic") for part in state.parts("open_threads")]
    goal = next((t for t in (state.part("current_focus").text("note_title"), *topics) if t.strip()), "")
    project = session.text("project")
    return ev.Created(
        session.text("id"), goal or session.text("id"), session.text("organization"), project,
        session.text("type"), slug(project.rstrip("/").rpartition("/")[2]) if project else "",
    )  # fmt: skip


def _lifecycle(life: _Part, times: dict[str, str]) -> dict[str, Any]:
    words = (("ended", "completed"), ("paused", "paused"), ("started", "active"))
    status = next((word for name, word in words if times[name]), "created")
    values: dict[str, Any] = {
        "status": status,
        **times,
        "pause_reason": life.text("pause_reason"),
        "active_seconds": round(life.number("duration_active_minutes") * 60, 6),
    }
    return {name: value for name, value in values.items() if value}


def _working_facts(session: _Part, at: str) -> list[DatedBody]:
    """Notes, context, focus, changes and agents."""
    context, state = session.part("context"), session.part("working_state")
    facts: list[Body] = []
    loaded = context.part("expanded").texts("loaded_note_ids")
    best = [note for note in session.part("resumption").texts("recommended_context") if note in loaded]
    if loaded:  # recommended notes are loaded twice, so that they stay the most used
        facts.append(ev.NotesLoaded([*dict.fromkeys(loaded), *best]))
    values = {
        name: context.part(part).of(Context, name) for part, names in _CONTEXT.items() for name in names
    }
    if any(values.values()):
        facts.append(ev.ContextNoted({name: value for name, value in values.items() if value}))
    focus = state.part("current_focus")
    note, title, position = (focus.text(name) for name in ("note_id", "note_title", "position"))
    if note or title or position:
        facts.append(ev.FocusSet(note, title, "", position))
    changes = [(part.text("file"), _kind_of(part)) for part in state.parts("uncommitted_changes")]
    if changes:
        facts.append(ev.ChangesSeen(changes))
    agents = session.part("agents")
    for name in agents.values:
        agent = agents.part(name)
        facts.append(ev.AgentNoted(name, {field: agent.of(AgentState, field) for field in _AGENT}))
    return [DatedBody(at, body) for body in facts]


def _kind_of(change: _Part) -> str:
    kind = change.text("type")
    if kind not in _CHANGES:
        raise _wrong(f"{change.path}.type", "one of " + ", ".join(_CHANGES))
    return kind


def _implied(session: _Part) -> list[Body]:
    """The questions and items that follow from the resumption hints alone."""
    hints, state = session.part("resumption"), session.part("working_state")
    bodies: list[Body] = [
        ev.Asked(text) for same, text in {key(q): q for q in hints.texts("open_questions")}.items() if same
    ]
    threads = {
        part.text("topic") for part in state.parts("open_threads") if part.text("status") == "in_progress"
    }
    for action in hints.texts("next_actions"):
        if action == _COMMIT and state.parts("uncommitted_changes"):
            continue
        text = action.removeprefix(_CONTINUE)
        if text != action and text.strip():
            bodies += [] if text in threads else [ev.ItemBegun(text, quiet=True)]
        elif action.removeprefix(_BEGIN).strip():
            bodies.append(ev.ItemAdded(action.removeprefix(_BEGIN)))
    return bodies


def _said(session: _Part) -> list[Body]:
    """The ledger, as one event."""
    ledger = session.part("ledger")
    if not ledger.values:
        return []
    try:
        entries = msgspec.convert(ledger.values.get("entries") or [], list[Entry])
        heard = msgspec.convert(ledger.values.get("heard") or {}, dict[str, HeardUpTo])
    except msgspec.ValidationError as fault:
        raise _wrong(ledger.path, f"as an export writes it ({fault})") from None
    if not all(_ID.fullmatch(entry.id) for entry in entries):
        raise _wrong(f"{ledger.path}.entries", "entries whose ids are letters and digits")
    return [LedgerJoined(entries=entries, heard=heard)] if entries or heard else []
