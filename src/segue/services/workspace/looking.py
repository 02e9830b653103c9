"""Segue for those who only look: where nothing is stored, nothing is made. A leaf, for many begin here."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ...settings import data_folder, store_of
from .data_folder import DataFolder

if TYPE_CHECKING:
    from ...api.segue import Segue


def looking(folder: Path, environment: Mapping[str, str]) -> Segue | None:
    """Segue without a store, for those who only look where nothing was ever stored; None if there is one."""
    home = DataFolder(data_folder(environment)).for_store(store_of(environment))
    if home.elsewhere or home.database.exists() or home.remains():
        return None
    return storeless(folder, environment)


def storeless(folder: Path, environment: Mapping[str, str]) -> Segue:
    """Segue with nothing stored, whatever is on the disk."""
    from ...api.segue import Segue
    from ...stores.memory.journal import VolatileJournal

    return Segue(VolatileJournal(), folder=folder, environment=environment)
