"""Sessions that are over, out of the store and into compressed files; never silently gone.

An archive is written, synced, read back and proven before anything leaves the store: at every
moment the session is in the store, in its archive, or in both. Archiving and restoring hold
the session, so that two processes never do both at once.
"""

from __future__ import annotations

import builtins
import errno
import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from ... import errors
from ..._checked_calls import checked
from ..._failpoints import trip
from ..._files import open_file, read_bytes
from ...core.base.values import Progress, Value, counted
from ...core.runs.shared_copies import PREFIX
from ...core.sessions.status import Card
from ...effects.clock import moment, now
from ...effects.files.atomic import sync_folder, write_whole
from ...stores.base import Append
from ..handoff.export import Parcel, deliver, named_pieces, pack, unpack
from ..runs.shared_copies import archived_with
from ..sessions.holds import Hold, hold_stream, new_run
from ..sessions.repository import fold_all, stream_of
from ..workspace.session_handle import SessionHandle
from ..workspace.workspace import Workspace

Cards = list[Card]
_HOLDER = "segue cleanup"


class Archived(Value):
    """A session in the archive."""

    id: str
    goal: str
    path: Path
    bytes: int
    events: int
    archived_at: str
    damage: str = ""
    """Why the file cannot be read; empty if it can."""


@checked
class Cleanup:
    """The archive of a data folder."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def candidates(self, days: float | None = None) -> Cards:
        """Sessions that were completed or abandoned longer ago than the settings say; one that was brought
        back stays as long again."""
        age_days = self._workspace.settings.number("cleanup_days") if days is None else days
        if not age_days >= 0:  # not a number either
            hint = "0 means all sessions that have ended"
            raise errors.UsageError(f"{age_days:g} days is not an age", hint=hint)
        before = moment(-86_400 * age_days)
        cards, over = self._workspace.repository.cards(), ("completed", "abandoned")
        old = [card for card in cards if card.status in over and "" < card.ended < before]
        return [card for card in old if self._brought_back_at(card.id) < before]

    def _note_brought_back(self, id: str) -> Path:
        """The file that says when a session was brought back, from which its days count again."""
        path = self._workspace.home.archived(id)
        return path.with_name(path.name.removesuffix(".jsonl.gz") + ".restored")

    def _brought_back_at(self, id: str) -> str:
        try:
            return read_bytes(self._note_brought_back(id)).decode("ascii", "replace").strip()
        except OSError:
            return ""

    def run(self, days: float | None = None, progress: Progress | None = None) -> builtins.list[Archived]:
        """Archive all candidates. One that a run holds or somebody writes to waits for the next time;
        what stands in the way of another is raised when all the rest is archived."""
        self._workspace.pause_file.check()
        if self._workspace.home.shared_store:
            hint = "`segue export ID -o FILE` keeps a copy here; --list and --restore still work"
            raise errors.RefusedError("sessions of a shared store are not archived on one machine", hint=hint)
        cards = self.candidates(days)
        archived: builtins.list[Archived] = []
        faults: builtins.list[errors.SegueError] = []
        for card in counted(cards, progress, lambda card: card.id):
            try:
                archived.append(self._archive(card.id))
            except (errors.SessionHeld, errors.StaleVersion):
                continue
            except (errors.ConflictError, errors.DamagedError) as fault:
                faults.append(fault)
        if progress and cards:
            progress(len(cards), len(cards), "")
        if faults:
            raise faults[0]
        return archived

    def list(self) -> builtins.list[Archived]:
        """All archives, by id."""
        return [_described(path) for path in sorted(self._workspace.home.archive.glob("*.jsonl.gz"))]

    def restore(self, id: str) -> SessionHandle:
        """Bring a session back into the store, then remove its archive."""
        self._workspace.pause_file.check()
        path = self._workspace.home.archived(id)
        if not path.is_file():
            hint = "`segue cleanup --list` shows those that are"
            raise errors.UnknownSession(f"no session {id!r} is archived", hint=hint)
        with self._held(id) as hold, _file_faults(path):
            session = deliver(self._workspace, _read(path))
            trip("cleanup.after_restore")
            write_whole(self._note_brought_back(id), now().encode())
            path.unlink()
            sync_folder(path.parent)
            hold.release()
        return session

    @contextmanager
    def _held(self, id: str) -> Iterator[Hold]:
        hold = self._workspace.holds.take(id, holder=_HOLDER, run=new_run())
        try:
            yield hold
        except BaseException:
            hold.release()
            raise

    def _archive(self, id: str) -> Archived:
        workspace, path = self._workspace, self._workspace.home.archived(id)
        workspace.pause_file.check()
        with self._held(id), _file_faults(path):
            ledger = Append(hold_stream(id), workspace.store.head(hold_stream(id)).version)
            events = workspace.store.read(stream_of(id))
            body = pack(id, events, workspace.store)
            self._write(path, unpack(body), body)
            parcel = _read(path)
            if parcel.head != events[-1].hash:
                raise errors.DamagedError("the archive", str(path), "it does not contain what was written")
            trip("cleanup.after_archive")
            workspace.backups.note_store(less_events=len(events))
            self._drop(parcel, ledger)
            trip("cleanup.after_drop")
            workspace.backups.note_store()  # others may have noted it in between
            self._note_brought_back(id).unlink(missing_ok=True)
            workspace.repository.forget(id)
            return _described(path, parcel)

    def _write(self, path: Path, parcel: Parcel, body: bytes) -> None:
        """Write an archive, unless it is there; one that holds anything else is left alone."""
        if path.exists():
            old = _read(path)
            if not _continues(parcel, old):
                told = f"{path} contains another session {old.session}; nothing was overwritten"
                hint = "move that file away, or restore it in another data folder"
                raise errors.ConflictError(told, hint=hint)
            if gzip.decompress(read_bytes(path)) == body:
                return
        write_whole(path, gzip.compress(body, mtime=int(datetime.now(UTC).timestamp())))

    def _drop(self, parcel: Parcel, ledger: Append) -> None:
        """Drop the stream, its holds, pieces that no other session names, and copies of its transcripts."""
        journal, stream = self._workspace.store, stream_of(parcel.session)
        whole = Append(stream, parcel.events[-1].version)
        while True:
            beside = {name: version for name, version in journal.streams("session/") if name != stream}
            others: set[str] = set()
            for name in beside:
                others.update(named_pieces(journal.read(name)))
            own = [address for address in parcel.pieces if address not in others]
            copies, theirs = archived_with(self._workspace, parcel.session)
            try:
                journal.drop(whole, ledger, *copies, pieces=[*own, *theirs], beside=beside)
                return
            except errors.StaleVersion as stale:
                if stale.stream != "session/" and not stale.stream.startswith(PREFIX):
                    raise


def _continues(parcel: Parcel, old: Parcel) -> bool:
    count = len(old.events)
    same = len(parcel.events) >= count and parcel.events[count - 1].hash == old.head
    return same and old.pieces.keys() <= parcel.pieces.keys()


def _read(path: Path) -> Parcel:
    try:
        return unpack(gzip.decompress(read_bytes(path)))
    except (gzip.BadGzipFile, EOFError, zlib.error, errors.BadImport) as fault:
        raise errors.DamagedError("the archive", str(path), str(fault)) from fault


def _described(path: Path, parcel: Parcel | None = None) -> Archived:
    with open_file(path) as file:
        made = datetime.fromtimestamp(int.from_bytes(file.read(8)[4:], "little"), UTC)
    archived_at = made.isoformat(timespec="microseconds").replace("+00:00", "Z")
    size, id = path.stat().st_size, path.name.removesuffix(".jsonl.gz")
    try:
        parcel = parcel or _read(path)
    except errors.DamagedError as fault:
        return Archived(id, "", path, size, 0, archived_at, fault.reason)
    return Archived(id, fold_all(parcel.events).goal, path, size, len(parcel.events), archived_at)


@contextmanager
def _file_faults(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as fault:
        told = f"cannot write {path}: {fault.strerror}"
        if isinstance(fault, PermissionError) or fault.errno == errno.EROFS:
            raise errors.AccessError(told, hint="correct the permissions of the data folder") from fault
        if fault.errno in (errno.ENOSPC, errno.EDQUOT):
            hint = "free some space, then try again"
            raise errors.StoreFull(f"no space left for {path}", hint=hint) from fault
        raise errors.StoreUnavailable(told, hint="see `segue doctor`") from fault
