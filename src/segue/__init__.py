"""Segue: the next run of a coding agent knows where the last one stopped.

    from segue import Segue
    seg = Segue()
    s = seg.start("Refactor authentication to JWT", items=["user model", "middleware"])
    s.done("user model"); s.begin("middleware"); s.decide("HS256", why="one issuer only")
    again = seg.session(s.id)          # any process, any time

Public: this module, ``segue.errors`` through it, and ``segue.testing``. Names are loaded when
they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .api.agent_loop import RecoverableAgent
    from .api.segue import Segue
    from .api.session import Session
    from .core.features.checks import Check
    from .core.features.verdict import Gate, Verdict
    from .core.journal.event import Event
    from .core.ledger.model import Entry
    from .core.memories.model import Memory
    from .core.resume.changes import Delta
    from .core.resume.restoration import Restoration
    from .core.runs.window_pressure import Pressure
    from .core.sessions.budget import Standing
    from .core.sessions.state import SessionState
    from .core.sessions.status import Card, SessionStatus
    from .errors import (
        AccessError,
        AgentError,
        BadImport,
        BadName,
        BadSettings,
        BadValue,
        BudgetTooSmall,
        ConflictError,
        DamagedError,
        FeatureExists,
        HandoffSettled,
        HandoverPending,
        MisspeltItem,
        NothingToUndo,
        NotTrusted,
        OtherWorkflow,
        Paused,
        RefusedError,
        SchemaTooNew,
        SegueError,
        SessionHeld,
        SessionOver,
        StaleVersion,
        StepUncertain,
        StoreBusy,
        StoreError,
        StoreFull,
        StoreUnavailable,
        TextTooLong,
        TranscriptUnreadable,
        UnexpectedError,
        UnknownAgent,
        UnknownCheckpoint,
        UnknownEntry,
        UnknownFeature,
        UnknownHandoff,
        UnknownMemory,
        UnknownRun,
        UnknownSession,
        UnverifiedFeatures,
        UsageError,
    )
    from .services.features.features import FeatureList
    from .services.features.verify import Verified
    from .services.memories.curation import ComparedMemory
    from .services.memories.service import Recalled, Remembered
    from .services.resume.autosave import Checkpointed
    from .services.resume.bootstrap import Boot
    from .services.resume.interruptions import Interruption
    from .services.resume.prepare import Prepared
    from .services.resume.working_state import Working
    from .services.runs.run import Run
    from .services.runs.sync import Synced
    from .services.sessions.repository import Saved

__version__ = "0.2.0"

# Where a public name lives; all others are errors.
_HOMES = {
    "Segue": "api.segue",
    "Session": "api.session",
    "Run": "services.runs.run",
    "Synced": "services.runs.sync",
    "Prepared": "services.resume.prepare",
    "Saved": "services.sessions.repository",
    "Boot": "services.resume.bootstrap",
    "Checkpointed": "services.resume.autosave",
    "Interruption": "services.resume.interruptions",
    "Standing": "core.sessions.budget",
    "Working": "services.resume.working_state",
    "Restoration": "core.resume.restoration",
    "SessionState": "core.sessions.state",
    "SessionStatus": "core.sessions.status",
    "Card": "core.sessions.status",
    "Check": "core.features.checks",
    "FeatureList": "services.features.features",
    "Gate": "core.features.verdict",
    "Verdict": "core.features.verdict",
    "Verified": "services.features.verify",
    "Delta": "core.resume.changes",
    "Event": "core.journal.event",
    "Entry": "core.ledger.model",
    "Memory": "core.memories.model",
    "Pressure": "core.runs.window_pressure",
    "ComparedMemory": "services.memories.curation",
    "Recalled": "services.memories.service",
    "Remembered": "services.memories.service",
    "RecoverableAgent": "api.agent_loop",
}
__all__ = [
    "AccessError",
    "AgentError",
    "BadImport",
    "BadName",
    "BadSettings",
    "BadValue",
    "Boot",
    "BudgetTooSmall",
    "Card",
    "Check",
    "Checkpointed",
    "ComparedMemory",
    "ConflictError",
    "DamagedError",
    "Delta",
    "Entry",
    "Event",
    "FeatureExists",
    "FeatureList",
    "Gate",
    "HandoffSettled",
    "HandoverPending",
    "Interruption",
    "Memory",
    "MisspeltItem",
    "NotTrusted",
    "NothingToUndo",
    "OtherWorkflow",
    "Paused",
    "Prepared",
    "Pressure",
    "Recalled",
    "RecoverableAgent",
    "RefusedError",
    "Remembered",
    "Restoration",
    "Run",
    "Saved",
    "SchemaTooNew",
    "Segue",
    "SegueError",
    "Session",
    "SessionHeld",
    "SessionOver",
    "SessionState",
    "SessionStatus",
    "StaleVersion",
    "Standing",
    "StepUncertain",
    "StoreBusy",
    "StoreError",
    "StoreFull",
    "StoreUnavailable",
    "Synced",
    "TextTooLong",
    "TranscriptUnreadable",
    "UnexpectedError",
    "UnknownAgent",
    "UnknownCheckpoint",
    "UnknownEntry",
    "UnknownFeature",
    "UnknownHandoff",
    "UnknownMemory",
    "UnknownRun",
    "UnknownSession",
    "UnverifiedFeatures",
    "UsageError",
    "Verdict",
    "Verified",
    "Working",
    "__version__",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'segue' has no attribute {name!r}")
    value = getattr(import_module(f".{_HOMES.get(name, 'errors')}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
