"""The workspace: what every service is handed. A store, a working tree, settings, and who works.

This one is a working tree on this machine with a store that can be asked. ``remote.py`` has the one whose
store is a Segue server, which may be away; ``server.py`` the one of a server, which sees no working tree.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from ...core.base.text import clean_text
from ...core.sessions.commands import Command, Create
from ...effects.pause_file import PauseFile
from ...effects.redaction.redact import redact
from ...errors import StoreUnavailable
from ...settings import Settings
from ...stores.base import Store
from ..sessions.agent_states import AgentStates
from ..sessions.holds import Holds
from ..sessions.repository import Guards, Saved, SessionRepository
from .backups import Backups
from .data_folder import DataFolder
from .working_tree import WorkingTree

if TYPE_CHECKING:
    from ...effects.vectors.embedder import Embedder
    from ...stores.memory_changes import MemoryChange
    from .last_seen import Brought, LastSeenSession

_HOLD_LOOK_SECONDS = 1.0
_Part = TypeVar("_Part")


class Workspace:
    """Where work is done, on this machine."""

    sees_tree = True
    """Whether there is a working tree to look at: files, git, processes."""
    works_offline = False
    """Whether work goes on while the store cannot be reached."""

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
        """What compares memories, where the caller chose it."""
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
        self.agent_states = AgentStates(self.repository)
        self.named_session = session or self.environment.get("SEGUE_SESSION", "")
        """The session that the caller or the environment names; else the tree's current one is meant."""
        self.last: LastSeenSession | None = None
        """What was last seen of the session here, where nothing is stored."""
        self._quiet_until: dict[str, float] = {}
        self._parts: dict[Any, Any] = {}
        self.at_close: list[Callable[[], None]] = []
        """What is still to be done before the store is closed."""

    def part(self, make: Callable[[Workspace], _Part]) -> _Part:
        """What ``make`` gives for this workspace, made when it is first asked for."""
        if make not in self._parts:
            self._parts[make] = make(self)
        return cast(_Part, self._parts[make])

    def current_session(self) -> str:
        """The id of the session that is meant if none is named; empty if there is none."""
        return self.named_session or self.working_tree.tree(fresh=True).current

    def commit(
        self, session: str, commands: Sequence[Command], *, pieces: Mapping[str, bytes] | None = None,
        since: int | None = None, actor: str = "", guards: Guards | None = None,
        memories: MemoryChange | None = None,
    ) -> Saved:  # fmt: skip
        """Make commands durable, all or none; the result names other runs that hold the session."""
        saved = self.repository.commit(
            session, commands, pieces=pieces, since=since, actor=actor, guards=guards, memories=memories
        )
        return self.with_warnings(saved)

    def start_offline(self, create: Create, base: str, root_commit: str, fault: StoreUnavailable) -> str:
        """Begin a session although the store cannot be reached, and give its id; raises ``fault`` here."""
        raise fault

    def last_seen(self, session: str) -> LastSeenSession | None:
        """A session as it was last seen, for when the store cannot be asked; None if that is not known."""
        return self.last if self.last is not None and session in ("", self.last.state.id) else None

    def waits_offline(self) -> bool:
        """Whether something waits until the store can be reached."""
        return False

    def drain_offline(self) -> None:
        """Bring to the store what waited for it."""

    @property
    def brought(self) -> Brought | None:
        """What was brought to the store so far of what had waited; None where nothing ever waits."""
        return None

    def forget_last_seen(self) -> None:
        """Drop what was last seen of the store: it may hold what must go."""

    def with_warnings(self, saved: Saved) -> Saved:
        """A result that says if another living run holds the session; looked at once a second."""
        looked = time.monotonic()
        if looked < self._quiet_until.get(saved.session, 0.0):
            return saved
        self._quiet_until[saved.session] = looked + _HOLD_LOOK_SECONDS
        if not self.store.head(f"hold/{saved.session}").version:
            return saved
        others = [one for one in self.holds.living(saved.session) if one.run != self.repository.run]
        words = tuple(
            f"{one.holder} ({one.run}, pid {one.pid} on {one.host}) holds this session since {one.since}"
            for one in others
        )
        return Saved(saved.session, saved.version, saved.events, words)

    def forget(self) -> None:
        """Drop everything cached: the store was changed behind our back."""
        self.repository.forget()
        self.agent_states = AgentStates(self.repository)

    def close(self) -> None:
        """Let go of files; a backup that is due is made first."""
        for finish in self.at_close:
            finish()
        self.backups.if_due()
        self.store.close()

    def __enter__(self) -> Workspace:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
