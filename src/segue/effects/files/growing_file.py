"""A growing file, read in whole lines, in memory of a chunk plus its longest line.

A line counts once its newline is there: the writer may be in the middle of the last one. Where reading
ended is a byte offset from which it can go on later.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

CHUNK_BYTES = 1 << 18
"""Small enough for what is made of it to stay in the caches, and for the pages to be used again."""


def chunks(path: Path, start: int = 0, *, size: int = CHUNK_BYTES) -> Iterator[tuple[bytes, int]]:
    """(whole lines with their newlines, offset behind them), until no newline is left; then, if the file
    ends without one, the torn rest with the offset before it."""
    with path.open("rb") as file:
        file.seek(start)
        offset = start
        rest: list[bytes] = []
        while block := file.read(size):
            cut = block.rfind(b"\n") + 1
            if not cut:
                rest.append(block)
                continue
            whole = b"".join([*rest, block[:cut]])
            rest = [block[cut:]] if cut < len(block) else []
            offset += len(whole)
            yield whole, offset
        if rest:
            yield b"".join(rest), offset


def views(block: bytes) -> Iterator[memoryview]:
    """The lines of a block without their newlines and without those that are empty; nothing is copied."""
    whole, at = memoryview(block), 0
    while (end := block.find(b"\n", at)) >= 0:
        if end > at:
            yield whole[at:end]
        at = end + 1
