"""Reading a file that is still growing, in whole lines, with a bounded part of it in memory.

A line counts once its newline is there: the writer may be in the middle of the last one. Reading ends at a
byte offset from which it can continue later. The long strings of a very long line are shortened.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ..._files import open_file
from ...core.base.long_json import LONG_BYTES, LongJson

CHUNK_BYTES = 1 << 18
"""Small enough that what is decoded from a chunk stays in the CPU's caches and its memory is reused."""
_SHORTENED_BYTES_MAX = 32 << 20
"""A line that is longer still, with its long strings shortened, is no record of any agent."""


def chunks(path: Path, start: int = 0, *, size: int = CHUNK_BYTES) -> Iterator[tuple[bytes, int]]:
    """Whole lines with their newlines, and the offset after them, until no newline is left. If the file ends
    without a newline, the torn rest follows, with the offset before it."""
    with open_file(path) as file:
        file.seek(start)
        offset = start
        rest = _Rest()
        while block := file.read(size):
            cut = block.rfind(b"\n") + 1
            if not cut:
                rest.add(block)
                continue
            offset += rest.size + cut
            first = block.find(b"\n") if rest.size else 0
            rest.add(block[:first])
            yield rest.taken() + block[first:cut], offset
            rest.add(block[cut:])
        if rest.size:
            yield rest.taken(), offset


class _Rest:
    """The beginning of a line whose end was not read yet."""

    def __init__(self) -> None:
        self.size = 0
        self._blocks: list[bytes] = []
        self._long: LongJson | None = None

    def add(self, block: bytes) -> None:
        self.size += len(block)
        if self._long is not None:
            self._long.feed(block)
            return
        self._blocks.append(block)
        if self.size > LONG_BYTES:
            self._long = LongJson(bytes_max=_SHORTENED_BYTES_MAX)
            for one in self._blocks:
                self._long.feed(one)

    def taken(self) -> bytes:
        """All of it, shortened if it is very long; after this there is none."""
        body = b"".join(self._blocks) if self._long is None else self._long.result()
        self.size, self._blocks, self._long = 0, [], None
        return body
