"""Sessions that are over, out of the way and into archives; never silently gone.

An archive is written, synced, read back and proven before anything leaves the store: at every
moment the session is in the store, in its archive, or in both. Archiving and restoring hold
the session, so that two processes never do both at once. Sessions leave one by one, each in a
transaction of its own, with a pause behind it as long as it took, so that whoever works there has at
least half of the store.
"""

from __future__ import annotations

import builtins
import errno
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from ... import errors
from ..._checked_calls import checked
from ..._failpoints import trip
from ...core.base.text import clean_name
from ...core.base.values import Progress, counted
from ...core.runs.shared_copies import PREFIX
from ...core.sessions.status import Card
from ...effects.clock import moment
from ...effects.files.maintenance import maintaining
from ...stores.base import Append, Journal, RunRow
from ..handoff.export import Parcel, deliver, named_pieces, pack
from ..runs.shared_copies import archived_with
from ..sessions.holds import Hold, hold_stream, new_run
from ..sessions.repository import stream_of
from ..workspace.session_handle import SessionHandle
from ..workspace.workspace import Workspace
from .archive_places import Archived, Content, merged, places_of

Cards = list[Card]
_HOLDER = "segue cleanup"
PAUSE_SECONDS_MAX = 0.5


@checked
class Cleanup:
    """The archive of a store."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._places = places_of(workspace)
        self._place = self._places[0]
        self._names = _PieceNames(workspace.store)

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
        back = self._place.brought_back([card.id for card in old])
        return [card for card in old if back.get(card.id, "") < before]

    def run(self, days: float | None = None, progress: Progress | None = None) -> builtins.list[Archived]:
        """Archive all candidates. One that a run holds or somebody writes to waits for the next time;
        what stands in the way of another is raised when all the rest is archived."""
        self._workspace.pause_file.check()
        with self._alone():
            return self._run(days, progress)

    def _alone(self) -> AbstractContextManager[None]:
        return maintaining(self._workspace.home.database, _HOLDER, journal=self._workspace.store)

    def _run(self, days: float | None, progress: Progress | None) -> builtins.list[Archived]:
        self._finish()
        cards = self.candidates(days)
        archived: builtins.list[Archived] = []
        faults: builtins.list[errors.SegueError] = []
        for card in counted(cards, progress, lambda card: card.id):
            began = time.monotonic()
            try:
                archived += self._archive(card.id)
            except (errors.SessionHeld, errors.StaleVersion):
                continue
            except (errors.ConflictError, errors.DamagedError) as fault:
                faults.append(fault)
            time.sleep(min(PAUSE_SECONDS_MAX, time.monotonic() - began))
        if progress and cards:
            progress(len(cards), len(cards), "")
        if faults:
            raise faults[0]
        return archived

    def list(self) -> builtins.list[Archived]:
        """All archives, by id."""
        found = [place.described(id) for place in self._places for id in place.ids()]
        return sorted(found, key=lambda one: one.id)

    def restore(self, id: str) -> SessionHandle:
        """Bring a session back into the store with its runs, then remove its archive."""
        self._workspace.pause_file.check()
        with self._alone():
            return self._restore(clean_name(id))

    def _restore(self, id: str) -> SessionHandle:
        place = next((place for place in self._places if place.has(id)), None)
        if place is None:
            hint = "`segue cleanup --list` names those that are"
            raise errors.UnknownSession(f"no session {id!r} is archived", hint=hint)
        with self._held(id) as hold, _file_faults(id):
            content = place.find(id)
            if content is None:
                raise errors.DamagedError("the archive", id, "whoever wrote it was interrupted")
            session = deliver(self._workspace, _parcel(id, content))
            runs = self._workspace.store.runs
            runs.put([row for row in content.runs if runs.get(row.key) is None])
            trip("cleanup.after_restore")
            place.take_out(id)
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

    def _archive(self, id: str) -> builtins.list[Archived]:
        """Archive a session; nothing if somebody on another machine has archived it by now."""
        workspace = self._workspace
        workspace.pause_file.check()
        with self._held(id), _file_faults(id):
            ledger = Append(hold_stream(id), workspace.store.head(hold_stream(id)).version)
            events = workspace.store.read(stream_of(id))
            if not events:
                return []
            runs = self._runs(id)
            self._write(id, Content(pack(id, events, workspace.store), runs))
            content = self._place.find(id)
            if content is None or _parcel(id, content).head != events[-1].hash:
                raise errors.DamagedError("the archive", id, "it does not hold what was written")
            trip("cleanup.after_archive")
            workspace.backups.note_store(less_events=len(events))
            self._drop(_parcel(id, content), ledger)
            trip("cleanup.after_drop")
            workspace.store.runs.drop(row.key for row in runs)
            workspace.backups.note_store()  # others may have noted it in between
            self._place.forget_brought_back(id)
            workspace.repository.forget(id)
            return [self._place.described(id)]

    def _finish(self) -> None:
        """Drop runs of sessions that somebody archived who died before he could."""
        runs, place = self._workspace.store.runs, self._place
        archived, left = set(place.ids()), []
        for row in runs.rows():
            if row.session in archived and not self._workspace.repository.exists(row.session):
                content = place.find(row.session)
                kept = {one.key: one.last for one in content.runs} if content is not None else {}
                left += [row.key] if row.last <= kept.get(row.key, -1.0) else []
        if left:
            runs.drop(left)

    def _runs(self, id: str) -> builtins.list[RunRow]:
        """The runs of a session, but those whose transcripts are on this machine: a sync finds them again."""
        runs = self._workspace.store.runs
        gone = [row.key for row in runs.rows(session=id) if not _is_there(row.path)]
        return [row for key in gone if (row := runs.get(key)) is not None]

    def _write(self, id: str, content: Content) -> None:
        """Write an archive, unless it is there; one that holds anything else is left alone."""
        old = self._place.find(id)
        if old is not None:
            if not _continues(_parcel(id, content), _parcel(id, old)):
                told = f"the archive holds another session {id}: nothing was overwritten"
                hint = "move that archive away, or restore it in another data folder"
                raise errors.ConflictError(told, hint=hint)
            content = Content(content.session, merged(content.runs, old.runs))
            if old == content:
                return
        self._place.put(id, content)

    def _drop(self, parcel: Parcel, ledger: Append) -> None:
        """Drop the stream, its holds, pieces that no other session names and, of an embedded store, copies of
        its transcripts. In a shared store these stay: nobody else may have them any more."""
        journal, stream = self._workspace.store, stream_of(parcel.session)
        whole = Append(stream, parcel.events[-1].version)
        while True:
            shared = bool(self._workspace.home.shared_store)
            copies, theirs = ([], []) if shared else archived_with(self._workspace, parcel.session)
            beside, others = self._names.beside(stream) if parcel.pieces else (None, set[str]())
            own = [address for address in parcel.pieces if address not in others]
            try:
                journal.drop(whole, ledger, *copies, pieces=[*own, *theirs], beside=beside)
                return
            except errors.StaleVersion as stale:
                if stale.stream != "session/" and not stale.stream.startswith(PREFIX):
                    raise


class _PieceNames:
    """Which pieces the sessions of a store name; each event is read once."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._known: dict[str, tuple[int, set[str]]] = {}

    def beside(self, stream: str) -> tuple[dict[str, int], set[str]]:
        """The versions of all other sessions, and the pieces that these name."""
        beside = {name: version for name, version in self._journal.streams("session/") if name != stream}
        named: set[str] = set()
        for name, version in beside.items():
            before, known = self._known.get(name, (0, set()))
            if before > version:  # it was dropped, and another one has its name
                before, known = 0, set()
            if before < version:
                known = known | set(named_pieces(self._journal.read(name, after=before)))
                self._known[name] = (version, known)
            named |= known
        return beside, named


def _is_there(path: str) -> bool:
    try:
        return bool(path) and Path(path).exists()
    except (OSError, ValueError):
        return False


def _continues(parcel: Parcel, old: Parcel) -> bool:
    count = len(old.events)
    same = len(parcel.events) >= count and parcel.events[count - 1].hash == old.head
    return same and old.pieces.keys() <= parcel.pieces.keys()


def _parcel(id: str, content: Content) -> Parcel:
    try:
        return content.parcel()
    except errors.BadImport as fault:
        raise errors.DamagedError("the archive", id, str(fault)) from fault


@contextmanager
def _file_faults(id: str) -> Iterator[None]:
    try:
        yield
    except OSError as fault:
        told = f"cannot write the archive of {id}: {fault.strerror}"
        if isinstance(fault, PermissionError) or fault.errno == errno.EROFS:
            raise errors.AccessError(told, hint="correct the permissions of the data folder") from fault
        if fault.errno in (errno.ENOSPC, errno.EDQUOT):
            hint = "free some space, then try again"
            raise errors.StoreFull(f"no space left for the archive of {id}", hint=hint) from fault
        raise errors.StoreUnavailable(told, hint="see `segue doctor`") from fault
