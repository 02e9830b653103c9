"""Whether a store may have changed, without reading it.

Of the embedded store the times and sizes of its files are looked at; of one that machines share, the ends of
the streams that matter. Between looks the embedded store is closed: a recovery can replace its file while
somebody watches.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from ...errors import DamagedError
from .lost_store import check_damage
from .workspace import Workspace

Mark = tuple[object, ...]


class StoreWatch:
    """Watches the store of a workspace."""

    def __init__(self, workspace: Workspace, streams: Callable[[], Sequence[str]]) -> None:
        """``streams`` names the streams that matter, which are asked for in a shared store only."""
        self._workspace = workspace
        self._streams = streams
        self._is_shared = bool(workspace.home.shared_store)
        self._seen: Mark | None = None

    def changed(self) -> bool:
        """Whether something may have changed since this was last asked; True at first. What changes while
        the answer is being used counts the next time. Raises StoreError if a shared store does not answer,
        and DamagedError while the file of the embedded one is not there: it is never made anew."""
        if not self._is_shared:
            self._check_file()
        mark = self._heads() if self._is_shared else self._files()
        is_other_file = not self._is_shared and self._seen is not None and self._seen[0] != mark[0]
        is_new = mark != self._seen
        self._seen = mark
        if is_other_file:
            self._workspace.forget()
        return is_new

    def forget(self) -> None:
        """Count the store as changed, because what was read of it could not be used."""
        self._seen = None

    def let_go(self) -> None:
        """Close the embedded store until it is read again."""
        if not self._is_shared:
            self._workspace.store.close()

    def _check_file(self) -> None:
        home = self._workspace.home
        try:
            check_damage(home)
            if not home.database.exists():
                raise DamagedError("the store", str(home.database), "the file is gone")
        except DamagedError:
            self._seen = None
            self.let_go()
            raise

    def _heads(self) -> Mark:
        store = self._workspace.store
        return tuple((name, store.head(name).version) for name in self._streams())

    def _files(self) -> Mark:
        file = self._workspace.home.database
        log = _stamp(f"{file}-wal")
        inode, *changed = _stamp(str(file)) or (0,)
        return inode, tuple(changed), log if log and log[2] else None  # whoever reads may leave an empty one


def _stamp(path: str) -> tuple[int, int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size
