"""The recovery ladder for a store that is a server: its files are the server's to mend, the rest is ours.

Every chain is proven; what is damaged there is named, and comes back from the server's own backup. Snapshots
that are not what a refold gives are made anew, what the store had acknowledged to this machine and lost comes
back from copies, emergency files are merged, and sessions that only transcripts still know, on this machine
or in the store, are brought back.
"""

from __future__ import annotations

from contextlib import nullcontext

from ....core.journal.chain import faults
from ....core.journal.histories import Missing
from ....core.runs.shared_copies import PREFIX
from ....errors import SegueError
from ....settings import Settings
from ....stores.base import Store
from ...sessions.archived import archived_sessions
from ...sessions.local_copies import LocalCopies
from ...workspace.data_folder import DataFolder
from ...workspace.open_workspace import open_workspace
from ..rebuild import tally
from . import from_runs
from .from_copies import bring_back_copies
from .lost_state import bring_back, lost_pieces, merge_emergencies, refold
from .result import Recovery, Rung


def recover_server(home: DataFolder, settings: Settings, *, dry_run: bool) -> Recovery:
    """Look, and mend what can be mended from here. Raises what opening the store raises."""
    where, key = settings.text("store"), settings.text("api_key")
    with open_workspace(home=home.path, store=where, folder=home.path, api_key=key or None) as workspace:
        journal = workspace.store
        trouble = _inspect(journal)
        detail = "; ".join(trouble[:3])
        if trouble:
            detail += "; restore the database from its backup, on the server"
        rungs = [Rung("store", "damaged" if trouble else "ok", detail)]
        if not trouble:
            rungs.append(refold(journal, mend=not dry_run))
        copied = _copies(journal, LocalCopies(workspace.home.copies), dry_run=dry_run)
        merged, _ = merge_emergencies(workspace.home, lambda: nullcontext(workspace), dry_run=dry_run)
        told, missing = _transcripts(home, journal, dry_run=dry_run)
        rungs += [copied, merged, told]
        sessions, events = tally(journal)
    changed = not dry_run and any(rung.status == "used" for rung in rungs)
    return Recovery(rungs, sessions, events, missing, "", changed)


def _copies(journal: Store, copies: LocalCopies, *, dry_run: bool) -> Rung:
    journal.watch = None  # it would refuse what brings the store forward again
    return bring_back_copies(copies, journal, dry_run=dry_run)


def _inspect(journal: Store) -> list[str]:
    found: list[str] = []
    for stream, _ in journal.streams():
        try:
            told = faults(stream, journal.read(stream))
            found += [f"{fault.stream} version {fault.version}: {fault.reason}" for fault in told]
        except SegueError as fault:
            found.append(fault.message)
    return found or lost_pieces(journal)


def _transcripts(home: DataFolder, journal: Store, *, dry_run: bool) -> tuple[Rung, list[Missing]]:
    if not home.transcripts.is_file() and not journal.streams(PREFIX):
        return Rung("transcript", "none", "no transcripts are archived"), []
    there = {name.removeprefix("session/") for name, _ in journal.streams("session/")}
    there |= set(archived_sessions(journal))
    lost = from_runs.lost_sessions(home, there, journal)
    return bring_back(from_runs.WORDS, lost, nullcontext(journal), dry_run=dry_run)
