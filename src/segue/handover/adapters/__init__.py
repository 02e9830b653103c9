"""agent-handover's adapters: what an agent is told at its start, and an engine for its end."""

from __future__ import annotations

from . import cline, codex, opencode

__all__ = ["cline", "codex", "opencode"]
