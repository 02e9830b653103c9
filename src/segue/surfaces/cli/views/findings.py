"""What `segue doctor` and `segue recover` found, a line each."""

from __future__ import annotations

from typing import Any

from ...render import Style, one_line

_COLOURS = {"ok": "green", "used": "green", "none": "dim", "warn": "yellow", "bad": "red", "damaged": "red"}


def finding_line(style: Style, row: Any) -> str:
    """A finding: its status, what it is about, and the details."""
    word = style.paint(f"{row.status:8}", _COLOURS.get(row.status, "bold"))
    return f"{word} {one_line(row.name)}" + (f": {one_line(row.detail)}" if row.detail else "")
