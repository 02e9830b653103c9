"""Whether the embedded store that stood in a place is still there: asked whenever its file is opened anew.

A process asks before it opens the file and as soon as it has, at first and whenever another file has its path
since. So nobody begins a store anew in silence where one was lost, whether it was lost before or under a
process that had it open, and SQLite does not throw away the log of a file that is gone.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from ...effects.files.atomic import write_whole
from ...errors import DamagedError
from .data_folder import REPLACED, DataFolder
from .store_note import lacking, read_note

if TYPE_CHECKING:
    import apsw


_RECOVERY_SECONDS = 10.0


class PlaceCheck:
    """What is known of the store in a data folder, for `stores.sqlite.database.Database`."""

    def __init__(self, home: DataFolder) -> None:
        self._home = home

    def before_opening(self) -> None:
        """Raise DamagedError if a store was here and is gone or empty."""
        check_damage(self._home)

    def after_opening(self, db: apsw.Connection) -> None:
        """Raise DamagedError if this is an older state or another history of the store that stood here."""
        told = self._lacking(db)
        if told and told == self._lacking(db):  # else the note or the store was just written
            raise damaged(self._home, told)

    def _lacking(self, db: apsw.Connection) -> str:
        note = read_note(self._home.store_note)
        if note is None:
            return ""
        return lacking(self._home, note, lambda sql, values: db.execute(sql, values).fetchall())

    def file_replaced(self) -> None:
        """Leave a mark that the log here is of another file than the one that has the store's path now: with
        the two together SQLite would make a store that never was."""
        with suppress(OSError):
            write_whole(self._home.swap_note, REPLACED.encode())


def check_damage(home: DataFolder) -> None:
    """Raise DamagedError if a store was here and is gone or empty: it is never begun anew in silence."""
    damage = home.damage()
    if damage:
        damage = _after_recovery(home)
    if damage:
        fault = damaged(home, damage)
        if not home.swap_note.exists():
            fault.hint = (
                "`segue recover` restores what can be found; to start a new store instead, "
                "`segue recover --new` keeps what is left of this one and starts one"
            )
        raise fault


def _after_recovery(home: DataFolder) -> str:
    """What is wrong with the store once nobody is putting a recovered one in its place."""
    from ...stores.sqlite.openers import held_by_us, locked

    if held_by_us(str(home.database)):
        return home.damage()
    with locked(str(home.database), alone=False, timeout_seconds=_RECOVERY_SECONDS):
        return home.damage()


def damaged(home: DataFolder, why: str) -> DamagedError:
    """The error of a store that is not what it was."""
    return DamagedError("the store", str(home.database), why)
