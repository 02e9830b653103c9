"""Whole outputs of checks: masked before they come here, compressed, named by the hash of what they hold.

An output is whole or not there. The event that names it is written later, so no event names an output that
was never kept; one that is gone (to make room) or was scrubbed is told apart from one that was changed.
While a check runs its raw output is in ``running``, for its owner only, and is removed when it ended.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..processes.identity import start_of
from .atomic import private_folder, write_whole

_SCRUBBED = ".scrubbed.zst"


class Outputs:
    """The outputs in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def keep(self, body: bytes) -> str:
        """Keep an output; the hash that names it. Empty for nothing."""
        if not body:
            return ""
        name = hashlib.sha256(body).hexdigest()[:32]
        path = self._path(name)
        if not path.is_file():
            write_whole(path, _zstd().compress(body))
        return name

    def read(self, name: str) -> bytes | None:
        """What was kept under a name, also if it was scrubbed since; None if it is gone or damaged."""
        for path in (self._path(name), self._path(name, _SCRUBBED)):
            with suppress(OSError, ValueError, _zstd().ZstdError):
                return bytes(_zstd().decompress(path.read_bytes()))
        return None

    def condition(self, name: str) -> str:
        """kept, gone, scrubbed or changed."""
        if self._path(name, _SCRUBBED).is_file():
            return "scrubbed"
        if not self._path(name).is_file():
            return "gone"
        body = self.read(name)
        return "kept" if body is not None and hashlib.sha256(body).hexdigest()[:32] == name else "changed"

    def _path(self, name: str, end: str = ".zst") -> Path:
        clean = "".join(c for c in name if c in "0123456789abcdef")
        return self.folder / clean[:2] / f"{clean}{end}"

    # -- while checks run ----------------------------------------------------------------------

    def running(self, number: int) -> Path:
        """Where a check of this process may write."""
        return private_folder(self.folder / "running") / f"{os.getpid()}-{number}"

    def sweep(self) -> int:
        """Remove what processes left that are gone; how many files."""
        swept = 0
        for path in (self.folder / "running").glob("*-*"):
            pid = path.name.partition("-")[0]
            if pid.isdecimal() and (int(pid) == os.getpid() or not start_of(int(pid))):
                path.unlink(missing_ok=True)
                swept += 1
        return swept

    # -- upkeep --------------------------------------------------------------------------------

    def _all(self) -> Iterator[Path]:
        yield from (path for path in sorted(self.folder.glob("??/*.zst")) if path.is_file())

    def prune(self, bytes_max: int) -> int:
        """Let the oldest go until the rest has this size; how many went."""
        found = sorted(((path.stat(), path) for path in self._all()), key=lambda pair: pair[0].st_mtime)
        size, gone = sum(facts.st_size for facts, _ in found), 0
        for facts, path in found:
            if size <= bytes_max:
                break
            path.unlink(missing_ok=True)
            size, gone = size - facts.st_size, gone + 1
        return gone

    def rewrite(self, change: Callable[[bytes], bytes], *, dry_run: bool = False) -> list[str]:
        """Put changed outputs in place of those that a function changes; the paths of these."""
        hit = []
        for path in self._all():
            try:
                body = bytes(_zstd().decompress(path.read_bytes()))
            except (OSError, ValueError, _zstd().ZstdError):
                continue
            changed = change(body)
            if changed == body:
                continue
            hit.append(str(path))
            if not dry_run:
                name = path.name.partition(".")[0]
                write_whole(self._path(name, _SCRUBBED), _zstd().compress(changed))
                if not path.name.endswith(_SCRUBBED):
                    path.unlink(missing_ok=True)
        return hit


def _zstd() -> Any:
    """Loaded when something is kept or read: few commands do."""
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    return zstd
