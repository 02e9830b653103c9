"""OpenCode: a block in AGENTS.md for the start of a session, an engine for its end."""

from __future__ import annotations

from pathlib import Path

from ..engine import HandoverEngine
from . import _agents_md
from ._agents_md import BEGIN_MARKER, DEFAULT_CHECKPOINT, END_MARKER
from ._engine import engine_of

__all__ = [
    "BEGIN_MARKER",
    "DEFAULT_CHECKPOINT",
    "END_MARKER",
    "agents_md_block",
    "build_opencode_handover_engine",
    "install_agents_md",
]

EXAMPLE_HINT = "examples/opencode/end_of_session.py"


def agents_md_block(checkpoint: str = DEFAULT_CHECKPOINT) -> str:
    """What OpenCode should be told in AGENTS.md."""
    return _agents_md.render_block(checkpoint, EXAMPLE_HINT)


def install_agents_md(path: Path | str = "AGENTS.md", checkpoint: str = DEFAULT_CHECKPOINT) -> bool:
    """Have the block in AGENTS.md; whether that changed the file."""
    return _agents_md.install(path, agents_md_block(checkpoint))


def build_opencode_handover_engine(
    *, session_note: str, current_state: str, memory_dir: Path | str = "memory", tag: str = "opencode",
    repo_dir: Path | str = ".", publish_paths: list[str] | None = None, push: bool = True,
    pause_file: Path | str | None = None, checkpoint: Path | str = DEFAULT_CHECKPOINT,
) -> HandoverEngine:  # fmt: skip
    """An engine for the end of a session; without ``push`` files on disk are enough."""
    return engine_of(
        "opencode", session_note, current_state, memory_dir, tag, repo_dir, publish_paths, push, pause_file,
        checkpoint,
    )  # fmt: skip
