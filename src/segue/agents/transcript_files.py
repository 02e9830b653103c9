"""What agents have in common whose transcripts are files."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec

from .._files import open_file
from ..core.base.lazy import regex
from ..core.base.long_json import LONG_BYTES, LongJson
from .base import DECODE_ERRORS, Reader, SearchScope

_PIECE_BYTES = 1 << 20
_COMMENT = regex(rb"^\s*//.*$", re.M)


class FileAgent:
    """The parts of an ``Agent`` that most agents share. The reader is the class ``Reader`` in the module
    ``reader`` beside the agent's own; it is imported when something is read."""

    def reader(self, kept: Any = None) -> Reader:
        package = type(self).__module__.rpartition(".")[0]
        reader: Reader = import_module(".reader", package).Reader(kept)
        return reader

    def load(self, path: Path, native: str) -> bytes:
        return document(path)

    def retention(self, where: SearchScope) -> int | None:
        return None


def listed(folder: str | Path) -> list[str]:
    """The names in a folder, sorted; empty if it cannot be listed."""
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def stated(paths: Iterable[Path]) -> Iterator[tuple[Path, os.stat_result]]:
    """Each path with its stat. What does not exist, perhaps because it was deleted meanwhile, is left
    out."""
    for path in paths:
        try:
            yield path, path.stat()
        except OSError:
            continue


def document(path: Path) -> bytes:
    """The JSON document in a file; the long strings of a very long one are shortened. Raises OSError."""
    with open_file(path) as file:
        body = file.read(LONG_BYTES + 1)
        if len(body) <= LONG_BYTES:
            return body
        long = LongJson()
        while body:
            long.feed(body)
            body = file.read(_PIECE_BYTES)
        return long.result()


def bytes_of(path: str | Path, size: int = -1) -> bytes:
    """The content of a file, or so many bytes from its beginning; empty if it cannot be read."""
    try:
        with open_file(path) as file:
            return file.read(size)
    except OSError:
        return b""


def json_text(head: bytes, pattern: re.Pattern[bytes]) -> str:
    """The JSON string that is the first group of a pattern; empty if there is none."""
    match = pattern.search(head)
    try:
        return str(msgspec.json.decode(match[1])) if match else ""
    except DECODE_ERRORS:
        return ""


def json_object(path: Path) -> dict[str, Any]:
    """The JSON object in a file, which may have lines with comments; empty if it cannot be read."""
    try:
        value = msgspec.json.decode(_COMMENT.sub(b"", bytes_of(path)))
    except DECODE_ERRORS:
        return {}
    return value if isinstance(value, dict) else {}
