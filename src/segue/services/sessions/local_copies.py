"""What this machine had acknowledged by a shared store, for the day on which the store has it no more.

A database whose standby takes over without the last commits goes back: what was acknowledged is gone, and the
next write would take the place of what is lost. So a copy of each event that this machine appended to a
session is kept for a while. A store that is behind the copy has gone back: nothing is written to that session
until `segue recover` has brought back what this machine has.

Copies are written without waiting for the disk: they are for the loss of another machine, not of this one.
They hold what the store holds, cleaned of secrets, and go when something is erased.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from ..._files import APPEND_FLAGS, read_bytes
from ...core.base.canonical import sha256
from ...core.base.values import Value
from ...core.journal.event import Draft, Event
from ...effects.files.atomic import PRIVATE_FILE, private_folder
from ...errors import DamagedError, HistoryWentBack, SegueError, StaleVersion
from ...stores.base import Append, Journal
from ...stores.proofs import proven_event

COPY_BYTES_MAX = 1 << 20
"""A file of copies that is larger becomes the older one, and the one before that goes."""
SESSIONS_MAX = 500
OLD_PRIMARY_SECONDS_MAX = 5.0
_PAUSE_SECONDS = 0.25
_SUFFIX, _OLDER = ".jsonl", ".older"
_SESSIONS = "session/"


class CopiedEvent(Value):
    """An event as it is stored, in a line of a file."""

    stream: str
    version: int
    header: bytes
    body: bytes
    hash: bytes


class LostTail(Value):
    """Events of a session that this machine has, and the store does not."""

    stream: str
    at: int
    """The version at which the store is."""
    events: list[Event]
    """In order; whole commits."""


_lines = msgspec.json.Decoder(CopiedEvent)


class LocalCopies:
    """Copies for one store, a file for each session."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._last: dict[str, int] = {}
        self._unwritten: set[str] = set()
        """The sessions of which a copy could not be written, so that what is on disk does not tell."""
        self._settled: dict[str, int] = {}
        """Up to which versions sessions were brought back by others, until something is written to them."""

    def _path(self, stream: str) -> Path:
        return self._folder / f"{sha256(stream.encode()).hexdigest()[:24]}{_SUFFIX}"

    def last(self, stream: str) -> int:
        """The newest version of which there is a copy; 0 if there is none."""
        found = self._last.get(stream)
        if found is None:
            found = self._last[stream] = self._last_on_disk(stream)
        return found

    def _last_on_disk(self, stream: str) -> int:
        path = self._path(stream)
        copies = (one for file in (path, path.with_suffix(_OLDER)) for one in self._read(file))
        return max((one.version for one in copies), default=0)

    def newest(self) -> tuple[str, int]:
        """The session that was written to last, and its version; an empty name if there is none."""
        files = sorted(self._folder.glob(f"*{_SUFFIX}"), key=lambda path: path.stat().st_mtime)
        copies = self._read(files[-1]) if files else []
        return (copies[-1].stream, max(one.version for one in copies)) if copies else ("", 0)

    # -- what a store calls ----------------------------------------------------------------------

    def before(self, journal: Journal, appends: Iterable[Append]) -> None:
        """Raise HistoryWentBack if a session that is to be written to has lost what is known here."""
        for wish in appends:
            if wish.stream.startswith(_SESSIONS) and wish.drafts and wish.expect < self.last(wish.stream):
                self.check(journal, wish.stream, self.last(wish.stream))

    def refused(self, journal: Journal, stale: StaleVersion) -> None:
        """The same for an append that was refused."""
        if stale.stream.startswith(_SESSIONS) and stale.actual < self.last(stale.stream):
            self.check(journal, stale.stream, self.last(stale.stream))

    def check(self, journal: Journal, stream: str, seen: int, *, replaced: bool = False) -> None:
        """Raise HistoryWentBack if a session stays behind a version, or another history came in its place:
        for a moment after a failover, the primary of before may still answer."""
        deadline = time.monotonic() + OLD_PRIMARY_SECONDS_MAX
        while (actual := journal.head(stream).version) < seen or replaced:
            if self._is_settled(stream, seen) or (not actual and _is_archived(journal, stream)):
                return
            if actual >= seen or time.monotonic() > deadline:
                raise HistoryWentBack(stream, seen, actual)
            time.sleep(_PAUSE_SECONDS)

    def _is_settled(self, stream: str, seen: int) -> bool:
        """Whether another process has dropped the copies up to a version: it has brought them back."""
        known, there = self._last.get(stream, 0), self._last_on_disk(stream)
        if there < known and stream not in self._unwritten:
            self._last[stream], self._settled[stream] = there, known
        return seen <= self._settled.get(stream, 0)

    def after(self, events: Sequence[Event]) -> None:
        """Keep copies of what was acknowledged. That it cannot be written is no error: the store has it."""
        streams = dict.fromkeys(event.stream for event in events if event.stream.startswith(_SESSIONS))
        for stream in streams:
            own = [event for event in events if event.stream == stream]
            try:
                self._append(stream, own)
                self._unwritten.discard(stream)
            except OSError:
                self._unwritten.add(stream)
            self._last[stream] = max(self._last.get(stream, 0), own[-1].version)
            self._settled.pop(stream, None)

    def _append(self, stream: str, events: Sequence[Event]) -> None:
        copies = [CopiedEvent(stream, e.version, e.header(), e.body, e.hash) for e in events]
        path = self._path(stream)
        is_new = not path.exists()
        if is_new:
            private_folder(self._folder)
            self._make_room()
        elif path.stat().st_size > COPY_BYTES_MAX:
            os.replace(path, path.with_suffix(_OLDER))
        out = os.open(path, APPEND_FLAGS, PRIVATE_FILE)
        try:
            os.write(out, b"".join(msgspec.json.encode(one) + b"\n" for one in copies))
        finally:
            os.close(out)

    def _make_room(self) -> None:
        files = sorted(self._folder.glob(f"*{_SUFFIX}"), key=lambda path: path.stat().st_mtime)
        for path in files[: max(0, len(files) - SESSIONS_MAX + 1)]:
            _remove(path)

    def forget(self, streams: Iterable[str]) -> None:
        """Drop the copies of sessions that were erased, removed or brought back."""
        for stream in streams:
            self._last.pop(stream, None)
            self._unwritten.discard(stream)
            self._settled.pop(stream, None)
            _remove(self._path(stream))

    def clear(self) -> None:
        """Drop all copies: they may hold a text that is being erased."""
        self._last.clear()
        self._unwritten.clear()
        self._settled.clear()
        for path in self._folder.glob(f"*{_SUFFIX}"):
            _remove(path)

    # -- bringing back ---------------------------------------------------------------------------

    def lost(self, journal: Journal) -> list[LostTail]:
        """What is here and not in the store, a session each; raises as the store does."""
        found = []
        for path in sorted(self._folder.glob(f"*{_SUFFIX}")):
            copies = self._events(path)
            if not copies:
                continue
            stream = copies[0].stream
            with suppress(DamagedError):  # which is another fault, and named elsewhere
                there = {event.hash for event in journal.read(stream, after=copies[0].version - 1)}
                missing = [event for event in copies if event.hash not in there]
                if missing and (there or not _is_archived(journal, stream)):
                    found.append(LostTail(stream, journal.head(stream).version, missing))
        return found

    def _events(self, path: Path) -> list[Event]:
        """Copies that are whole, in the order of their versions."""
        events: dict[bytes, Event] = {}
        for older in (path.with_suffix(_OLDER), path):
            for one in self._read(older):
                with suppress(SegueError):
                    event = proven_event(one.stream, one.version, one.header, one.body, one.hash, False)
                    events[event.hash] = event
        return sorted(events.values(), key=lambda event: event.version)

    def _read(self, path: Path) -> list[CopiedEvent]:
        copies = []
        with suppress(OSError):
            for line in read_bytes(path).splitlines():
                with suppress(msgspec.MsgspecError, UnicodeDecodeError):
                    copies.append(_lines.decode(line))
        return copies


def commits_of(events: Sequence[Event]) -> list[list[Event]]:
    """Events, those of one commit together."""
    found: list[list[Event]] = []
    is_open = False
    for event in events:
        if not is_open:
            found.append([])
        found[-1].append(event)
        is_open = event.left > 0
    return found


def drafts_of(events: Sequence[Event]) -> list[Draft]:
    """What events were before they had a place: at the same place they become the same events again."""
    return [Draft(e.kind, e.body, e.at, e.actor, e.run, e.format) for e in events]


def _is_archived(journal: Journal, stream: str) -> bool:
    """Whether a session is gone because somebody archived it."""
    return journal.head(f"archive/{stream.removeprefix(_SESSIONS)}").version > 0


def _remove(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.with_suffix(_OLDER).unlink(missing_ok=True)
