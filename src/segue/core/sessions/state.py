"""``SessionState`` and its parts: everything that is known about a session at a version.

Lists that may grow long are ``Rows``, so that a state shares what did not change with the state before it.
Nothing derived is stored: percentages, summaries and hints come from ``status.py``.
"""

from __future__ import annotations

from typing import Any

from ..base.lazy import regex
from ..base.persistent_list import Rows
from ..base.persistent_places import Places
from ..base.values import Part, Value
from ..features.model import Feature, FeatureChange
from ..ledger.model import Entry, HeardUpTo, Ledger

TYPES = ("coding", "focus", "strategic", "research", "meeting-prep", "review")
OPEN = ("created", "active", "paused")
OBSERVER = "segue"
"""The actor of events that nobody declared: Segue found a run and began a session for it."""
OBSERVED = "observed:"
"""How the note begins with which Segue begins a session for a run that had none."""
_OBSERVED_NOTE = regex(r"observed: (?:the first prompt of (\S+) run .*|(\S+) began with this request)")
"""That note, also in the form that versions before wrote."""
SUPERVISOR = "supervisor"
"""The agent as which `segue run` keeps its own state in a session."""
IDLE_SECONDS = 1800
"""A longer pause between two events does not count as active time."""


class _Row(Value, array_like=True, gc=False):
    """A row of a list that may grow long. It is stored as an array, without field names."""


class Item(_Row):
    """A unit of planned work."""

    text: str
    status: str
    """next, active, done, blocked or dropped."""
    at: str = ""
    """When it got this status."""
    reason: str = ""
    key: str = ""
    """``key(text)`` if it differs from the text, else empty; the same holds for the classes below."""


class Decision(_Row):
    """A choice, and why it was made."""

    text: str
    why: str = ""
    at: str = ""
    actor: str = ""


class Question(_Row):
    """A question. It is open while it has no answer."""

    text: str
    at: str = ""
    answer: str = ""
    answered_at: str = ""
    key: str = ""


class Finding(_Row):
    """Something that was learnt."""

    text: str
    at: str = ""
    actor: str = ""


class Trouble(_Row):
    """An error that occurred. It is open while it has no solution."""

    text: str
    at: str = ""
    solution: str = ""
    solved_at: str = ""
    key: str = ""


class Thread(Part):
    """A line of thought that is followed over time."""

    topic: str
    status: str = "in_progress"
    last_activity: str = ""
    notes: tuple[str, ...] = ()


class Focus(Part):
    """What is being worked on: a note or a file, and a position in it."""

    note_id: str = ""
    note_title: str = ""
    file: str = ""
    position: str = ""


class NoteUse(Part):
    """How often a note was asked for, and when it was last loaded."""

    count: int = 0
    last: str = ""
    path: str = ""


class AgentState(Part):
    """The state of a named agent: facts about the agent, and the pieces of the value that it saved."""

    active: bool = False
    mode: str = ""
    pid: int = 0
    pid_start: str = ""
    host: str = ""
    """The host of the process."""
    working_memory_path: str = ""
    suggestions_pending: int = 0
    last_run: str = ""
    last_topic: str = ""
    saved_at: str = ""
    size: int = 0
    """In bytes."""
    pieces: tuple[str, ...] = ()


class Context(Part):
    """How much context was loaded from the organization, the project and recent work."""

    org_index_hash: str = ""
    project_index_hash: str = ""
    decisions_loaded: int = 0
    playbooks_loaded: int = 0
    notes_created_count: int = 0
    notes_updated_count: int = 0
    conversations_count: int = 0
    commits_count: int = 0
    cutoff_date: str = ""
    total_tokens_loaded: int = 0
    search_cache_size: int = 0
    embedding_cache_size: int = 0


class Metrics(Part):
    """Counters of a session."""

    notes_created: int = 0
    notes_updated: int = 0
    decisions_made: int = 0
    questions_asked: int = 0
    searches_performed: int = 0
    suggestions_accepted: int = 0
    estimated_cost: float = 0.0


class Budget(Part):
    """What a session may spend. What it has cost so far is in the metrics."""

    limit_cost: float = 0.0
    """In US dollars; 0 means no limit."""
    limit_tokens: int = 0
    tokens_used: int = 0
    limited: bool = False
    """Whether the session continues, sparingly, although a limit is reached."""


class Mark(Part):
    """A named checkpoint, and the version whose state it refers to."""

    version: int
    at: str
    note: str = ""


class Handing(Part):
    """A handoff of the session to an agent."""

    to: str
    note: str = ""
    at: str = ""


def handing_words(handing: Handing) -> str:
    """A handoff in words."""
    return f"handed to {handing.to}" + (f": {handing.note}" if handing.note else "")


class SessionState(Value, omit_defaults=True):
    """Everything that is known about a session at a version."""

    version: int = 0
    id: str = ""
    goal: str = ""
    summary: str = ""
    """As declared; if it is empty, ``status.summary_of`` derives one."""
    organization: str = ""
    project: str = ""
    project_name: str = ""
    type: str = ""
    status: str = ""
    """created, active, paused, completed or abandoned."""
    created: str = ""
    started: str = ""
    paused: str = ""
    pause_reason: str = ""
    pause_cause: str = ""
    resumed: str = ""
    ended: str = ""
    end_reason: str = ""
    updated: str = ""
    active_seconds: float = 0.0
    items: Rows[Item] = Rows()
    """In the order of the plan. The four fields below contain indexes into it."""
    next: Places = Places()
    active: Places = Places()
    blocked: Places = Places()
    done: Rows[int] = Rows()
    """In the order in which the items were finished."""
    decisions: Rows[Decision] = Rows()
    questions: Rows[Question] = Rows()
    findings: Rows[Finding] = Rows()
    troubles: Rows[Trouble] = Rows()
    threads: dict[str, Thread] = {}
    focus: Focus = Focus()
    notes: dict[str, NoteUse] = {}
    changes: tuple[tuple[str, str], ...] = ()
    last_action: str = ""
    agents: dict[str, AgentState] = {}
    context: Context = Context()
    metrics: Metrics = Metrics()
    budget: Budget = Budget()
    marks: dict[str, Mark] = {}
    handed: tuple[Handing, ...] = ()
    gaps: tuple[tuple[int, int], ...] = ()
    """Ranges of versions that a recovery could not restore."""
    features: dict[str, Feature] = {}
    """Not among WORK_FIELDS, because no rewind and no undo may bring a proof back."""
    feature_changes: tuple[FeatureChange, ...] = ()
    said: Rows[Entry] = Rows()
    """The ledger: what was said and holds. Not among WORK_FIELDS: going back does not make it unsaid."""
    heard: dict[str, HeardUpTo] = {}
    """How far the sayings of each run are in the ledger."""
    unknown: int = 0
    """How many events have a kind that this version of Segue does not know."""

    @property
    def ledger(self) -> Ledger:
        """What was said, and how far each run was heard."""
        return Ledger(self.said, self.heard)


WORK_FIELDS = (
    "goal", "summary", "items", "next", "active", "blocked", "done", "decisions", "questions", "findings",
    "troubles", "threads", "focus", "notes", "changes", "last_action", "agents", "context", "handed",
)  # fmt: skip
LIFE_FIELDS = ("status", "started", "paused", "pause_reason", "pause_cause", "resumed", "ended", "end_reason")
SET_FIELDS = ("budget", "marks")
"""Fields that an undo reverts but a rewind does not: going back to one checkpoint keeps the others."""


def key(text: str) -> str:
    """The identity of an item, a question or an error: its text, regardless of case and whitespace."""
    return " ".join(text.split()).casefold()


def key_of(row: Any) -> str:
    """The key of an item, a question or an error."""
    return row.key or row.text  # type: ignore[no-any-return]


def find_item(state: SessionState, text: str) -> int:
    """The index of an item in the plan, or -1."""
    return state.items.find(key(text), key_of)


def find_question(state: SessionState, text: str) -> int:
    """The index of a question, or -1."""
    return state.questions.find(key(text), key_of)


def find_trouble(state: SessionState, text: str) -> int:
    """The index of an error, or -1."""
    return state.troubles.find(key(text), key_of)


def observed_note(agent: str) -> str:
    """The note that begins the session of an agent's run."""
    return f"{OBSERVED} {agent} began with this request"


def observed_agent(note: str) -> str:
    """The agent that such a note names; empty for any other text."""
    found = _OBSERVED_NOTE.fullmatch(note)
    return (found[1] or found[2]) if found else ""


def action_words(note: str) -> str:
    """A note as people read it."""
    agent = observed_agent(note)
    return f"{agent} began with this request" if agent else note
