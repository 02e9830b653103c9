"""The store of the children of the crash tests: the file in their home, unless that names another store."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def store_in(home: Path | str) -> str | None:
    """The address in ``home/store``, if there is such a file."""
    named = Path(home) / "store"
    return named.read_text() if named.exists() else None


def key_in(home: Path | str) -> dict[str, Any]:
    """The key of a server as a setting, if the home has a file with one."""
    named = Path(home) / "key"
    return {"api_key": named.read_text()} if named.exists() else {}
