"""Installs Segue in Codex: hooks in ``hooks.json``, the MCP server in ``config.toml``. Hooks run once
trusted.

Codex has no file for a project that is not shared, so the user's own is written, and Segue acts only in the
projects in which it was initialised.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from ...core.base.lazy import regex
from ..install import Edit, Installer, InstallTarget
from ..own_entries import own_runs
from ..transcript_files import json_object

_CAPITAL = regex(r"(?<!^)([A-Z])")


def own_places(file: Path, hook: Path) -> list[str]:
    """Where our hooks stand in ``hooks.json``, in the words by which Codex notes which ones are trusted."""
    events = json_object(Path(os.path.realpath(file))).get("hooks")
    return [
        f"{_words(event)}:{place}:{run}"
        for event, groups in (events.items() if isinstance(events, dict) else ())
        for place, group in enumerate(groups if isinstance(groups, list) else ())
        for run in own_runs(group, hook)
    ]


def _words(event: str) -> str:
    return _CAPITAL.sub(r"_\1", event).lower()


class CodexInstaller(Installer):
    name = "codex"
    program = "codex"
    usual_folder = ".codex"
    folder_variable = "CODEX_HOME"
    events = {
        "SessionStart": ("speak", 10),
        "UserPromptSubmit": ("look", 10),
        "PreCompact": ("speak", 10),
        "Stop": ("speak", 10),
        "SessionEnd": ("speak", 3),
        "Interrupt": ("record", 3),
    }
    live_events = {"PostModelRequest": ("glance", 5)}

    def edits(self, where: InstallTarget) -> list[Edit]:
        at = where.root / ".codex" if where.scope == "shared" else self.folder(where)
        entries = self.hook_entries(where)
        edits = [Edit(at / "hooks.json", "hooks", tuple(entries))]
        if where.scope == "shared":
            return edits
        file = at / "hooks.json"
        drops = tuple(f'[hooks.state."{file}:{place}"]' for place in own_places(file, where.hook))
        if not where.mcp:
            edits.append(Edit(at / "config.toml", "trust", drops=drops, mode=0o600))
        else:
            command, *words = where.server()
            block = (
                f"[mcp_servers.segue]\ncommand = {json.dumps(command)}\nargs = {json.dumps(words)}\n"
                "startup_timeout_sec = 20\n"
            )
            edits.append(Edit(at / "config.toml", "MCP server", block=block, mode=0o600, drops=drops))
        return edits

    def after(self, where: InstallTarget) -> list[str]:
        return [
            "Codex runs hooks only after you trust them: review them with /hooks in Codex, "
            "or have Segue mark them as trusted: segue init --agent codex --trust-hooks"
        ]


INSTALLER = CodexInstaller()
