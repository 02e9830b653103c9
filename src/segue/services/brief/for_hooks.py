"""The brief that a hook gives to a run: when it starts, with its first prompt, when it resumes, or after its
window was compacted."""

from __future__ import annotations

from ...agents.hooks import HookEvent
from ...errors import TranscriptUnreadable
from ..runs.discovery import RunFinder
from ..runs.observed import runs_of
from ..workspace.workspace import Workspace
from .for_compaction import brief_after_compaction
from .for_prompts import brief_for_prompt
from .for_starts import HookBrief, brief_at_resume, brief_at_start, own_run, rendered
from .notices import notice_of_handover, notice_of_unread
from .predecessor import predecessor_of
from .runs_summary import RunsSummary

FRESH_STARTS = ("startup", "clear", "")
STEER = (
    "When you summarise, keep the words below as they are: they are what the user and this run said, and they"
    " still hold. Say also what is under way."
)


def brief_for_hook(workspace: Workspace, event: HookEvent, *, budget: int) -> HookBrief:
    """The brief for the run of a hook event; empty if there is nothing worth saying. An interrupted handover
    is told in any case, also after work that is finished."""
    finder = runs_of(workspace).finder()
    finder.remember()
    finder.asking = event.native if event.source != "compact" else ""
    if event.source == "compact":
        own = own_run(finder, event)
        return brief_after_compaction(workspace, finder, own) if own else HookBrief()
    try:
        brief = _brief(workspace, finder, event, budget)
    except TranscriptUnreadable:  # a document that there is no time for
        if not finder.cut_readings:
            raise
        brief = HookBrief()
    if brief.text or not _must_be_told(workspace, event):
        return brief
    return rendered(workspace, RunsSummary(), None, budget)


def _brief(workspace: Workspace, finder: RunFinder, event: HookEvent, budget: int) -> HookBrief:
    """The brief for a run that starts or resumes."""
    if event.source in FRESH_STARTS and event.text:
        return brief_for_prompt(workspace, finder, event, budget=budget)
    if event.source in FRESH_STARTS:
        return brief_at_start(workspace, finder, predecessor_of(workspace, finder, event), budget)
    return brief_at_resume(workspace, finder, event, budget)


def _must_be_told(workspace: Workspace, event: HookEvent) -> bool:
    """Whether something is said though there is nothing else: that a handover was interrupted or, where a run
    begins, that there was no time to read what is before it."""
    is_fresh = event.source in FRESH_STARTS
    return bool(notice_of_handover(workspace) or (is_fresh and notice_of_unread(workspace)))
