"""Gemini CLI: one JSON document a conversation, later a log of JSON lines in which a later line wins."""

from __future__ import annotations

from .discover import GeminiCli

AGENT = GeminiCli()
