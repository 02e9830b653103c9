"""Codex CLI: a block in AGENTS.md for the start of a session, and an engine for its end."""

from __future__ import annotations

from pathlib import Path

from ..agents_md import BEGIN_MARKER, END_MARKER, engine_builder, fitting_block, install, render_block
from ..steps import DEFAULT_CHECKPOINT

__all__ = [
    "BEGIN_MARKER",
    "DEFAULT_CHECKPOINT",
    "END_MARKER",
    "agents_md_block",
    "build_codex_handover_engine",
    "install_agents_md",
]

EXAMPLE_HINT = "examples/codex-cli/end_of_session.py"

build_codex_handover_engine = engine_builder("codex")


def agents_md_block(checkpoint: str = DEFAULT_CHECKPOINT) -> str:
    """The block for Codex CLI in AGENTS.md."""
    return render_block(checkpoint, EXAMPLE_HINT)


def install_agents_md(path: Path | str = "AGENTS.md", checkpoint: str = DEFAULT_CHECKPOINT) -> bool:
    """Write the block into AGENTS.md, and return whether the file changed."""
    root, block = Path(path).parent, agents_md_block(checkpoint)
    return install(path, fitting_block(block, root, EXAMPLE_HINT, "codex", checkpoint))
