"""Where archives of sessions are kept: in files of the data folder, or in the store where machines share it.

An archive has the session as its JSON export, and the runs that were observed in it. Either place holds an
archive whole or not at all, and replaces one only by another that is whole.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

import msgspec

from ..._files import open_file, read_bytes
from ...core.base.values import Value
from ...effects.clock import now
from ...effects.files.atomic import sync_folder, write_whole
from ...effects.files.compression import compress, decompress
from ...errors import BadImport, DamagedError
from ...stores.base import RunRow
from ..handoff.export import Parcel, unpack
from ..sessions import archived
from ..sessions.repository import fold_all
from ..workspace.data_folder import DataFolder
from ..workspace.workspace import Workspace

_LEVEL = 6
_ENDING = ".jsonl.gz"


class Archived(Value):
    """A session in the archive."""

    id: str
    goal: str
    path: Path
    """The file; in a shared store, the stream."""
    bytes: int
    events: int
    archived_at: str
    damage: str = ""
    """Why it cannot be read; empty if it can."""


class Content(Value):
    """What is archived of a session."""

    session: bytes
    """Its JSON export."""
    runs: list[RunRow] = []

    def parcel(self) -> Parcel:
        """The session, verified."""
        return unpack(self.session)


_contents = msgspec.msgpack.Decoder(Content)
_runs = msgspec.msgpack.Decoder(list[RunRow])


class ArchivePlace(Protocol):
    """Archives of sessions by their ids. Reading raises DamagedError."""

    def has(self, id: str) -> bool:
        """Whether a session is archived here."""

    def find(self, id: str) -> Content | None:
        """What is archived of a session."""

    def put(self, id: str, content: Content) -> None:
        """Archive this, durably, in the place of what is there."""

    def described(self, id: str) -> Archived:
        """The archive of a session that is there."""

    def take_out(self, id: str) -> None:
        """Remove the archive of a session that was brought back, and note when that was."""

    def brought_back(self, ids: Sequence[str]) -> dict[str, str]:
        """When those of these were last brought back that ever were."""

    def forget_brought_back(self, id: str) -> None:
        """Forget that a session was ever brought back."""

    def ids(self) -> list[str]:
        """All sessions that are archived here, sorted."""


def places_of(workspace: Workspace) -> list[ArchivePlace]:
    """Where a workspace has its archives, that for new ones first: what came with a store stays there."""
    places: list[ArchivePlace] = [FilesPlace(workspace.home), SharedPlace(workspace)]
    return places[::-1] if workspace.home.shared_store else places


class FilesPlace:
    """A file for each session in the data folder, and one beside it for its runs."""

    def __init__(self, home: DataFolder) -> None:
        self._home = home

    def _beside(self, id: str, ending: str) -> Path:
        path = self._home.archived(id)
        return path.with_name(path.name.removesuffix(_ENDING) + ending)

    def has(self, id: str) -> bool:
        return self._home.archived(id).is_file()

    def find(self, id: str) -> Content | None:
        path, runs = self._home.archived(id), self._beside(id, ".runs")
        if not path.is_file():
            return None
        try:
            kept = _runs.decode(decompress(read_bytes(runs))) if runs.is_file() else []
            return Content(gzip.decompress(read_bytes(path)), kept)
        except (gzip.BadGzipFile, EOFError, zlib.error, ValueError, msgspec.MsgspecError) as fault:
            raise DamagedError("the archive", str(path), str(fault)) from fault

    def put(self, id: str, content: Content) -> None:
        """The runs first: they are nothing by themselves."""
        path = self._home.archived(id)
        runs = compress(msgspec.msgpack.encode(content.runs), _LEVEL)
        if content.runs:
            write_whole(self._beside(id, ".runs"), runs)
        if not path.is_file() or gzip.decompress(read_bytes(path)) != content.session:
            write_whole(path, gzip.compress(content.session, mtime=int(datetime.now(UTC).timestamp())))

    def described(self, id: str) -> Archived:
        path = self._home.archived(id)
        with open_file(path) as file:
            made = datetime.fromtimestamp(int.from_bytes(file.read(8)[4:], "little"), UTC)
        archived_at = made.isoformat(timespec="microseconds").replace("+00:00", "Z")
        size = path.stat().st_size
        try:
            content = self.find(id)
            parcel = content.parcel() if content is not None else None
        except (DamagedError, BadImport) as fault:
            return Archived(id, "", path, size, 0, archived_at, getattr(fault, "reason", str(fault)))
        assert parcel is not None
        return Archived(id, fold_all(parcel.events).goal, path, size, len(parcel.events), archived_at)

    def take_out(self, id: str) -> None:
        path = self._home.archived(id)
        write_whole(self._beside(id, ".restored"), now().encode())
        path.unlink()
        self._beside(id, ".runs").unlink(missing_ok=True)
        sync_folder(path.parent)

    def brought_back(self, ids: Sequence[str]) -> dict[str, str]:
        found = {}
        for id in ids:
            try:
                said = read_bytes(self._beside(id, ".restored"))
            except OSError:
                continue
            found[id] = said.decode("ascii", "replace").strip()
        return found

    def forget_brought_back(self, id: str) -> None:
        self._beside(id, ".restored").unlink(missing_ok=True)

    def ids(self) -> list[str]:
        return sorted(path.name.removesuffix(_ENDING) for path in self._home.archive.glob(f"*{_ENDING}"))


class SharedPlace:
    """Streams and pieces of the store itself, for all machines."""

    def __init__(self, workspace: Workspace) -> None:
        self._store, self._actor = workspace.store, workspace.repository.actor

    def has(self, id: str) -> bool:
        return archived.is_archived(self._store, id)

    def find(self, id: str) -> Content | None:
        found = archived.about(self._store, id)
        return self._read(found) if found is not None else None

    def _read(self, found: archived.ArchivedSession) -> Content:
        try:
            return _contents.decode(decompress(archived.read(self._store, found)))
        except (ValueError, msgspec.MsgspecError) as fault:
            raise DamagedError("the archive", archived.PREFIX + found.id, str(fault)) from fault

    def put(self, id: str, content: Content) -> None:
        events = content.parcel().events
        body = compress(msgspec.msgpack.encode(content), _LEVEL)
        archived.write(self._store, id, fold_all(events).goal, len(events), body, actor=self._actor)

    def described(self, id: str) -> Archived:
        found, path = archived.about(self._store, id), Path(archived.PREFIX + id)
        if found is None:
            return Archived(id, "", path, 0, 0, "", "whoever archived it was interrupted")
        return Archived(id, found.goal, path, found.size, found.events, found.at)

    def take_out(self, id: str) -> None:
        archived.note_brought_back(self._store, id, actor=self._actor)
        archived.drop(self._store, id)

    def brought_back(self, ids: Sequence[str]) -> dict[str, str]:
        return archived.brought_back(self._store, ids)

    def forget_brought_back(self, id: str) -> None:
        archived.forget_brought_back(self._store, id)

    def ids(self) -> list[str]:
        return sorted(archived.archived_sessions(self._store))


def merged(runs: Iterable[RunRow], before: Iterable[RunRow]) -> list[RunRow]:
    """Runs of now, and those of before that are not among them."""
    found = {row.key: row for row in (*before, *runs)}
    return [found[key] for key in sorted(found)]
