"""A disk that records every write, truncation and sync in order, and shows what a power cut leaves.

``Recorder`` is an SQLite VFS on top of the usual one. ``image`` then simulates a power cut at any point of
the recording: what was synced before is there; each later write is kept, lost, or torn at its 512-byte
sectors, at random. A file that was created and not synced, or deleted before the folder was synced, may or
may not be there.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any, NamedTuple

import apsw

SECTOR = 512


class Op(NamedTuple):
    """One thing that happened to a file; ``mark`` is the acknowledgement of a commit."""

    what: str
    """open, write, truncate, sync, delete or mark."""
    file: str = ""
    offset: int = 0
    body: bytes = b""


class Recorder(apsw.VFS):
    """Passes everything on, and records it."""

    def __init__(self, name: str) -> None:
        self.vfs_name = name
        self.ops: list[Op] = []
        super().__init__(name, "")

    def xOpen(self, name: Any, flags: list[int]) -> RecordedFile:
        return RecordedFile(self, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:
        super().xDelete(filename, syncdir)
        self.ops.append(Op("delete", Path(filename).name, int(syncdir)))

    def mark(self) -> None:
        """A commit was acknowledged to the caller here."""
        self.ops.append(Op("mark"))


class RecordedFile(apsw.VFSFile):
    """A file of the recorder."""

    def __init__(self, recorder: Recorder, name: Any, flags: list[int]) -> None:
        path = name.filename() if isinstance(name, apsw.URIFilename) else name
        self._ops = recorder.ops
        self._file = Path(path).name if path else ""
        super().__init__("", name, flags)
        self._note(Op("open", self._file))

    def _note(self, op: Op) -> None:
        if self._file:
            self._ops.append(op)

    def xWrite(self, data: Any, offset: int) -> None:
        super().xWrite(data, offset)
        self._note(Op("write", self._file, offset, bytes(data)))

    def xTruncate(self, newsize: int) -> None:
        super().xTruncate(newsize)
        self._note(Op("truncate", self._file, newsize))

    def xSync(self, flags: int) -> None:
        super().xSync(flags)
        self._note(Op("sync", self._file))


def image(ops: list[Op], rng: random.Random) -> dict[str, bytes]:
    """The files that a disk might hold if the power failed after these operations."""
    synced, folder_synced, new = {}, -1, set()
    for place, op in enumerate(ops):
        if op.what == "open" and op.file.endswith(("-wal", "-journal")):
            new.add(op.file)
        elif op.what == "sync":
            synced[op.file] = place
            if op.file in new:  # SQLite syncs the folder with the first sync of a log
                new.remove(op.file)
                folder_synced = place
        elif op.what == "delete" and op.offset:
            folder_synced = place
    files: dict[str, bytearray] = {}
    for place, op in enumerate(ops):
        if op.what == "mark":
            continue
        certain = place <= (folder_synced if op.what == "delete" else synced.get(op.file, -1))
        fate = "kept" if certain else rng.choice(("kept", "lost", "torn"))
        if fate != "lost":
            _apply(files, op, rng if fate == "torn" else None)
    return {name: bytes(body) for name, body in files.items()}


def _apply(files: dict[str, bytearray], op: Op, torn: random.Random | None) -> None:
    if op.what == "delete":
        files.pop(op.file, None)
        return
    body = files.setdefault(op.file, bytearray())
    if op.what == "truncate":
        del body[op.offset :]
    elif op.what == "write":
        for start, piece in _sectors(op):
            if torn is None or torn.random() < 0.5:
                if len(body) < start:
                    body.extend(bytes(start - len(body)))
                body[start : start + len(piece)] = piece


def _sectors(op: Op) -> list[tuple[int, bytes]]:
    """The write, cut where sectors of the disk end."""
    cuts, at = [], 0
    while at < len(op.body):
        end = min(len(op.body), at + SECTOR - (op.offset + at) % SECTOR)
        cuts.append((op.offset + at, op.body[at:end]))
        at = end
    return cuts
