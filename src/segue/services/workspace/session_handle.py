"""A session as services work with it: its state, its log, and commits to it.

A handle has no state but the id and, possibly, a hold: two handles of one session, in one process or in two,
see and merge each other's work. ``segue.Session`` adds the methods that users call.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, Unpack

from ...core import event_kinds as ev
from ...core.sessions.command import Command
from ...core.sessions.state import SessionState
from ...errors import UsageError
from ..sessions.holds import Hold, new_run
from ..sessions.repository import CommitOptions, Saved, stream_of
from .workspace import Workspace


class UnsavedKeeper(Protocol):
    """Keeps commands that could not be committed, for an emergency file."""

    def keep_unsaved(self, commands: Sequence[Command], fault: BaseException) -> None: ...
    def now_saved(self, commands: Sequence[Command]) -> None: ...
    def save(self, reason: str) -> Path | None: ...


class SessionHandle:
    """A session of a workspace."""

    def __init__(self, workspace: Workspace, id: str, *, pending: bool = False) -> None:
        self.workspace = workspace
        self.id = id
        self.pending = pending
        """Whether it was begun while the server could not be reached, and is not known there yet."""
        self.held: Hold | None = None
        """The hold that fences writes of this handle."""
        self.keeper: UnsavedKeeper | None = None

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id}>"

    @property
    def state(self) -> SessionState:
        """The session's current state."""
        return self.workspace.repository.state(self.id)

    def log(self, *, after: int = 0, limit: int = 0) -> list[ev.Event]:
        """The session's events, in order."""
        return self.workspace.store.read(stream_of(self.id), after=after, limit=limit)

    def apply(
        self, *commands: Command, pieces: Mapping[str, bytes] | None = None, since: int | None = None
    ) -> Saved:
        """Make commands durable, all or none. Raises UsageError for those that only Segue may issue."""
        for command in commands:
            if command.WITNESSED:
                raise UsageError(
                    "only Segue itself can record what it observed", hint="see `verify` and `attest`"
                )
        return self.commit_trusted(commands, pieces=pieces, since=since)

    def commit_trusted(self, commands: Sequence[Command], **options: Unpack[CommitOptions]) -> Saved:
        """Make commands durable, all or none, fenced by the hold if there is one. For services: unlike
        ``apply``, it accepts commands that only Segue itself may issue."""
        hold, workspace = self.held, self.workspace
        if hold is None and self.keeper is None:
            return workspace.commit(self.id, commands, **options)
        if hold is not None:
            hold.renew_if_due()
            fence, guards = hold.guard, options.get("guards")
            options["guards"] = lambda: [*fence(), *(guards() if guards is not None else ())]
        try:
            saved = workspace.repository.commit(self.id, commands, **options)
        except BaseException as fault:
            if self.keeper is not None:
                self.keeper.keep_unsaved(commands, fault)
            raise
        if self.keeper is not None:
            self.keeper.now_saved(commands)
        return saved if hold is not None else workspace.with_warnings(saved)

    def go_back(self, command: Command, **options: Unpack[CommitOptions]) -> Saved:
        """Commit what may change agents' saved states, such as a rewind, and drop the cached ones."""
        saved = self.commit_trusted((command,), **options)
        self.workspace.agent_states.forget(self.id)
        return saved

    def save_agent(self, agent: str, value: Any, *, since: int | None = None) -> Saved:
        """Save an agent's own state; ``since`` is the session version at which the agent last read it."""
        states = self.workspace.agent_states
        return states.save(self.id, agent, value, commit=self.commit_trusted, since=since)

    def load_agent(self, agent: str) -> Any:
        """The state that the agent saved last."""
        return self.workspace.agent_states.load(self.id, agent)

    def hold(
        self, *, holder: str = "", run: str = "", share: bool = False, lease_seconds: float | None = None
    ) -> SessionHold:
        """Hold the session for a run: ``with s.hold(): ...``. Raises SessionHeld if another run holds it. A
        hold inside a hold of the same run changes nothing."""
        name = run or self.workspace.repository.run or new_run()
        if self.held is not None and self.held.run == name:
            return SessionHold(self, self.held, nested=True)
        taken = self.workspace.holds.take(
            self.id, holder=holder or self.workspace.repository.actor, run=name, share=share,
            lease_seconds=lease_seconds,
        )  # fmt: skip
        return SessionHold(self, taken)


class SessionHold:
    """A hold that was taken through a handle. While it lasts, writes of that handle are fenced."""

    def __init__(self, session: SessionHandle, hold: Hold, *, nested: bool = False) -> None:
        self._session = session
        self._held = hold
        self._nested = nested
        session.held = hold

    @property
    def fence(self) -> int:
        """The fencing number; a later hold has a higher one."""
        return self._held.fence

    @property
    def run(self) -> str:
        """The id of the run that holds the session."""
        return self._held.run

    def renew(self) -> None:
        """Extend the lease now."""
        self._held.renew()

    def release(self) -> None:
        """Release the session. For a hold inside a hold of the same run, the outer one does that."""
        if not self._nested:
            self._session.held = None
            self._held.release()

    def __enter__(self) -> SessionHold:
        if not self._nested:
            self._held.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self.release()
