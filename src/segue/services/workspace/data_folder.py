"""The data folder: where things are on a user's machine, private to that user."""

from __future__ import annotations

import errno
from pathlib import Path

from ...effects.files.atomic import private_folder, protect_database
from ...errors import AccessError, StoreUnavailable


def is_remote(where: str) -> bool:
    """Whether a setting names a Segue server; asked by every command, so it imports nothing."""
    return where[:8].lower().startswith(("https://", "http://"))


def _hashed(text: str) -> str:
    import hashlib  # it loads OpenSSL, which most commands need nothing of

    return hashlib.sha256(text.encode()).hexdigest()


class DataFolder:
    """Paths of the data folder; a folder exists once something is kept in it."""

    def __init__(self, path: Path, store: Path | None = None, *, elsewhere: str = "") -> None:
        self.path = path
        self.elsewhere = elsewhere
        """The address, without secrets, of a store that is no file here; empty for the embedded one."""
        if elsewhere:  # a name for what is kept beside it; no such file is ever made
            store = path / "elsewhere" / f"{_hashed(elsewhere)[:16]}.db"
        self.database = store or path / "segue.db"
        """The embedded store."""
        if not elsewhere:
            protect_database(self.database)
        protect_database(self.transcripts)
        self.backups = path / "backups"
        if store is not None and store != path / "segue.db":
            self.backups = store.with_name(f"{store.name}-backups")

    @property
    def swapping(self) -> Path:
        """Names where the original is, while a recovery puts a new store in place."""
        return self.database.with_name(f"{self.database.name}.swapping")

    def remains(self) -> str:
        """Why there is no whole store here although there was one; empty if all is well."""
        if self.swapping.exists():
            return "a recovery was interrupted while it put the new one in place"
        if self.database.exists():
            return ""
        if any(self.backups.glob("segue-*.db")):
            return "it is gone, and there are backups of it"
        log = self.database.with_name(f"{self.database.name}-wal")
        if log.exists() and log.stat().st_size:
            return "it is gone, and its log is there"
        kept = self.originals()
        return "it is gone, and an original that a recovery kept is there" if kept else ""

    def for_store(self, where: str) -> DataFolder:
        """The same folder for the store that a setting names; backups of two stores never mix."""
        if where.startswith("sqlite:///"):
            return DataFolder(self.path, Path(where.removeprefix("sqlite://")))
        if where.startswith(("postgresql://", "postgres://")):
            from ...stores.postgres.address import shown

            return DataFolder(self.path, elsewhere=shown(where))
        if is_remote(where):
            from ...stores.remote.address import Address

            return DataFolder(self.path, elsewhere=Address(where).shown)
        return self

    def has_store(self) -> bool:
        """Whether there is a store to ask, as far as this folder can tell: one elsewhere may be down."""
        return bool(self.elsewhere) or self.database.is_file()

    @property
    def token(self) -> Path:
        """What a server of this user on this machine lets its user in with."""
        return self.path / "server" / "token"

    @property
    def down(self) -> Path:
        """A note that the store elsewhere could not be reached a moment ago."""
        return self.database.with_suffix(".down")

    @property
    def pending(self) -> Path:
        """What waits until the store elsewhere can be reached."""
        return self.database.with_suffix(".pending")

    @property
    def last_seen(self) -> Path:
        """What was last seen of working trees and sessions in the store elsewhere."""
        return self.database.with_suffix(".seen")

    @property
    def emergency(self) -> Path:
        return self.path / "emergency"

    @property
    def archive(self) -> Path:
        return self.path / "archive" / "sessions"

    @property
    def transcripts(self) -> Path:
        """The archive of transcripts, a file."""
        return self.path / "archive" / "transcripts.db"

    @property
    def evidence(self) -> Path:
        """Whole outputs of checks."""
        return self.path / "evidence"

    @property
    def manifests(self) -> Path:
        """What was prepared for the next run."""
        return self.path / "manifests"

    @property
    def scenes(self) -> Path:
        """The world as sessions were left."""
        return self.path / "scenes"

    @property
    def handover(self) -> Path:
        """Checkpoints of handovers, a file for each working tree."""
        return self.path / "handover"

    @property
    def handoff(self) -> Path:
        """Restorations for those to whom a session was offered."""
        return self.path / "handoff"

    @property
    def damaged(self) -> Path:
        """Where a recovery keeps the originals."""
        return self.path / "damaged"

    def aside(self, at: str) -> Path:
        """Where a recovery of now keeps the original; those of two stores never mix."""
        return self.damaged / (at.replace(":", "").replace(".", "-") + self._own)

    def originals(self) -> list[Path]:
        """Originals of this store that recoveries kept, the newest first."""
        return sorted(self.damaged.glob(f"*Z{self._own}/{self.database.name}"), reverse=True)

    @property
    def _own(self) -> str:
        if self.database == self.path / "segue.db":
            return ""
        return f"-{_hashed(str(self.database))[:8]}"

    def archived(self, session: str) -> Path:
        """The archive file of a session; the id cannot lead out of the folder."""
        from ...core.base.text import clean_name  # with all commands behind it; few need a path of these

        return self.archive / f"{clean_name(session)}.jsonl.gz"

    def make(self) -> None:
        """Have the folder, for its owner only."""
        try:
            private_folder(self.path)
        except OSError as fault:
            if fault.errno not in (errno.EACCES, errno.EPERM, errno.EROFS):
                raise StoreUnavailable(
                    f"cannot make {self.path}: {fault.strerror}", hint="choose a folder with SEGUE_HOME"
                ) from fault
            hint = "mend the folder's permissions, or choose another with SEGUE_HOME"
            raise AccessError(f"cannot make {self.path}: {fault.strerror}", hint=hint) from fault
