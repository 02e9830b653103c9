"""The content of a checkpoint: agent-handover's four keys, and ours under ``segue``.

Cheap to import, because ``segue handover check`` uses it before anything else is imported.
"""

from __future__ import annotations

from typing import Any

Record = dict[str, Any]
Extra = dict[str, Any]
"""What Segue adds: run, payloads, outputs, begun, failed, session."""
STATUSES = ("none", "in_progress", "completed")


def fresh() -> Record:
    """The checkpoint before the first run."""
    return {"status": "none", "steps": {}, "started_at": None, "finished_at": None}


def is_whole(value: object) -> bool:
    """Whether a value is an intact checkpoint: a known status, and steps by name."""
    if not isinstance(value, dict) or value.get("status") not in STATUSES:
        return False
    steps, extra = value.get("steps"), value.get("segue", {})
    if not isinstance(steps, dict) or not isinstance(extra, dict):
        return False
    return all(isinstance(state, str) for state in steps.values())


def pending_in(record: Record) -> list[str]:
    """The steps that are not done, in their order."""
    return [name for name, state in record["steps"].items() if state != "done"]


def code_of(record: Record) -> int:
    """0 if there is nothing to resume, 1 if a run was interrupted, 2 if the last run completed."""
    if record["status"] == "in_progress":
        return 1 if pending_in(record) else 2
    return 2 if record["status"] == "completed" else 0


def steps_of(record: Record) -> dict[str, str]:
    """The steps by name: pending, done, failed, or uncertain if nobody knows whether it happened."""
    extra: Extra = record.get("segue") or {}
    steps = dict(record["steps"])
    steps |= {name: "failed" for name in extra.get("failed") or {} if steps.get(name) != "done"}
    if extra.get("begun"):
        steps[extra["begun"]] = "uncertain"
    return steps


def is_theirs(own: Record, agent_handover: Record) -> bool:
    """Whether agent-handover's checkpoint decides how a working tree stands, and not Segue's own: only if it
    is interrupted and ours is not, or if we have none. An interrupted handover is never hidden by the
    other."""
    if code_of(own) == 1:
        return False
    return code_of(agent_handover) == 1 or own["status"] == "none"
