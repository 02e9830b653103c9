"""What runs learnt the hard way, as memories: what failed and then went well, and what a model found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...agents import agent as agent_of
from ...core.memories.model import Memory
from ..memories.service import Remembered, memories_of
from ..workspace.workspace import Workspace
from .observed import runs_of
from .read_transcript import final, masked
from .select import find_run, newest_other_run

if TYPE_CHECKING:
    from ...core.brief.facts import Claim
    from ...core.runs.model import Failure, RunDigest

SOLVED_FILES_MAX = 6
WHY_CHARS = 600


def from_run(
    workspace: Workspace, id: str = "", *, scope: str = "project"
) -> list[tuple[Memory | None, Remembered]]:
    """Reflections from what failed in a run and then went well; the newest run if none is named."""

    capture = runs_of(workspace).capture()
    found = find_run(capture, id) if id else newest_other_run(capture)
    digest = masked(final(capture.reading(found), agent_of(found.agent)))
    wishes = [_wish(digest, failure, found.native, scope) for failure in digest.solved]
    if not wishes:
        return []
    kept = memories_of(workspace).remember_many(wishes)
    there = {
        m.id: m
        for m in memories_of(workspace).store.get([k.id for k in kept], memories_of(workspace).reader())
    }
    return [(there.get(one.id), one) for one in kept]


def from_claims(
    workspace: Workspace, run: str, model: str, claims: Sequence[Claim], *, scope: str = "project"
) -> list[tuple[Memory | None, Remembered]]:
    """Reflections that a model found in a run and that its transcript bears out, as trusted as that."""
    wishes = [
        {
            "content": one.text, "type": "reflection", "scope": scope, "trust": "transcript", "run": run,
            "source": f"a model ({model}) about run {run}",
            "metadata": {"by": model, "kind": one.kind, "evidence": list(one.evidence), "voice": one.trust},
        }
        for one in claims
    ]  # fmt: skip
    if not wishes:
        return []
    kept = memories_of(workspace).remember_many(wishes)
    there = {
        m.id: m
        for m in memories_of(workspace).store.get([k.id for k in kept], memories_of(workspace).reader())
    }
    return [(there.get(one.id), one) for one in kept]


def _wish(digest: RunDigest, failure: Failure, run: str, scope: str) -> dict[str, Any]:
    why = " ".join(failure.why.split())[:WHY_CHARS]
    between = [
        path for path, use in digest.files.items() if use.edits and failure.at <= use.edited <= failure.solved
    ][-SOLVED_FILES_MAX:]
    times = f" {failure.count} times" if failure.count > 1 else ""
    after = f" It went well after a change of {', '.join(between)}." if between else " It went well later."
    return {
        "content": f"`{failure.what}` failed{times}: {why or 'no reason was given'}.{after}",
        "type": "reflection", "scope": scope, "trust": "transcript", "run": run,
        "error_pattern": why[:200], "correct_approach": f"change {', '.join(between)}" if between else "",
        "file": between[-1] if between else "", "source": f"a run of {digest.native or run}",
        "metadata": {"command": failure.what, "files": between},
    }  # fmt: skip
