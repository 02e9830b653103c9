"""The queue for commands that are declared while the server cannot be reached. Each takes effect once, in
order.

A command that may wait (``core.sessions.offline``) is cleaned, checksummed and synced into a spool; its
caller is told that it is *pending*, never that it is saved. Other commands fail. The next process that
reaches the server sends the records in order. Each is committed together with a ledger entry that carries its
id, so that a record which was sent before a crash is not sent twice. What the server refuses by then becomes
an event of the session and shows as an open error, so nothing is lost silently. A write whose outcome is
unknown is never queued: sending it again could apply it twice.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress

import msgspec
from msgspec.structs import replace

from ... import errors
from ...core import event_kinds as ev
from ...core.sessions import commands as do
from ...core.sessions.cleaning import clean_command
from ...core.sessions.command import Refusal
from ...core.sessions.commands import Command, decide_all, merges
from ...core.sessions.offline import in_words, may_wait, spelt_out
from ...effects.clock import now
from ...effects.files.atomic import file_lock
from ...effects.files.log import log
from ...effects.files.spool import PAYLOAD_BYTES_MAX, SpoolRecord
from ...stores.base import Append
from ..sessions.repository import Saved, SessionRepository, refuse, stream_of
from .last_seen import DrainResult, LastSeen, PendingRecord, commands_of
from .working_tree import TreeRecord
from .workspace import Workspace

LEDGER = "ledger/offline"
_DRAINING = "sending what is pending"
RANDOM_BYTES = 3
SESSIONS_MAX = 4
"""How many of the sessions that a process read last are cached when it ends."""


class QueuedCommand(Saved):
    """The result of commands that are pending: durable on this machine, but not saved by the server yet."""

    pending: bool = True
    why: str = ""
    """Why the server, which was reached, did not take them: a quota of the project. Else empty."""


class OfflineQueue:
    """The pending commands of a workspace, and the cache that is kept for the time without its server."""

    def __init__(self, workspace: Workspace, last_seen: LastSeen) -> None:
        self._workspace = workspace
        self._cache = last_seen
        self.spool = last_seen.spool
        self.waits, self.last = last_seen.waits, last_seen.last
        self.brought = DrainResult()
        """What became of the commands that this process has sent so far."""
        self._unreachable = False
        """Whether the server could not be reached when it was last needed."""

    def keep(
        self, session: str, commands: Sequence[Command], fault: errors.SegueError, actor: str
    ) -> QueuedCommand:
        """Queue commands. Raises ``fault`` if they may not wait, or the refusal that is certain already."""
        away = isinstance(fault, errors.StoreUnavailable)
        self._unreachable = self._unreachable or away
        self._remember(session)
        last = self.last(session)
        state = last.state if last is not None else None
        if getattr(fault, "doubt", False) or not may_wait(commands, state):
            raise fault
        self._workspace.pause_file.check()
        repository = self._workspace.repository
        queued: list[Command] = []
        for command in commands:
            explicit = spelt_out(state, clean_command(command, mask=repository.mask))
            if isinstance(explicit, Refusal):
                raise refuse(explicit)
            queued.append(explicit)
        if state is not None and state.version:
            outcome = decide_all(state, queued, at=now(), actor=actor, run=repository.run)
            if isinstance(outcome, Refusal) and outcome.code == errors.MisspeltItem.code:
                raise refuse(outcome)  # nobody would see it once the server is back
        cached = self._cache.session_seen(session)
        since = cached.version if cached is not None else 0
        record = PendingRecord(
            session, now(), actor or repository.actor, repository.run, since,
            [msgspec.to_builtins(command) for command in queued],
        )  # fmt: skip
        self._put(record, fault)
        why = "" if away else fault.message
        return QueuedCommand(session, state.version if state is not None else 0, 0, why=why)

    def start(self, create: do.Create, base: str, root_commit: str, fault: errors.StoreUnavailable) -> str:
        """Begin a session as pending and return its id, which nobody else can have chosen."""
        if fault.doubt:
            raise fault
        self._workspace.pause_file.check()
        session = create.id or f"{base}-x{os.urandom(RANDOM_BYTES).hex()}"
        repository, root = self._workspace.repository, str(self._workspace.working_tree.root)
        record = PendingRecord(
            session, now(), repository.actor, repository.run,
            create=msgspec.to_builtins(replace(create, id=session)),
            root_commit=root_commit, tree=root,
        )  # fmt: skip
        self._put(record, fault)
        tree = self._cache.tree_seen(root) or TreeRecord(root)
        projects = (*(p for p in tree.projects if p != create.project), create.project)
        self._cache.keep_tree(TreeRecord(tree.path, tree.version, projects, root_commit, session))
        return session

    def _put(self, pending: PendingRecord, fault: errors.SegueError) -> None:
        payload = msgspec.json.encode(pending)
        if len(payload) > PAYLOAD_BYTES_MAX:
            raise fault
        try:
            if not self.spool.append(SpoolRecord("segue", "command", payload)):
                raise fault
        except OSError:
            raise fault from None

    def drain(self) -> DrainResult:
        """Send everything that is pending. Raises StoreUnavailable if the server still cannot be reached."""
        if not self.waits() or not self.spool.size():
            return DrainResult()
        self._workspace.pause_file.check()
        saved = 0
        refused: list[str] = []
        try:
            with file_lock(self.spool.folder / "drain.lock", timeout_seconds=0.0, what=_DRAINING):
                sent_before = self._sent_before()
                sender = _PendingSender(self._workspace)
                for path in self.spool.take():
                    for record in self.spool.read(path):
                        if record.id in sent_before:
                            continue
                        refusal = sender.send(record)
                        if refusal:
                            refused.append(refusal)
                        else:
                            saved += 1
                    self.spool.drop(path)
        except errors.StoreBusy as busy:
            if _DRAINING not in busy.message:
                raise
        self._workspace.forget()
        self._unreachable = False
        self.brought = DrainResult(self.brought.saved + saved, (*self.brought.refused, *refused))
        return DrainResult(saved, tuple(refused))

    def _sent_before(self) -> set[str]:
        events = self._workspace.store.read(ledger_of(self._workspace))
        bodies = (ev.read_body(event) for event in events)
        return {body.id for body in bodies if isinstance(body, ev.PendingBrought)}

    def forget(self) -> None:
        """Drop the cache: it may hold a text that is being erased."""
        self._cache.clear()

    def remember(self) -> None:
        """Cache what this process has read, for when the server cannot be reached. Never raises."""
        tree = self._workspace.working_tree
        with suppress(OSError, errors.SegueError, ValueError, msgspec.MsgspecError):
            if tree.seen is not None and tree.from_store:
                self._cache.keep_tree(tree.seen, tree.trusted_hash)
            for session in self._workspace.repository.seen()[-SESSIONS_MAX:]:
                self._remember(session)

    def _remember(self, session: str) -> None:
        """Cache a session as this process saw it last. While the server cannot be reached, one that is cached
        in this version keeps its time."""
        with suppress(OSError, errors.SegueError, ValueError, msgspec.MsgspecError):
            state, cached = self._workspace.repository.cached(session), self._cache.session_seen(session)
            if state is None or not state.version:
                return
            if not self._unreachable or cached is None or cached.version != state.version:
                self._cache.keep_session(session, state)


def ledger_of(workspace: Workspace) -> str:
    """The stream in which this machine records what it has sent."""
    return f"{LEDGER}/{workspace.store.machine or 'here'}"


class _PendingSender:
    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._journal = workspace.store
        self._ledger = ledger_of(workspace)
        self._own: dict[str, set[int]] = {}
        """The versions that this drain itself has written, by session."""
        self._repositories: dict[tuple[str, str], SessionRepository] = {}

    def send(self, record: SpoolRecord) -> str:
        """Commit a record, or why it was refused. Returns the refusal, empty if it was saved."""
        pending = msgspec.json.decode(record.payload, type=PendingRecord)
        try:
            commands = commands_of(pending)
        except msgspec.ValidationError as fault:
            unknown = errors.UsageError(f"this version of Segue does not know the command: {fault}")
            return self._refuse(record, pending, [], unknown)
        try:
            if pending.create is not None:
                self._begin(record, pending, commands[0])
            else:
                self._commit(record, pending, commands)
            return ""
        except errors.HistoryWentBack:
            raise  # it keeps waiting, until what the store lost is back
        except (errors.UsageError, errors.RefusedError, errors.ConflictError) as fault:
            return self._refuse(record, pending, commands, fault)

    def _repository(self, pending: PendingRecord) -> SessionRepository:
        workspace, name = self._workspace, (pending.actor, pending.run)
        if name not in self._repositories:
            self._repositories[name] = SessionRepository(
                self._journal, actor=pending.actor, run=pending.run, pause_file=workspace.pause_file,
                mask=workspace.repository.mask, after_write=workspace.backups.written,
            )  # fmt: skip
            self._repositories[name].learnt = workspace.repository.learnt
        return self._repositories[name]

    def _commit(self, record: SpoolRecord, pending: PendingRecord, commands: Sequence[Command]) -> None:
        session = pending.session
        if pending.since:
            own = self._own.get(session, set())
            theirs = self._journal.read(stream_of(session), after=pending.since)
            for event in theirs:
                if event.version not in own and not all(merges(command, event) for command in commands):
                    raise errors.StaleVersion(stream_of(session), pending.since, theirs[-1].version)
        elif not self._journal.head(stream_of(session)).version:
            raise errors.UsageError(f"there is no session {session!r}")
        entry = self._ledger_entry(record, pending)
        saved = self._repository(pending).commit(session, commands, guards=entry)
        self._note(session, saved)

    def _begin(self, record: SpoolRecord, pending: PendingRecord, create: Command) -> None:
        assert isinstance(create, do.Create)
        if self._journal.head(stream_of(pending.session)).version:
            raise errors.ConflictError(f"somebody else has started session {pending.session} in the meantime")
        working_tree, ledger_entry = self._workspace.working_tree, self._ledger_entry(record, pending)

        def guards() -> list[Append]:
            bind = working_tree.bind(
                create.project, pending.root_commit, create.id, at=now(), actor=pending.actor,
                path=pending.tree,
            )  # fmt: skip
            return [*ledger_entry(), *([bind] if bind is not None else [])]

        saved = self._repository(pending).commit(create.id, [create], guards=guards)
        self._note(create.id, saved)

    def _note(self, session: str, saved: Saved) -> None:
        own = range(saved.version - saved.events + 1, saved.version + 1)
        self._own.setdefault(session, set()).update(own)

    def _ledger_entry(
        self, record: SpoolRecord, pending: PendingRecord, refused: str = ""
    ) -> Callable[[], list[Append]]:
        body = ev.PendingBrought(record.id, pending.session, pending.at, refused)

        def entry() -> list[Append]:
            version = self._journal.head(self._ledger).version
            return [Append(self._ledger, version, [ev.draft(body, at=now(), actor=pending.actor)])]

        return entry

    def _refuse(
        self,
        record: SpoolRecord,
        pending: PendingRecord,
        commands: Sequence[Command],
        fault: errors.SegueError,
    ) -> str:
        """Record the refusal in the session, or in the ledger alone if there is no such session."""
        what, stream = in_words(commands) or "a command", stream_of(pending.session)
        body = ev.PendingRefused(what, fault.message, pending.at)
        ledger_entry = self._ledger_entry(record, pending, fault.message)
        while True:
            version = self._journal.head(stream).version
            draft = ev.draft(body, at=now(), actor=pending.actor)
            appends = [Append(stream, version, [draft])] if version else []
            try:
                self._journal.append(*appends, *ledger_entry())
                break
            except errors.StaleVersion:
                continue
        if version:
            self._own.setdefault(pending.session, set()).add(version + 1)
        log(
            self._workspace.home.path,
            f"a pending command in {pending.session} was refused: {what}: {fault.message}",
        )
        return f"{what}: {fault.message}"
