"""Memories from runs: failures that were solved, and what a model found in a transcript."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...agents import agent as agent_of
from ...core.brief.facts import Claim
from ...core.memories.model import Memory
from ...core.runs.model import Failure, RunDigest
from ..memories.service import Remembered, memories_of
from ..workspace.workspace import Workspace
from .observed import runs_of
from .read_transcript import final, masked
from .select import find_run, newest_other_run

SOLVED_FILES_MAX = 6
WHY_CHARS = 600


def from_run(
    workspace: Workspace, id: str = "", *, scope: str = "project"
) -> list[tuple[Memory | None, Remembered]]:
    """Remember a reflection for each failure that was solved in a run, by default the newest."""
    finder = runs_of(workspace).finder()
    found = find_run(finder, id) if id else newest_other_run(finder)
    digest = masked(final(finder.reading(found), agent_of(found.agent)))
    return _remembered(
        workspace, [_reflection(digest, failure, found.native, scope) for failure in digest.solved]
    )


def from_claims(
    workspace: Workspace, run: str, model: str, claims: Sequence[Claim], *, scope: str = "project"
) -> list[tuple[Memory | None, Remembered]]:
    """Remember a reflection for each claim of a model that the run's transcript supports."""
    return _remembered(workspace, [
        {
            "content": claim.text, "type": "reflection", "scope": scope, "trust": "transcript", "run": run,
            "source": f"a model ({model}) about run {run}",
            "metadata": {
                "by": model, "kind": claim.kind, "evidence": list(claim.evidence), "voice": claim.trust,
            },
        }
        for claim in claims
    ])  # fmt: skip


def _remembered(
    workspace: Workspace, reflections: list[dict[str, Any]]
) -> list[tuple[Memory | None, Remembered]]:
    if not reflections:
        return []
    service = memories_of(workspace)
    results = service.remember_many(reflections)
    memories = {m.id: m for m in service.store.get([result.id for result in results], service.reader())}
    return [(memories.get(result.id), result) for result in results]


def _reflection(digest: RunDigest, failure: Failure, run: str, scope: str) -> dict[str, Any]:
    why = " ".join(failure.why.split())[:WHY_CHARS]
    changed = [
        path for path, use in digest.files.items() if use.edits and failure.at <= use.edited <= failure.solved
    ][-SOLVED_FILES_MAX:]
    times = f" {failure.count} times" if failure.count > 1 else ""
    after = f" It passed after {', '.join(changed)} changed." if changed else " It passed later."
    return {
        "content": f"`{failure.what}` failed{times}: {why or 'no reason was given'}.{after}",
        "type": "reflection", "scope": scope, "trust": "transcript", "run": run,
        "error_pattern": why[:200], "correct_approach": f"change {', '.join(changed)}" if changed else "",
        "file": changed[-1] if changed else "", "source": f"a run of {digest.native or run}",
        "metadata": {"command": failure.what, "files": changed},
    }  # fmt: skip
