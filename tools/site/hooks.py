"""What `make site` does to each page: links to files outside of docs/ become plain text, since a site has no
such files. Whether those links are right is checked by the tests, in the repository."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Any

_LINK = re.compile(r"(?<!!)\[([^\]]+)\]\((\.\./[^)#\s]*)(#[^)\s]*)?\)")


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Called by MkDocs with the text of a page."""
    folder = PurePosixPath(page.file.src_uri).parent

    def inside(found: re.Match[str]) -> str:
        return found[0] if _depth(folder, found[2]) >= 0 else found[1]

    return _LINK.sub(inside, markdown)


def _depth(folder: PurePosixPath, target: str) -> int:
    """How deep under docs/ a link gets at its highest point; negative if it leaves that folder."""
    depth = lowest = len(folder.parts)
    for part in PurePosixPath(target).parts:
        depth += -1 if part == ".." else 1
        lowest = min(lowest, depth)
    return lowest
