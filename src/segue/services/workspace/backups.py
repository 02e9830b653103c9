"""Rotating backups of the embedded store, on a schedule of writes and time.

Nothing runs in the background: whoever has written looks whether a backup is due, and makes
it. A backup's name says when it was made and how many events it holds, so that any process
can tell what is due without opening it.
"""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ...core.base.values import Value
from ...effects.clock import now
from ...effects.files.atomic import private_folder, sync_folder
from ...effects.pause_file import PauseFile
from ...errors import RefusedError, SegueError, StoreUnavailable
from ...settings import Settings
from ...stores.base import Journal
from ..workspace.data_folder import DataFolder, is_remote

if TYPE_CHECKING:
    from ...stores.sqlite import Database

_LOOK_EVERY_WRITES = 64


class Backup(Value):
    """A backup that is there."""

    path: Path
    at: str
    events: int
    size: int


class Backups:
    """The backups of a data folder."""

    def __init__(self, home: DataFolder, journal: Journal, settings: Settings, pause_file: PauseFile) -> None:
        self._home = home
        self._pause_file = pause_file
        self._journal = journal
        self._settings = settings
        self._written = 0
        self._total = 0
        self.later = False
        """Whether somebody else looks now and then whether one is due: a server, beside its requests."""

    def list(self) -> list[Backup]:
        """All backups, the newest first."""
        found = []
        for path in self._home.backups.glob("segue-*.db"):
            _, at, events = path.stem.split("-", 2) if path.stem.count("-") == 2 else ("", "", "")
            with suppress(FileNotFoundError):
                if events.isdecimal():
                    found.append(Backup(path, at, int(events), path.stat().st_size))
        return sorted(found, key=lambda b: (b.at, b.events), reverse=True)

    def written(self, count: int) -> None:
        """Note writes; now and then look whether a backup is due."""
        self._total += count
        self._written += count
        if self._written >= _LOOK_EVERY_WRITES and not self.later:
            self.if_due()

    @property
    def waits(self) -> bool:
        """Whether something was written since it was last looked whether one is due."""
        return self._written > 0

    def looked(self) -> None:
        """Another one of this store looked."""
        self._written = 0

    def if_due(self) -> Backup | None:
        """Make a backup if enough was written, or the last one is old; never raises."""
        if not self._written or self._home.elsewhere:
            return None
        self._written = 0
        with suppress(SegueError, OSError):
            newest = next(iter(self.list()), None)
            if newest is None:
                return self.make() if self._count() >= 2 else None
            age_hours = (time.time() - newest.path.stat().st_mtime) / 3600
            enough = self._count() - newest.events >= self._settings["backup_events"]
            if enough or age_hours >= self._settings.number("backup_hours"):
                return self.make()
        return None

    def make(self) -> Backup:
        """A backup now; the oldest beyond those that are kept goes."""
        from ...stores.sqlite import SqliteStore

        if self._home.elsewhere:
            own = "is made on the server" if is_remote(self._home.elsewhere) else "with pg_dump"
            raise RefusedError(
                f"{self._home.elsewhere} is no file here, and its server keeps its backups",
                hint=f"a backup {own}; `segue migrate --to sqlite:///copy.db` makes a copy here",
            )
        if not isinstance(self._journal, SqliteStore):
            raise StoreUnavailable("this store is not kept in a file here", hint="back it up where it lives")
        self._pause_file.check()
        events = self._count()
        try:
            return self._make(self._journal.database, events)
        except OSError as fault:
            raise StoreUnavailable(
                f"no backup could be made in {self._home.backups}: {fault.strerror}",
                hint="check space and permissions, then run `segue backup`",
            ) from fault

    def _make(self, database: Database, events: int) -> Backup:
        from ...stores.sqlite.upkeep import back_up

        private_folder(self._home.backups)
        stamp = now().replace("-", "").replace(":", "").partition(".")[0] + "Z"
        target = self._home.backups / f"segue-{stamp}-{events:09d}.db"
        back_up(database, target)
        for old in self.list()[max(1, int(self._settings["backup_keep"])) :]:
            old.path.unlink(missing_ok=True)
        sync_folder(self._home.backups)
        return next(b for b in self.list() if b.path == target)

    def _count(self) -> int:
        return sum(version for _, version in self._journal.streams())
