"""Installs Segue in Claude Code: hooks in a settings file, and the MCP server."""

from __future__ import annotations

from pathlib import Path

from ..install import CannotEdit, Edit, Installer, InstallTarget, JsonEntry, Scope, value_in
from ..own_entries import is_own_member

STATUS_LINE = "statusLine"


class ClaudeInstaller(Installer):
    name = "claude-code"
    program = "claude"
    usual_folder = ".claude"
    folder_variable = "CLAUDE_CONFIG_DIR"
    events = {
        "SessionStart": ("speak", 10),
        "UserPromptSubmit": ("look", 10),
        "PreCompact": ("speak", 10),
        "Stop": ("speak", 10),
        "SubagentStop": ("record", 5),
        "StopFailure": ("record", 5),
        "SessionEnd": ("speak", 10),
    }
    live_events = {"PostToolBatch": ("glance", 5)}

    def edits(self, where: InstallTarget) -> list[Edit]:
        settings = self._files(where)[where.scope]
        entries = self.hook_entries(where)
        if where.status_line or (where.offers_status_line and not self.has_own_line(where)):
            line = {"type": "command", "command": where.command(self.name, "StatusLine", "speak")}
            entries.append(JsonEntry((STATUS_LINE,), line, replaces=True))
        edits = [Edit(settings, "hooks", tuple(entries)), *self._server(where)]
        exclude = where.exclude_file() if where.scope == "project" else None
        if exclude is not None:  # Claude Code has git ignore the file when it makes it itself
            edits.append(
                Edit(exclude, "local settings, ignored by git", block="/.claude/settings.local.json\n")
            )
        return edits

    def _files(self, where: InstallTarget) -> dict[Scope, Path]:
        """The settings files, by scope."""
        return {
            "project": where.root / ".claude" / "settings.local.json",
            "shared": where.root / ".claude" / "settings.json",
            "user": self.folder(where) / "settings.json",
        }

    def has_own_line(self, where: InstallTarget) -> bool:
        """Whether the user or the project has a status line that is not ours, in whichever file; also if a
        file cannot be understood."""
        try:
            found = [value_in(path, STATUS_LINE) for path in self._files(where).values()]
        except CannotEdit:
            return True
        return any(line is not None and not is_own_member(line, line, where.hook) for line in found)

    def _server(self, where: InstallTarget) -> list[Edit]:
        if not where.mcp:
            return []
        inside = ("projects", str(where.root)) if where.scope == "project" else ()
        value = {"type": "stdio", **where.server_entry()}
        entry = JsonEntry((*inside, "mcpServers", "segue"), value)
        if where.scope == "shared":
            return [Edit(where.root / ".mcp.json", "MCP server", (entry,))]
        file = Path(where.env.get("CLAUDE_CONFIG_DIR") or where.home) / ".claude.json"
        return [Edit(file, "MCP server", (entry,), mode=0o600)]

    def rooted(self, where: InstallTarget) -> bool:
        return False


INSTALLER = ClaudeInstaller()
