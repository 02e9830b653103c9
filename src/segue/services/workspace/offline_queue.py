"""Without the server: what can wait is kept here and brought there later, once; the rest is refused.

A command that may wait (``core.offline``) goes to a spool of its own, cleaned, checksummed and synced, and
its caller is told ``pending``, never that it is saved. Whoever reaches the server next brings the records
there, in order. Each is committed together with a line in a ledger that names it, so that one which was
brought already is known by it, whoever died when. What the server refuses by then becomes an event of the
session, which shows as an open error: nothing is dropped. A write of which nobody knows whether it happened
does not wait here: bringing it would make it twice.

What was last seen of working trees and sessions is kept beside it (``last_seen``).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress

import msgspec

from ...core import event_kinds as ev
from ...core.sessions import commands as do
from ...core.sessions.cleaning import clean_command
from ...core.sessions.command import Refusal
from ...core.sessions.commands import Command, merges
from ...core.sessions.offline import in_words, may_wait, spelt_out
from ...effects.clock import now
from ...effects.files.atomic import file_lock
from ...effects.files.log import log
from ...effects.files.spool import PAYLOAD_BYTES_MAX, SpoolRecord
from ...errors import (
    ConflictError,
    RefusedError,
    SegueError,
    StaleVersion,
    StoreBusy,
    StoreUnavailable,
    UsageError,
)
from ...stores.base import Append
from ..sessions.repository import Saved, SessionRepository, refuse, stream_of
from .last_seen import Brought, LastSeen, SpooledRecord, commands_of
from .working_tree import TreeRecord
from .workspace import Workspace

LEDGER = "ledger/offline"
RANDOM_BYTES = 3
SESSIONS_MAX = 4
"""How many of the sessions that a process saw are kept when it ends: the last ones."""


class QueuedCommand(Saved):
    """A command that waits until the server can be reached: durable on this machine, and not saved yet."""

    pending: bool = True


class OfflineQueue:
    """What a workspace does without its server."""

    def __init__(self, workspace: Workspace, last_seen: LastSeen) -> None:
        self._workspace = workspace
        self._seen = last_seen
        self.spool = self._seen.spool
        self.waits, self.last = self._seen.waits, self._seen.last
        self.brought = Brought()
        """What was brought so far, by this one."""
        self._away = False
        """Whether the server was not there when it was last needed."""

    # -- keeping -------------------------------------------------------------------------------

    def keep(
        self, session: str, commands: Sequence[Command], fault: StoreUnavailable, actor: str
    ) -> QueuedCommand:
        """Let commands wait; raises ``fault`` if they may not, and a refusal that is certain already."""
        self._away = True
        self._remember(session)
        last = self.last(session)
        state = last.state if last is not None else None
        if fault.doubt or not may_wait(commands, state):
            raise fault
        self._workspace.pause_file.check()
        book = self._workspace.repository
        told: list[Command] = []
        for command in commands:
            plain = spelt_out(state, clean_command(command, mask=book.mask))
            if isinstance(plain, Refusal):
                raise refuse(plain)
            told.append(plain)
        seen = self._seen.seen(session)
        since = seen.version if seen is not None else 0
        record = SpooledRecord(
            session, now(), actor or book.actor, book.run, since, [msgspec.to_builtins(one) for one in told]
        )
        self._put(record, fault)
        return QueuedCommand(session, state.version if state is not None else 0, 0)

    def start(self, wish: do.Create, base: str, root_commit: str, fault: StoreUnavailable) -> str:
        """Begin a session that the server does not know yet, under an id that nobody else can have."""
        if fault.doubt:
            raise fault
        self._workspace.pause_file.check()
        session = wish.id or f"{base}-x{os.urandom(RANDOM_BYTES).hex()}"
        create = msgspec.structs.replace(wish, id=session)
        book, place = self._workspace.repository, self._workspace.working_tree
        record = SpooledRecord(
            session, now(), book.actor, book.run, create=msgspec.to_builtins(create), root_commit=root_commit,
            tree=str(place.root),
        )  # fmt: skip
        self._put(record, fault)
        tree = self._seen.tree_seen(str(place.root)) or TreeRecord(str(place.root))
        projects = (*(p for p in tree.projects if p != create.project), create.project)
        self._seen.keep_tree(TreeRecord(tree.path, tree.version, projects, root_commit, session))
        return session

    def _put(self, waiting: SpooledRecord, fault: StoreUnavailable) -> None:
        payload = msgspec.json.encode(waiting)
        if len(payload) > PAYLOAD_BYTES_MAX:
            raise fault
        try:
            if not self.spool.append(SpoolRecord("segue", "command", payload)):
                raise fault
        except OSError:
            raise fault from None

    # -- bringing ------------------------------------------------------------------------------

    def drain(self) -> Brought:
        """Bring everything that waits; StoreUnavailable if the server still cannot be reached."""
        if not self.waits() or not self.spool.size():
            return Brought()
        self._workspace.pause_file.check()
        saved = 0
        refused: list[str] = []
        try:
            with file_lock(self.spool.folder / "drain.lock", timeout_seconds=0.0, what="bringing what waits"):
                known = self._known()
                bringing = _Bringing(self._workspace)
                for path in self.spool.take():
                    for record in self.spool.read(path):
                        if record.id not in known:
                            told = bringing.bring(record)
                            saved, refused = saved + (not told), refused + ([told] if told else [])
                    self.spool.drop(path)
        except StoreBusy as busy:
            if "bringing" not in busy.message:
                raise
        self._workspace.forget()
        self._away = False
        self.brought = Brought(self.brought.saved + saved, (*self.brought.refused, *refused))
        return Brought(saved, tuple(refused))

    def _known(self) -> set[str]:
        events = self._workspace.store.read(ledger_of(self._workspace))
        bodies = (ev.read_body(event) for event in events)
        return {body.id for body in bodies if isinstance(body, ev.PendingBrought)}

    def forget(self) -> None:
        """Drop what was seen: it may hold what must go."""
        self._seen.clear()

    def remember(self) -> None:
        """Keep what this process saw, for when the server is gone; a cache, so nothing of it may fail."""
        book, place = self._workspace.repository, self._workspace.working_tree
        with suppress(OSError, SegueError, ValueError, msgspec.MsgspecError):
            if place.seen is not None and place.asked:
                self._seen.keep_tree(place.seen, place.trusted_hash)
            for session in book.seen()[-SESSIONS_MAX:]:
                self._remember(session)

    def _remember(self, session: str) -> None:
        """A session as this process saw it last; while the server is away only if that is news."""
        with suppress(OSError, SegueError, ValueError, msgspec.MsgspecError):
            state, kept = self._workspace.repository.cached(session), self._seen.seen(session)
            if state is None or not state.version:
                return
            if not self._away or kept is None or kept.version != state.version:
                self._seen.keep_session(session, state)


def ledger_of(workspace: Workspace) -> str:
    """Where this machine notes what it brought."""
    return f"{LEDGER}/{workspace.store.machine or 'here'}"


class _Bringing:
    """One drain."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._journal = workspace.store
        self._ledger = ledger_of(workspace)
        self._own: dict[str, set[int]] = {}
        self._books: dict[tuple[str, str], SessionRepository] = {}

    def bring(self, record: SpoolRecord) -> str:
        """Commit a record, or the event that says why not; the reason, empty if it was taken."""
        waiting = msgspec.json.decode(record.payload, type=SpooledRecord)
        try:
            commands = commands_of(waiting)
        except msgspec.ValidationError as fault:
            commands, wrong = [], UsageError(f"this Segue does not know the command: {fault}")
            return self._refuse(record, waiting, commands, wrong)
        try:
            if waiting.create is not None:
                self._begin(record, waiting, commands[0])
            else:
                self._commit(record, waiting, commands)
            return ""
        except (UsageError, RefusedError, ConflictError) as fault:
            return self._refuse(record, waiting, commands, fault)

    def _book(self, waiting: SpooledRecord) -> SessionRepository:
        workspace, name = self._workspace, (waiting.actor, waiting.run)
        if name not in self._books:
            self._books[name] = SessionRepository(
                self._journal, actor=waiting.actor, run=waiting.run, pause_file=workspace.pause_file,
                mask=workspace.repository.mask,
                after_write=workspace.backups.written,
            )  # fmt: skip
            self._books[name].learnt = workspace.repository.learnt
        return self._books[name]

    def _commit(self, record: SpoolRecord, waiting: SpooledRecord, commands: Sequence[Command]) -> None:
        session = waiting.session
        if waiting.since:
            own = self._own.get(session, set())
            theirs = self._journal.read(stream_of(session), after=waiting.since)
            for event in theirs:
                if event.version not in own and not all(merges(one, event) for one in commands):
                    raise StaleVersion(stream_of(session), waiting.since, theirs[-1].version)
        elif not self._journal.head(stream_of(session)).version:
            raise UsageError(f"there is no session {session!r}")
        saved = self._book(waiting).commit(session, commands, guards=self._marks(record, waiting))
        self._note(session, saved)

    def _begin(self, record: SpoolRecord, waiting: SpooledRecord, create: Command) -> None:
        assert isinstance(create, do.Create)
        if self._journal.head(stream_of(waiting.session)).version:
            raise ConflictError(f"session {waiting.session} was begun by somebody else meanwhile")
        place, mark = self._workspace.working_tree, self._marks(record, waiting)

        def guards() -> list[Append]:
            bind = place.bind_at(
                waiting.tree, create.project, waiting.root_commit, create.id, at=now(), actor=waiting.actor
            )
            return [*mark(), *([bind] if bind is not None else [])]

        saved = self._book(waiting).commit(create.id, [create], guards=guards)
        self._note(create.id, saved)

    def _note(self, session: str, saved: Saved) -> None:
        own = range(saved.version - saved.events + 1, saved.version + 1)
        self._own.setdefault(session, set()).update(own)

    def _marks(
        self, record: SpoolRecord, waiting: SpooledRecord, refused: str = ""
    ) -> Callable[[], list[Append]]:
        body = ev.PendingBrought(record.id, waiting.session, waiting.at, refused)

        def marks() -> list[Append]:
            version = self._journal.head(self._ledger).version
            return [Append(self._ledger, version, [ev.draft(body, at=now(), actor=waiting.actor)])]

        return marks

    def _refuse(
        self, record: SpoolRecord, waiting: SpooledRecord, commands: Sequence[Command], fault: SegueError
    ) -> str:
        """What was not taken is told in the session; in the ledger alone if there is no such session."""
        what, stream = in_words(commands) or "a command", stream_of(waiting.session)
        body = ev.PendingRefused(what, fault.message, waiting.at)
        mark = self._marks(record, waiting, fault.message)
        while True:
            version = self._journal.head(stream).version
            told = ev.draft(body, at=now(), actor=waiting.actor)
            appends = [Append(stream, version, [told])] if version else []
            try:
                self._journal.append(*appends, *mark())
                break
            except StaleVersion:
                continue
        if version:
            self._own.setdefault(waiting.session, set()).add(version + 1)
        log(self._workspace.home.path, f"pending in {waiting.session} was refused: {what}: {fault.message}")
        return f"{what}: {fault.message}"
