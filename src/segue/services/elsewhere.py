"""What a server knows of working trees and of runs: what was sent to it, and nothing of its own disk.

A server stands in no working tree. Paths in what it is sent are those of other machines: none is ever opened
here, however it looks. Of runs it has the rows and digests that ``segue sync`` sent; transcripts stay where
they are. A session's runs are those that were sent for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from ..agents.base import Found
from ..core.digest import RunDigest
from ..effects.trees import Tree
from ..errors import SegueError
from . import briefs, cursor
from .capture import Capture
from .observed import Observed
from .reading import Clean, Reading, final, unreadable

if TYPE_CHECKING:
    from ..stores.base import RunRow
    from .segue import Segue

RUNS_MAX = briefs.RUNS_MAX
WHY = "a server sees no working tree"


class Sent(Capture):
    """Runs as they were sent; nothing is looked for on this machine."""

    def found(self, agent: str = "") -> Iterator[Found]:
        """None: no agent works here."""
        return iter(())

    def asks(self, found: Found) -> bool:
        return False

    def _read(self, found: Found, clean: Clean | None) -> Reading:
        row = self.row(found)
        kept = cursor.unpacked(row.reading) if row is not None else None
        reading = cursor.reading_of(kept) if kept is not None else None
        if reading is None:
            raise unreadable(Path(found.path), "its digest was not sent, or in another form")
        return reading

    def blocks(self, found: Found) -> Iterator[bytes]:
        raise unreadable(Path(found.path), "transcripts stay on the machine of their agent")


class SentRuns(Observed):
    """The observed side of a server."""

    def capture(self, *, everywhere: bool = False) -> Capture:
        segue = self._segue
        return Sent(segue.folder, segue.environment, runs=self.runs, archive=None, everywhere=everywhere)


def digest_in(row: RunRow) -> RunDigest | None:
    """The digest of a row, masked; None if it has none that can be read."""
    from ..agents import agent as agent_of

    kept = cursor.unpacked(row.reading)
    reading = cursor.reading_of(kept) if kept is not None else None
    if reading is None:
        return None
    try:
        return briefs.masked(final(reading, agent_of(row.agent)))
    except (SegueError, ValueError):
        return None


def runs_of(segue: Segue, session: str, most: int = RUNS_MAX) -> list[tuple[RunRow, RunDigest]]:
    """The newest runs that were sent for a session and have a digest, the newest first."""
    runs = segue.observed.runs
    found: list[tuple[RunRow, RunDigest]] = []
    for row in runs.rows(session=session):
        whole = runs.get(row.key)
        digest = digest_in(whole) if whole is not None else None
        if whole is not None and digest is not None:
            found.append((whole, digest))
        if len(found) >= most:
            break
    return found


def no_tree(root: Path) -> Tree:
    """A working tree of no files: what a server sees of any."""
    return Tree(root, [])
