"""What a run is told when its window is compacted: before, what its summary should keep; after, what it
lacks."""

from __future__ import annotations

from itertools import islice

from ...agents.base import Found
from ...core.brief.after_compaction import after_compaction, steering
from ...core.ledger.model import Entry
from ...core.runs.model import RunDigest
from ...effects.redaction.redact import redact
from ...errors import SegueError
from ..runs.discovery import RunFinder
from ..runs.select import LOOKED_AT, runs_meant
from ..workspace.workspace import Workspace
from .for_starts import HookBrief
from .gather import digest_of, entries_of_runs, runs_taken_up, session_of_run
from .summaries import Summaries

AFTER_BYTES, STEER_BYTES = 2_048, 2_400
FRESH_STEPS = 8
"""A summary that stands further back than this is that of an earlier compaction."""


def brief_after_compaction(workspace: Workspace, finder: RunFinder, own: Found) -> HookBrief:
    """What the run's own summary lacks; empty if it lacks nothing."""
    try:
        digest = digest_of(workspace, finder, own)
    except SegueError:
        return HookBrief()
    entries = _entries(workspace, finder, own)
    summary = Summaries(workspace.home.path).fresh(own.native) or _summary(digest)
    text = redact(after_compaction(entries, digest, summary, AFTER_BYTES))
    session = session_of_run(workspace, finder, own)
    return HookBrief(text, session, runs=(finder.key(own),), own=True)


def _summary(digest: RunDigest) -> str:
    """What the agent wrote of its window at this compaction; empty if it cannot be read."""
    summary = digest.summary
    return summary.text if summary is not None and summary.at >= digest.steps - FRESH_STEPS else ""


def words_to_keep(workspace: Workspace, finder: RunFinder, own: Found) -> str:
    """The standing words of the run's work, for its summary."""
    try:
        return redact(steering(_entries(workspace, finder, own), STEER_BYTES))
    except SegueError:
        return ""


def _entries(workspace: Workspace, finder: RunFinder, own: Found) -> tuple[Entry, ...]:
    """The ledger of a run's work, with what the runs said that it was told of and that no sync has filed."""
    told_of = set(runs_taken_up(workspace, finder, own))
    before = [run for run in islice(runs_meant(finder), LOOKED_AT) if finder.key(run) in told_of]
    return entries_of_runs(workspace, finder, [own, *before], alone=True)
