"""What a server knows of working trees and of runs: what was sent to it, and nothing of its own disk.

A server stands in no working tree. Paths in what it is sent are those of other machines: none is ever opened
here, however it looks. Of runs it has the rows and digests that ``segue sync`` sent; transcripts stay where
they are. A session's runs are those that were sent for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from ...core.base.values import seconds_of
from ...core.runs.model import RunDigest
from ...errors import SegueError, UsageError
from . import cursor
from .read_transcript import Reading, final, masked
from .run import Run, key_of, row_of

if TYPE_CHECKING:
    from ...stores.base import RunRow
    from ..workspace.workspace import Workspace

RUNS_MAX = 3
DIGEST_BYTES_MAX = 4_000_000


def digest_in(row: RunRow) -> RunDigest | None:
    """The digest of a row, masked; None if it has none that can be read."""
    from ...agents import agent as agent_of

    kept = cursor.unpacked(row.reading)
    reading = cursor.reading_of(kept) if kept is not None else None
    if reading is None:
        return None
    try:
        return masked(final(reading, agent_of(row.agent)))
    except (SegueError, ValueError):
        return None


def sent_runs_of(workspace: Workspace, session: str, most: int = RUNS_MAX) -> list[tuple[RunRow, RunDigest]]:
    """The newest runs that were sent for a session and have a digest, the newest first."""
    runs = workspace.store.runs
    found: list[tuple[RunRow, RunDigest]] = []
    for row in runs.rows(session=session):
        whole = runs.get(row.key)
        digest = digest_in(whole) if whole is not None else None
        if whole is not None and digest is not None:
            found.append((whole, digest))
        if len(found) >= most:
            break
    return found


def keep_run(workspace: Workspace, run: Run, digest: Mapping[str, Any] | None) -> bool:
    """Keep a run that was sent, with its digest or with the one that is there; whether it has one then."""
    from ...agents import agent as agent_of

    workspace.pause_file.check()
    agent = agent_of(run.agent)
    right = key_of(run.agent, run.id, run.path)
    if run.key != right:
        raise UsageError(f"this run's key is {right}", hint="it is a hash of agent, id and path")
    for name in ("began", "last"):
        if getattr(run, name) and not seconds_of(getattr(run, name)):
            raise UsageError(f"{name} is no time", hint="UTC, as 2026-11-15T10:00:00.000000Z")
    reading = None
    if digest is not None:
        found = Reading(run.agent, "", run.id, digest=_checked(digest))
        reading = cursor.packed(found, cursor.FileStamp(), agent)
    workspace.store.runs.put([row_of(run, cursor.FileStamp(), reading)])
    kept = workspace.store.runs.get(run.key)
    return kept is not None and digest_in(kept) is not None


def _checked(digest: Mapping[str, Any]) -> RunDigest:
    """A digest that was sent, masked; UsageError if it is none."""
    told = msgspec.json.encode(digest)
    if len(told) > DIGEST_BYTES_MAX:
        raise UsageError(f"the digest has {len(told):,} bytes", hint=f"at most {DIGEST_BYTES_MAX:,}")
    try:
        return masked(msgspec.json.decode(told, type=RunDigest))
    except (msgspec.MsgspecError, OverflowError) as fault:
        raise UsageError(f"this is no digest: {fault}", hint="send what was read from a transcript") from None
