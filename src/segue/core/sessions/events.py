"""The bodies of events about sessions, working trees, holds and pending commands."""

from __future__ import annotations

from typing import Any

from ..journal.event import Body

# -- lifecycle ---------------------------------------------------------------------------------


class Created(Body):
    KIND = "session.created"
    id: str
    goal: str
    organization: str
    project: str
    type: str
    project_name: str = ""


class Started(Body):
    KIND = "session.started"


class SessionPaused(Body):
    KIND = "session.paused"
    reason: str = ""
    cause: str = "user"
    """user, budget, timeout, error, system or unknown."""


class Resumed(Body):
    KIND = "session.resumed"


class Completed(Body):
    KIND = "session.completed"
    summary: str = ""
    proven: int = 0
    """How many features were proven at that time."""
    unproven: list[str] = []
    """Those that were not, with the problem of each. There are some only if completion was forced."""
    forced: str = ""
    """The reason for completing the session all the same."""
    changes: list[str] = []
    """What was removed or changed in features during the session."""


class Abandoned(Body):
    KIND = "session.abandoned"
    reason: str = ""


class Described(Body):
    KIND = "session.described"
    goal: str | None = None
    summary: str | None = None


class Handed(Body):
    KIND = "session.handed"
    to: str
    note: str = ""


class Rewound(Body):
    KIND = "session.rewound"
    to: int
    """The version whose state is restored."""
    patch: dict[str, Any]
    name: str = ""
    """The checkpoint's name; empty for an undo."""


class Imported(Body):
    KIND = "session.imported"
    lifecycle: dict[str, Any]
    """Status, times, reasons and active seconds from the document."""
    source: str = ""
    form: list[dict[str, Any]] = []
    """How the document differs from what Segue would write: see ``session_yaml.differences``."""
    imported: str = ""
    """The time of the import; the envelope has the document's own time."""


# -- plan --------------------------------------------------------------------------------------


class ItemAdded(Body):
    KIND = "item.added"
    text: str


class ItemBegun(Body):
    KIND = "item.begun"
    text: str
    quiet: bool = False
    """Whether another action of the same commit caused it, which then remains the last action."""


class ItemDone(Body):
    KIND = "item.done"
    text: str


class ItemBlocked(Body):
    KIND = "item.blocked"
    text: str
    reason: str = ""


class ItemUnblocked(Body):
    KIND = "item.unblocked"
    text: str


class ItemDropped(Body):
    KIND = "item.dropped"
    text: str
    reason: str = ""


# -- what is known -----------------------------------------------------------------------------


class Noted(Body):
    KIND = "note.taken"
    text: str


class Decided(Body):
    KIND = "decision.made"
    text: str
    why: str = ""


class Asked(Body):
    KIND = "question.asked"
    text: str


class Answered(Body):
    KIND = "question.answered"
    text: str
    answer: str


class Learnt(Body):
    KIND = "finding.learnt"
    text: str


class ErrorSeen(Body):
    KIND = "error.seen"
    text: str


class ErrorSolved(Body):
    KIND = "error.solved"
    text: str
    solution: str


class ThreadMoved(Body):
    KIND = "thread.moved"
    topic: str
    status: str = "in_progress"
    notes: list[str] = []


class FocusSet(Body):
    KIND = "focus.set"
    note_id: str = ""
    note_title: str = ""
    file: str = ""
    position: str = ""


class NotesLoaded(Body):
    KIND = "notes.loaded"
    ids: list[str]
    tokens: int = 0
    paths: dict[str, str] = {}
    used: bool = True
    """False if a restoration chose them by itself, which does not make them used more often."""


class ChangesSeen(Body):
    KIND = "changes.seen"
    changes: list[tuple[str, str]]
    """Pairs of a file and created, modified or deleted. The list replaces the one before."""


class ContextNoted(Body):
    KIND = "context.noted"
    values: dict[str, Any]
    """Fields of ``Context`` to set."""


class Counted(Body):
    KIND = "metrics.counted"
    counts: dict[str, float]


class BudgetSet(Body):
    KIND = "budget.set"
    limit_cost: float | None = None
    limit_tokens: int | None = None
    """For both limits, 0 means no limit and None means unchanged."""
    limited: bool | None = None


class BudgetSpent(Body):
    KIND = "budget.spent"
    cost: float = 0.0
    tokens: int = 0


# -- agents ------------------------------------------------------------------------------------


class AgentNoted(Body):
    KIND = "agent.noted"
    agent: str
    values: dict[str, Any]
    """Fields of ``AgentState`` to set: mode, pid, active and so on."""


class AgentSaved(Body):
    KIND = "agent.saved"
    agent: str
    size: int
    """The size of the whole value in bytes."""
    splices: list[tuple[int, int, list[str]]]
    """Index, number of pieces to remove there, and hex hashes to insert; applied in order."""


class AgentDropped(Body):
    KIND = "agent.dropped"
    agent: str


class Marked(Body):
    KIND = "checkpoint.named"
    name: str
    note: str = ""


# -- other streams -----------------------------------------------------------------------------


class TreeBound(Body):
    KIND = "tree.bound"
    path: str
    project: str
    root_commit: str = ""


class TreeCurrent(Body):
    KIND = "tree.current"
    session: str
    """Empty if no session is current any more."""


class Trusted(Body):
    KIND = "project.trusted"
    file: str
    hash: str


class HoldTaken(Body):
    KIND = "hold.taken"
    holder: str
    run: str
    host: str
    pid: int
    pid_start: str
    fence: int
    until: str
    share: bool = False


class HoldRenewed(Body):
    KIND = "hold.renewed"
    run: str
    until: str


class HoldReleased(Body):
    KIND = "hold.released"
    run: str


class ArchiveWritten(Body):
    KIND = "archive.written"
    id: str
    """The session that is archived."""
    goal: str
    events: int
    size: int
    """The size of the whole archive in bytes."""
    hash: str
    """The SHA-256 of the whole archive."""
    pieces: list[str] = []
    """The addresses of the next pieces of it. The archive is whole when all of them have its size."""


class ArchiveRestored(Body):
    KIND = "archive.restored"
    id: str
    """The session that was brought back."""


# -- commands that waited for a server ------------------------------------------------------------


class PendingRefused(Body):
    KIND = "pending.refused"
    what: str
    """The command that was given while the store could not be reached, in words."""
    reason: str
    declared: str = ""
    """When it was given."""


class PendingBrought(Body):
    KIND = "pending.brought"
    id: str
    """The id of the record that was kept while the store could not be reached."""
    session: str
    declared: str = ""
    refused: str = ""
    """Why it was refused; empty if it was saved."""
