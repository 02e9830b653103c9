"""What several readers need: times, the plain text inside arguments, files named in a patch."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any

from segue.core.steps import Act

_PATCHED = re.compile(r"^\*\*\* (Update|Add|Delete) File: (.+?)\s*$|^\*\*\* Move to: (.+?)\s*$", re.M)

_DEPTH_MAX = 12


def seconds(stamp: Any) -> float:
    """An ISO time, or a number of seconds or milliseconds, as seconds since the epoch; else 0."""
    try:
        if isinstance(stamp, str):
            return datetime.fromisoformat(stamp).timestamp()
        if isinstance(stamp, int | float):
            return stamp / 1000 if stamp > 1e11 else float(stamp)
    except (ValueError, OverflowError, OSError):
        pass
    return 0.0


def plain(value: Any, depth: int = 0) -> str:
    """The text inside a value: strings without keys and escapes, a line each."""
    if isinstance(value, str):
        return value
    if depth > _DEPTH_MAX:
        return ""
    if isinstance(value, dict):
        return "\n".join(filter(None, [plain(one, depth + 1) for one in value.values()]))
    if isinstance(value, list | tuple):
        return "\n".join(filter(None, [plain(one, depth + 1) for one in value]))
    return ""


def blocks_text(content: Any) -> str:
    """The text of a message's content: a string, or a list of blocks of which some hold text."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = []
        for block in content:
            if isinstance(block, str):
                parts.append(block)
            elif isinstance(block, dict):
                text = block.get("text")
                parts.append(text if isinstance(text, str) else blocks_text(block.get("content")))
        return "\n".join(part for part in parts if part)
    return ""


def patched(patch: str) -> tuple[Act, tuple[str, ...]]:
    """What an ``*** Begin Patch`` text does to which files."""
    found = _PATCHED.findall(patch)
    paths = tuple(dict.fromkeys(path or moved for _, path, moved in found))
    verbs = {verb for verb, _, _ in found if verb}
    act: Act = "create" if verbs == {"Add"} else "delete" if verbs == {"Delete"} else "edit"
    return act, paths
