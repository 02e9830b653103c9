"""Events: declared facts, as they stand in the journal.

An event is an envelope around a body. The envelope is the same for every kind and never
changes meaning; a body is a frozen type per kind, written as canonical JSON. Bodies may gain
fields with defaults; any other change raises ``format`` and adds an upcast. A kind that this
version does not know is kept as it is and skipped by the fold: an older Segue may read, and
pass on, what a newer one wrote.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from ..base import canonical as canon
from ..base.canonical import SHORT_BYTES, short_sha256
from ..base.values import Value
from ..features.evidence import CheckRan as CheckRan
from ..features.evidence import CheckReported as CheckReported
from ..features.evidence import ChecksBegun as ChecksBegun
from ..features.evidence import CheckTrusted as CheckTrusted
from ..features.evidence import EvidenceVoided as EvidenceVoided
from ..features.evidence import FeatureAdded as FeatureAdded
from ..features.evidence import FeatureChanged as FeatureChanged
from ..features.evidence import FeatureMoved as FeatureMoved
from ..features.evidence import FeatureRemoved as FeatureRemoved
from ..features.evidence import StepAttested as StepAttested
from ..handover.events import HandoffDeclined as HandoffDeclined
from ..handover.events import HandoffOffered as HandoffOffered
from ..handover.events import HandoffTaken as HandoffTaken
from ..handover.events import HandoffWithdrawn as HandoffWithdrawn
from ..handover.events import HandoverBegun as HandoverBegun
from ..handover.events import HandoverCompleted as HandoverCompleted
from ..handover.events import HandoverExtended as HandoverExtended
from ..handover.events import HandoverScored as HandoverScored
from ..handover.events import HandoverStepBegun as HandoverStepBegun
from ..handover.events import HandoverStepDone as HandoverStepDone
from ..handover.events import HandoverStepFailed as HandoverStepFailed
from ..runs.events import BriefGiven as BriefGiven
from ..runs.events import RunHooked as RunHooked
from ..runs.events import Served as Served
from ..runs.events import StopRefused as StopRefused
from ..runs.events import TranscriptShared as TranscriptShared
from ..sessions.pending import PendingBrought as PendingBrought
from ..sessions.pending import PendingRefused as PendingRefused
from .body import Body as Body


class Event(Value, gc=False):
    """One committed event: envelope and body."""

    stream: str
    version: int
    """Its place in the stream, from 1."""
    kind: str
    at: str
    """UTC, ISO 8601 with microseconds and ``Z``: sorts as text."""
    actor: str
    """Who declared it: ``user``, or the name of an agent."""
    body: bytes
    """Canonical JSON."""
    body_hash: bytes
    prev: bytes
    """The hash of the predecessor, ``canon.GENESIS`` for the first."""
    hash: bytes
    """Its own: what the successor names as ``prev``."""
    run: str = ""
    """The run in which it was declared, if any."""
    format: int = 1
    """The version of the body's shape."""
    left: int = 0
    """How many events of the same commit follow: a tail with left > 0 is half a commit."""
    erased: bool = False
    """The body was rewritten by a scrub; its hash is that of the original."""

    def header(self) -> bytes:
        """The envelope as it is hashed and stored: a canonical JSON array, hashes as base64."""
        return _header_encoder.encode(
            (self.stream, self.version, self.kind, self.format, self.at, self.actor, self.run, self.left,
             self.body_hash, self.prev)
        )  # fmt: skip

    def intact(self) -> bool:
        """Whether the body is the one that was written."""
        return self.erased or canon.digest(self.body) == self.body_hash

    def chained(self) -> bool:
        """Whether the envelope is the one that was written."""
        return canon.digest(self.header()) == self.hash


_header_encoder = msgspec.json.Encoder()
_header_decoder = msgspec.json.Decoder(tuple[str, int, str, int, str, str, str, int, bytes, bytes])


def read_event(header: bytes, body: bytes, own: bytes, *, erased: bool) -> Event:
    """The event of a stored row; raises ``msgspec.MsgspecError`` on a header that is none."""
    stream, version, kind, form, at, actor, run, left, body_hash, prev = _header_decoder.decode(header)
    return Event(stream, version, kind, at, actor, body, body_hash, prev, own, run, form, left, erased)


class Draft(Value, gc=False):
    """An event before the store gave it its place in a stream."""

    kind: str
    body: bytes
    at: str
    actor: str
    run: str = ""
    format: int = 1


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
    """How many features were proven at that moment."""
    unproven: list[str] = []
    """Those that were not, with what is wrong: there are some only if it was forced."""
    forced: str = ""
    """The reason that was given for completing all the same."""
    changes: list[str] = []
    """What was removed or changed of features on the way."""


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
    """The version whose state this brings back."""
    patch: dict[str, Any]
    name: str = ""
    """The checkpoint's name; empty for an undo."""


class Gap(Body):
    KIND = "session.gap"
    first: int
    last: int
    """Versions of the damaged journal that could not be read."""
    reason: str = ""


class Erased(Body):
    KIND = "journal.erased"
    versions: list[int]
    bodies: list[str]
    """The hex hashes of the bodies that stand there now, in the order of ``versions``."""


class Imported(Body):
    KIND = "session.imported"
    lifecycle: dict[str, Any]
    """Status, times, reasons and active seconds, as the document has them."""
    source: str = ""
    form: list[dict[str, Any]] = []
    """Where the document is written otherwise than Segue would: see ``yamlform.differences``."""
    imported: str = ""
    """When it was imported; the envelope has the document's own time."""


# -- plan --------------------------------------------------------------------------------------


class ItemAdded(Body):
    KIND = "item.added"
    text: str


class ItemBegun(Body):
    KIND = "item.begun"
    text: str
    quiet: bool = False
    """Begun as a consequence of another action of the same commit, which stays the last one."""


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


class ChangesSeen(Body):
    KIND = "changes.seen"
    changes: list[tuple[str, str]]
    """(file, created | modified | deleted): the whole list, replacing the one before."""


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
    """0: no limit; left out: as before."""
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
    """Bytes of the whole value."""
    splices: list[tuple[int, int, list[str]]]
    """(place, how many go, hex hashes that come), applied in order to the pieces of before."""


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
    """Empty: no session is current."""


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


class SpendReserved(Body):
    KIND = "spend.reserved"
    id: str
    model: str
    purpose: str
    ceiling: float
    """Dollars that the call can cost at most."""
    session: str = ""


class SpendSettled(Body):
    KIND = "spend.settled"
    id: str
    cost: float
    """Dollars, from what the answer says that it used."""
    input: int = 0
    output: int = 0
    seconds: float = 0.0
    outcome: str = "answered"


def _kinds(base: type[Body]) -> dict[str, type[Body]]:
    return {body.KIND: body for body in base.__subclasses__()}


BODIES: dict[str, type[Body]] = _kinds(Body)
_decoders: dict[str, msgspec.json.Decoder[Any]] = {}

UPCASTS: dict[tuple[str, int], Callable[[Any], Any]] = {}
"""(kind, format) to a function that lifts a decoded body of that format by one."""


def read_body(event: Event) -> Body | None:
    """The typed body, or None for a kind, a format or a shape that this version does not know."""
    body_type = BODIES.get(event.kind)
    if body_type is None or event.format > body_type.FORMAT:
        return None
    try:
        if event.format < body_type.FORMAT:
            return _upcast(event, body_type)
        decoder = _decoders.get(event.kind)
        if decoder is None:
            decoder = _decoders[event.kind] = msgspec.json.Decoder(body_type)
        body: Body = decoder.decode(event.body)
        return body
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


def _upcast(event: Event, body_type: type[Body]) -> Body | None:
    raw = canon.decode(event.body)
    for older in range(event.format, body_type.FORMAT):
        lift = UPCASTS.get((event.kind, older))
        if lift is None:
            return None
        raw = lift(raw)
    body: Body = msgspec.convert(raw, body_type)
    return body


def draft(body: Body, *, at: str, actor: str, run: str = "") -> Draft:
    """A body with its envelope, ready for a store."""
    return Draft(kind=body.KIND, body=canon.encode(body), at=at, actor=actor, run=run, format=body.FORMAT)


def seal(stream: str, after: int, prev: bytes, drafts: Sequence[Draft]) -> list[Event]:
    """The events that these drafts become behind version ``after`` of a stream."""
    return [event for event, _ in seal_rows(stream, after, prev, drafts)]


def seal_rows(stream: str, after: int, prev: bytes, drafts: Sequence[Draft]) -> list[tuple[Event, bytes]]:
    """``seal``, with each event's header: what a store writes."""
    rows: list[tuple[Event, bytes]] = []
    for place, draft in enumerate(drafts, 1):
        row = seal_row(stream, after + place, prev, draft, len(drafts) - place)
        rows.append(row)
        prev = row[0].hash
    return rows


def seal_row(stream: str, version: int, prev: bytes, d: Draft, left: int = 0) -> tuple[Event, bytes]:
    """The event that a draft becomes at its place, and its header."""
    kind, body, at, actor, run, form = d.kind, d.body, d.at, d.actor, d.run, d.format
    body_hash = short_sha256(body).digest() if len(body) < SHORT_BYTES else canon.digest(body)
    header = _header_encoder.encode((stream, version, kind, form, at, actor, run, left, body_hash, prev))
    own = short_sha256(header).digest()
    return Event(stream, version, kind, at, actor, body, body_hash, prev, own, run, form, left), header
