"""The data folder: where everything that Segue keeps lies on a machine, readable by its user only."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from pathlib import Path

from ..._files import read_text
from ...effects.files.atomic import private_folder, protect_database
from ...errors import AccessError, StoreUnavailable


def is_remote(where: str) -> bool:
    """Whether an address is that of a Segue server. Every command asks, so nothing is imported."""
    return where[:8].lower().startswith(("https://", "http://"))


def _hashed(text: str) -> str:

    from ...core.base.canonical import sha256

    return sha256(text.encode()).hexdigest()


REPLACED = "the file was replaced"
STORE_BYTES_MIN = 512
"""No SQLite database with anything in it is smaller."""


class DataFolder:
    """The paths in the data folder, for one store. Folders are made when something is first put into them."""

    def __init__(self, path: Path, store: Path | None = None, *, shared_store: str = "") -> None:
        self.path = path
        self.shared_store = shared_store
        """The address, without secrets, of a store that machines share; empty for the file in this folder."""
        if shared_store:  # such a file is never made: notes about the store are named after it
            store = path / "elsewhere" / f"{_hashed(shared_store)[:16]}.db"
        self.database = store or path / "segue.db"
        if not shared_store:
            protect_database(self.database)
        self.transcripts = path / "archive" / "transcripts.db"
        """The database that copies of transcripts are archived in."""
        protect_database(self.transcripts)
        self.search = path / "archive" / "search.db"
        """The index for searching."""
        protect_database(self.search)
        self.maps = path / "archive" / "maps"
        """Maps of code, a database for each working tree."""
        self.backups = path / "backups"
        if store is not None and store != path / "segue.db":
            self.backups = store.with_name(f"{store.name}-backups")
        self.emergency = path / "emergency"
        self.archive = path / "archive" / "sessions"
        self.evidence = path / "evidence"
        self.manifests = path / "manifests"
        self.scenes = path / "scenes"
        """Scenes: what the working tree was like when sessions were left."""
        self.handover = path / "handover"
        """Checkpoints of handovers, one file for each working tree."""
        self.handoff = path / "handoff"
        """Restorations for the agents that sessions were offered to."""
        self.conversations = path / "conversations"
        """Transcripts of the conversations that programs keep in the store."""
        self.damaged = path / "damaged"
        """Where recoveries keep the damaged originals."""

    def map_of(self, root: Path) -> Path:
        """The map of the code in a working tree."""
        return self.maps / f"{_hashed(os.fsencode(root).hex())[:16]}.db"

    @property
    def swap_note(self) -> Path:
        """Exists while a recovery puts a new store in place, and holds the path of the original; or after the
        file was replaced under a process that had it open, and says so."""
        return self.database.with_name(f"{self.database.name}.swapping")

    @property
    def emergency_elsewhere(self) -> Path:
        """Where emergency files go while the data folder cannot be written: in the folder for temporary
        files, for this user and this data folder only."""
        import tempfile
        import zlib

        user = os.getuid() if hasattr(os, "getuid") else "user"
        folder = f"{zlib.crc32(str(self.path).encode(errors='surrogateescape')):08x}"
        return Path(tempfile.gettempdir()) / f"segue-emergency-{user}" / folder

    @property
    def store_note(self) -> Path:
        """The note that says which store stands here; see ``store_note.py``."""
        return self.database.with_name(f"{self.database.name}.note")

    def damage(self) -> str:
        """Why there is no intact store here although there was one; empty if all is well."""
        if os.path.lexists(self.swap_note):
            return self._mark()
        lacks = self._lacks()
        known = self._known_before(lacks) if lacks else ""
        return known if known and self._lacks() else ""  # else somebody has just begun it

    def _lacks(self) -> str:
        """What is wrong with the file of the store, by its size alone; empty if it may have a content."""
        try:
            found = os.stat(self.database)
        except FileNotFoundError:
            return "gone"
        except OSError:
            return ""  # opening it says what is in the way
        if found.st_size >= STORE_BYTES_MIN or not stat.S_ISREG(found.st_mode):
            return ""
        return "empty" if not found.st_size else f"cut off after {found.st_size} bytes"

    def _mark(self) -> str:
        """What the mark beside the store says of it."""
        with suppress(OSError, ValueError):
            if read_text(self.swap_note, size=len(REPLACED)) == REPLACED:
                return (
                    "its file was replaced while a process had it open, and the log belongs to the old file"
                )
        return "a recovery was interrupted while it was putting the new store in place"

    def _known_before(self, what: str) -> str:
        """Of a file without content: what says that it had one; empty if it is new."""
        if any(self.backups.glob("segue-*.db")):
            return f"the file is {what}, but there are backups of it"
        log = self.database.with_name(f"{self.database.name}-wal")
        if log.exists() and log.stat().st_size:
            return f"the file is {what}, but its write-ahead log is there"
        if self.originals():
            return f"the file is {what}, but an original that a recovery kept is there"
        if self.store_note.exists():
            return f"the file is {what}, but {self.store_note.name} says there was a store here"
        return ""

    def for_store(self, where: str) -> DataFolder:
        """The same folder for the store at an address. Each store has backups of its own."""
        if where.startswith("sqlite:///"):
            return DataFolder(self.path, Path(where.removeprefix("sqlite://")))
        if where.startswith(("postgresql://", "postgres://")):
            from ...stores.postgres.address import shown

            return DataFolder(self.path, shared_store=shown(where))
        if is_remote(where):
            from ...stores.remote.address import Address

            return DataFolder(self.path, shared_store=Address(where).shown)
        return self

    def has_store(self) -> bool:
        """Whether there is a store, as far as can be told without connecting: a shared one may be down."""
        return bool(self.shared_store) or self.database.is_file()

    @property
    def token(self) -> Path:
        """The token with which a server of this user on this machine lets its own user in."""
        return self.path / "server" / "token"

    @property
    def unreachable_note(self) -> Path:
        """Exists if the shared store could not be reached when it was last tried."""
        return self.database.with_suffix(".down")

    @property
    def pending(self) -> Path:
        """The spool of commands that wait until the shared store can be reached."""
        return self.database.with_suffix(".pending")

    @property
    def copies(self) -> Path:
        """Copies of what the shared store acknowledged to this machine lately."""
        return self.database.with_suffix(".copies")

    @property
    def last_seen(self) -> Path:
        """The cache of working trees and sessions of the shared store."""
        return self.database.with_suffix(".seen")

    def folder_for_original(self, at: str) -> Path:
        """Where a recovery at this time keeps the original; each store has folders of its own."""
        return self.damaged / (at.replace(":", "").replace(".", "-") + self._store_suffix)

    def originals(self) -> list[Path]:
        """The originals of this store that recoveries kept, newest first."""
        return sorted(self.damaged.glob(f"*Z{self._store_suffix}/{self.database.name}"), reverse=True)

    @property
    def _store_suffix(self) -> str:
        if self.database == self.path / "segue.db":
            return ""
        return f"-{_hashed(str(self.database))[:8]}"

    def archived(self, session: str) -> Path:
        """The archive file of a session. The id is cleaned, so that it cannot lead out of the folder."""
        from ...core.base.text import clean_name  # few commands need one of these paths

        return self.archive / f"{clean_name(session)}.jsonl.gz"

    def make(self) -> None:
        """Create the folder, accessible to its owner only. Raises AccessError or StoreUnavailable."""
        try:
            private_folder(self.path)
        except OSError as fault:
            message = f"cannot create {self.path}: {fault.strerror}"
            if fault.errno not in (errno.EACCES, errno.EPERM, errno.EROFS):
                raise StoreUnavailable(message, hint="choose another folder with SEGUE_HOME") from fault
            hint = "correct the folder's permissions, or choose another folder with SEGUE_HOME"
            raise AccessError(message, hint=hint) from fault
