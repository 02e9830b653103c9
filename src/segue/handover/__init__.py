"""Handover: the checkpointed procedure at the end of a session. The public API of agent-handover 0.5.1, and
more.

A program written for that package runs after a change of its import; its checkpoint files, Markdown layers
and TOML files are read unchanged. Names are loaded at first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .backends import GitBackend, NullBackend
    from .checkpoint import Checkpoint
    from .engine import HandoverEngine, NotDone, Step, Task, Work
    from .memory import MemoryStore

__version__ = "0.5.1"
"""The version of agent-handover whose API this is."""

_HOMES = {
    "Checkpoint": "checkpoint",
    "MemoryStore": "memory",
    "HandoverEngine": "engine",
    "NotDone": "engine",
    "Step": "engine",
    "Task": "engine",
    "Work": "engine",
    "GitBackend": "backends",
    "NullBackend": "backends",
}
__all__ = [
    "Checkpoint",
    "GitBackend",
    "HandoverEngine",
    "MemoryStore",
    "NotDone",
    "NullBackend",
    "Step",
    "Task",
    "Work",
    "__version__",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'segue.handover' has no attribute {name!r}")
    value = getattr(import_module(f".{_HOMES[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
