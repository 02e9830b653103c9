"""The runs that were sent to a server: rows and digests from ``segue sync``. Transcripts stay on their
machines.

Paths in what a server is sent belong to other machines, and none is ever opened here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from ...agents import agent as agent_of
from ...core.base.values import seconds_of
from ...core.runs.model import RunDigest
from ...errors import SegueError, UsageError
from ...stores.base import RunRow
from ..workspace.workspace import Workspace
from . import cursor
from .read_transcript import Reading, final, masked
from .run import Run, facts_of, key_of, row_of, stored_usage

RUNS_MAX = 3
DIGEST_BYTES_MAX = 4_000_000


def digest_in(row: RunRow) -> RunDigest | None:
    """The digest in a row, masked; None if it has none that this version can read."""
    reading = cursor.reading_of(cursor.unpacked(row.reading))
    if reading is None:
        return None
    try:
        return masked(final(reading, agent_of(row.agent)))
    except (SegueError, ValueError):
        return None


def sent_runs_of(workspace: Workspace, session: str, limit: int = RUNS_MAX) -> list[tuple[RunRow, RunDigest]]:
    """The runs that were sent for a session with a digest, the newest first."""
    runs = workspace.store.runs
    found: list[tuple[RunRow, RunDigest]] = []
    for row in runs.rows(session=session):
        whole = runs.get(row.key)
        digest = digest_in(whole) if whole is not None else None
        if whole is not None and digest is not None:
            found.append((whole, digest))
        if len(found) >= limit:
            break
    return found


def keep_run(workspace: Workspace, run: Run, digest: Mapping[str, Any] | None) -> bool:
    """Store a run that was sent, with its digest or else the stored one. Returns whether it has a digest
    then. Raises UsageError for a wrong key, time or digest."""
    workspace.pause_file.check()
    agent = agent_of(run.agent)
    key = key_of(run.agent, run.id, run.path)
    if run.key != key:
        raise UsageError(f"the key of this run must be {key}", hint="it is a hash of agent, id and path")
    for name in ("began", "last"):
        if getattr(run, name) and not seconds_of(getattr(run, name)):
            raise UsageError(f"{name} is not a time", hint="give UTC, as in 2026-11-15T10:00:00.000000Z")
    reading = None
    before = workspace.store.runs.get(key)
    facts = facts_of(before) if before is not None else None
    usage = facts.usage if facts is not None else b""
    if digest is not None:
        found = Reading(run.agent, "", run.id, digest=_checked(digest))
        reading, usage = cursor.packed(found, cursor.FileStamp(), agent), stored_usage(found.digest.usage)
    workspace.store.runs.put([row_of(run, cursor.FileStamp(), reading, usage)])
    kept = workspace.store.runs.get(run.key)
    return kept is not None and digest_in(kept) is not None


def _checked(digest: Mapping[str, Any]) -> RunDigest:
    encoded = msgspec.json.encode(digest)
    if len(encoded) > DIGEST_BYTES_MAX:
        raise UsageError(
            f"the digest has {len(encoded):,} bytes", hint=f"at most {DIGEST_BYTES_MAX:,} are accepted"
        )
    try:
        return masked(msgspec.json.decode(encoded, type=RunDigest))
    except (msgspec.MsgspecError, OverflowError) as fault:
        raise UsageError(
            f"this is not a digest: {fault}", hint="send what was read from a transcript"
        ) from None
