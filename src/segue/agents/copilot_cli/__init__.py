"""Copilot CLI: ``events.jsonl``, append-only, in a folder a conversation under ``~/.copilot``."""

from __future__ import annotations

from segue.agents.copilot_cli.discover import CopilotCli

AGENT = CopilotCli()
