"""Segue in Gemini CLI: hooks and the MCP server in its settings. Time limits are in milliseconds there.

It has no settings for one project that are not shared, so the user's own are written, and Segue keeps to
the projects in which it was initialised. ``PreCompress`` is left alone: it comes before every request.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ..install import Edit, InstallTarget, JsonEntry, hook_entries

EVENTS = {
    "SessionStart": ("speak", 10_000),
    "BeforeAgent": ("look", 10_000),
    "AfterAgent": ("speak", 10_000),
    "SessionEnd": ("record", 5_000),
}
LIVE = {"BeforeTool": ("record", 5_000), "AfterTool": ("record", 5_000)}


def folder(where: InstallTarget) -> Path:
    """Gemini CLI's own folder."""
    return where.home / ".gemini"


class GeminiInstaller:
    """Gemini CLI."""

    name = "gemini-cli"
    title = "Gemini CLI"

    def is_here(self, where: InstallTarget, found: Callable[[str], str | None]) -> bool:
        return bool(found("gemini")) or folder(where).is_dir()

    def edits(self, where: InstallTarget) -> list[Edit]:
        at = where.root / ".gemini" if where.scope == "shared" else folder(where)
        entries = hook_entries(where, self.name, EVENTS | (LIVE if where.live else {}), name="segue")
        if where.mcp:
            command, *words = where.server()
            entries.append(JsonEntry(("mcpServers", "segue"), {"command": command, "args": words}))
        return [Edit(at / "settings.json", "hooks and MCP server", tuple(entries))]

    def rooted(self, where: InstallTarget) -> bool:
        return where.scope != "shared"

    def after(self, where: InstallTarget) -> list[str]:
        if where.live:
            return []
        return [
            "Gemini CLI writes a call that is under way nowhere: with --live a hook before each tool does, "
            "so that a brief after a crash can name it"
        ]


INSTALLER = GeminiInstaller()
