"""Cline: a rule file of its own in ``.clinerules`` for the start of a task, an engine for its end."""

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
    "build_cline_handover_engine",
    "clinerules_block",
    "install_clinerules",
]

DEFAULT_RULES_DIR = ".clinerules"
RULE_FILENAME = "00-agent-handover.md"
EXAMPLE_HINT = "examples/cline/end_of_session.py"


def clinerules_block(checkpoint: str = DEFAULT_CHECKPOINT) -> str:
    """What Cline should be told in its rules."""
    return _agents_md.render_block(checkpoint, EXAMPLE_HINT, "task", " in the terminal")


def install_clinerules(
    rules_dir: Path | str = DEFAULT_RULES_DIR, checkpoint: str = DEFAULT_CHECKPOINT,
    filename: str = RULE_FILENAME,
) -> bool:  # fmt: skip
    """Have the rule file; whether that changed it. Other rule files are not touched."""
    return _agents_md.install(Path(rules_dir) / filename, clinerules_block(checkpoint))


def build_cline_handover_engine(
    *, session_note: str, current_state: str, memory_dir: Path | str = "memory", tag: str = "cline",
    repo_dir: Path | str = ".", publish_paths: list[str] | None = None, push: bool = True,
    pause_file: Path | str | None = None, checkpoint: Path | str = DEFAULT_CHECKPOINT,
) -> HandoverEngine:  # fmt: skip
    """An engine for the end of a task; without ``push`` files on disk are enough."""
    return engine_of(
        "cline", session_note, current_state, memory_dir, tag, repo_dir, publish_paths, push, pause_file,
        checkpoint,
    )  # fmt: skip
