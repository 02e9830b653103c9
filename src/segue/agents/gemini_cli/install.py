"""Installs Segue in Gemini CLI: hooks and the MCP server in its settings, where times are in milliseconds.

It has no settings for a project that are not shared, so the user's own are written, and Segue acts only in
the projects in which it was initialised. ``PreCompress`` is not used, because it comes before every request.
"""

from __future__ import annotations

from ..install import Edit, Installer, InstallTarget, JsonEntry


class GeminiInstaller(Installer):
    name = "gemini-cli"
    program = "gemini"
    usual_folder = ".gemini"
    events = {
        "SessionStart": ("speak", 10_000),
        "BeforeAgent": ("look", 10_000),
        "AfterAgent": ("speak", 10_000),
        "SessionEnd": ("record", 5_000),
    }
    live_events = {"BeforeTool": ("record", 5_000), "AfterTool": ("record", 5_000)}

    def edits(self, where: InstallTarget) -> list[Edit]:
        at = where.root / ".gemini" if where.scope == "shared" else self.folder(where)
        entries = self.hook_entries(where, name="segue")
        if where.mcp:
            entries.append(JsonEntry(("mcpServers", "segue"), where.server_entry()))
        what = "hooks and MCP server" if where.mcp else "hooks"
        return [Edit(at / "settings.json", what, tuple(entries))]

    def after(self, where: InstallTarget) -> list[str]:
        if where.live:
            return []
        return [
            "Gemini CLI does not record a call until it has ended: with --live, a hook before each tool "
            "does, so that a brief after a crash can name it"
        ]


INSTALLER = GeminiInstaller()
