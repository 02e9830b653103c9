"""The lines of a transcript that may hold a record, without a word about all others.

A record is a JSON object with at least one field, so a line without a brace, or with too few bytes after it,
holds none. Millions of such lines are passed over at the speed at which bytes are searched.
"""

from __future__ import annotations

from collections.abc import Iterator

from .lazy import regex

RECORD_BYTES_MIN = 12  # {"type":"x"}
_RECORD = regex(rb"\{[^\n]{%d}" % (RECORD_BYTES_MIN - 1))
_BRACE = 0x7B
_BLANKS = b" \t\r\x0b\x0c"


class PassedLines:
    """How many lines were passed over: of whole objects that are too short to say anything, and others."""

    def __init__(self) -> None:
        self.skipped = self.malformed = 0

    @property
    def count(self) -> int:
        return self.skipped + self.malformed

    def add(self, lines: bytes) -> None:
        """Count the lines that are neither blank nor a comment."""
        lines = lines.translate(None, _BLANKS)
        filled = len(lines.split()) - lines.count(b"\n//") - lines.startswith(b"//")
        short = min(filled, lines.count(b"}\n") + lines.endswith(b"}"))
        self.skipped += short
        self.malformed += filled - short


def record_lines(block: bytes, passed: PassedLines) -> Iterator[memoryview]:
    """The lines of a block that may hold a record, without their newlines and without copying them."""
    whole, at, size = memoryview(block), 0, len(block)
    while at < size:
        end = block.find(b"\n", at)
        end = size if end < 0 else end
        if block[at] != _BRACE or end - at < RECORD_BYTES_MIN:
            found = _RECORD.search(block, at)
            begin = block.rfind(b"\n", at, found.start()) + 1 or at if found else size
            if begin > at:
                passed.add(block[at:begin])
            if found is None:
                return
            at, end = begin, block.find(b"\n", found.end())
            end = size if end < 0 else end
        yield whole[at:end]
        at = end + 1
