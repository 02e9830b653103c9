"""OpenCode: a SQLite database, read while the agent writes it, and what ``opencode export`` gives."""

from __future__ import annotations

from segue.agents.opencode.discover import OpenCode

AGENT = OpenCode()
