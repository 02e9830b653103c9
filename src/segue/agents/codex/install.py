"""Installs Segue in Codex: hooks in ``hooks.json``, the MCP server in ``config.toml``. Hooks run once
trusted.

Codex has no file for a project that is not shared, so the user's own is written, and Segue acts only in the
projects in which it was initialised.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from ..install import Edit, InstallTarget, hook_entries

EVENTS = {
    "SessionStart": ("speak", 10),
    "UserPromptSubmit": ("look", 10),
    "PreCompact": ("speak", 10),
    "Stop": ("speak", 10),
    "SessionEnd": ("speak", 3),
    "Interrupt": ("record", 3),
}
LIVE = {"PostModelRequest": ("glance", 5)}


def folder(where: InstallTarget) -> Path:
    """Codex's configuration folder."""
    configured = where.env.get("CODEX_HOME")
    return Path(configured) if configured else where.home / ".codex"


class CodexInstaller:
    """The installer for Codex."""

    name = "codex"
    title = "Codex"

    def is_here(self, where: InstallTarget, which: Callable[[str], str | None]) -> bool:
        return bool(which("codex")) or folder(where).is_dir()

    def edits(self, where: InstallTarget) -> list[Edit]:
        at = where.root / ".codex" if where.scope == "shared" else folder(where)
        entries = hook_entries(where, self.name, EVENTS | (LIVE if where.live else {}))
        edits = [Edit(at / "hooks.json", "hooks", tuple(entries))]
        drops = f'[hooks.state."{at / "hooks.json"}:'
        if where.scope != "shared" and not where.mcp:
            edits.append(Edit(at / "config.toml", "trust", drops=drops, mode=0o600))
        if where.mcp and where.scope != "shared":
            command, *words = where.server()
            block = (
                f"[mcp_servers.segue]\ncommand = {json.dumps(command)}\nargs = {json.dumps(words)}\n"
                "startup_timeout_sec = 20\n"
            )
            edits.append(Edit(at / "config.toml", "MCP server", block=block, mode=0o600, drops=drops))
        return edits

    def rooted(self, where: InstallTarget) -> bool:
        return where.scope != "shared"

    def after(self, where: InstallTarget) -> list[str]:
        return [
            "Codex runs hooks only after you trust them: review them with /hooks in Codex, "
            "or have Segue mark them as trusted: segue init --agent codex --trust-hooks"
        ]


INSTALLER = CodexInstaller()
