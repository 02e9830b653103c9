"""One thing that the doctor looked at, and what any store is asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from typing import TypeVar

from ....core.base.values import Value, count
from ....errors import SegueError
from ....stores.base import Journal
from ...sessions.local_copies import LocalCopies
from ...workspace.data_folder import DataFolder
from ..rebuild import stale_snapshots, tally


class Diagnosis(Value):
    """One thing that was looked at."""

    name: str
    status: str
    """ok, warn or bad."""
    detail: str
    hint: str = ""


def further(hint: str) -> str:
    """The hint of an error, for one who asked the doctor already."""
    if "`segue doctor`" not in hint:
        return hint
    return "check that the server is running, the address and the network"


_Store = TypeVar("_Store", bound=Journal)


def of_server(
    opened: Callable[[], _Store], look: Callable[[_Store], Iterator[Diagnosis]]
) -> Iterator[Diagnosis]:
    """What a look at a store that is a server finds, also if the server does not answer."""
    try:
        with closing(opened()) as journal:
            yield from look(journal)
    except SegueError as fault:
        yield Diagnosis("server", "bad", fault.message, further(fault.hint))


def behind_copies(home: DataFolder, journal: Journal) -> Diagnosis:
    """Whether a shared store has all that it acknowledged to this machine lately."""
    lost = LocalCopies(home.copies).lost(journal)
    if not lost:
        return Diagnosis("history", "ok", "the store has everything this machine wrote recently")
    first = lost[0]
    name, seen = first.stream.removeprefix("session/"), first.events[-1].version
    told = f"the store went back: {name} is at {first.at}, but version {seen} had been saved"
    told += f"; {count(len(lost), 'session')} in all" if len(lost) > 1 else ""
    return Diagnosis("history", "bad", told, "`segue recover` restores it from this machine's copies")


def every_event_read(journal: Journal, more: str, hint: str) -> Diagnosis:
    """``proven``, and what is wrong if an event cannot be read."""
    try:
        for stream, _ in journal.streams():
            journal.read(stream)
        return proven(journal, more)
    except SegueError as fault:
        return Diagnosis("store", "bad", fault.message, hint)


def proven(journal: Journal, more: str) -> Diagnosis:
    """Every event of a store read and proven, and every snapshot held against a refold."""
    sessions, events = tally(journal)
    if stale := stale_snapshots(journal):
        told = f"different from a rebuild: {count(len(stale), 'snapshot')}"
        return Diagnosis("store", "warn", told, "`segue rebuild`")
    told = f"{count(sessions, 'session')}, {count(events, 'event')}, every chain verified; {more}"
    return Diagnosis("store", "ok", told)
