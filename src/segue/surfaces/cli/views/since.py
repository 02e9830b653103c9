"""What changed since the work was left, as it looks on a terminal."""

from __future__ import annotations

from ....core.resume.changes import Delta
from ....core.resume.changes_text import FIRST, UNKNOWN, change_lines
from ...render import Style, cut


def since_lines(delta: Delta, style: Style) -> list[str]:
    """The report with its headings in bold; long lines are cut, except why something is unknown."""
    heading, *lines = change_lines(delta)
    return [
        style.paint(heading, "bold"),
        *(style.paint(line, "bold") if line == FIRST else _fitted(line, style) for line in lines),
    ]


def _fitted(line: str, style: Style) -> str:
    return line if line.startswith(UNKNOWN) else cut(line, style.width, style)
