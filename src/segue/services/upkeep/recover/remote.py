"""The recovery ladder for a store that is a server: its files are the server's to mend, the rest is ours.

Every chain is proven; what is damaged there is named, and comes back from the server's own backup. Snapshots
that are not what a refold gives are made anew, emergency files are merged, and sessions that only
transcripts still know, on this machine or in the store, are brought back.
"""

from __future__ import annotations

from ....core.base.values import count
from ....core.journal.chain import Missing, faults
from ....core.runs.shared_copies import PREFIX
from ....errors import SegueError
from ....settings import Settings
from ....stores.base import Store
from ...resume import emergency
from ...workspace.data_folder import DataFolder
from ...workspace.open_workspace import open_workspace
from ...workspace.workspace import Workspace
from ..rebuild import stale_snapshots
from . import from_runs
from .lost_state import lost_pieces, restore_state
from .result import OF_A_STATE, Recovery, Rung


def recover_server(home: DataFolder, settings: Settings, *, dry_run: bool) -> Recovery:
    """Look, and mend what can be mended from here. Raises what opening the store raises."""
    where = settings.text("store")
    key = settings.text("api_key")
    with open_workspace(home=home.path, store=where, folder=home.path, api_key=key or None) as workspace:
        journal = workspace.store
        missing: list[Missing] = []
        trouble = _inspect(journal)
        detail = "; ".join(trouble[:3])
        if trouble:
            detail += "; restore the database from its backup: its files are the server's"
        rungs = [Rung("store", "damaged" if trouble else "ok", detail)]
        if not trouble:
            rungs.append(_refold(journal, mend=not dry_run))
        rungs.append(_emergency(workspace, dry_run=dry_run))
        rung, told = _transcripts(home, journal, dry_run=dry_run)
        rungs.append(rung)
        missing += told
        heads = journal.streams()
        sessions = sum(name.startswith("session/") for name, _ in heads)
        events = sum(version for _, version in heads)
    changed = not dry_run and any(rung.status == "used" for rung in rungs)
    return Recovery(rungs, sessions, events, missing, "", changed)


def _inspect(journal: Store) -> list[str]:
    found: list[str] = []
    for stream, _ in journal.streams():
        try:
            told = faults(stream, journal.read(stream))
            found += [f"{fault.stream} version {fault.version}: {fault.reason}" for fault in told]
        except SegueError as fault:
            found.append(fault.message)
    if not found:
        found = [f"{session}: {count(lost, 'piece')} {OF_A_STATE}" for session, lost in lost_pieces(journal)]
    return found


def _refold(journal: Store, *, mend: bool) -> Rung:
    stale = len(stale_snapshots(journal, mend=mend))
    detail = f"{stale} snapshots made anew" if stale else "every snapshot equals a refold"
    return Rung("refold", "used" if stale else "ok", detail)


def _emergency(workspace: Workspace, *, dry_run: bool) -> Rung:
    files = emergency.pending(workspace.home.emergency)
    whole = [(file, found) for file in files if (found := emergency.read(file)) is not None]
    if not files:
        return Rung("emergency", "none", "no emergency files")
    detail = f"{len(whole)} of {len(files)} files are whole"
    if dry_run or not whole:
        return Rung("emergency", "ok" if whole else "damaged", detail)
    did: list[str] = []
    for file, found in whole:
        did += restore_state(workspace.store, found)
        did += emergency.merge(workspace, file)
    return Rung("emergency", "used", f"{detail}; brought back: {', '.join(did) or 'nothing new'}")


def _transcripts(home: DataFolder, journal: Store, *, dry_run: bool) -> tuple[Rung, list[Missing]]:
    if not home.transcripts.is_file() and not journal.streams(PREFIX):
        return Rung("transcript", "none", "no transcripts are archived"), []
    there = {name.removeprefix("session/") for name, _ in journal.streams("session/")}
    lost = from_runs.lost_sessions(home, there, journal)
    names = ", ".join(told.session for told in lost)
    if not lost:
        return Rung("transcript", "ok", "no session is known from transcripts alone"), []
    if dry_run:
        return Rung("transcript", "ok", f"could bring back: {names}"), []
    back = [told for told in lost if from_runs.bring_back(journal, told)]
    if not back:
        return Rung("transcript", "none", f"the transcripts say nothing of {names}"), []
    names = ", ".join(told.session for told in back)
    return Rung("transcript", "used", f"recovered from a transcript: {names}"), [
        from_runs.missing(told) for told in back
    ]
