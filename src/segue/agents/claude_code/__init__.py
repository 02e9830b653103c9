"""Claude Code: JSON lines under ``~/.claude/projects``, append-only, one file per conversation."""

from __future__ import annotations

from .discover import ClaudeCode

AGENT = ClaudeCode()
