"""Installs Segue in Cline: a file for each event in its folder for hooks. An existing file stays.

The folder in a project is shared, so the user's own folder is used, and Segue acts only in the projects in
which it was initialised.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ..install import OWN, Edit, InstallTarget, JsonEntry

EVENTS = {
    "TaskStart": "speak",
    "TaskResume": "speak",
    "UserPromptSubmit": "look",
    "PreCompact": "speak",
    "TaskComplete": "record",
    "TaskCancel": "record",
}


class ClineInstaller:
    """The installer for Cline."""

    name = "cline"
    title = "Cline"

    def is_here(self, where: InstallTarget, which: Callable[[str], str | None]) -> bool:
        return bool(which("cline")) or self._data(where).is_dir()

    def _data(self, where: InstallTarget) -> Path:
        configured = where.env.get("CLINE_DIR")
        return Path(configured) if configured else where.home / ".cline"

    def edits(self, where: InstallTarget) -> list[Edit]:
        shared = where.scope == "shared"
        at = where.root / ".clinerules" / "hooks" if shared else where.home / "Documents" / "Cline" / "Hooks"
        edits = [
            Edit(
                at / event, "hook", own=f"#!/bin/sh\n# {OWN}\n{where.command(self.name, event, mode)}\n",
                mode=0o755,
            )
            for event, mode in EVENTS.items()
        ]  # fmt: skip
        if where.mcp and not shared:
            command, *words = where.server()
            file = self._data(where) / "data" / "settings" / "cline_mcp_settings.json"
            entry = JsonEntry(("mcpServers", "segue"), {"command": command, "args": words})
            edits.append(Edit(file, "MCP server", (entry,)))
        return edits

    def rooted(self, where: InstallTarget) -> bool:
        return where.scope != "shared"

    def after(self, where: InstallTarget) -> list[str]:
        return ["Cline runs hooks only if they are enabled in its settings"]


INSTALLER = ClineInstaller()
