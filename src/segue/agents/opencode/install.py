"""Installs Segue in OpenCode: a plugin of one file without dependencies, and the MCP server.

The plugin is next to the recording hook, because in OpenCode's own folder for plugins it would make OpenCode
download packages. OpenCode has no configuration for a project that is not shared, so the user's own is
written, and Segue acts only in the projects in which it was initialised.
"""

from __future__ import annotations

import json
from pathlib import Path

from ..._files import read_text
from ..install import CannotEdit, Edit, Installer, InstallTarget, JsonEntry
from ..own_entries import HOOK_OPTIONS, SOURCE_HEAD

PLUGIN = Path(__file__).with_name("plugin.js")


class OpenCodeInstaller(Installer):
    name = "opencode"
    program = "opencode"

    def folder(self, where: InstallTarget) -> Path:
        usual = Path(where.env.get("XDG_CONFIG_HOME") or where.home / ".config") / "opencode"
        return Path(where.env.get("OPENCODE_CONFIG_DIR") or usual)

    def edits(self, where: InstallTarget) -> list[Edit]:
        at = where.root if where.scope == "shared" else self.folder(where)
        names = ("opencode.jsonc", "opencode.json")
        file = next((at / name for name in names if (at / name).exists()), at / "opencode.json")
        entries = []
        if where.mcp:
            value = {"type": "local", "command": list(where.server()), "enabled": True}
            entries.append(JsonEntry(("mcp", "segue"), value))
        if where.scope == "shared":
            plugin = Edit(at / ".opencode" / "plugin" / "segue.js", "plugin", own=rendered(where))
            return [plugin, *([Edit(file, "MCP server", tuple(entries))] if entries else [])]
        own = where.hook.with_name("segue.js")
        entries.append(JsonEntry(("plugin",), own.as_uri(), True))
        return [
            Edit(own, "plugin", own=rendered(where), mode=0o600),
            Edit(file, "plugin and MCP server" if where.mcp else "plugin", tuple(entries)),
        ]


def rendered(where: InstallTarget) -> str:
    """The source of the plugin, with the command that it runs."""
    words = [where.python, *HOOK_OPTIONS, str(where.hook), "opencode"]
    if where.scope == "shared":
        words = ["segue", "hook", "opencode"]
    text = read_text(PLUGIN, encoding="utf-8")
    if "@COMMAND@" not in text:
        raise CannotEdit("the plugin file of this installation is damaged")
    return SOURCE_HEAD + text.replace('"@COMMAND@"', json.dumps(words))


INSTALLER = OpenCodeInstaller()
