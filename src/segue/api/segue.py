"""The façade: every method calls a service with its workspace, and decides nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any
from warnings import warn

from .._checked_calls import checked
from ..core.base.values import Progress, Texts, texts
from ..core.sessions.status import Card
from ..errors import SegueError
from ..services.workspace import open_session
from ..services.workspace.data_folder import DataFolder
from ..services.workspace.open_workspace import open_workspace
from ..services.workspace.workspace import Workspace
from ..stores.base import Journal
from .session import Session

if TYPE_CHECKING:
    from ..core.resume.changes import Delta
    from ..core.resume.restoration import Restoration
    from ..core.runs.window_pressure import Pressure
    from ..core.stats.report import StatsReport
    from ..core.usage.report import UsageReport
    from ..effects.vectors.embedder import Embedder
    from ..services.codemap.ask import MapAnswer
    from ..services.habits.report import HabitsReport
    from ..services.handoff.notebook import Notebook
    from ..services.handoff.offers import HandoffOffer, Handoffs
    from ..services.ledger.ledger_service import LedgerView
    from ..services.lessons.pitfalls import Pitfall
    from ..services.memories.curation import ComparedMemory
    from ..services.memories.service import Recalled
    from ..services.models.ledger import SpendingReport
    from ..services.models.plan import Proposal
    from ..services.models.refine import Refinement
    from ..services.resume.bootstrap import Boot
    from ..services.resume.prepare import Prepared
    from ..services.runs.run import Run
    from ..services.runs.sync import Synced
    from ..services.search.search import SearchResult
    from ..services.upkeep.archive_sessions import Cleanup
    from ..services.upkeep.recover.result import Recovery
    from ..services.upkeep.scrub import Scrubbed
    from ..stores.memory_changes import MemoryChange
    from .memories import Memories

    Runs = list[Run]
    Found = list[Recalled]
    Pitfalls = list[Pitfall]

Cards = list[Card]

_MOVED = {
    "journal": "store", "place": "working_tree", "book": "repository", "brake": "pause_file",
    "agents": "agent_states", "home": "home", "folder": "folder", "settings": "settings", "holds": "holds",
    "environment": "environment", "backups": "backups", "with_warnings": "with_warnings",
}  # fmt: skip


@checked
class Segue:
    """The entry point: the sessions, runs and memories in a data folder or another store.

    >>> seg = Segue()
    >>> s = seg.start("Refactor authentication to JWT", items=["user model", "middleware"])
    >>> s.done("user model"); s.begin("middleware")

    ``Segue()`` reads the environment; ``Segue(home=…)`` and ``Segue(store=…)`` read none.
    """

    def __init__(
        self, store: Journal | str | None = None, *, home: DataFolder | Path | str | None = None,
        folder: Path | str | None = None, actor: str | None = None, run: str = "", session: str = "",
        embedder: Embedder | None = None,
        environment: Mapping[str, str] | None = None, **settings: Any,
    ) -> None:  # fmt: skip
        self.workspace: Workspace = open_workspace(
            store, home=home, folder=folder, actor=actor, run=run, session=session, embedder=embedder,
            environment=environment, **settings,
        )  # fmt: skip
        self._keep_what_is_learnt()

    @classmethod
    def of(cls, workspace: Workspace) -> Segue:
        """Segue on a workspace that is already open."""
        made = cls.__new__(cls)
        made.workspace = workspace
        made._keep_what_is_learnt()
        return made

    def __getattr__(self, name: str) -> Any:
        """Attributes that have moved to the workspace; they say where they are now."""
        if name not in _MOVED:
            raise AttributeError(f"'Segue' object has no attribute {name!r}")
        warn(f"Segue.{name} is Segue.workspace.{_MOVED[name]} now", DeprecationWarning, stacklevel=2)
        return getattr(self.workspace, _MOVED[name])

    def _keep_what_is_learnt(self) -> None:
        def learnt(session: str, texts: Sequence[str]) -> MemoryChange:
            from ..services.memories.service import memories_of  # few commands learn anything

            return memories_of(self.workspace).learnt(session, texts)

        self.workspace.repository.learnt = learnt

    @classmethod
    def recover(
        cls, store: str | None = None, *, home: DataFolder | Path | str | None = None,
        folder: Path | str | None = None, environment: Mapping[str, str] | None = None, dry_run: bool = False,
        from_git: bool = False, **settings: Any,
    ) -> Recovery:  # fmt: skip
        """Recover what is still readable in a damaged store, as `segue recover` does; says what is missing.

        It opens no store, because a damaged one cannot be opened: close those that are open first. With
        ``dry_run`` nothing is changed. With ``from_git``, sessions are recovered too that
        only a handover's state in the folder's repository knows."""
        from ..services.upkeep.recover.ladder import recover
        from ..services.workspace.open_workspace import without_opening

        data, resolved = without_opening(store, home=home, environment=environment, **settings)
        here = Path(folder).resolve() if folder is not None else Path.cwd()
        return recover(data, resolved, dry_run=dry_run, folder=here, from_git=from_git)

    def close(self) -> None:
        """Close the store; a backup that is due is made first."""
        self.workspace.close()

    def forget(self) -> None:
        """Drop everything cached, after something else changed the store."""
        self.workspace.forget()

    def __enter__(self) -> Segue:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

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
        """Begin a session and make it the current one here; if ``id`` exists, that session is continued.

        ConflictError if it belongs to another project, SessionOver if it is over and had another goal."""
        started = open_session.start_session(
            self.workspace, goal, items=texts(items), id=id, type=type, organization=organization,
            project=project,
        )  # fmt: skip
        return Session.of(started)

    def make_current(self, id: str) -> Session:
        """Make a session the current one of this working tree."""
        return Session.of(open_session.make_current(self.workspace, id))

    def session(self, id: str = "") -> Session:
        """The session with this id, else that of SEGUE_SESSION, else the current one of the working tree."""
        found = open_session.find_session(self.workspace, id)
        home = self.workspace.home
        left = home.emergency.is_dir() or home.emergency_elsewhere.is_dir()
        if left and not self.workspace.pause_file.in_force():
            from ..services.resume import emergency

            for path in emergency.waiting(home, found.id):
                with suppress(SegueError, OSError):
                    emergency.merge(self.workspace, path)
        return Session.of(found)

    def attach(self, id: str, *, merge: bool = False) -> Session:
        """The handle of an existing session; with ``merge``, its emergency files are merged first."""
        return self.session(id) if merge else Session.of(open_session.find_session(self.workspace, id))

    def switch(self, id: str) -> tuple[Session | None, Session]:
        """Pause the current session and switch to another one; returns both."""
        from ..services.resume.resume import take_up

        target = self.session(id)
        before = take_up(target)
        return (Session.of(before) if before is not None else None), target

    def list(
        self, *, everywhere: bool = False, status: str = "", project: str = "", organization: str = ""
    ) -> Cards:
        """Sessions of this project, or of all, the most recently active first."""
        from ..services.runs.sessions_shown import list_sessions

        return list_sessions(
            self.workspace, everywhere=everywhere, status=status, project=project, organization=organization
        )

    def resumable(self, *, everywhere: bool = False, project: str = "", organization: str = "") -> Cards:
        """Sessions of the last days that were paused, or left unfinished by a run that is gone."""
        from ..services.runs.sessions_shown import resumable_sessions

        return resumable_sessions(
            self.workspace, everywhere=everywhere, project=project, organization=organization
        )

    def ledger(self, session: str = "") -> LedgerView:
        """What was said in a session and holds, by default in the current one; where there is none yet, what
        the newest run here said. `Session.ledger` corrects it."""
        from ..services.ledger.ledger_service import ledger_here

        return ledger_here(self.workspace, session)

    # -- runs ----------------------------------------------------------------------------------

    def runs(self, *, agent: str = "", everywhere: bool = False, limit: int = 0) -> Runs:
        """The runs of this project, or of all, the newest first."""
        from ..services.runs.listing import list_runs

        return list_runs(self.workspace, agent=agent, everywhere=everywhere, limit=limit)

    def run(self, id: str) -> Run:
        """A run by its id, or the beginning of it; UnknownRun if there is none, or more than one."""
        from ..services.runs.listing import one_run

        return one_run(self.workspace, id)

    def sync(
        self, *, agent: str = "", paths: Sequence[Path] = (), session: str = "",
        progress: Progress | None = None, workers: int = 1, everywhere: bool = False,
    ) -> Synced:  # fmt: skip
        """Read what is new in the runs of this project: digests, sessions, copies of transcripts, texts for
        the search.

        ``paths`` names transcripts, or folders of them, instead. With several ``workers``, forked processes
        share the work. ``everywhere`` also indexes the transcripts of all other projects on this machine, so
        that they are found by a search."""
        from msgspec.structs import replace

        from ..services.memories.service import embed_in_passing
        from ..services.runs.sync import sync
        from ..services.search.by_meaning import embed_texts_in_passing
        from ..services.search.catch_up import catch_up, searchable_elsewhere
        from ..services.stats.measured import learn_from_runs

        synced = sync(
            self.workspace,
            agent=agent,
            paths=paths,
            session=session,
            progress=progress,
            workers=workers,
            shares=True,
        )
        catch_up(self.workspace, everywhere=everywhere, progress=progress)
        learn_from_runs(self.workspace)
        embed_in_passing(self.workspace)
        embed_texts_in_passing(self.workspace)
        return replace(synced, searchable=searchable_elsewhere(self.workspace)) if everywhere else synced

    def search(
        self, question: str, *, agent: str = "", project: str = "", since: str = "",
        within: Sequence[str] = (), failed: bool = False, by_meaning: bool = False, limit: int = 10,
        seconds: float = 1.0, progress: Progress | None = None,
    ) -> SearchResult:  # fmt: skip
        """What was said, done or decided in any run of any agent, in sessions, memories and handovers, the
        best first.

        ``project`` is a name or a key, and ``.`` the one here; ``within`` names groups of texts (prompts,
        answers, commands, output, files, notes). ``by_meaning`` also finds other wordings. What
        is not indexed yet is indexed first, for at most ``seconds`` seconds."""
        from ..services.search.search import SearchFilter, search

        where = SearchFilter(agent, project, since, within, failed, by_meaning)
        return search(self.workspace, question, where, limit=limit, seconds=seconds, progress=progress)

    def usage(
        self, *, by: str = "day", since: str = "30d", until: str = "", agent: str = "",
        everywhere: bool = False, progress: Progress | None = None,
    ) -> UsageReport:  # fmt: skip
        """What agents used: tokens, cost and how full their windows were.

        ``by`` is day, run, model, project, agent or session. Days are those of UTC: ``7d`` are the last
        seven, today included, ``all`` has no beginning, and a date is a day. Runs that changed are read
        first. A response that several transcripts have counts once."""
        from ..services.usage.report import usage_report

        return usage_report(
            self.workspace, by=by, since=since, until=until, agent=agent, everywhere=everywhere,
            progress=progress,
        )  # fmt: skip

    def stats(
        self, *, month: str = "", days: int = 90, everywhere: bool = False, learns: bool = True
    ) -> StatsReport:
        """How well Segue works: how often work was taken up again, how soon the next run was productive, how
        useful briefs, handovers, memories and habits were, in a month (2026-11) or in the last ``days`` days
        (0: all)."""
        from ..services.runs.sync import take_in_newest
        from ..services.stats.report import stats

        if learns and self.workspace.sees_tree:
            take_in_newest(self.workspace)
        return stats(self.workspace, month=month, days=days, everywhere=everywhere, learns=learns)

    # -- leaving and coming back ---------------------------------------------------------------

    def prepare(
        self, session: str = "", *, reason: str = "user request", transcript: Path | str | None = None,
        agent: str = "", messages: Sequence[Mapping[str, Any]] | None = None, here: bool = False,
        **more: Any,
    ) -> Prepared:  # fmt: skip
        """Write down where the work stands (the manifest), for whoever continues it.

        By default it is about the newest run here. ``transcript`` is a file of another one, which ``agent``
        wrote (``messages`` for a JSON list of messages, ``log`` for a plain log); ``messages`` is the
        conversation of a program itself. ``here`` writes into the project. If what was named cannot be read,
        an error is raised and the existing manifest stays as it is."""
        from ..effects.git.scene import SceneQuery

        with SceneQuery(self.workspace.working_tree.root) as begun:
            from ..services.resume.prepare import prepare
            from ..services.resume.timings import keep_timing

            prepared = prepare(
                self.workspace, session or None, reason=reason, begun=begun, transcript=transcript,
                agent=agent, messages=messages, here=here, **more,
            )  # fmt: skip
        keep_timing(self.workspace, "prepare", prepared.seconds, prepared.bytes)
        return prepared

    def refine(
        self, session: str = "", *, reason: str = "user request", transcript: Path | str | None = None,
        agent: str = "", here: bool = False, **more: Any,
    ) -> Refinement:  # fmt: skip
        """The same with the configured model: claims are checked against the transcript, costs are capped."""
        from ..services.models.refine import refine

        path = Path(transcript) if transcript else None
        return refine(
            self.workspace, session or None, reason=reason, transcript=path, agent=agent, here=here, **more
        )

    def propose(self, task: str, *, with_model: bool = False) -> Proposal:
        """A plan for a task, to be edited; nothing is declared until it is accepted."""
        from ..services.models.plan import propose

        return propose(self.workspace, task, with_model=with_model)

    def spend(self, *, session: str = "", days: int = 30) -> SpendingReport:
        """What asking models cost, and how much the caps leave."""
        from ..services.models import config
        from ..services.models.ledger import report

        return report(self.workspace, config.load(self.workspace).caps, session=session, days=days)

    def pressure(
        self, run: str = "", *, tokens_used: int | None = None, window: int = 0, threshold: float = 0.0
    ) -> Pressure:
        """How full the window is: in this run, in the newest one here, or with ``tokens_used`` tokens."""
        from ..services.resume.window_pressure import pressure

        return pressure(self.workspace, run, tokens_used=tokens_used, window=window, threshold=threshold)

    def bootstrap(self, *, path: Path | None = None, seconds: float = 30.0, checks: bool = True) -> Boot:
        """Start from the newest manifest: where the work stands, and whether everything is in place."""
        from ..services.resume.bootstrap import bootstrap
        from ..services.resume.timings import keep_timing

        found = bootstrap(self.workspace, path=path, seconds=seconds, checks=checks)
        keep_timing(self.workspace, "bootstrap", found.seconds, within=seconds - found.seconds)
        return found

    def since(self, session: str = "", *, start: str = "") -> Delta:
        """What changed since the session was left, or since a time, an age (2h) or a commit."""
        from ..effects.git.scene import SceneQuery

        with SceneQuery(
            self.workspace.working_tree.root
        ) as begun:  # git looks at the tree while the rest is loaded
            from ..services.resume.since import since

            return since(self.workspace, session, start=start, begun=begun)

    def map(
        self, question: str = "central", name: str = "", *, task: str = "", tokens: int = 1_000,
        session: str = "", seconds: float = 0.0, progress: Progress | None = None,
    ) -> MapAnswer:  # fmt: skip
        """Ask the map of the code: what is ``central`` for a task or for the newest run, within a budget
        of ``tokens``; the ``users`` of a name, and what it ``uses``; what is ``affected`` by changing it (or,
        without a name, by what is not committed), and which ``tests`` reach that.

        The map is updated first, for at most ``seconds`` seconds (0: until it is done). It needs the extra
        ``segue[map]``."""
        from ..services.codemap.ask import ask

        return ask(
            self.workspace, question, name, task=task, tokens=tokens, session=session, seconds=seconds,
            progress=progress,
        )  # fmt: skip

    def restore(self, session: str = "", *, budget: str | int = "balanced", **options: Any) -> Restoration:
        """The context of a session within a budget of tokens: minimal, balanced, full or a number.

        ``notes`` names notes to include, ``count`` counts tokens as the model does."""
        from ..services.resume.restore import restore

        return restore(self.workspace, session, budget=budget, **options)

    # -- memories ------------------------------------------------------------------------------

    @property
    def memories(self) -> Memories:
        """The memories that this actor may see here."""
        from .memories import Memories

        return self.workspace.part(Memories)

    def remember(self, content: str, **about: Any) -> ComparedMemory:
        """Keep what was learnt: type, scope, metadata and so on, see `MemoryService.draft`. Unless another
        ``session`` is named, it was learnt in the current one. Says what it may repeat or contradict."""
        from ..services.memories.reader import session_at_work

        return self.memories.remember(
            content, **{**about, "session": about.get("session") or session_at_work(self.workspace)}
        )

    def recall(self, query: str, **options: Any) -> Found:
        """The memories that match a query, the best first; see `MemoryService.recall`."""
        return self.memories.recall(query, **options)

    def pitfalls(self, errors: Iterable[str]) -> Pitfalls:
        """Lessons about failures with these outputs: what fixed the same failure before."""
        from ..core.runs.outcomes import failing_tests, telling
        from ..services.lessons.pitfalls import pitfalls

        told = [(error, *telling(error, failed=True), *failing_tests(error)) for error in errors]
        return pitfalls(self.workspace, told)

    def habits(self) -> HabitsReport:
        """The habits seen in runs and commits of this project; new runs are read first."""
        from ..services.habits.report import habits_report
        from ..services.runs.sync import take_in_newest

        if self.workspace.sees_tree:
            take_in_newest(self.workspace)
        return habits_report(self.workspace)

    def change_habits(
        self, *, off: str = "", on: str = "", accept: str = "", correct: tuple[str, str] = ("", "")
    ) -> HabitsReport:
        """Switch habits off or on by their ids (``all`` for all), accept an offered rule, or say what a
        command or a rule should be instead."""
        from ..services.habits.report import change_habits

        return change_habits(self.workspace, off=off, on=on, accept=accept, correct=correct)

    def playbook(self, task: str, **options: Any) -> Found:
        """Strategies that worked for similar tasks."""
        return self.memories.playbook(task, **options)

    # -- passing on ----------------------------------------------------------------------------

    @cached_property
    def handoffs(self) -> Handoffs:
        """Offers of sessions to agents: offer, accept, decline, withdraw, list."""
        from ..services.handoff.offers import Handoffs

        return Handoffs(self.workspace)

    def handoff(self, id: str, to: str, note: str = "", **options: Any) -> HandoffOffer:
        """Offer a session to an agent; exactly one can take it. See `Handoffs.offer`."""
        return self.handoffs.offer(self.session(id).id, to, note, **options)

    # -- keeping -------------------------------------------------------------------------------

    def export(self, id: str, format: str = "json") -> bytes:
        """A session as a file's content: ``json`` keeps everything, ``yaml`` what it can express;
        ``markdown`` and ``html`` are for people to read, of a session or of a run."""
        from ..services.handoff.export import READABLE_FORMATS, export_session

        if format in READABLE_FORMATS:
            from ..services.handoff.readable import export_readable

            return export_readable(self.workspace, id, format)
        return export_session(self.workspace, id, format)

    def export_notebook(self, folder: Path | str) -> Notebook:
        """Write this project as Markdown files of limited size for a notebook tool, or what has changed of
        it."""
        from ..services.handoff.notebook import export_notebook

        return export_notebook(self.workspace, Path(folder))

    def import_(self, data: bytes, *, format: str | None = None, as_id: str = "") -> Session:
        """Import an export, which is verified first; importing it again adds nothing."""
        from ..services.handoff.export import import_session

        return Session.of(import_session(self.workspace, data, format, as_id))

    def scrub(self, text: str, *, dry_run: bool = False) -> Scrubbed:
        """Erase a text from journal, pieces, backups, archive and files."""
        from ..services.upkeep.scrub import scrub

        return scrub(self.workspace, text, dry_run=dry_run)

    def cleanup(self) -> Cleanup:
        """Sessions that ended long ago: ``run`` archives them, ``restore`` brings one back."""
        from ..services.upkeep.archive_sessions import Cleanup

        return Cleanup(self.workspace)
