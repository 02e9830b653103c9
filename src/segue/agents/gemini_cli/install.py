"""Installs Segue in Gemini CLI: hooks and the MCP server in its settings, where times are in milliseconds.

It has no settings for a project that are not shared, so the user's own are written, and Segue acts only in
the projects in which it was initialised. ``PreCompress`` is not used, because it comes before every request.
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
    """Gemini CLI's configuration folder."""
    return where.home / ".gemini"


class GeminiInstaller:
    """The installer for Gemini CLI."""

    name = "gemini-cli"
    title = "Gemini CLI"

    def is_here(self, where: InstallTarget, which: Callable[[str], str | None]) -> bool:
        return bool(which("gemini")) or folder(where).is_dir()

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
            "Gemini CLI does not record a call until it has ended: with --live, a hook before each tool "
            "does, so that a brief after a crash can name it"
        ]


INSTALLER = GeminiInstaller()
