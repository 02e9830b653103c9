"""Files in a working tree that Segue wrote itself: they are no work of the user, whatever git says of it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from ..._files import read_bytes


class OwnPaths:
    """Paths that are always Segue's own, with everything below them, and files that are as long as they have
    the content that Segue gave them. What the user changed in those is the user's work."""

    def __init__(self, always: Iterable[Path] = (), written: Mapping[str, str] | None = None) -> None:
        self._always = frozenset(os.path.realpath(path) for path in always)
        self._written = written or {}
        """The SHA-256 of the content of files, by their real paths."""
        self._folders: dict[Path, str] = {}
        """Folders that were asked for, by their real paths: most uncommitted files share theirs."""

    def has(self, path: Path) -> bool:
        """Whether a file is Segue's own; a folder is if everything in it is."""
        if not self._always and not self._written:
            return False
        folder = self._folders.get(path.parent) or os.path.realpath(path.parent)
        self._folders[path.parent] = folder
        real = os.path.join(folder, path.name)
        if self._is_always(real):
            return True
        if real in self._written:
            return self._is_as_written(real)
        inside = f"{real}{os.sep}"
        if not any(one.startswith(inside) for one in (*self._always, *self._written)):
            return False
        files = [os.path.join(at, name) for at, _, names in os.walk(real) for name in names]
        return bool(files) and all(self._is_always(one) or self._is_as_written(one) for one in files)

    def paths(self) -> tuple[Path, ...]:
        """All of them."""
        return tuple(
            Path(one) for one in (*self._always, *(w for w in self._written if self._is_as_written(w)))
        )

    def _is_always(self, real: str) -> bool:
        return real in self._always or any(real.startswith(f"{one}{os.sep}") for one in self._always)

    def _is_as_written(self, real: str) -> bool:
        import hashlib  # loads OpenSSL, which is seldom needed: few of these files are uncommitted

        wanted = self._written.get(real)
        with suppress(OSError):
            return bool(wanted) and hashlib.sha256(read_bytes(real)).hexdigest() == wanted
        return False


NOTHING = OwnPaths()
