"""The spool: what hooks recorded and could not store yet, safe on disk until the next command drains it.

A record is one header line and its payload, written with a single append and synced before it counts. A
checksum covers both; a torn or damaged record is lost alone, without those after it. A drain renames the
file *before* it reads it, and a writer checks after its write whether the file still has its name: if not, it
writes again under the same id, so that nothing is lost in between and the reader can recognise a duplicate.
Ids make draining exactly-once; see ``services/hooks/spool_drain.py``. The recording hook
(``surfaces/hook/installed_file.py``) writes the same bytes without importing anything of ours; a test
compares the two.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from msgspec.structs import replace

from ..._failpoints import trip
from ..._files import APPEND_FLAGS, read_bytes
from ...core.base.values import Value
from .atomic import PRIVATE_FILE, private_folder, sync_folder, write_whole

FORMAT = 1
MAGIC = b"segue-spool %d " % FORMAT
PRIME = 0xFFFFFFFFFFFFFFC5
"""The largest 64-bit prime: the checksum is a remainder, which needs no library."""
PAYLOAD_BYTES_MAX = 262_144
"""A longer payload is cut, and its record says so."""
SPOOL_BYTES_MAX = 33_554_432
"""The limit of a spool that nobody drains."""
NAME = "hooks"
_HEADER_MAX = 512


class SpoolRecord(Value):
    """One call of a hook."""

    agent: str
    event: str
    payload: bytes = b""
    id: str = ""
    at_ns: int = 0
    """Nanoseconds since the epoch."""
    pid: int = 0
    """The agent's: the parent of the hook."""
    cut: bool = False
    """Whether the payload was longer than what is stored."""

    @property
    def at(self) -> float:
        """Seconds since the epoch."""
        return self.at_ns / 1e9


def checksum(head: bytes, payload: bytes) -> int:
    """The checksum of a header without its last word, and of the payload."""
    return int.from_bytes(b"\1" + head + payload, "big") % PRIME


def encoded(record: SpoolRecord) -> bytes:
    """A record in the bytes of the spool."""
    payload = record.payload[:PAYLOAD_BYTES_MAX]
    cut = record.cut or len(payload) < len(record.payload)
    words = (record.id, record.at_ns, record.pid, record.agent, record.event, int(cut), len(payload))
    head = MAGIC + f"{' '.join(map(str, words))} ".encode("ascii")
    return b"%s%016x\n%s\n" % (head, checksum(head, payload), payload)


def decoded(data: bytes) -> Iterator[SpoolRecord]:
    """The intact records in a file's content; torn and damaged ones are skipped."""
    at = data.find(MAGIC)
    while at >= 0:
        parsed = _record_at(data, at)
        if parsed is not None:
            record, end = parsed
            yield record
        else:
            end = at + 1
        at = data.find(MAGIC, end)


def _record_at(data: bytes, at: int) -> tuple[SpoolRecord, int] | None:
    """The record that begins at a position, and where it ends; None if it is damaged."""
    stop = data.find(b"\n", at, at + _HEADER_MAX)
    head, blank, stated_checksum = data[at : max(at, stop)].rpartition(b" ")
    words = head[len(MAGIC) :].split(b" ")
    if stop < 0 or len(words) != 7:
        return None
    try:
        id, moment, pid, agent, event, cut, length = (word.decode("ascii") for word in words)
        end = stop + 1 + int(length)
        payload = data[stop + 1 : end]
        if int(length) < 0 or len(payload) != int(length) or data[end : end + 1] != b"\n":
            return None
        if int(stated_checksum, 16) != checksum(head + blank, payload):
            return None
        return SpoolRecord(agent, event, payload, id, int(moment), int(pid), cut == "1"), end + 1
    except ValueError:
        return None


class Spool:
    """A spool in a folder; ``name`` is the name of its file."""

    def __init__(self, folder: Path, name: str = NAME) -> None:
        self.folder = folder
        self.name = name
        self.path = folder / name

    def append(self, record: SpoolRecord) -> bool:
        """Store a record durably; False if the spool is full. OSError if it cannot be written."""
        private_folder(self.folder)
        id, at_ns = record.id or os.urandom(8).hex(), record.at_ns or time.time_ns()
        body = encoded(replace(record, id=id, at_ns=at_ns, pid=record.pid or os.getppid()))
        while True:
            new = not self.path.exists()
            spool = os.open(self.path, APPEND_FLAGS, PRIVATE_FILE)
            try:
                if os.fstat(spool).st_size > SPOOL_BYTES_MAX:
                    return False
                trip("spool.append.before_write")
                os.write(spool, body)
                os.fsync(spool)
                trip("spool.append.after_write")
                if self._is_current(spool):
                    break
            finally:
                os.close(spool)
        if new:
            sync_folder(self.folder)
        return True

    def _is_current(self, spool: int) -> bool:
        """Whether the file written to still has its name, so that a later drain will see the record."""
        try:
            return os.path.samestat(os.fstat(spool), os.stat(self.path))
        except OSError:
            return False

    def size(self) -> int:
        """How many bytes are waiting."""
        return sum(size for _, size in self._files())

    def count(self) -> tuple[int, int]:
        """How many records and bytes are waiting; nothing is taken."""
        files = self._files()
        return sum(len(self.read(path)) for path, _ in files), sum(size for _, size in files)

    def _files(self) -> list[tuple[Path, int]]:
        """Every file with records and its size: first those that an earlier drain left."""
        files = []
        with suppress(OSError):
            for name in sorted(os.listdir(self.folder)):
                if name == self.name or (name.startswith(f"{self.name}.") and name.endswith(".drain")):
                    with suppress(OSError):
                        files.append((self.folder / name, os.stat(self.folder / name).st_size))
        return sorted(files, key=lambda file: file[0].name == self.name)

    def take(self) -> list[Path]:
        """Rename every file with records, so that no writer adds to it; the files stay until ``drop``."""
        taken = []
        for path, size in self._files():
            if path.name == self.name:
                if not size:
                    continue
                target = self.folder / f"{self.name}.{time.time_ns():020d}-{os.getpid()}.drain"
                try:
                    os.rename(path, target)
                except FileNotFoundError:
                    continue
                trip("spool.take.after_rename")
                path = target
            taken.append(path)
        return taken

    def read(self, path: Path) -> list[SpoolRecord]:
        """The records of a file that was taken; none if another process has drained it."""
        try:
            return list(decoded(read_bytes(path)))
        except FileNotFoundError:
            return []

    def leave(self, path: Path, records: Iterable[SpoolRecord]) -> None:
        """Keep only these records of a file that was taken, for the next drain; all others are stored."""
        trip("spool.leave.before_write")
        write_whole(path, b"".join(map(encoded, records)))
        trip("spool.leave.after_write")

    def drop(self, path: Path) -> None:
        """Remove a file; everything in it has been stored."""
        trip("spool.drop.before_unlink")
        path.unlink(missing_ok=True)
