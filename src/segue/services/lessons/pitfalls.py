"""Pitfalls: lessons about a failure that shows again, found by its signature alone.

A lesson that was voted harmful more often than helpful is not brought up, nor one whose files are all gone.
One whose files have changed since says so.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from ..._files import read_bytes
from ...core.base.values import Value
from ...core.lessons.signature import of_lines, same_failure
from ...core.memories.model import Memory, MemoryFilter, may_restore
from ...core.runs.model import Failure
from ...effects.clock import now
from ...errors import SegueError
from ..memories.reader import reader_of
from ..workspace.workspace import Workspace

LESSON = "error-solution"
LOOKED_AT, SHOWN_MAX, LINE_CHARS = 200, 2, 300
HASHED_BYTES_MAX = 4 << 20


class Pitfall(Value):
    """A lesson about a failure that is there again."""

    id: str
    error: str
    fix: str
    helpful: int = 0
    harmful: int = 0
    changed: tuple[str, ...] = ()
    """Files of the lesson that are not as they were when it was learnt."""
    run: str = ""

    @property
    def line(self) -> str:
        """What to know, on one line."""
        since = f" (changed since: {', '.join(self.changed)})" if self.changed else ""
        error = self.error.split(" / ")[0][:110]
        return f"{error}: mended before by {self.fix[:LINE_CHARS]}{since} [{self.id}]"


def pitfalls(workspace: Workspace, failures: Iterable[Sequence[str]], session: str = "") -> list[Pitfall]:
    """Lessons about failures, each given by the lines that say why; the most helpful first. Empty if the
    store fails."""
    seen = [signed for lines in failures if (signed := of_lines(lines))]
    if not seen:
        return []
    where = MemoryFilter(types=(LESSON,))
    try:
        known = workspace.store.memories.listing(reader_of(workspace, session), where, now(), LOOKED_AT)
    except (SegueError, OSError):
        return []
    fitting = [one for one in known if any(same_failure(_signatures(one), lines) for lines in seen)]
    worth = [one for one in fitting if one.effectiveness >= 0 and may_restore(one)]
    found = [pitfall for one in worth if (pitfall := _pitfall(workspace, one)) is not None]
    return sorted(found, key=lambda one: one.harmful - one.helpful)[:SHOWN_MAX]


def failing_lines(failing: Sequence[Failure]) -> list[list[str]]:
    """The lines of failures by which lessons about them are found."""
    return [failure.why.split("\n") for failure in failing]


def _signatures(memory: Memory) -> list[str]:
    """The signatures of a lesson; of an error that somebody remembered by hand, those of its text."""
    kept = memory.metadata.get("signatures")
    return [str(one) for one in kept] if isinstance(kept, list) else list(of_lines([memory.error_pattern]))


def _pitfall(workspace: Workspace, memory: Memory) -> Pitfall | None:
    fix = memory.correct_approach or memory.content
    hashes = memory.metadata.get("hashes")
    changed, gone = [], 0
    for path, hash in (hashes if isinstance(hashes, dict) else {}).items():
        here = hash_of_file(workspace.folder / path) if workspace.sees_tree else hash
        gone += not here
        if here != hash:
            changed.append(str(path))
    if hashes and gone == len(hashes):
        return None
    return Pitfall(
        memory.id, memory.error_pattern, " ".join(fix.split()), memory.helpful, memory.harmful,
        tuple(changed), memory.provenance.run,
    )  # fmt: skip


def hash_of_file(path: Path) -> str:
    """The hash of a file's content; empty if there is none that can be read."""
    with suppress(OSError, ValueError):
        return hashlib.sha256(read_bytes(path, HASHED_BYTES_MAX)).hexdigest()[:16]
    return ""
