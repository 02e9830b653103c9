"""The plugin for Claude Code and Codex: a tree in the package, rendered for this machine.

Both accept the same tree. A variable that only Codex sets says which of them runs a hook.
"""

from __future__ import annotations

import json
from pathlib import Path

from ... import agents
from ..._files import read_text
from ...agents.install import InstallTarget
from ...agents.own_entries import plugin_command
from ...core.base.lazy import regex
from ...effects.files.atomic import check_writable, write_whole
from ...effects.files.project_links import check_stays_inside
from ..workspace.data_folder import DataFolder
from . import hook_file

TREE = Path(agents.__file__).with_name("plugin_tree")
_HOOK = regex(r'"@hook (\w+) (\w+)@"')


def render_plugin(folder: Path, where: InstallTarget, home: DataFolder, version: str) -> list[Path]:
    """Write the tree into a folder and the hook file into the data folder, and return the files of the
    tree."""
    sources = sorted(path for path in TREE.rglob("*") if path.is_file())
    for source in sources:
        check_stays_inside(folder / source.relative_to(TREE))
        check_writable(folder / source.relative_to(TREE))
    home.make()
    hook_file.put(home)
    written = []
    for source in sources:
        text = read_text(source, encoding="utf-8")
        text = _HOOK.sub(
            lambda found: json.dumps(plugin_command(where.python, where.hook, found[1], found[2])), text
        )
        text = text.replace('"@python@"', json.dumps(where.python)).replace("@version@", version)
        if source.name == ".mcp.json" and not where.mcp:
            text = '{ "mcpServers": {} }\n'
        target = folder / source.relative_to(TREE)
        target.parent.mkdir(parents=True, exist_ok=True)
        write_whole(target, text.encode(), mode=0o644)
        written.append(target)
    return written
