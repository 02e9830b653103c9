"""Installs Segue in OpenCode: a plugin of one file without dependencies, and the MCP server.

The plugin is next to the recording hook, because in OpenCode's own folder for plugins it would make OpenCode
download packages. OpenCode has no configuration for a project that is not shared, so the user's own is
written, and Segue acts only in the projects in which it was initialised.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from ..install import OWN, CannotEdit, Edit, InstallTarget, JsonEntry

PLUGIN = Path(__file__).with_name("plugin.js")


def folder(where: InstallTarget) -> Path:
    """OpenCode's configuration folder."""
    configured = where.env.get("OPENCODE_CONFIG_DIR")
    if configured:
        return Path(configured)
    return Path(where.env.get("XDG_CONFIG_HOME") or where.home / ".config") / "opencode"


class OpenCodeInstaller:
    """The installer for OpenCode."""

    name = "opencode"
    title = "OpenCode"

    def is_here(self, where: InstallTarget, which: Callable[[str], str | None]) -> bool:
        return bool(which("opencode")) or folder(where).is_dir()

    def edits(self, where: InstallTarget) -> list[Edit]:
        at = where.root if where.scope == "shared" else folder(where)
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
            Edit(file, "plugin and MCP server", tuple(entries)),
        ]

    def rooted(self, where: InstallTarget) -> bool:
        return where.scope != "shared"

    def after(self, where: InstallTarget) -> list[str]:
        return []


def rendered(where: InstallTarget) -> str:
    """The source of the plugin, with the command that it runs."""
    words = [where.python, "-I", "-S", str(where.hook), "opencode"]
    if where.scope == "shared":
        words = ["segue", "hook", "opencode"]
    text = PLUGIN.read_text(encoding="utf-8")
    if "@COMMAND@" not in text:
        raise CannotEdit("the plugin file of this installation is damaged")
    return f"// {OWN}\n" + text.replace('"@COMMAND@"', json.dumps(words))


INSTALLER = OpenCodeInstaller()
