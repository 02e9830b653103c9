"""Installs Segue in Claude Code: hooks in a settings file, and the MCP server."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ..install import Edit, InstallTarget, JsonEntry, hook_entries

EVENTS = {
    "SessionStart": ("speak", 10),
    "UserPromptSubmit": ("look", 10),
    "PreCompact": ("speak", 10),
    "Stop": ("speak", 10),
    "StopFailure": ("record", 5),
    "SessionEnd": ("speak", 10),
}
LIVE = {"PostToolBatch": ("glance", 5)}


def folder(where: InstallTarget) -> Path:
    """Claude Code's configuration folder."""
    configured = where.env.get("CLAUDE_CONFIG_DIR")
    return Path(configured) if configured else where.home / ".claude"


class ClaudeInstaller:
    """The installer for Claude Code."""

    name = "claude-code"
    title = "Claude Code"

    def is_here(self, where: InstallTarget, which: Callable[[str], str | None]) -> bool:
        return bool(which("claude")) or folder(where).is_dir()

    def edits(self, where: InstallTarget) -> list[Edit]:
        settings = {
            "project": where.root / ".claude" / "settings.local.json",
            "shared": where.root / ".claude" / "settings.json",
            "user": folder(where) / "settings.json",
        }[where.scope]
        entries = hook_entries(where, self.name, EVENTS | (LIVE if where.live else {}))
        if where.status_line:
            line = {"type": "command", "command": where.command(self.name, "StatusLine", "speak")}
            entries.append(JsonEntry(("statusLine",), line))
        edits = [Edit(settings, "hooks", tuple(entries))]
        return [*edits, *self._server(where)]

    def _server(self, where: InstallTarget) -> list[Edit]:
        if not where.mcp:
            return []
        command, *words = where.server()
        value = {"type": "stdio", "command": command, "args": words}
        if where.scope == "shared":
            return [
                Edit(where.root / ".mcp.json", "MCP server", (JsonEntry(("mcpServers", "segue"), value),))
            ]
        configured = where.env.get("CLAUDE_CONFIG_DIR")
        file = Path(configured) / ".claude.json" if configured else where.home / ".claude.json"
        inside = ("projects", str(where.root)) if where.scope == "project" else ()
        return [Edit(file, "MCP server", (JsonEntry((*inside, "mcpServers", "segue"), value),), mode=0o600)]

    def rooted(self, where: InstallTarget) -> bool:
        return False

    def after(self, where: InstallTarget) -> list[str]:
        return []


INSTALLER = ClaudeInstaller()
