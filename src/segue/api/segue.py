"""The façade: wiring only. ``Segue()`` reads the environment; ``Segue(home=…)`` reads none."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..core.base.text import clean_name, clean_text
from ..core.sessions import commands as do
from ..core.sessions.state import TYPES
from ..core.sessions.status import Card
from ..effects.redaction.redact import redact
from ..errors import ConflictError, SegueError, StaleVersion, StoreUnavailable, UnknownSession, UsageError
from ..services.runs.observed import ObservedRuns
from ..services.sessions.agent_states import AgentStates
from ..services.sessions.holds import Holds
from ..services.sessions.repository import Saved, SessionRepository, stream_of
from ..services.upkeep.backups import Backups
from ..services.workspace.data_folder import DataFolder, is_remote, moment, now
from ..services.workspace.open_store import open_store
from ..services.workspace.working_tree import PauseFile, WorkingTree
from ..settings import Settings, data_folder, environment_now, resolve, user_file
from ..stores.base import Journal
from .session import Session, Texts, texts

if TYPE_CHECKING:
    from ..core.resume.changes import Delta
    from ..core.resume.restoration import Restoration
    from ..core.runs.window_pressure import Pressure
    from ..effects.vectors.embedder import Embedder
    from ..services.handoff.offers import HandoffOffer, Handoffs
    from ..services.memories.remembering import PlaceMemories
    from ..services.memories.service import Recalled, Remembered
    from ..services.models.plan import Proposal
    from ..services.models.refine import Refinement
    from ..services.resume.bootstrap import Boot
    from ..services.resume.prepare import Prepared
    from ..services.runs.run import Run
    from ..services.runs.sync import Progress, Synced
    from ..services.upkeep.archive_sessions import Cleanup
    from ..services.workspace.last_seen import LastSeenSession
    from ..services.workspace.offline_queue import OfflineQueue

    Runs = list[Run]
    Found = list[Recalled]
    from ..services.models.ledger import SpendingReport
    from ..services.upkeep.scrub import Scrubbed

_NUMBERS = 100_000
_HOLD_LOOK_SECONDS = 1.0

Cards = list[Card]


def _home(home: Path | str | None, variables: Mapping[str, str]) -> DataFolder:
    return DataFolder(Path(home).absolute() if home is not None else data_folder(variables))


class Segue:
    """Sessions that survive, in a data folder.

    >>> seg = Segue()
    >>> s = seg.start("Refactor authentication to JWT", items=["user model", "middleware"])
    >>> s.done("user model"); s.begin("middleware")
    """

    def __init__(
        self, store: Journal | str | None = None, *, home: DataFolder | Path | str | None = None,
        folder: Path | str | None = None, actor: str | None = None, run: str = "", session: str = "",
        embedder: Embedder | None = None,
        environment: Mapping[str, str] | None = None, **settings: Any,
    ) -> None:  # fmt: skip
        bare = store is None and home is None and environment is None
        variables = environment_now() if bare else dict(environment or {})
        self.home = home if isinstance(home, DataFolder) else _home(home, variables)
        self.folder = Path(folder).resolve() if folder is not None else Path.cwd()
        flags = {**settings, "actor": actor, "store": store if isinstance(store, str) else None}
        reads = bool(variables)
        own = resolve(flags=flags, environment=variables, user_config=user_file(variables) if reads else None)
        self.journal: Journal = store if store is not None and not isinstance(store, str) else self._open(own)
        self.offline: OfflineQueue | None = self._without_server() if is_remote(self.home.elsewhere) else None
        """What is done while a server cannot be reached; None for any other store."""
        self.stand_in: LastSeenSession | None = None
        """What a session was when it was last seen, where there is no store to ask."""
        self.place = self._placed()
        self.settings: Settings = resolve(
            flags=flags,
            environment=variables,
            project_file=self.place.project_file,
            project_trusted=self.place.project_file.is_file() and self.place.trusted(),
            user_config=user_file(variables) if reads else None,
        )
        brakes = [self.place.root / "PAUSE", self.home.path / "PAUSE"]
        if self.settings.text("pause_file"):
            brakes.append(self.place.root / self.settings.text("pause_file"))
        self.brake = PauseFile(brakes)
        self.backups = Backups(self.home, self.journal, self.settings, self.brake)
        self.book = SessionRepository(
            self.journal, actor=clean_text(self.settings.text("actor"), what="actor", limit=256), run=run,
            brake=self.brake, after_write=self.backups.written,
            mask=redact if self.settings["redact"] else None,
        )  # fmt: skip
        self.holds = Holds(
            self.journal, brake=self.brake, lease_seconds=self.settings.number("lease_seconds")
        )
        self.agents = AgentStates(self.book)
        self._embedder = embedder
        if hasattr(type(self.journal), "memories"):
            self.book.learnt = lambda session, texts: self.memories.learnt(session, texts)
        self.quiet_until: dict[str, float] = {}
        """Until when (monotonic) nobody looks whether another run holds a session."""
        self._given = session or variables.get("SEGUE_SESSION", "")
        self.environment: Mapping[str, str] = variables
        self.observed = ObservedRuns(self)

    def _placed(self) -> WorkingTree:
        return WorkingTree(self.folder, self.journal, self.offline)

    def _without_server(self) -> OfflineQueue:
        from ..services.workspace.offline_queue import OfflineQueue

        return OfflineQueue(self)

    def _open(self, settings: Settings) -> Journal:
        where = settings.text("store")
        self.home = self.home.for_store(where)
        timeout_ms, key = int(settings.number("busy_timeout_ms")), settings.text("api_key")
        return open_store(self.home, where, busy_timeout_ms=timeout_ms, key=key)

    def close(self) -> None:
        """Let go of files; a backup that is due is made first."""
        if self.offline is not None:
            self.offline.remember()
        if "memories" in self.__dict__:
            self.memories.flush()
        self.backups.if_due()
        self.journal.close()

    def __enter__(self) -> Segue:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def forget(self) -> None:
        """Drop everything cached: the store was changed behind our back."""
        self.book.forget()
        self.agents = AgentStates(self.book)

    # -- sessions ------------------------------------------------------------------------------

    def start(
        self,
        goal: str,
        *,
        items: Texts = (),
        id: str = "",
        type: str = "",
        organization: str = "",
        project: str = "",
    ) -> Session:
        """Begin a session and make it the current one here; with an id that exists, take that one."""
        self.brake.check()
        if id and self._exists(id):
            return self.make_current(id)
        if id and self.home.archived(id).is_file():
            raise ConflictError(f"session {id} is archived", hint=self._where_else(id))
        kind = type or self.settings.text("type")
        if kind not in TYPES:
            raise UsageError(f"unknown type of session: {kind}", hint="one of " + ", ".join(TYPES))
        text = clean_text(goal, what="goal", mask=self.book.mask).strip()
        if not text:
            missing = (
                f"there is no session {id}, and a new one needs a goal" if id else "a session needs a goal"
            )
            raise UsageError(missing, hint='for example: segue start "Refactor auth to JWT"')
        plan = tuple(
            t for t in (clean_text(i, what="item", mask=self.book.mask).strip() for i in texts(items)) if t
        )
        key, root_commit = (project, "") if project else self.place.project_key(self.settings)
        wish = do.Create(
            id=clean_name(id) if id else "", goal=text,
            organization=organization or self.settings.text("organization"), project=key, type=kind,
            project_name=self.place.project_name(key), items=plan,
        )  # fmt: skip
        base = f"{time.strftime('%Y-%m-%d')}-{wish.type}-{wish.project_name}"
        try:
            return self._create(wish, base, root_commit)
        except StoreUnavailable as fault:
            if self.offline is None:
                raise
            return Session(self, self.offline.start(wish, base, root_commit, fault), pending=True)

    def _exists(self, id: str) -> bool:
        """Whether there is such a session; where nobody can be asked it may be begun, and settled later."""
        try:
            return self.book.exists(id)
        except StoreUnavailable:
            if self.offline is None:
                raise
            return False

    def _create(self, wish: do.Create, base: str, root_commit: str) -> Session:
        number = 0 if wish.id else self._last_number(base)
        for _ in range(_NUMBERS):
            number += 1
            session = wish.id or f"{base}-{number:03d}"
            create = do.Create(
                session, wish.goal, wish.organization, wish.project, wish.type, wish.project_name, wish.items
            )
            try:
                bind = partial(self._binding, session, wish.project, root_commit)
                saved = self.book.commit(session, [create], guards=bind)
            except StaleVersion as stale:
                number -= stale.stream != stream_of(session)
                continue
            if saved.events or wish.id:
                self.place.tree(fresh=True)
                return Session(self, session) if saved.events else self.make_current(session)
        raise UsageError(f"no free number for {base}", hint="give an id with --id")

    def _last_number(self, base: str) -> int:
        prefix = f"session/{base}-"
        numbers = [name.removeprefix(prefix) for name, _ in self.journal.streams(prefix)]
        numbers += [
            p.name[len(base) + 1 : -len(".jsonl.gz")] for p in self.home.archive.glob(f"{base}-*.jsonl.gz")
        ]
        return max((int(n) for n in numbers if n.isdecimal()), default=0)

    def _binding(self, session: str, project: str, root_commit: str = "") -> list[Any]:
        append = self.place.bind(project, root_commit, session, at=now(), actor=self.book.actor)
        return [append] if append else []

    def make_current(self, id: str) -> Session:
        """Make a session the one that commands in this working tree mean."""
        self.brake.check()
        self.book.state(id)
        while True:
            key, root_commit = self.place.project_key(self.settings)
            append = self.place.bind(key, root_commit, id, at=now(), actor=self.book.actor)
            try:
                if append is not None:
                    self.journal.append(append)
            except StaleVersion:
                continue
            self.place.tree(fresh=True)
            return Session(self, id)

    def session(self, id: str = "") -> Session:
        """The session of this id, else of SEGUE_SESSION, else the working tree's current one."""
        wanted = id or self._given or self.place.tree(fresh=True).current
        if not wanted:
            raise UnknownSession(
                "no session is current in this working tree",
                hint='begin one with `segue start "…"`, or give an id; `segue list` shows them',
            )
        return self.attach(wanted, merge=True)

    def attach(self, id: str, *, merge: bool = False) -> Session:
        """The handle of a session that exists; ``merge`` brings in its emergency files first."""
        try:
            exists = self.book.exists(id)
        except StoreUnavailable:
            if self.offline is None or self.offline.last(id) is None:
                raise
            return Session(self, id)
        if not exists:
            raise UnknownSession(f"there is no session {id!r}", hint=self._where_else(id))
        if merge and self.home.emergency.is_dir() and not self.brake.in_force():
            from ..services.resume import emergency

            for path in emergency.pending(self.home.emergency, id):
                with suppress(SegueError, OSError):
                    emergency.merge(self, path)
        return Session(self, id)

    def _where_else(self, id: str) -> str:
        if self.home.archived(id).is_file():
            return f"it is archived; bring it back with `segue cleanup --restore {id}`"
        return "`segue list --all` names those that exist"

    def switch(self, id: str) -> tuple[Session | None, Session]:
        """Pause the current session, take the other one up: (from, to)."""
        target = self.session(id)
        current = self.place.tree(fresh=True).current
        before = (
            Session(self, current) if current and current != target.id and self.book.exists(current) else None
        )
        if before is not None and before.state.status == "active":
            before.pause(f"switched to {target.id}")
        target.resume()
        self.make_current(target.id)
        return before, target

    def list(
        self, *, everywhere: bool = False, status: str = "", project: str = "", organization: str = ""
    ) -> Cards:
        """Sessions of this project, or of all, the most recently active first."""
        keys = set() if everywhere or project or organization else set(self.place.project_keys(self.settings))
        return [
            card
            for card in self.book.cards()
            if (not keys or card.project in keys)
            and (not status or card.status == status)
            and (not project or project in (card.project, card.project_name))
            and (not organization or card.organization == organization)
        ]

    def resumable(self, *, everywhere: bool = False) -> Cards:
        """Paused, or left in the middle by a run that is gone, within the last days."""
        days = self.settings.number("resumable_days")
        since = moment(-86400 * days)
        cards = self.list(everywhere=everywhere)
        return [
            card
            for card in cards
            if card.last_active >= since
            and (
                card.status == "paused"
                or (card.status in ("active", "created") and not self.holds.living(card.id))
            )
        ]

    # -- runs ----------------------------------------------------------------------------------

    def runs(self, *, agent: str = "", everywhere: bool = False, limit: int = 0) -> Runs:
        """The runs of this project, or of all, the newest first."""
        from ..services.runs.listing import list_runs

        return list_runs(self, agent=agent, everywhere=everywhere, limit=limit)

    def run(self, id: str) -> Run:
        """A run by its id, or the beginning of it; UnknownRun if there is none, or more than one."""
        from ..services.runs.listing import one_run

        return one_run(self, id)

    def sync(
        self, *, agent: str = "", paths: Sequence[Path] = (), session: str = "",
        progress: Progress | None = None, workers: int = 1,
    ) -> Synced:  # fmt: skip
        """Take in what is new of the runs of this project: digests, sessions, copies of transcripts.

        ``paths`` names transcripts or folders of them instead; with several ``workers`` forked
        processes share the work."""
        from ..services.runs.sync import sync

        return sync(
            self, agent=agent, paths=paths, session=session, progress=progress, workers=workers, shares=True
        )

    # -- leaving and coming back ---------------------------------------------------------------

    def prepare(self, session: str = "", *, reason: str = "user request", **more: Any) -> Prepared:
        """Write the manifest of where the work stands, for whoever comes next; see `services.prepare`."""
        from ..effects.git.scene import SceneQuery

        with SceneQuery(self.place.root) as begun:
            from ..services.resume.prepare import prepare

            return prepare(self, session or None, reason=reason, begun=begun, **more)

    def refine(self, session: str = "", *, reason: str = "user request", **more: Any) -> Refinement:
        """The same with the model that was set: what it adds is held to the transcript, and capped."""
        from ..services.models.refine import refine

        return refine(self, session or None, reason=reason, **more)

    def propose(self, task: str, *, with_model: bool = False) -> Proposal:
        """A plan for a task, to be edited; nothing is declared before ``services.planning.accept``."""
        from ..services.models.plan import propose

        return propose(self, task, with_model=with_model)

    def spend(self, *, session: str = "", days: int = 30) -> SpendingReport:
        """What models cost, and what the caps leave."""
        from ..services.models import config
        from ..services.models.ledger import report

        return report(self, config.load(self).caps, session=session, days=days)

    def pressure(
        self, run: str = "", *, tokens_used: int | None = None, window: int = 0, threshold: float = 0.0
    ) -> Pressure:
        """How full the window of a run is: of this one, else of the newest here; or of so many tokens."""
        from ..services.resume.window_pressure import pressure

        return pressure(self, run, tokens_used=tokens_used, window=window, threshold=threshold)

    def bootstrap(self, *, path: Path | None = None, seconds: float = 30.0, checks: bool = True) -> Boot:
        """Start from the newest manifest: where the work stands, and whether all around it still holds."""
        from ..services.resume.bootstrap import bootstrap

        return bootstrap(self, path=path, seconds=seconds, checks=checks)

    def since(self, session: str = "", *, start: str = "") -> Delta:
        """What changed since the session was left, or since a time, an age (2h) or a commit."""
        from ..effects.git.scene import SceneQuery

        with SceneQuery(self.place.root) as begun:  # git looks at the tree while the rest is loaded
            from ..services.resume.since import since

            return since(self, session, start=start, begun=begun)

    def restore(self, session: str = "", *, budget: str | int = "balanced", **wishes: Any) -> Restoration:
        """The context of a session within a budget of tokens: minimal, balanced, full or a number.

        ``notes`` are wanted by id, ``count`` counts tokens as the model does; see `services.restore`."""
        from ..services.resume.restore import restore

        return restore(self, session, budget=budget, **wishes)

    # -- memories ------------------------------------------------------------------------------

    @cached_property
    def memories(self) -> PlaceMemories:
        """What was learnt, as this actor sees it from here."""
        from ..services.memories.remembering import memories_of

        return memories_of(self, self._embedder)

    def remember(self, content: str, **about: Any) -> Remembered:
        """Keep what was learnt: type, scope, metadata and so on, see `MemoryService.draft`."""
        return self.memories.remember(content, **about)

    def recall(self, query: str, **wishes: Any) -> Found:
        """What answers a query, the best first; see `MemoryService.recall`."""
        return self.memories.recall(query, **wishes)

    def playbook(self, task: str, **wishes: Any) -> Found:
        """Strategies that worked, for a task."""
        return self.memories.playbook(task, **wishes)

    # -- passing on ----------------------------------------------------------------------------

    @cached_property
    def handoffs(self) -> Handoffs:
        """Offers of sessions to agents: offer, accept, decline, withdraw, list."""
        from ..services.handoff.offers import Handoffs

        return Handoffs(self)

    def handoff(self, id: str, to: str, note: str = "", **wishes: Any) -> HandoffOffer:
        """Offer a session to an agent; exactly one can take it. See `Handoffs.offer`."""
        return self.handoffs.offer(self.session(id).id, to, note, **wishes)

    # -- keeping -------------------------------------------------------------------------------

    def export(self, id: str, format: str = "json") -> bytes:
        """A session as a file's content: ``json`` loses nothing, ``yaml`` holds what it can."""
        from ..services.handoff.export import export_session

        return export_session(self, id, format)

    def import_(self, data: bytes, *, format: str | None = None, as_id: str = "") -> Session:
        """The session of such content, proven first; an import that was done adds nothing."""
        from ..services.handoff.export import import_session

        return import_session(self, data, format, as_id)

    def scrub(self, text: str, *, dry_run: bool = False) -> Scrubbed:
        """Erase a text from journal, pieces, backups, archive and files."""
        from ..services.upkeep.scrub import scrub

        return scrub(self, text, dry_run=dry_run)

    def cleanup(self) -> Cleanup:
        """Sessions that ended long ago: ``run`` archives them, ``restore`` brings one back."""
        from ..services.upkeep.archive_sessions import Cleanup

        return Cleanup(self)

    def with_warnings(self, saved: Saved) -> Saved:
        """A result that says if another living run holds the session; looked at once a second."""
        looked = time.monotonic()
        if looked < self.quiet_until.get(saved.session, 0.0):
            return saved
        self.quiet_until[saved.session] = looked + _HOLD_LOOK_SECONDS
        if not self.journal.head(f"hold/{saved.session}").version:
            return saved
        others = [h for h in self.holds.living(saved.session) if h.run != self.book.run]
        words = tuple(
            f"{h.holder} ({h.run}, pid {h.pid} on {h.host}) holds this session since {h.since}"
            for h in others
        )
        return Saved(saved.session, saved.version, saved.events, words)
