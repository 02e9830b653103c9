"""Installs Segue in Cline: a file for each event in its folder for hooks. An existing file stays.

The folder in a project is shared, so the user's own folder is used, and Segue acts only in the projects in
which it was initialised.
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

from ...core.base.lazy import regex
from ..install import Edit, Installer, InstallTarget, JsonEntry
from ..own_entries import SCRIPT_HEAD
from ..transcript_files import bytes_of, json_object

_DOCUMENTS = regex(r"""^\s*(?:export\s+)?XDG_DOCUMENTS_DIR=["']?([^"'\n]*)""", re.M)

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
        at = where.root / ".clinerules" / "hooks" if shared else _documents(where) / "Cline" / "Hooks"
        edits = [
            Edit(
                at / event, "hook", own=f"{SCRIPT_HEAD}{where.command(self.name, event, mode)}\n",
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
        state = json_object(self.folder(where) / "data" / "globalState.json")
        if state.get("hooksEnabled") is not False:
            return []  # they are on unless somebody switched them off
        return ["Cline's hooks are switched off: switch them on in its settings"]


def _documents(where: InstallTarget) -> Path:
    """The user's folder for documents, where Cline looks for hooks. On Linux it asks ``xdg-user-dir``, whose
    answer without a configured folder is the home folder; without that program it takes ``Documents``."""
    usual = where.home / "Documents"
    if sys.platform != "linux" or not shutil.which("xdg-user-dir", path=where.env.get("PATH")):
        return usual
    config = Path(where.env.get("XDG_CONFIG_HOME") or where.home / ".config")
    lines = bytes_of(config / "user-dirs.dirs").decode("utf-8", "replace")
    named = [match[1] for match in _DOCUMENTS.finditer(lines)] or [where.env.get("XDG_DOCUMENTS_DIR", "")]
    folder = named[-1].replace("\\", "").replace("${HOME}", "$HOME").replace("$HOME", str(where.home))
    return Path(folder) if folder.startswith("/") else where.home


INSTALLER = ClineInstaller()
