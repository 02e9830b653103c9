"""What Segue itself has to say about the work: a handover that was interrupted.

The file beside the journal is read, as `segue handover check` does, so that no store is needed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from ..workspace.working_tree import tree_stream
from ..workspace.workspace import Workspace

AGENT_HANDOVER = Path(".agent-handover") / "checkpoint.json"


def notices_of(workspace: Workspace) -> list[str]:
    """Notices for the next run; empty if there are none."""
    left = steps_left(workspace)
    if not left:
        return []
    return [f"a handover was interrupted before {', '.join(left[:4])}: `segue handover run` continues it"]


def steps_left(workspace: Workspace) -> list[str]:
    """The steps of an interrupted handover of this working tree that are not done; empty if there is none."""
    if not workspace.sees_tree:
        return []
    root = workspace.working_tree.root
    own = workspace.home.handover / f"{tree_stream(str(root)).removeprefix('tree/')}.json"
    record = _record(own) if own.exists() else _record(root / AGENT_HANDOVER)
    steps = record.get("steps")
    if record.get("status") != "in_progress" or not isinstance(steps, dict):
        return []
    return [str(name) for name, state in steps.items() if state != "done"]


def _record(path: Path) -> dict[str, Any]:
    try:
        record = msgspec.json.decode(path.read_bytes())
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return {}
    return record if isinstance(record, dict) else {}
