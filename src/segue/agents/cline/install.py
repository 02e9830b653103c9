"""Segue in Cline: a file for each event, in its folder for hooks. A file that is there already stays.

The folder of a project is shared, so the user's own is written, and Segue keeps to the projects in which
it was initialised.
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
    """Cline."""

    name = "cline"
    title = "Cline"

    def is_here(self, where: InstallTarget, found: Callable[[str], str | None]) -> bool:
        return bool(found("cline")) or self._data(where).is_dir()

    def _data(self, where: InstallTarget) -> Path:
        given = where.env.get("CLINE_DIR")
        return Path(given) if given else where.home / ".cline"

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
        return ["Cline runs hooks only if they are switched on in its settings"]


INSTALLER = ClineInstaller()
