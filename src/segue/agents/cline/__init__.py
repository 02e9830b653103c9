"""Cline and Roo: a folder a task, with JSON documents that are written anew at every change."""

from __future__ import annotations

from .discover import Cline, Flavour

AGENT = Cline(Flavour("cline", "Cline", "saoudrizwan.claude-dev", cli=True))
ROO = Cline(Flavour("roo", "Roo", "rooveterinaryinc.roo-cline"))
