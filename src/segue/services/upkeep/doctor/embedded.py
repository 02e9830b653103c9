"""The doctor's look at the embedded store and its data folder: all that would make a command fail."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path

from ....core.base.values import count
from ....effects.files.atomic import is_open_to_others
from ....errors import SegueError
from ....stores.sqlite import SqliteStore
from ....stores.sqlite.file_system import is_network, read_mounts
from ....stores.sqlite.upkeep import abandoned
from ...resume import emergency
from ...workspace.backups import dated_in_future
from ...workspace.data_folder import DataFolder
from ...workspace.lost_store import check_damage
from ...workspace.open_workspace import open_workspace
from ..recover.aside import in_the_way
from ..recover.ladder import inspect, older_state, unreadable_backups
from ..recover.sources import backups as backup_files
from ..recover.tables import table_faults
from .finding import Diagnosis, proven

BACKUP_AGE_DAYS_MAX = 7
RECOVER = "`segue recover --dry-run`, then `segue recover`"


def folder(home: DataFolder) -> Iterator[Diagnosis]:
    """The data folder: is everything of the right kind there, may it be read and written, and by whom."""
    if home.path.exists() and not home.path.is_dir():
        hint = "choose a folder with SEGUE_HOME"
        yield Diagnosis("data folder", "bad", f"{home.path} is a file, not a folder", hint)
        return
    if not home.path.is_dir():
        yield Diagnosis("data folder", "ok", f"{home.path} does not exist yet")
        return
    wrong = list(_wrong_kinds(home))
    if wrong:
        hint = "`segue recover` moves what blocks the store aside; move the rest away yourself"
        yield Diagnosis("data folder", "bad", wrong[0] + more(len(wrong) - 1), hint)
    barred = [path for path in _own(home) if not _accessible(path)]
    if barred:
        hint = "give yourself read and write permission there, or set SEGUE_HOME to another folder"
        yield Diagnosis("permissions", "bad", f"{barred[0]} cannot be written" + more(len(barred) - 1), hint)
        return
    files = [home.path, home.database, *home.backups.glob("*"), *home.emergency.glob("*"), home.transcripts]
    wide = [path for path in files if path.exists() and is_open_to_others(path)]
    if wide:
        hint = f"chmod -R go-rwx '{home.path}'"
        yield Diagnosis("permissions", "bad", f"others may read {wide[0]}" + more(len(wide) - 1), hint)
    else:
        yield Diagnosis("permissions", "ok", f"{home.path} is private")


def more(number: int) -> str:
    """Of further things that are not named."""
    return f" and {number} more" if number else ""


def _folders(home: DataFolder) -> list[Path]:
    return [
        home.backups, home.emergency, home.archive.parent, home.archive, home.evidence, home.manifests,
        home.scenes, home.handover, home.handoff, home.damaged, home.path / "spool", home.path / "hook",
    ]  # fmt: skip


def _own(home: DataFolder) -> list[Path]:
    log, index = (home.database.with_name(home.database.name + suffix) for suffix in ("-wal", "-shm"))
    files = [home.path, home.database, log, index, home.store_note, *_folders(home), home.transcripts]
    return [path for path in files if path.exists()]


def _accessible(path: Path) -> bool:
    wanted = os.R_OK | os.W_OK | (os.X_OK if path.is_dir() else 0)
    return os.access(path, wanted)


def _wrong_kinds(home: DataFolder) -> Iterator[str]:
    lock = home.database.with_name(f"{home.database.name}.lock")
    for path in (*in_the_way(home), *(p for p in (lock, home.transcripts) if p.exists() and not p.is_file())):
        yield f"{path} is {_kind(path)}, and should be a file"
    for path in _folders(home):
        if path.exists() and not path.is_dir():
            yield f"{path} is {_kind(path)}, and should be a folder"


def _kind(path: Path) -> str:
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return "a broken link"
    kinds = ((stat.S_ISDIR, "a folder"), (stat.S_ISFIFO, "a pipe"), (stat.S_ISSOCK, "a socket"))
    return next(
        (name for asked, name in kinds if asked(mode)), "a file" if stat.S_ISREG(mode) else "a device"
    )


def store(home: DataFolder) -> Iterator[Diagnosis]:
    """The store: whole, of today, readable and writable."""
    path = home.database
    try:
        check_damage(home)
    except SegueError as fault:
        yield Diagnosis("store", "bad", fault.message, fault.hint)
        return
    if not path.exists() or (path.is_file() and not path.stat().st_size):
        yield Diagnosis("store", "ok", "nothing is stored yet")
        return
    if not path.is_file():
        return  # the look at the folder has said so
    if faults := table_faults(path).told:
        yield Diagnosis("store", "bad", "; ".join(faults), RECOVER)
        return
    try:
        trouble = inspect(path) or older_state(home)
    except SegueError as fault:
        yield Diagnosis("store", "bad", fault.message, fault.hint)
        return
    if trouble:
        yield Diagnosis("store", "bad", trouble[0] + more(len(trouble) - 1), RECOVER)
        return
    with closing(SqliteStore(path)) as journal:
        journal.streams()  # opens it
        size, mode = path.stat().st_size / 1e6, journal.database.journal_mode
        yield proven(journal, f"{size:.1f} MB, {mode}")
        try:
            journal.writing(lambda db: None)
        except SegueError as fault:
            yield Diagnosis("writing", "bad", f"it can be read, but {fault.message}", fault.hint)
    if is_network(path.parent, read_mounts()):
        hint = "move the data folder to a local disk with SEGUE_HOME"
        yield Diagnosis("file system", "warn", f"{path.parent} is on a network: slower, without WAL", hint)


def commands(home: DataFolder, environment: Mapping[str, str], folder: Path) -> Iterator[Diagnosis]:
    """Whether a command could open the store now; said only if not."""
    if not home.has_store():
        return
    try:
        with open_workspace(folder=folder, environment=environment) as workspace:
            workspace.repository.cards()
    except SegueError as fault:
        yield Diagnosis("commands", "bad", f"they fail: {fault.message}", fault.hint)


def backups(home: DataFolder) -> Iterator[Diagnosis]:
    """The backups: are there any, of when, and can they be read."""
    if left := abandoned(home.backups):
        size = sum(path.stat().st_size for path in left if path.exists()) / 1e6
        told = f"{count(len(left), 'backup')} that a kill interrupted, {size:,.1f} MB"
        yield Diagnosis("backups", "warn", told, "`segue backup` makes a whole one, and removes them")
    files = backup_files(home)
    if broken := unreadable_backups(home):
        told = f"{broken[0].name} cannot be read{more(len(broken) - 1)}"
        yield Diagnosis("backups", "warn", told, "`segue recover` moves it aside; then run `segue backup`")
        return
    if not files:
        if home.database.exists():
            yield Diagnosis("backups", "warn", "there is none yet", "`segue backup`")
        return
    ahead = sum(map(dated_in_future, files))
    told = f"; {ahead} dated in the future, from when the clock was ahead" if ahead else ""
    if ahead == len(files):
        hint = "check that the clock is right now, then run `segue backup`"
        yield Diagnosis("backups", "warn", f"{len(files)}, all of unknown age{told}", hint)
        return
    age_days = max(0.0, time.time() - files[0].stat().st_mtime) / 86400
    status = "warn" if age_days > BACKUP_AGE_DAYS_MAX else "ok"
    detail = f"{len(files)}, the newest {age_days:.1f} days old{told}"
    yield Diagnosis("backups", status, detail, "`segue backup`" if status == "warn" else "")


_EMERGENCY = "what a process saved while it could not reach the store"


def emergency_files(home: DataFolder) -> Diagnosis:
    """Files of dying processes that wait, and those that can never be merged."""
    waiting = emergency.waiting(home)
    damaged = [path for path in waiting if emergency.read(path) is None]
    if damaged:
        told = f"{count(len(damaged), 'file')} of {len(waiting)} cannot be read"
        return Diagnosis(
            "emergency files", "bad", told, "`segue recover` moves them aside and merges the rest"
        )
    if waiting:
        told = f"{len(waiting)} waiting to be merged ({_EMERGENCY})"
        return Diagnosis("emergency files", "warn", told, "`segue recover`")
    return Diagnosis("emergency files", "ok", f"none ({_EMERGENCY})")
