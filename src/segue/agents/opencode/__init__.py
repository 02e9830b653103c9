"""OpenCode: a SQLite database, read while the agent writes to it, and the output of ``opencode export``."""

from __future__ import annotations

from .discover import OpenCode

AGENT = OpenCode()
