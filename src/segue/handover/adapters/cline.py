"""Cline: a rule file in ``.clinerules`` for the start of a task, and an engine for its end."""

from __future__ import annotations

from pathlib import Path

from ..agents_md import BEGIN_MARKER, END_MARKER, engine_builder, fitting_block, install, render_block
from ..steps import DEFAULT_CHECKPOINT

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

build_cline_handover_engine = engine_builder("cline")


def clinerules_block(checkpoint: str = DEFAULT_CHECKPOINT) -> str:
    """The block for Cline's rules."""
    return render_block(checkpoint, EXAMPLE_HINT, "task", " in the terminal")


def install_clinerules(
    rules_dir: Path | str = DEFAULT_RULES_DIR, checkpoint: str = DEFAULT_CHECKPOINT,
    filename: str = RULE_FILENAME,
) -> bool:  # fmt: skip
    """Write the rule file, and return whether it changed. Other rule files are not touched."""
    root, block = Path(rules_dir).parent, clinerules_block(checkpoint)
    return install(Path(rules_dir) / filename, fitting_block(block, root, EXAMPLE_HINT, "cline", checkpoint))
