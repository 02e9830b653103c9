"""Copilot CLI: an append-only ``events.jsonl`` in a folder per conversation under ``~/.copilot``."""

from __future__ import annotations

from .discover import CopilotCli

AGENT = CopilotCli()
