"""The workspace that every service is handed: a store, a working tree, the settings, and who is at work.

``Workspace`` is the common case, a working tree on this machine and a store that can be reached. In
``remote.py`` the store is a Segue server, which may be unreachable; in ``server.py`` the process is that
server, and there is no working tree.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, Unpack, cast

from msgspec.structs import replace

from ...core.base.text import clean_text
from ...core.features.checks import PERSON
from ...effects.pause_file import PauseFile
from ...effects.redaction.redact import redact
from ...errors import StoreUnavailable
from ...settings import Settings
from ...stores.base import Store
from ..sessions.holds import Holds
from ..sessions.repository import CommitOptions, Saved, SessionRepository
from .backups import Backups
from .data_folder import DataFolder
from .working_tree import WorkingTree

if TYPE_CHECKING:
    from ...core.sessions.budget import Standing
    from ...core.sessions.commands import Command, Create
    from ...core.sessions.state import SessionState
    from ...effects.vectors.embedder import Embedder
    from ..sessions.agent_states import AgentStates
    from .last_seen import DrainResult, LastSeenSession

_HOLD_CHECK_SECONDS = 1.0
_Part = TypeVar("_Part")


class Workspace:
    """A working tree on this machine and the store that its sessions are kept in."""

    sees_tree = True
    """Whether files, git and processes of the project can be looked at."""
    works_offline = False
    """Whether commands are accepted, as pending, while the store cannot be reached."""
    only_looks = False
    """Whether its store is a standby, which takes no writes."""

    def __init__(
        self, store: Store, *, home: DataFolder, folder: Path, working_tree: WorkingTree, settings: Settings,
        environment: Mapping[str, str] | None = None, run: str = "", session: str = "",
        embedder: Embedder | None = None,
    ) -> None:  # fmt: skip
        self.store = store
        self.home = home
        self.folder = folder
        self.working_tree = working_tree
        self.settings = settings
        self.environment: Mapping[str, str] = environment or {}
        self.embedder = embedder
        """The embedder that the caller chose; None means the one that the settings name."""
        paths = [working_tree.root / "PAUSE", home.path / "PAUSE"]
        if settings.text("pause_file"):
            paths.append(working_tree.root / settings.text("pause_file"))
        self.pause_file = PauseFile(paths)
        self.backups = Backups(home, store, settings, self.pause_file)
        self.repository = SessionRepository(
            store, actor=clean_text(settings.text("actor"), what="actor", limit=256), run=run,
            pause_file=self.pause_file, after_write=self.backups.written,
            mask=redact if settings["redact"] else None,
        )  # fmt: skip
        self.holds = Holds(store, pause_file=self.pause_file, lease_seconds=settings.number("lease_seconds"))
        self.named_session = session or self.environment.get("SEGUE_SESSION", "")
        """The session that the caller or the environment names; empty for the working tree's current one."""
        self.last: LastSeenSession | None = None
        """The session as it was last seen, in a workspace that was opened without its store."""
        self._next_hold_check: dict[str, float] = {}
        self._parts: dict[Any, Any] = {}
        self.at_close: list[Callable[[], None]] = []

    def part(self, make: Callable[[Workspace], _Part]) -> _Part:
        """What ``make`` returns for this workspace: called once, then cached."""
        if make not in self._parts:
            self._parts[make] = make(self)
        return cast(_Part, self._parts[make])

    @property
    def agent_states(self) -> AgentStates:
        """The states that agents save; most commands load nothing of it."""
        return self.part(_agent_states)

    @property
    def declarer(self) -> str:
        """Who declares something here: the actor, or if that is the user the agent whose variables are
        set."""
        actor = self.repository.actor
        if actor != PERSON:
            return actor
        from ...agents import agent_variables

        names = agent_variables().items()
        return next((name for variable, name in names if self.environment.get(variable)), PERSON)

    def current_session(self) -> str:
        """The id of the session that a command without one means; empty if there is none."""
        return self.named_session or self.working_tree.tree(fresh=True).current

    def commit(self, session: str, commands: Sequence[Command], **options: Unpack[CommitOptions]) -> Saved:
        """Make commands durable, all or none. The result warns of other living runs that hold the session."""
        return self.with_warnings(self.repository.commit(session, commands, **options))

    def start_offline(self, create: Create, base: str, root_commit: str, fault: StoreUnavailable) -> str:
        """Begin a session offline, and return its id. Without a queue, as here, ``fault`` is raised."""
        raise fault

    def last_seen(self, session: str) -> LastSeenSession | None:
        """A session as it was last seen, for when the store cannot be reached; None if it never was."""
        return self.last if self.last is not None and session in ("", self.last.state.id) else None

    def waits_offline(self) -> bool:
        """Whether commands are pending until the store can be reached."""
        return False

    def drain_offline(self) -> None:
        """Send pending commands to the store."""

    @property
    def brought(self) -> DrainResult | None:
        """What became of the pending commands that were sent so far; None where nothing is ever pending."""
        return None

    def forget_last_seen(self) -> None:
        """Drop what is kept here of a shared store: it may hold a text that is being erased."""
        if self.store.watch is not None:
            self.store.watch.clear()

    def with_warnings(self, saved: Saved) -> Saved:
        """The result, at most once a second with a warning for each other living run that holds it."""
        checked = time.monotonic()
        if checked < self._next_hold_check.get(saved.session, 0.0):
            return saved
        self._next_hold_check[saved.session] = checked + _HOLD_CHECK_SECONDS
        warnings = self.hold_warnings(saved.session)
        return replace(saved, warnings=warnings) if warnings else saved

    def hold_warnings(self, session: str) -> tuple[str, ...]:
        """A warning for each other living run that holds a session."""
        if not self.store.head(f"hold/{session}").version:
            return ()
        return tuple(
            f"{hold.holder} ({hold.run}, pid {hold.pid} on {hold.host}) "
            f"has held this session since {hold.since}"
            for hold in self.holds.living(session)
            if hold.run != self.repository.run
        )

    def standing(self, state: SessionState) -> Standing:
        """What a session has spent of its own limits or, where it has none, of those in the settings."""
        from ...core.sessions.budget import standing  # few commands show it

        cost, tokens = self.settings.number("budget_usd"), self.settings.number("budget_tokens")
        return standing(state, limit_cost=cost, limit_tokens=int(tokens))

    def forget(self) -> None:
        """Drop every cached state, after the store was changed by other means than this workspace."""
        self.repository.forget()
        self._parts.pop(_agent_states, None)

    def close(self) -> None:
        """Run the closing callbacks, make a backup if one is due, and close the store."""
        for finish in self.at_close:
            finish()
        self.backups.if_due()
        self.store.close()

    def __enter__(self) -> Workspace:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _agent_states(workspace: Workspace) -> AgentStates:
    from ..sessions.agent_states import AgentStates

    return AgentStates(workspace.repository)
