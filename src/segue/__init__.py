"""Segue: sessions that survive.

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
    from .core.budget import Standing
    from .core.delta import Delta
    from .core.events import Event
    from .core.evidence import Check
    from .core.features import Gate, Verdict
    from .core.memory import Memory
    from .core.pressure import Pressure
    from .core.restore import Restoration
    from .core.state import SessionState
    from .core.status import Card, SessionStatus
    from .errors import (
        AccessError,
        AgentError,
        BadImport,
        BadName,
        BadSettings,
        BudgetTooSmall,
        ConflictError,
        DamagedError,
        FeatureExists,
        HandoffSettled,
        HandoverPending,
        NothingToUndo,
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
        UnknownAgent,
        UnknownCheckpoint,
        UnknownFeature,
        UnknownHandoff,
        UnknownMemory,
        UnknownRun,
        UnknownSession,
        UnverifiedFeatures,
        UsageError,
    )
    from .services.agent_loop import RecoverableAgent
    from .services.book import Saved
    from .services.bootstrap import Boot
    from .services.checkpointer import Checkpointed
    from .services.features import FeatureList
    from .services.ingest import Synced
    from .services.interruptions import Interruption
    from .services.memories import Recalled, Remembered
    from .services.prepare import Prepared
    from .services.runs import Run
    from .services.segue import Segue
    from .services.sessions import Session
    from .services.verifying import Verified
    from .services.working import Working

__version__ = "0.1.0"

# Where a public name lives; all others are errors.
_HOMES = {
    "Segue": "services.segue",
    "Session": "services.sessions",
    "Run": "services.runs",
    "Synced": "services.ingest",
    "Prepared": "services.prepare",
    "Saved": "services.book",
    "Boot": "services.bootstrap",
    "Checkpointed": "services.checkpointer",
    "Interruption": "services.interruptions",
    "Standing": "core.budget",
    "Working": "services.working",
    "Restoration": "core.restore",
    "SessionState": "core.state",
    "SessionStatus": "core.status",
    "Card": "core.status",
    "Check": "core.evidence",
    "FeatureList": "services.features",
    "Gate": "core.features",
    "Verdict": "core.features",
    "Verified": "services.verifying",
    "Delta": "core.delta",
    "Event": "core.events",
    "Memory": "core.memory",
    "Pressure": "core.pressure",
    "Recalled": "services.memories",
    "Remembered": "services.memories",
    "RecoverableAgent": "services.agent_loop",
}
__all__ = [
    "AccessError",
    "AgentError",
    "BadImport",
    "BadName",
    "BadSettings",
    "Boot",
    "BudgetTooSmall",
    "Card",
    "Check",
    "Checkpointed",
    "ConflictError",
    "DamagedError",
    "Delta",
    "Event",
    "FeatureExists",
    "FeatureList",
    "Gate",
    "HandoffSettled",
    "HandoverPending",
    "Interruption",
    "Memory",
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
    "UnknownAgent",
    "UnknownCheckpoint",
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
