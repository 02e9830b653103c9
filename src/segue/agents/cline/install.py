"""Installs Segue in Cline: a file for each event in its folder for hooks. An existing file stays.

The folder in a project is shared, so the user's own folder is used, and Segue acts only in the projects in
which it was initialised.
"""

from __future__ import annotations

from ..install import OWN, Edit, Installer, InstallTarget, JsonEntry

EVENTS = {
    "TaskStart": "speak",
    "TaskResume": "speak",
    "UserPromptSubmit": "look",
    "PreCompact": "speak",
    "TaskComplete": "record",
    "TaskCancel": "record",
}


class ClineInstaller(Installer):
    name = "cline"
    program = "cline"
    usual_folder = ".cline"
    folder_variable = "CLINE_DIR"

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
            file = self.folder(where) / "data" / "settings" / "cline_mcp_settings.json"
            entry = JsonEntry(("mcpServers", "segue"), where.server_entry())
            edits.append(Edit(file, "MCP server", (entry,)))
        return edits

    def after(self, where: InstallTarget) -> list[str]:
        return ["Cline runs hooks only if they are enabled in its settings"]


INSTALLER = ClineInstaller()
