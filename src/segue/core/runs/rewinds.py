"""Prompts that the user withdrew: what followed them no longer belongs to the work of the run.

An agent that goes back to an earlier prompt leaves the abandoned branch in its transcript. What was asked,
said, planned and failed there no longer counts; what happened to files does, because going back need not undo
it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .model import RunDigest
    from .steps import Rewind

PLANS_MAX = 8


def keep_plan(digest: RunDigest) -> None:
    """Remember the current plan at a prompt, because a rewind may go back to it."""
    if digest.planned and (not digest.plans or digest.planned > digest.plans[-1][0]):
        digest.plans.append([digest.steps, digest.planned, [list(item) for item in digest.plan]])
        del digest.plans[:-PLANS_MAX]


def take_back(digest: RunDigest, step: Rewind) -> None:
    """Forget everything since the prompts that were withdrawn, or a single prompt that was never sent."""
    if step.text:
        _forget_prompt(digest, step.text.strip())
    elif step.prompts > 0 and digest.prompts:
        _back_to(digest, digest.prompts[-min(step.prompts, len(digest.prompts))].at)


def _forget_prompt(digest: RunDigest, text: str) -> None:
    withdrawn = {words.at for words in digest.prompts if words.text == text}
    digest.prompts = [words for words in digest.prompts if words.at not in withdrawn]
    digest.trail = [step for step in digest.trail if step.kind != "prompt" or step.at not in withdrawn]
    if digest.first_prompt is not None and digest.first_prompt.at in withdrawn:
        digest.first_prompt = digest.prompts[0] if digest.prompts else None


def _back_to(digest: RunDigest, cut: int) -> None:
    for name in ("prompts", "says", "reports", "decided", "recaps", "trail"):
        setattr(digest, name, [words for words in getattr(digest, name) if words.at < cut])
    for name in ("first_prompt", "interrupted", "fault", "ended", "summary", "refused", "thought"):
        words = getattr(digest, name)
        if words is not None and words.at >= cut:
            setattr(digest, name, None)
    for name in ("pending", "failures"):
        entries: dict[str, Any] = getattr(digest, name)
        setattr(digest, name, {key: entry for key, entry in entries.items() if entry.at < cut})
    if digest.sketched >= cut:
        digest.sketch, digest.sketch_done, digest.sketched = [], [], 0
    digest.plans = [row for row in digest.plans if row[0] <= cut]
    if digest.planned >= cut:
        _, planned, plan = digest.plans[-1] if digest.plans else (0, 0, [])
        digest.planned, digest.plan = planned, [list(item) for item in plan]
