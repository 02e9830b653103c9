"""Reading the checkpoint file of a handover, ours or agent-handover's, without changing it.

Cheap to import, because ``segue handover check`` uses it before anything else is imported.
"""

from __future__ import annotations

import os

from ..._files import open_file
from ...core.handover.record import Record, fresh, is_whole

AGENT_HANDOVER = os.path.join(".agent-handover", "checkpoint.json")
"""Where agent-handover keeps its checkpoint, below the root of a project."""
BYTES_MAX = 32_000_000


def read_checkpoint(path: str | os.PathLike[str]) -> Record | None:
    """The record in a file, a fresh one if there is no file; None if it is damaged. Raises OSError if it
    cannot be read."""
    try:
        with open_file(path) as file:
            body = file.read(BYTES_MAX + 1)
    except FileNotFoundError:
        return fresh()
    import json

    try:
        record = json.loads(body) if len(body) <= BYTES_MAX else None
    except (ValueError, RecursionError):
        return None
    return record if is_whole(record) else None


def copy_of(path: str | os.PathLike[str]) -> str:
    """The path of the copy that is kept beside a checkpoint file."""
    folder, name = os.path.split(path)
    return os.path.join(folder, f".{name}.copy")


def recall_checkpoint(path: str | os.PathLike[str]) -> tuple[Record, str]:
    """The record in a file, from its copy if it is damaged, and what is to be said of that; neither is
    written."""
    wrong = "is damaged"
    for place, end in ((path, ""), (copy_of(path), ": its copy was used")):
        try:
            record = read_checkpoint(place)
        except OSError as fault:
            wrong = f"cannot be read: {fault.strerror}"
            continue
        if record is not None and not (end and record["status"] == "none"):
            return record, f"the checkpoint {os.fspath(path)} {wrong}{end}" if end else ""
    return fresh(), f"the checkpoint {os.fspath(path)} {wrong}, and it has no copy"
