"""Reading a broken store: every row that is still whole, from the pages themselves.

SQLite refuses a file with a bad header or tree; the rows on its pages are mostly fine. Here
the leaf pages of the file and of its write-ahead log are read one by one, without trusting
any tree. Every event carries hashes, so a row is taken only if it is what was written; what
cannot be read is simply not there, and the caller names what is missing.
"""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from ..._files import read_bytes
from ...core.base import canonical
from ...core.base.values import Value, count
from ...core.journal.event import Event, read_event
from ...core.journal.pieces import address as address_of

_LEAF = 0x0D
_WAL_MAGIC = (0x377F0682, 0x377F0683)


class Loose(Value):
    """An event that was found."""

    event: Event
    sure: bool
    """From the newest committed state of its page."""
    leftover: bool = False
    """From nothing but a leftover of the log: it may have been written and never committed."""


class Wreck(Value):
    """All that could be read."""

    names: dict[int, str]
    events: list[Loose]
    pieces: dict[str, bytes]
    erased_pieces: frozenset[str]
    heads: dict[int, int]
    """By stream: a version that it is known to have had, from a snapshot that outlived events."""
    notes: list[str]
    memories: list[bytes] = []
    """Bodies of memories, of any revision; what is sure comes first."""


def salvage(path: Path) -> Wreck:
    """Every whole row of a store's file and log."""
    notes: list[str] = []
    body = read_bytes(path) if path.is_file() else b""
    log_path = path.with_name(path.name + "-wal")
    log = read_bytes(log_path) if log_path.is_file() else b""
    size = _page_size(body, notes) if body else _log_page_size(log)
    sure, leftovers = _log_pages(log, size, notes)
    pages = {i + 1: body[i * size : (i + 1) * size] for i in range((len(body) + size - 1) // size)}
    newest = {**pages, **sure}
    carver = _Carver(newest, size)
    for number, page in sorted(newest.items()):
        carver.carve(number, page, sure=True)
    for number, page in pages.items():
        if number in sure:
            carver.carve(number, page, sure=False)
    for number, page in leftovers:
        carver.carve(number, page, sure=False, leftover=True)
    if carver.broken:
        notes.append(f"not readable: {count(carver.broken, 'row')}")
    wanted = struct.unpack(">I", body[28:32])[0] if len(body) >= 32 else 0
    if len(body) < wanted * size and not sure:
        notes.append(f"it ends after {len(body):,} of {wanted * size:,} bytes: later events may be missing")
    erased = frozenset(carver.erased)
    events, memories = list(carver.events.values()), list(carver.memories)
    return Wreck(carver.names, events, carver.pieces, erased, carver.heads, notes, memories)


def with_log(path: Path) -> bytes:
    """The bytes of a database with the committed pages of its write-ahead log in their places, as a database
    without a log."""
    body = bytearray(read_bytes(path))
    log = read_bytes(path.with_name(path.name + "-wal"))
    size = _page_size(bytes(body[:100]), []) if body else _log_page_size(log)
    for number, page in _log_pages(log, size, [])[0].items():
        end = number * size
        body.extend(bytes(max(0, end - len(body))))
        body[end - size : end] = page
    if len(body) >= 20:
        body[18:20] = b"\x01\x01"  # the journal mode: read and written without a log
    return bytes(body)


def _page_size(body: bytes, notes: list[str]) -> int:
    if body[:16] == b"SQLite format 3\x00":
        size: int = struct.unpack(">H", body[16:18])[0]
        size = 65536 if size == 1 else size
        if size >= 512 and size & (size - 1) == 0:
            return size
    if body:
        notes.append("the file's header is damaged; pages of 4096 bytes assumed")
    return 4096


def _log_page_size(log: bytes) -> int:
    size: int = struct.unpack(">I", log[8:12])[0] if len(log) >= 32 else 4096
    return size if 512 <= size <= 65536 and size & (size - 1) == 0 else 4096


def _log_pages(log: bytes, size: int, notes: list[str]) -> tuple[dict[int, bytes], list[tuple[int, bytes]]]:
    """(the newest committed page by number, pages that are left over from elsewhere)."""
    if len(log) < 32:
        return {}, []
    magic, _, page_size, _, salt1, salt2, sum1, sum2 = struct.unpack(">8I", log[:32])
    order = ">" if magic & 1 else "<"
    sums = _checksum(log[:24], order, (0, 0))
    good = magic in _WAL_MAGIC and page_size == size and sums == (sum1, sum2)
    if not good:
        notes.append("the log's header is damaged")
    committed: dict[int, bytes] = {}
    pending: dict[int, bytes] = {}
    leftovers: list[tuple[int, bytes]] = []
    for at in range(32, len(log) - size - 23, size + 24):
        frame, page = log[at : at + 24], log[at + 24 : at + 24 + size]
        number, commit, frame1, frame2, want1, want2 = struct.unpack(">6I", frame)
        if good:
            sums = _checksum(page, order, _checksum(frame[:8], order, sums))
            good = (frame1, frame2) == (salt1, salt2) and sums == (want1, want2)
        if not good:
            leftovers.append((number, page))
            continue
        if number in committed:
            leftovers.append((number, committed[number]))
        pending[number] = page
        if commit:
            committed.update(pending)
            pending = {}
    leftovers += list(pending.items())
    return committed, leftovers


def _checksum(data: bytes, order: str, start: tuple[int, int]) -> tuple[int, int]:
    one, two = start
    words = struct.unpack(f"{order}{len(data) // 4}I", data)
    for i in range(0, len(words), 2):
        one = (one + words[i] + two) & 0xFFFFFFFF
        two = (two + words[i + 1] + one) & 0xFFFFFFFF
    return one, two


class _Carver:
    def __init__(self, pages: dict[int, bytes], size: int) -> None:
        self._pages, self._size = pages, size
        self.names: dict[int, str] = {}
        self.events: dict[tuple[int, bytes], Loose] = {}
        self.pieces: dict[str, bytes] = {}
        self.erased: set[str] = set()
        self.heads: dict[int, int] = {}
        self.memories: dict[bytes, None] = {}
        self.broken = 0

    def carve(self, number: int, page: bytes, *, sure: bool, leftover: bool = False) -> None:
        """Take every whole row of a leaf page."""
        start = 100 if number == 1 else 0
        if len(page) < start + 8 or page[start] != _LEAF:
            return
        count = struct.unpack(">H", page[start + 3 : start + 5])[0]
        for i in range(count):
            place = start + 8 + 2 * i
            pointer = struct.unpack(">H", page[place : place + 2])[0] if place + 2 <= len(page) else 0
            try:
                self._take(*self._cell(page, pointer), sure=sure, leftover=leftover)
            except (IndexError, ValueError, struct.error, UnicodeDecodeError):
                self.broken += 1

    def _cell(self, page: bytes, at: int) -> tuple[int, list[Any]]:
        length, at = _varint(page, at)
        rowid, at = _varint(page, at)
        usable = self._size
        most, least = usable - 35, (usable - 12) * 32 // 255 - 23
        local = length
        if length > most:
            local = least + (length - least) % (usable - 4)
            local = local if local <= most else least
        payload = page[at : at + local]
        if length > local:
            first = struct.unpack(">I", page[at + local : at + local + 4])[0]
            payload += self._overflow(first, length - local)
        if len(payload) != length or length > 1 << 30:
            raise ValueError("a row that ends early")
        return rowid, list(_record(payload))

    def _overflow(self, number: int, wanted: int) -> bytes:
        parts: list[bytes] = []
        while number and wanted > 0:
            page = self._pages.get(number, b"")
            if len(page) < self._size:
                raise ValueError("an overflow page that is gone")
            parts.append(page[4 : 4 + wanted])
            wanted -= len(parts[-1])
            number = struct.unpack(">I", page[:4])[0]
        return b"".join(parts)

    def _take(self, rowid: int, row: list[Any], *, sure: bool, leftover: bool) -> None:
        kinds = [type(value) for value in row]
        if kinds[:4] == [type(None), bytes, bytes, bytes] and len(row) == 5 and len(row[3]) == 32:
            self._take_event(rowid, row, sure, leftover)
        elif len(row) == 4 and isinstance(row[1], bytes) and len(row[1]) == 16 and isinstance(row[3], bytes):
            address = row[1].hex()
            if row[2] or address_of(row[3]) == address:
                self.pieces.setdefault(address, row[3])
                if row[2]:
                    self.erased.add(address)
        elif len(row) == 5 and isinstance(row[1], int) and isinstance(row[3], bytes):
            self.heads[rowid] = max(row[1], self.heads.get(rowid, 0))
        elif kinds == [type(None), bytes, bytes] and len(row[1]) == 8:
            if canonical.digest(row[2])[:8] == row[1]:
                self.memories.setdefault(row[2])
        elif len(row) == 2 and isinstance(row[1], str) and "/" in row[1] and row[0] is None:
            self.names.setdefault(rowid, row[1])

    def _take_event(self, rowid: int, row: list[Any], sure: bool, leftover: bool) -> None:
        _, header, body, own, erased = row
        with contextlib.suppress(msgspec.MsgspecError):
            event = read_event(header, body, own, erased=bool(erased))
            if event.intact() and canonical.digest(header) == own:
                self.events.setdefault((rowid, own), Loose(event, sure, leftover))
                return
        self.broken += 1


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for _ in range(8):
        byte = data[at]
        at += 1
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, at
    return value << 8 | data[at], at + 1


def _record(payload: bytes) -> Iterator[Any]:
    header, at = _varint(payload, 0)
    kinds = []
    while at < header:
        kind, at = _varint(payload, at)
        kinds.append(kind)
    at = header
    for kind in kinds:
        value, at = _column(payload, at, kind)
        yield value


_INTEGER_BYTES = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}


def _column(payload: bytes, at: int, kind: int) -> tuple[Any, int]:
    if kind in (0, 8, 9):
        return (None, 0, 1)[(0, 8, 9).index(kind)], at
    if kind in _INTEGER_BYTES:
        end = at + _INTEGER_BYTES[kind]
        return int.from_bytes(payload[at:end], "big", signed=True), end
    if kind == 7:
        return struct.unpack(">d", payload[at : at + 8])[0], at + 8
    end = at + (kind - 12) // 2
    if kind < 12 or end > len(payload):
        raise ValueError("a column that ends early")
    return (payload[at:end] if kind % 2 == 0 else payload[at:end].decode()), end
