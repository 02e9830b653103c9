"""Copilot CLI: ``events.jsonl``, append-only, in a folder a conversation under ``~/.copilot``."""

from __future__ import annotations

from .discover import CopilotCli

AGENT = CopilotCli()
