"""Segue in OpenCode: a plugin of one file that needs no package, named in its configuration, and the MCP
server.

The plugin lies beside the recording hook, not in OpenCode's folder of plugins: there it would make
OpenCode fetch packages. OpenCode has no configuration for one project that is not shared, so the user's
own is written, and Segue keeps to the projects in which it was initialised.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from ..install import OWN, CannotEdit, Edit, InstallTarget, JsonEntry

PLUGIN = Path(__file__).with_name("plugin.js")


def folder(where: InstallTarget) -> Path:
    """OpenCode's own folder."""
    given = where.env.get("OPENCODE_CONFIG_DIR")
    if given:
        return Path(given)
    return Path(where.env.get("XDG_CONFIG_HOME") or where.home / ".config") / "opencode"


class OpenCodeInstaller:
    """OpenCode."""

    name = "opencode"
    title = "OpenCode"

    def is_here(self, where: InstallTarget, found: Callable[[str], str | None]) -> bool:
        return bool(found("opencode")) or folder(where).is_dir()

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
    """The plugin, with the command that it runs."""
    words = [where.python, "-I", "-S", str(where.hook), "opencode"]
    if where.scope == "shared":
        words = ["segue", "hook", "opencode"]
    text = PLUGIN.read_text(encoding="utf-8")
    if "@COMMAND@" not in text:
        raise CannotEdit("the plugin of this package is not whole")
    return f"// {OWN}\n" + text.replace('"@COMMAND@"', json.dumps(words))


INSTALLER = OpenCodeInstaller()
