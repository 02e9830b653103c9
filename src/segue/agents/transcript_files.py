"""What agents have in common whose transcripts are files."""

from __future__ import annotations

import os
import re
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec

from .base import Reader, SearchScope


class FileAgent:
    """The parts of an ``Agent`` that most agents share. The reader is the class ``Reader`` in the module
    ``reader`` beside the agent's own; it is imported when something is read."""

    def reader(self, kept: Any = None) -> Reader:
        package = type(self).__module__.rpartition(".")[0]
        reader: Reader = import_module(".reader", package).Reader(kept)
        return reader

    def load(self, path: Path, native: str) -> bytes:
        return path.read_bytes()

    def retention(self, where: SearchScope) -> int | None:
        return None


def listed(folder: str | Path) -> list[str]:
    """The names in a folder, sorted; empty if it cannot be listed."""
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def json_text_in(path: Path, pattern: re.Pattern[bytes], size: int = 16_384) -> str:
    """The JSON string that is the first group of a pattern, found at the beginning of a file; empty if there
    is none."""
    try:
        with path.open("rb") as file:
            match = pattern.search(file.read(size))
        return str(msgspec.json.decode(match[1])) if match else ""
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return ""
