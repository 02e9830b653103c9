"""agent-handover's adapters: instructions for the start of an agent's session, and an engine for its end."""

from __future__ import annotations

from . import cline, codex, opencode

__all__ = ["cline", "codex", "opencode"]
