"""Reading a file that is still growing, in whole lines, with no more in memory than a chunk and its longest
line.

A line counts once its newline is there: the writer may be in the middle of the last one. Reading ends at a
byte offset from which it can continue later.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ..._files import open_file

CHUNK_BYTES = 1 << 18
"""Small enough that what is decoded from a chunk stays in the CPU's caches and its memory is reused."""


def chunks(path: Path, start: int = 0, *, size: int = CHUNK_BYTES) -> Iterator[tuple[bytes, int]]:
    """Whole lines with their newlines, and the offset after them, until no newline is left. If the file ends
    without a newline, the torn rest follows, with the offset before it."""
    with open_file(path) as file:
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
    """The lines of a block that are not empty, without their newlines and without copying them."""
    whole, at = memoryview(block), 0
    while (end := block.find(b"\n", at)) >= 0:
        if end > at:
            yield whole[at:end]
        at = end + 1
