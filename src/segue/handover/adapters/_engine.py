"""The engine that all adapters build."""

from __future__ import annotations

from pathlib import Path

from ..backends import GitBackend, NullBackend
from ..engine import HandoverEngine
from ..steps import three_steps


def engine_of(
    agent: str, note: str, state: str, memory_dir: Path | str, tag: str, repo_dir: Path | str,
    publish_paths: list[str] | None, push: bool, pause_file: Path | str | None, checkpoint: Path | str,
) -> HandoverEngine:  # fmt: skip
    """Note, state, and a git commit that is pushed; without ``push`` files on disk are enough."""
    paths = publish_paths or [str(memory_dir)]
    return three_steps(
        note=note,
        state=state,
        memory_dir=memory_dir,
        tag=tag,
        backend=GitBackend(repo_dir, paths=paths) if push else NullBackend(),
        message=f"handover: {agent} session ({tag})",
        checkpoint=checkpoint,
        pause_file=pause_file,
    )
