"""The types of what commands print with ``--json``, where that is more than one type of the rest.

No command loads this: a command names its shape as text, and ``make docs`` writes docs/reference/json from
it. A test runs every command and fails if it prints a field that its shape has not, or leaves one out.
"""

from __future__ import annotations

from typing import Any, Literal, get_args

import msgspec

from ...core.base.values import Value
from ...core.brief.facts import Claim
from ...core.brief.manifest import Manifest as Manifest
from ...core.features.model import Feature
from ...core.features.verdict import Verdict
from ...core.handover.events import Offer
from ...core.memories.curation import Junk as Junk, Pair as Pair
from ...core.memories.model import Memory, MemoryAudit
from ...core.models.plan_proposal import PlanDraft
from ...core.models.spending import Caps, Price
from ...core.resume.changes import Delta
from ...core.resume.restoration import Restoration
from ...core.runs import steps
from ...core.server.access import AuditLine as AuditLine
from ...core.sessions.budget import Standing
from ...core.sessions.holds import Holder
from ...core.sessions.state import (
    AgentState as AgentState,
    Context,
    Handing,
    Mark,
    NoteUse,
    Question,
    Trouble,
)
from ...core.sessions.status import Card as Card, SessionStatus
from ...core.stats.report import StatsReport as StatsReport
from ...core.usage.report import UsageReport as UsageReport
from ...handover.compaction import CompactionReport as CompactionReport
from ...handover.scoring import ScoredHandover
from ...services.brief.delivered import DeliveredBrief as DeliveredBrief
from ...services.brief.explain import ExplainedLine
from ...services.brief.overview import Overview as Overview
from ...services.codemap.ask import MapAnswer as MapAnswer
from ...services.features.features import Audit, FeatureList as FeatureList
from ...services.features.import_export import ImportedFeatures as ImportedFeatures
from ...services.features.verify import Verified
from ...services.habits.report import HabitsReport as HabitsReport
from ...services.handoff.notebook import Notebook as Notebook
from ...services.hooks.install import Refusal
from ...services.ledger.join_sessions import SessionJoin as SessionJoin, SplitWork as SplitWork
from ...services.ledger.ledger_service import CorrectedLedger as CorrectedLedger, ShownEntry as ShownEntry
from ...services.memories.curation import Pruned
from ...services.memories.service import Remembered
from ...services.models.ask import ModelReply, RequestPreview as RequestPreview
from ...services.models.ledger import SpendingReport as SpendingReport
from ...services.resume.interruptions import Interruption as Interruption
from ...services.resume.working_state import Working
from ...services.runs.run import Run as Run
from ...services.search.search import SearchResult as SearchResult
from ...services.server.keys import NewKey as NewKey
from ...services.server.quotas import QuotaUse as QuotaUse
from ...services.sessions.repository import Saved
from ...services.supervision.supervisor import Notice as Notice, RunFinished
from ...services.upkeep.archive_places import Archived as Archived
from ...services.upkeep.doctor.finding import Diagnosis as Diagnosis
from ...services.upkeep.migrate import Migrated as Migrated
from ...services.upkeep.rebuild import Rebuilt as Rebuilt
from ...services.upkeep.scrub import Scrubbed as Scrubbed
from ...services.workspace.backups import Backup as Backup


class NoJson(Value):
    """It prints no JSON of its own."""


# -- sessions ----------------------------------------------------------------------------------


class StartedSession(Saved, kw_only=True):
    """A session that was begun, or that existed already."""

    status: str
    left_active: str
    """The session that was current before, if it stays active."""


class CompletedSession(Saved, kw_only=True):
    """What was left open, and whether the features were proven."""

    left_open: list[str]
    proven: bool
    unproven: list[UnprovenFeature]
    changes: list[str]


class UnprovenFeature(Value):
    """A feature that is not proven, and why."""

    id: str
    status: str
    reason: str


class UndoneCommand(Saved, kw_only=True):
    """What was undone, and what stays of the same command, in words."""

    undone: list[str]
    stays: list[str]


class ShownDelta(Delta, kw_only=True):
    """What changed since the work was left."""

    unchanged: bool = msgspec.field(name="nothing")


class ResumedSession(Saved, kw_only=True):
    """A session that was resumed, with what its next run needs to know."""

    status: str
    brief: str
    since: ShownDelta | None
    restoration: Restoration | None
    timeout: Interruption | None
    working: Working | None


class SwitchedSession(Saved, kw_only=True):
    """A session that was switched to from another one."""

    status: str
    paused: str
    since: ShownDelta | None
    restoration: Restoration | None
    working: Working | None
    before: str = msgspec.field(name="from")
    to: str


class BudgetStanding(Standing, kw_only=True):
    """What a session has spent, and its limits."""

    session: str
    share_spent: float = msgspec.field(name="share")
    """The fraction spent of the limit that will be reached first; 0 without limits."""


class NamedCheckpoint(Value):
    """A named state of a session."""

    name: str
    version: int
    at: str
    note: str


class RestoredSession(Value):
    """A session that was brought back from the archive."""

    session: str
    status: str
    version: int


class ShownStatus(SessionStatus, kw_only=True):
    """How a session stands."""

    as_of: str
    """When it was seen, if the server cannot be reached now; else empty."""
    pending: int
    """How many changes on this machine wait until the server can be reached."""
    notices: list[str]
    """What needs attention: an interrupted handover, a change that waits to be merged."""


class WatchedStatus(ShownStatus, kw_only=True):
    """How a session stands, on a line for every change."""

    fault: str
    """Why the store cannot be read at present; else empty."""


class ShownSession(SessionStatus, kw_only=True):
    """Everything that is known of a session."""

    end_reason: str
    answered: list[Question]
    solved: list[Trouble]
    notes: dict[str, NoteUse]
    context: Context
    marks: dict[str, Mark]
    handed: tuple[Handing, ...]
    unknown_events: int


class ShownEvent(Value):
    """An event of the journal."""

    version: int
    kind: str
    at: str
    actor: str
    run: str
    format: int
    left: int
    erased: bool
    known: bool
    words: str
    body: Any
    """As in the journal (docs/reference/events.md); null if it cannot be read."""
    hash: str
    prev: str


class Holds(Value):
    """Who holds a session."""

    session: str
    holders: list[Holder]
    crashed: list[Holder]


# -- runs and briefs ---------------------------------------------------------------------------


def _shown_step(kind: type[msgspec.Struct]) -> type[msgspec.Struct]:
    """A step with its number, its kind, and its time as text."""
    rest = [(f.name, f.type) for f in msgspec.structs.fields(kind) if f.name != "at"]
    name = kind.__name__
    fields: list[Any] = [("step", int), ("kind", Literal[name.lower()]), ("at", str), *rest]
    return msgspec.defstruct(f"{name}Step", fields, module=__name__, namespace={"__doc__": kind.__doc__})


SHOWN_STEPS = tuple(_shown_step(kind) for kind in get_args(steps.Step))
ShownStep: Any = Any
for _kind in SHOWN_STEPS:
    ShownStep = _kind if ShownStep is Any else ShownStep | _kind


class EndOfRun(RunFinished, kw_only=True):
    """How supervised work ended: the last line."""

    kind: Literal["finished"]


class ExplainedBrief(Value):
    """The lines of a brief, each with the records that it rests on."""

    transcript: str
    lines: list[ExplainedLine]


class WrittenManifest(Value):
    """A manifest that was written."""

    path: str
    reason: str
    session: str
    run: str
    bytes: int
    tokens: int
    seconds: float


class RefinedManifest(WrittenManifest, kw_only=True):
    """A manifest to which a model contributed, or why none did."""

    model: str
    claims: tuple[Claim, ...]
    dropped: dict[str, int]
    bytes_sent: int
    input: int
    output: int
    cost: float
    model_seconds: float
    compression: float
    fell_back: str


# -- features ----------------------------------------------------------------------------------


class SavedFeature(Saved, kw_only=True):
    """What was saved, and the feature after that."""

    feature: Verdict


class ShownFeature(Feature, kw_only=True):
    """A feature with its verdict and everything that speaks for or against it."""

    verdict: Verdict
    evidence: list[dict[str, Any]]
    """Events about it: `version`, `at`, `kind`, `by`, `trust`, and what the event says."""


class KeptOutput(Value):
    """The output of the last check that ran."""

    output: str
    kept: bool


class VerifiedFeatures(Verified, kw_only=True):
    """The result of a verification."""

    all_proven: bool = msgspec.field(name="ok")


class AuditedSession(Audit, kw_only=True):
    """Whether the journal of a session is intact."""

    intact: bool = msgspec.field(name="ok")


# -- memories ----------------------------------------------------------------------------------


class FoundMemory(Memory, kw_only=True):
    """A memory that was found."""

    effectiveness_now: float = msgspec.field(name="effectiveness")
    score: float
    quoted: bool
    """Whether it is data that reads like an instruction: to be shown in quotes, never to be followed."""


class ShownMemory(Value):
    """A memory and what was done with it."""

    memory: Memory
    effectiveness: float
    trail: list[MemoryAudit]


class KeptMemory(Remembered, kw_only=True):
    """A memory that was kept, and those that it may repeat or contradict."""

    duplicates: list[Pair]
    contradictions: list[Pair]


class Lesson(Value):
    """A lesson from a run; one that was known already may not be readable."""

    id: str
    known: bool
    memory: Memory | None


class ForgottenMemory(Value):
    """A memory that was forgotten."""

    id: str
    forgotten: bool


class PrunedMemories(Pruned, kw_only=True):
    """The result of a prune."""

    session: str


class DecayedMemories(Value):
    """Memories that no longer count."""

    deprecated: list[str]
    dry_run: bool


class ConsolidatedMemories(Value):
    """Memories that say nearly the same: the newer one replaces the older."""

    pairs: list[Pair]
    dry_run: bool


class EmbeddedMemories(Value):
    """How many vectors were computed, and with which model."""

    embedded: int
    model: str


class ExportedMemories(Value):
    """A file of memories."""

    memories: int
    file: str
    bytes: int


class ImportedMemories(Value):
    """How many memories were new, and how many were known already."""

    new: int
    known: int


# -- files and other machines ------------------------------------------------------------------


class WrittenFile(Value):
    """A file that was written."""

    file: str
    bytes: int


class ExportedFile(WrittenFile, kw_only=True):
    """A session or a run in a file."""

    session: str
    run: str
    """Empty if a session was exported."""
    format: str
    left_out: list[str]


class ImportedSession(Value):
    """A session that came from a file."""

    session: str
    version: int
    status: str
    changed: bool
    """False if all of it was here already."""
    offer: str
    """The offer of a bundle; else empty, as is `sha256`."""
    sha256: str
    memories: int


class MadeOffer(Saved, kw_only=True):
    """An offer of a session, with what its taker needs."""

    offer: Offer
    file: str
    start: str
    rules: str
    missing: str


class PackedSession(WrittenFile, kw_only=True):
    """A bundle for another machine."""

    session: str
    sha256: str
    offer: str


class HandoverCheck(Value):
    """Whether a handover is to be resumed: 0 clean, 1 interrupted, 2 completed."""

    code: int
    status: str
    steps: dict[str, str]


class HandoverScores(Value):
    """How useful handovers were, the oldest first, and which kinds of facts were used."""

    scores: list[ScoredHandover]
    kinds: dict[str, FactUse]


class FactUse(Value):
    """How many facts of a kind were given, and how many of them were used."""

    given: int
    used: int


class TrustedFile(Value):
    """This project's segue.toml, as it was accepted."""

    file: str
    hash: str
    trusted: bool
    content: str


# -- setting up --------------------------------------------------------------------------------


class Installed(Value):
    """What was written into the files of agents, or would be."""

    agents: list[str]
    scope: str
    dry_run: bool
    notes: list[str]
    changes: list[FileChange]
    refused: list[Refusal]


class FileChange(Value):
    """A change of a file."""

    path: str
    agent: str
    about: str
    kind: Literal["created", "removed", "changed"]
    diff: str


class WrittenPlugin(Value):
    """A plugin for Claude Code and Codex."""

    folder: str
    files: list[str]


class CompletionScript(Value):
    """A script that completes commands."""

    shell: str
    script: str


class InstalledCompletion(Value):
    """Where the script was written, and what is left to do."""

    shell: str
    file: str
    next: str


class ShownModels(Value):
    """The models that may be asked, and the caps."""

    models: list[ShownModel]
    caps: Caps
    on: bool
    triggers: tuple[str, ...]


class ShownModel(Value):
    """A configured model."""

    name: str
    url: str
    wire: str
    window: int
    seconds: float
    price: Price | None
    price_words: str
    key: str
    keyring: bool
    key_there: bool
    key_words: str


class TestedModel(Value):
    """Whether a model answered, and what that cost."""

    name: str
    ok: bool
    why: str
    seconds: float
    input: int
    output: int
    cost: float


class ProposedPlan(Value):
    """A plan to edit and accept."""

    plan: PlanDraft
    strategies: tuple[str, ...]
    dropped: dict[str, int]
    asked: ModelReply | None
    fell_back: str
    file: str


class ShownKey(Value):
    """A key of a server, without its token."""

    id: str
    role: str
    project: str
    agent: str
    name: str
    created: str
    created_by: str
    expires: str
    revoked: str
    state: Literal["live", "expired", "revoked"]


class RevokedKey(Value):
    """A key that is no longer valid, and since when."""

    id: str
    revoked: str


class RolesSql(Value):
    """The statements that make the roles for a database."""

    sql: list[str]


class ServerAddress(Value):
    """Where a server can be reached, as soon as it can."""

    url: str
    store: str
    token: str
    """The first key, while it is new."""
    token_file: str


class PageAddress(Value):
    """The link to the pages, as soon as it can be opened."""

    url: str


# -- of every command --------------------------------------------------------------------------


class Version(Value):
    """The version of Segue."""

    version: str


class ErrorFacts(Value):
    """What went wrong; with further facts of some errors (docs/reference/errors.md)."""

    code: str
    message: str
    hint: str
    retryable: bool


class CommandError(Value):
    """What a command prints that fails."""

    error: ErrorFacts
