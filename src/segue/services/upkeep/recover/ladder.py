"""The recovery ladder: from what is on disk, the best store that can be made of it.

Rungs, each tried only where those above it do not hold:

1. *store*: it opens, SQLite finds nothing wrong, every chain is proven.
   *tables*: what the schema declares and the file lacks is made anew around a whole journal (``tables``).
2. *refold*: the journal is whole, snapshots are not: they are made anew.
3. *backup*: the newest backup plus every later event that is readable in the damaged file, its log, older
   backups and kept originals, merged by the chains of their hashes (``sources``).
4. *emergency*: files of dying processes, which may hold the state of a session that no other source has.
5. *transcript*, *git*, *memories*: a session that nothing above has, as the transcripts of its runs tell it,
   else the state that a handover left, else the memories that name it (``from_…``).

A new file is built beside the damaged one and put in its place only when it is proven; the original is kept,
and a backup is made of what came back. What no source had is named by session and version, never papered
over; what left no trace can only be told by the time of the newest that came back.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple

import apsw

from ...._failpoints import trip
from ...._files import copy_file, is_file, open_file
from ....core.base.values import Progress, Value, count, counted
from ....core.journal.chain import faults
from ....core.journal.histories import Missing
from ....effects.clock import now
from ....effects.files.atomic import private_folder, sync_file, sync_folder, write_whole
from ....effects.files.maintenance import maintaining
from ....effects.pause_file import PauseFile
from ....effects.processes.identity import start_of
from ....errors import AccessError, SchemaTooNew, SegueError, StoreBusy, StoreFull
from ....settings import Settings
from ....stores.sqlite import SqliteStore, alone
from ....stores.sqlite.upkeep import integrity
from ...workspace.backups import Backups
from ...workspace.data_folder import DataFolder
from ...workspace.open_workspace import open_workspace
from ...workspace.store_note import behind_note, missing_in, note_store, read_note
from . import sources
from .aside import in_the_way, put_aside
from .from_memories import gathered, put_back
from .lost_state import bring_back, lost_pieces, merge_emergencies, refold
from .result import ACTOR, OF_A_STATE, KeptHistory, Recovery, Rung
from .tables import TableFaults, carry_over, mend_tables, table_faults

TROUBLES_MAX = 2


class Tree(NamedTuple):
    """A working tree that may tell of sessions."""

    folder: Path
    memory_dir: str
    """Its folder of Markdown layers."""
    trusted: bool
    """Whether sessions are taken in that nothing else knows."""


def recover(
    home: DataFolder, settings: Settings, *, dry_run: bool = False, progress: Progress | None = None,
    folder: Path | None = None, memory_dir: str = "memory", from_git: bool = False,
) -> Recovery:  # fmt: skip
    """Climb the ladder; a healthy store is only looked at. The rung of git looks into ``folder``, and takes
    in sessions that were not of this store before only if ``from_git`` says so."""
    if not dry_run:
        PauseFile([home.path / "PAUSE", home.path / (settings.text("pause_file") or "PAUSE")]).check()
    home = home.for_store(settings.text("store"))
    tree = Tree(folder, memory_dir, from_git) if folder is not None else None
    if home.shared_store:
        from .remote import recover_server

        return recover_server(home, settings, dry_run=dry_run)
    if not dry_run:
        private_folder(home.database.parent)
    if dry_run:
        return _climb(home, settings, tree, dry_run=True, progress=progress)
    with maintaining(home.database, ACTOR), alone(home.database):
        return _climb(home, settings, tree, dry_run=False, progress=progress)


def _climb(
    home: DataFolder, settings: Settings, tree: Tree | None, *, dry_run: bool, progress: Progress | None
) -> Recovery:  # fmt: skip
    path, remains, known = home.database, home.damage(), _noted(home)
    blocked = in_the_way(home)
    if not dry_run:
        _remove_leftovers(path)
        if blocked:
            put_aside(home, blocked, "in-the-way")
    trouble = [f"{one} is not a file" for one in blocked] or ([remains] if remains else [])
    mended, kept = list[Rung](), ""
    faults = TableFaults([]) if trouble else table_faults(path)
    if not trouble and path.exists():
        mended, kept, trouble = _mend_tables(home, path, faults, dry_run=dry_run)
        if not mended or not dry_run:
            trouble = trouble or inspect(path, read_only=dry_run) or older_state(home)
    rungs = [Rung("store", "damaged" if trouble else "ok", _in_short(trouble)), *mended]
    missing: list[Missing] = []
    sessions, events = 0, 0
    rebuilt: set[str] | None = None
    built: _Built | None = None
    if trouble:
        with _place_to_build(path, dry_run=dry_run) as new:
            built = _build(home, new, progress)
            if trouble == faults.in_journal:
                carry_over(path, new)
            sessions, events = _count(new)
            rebuilt = _sessions(new)
            if not dry_run:
                kept = _swap(home, path, new) or kept
        missing = built.missing
        rungs += built.rungs
    elif path.exists() and not (mended and dry_run):
        with closing(SqliteStore(path, read_only=dry_run)) as journal:
            rungs.append(refold(journal, mend=not dry_run))
    rung, restored = merge_emergencies(
        home, lambda: open_workspace(home=home.path, store=f"sqlite://{path}", folder=home.path),
        dry_run=dry_run,
    )  # fmt: skip
    rungs.append(rung)
    there = rebuilt if dry_run and rebuilt is not None else _sessions(path)
    known |= built.known if built else frozenset()
    for rung, told in _lost_sessions(home, path, there, tree, known, dry_run=dry_run):
        rungs.append(rung)
        missing += told
    if not (dry_run and trouble):
        sessions, events = _count(path)
    back = bool(built) or restored or any(r.status == "used" for r in rungs if r.name != "refold")
    changed = not dry_run and (back or any(r.status == "used" for r in rungs))
    made = _back_up(home, settings) if back and not dry_run else ""
    if not dry_run:
        rungs += _settle(home)
    memories, doubt = (built.memories, built.doubt) if built else (0, "")
    histories = built.histories if built else []
    return Recovery(rungs, sessions, events, missing, kept, changed, memories, doubt, made, histories)


def _mend_tables(
    home: DataFolder, path: Path, faults: TableFaults, *, dry_run: bool
) -> tuple[list[Rung], str, list[str]]:
    """The rung of tables, if there is something to do on it; where the original is kept; and what is wrong
    that a new store has to be built for."""
    if faults.in_journal:
        return [], "", faults.in_journal
    if not faults.found:
        return [], "", []
    if dry_run:
        return [Rung("tables", "ok", f"can be made right: {'; '.join(faults.told)}")], "", []
    aside = _keep_original(home, path)
    try:
        done = mend_tables(home, path, faults)
    except apsw.Error as fault:
        return [], str(aside), [*faults.told, str(fault)]
    with closing(SqliteStore(path)) as journal, suppress(SegueError, OSError):
        note_store(home, journal, anew=True)
    return [Rung("tables", "used", "; ".join(done))], str(aside), []


@contextmanager
def _place_to_build(path: Path, *, dry_run: bool) -> Iterator[Path]:
    """Where the new store is built: beside the damaged one, or in a temporary folder if nothing is to be
    changed."""
    if dry_run:
        with tempfile.TemporaryDirectory(prefix="segue-look-") as folder:
            yield Path(folder) / path.name
        return
    new = path.with_name(f"{path.name}.recovering-{os.getpid()}")
    _remove(new)
    try:
        yield new
    finally:
        _remove(new)


def _settle(home: DataFolder) -> list[Rung]:
    """Leave nothing for the doctor to find again: a new note, and backups that cannot be read aside."""
    if home.database.exists():
        with closing(SqliteStore(home.database)) as journal, suppress(SegueError, OSError):
            note_store(home, journal)
    broken = unreadable_backups(home)
    if not broken:
        return []
    folder = put_aside(home, broken, "backups")
    return [Rung("backup", "damaged", f"{count(len(broken), 'file')} moved aside to {folder}")]


def unreadable_backups(home: DataFolder) -> list[Path]:
    """Files and folders that are named like backups and that cannot be read as one."""
    found = []
    for path in sorted(home.backups.glob("segue-*-*.db")):
        try:
            with closing(SqliteStore(path, read_only=True)) as backup:
                backup.streams()
        except SchemaTooNew:
            continue
        except SegueError:
            found.append(path)
    return found


def _in_short(trouble: list[str]) -> str:
    """What is wrong, for a line: a damage of SQLite has many words."""
    more = f"; and {len(trouble) - TROUBLES_MAX} more" if len(trouble) > TROUBLES_MAX else ""
    return "; ".join(trouble[:TROUBLES_MAX]) + more


def _back_up(home: DataFolder, settings: Settings) -> str:
    """The name of a backup of what came back: it may be nowhere else. Empty if none could be made."""
    with closing(SqliteStore(home.database)) as journal, suppress(SegueError):
        return Backups(home, journal, settings, PauseFile([])).make().path.name
    return ""


def inspect(path: Path, *, read_only: bool = False) -> list[str]:
    """What is wrong with a store, in words, as two looks at it find alike: others may be writing, or archive
    a session between its events and its pieces. Empty if it is proven whole."""
    found = _look(path, read_only=read_only)
    again = _look(path, read_only=read_only) if found else []
    return [told for told in found if told in again]


def _look(path: Path, *, read_only: bool) -> list[str]:
    journal = SqliteStore(path, read_only=read_only)
    try:
        found = integrity(journal.database)
        if not found:
            found = [
                f"{fault.stream} version {fault.version}: {fault.reason}"
                for stream, _ in journal.streams()
                for fault in faults(stream, journal.read(stream))
            ]
            found += lost_pieces(journal)
            journal.memories.everything()
    except (SchemaTooNew, StoreBusy, StoreFull):
        raise
    except AccessError:
        if not (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)):
            raise
        found = ["SQLite considers the file read-only"]
    except SegueError as fault:
        found = [fault.message]
    finally:
        with suppress(Exception):
            journal.close()
    return found


def older_state(home: DataFolder) -> list[str]:
    """What says that the store is an older state of the one that stood here, or begun anew: the note beside
    it, and backups that hold what the store does not hold. Empty if nothing does, twice: a session may have
    gone to the archive between two looks."""
    found = _signs_of_older_state(home)
    again = _signs_of_older_state(home) if found else []
    return [told for told in found if told in again]


def _signs_of_older_state(home: DataFolder) -> list[str]:
    found = []
    with suppress(SegueError), closing(SqliteStore(home.database, read_only=True)) as journal:
        found = [behind_note(home, journal)]
        for backup in sources.backups(home):
            with suppress(SegueError):
                found.append(missing_in(home, journal, backup))
    return [told for told in found if told]


class _Built(Value):
    missing: list[Missing]
    rungs: list[Rung]
    memories: int
    doubt: str
    histories: list[KeptHistory]
    known: frozenset[str]
    """Sessions that any source names, with or without events."""


def _build(home: DataFolder, new: Path, progress: Progress | None) -> _Built:
    read: list[sources.Source] = []
    rungs: list[Rung] = []
    places = sources.places(home)
    for place in counted(places, progress, lambda place: place.name):
        found = sources.read_wreck(place)
        read.append(found)
        number = sum(len(events) for events in found.streams.values())
        detail = "; ".join([f"{place.name}: {count(number, 'event')}", *found.notes])
        rungs.append(Rung(place.kind, "used" if number else "none", detail))
    written = sources.write(new, read)
    rungs += [Rung("damaged file", "none", told) for told in written.left_out]
    memories = gathered(place.path for place in places)
    put_back(new, memories)
    problems = [p for p in inspect(new) if OF_A_STATE not in p and "rest of its commit" not in p]
    if problems:
        raise SegueError(f"the rebuilt store does not verify: {problems[0]}", hint="report this as a bug")
    live = sum(not memory.forgotten for memory in memories)
    known = frozenset(name.removeprefix("session/") for one in read for name in (*one.names, *one.streams))
    doubt = sources.doubt(home, read, memories)
    return _Built(written.missing, rungs, live, doubt, written.histories, known)


def _swap(home: DataFolder, path: Path, new: Path) -> str:
    """Copies of the damaged files aside, the new one in their place.

    From the moment in which the old log goes until the new file stands there, a marker names the
    copies: whoever opens the store then is told, and the next recovery begins from the copies.
    """
    aside = _keep_original(home, path)
    if aside.exists() and sources.kept_aside(home) is None:
        write_whole(home.swap_note, str(aside).encode())
    earlier = sources.kept_aside(home)
    kept = str(aside) if aside.exists() else str(earlier.parent) if earlier is not None else ""
    trip("recover.before_swap")
    for suffix in ("-wal", "-shm", "-journal"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    home.store_note.unlink(missing_ok=True)  # it may remember what is lost
    os.replace(new, path)
    sync_folder(path.parent)
    with closing(SqliteStore(path)) as journal, suppress(SegueError, OSError):
        note_store(home, journal, anew=True)
    home.swap_note.unlink(missing_ok=True)
    trip("recover.after_swap")
    return kept


def _keep_original(home: DataFolder, path: Path) -> Path:
    """Copy what is there of a store into a folder of its own, which is not made if nothing is there."""
    aside = home.folder_for_original(now())
    for original in [path.with_name(path.name + suffix) for suffix in ("-wal", "-journal", "")]:
        if is_file(original):
            private_folder(aside)
            copy_file(original, aside / original.name)
            with open_file(aside / original.name) as copy:
                sync_file(copy.fileno())
    if aside.exists():
        sync_folder(aside)
    return aside


def _remove_leftovers(path: Path) -> None:
    """Files that a recovery was building when it was killed."""
    for left in path.parent.glob(f"{path.name}.recovering-*"):
        pid = left.name.rpartition("recovering-")[2].partition("-")[0]
        if not pid.isdecimal() or not start_of(int(pid)):
            left.unlink(missing_ok=True)


def _remove(path: Path) -> None:
    for suffix in ("", "-wal", "-shm", "-journal"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def _lost_sessions(
    home: DataFolder, path: Path, there: set[str], tree: Tree | None, known: frozenset[str], *, dry_run: bool
) -> Iterator[tuple[Rung, list[Missing]]]:
    """Sessions that only transcripts, the state of a handover, or memories still know."""
    from . import from_git, from_memories, from_runs

    store = partial(closing, SqliteStore(path))
    if not home.transcripts.is_file():
        yield Rung("transcript", "none", "no transcripts are archived"), []
    else:
        try:
            lost = from_runs.lost_sessions(home, there)
        except SegueError as fault:
            yield Rung("transcript", "damaged", fault.message), []
        else:
            yield bring_back(from_runs.WORDS, lost, store(), dry_run=dry_run)
    if tree is not None:
        lost = from_git.lost_sessions(
            home, tree.folder, tree.memory_dir, there if dry_run else _sessions(path)
        )
        own = known | from_runs.sessions_of_copies(home) | from_memories.sessions_named(path)
        taken = [one for one in lost if tree.trusted or one.id in own]
        if len(taken) < len(lost):
            yield from_git.strangers([one for one in lost if one not in taken]), []
        if taken or not lost:
            yield bring_back(from_git.WORDS, taken, store(), dry_run=dry_run)
    lost = from_memories.lost_sessions(home, path, _sessions(path)) if path.exists() else []
    yield bring_back(from_memories.WORDS, lost, store(), dry_run=dry_run)


def _noted(home: DataFolder) -> frozenset[str]:
    """Sessions that the note beside the store remembers."""
    note = read_note(home.store_note)
    return frozenset(head.stream.removeprefix("session/") for head in note.heads) if note else frozenset()


def _heads(path: Path) -> list[tuple[str, int]]:
    if not path.exists():
        return []
    with suppress(SegueError), closing(SqliteStore(path, read_only=True)) as journal:
        return journal.streams()
    return []


def _sessions(path: Path) -> set[str]:
    return {name.removeprefix("session/") for name, _ in _heads(path) if name.startswith("session/")}


def _count(path: Path) -> tuple[int, int]:
    heads = _heads(path)
    return sum(name.startswith("session/") for name, _ in heads), sum(version for _, version in heads)
