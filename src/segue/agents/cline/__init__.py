"""Cline and Roo: a folder per task, with JSON documents that are rewritten at every change."""

from __future__ import annotations

from ..base import Traits
from .discover import Cline, ClineWithCommand

_CLINE = Traits(
    aliases=("roo",),
    variables=("CLINE_ACTIVE",),
    start="cline",
    rules_file=".clinerules/01-segue-handoff.md",
    hooks="segue.agents.cline.hooks:HOOKS",
    installer="segue.agents.cline.install:INSTALLER",
    takes_context_at_prompts=True,
)
AGENT = ClineWithCommand("cline", "Cline", "saoudrizwan.claude-dev", _CLINE)
ROO = Cline("roo", "Roo", "rooveterinaryinc.roo-cline", Traits())
