"""The outputs of checks: compressed files, named by the hash of their content and masked before they come
here.

An output is written atomically, and before the event that names it, so no event names an output that was
never stored. An output that was removed to make room, or scrubbed, can be told from one that was changed.
While a check runs, its raw output is in ``running``, readable by its owner only; it is removed afterwards.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from ..._files import read_bytes
from ..processes.identity import start_of
from .atomic import private_folder, write_whole
from .compression import compress, decompress

_LEVEL = 3
_SCRUBBED = ".scrubbed.zst"


class Outputs:
    """The outputs that are stored in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def keep(self, body: bytes) -> str:
        """Store an output and return the hash that names it; empty if there is no output."""
        if not body:
            return ""
        name = hashlib.sha256(body).hexdigest()[:32]
        path = self._path(name)
        if not path.is_file():
            write_whole(path, compress(body, _LEVEL))
        return name

    def read(self, name: str) -> bytes | None:
        """The output of a name, also if it has been scrubbed; None if it is gone or damaged."""
        for path in (self._path(name), self._path(name, _SCRUBBED)):
            with suppress(OSError, ValueError):
                return decompress(read_bytes(path))
        return None

    def condition(self, name: str) -> str:
        """The condition of an output: kept, gone, scrubbed or changed."""
        if self._path(name, _SCRUBBED).is_file():
            return "scrubbed"
        if not self._path(name).is_file():
            return "gone"
        body = self.read(name)
        return "kept" if body is not None and hashlib.sha256(body).hexdigest()[:32] == name else "changed"

    def _path(self, name: str, end: str = ".zst") -> Path:
        clean = "".join(c for c in name if c in "0123456789abcdef")
        return self.folder / clean[:2] / f"{clean}{end}"

    def running(self, number: int) -> Path:
        """The path where a running check of this process writes its output."""
        return private_folder(self.folder / "running") / f"{os.getpid()}-{number}"

    def sweep(self) -> int:
        """Remove the raw outputs of dead processes and of this one; returns how many files."""
        swept = 0
        for path in (self.folder / "running").glob("*-*"):
            pid = path.name.partition("-")[0]
            if pid.isdecimal() and (int(pid) == os.getpid() or not start_of(int(pid))):
                path.unlink(missing_ok=True)
                swept += 1
        return swept

    def _all(self) -> Iterator[Path]:
        yield from (path for path in sorted(self.folder.glob("??/*.zst")) if path.is_file())

    def prune(self, bytes_max: int) -> int:
        """Remove the oldest outputs until the rest has at most this size; returns how many were removed."""
        outputs = [(path.stat(), path) for path in self._all()]
        oldest_first = sorted(outputs, key=lambda pair: pair[0].st_mtime)
        size, removed = sum(stat.st_size for stat, _ in oldest_first), 0
        for stat, path in oldest_first:
            if size <= bytes_max:
                break
            path.unlink(missing_ok=True)
            size, removed = size - stat.st_size, removed + 1
        return removed

    def rewrite(self, change: Callable[[bytes], bytes], *, dry_run: bool = False) -> list[str]:
        """Apply a function to every output, and return the paths of those that it changed."""
        changed_paths = []
        for path in self._all():
            try:
                body = decompress(read_bytes(path))
            except (OSError, ValueError):
                continue
            if (changed := change(body)) == body:
                continue
            changed_paths.append(str(path))
            if not dry_run:
                name = path.name.partition(".")[0]
                write_whole(self._path(name, _SCRUBBED), compress(changed, _LEVEL))
                if not path.name.endswith(_SCRUBBED):
                    path.unlink(missing_ok=True)
        return changed_paths
