"""Putting aside what stands in the way: under ``damaged/`` in the data folder, never deleted."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from ....effects.clock import now
from ....effects.files.atomic import private_folder, sync_folder
from ....effects.files.maintenance import maintaining
from ....errors import RefusedError
from ....stores.sqlite import SqliteStore, alone
from ...workspace.data_folder import DataFolder
from ...workspace.store_note import note_store, read_note

SIDE_FILES = ("-wal", "-shm", "-journal")


def put_aside(home: DataFolder, paths: Sequence[Path], what: str) -> Path:
    """Move files and folders into a new folder under ``damaged/`` whose name says what they are."""
    folder = home.folder_for_original(now())
    folder = private_folder(folder.with_name(f"{folder.name}-{what}"))
    for path in paths:
        shutil.move(path, folder / path.name)
        sync_folder(path.parent)
    sync_folder(folder)
    return folder


def is_no_file(path: Path) -> bool:
    """Whether something is there that is no regular file, and so neither a store nor a note."""
    try:
        return not stat.S_ISREG(os.stat(path).st_mode)
    except OSError:
        return os.path.lexists(path)


def in_the_way(home: DataFolder) -> list[Path]:
    """Folders, pipes and the like that stand where files of the store should be."""
    names = [home.database.with_name(home.database.name + suffix) for suffix in ("", *SIDE_FILES)]
    return [path for path in (*names, home.swap_note, home.store_note) if is_no_file(path)]


def begin_anew(home: DataFolder) -> Path:
    """Put all that is left of a store that was lost aside, and begin a new one in its place. Raises
    RefusedError if the store is there."""
    private_folder(home.database.parent)
    with maintaining(home.database, "segue recover --new"), alone(home.database):
        if not home.damage() and not in_the_way(home) and not _is_emptied(home):
            hint = "for another store choose another folder with SEGUE_HOME, or name a file with --store"
            raise RefusedError(f"there is already a store in {home.database}", hint=hint)
        left = [home.database.with_name(home.database.name + suffix) for suffix in ("", *SIDE_FILES)]
        left += [home.swap_note, home.store_note, home.backups, home.emergency]
        folder = put_aside(home, [path for path in left if os.path.lexists(path)], "left")
        with closing(SqliteStore(home.database)) as journal:
            note_store(home, journal, anew=True)
    return folder


def _is_emptied(home: DataFolder) -> bool:
    """Whether the file is a store without any event although a store with some stood here."""
    note = read_note(home.store_note)
    if note is None or not note.events or not home.database.is_file():
        return False
    with closing(SqliteStore(home.database, read_only=True)) as journal:
        return not journal.streams()
