"""OpenCode: a SQLite database, read while the agent writes it, and what ``opencode export`` gives."""

from __future__ import annotations

from .discover import OpenCode

AGENT = OpenCode()
