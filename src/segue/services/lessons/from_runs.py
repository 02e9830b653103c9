"""Memories from runs: failures that were mended, and what a model found in a transcript."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...agents import agent as agent_of
from ...agents.base import Found
from ...core.brief.facts import Claim
from ...core.lessons.mended import Lesson, MendedFailures
from ...core.memories.model import Memory
from ...effects.redaction.redact import redact_bytes
from ..memories.service import Remembered, memories_of
from ..runs.discovery import RunFinder
from ..runs.observed import runs_of
from ..runs.select import find_run, newest_other_run
from ..workspace.workspace import Workspace
from .pitfalls import LESSON, hash_of_file

Kept = tuple[Memory | None, Remembered]


def from_run(workspace: Workspace, id: str = "", *, scope: str = "project") -> list[Kept]:
    """Remember a lesson for each failure that was mended in a run, by default the newest: the error, what
    mended it, and the steps that show it."""
    finder = runs_of(workspace).finder()
    found = find_run(finder, id) if id else newest_other_run(finder)
    learnt = lessons_of_run(finder, found)
    return _remembered(workspace, [_memory(workspace, lesson, found, scope) for lesson in learnt])


def lessons_of_run(finder: RunFinder, found: Found) -> list[Lesson]:
    """What a run mended, masked; each once. Raises SegueError if its transcript cannot be read."""
    mended = MendedFailures()
    for step in finder.steps(found, redact_bytes):
        mended.take(step)
    return list({lesson.text: lesson for lesson in mended.lessons}.values())


def _memory(workspace: Workspace, lesson: Lesson, found: Found, scope: str) -> dict[str, Any]:
    folder = Path(found.cwd) if found.cwd else workspace.folder
    hashes = {path: hash_of_file(folder / path) for path in lesson.files}
    steps = {"failed": lesson.failed, "changed": list(lesson.changed), "passed": lesson.passed}
    return {
        "content": lesson.text, "type": LESSON, "scope": scope, "trust": "transcript", "run": found.native,
        "error_pattern": lesson.error, "correct_approach": lesson.approach,
        "file": lesson.files[-1] if lesson.files else "",
        "source": f"a run of {agent_of(found.agent).title}, steps {lesson.failed} to {lesson.passed}",
        "metadata": {
            "command": lesson.command, "signatures": list(lesson.signatures), "files": list(lesson.files),
            "hashes": hashes, "evidence": {"run": found.native, **steps},
        },
    }  # fmt: skip


def from_claims(
    workspace: Workspace, run: str, model: str, claims: Sequence[Claim], *, scope: str = "project"
) -> list[Kept]:
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


def _remembered(workspace: Workspace, lessons: list[dict[str, Any]]) -> list[Kept]:
    if not lessons:
        return []
    service = memories_of(workspace)
    results = service.remember_many(lessons)
    memories = {m.id: m for m in service.store.get([result.id for result in results], service.reader())}
    return [(memories.get(result.id), result) for result in results]
