"""Reading a file that is still growing, in whole lines, with a bounded part of it in memory.

A line counts once its newline is there: the writer may be in the middle of the last one. Reading ends at a
byte offset from which it can continue later. The long strings of a very long line are shortened. Under a
deadline the parts are small at first, and as small as they must be where they take long, whatever is in them.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

from ..._files import open_file
from ...core.base.long_json import LONG_BYTES, LongJson
from ..deadline import NEVER, Deadline

CHUNK_BYTES = 1 << 18
"""Small enough that what is decoded from a chunk stays in the CPU's caches and its memory is reused."""
_FIRST_BYTES, _LEAST_BYTES = 1 << 16, 1 << 12
_QUICK_SECONDS, _SLOW_SECONDS = 0.005, 0.02
"""How long a part may take under a deadline before the next ones are smaller."""
_SHORTENED_BYTES_MAX = 32 << 20
"""A line that is longer still, with its long strings shortened, is no record of any agent."""


def chunks(
    path: Path, start: int = 0, *, size: int = CHUNK_BYTES, until: Deadline = NEVER
) -> Iterator[tuple[bytes, int]]:
    """Whole lines with their newlines, and the offset after them, until no newline is left. If the file ends
    without a newline, the torn rest follows, with the offset before it. Behind the first part nothing follows
    once ``until`` is over."""
    parts = _Parts(size, until)
    with open_file(path) as file:
        file.seek(start)
        offset = start
        rest = _Rest()
        while block := file.read(parts.next_bytes()):
            cut = block.rfind(b"\n") + 1
            if not cut:
                rest.add(block)
                if until.is_over:
                    return
                continue
            offset += rest.size + cut
            first = block.find(b"\n") if rest.size else 0
            rest.add(block[:first])
            yield rest.taken() + block[first:cut], offset
            rest.add(block[cut:])
            if until.is_over:
                return
        if rest.size:
            yield rest.taken(), offset


class _Parts:
    """How much is read at once: under a deadline as much as was quickly worked through the last time."""

    def __init__(self, most: int, until: Deadline) -> None:
        self._most, self._until = most, until
        self._bytes = min(most, _FIRST_BYTES) if until.is_set else most
        self._at = 0.0

    def next_bytes(self) -> int:
        if self._until.is_set:
            now, before = time.monotonic(), self._at
            self._at = now
            if before and now - before > _SLOW_SECONDS:
                self._bytes = max(_LEAST_BYTES, self._bytes // 4)
            elif before and now - before < _QUICK_SECONDS:
                self._bytes = min(self._most, self._bytes * 2)
        return self._bytes


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
