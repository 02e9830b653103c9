"""A checkpoint as it stands in a file: agent-handover's four keys, and ours under ``segue``.

Pure, and light: ``segue handover check`` reads a file with this before anything else is imported.
"""

from __future__ import annotations

from typing import Any

Record = dict[str, Any]
Extra = dict[str, Any]
"""What Segue adds: run, payloads, outputs, begun, session."""
STATUSES = ("none", "in_progress", "completed")


def fresh() -> Record:
    """No run yet."""
    return {"status": "none", "steps": {}, "started_at": None, "finished_at": None}


def is_whole(found: object) -> bool:
    """Whether this is a checkpoint: a status that we know, and steps by name."""
    if not isinstance(found, dict) or found.get("status") not in STATUSES:
        return False
    steps, extra = found.get("steps"), found.get("segue", {})
    if not isinstance(steps, dict) or not isinstance(extra, dict):
        return False
    return all(isinstance(state, str) for state in steps.values())


def pending_in(found: Record) -> list[str]:
    """Steps that are not done, in their order."""
    return [name for name, state in found["steps"].items() if state != "done"]


def code_of(found: Record) -> int:
    """0 nothing to resume, 1 interrupted, 2 completed."""
    if found["status"] == "in_progress":
        return 1 if pending_in(found) else 2
    return 2 if found["status"] == "completed" else 0
