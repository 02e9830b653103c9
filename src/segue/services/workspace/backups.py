"""Rotating backups of the embedded store, by number of writes and by age.

Nothing runs in the background: a process that has written checks whether a backup is due, and makes it. The
name of a backup says when it was made and how many events it holds, so that any process can tell what is due
without opening it. The oldest go, and those that are dated in the future, but never one that holds what the
store does not hold: after a loss, backups of what is left do not push out those of what was there.
"""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ...core.base.values import Value
from ...effects.clock import moment
from ...effects.files.atomic import private_folder, sync_folder
from ...effects.files.maintenance import maintaining
from ...effects.pause_file import PauseFile
from ...errors import RefusedError, SegueError, StoreUnavailable
from ...settings import Settings
from ...stores.base import Journal
from .data_folder import DataFolder, is_remote
from .store_note import missing_in, note_store

if TYPE_CHECKING:
    from ...stores.sqlite import SqliteStore

_CHECK_EVERY_WRITES = 64
_CLOSE_SECONDS = 3_600
"""A backup that says that it is from later than that is from a time when the clock was wrong."""


class Backup(Value):
    """A backup file."""

    path: Path
    at: str
    events: int
    bytes: int


class Backups:
    """The backups of a store."""

    def __init__(self, home: DataFolder, journal: Journal, settings: Settings, pause_file: PauseFile) -> None:
        self._home = home
        self._pause_file = pause_file
        self._journal = journal
        self._settings = settings
        self._written = 0
        self._looked_for_note = False
        self.on_write = True
        """Whether writes check if a backup is due. A server checks from time to time instead."""

    def list(self) -> list[Backup]:
        """All backups, newest first, and those that are dated in the future last."""
        backups = []
        for path in self._home.backups.glob("segue-*.db"):
            _, at, events = path.stem.split("-", 2) if path.stem.count("-") == 2 else ("", "", "")
            with suppress(FileNotFoundError):
                if events.isdecimal():
                    backups.append(Backup(path, at, int(events), path.stat().st_size))
        return sorted(backups, key=lambda b: newest_first(b.path), reverse=True)

    def written(self, count: int) -> None:
        """Count writes, and from time to time check whether a backup is due."""
        if not self._looked_for_note:
            self._looked_for_note = self._home.store_note.exists() or self.note_store()
        self._written += count
        if self._written >= _CHECK_EVERY_WRITES and self.on_write:
            self.if_due()

    @property
    def unchecked(self) -> bool:
        """Whether something was written since it was last checked whether a backup is due."""
        return self._written > 0

    def mark_checked(self) -> None:
        """Note that another ``Backups`` of the same store has checked."""
        self._written = 0

    def if_due(self) -> Backup | None:
        """Make a backup if enough was written or the last one is old. Never raises."""
        if not self._written or self._home.shared_store:
            return None
        self._written = 0
        self.note_store()
        with suppress(SegueError, OSError):
            newest = next(iter(self.list()), None)
            if newest is None or dated_in_future(newest.path):
                enough = self._count() >= 2 or self._has_memories()
                return self.make(wait_seconds=0) if enough else None
            age_hours = (time.time() - newest.path.stat().st_mtime) / 3600
            enough = self._count() - newest.events >= self._settings["backup_events"]
            if enough or age_hours >= self._settings.number("backup_hours"):
                return self.make(wait_seconds=0)
        return None

    def make(self, *, wait_seconds: float | None = None) -> Backup:
        """Make a backup now and delete the oldest beyond ``backup_keep``. Raises RefusedError for a shared
        store, StoreUnavailable if the file cannot be written, and StoreBusy if somebody else maintains the
        store for longer than this waits."""
        from ...stores.sqlite import SqliteStore

        if self._home.shared_store:
            how = "on the server" if is_remote(self._home.shared_store) else "with pg_dump"
            raise RefusedError(
                f"{self._home.shared_store} is not a file on this machine, so Segue does not back it up",
                hint=f"back it up {how}; `segue migrate --to sqlite:///copy.db` makes a copy here",
            )
        if not isinstance(self._journal, SqliteStore):
            raise StoreUnavailable(
                "this store is not a file on this machine", hint="back it up where it lives"
            )
        self._pause_file.check()
        with maintaining(
            self._home.database, "segue backup", journal=self._journal, wait_seconds=wait_seconds
        ):
            return self._made(self._journal)

    def _made(self, journal: SqliteStore) -> Backup:
        from ...stores.sqlite.upkeep import back_up

        target = self._free_name(self._count())
        try:
            private_folder(self._home.backups)
            back_up(journal.database, target)
            others = [backup for backup in self.list() if backup.path != target]
            for old in others[max(0, int(self._settings["backup_keep"]) - 1) :]:
                with suppress(SegueError):  # one that cannot be read may hold anything
                    if not missing_in(self._home, journal, old.path):
                        old.path.unlink(missing_ok=True)
            sync_folder(self._home.backups)
            return next(b for b in self.list() if b.path == target)
        except OSError as fault:
            raise StoreUnavailable(
                f"the backup in {self._home.backups} failed: {fault.strerror}",
                hint="check disk space and permissions, then run `segue backup`",
            ) from fault

    def _free_name(self, events: int) -> Path:
        """The path of a new backup: none that is there is overwritten, it may be of another store. Where
        several are made in a second, the new one is still the newest by its name."""
        newest = max((backup.at for backup in self.list() if backup.at <= _stamp(_CLOSE_SECONDS)), default="")
        for later_seconds in range(2 * _CLOSE_SECONDS):
            target = self._home.backups / f"segue-{_stamp(later_seconds)}-{events:09d}.db"
            if _stamp(later_seconds) > newest and not target.exists():
                return target
        raise StoreUnavailable(
            f"{self._home.backups} already has a backup for every second",
            hint="check that the clock is right",
        )

    def note_store(self, *, less_events: int = 0) -> bool:
        """Note beside the store what it holds, less the events that are about to be taken out. A note that
        cannot be written says less, and is no error. False if it is too early: what this thread wrote is not
        durable yet."""
        from ...stores.sqlite import SqliteStore

        if self._home.shared_store or not isinstance(self._journal, SqliteStore):
            return True
        if self._journal.database.path != self._home.database:
            return True
        if self._journal.database.shared is not None:
            return False
        with suppress(SegueError, OSError):
            note_store(self._home, self._journal, less_events=less_events)
        return True

    def _has_memories(self) -> bool:
        return bool(getattr(self._journal, "has_memories", lambda: False)())

    def _count(self) -> int:
        return sum(version for _, version in self._journal.streams())


def dated_in_future(backup: Path) -> bool:
    """Whether a backup is from a time when the clock was ahead, by its name."""
    return backup.stem.partition("-")[2] > _stamp(_CLOSE_SECONDS)


def newest_first(backup: Path) -> tuple[bool, str]:
    """The key by which backups are sorted, in reverse: one that is dated in the future may be of any time."""
    return not dated_in_future(backup), backup.name


def _stamp(later_seconds: int) -> str:
    """A time as the name of a backup has it."""
    return moment(later_seconds).replace("-", "").replace(":", "").partition(".")[0] + "Z"
