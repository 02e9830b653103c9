"""The ledger of a session as people and agents use it: looking at it, and correcting it.

What is looked at has what runs said since the last sync. A correction is a command like any other: it merges
with what others write, waits while a server cannot be reached, and stays when transcripts are read again.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from ...agents import agent as agent_of
from ...agents.base import Found
from ...core import event_kinds as ev
from ...core.base.values import Value
from ...core.ledger.groups import EntryGroup, entries_in, groups_of
from ...core.ledger.handles import entries_named, handles
from ...core.ledger.model import KINDS, Entry, Kind, State
from ...core.ledger.other_work import is_other_work
from ...core.ledger.standing import Standing, standing
from ...core.sessions.command import Command
from ...core.sessions.declared_choices import declared_entries, ledger_entries
from ...core.sessions.ledger_commands import AddEntry, CorrectEntry
from ...core.sessions.state import SessionState
from ...errors import SegueError, StoreUnavailable, UnknownSession, UsageError
from ..runs.assign_session import session_gone_on_with
from ..runs.discovery import RunFinder
from ..runs.observed import runs_of
from ..runs.read_transcript import final
from ..runs.run import opening_of
from ..runs.run_stream import brief_given
from ..runs.select import LOOKED_AT, is_here, newest_run, runs_meant
from ..runs.sync import take_in_newest
from ..sessions.repository import Saved
from ..workspace.open_session import find_session
from ..workspace.session_handle import SessionHandle
from ..workspace.workspace import Workspace
from .work import ledger_of_work

RUNS_MAX = 4
"""How many of a session's newest runs are looked at for what they said since the last sync."""


class ShownEntry(Entry, kw_only=True):
    """An entry, with what people name it by."""

    handle: str
    """The shortest beginning of its id that names it."""
    waits: bool = False
    """Whether it was said since the last sync, and is not kept yet."""


class CorrectedLedger(Saved, kw_only=True):
    """What was saved, and the entries that it was about."""

    entries: list[ShownEntry]


class LedgerView(Value):
    """The ledger of a session as of now."""

    session: str
    """Empty for what the newest run said, where no session knows of it yet."""
    goal: str
    entries: tuple[ShownEntry, ...]
    """All of them, in the order in which they were said."""

    def groups(self, *, all: bool = False, kind: str = "") -> tuple[EntryGroup, ...]:
        """What holds, or ``all``, in groups; of one ``kind`` where one is named. Raises UsageError for an
        unknown kind."""
        if kind and kind not in KINDS:
            raise UsageError(f"there is no kind of entry {kind[:40]!r}", hint="one of " + ", ".join(KINDS))
        return groups_of(self.entries, all=all, kind=kind)

    def shown(self, *, all: bool = False, kind: str = "") -> list[ShownEntry]:
        """The entries of those groups, in the order in which they were said."""
        ids = entries_in(self.groups(all=all, kind=kind))
        return [entry for entry in self.entries if entry.id in ids and kind in ("", entry.kind)]


def ledger_here(workspace: Workspace, id: str = "") -> LedgerView:
    """The ledger of a session, by default the current one; where there is none yet, what the newest run here
    said. Raises UnknownSession."""
    try:
        return LedgerService(find_session(workspace, id)).view()
    except UnknownSession as fault:
        if id or not fault.nothing_yet or not workspace.sees_tree:
            raise
        finder = runs_of(workspace).finder()
        found = newest_run(finder)
        if found is None:
            raise
        return _view(None, ledger_of_work(finder, None, [found]).entries)


class LedgerService:
    """The ledger of a session."""

    def __init__(self, session: SessionHandle) -> None:
        self._session = session

    # -- looking

    def view(self) -> LedgerView:
        """The ledger as of now: what is kept, and what runs said since."""
        workspace, state = self._session.workspace, self._state()
        if not workspace.sees_tree:
            return _view(state, ledger_entries(state))
        finder = runs_of(workspace).finder()
        runs = _newest_runs(workspace, finder, state)
        return _view(state, (*ledger_of_work(finder, state, runs).entries, *declared_entries(state)))

    def entries(self, *, all: bool = False, kind: str = "") -> list[ShownEntry]:
        """What holds, or with ``all`` also what is settled, in the order in which it was said."""
        return self.view().shown(all=all, kind=kind)

    def standing(self) -> Standing:
        """What holds now, in the groups in which briefs tell it."""
        return standing(self.view().entries)

    def _state(self) -> SessionState:
        """The state, or while the server cannot be reached the state that was last seen."""
        try:
            return self._session.state
        except StoreUnavailable:
            last = self._session.workspace.last_seen(self._session.id)
            if last is None:
                raise
            return last.state

    # -- correcting

    def done(self, *ids: str) -> Saved:
        """Say that entries are done: requests, points, items, lists. ``ids`` may be handles."""
        return self._correct(ids, "done")

    def drop(self, *ids: str, why: str = "") -> Saved:
        """Say that entries hold no more, without being done."""
        return self._correct(ids, "withdrawn", why)

    def reopen(self, *ids: str) -> Saved:
        """Say that entries hold after all."""
        return self._correct(ids, "open")

    def edit(self, id: str, text: str) -> Saved:
        """Replace the text of an entry."""
        return self._commit([id], [CorrectEntry(id, text=text)])

    def add(self, kind: Kind, text: str, *, of: str = "") -> Saved:
        """Add an entry; ``of`` is the entry that it belongs to, as a point to its request."""
        return self._commit([of] if of else [], [AddEntry(kind, text, of)])

    def changed(self, saved: Saved) -> list[ShownEntry]:
        """The entries that such a change was about, as they are now; none while the change is pending."""
        if not saved.events:
            return []
        ids: list[str] = []
        for event in self._session.log(after=saved.version - saved.events, limit=saved.events):
            body = ev.read_body(event)
            if isinstance(body, ev.EntryCorrected):
                ids.append(body.change.id)
            elif isinstance(body, ev.SaidKept):
                ids += [entry.id for entry in body.entries]
        state = self._session.state
        return [entry for entry in _view(state, ledger_entries(state)).entries if entry.id in ids]

    def _correct(self, ids: Sequence[str], state: State, why: str = "") -> Saved:
        if not ids:
            raise UsageError("which entry?", hint="`segue ledger` shows each with its handle")
        return self._commit(ids, [CorrectEntry(id, state, why=why) for id in ids])

    def _commit(self, names: Sequence[str], commands: Sequence[Command]) -> Saved:
        """Commit commands that name entries; if one of these is not kept yet, what runs said is taken in
        first."""
        workspace = self._session.workspace
        workspace.pause_file.check()
        if workspace.sees_tree and not all(len(self._kept(name)) == 1 for name in names):
            take_in_newest(workspace)
        return self._session.commit_trusted(commands, actor=workspace.declarer)

    def _kept(self, name: str) -> list[Entry]:
        return entries_named(ledger_entries(self._state()), name)


def _view(state: SessionState | None, entries: Sequence[Entry]) -> LedgerView:
    kept = {entry.id for entry in ledger_entries(state)} if state is not None else set()
    short = handles(entries)
    shown = tuple(
        ShownEntry(
            **{field: getattr(entry, field) for field in Entry.__struct_fields__},
            handle=short[entry.id],
            waits=entry.id not in kept,
        )
        for entry in entries
    )
    return LedgerView(state.id if state is not None else "", state.goal if state is not None else "", shown)


def _newest_runs(workspace: Workspace, finder: RunFinder, state: SessionState) -> list[Found]:
    """The newest runs of a session, with those that nobody filed yet and that go on with its work."""
    runs: list[Found] = []
    for found in islice(runs_meant(finder, session=state.id), LOOKED_AT):
        if len(runs) == RUNS_MAX:
            break
        try:
            if _is_of(workspace, finder, found, state):
                runs.append(found)
        except (SegueError, OSError):
            continue  # one that cannot be read says nothing
    return runs


def _is_of(workspace: Workspace, finder: RunFinder, found: Found, state: SessionState) -> bool:
    row = finder.row(found)
    if row is not None and row.session:
        return row.session == state.id
    digest = final(finder.reading(found), agent_of(found.agent))
    given = brief_given(workspace.store, found.agent, found.native) if finder.runs is not None else None
    if given is not None and given.session:
        is_told = given.session == state.id
        return is_told and not is_other_work(opening_of(digest), state.said.flat())
    return session_gone_on_with(workspace, digest, is_here=is_here(finder, found)) == state.id
