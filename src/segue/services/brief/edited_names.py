"""The names of what is changed and not committed, as the map of the code has them.

Hooks give briefs: nothing is parsed here, and no file is read. Names come from a map that was made before,
and only of files that are as they were then.
"""

from __future__ import annotations

import os
from contextlib import suppress

from ...core.brief.facts import Probe
from ...errors import SegueError
from ..workspace.workspace import Workspace


def edited_names(workspace: Workspace, world: Probe | None) -> dict[str, tuple[str, ...]]:
    """The definitions that differ from the last commit, by the paths of their files; empty without a map."""
    if world is None or not world.dirty or not workspace.sees_tree:
        return {}
    root = workspace.working_tree.root
    path = workspace.home.map_of(root)
    if not path.exists():
        return {}
    from ...effects.files.codemap_file import CodemapFile, changed_ns

    file = CodemapFile(path)
    found = {}
    try:
        for name, one in file.edited(world.dirty).items():
            with suppress(OSError, ValueError):
                about = os.lstat(root / name)
                same = (about.st_size, changed_ns(about)) == (one.size, one.changed_ns)
                if same and one.names and world.head.startswith(one.head or "-"):
                    found[name] = one.names
    except SegueError:
        return {}  # the next update of the map makes it anew
    finally:
        file.close()
    return found
