"""A handover of a working tree: the workflow that is declared here, under the checkpoint in the journal.

    with Segue() as segue:
        Handover(segue).run(note="OAuth waits for credentials")

What was interrupted is finished first, with what it was given itself; only then what is new is run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..core.base.text import clean_text
from ..core.base.values import Value
from ..core.handover.events import HandoverBegun, HandoverCompleted, HandoverStepDone
from ..errors import BadSettings, HandoverPending, OtherWorkflow, SegueError, StepUncertain, UsageError
from ..settings import table_of, user_file
from .declared import Workflow, workflow
from .engine import Answer, HandoverEngine, Step, StepError, UncertainStep, WorkflowError
from .kinds import Steps, session_here
from .ledger import StoreCheckpoint
from .memory import MemoryStore
from .record import Record, code_of, pending_in

if TYPE_CHECKING:
    from ..api.segue import Segue
    from .compaction import CompactionReport, Condense

Progress = Callable[[int, int, str], None]
WORDS = {0: "clean", 1: "resume needed", 2: "completed"}


class HandoverRan(Value):
    """What a run of a handover did."""

    run: str
    session: str
    executed: list[str]
    resumed: bool
    """Whether an interrupted run was finished."""
    outputs: dict[str, Any]
    said: list[str] = []
    """What was mended or ignored on the way."""


class HandoverStatus(Value):
    """How a handover stands."""

    code: int
    """0 clean, 1 resume needed, 2 completed."""
    status: str
    steps: dict[str, str]
    """Name to pending, done, failed or uncertain."""
    run: str = ""
    session: str = ""
    started: str = ""
    finished: str = ""
    reasons: dict[str, str] = {}
    """Why steps failed."""
    outputs: dict[str, Any] = {}
    said: list[str] = []


class Handover:
    """The end of a session, in a working tree."""

    def __init__(
        self,
        segue: Segue,
        session: str = "",
        *,
        steps: Sequence[Step] | None = None,
        wait_seconds: float = 600.0,
    ) -> None:
        self.segue = segue
        self.checkpoint = StoreCheckpoint(segue, wait_seconds=wait_seconds)
        self._session = session
        self._steps = steps
        """In Python, instead of what is declared."""
        self.said: list[str] = []

    # -- looking -------------------------------------------------------------------------------

    def workflow(self) -> Workflow:
        """What is declared: by the project if that is trusted, else by the user, else the default four."""
        place, variables = self.segue.workspace.working_tree, self.segue.workspace.environment
        own = place.project_file if place.project_file.is_file() and place.trusted() else None
        table, source = table_of("handover", own, user_file(variables) if variables else None)
        return workflow(table, source)

    def memory(self) -> MemoryStore:
        """The Markdown layers of this project."""
        folder = Path(self.workflow().memory_dir)
        root = self.segue.workspace.working_tree.root
        for part in (folder, *folder.parents):
            if (root / part).is_symlink():
                raise BadSettings(
                    f"{part} is a symbolic link", hint="handovers write to folders of the project"
                )
        return MemoryStore(root / folder)

    def check(self) -> int:
        """0 clean, 1 resume needed, 2 completed."""
        return self.checkpoint.resume_code()

    def standing(self) -> HandoverStatus:
        """How far it came, step by step."""
        found = self.checkpoint.load()
        extra: dict[str, Any] = found.get("segue") or {}
        steps = dict(found["steps"])
        steps |= {name: "failed" for name in extra.get("failed", {}) if steps.get(name) != "done"}
        if extra.get("begun"):
            steps[extra["begun"]] = "uncertain"
        return HandoverStatus(
            code_of(found), found["status"], steps, str(extra.get("run", "")), str(extra.get("session", "")),
            found["started_at"] or "", found["finished_at"] or "", dict(extra.get("failed", {})),
            dict(extra.get("outputs", {})), list(self.checkpoint.said),
        )  # fmt: skip

    # -- doing ---------------------------------------------------------------------------------

    def run(
        self, *, note: str = "", state: str = "", anew: bool = False,
        answers: Mapping[str, str] | None = None, progress: Progress | None = None,
    ) -> HandoverRan:  # fmt: skip
        """Finish what was interrupted, then hand over.

        Without a note or a state, an interrupted run is all that is run. ``anew`` leaves it as it is;
        ``answers`` says of uncertain steps ``done`` or ``again``."""
        self.segue.workspace.pause_file.check()
        mask = self.segue.workspace.repository.mask
        note, state = (clean_text(text, what="note", mask=mask).strip() for text in (note, state))
        before = self.checkpoint.load()
        _check_answers(before, answers or {}, anew=anew)
        session = session_here(self.segue, self._session)
        engine = self._engine(note, state, session, (answers or {}).get, progress)
        resumed = before["status"] == "in_progress" and not anew
        try:
            executed = engine.run(resume=not anew, only=not (note or state))
        except StepError as fault:
            raise _pending(fault) from fault
        except WorkflowError as fault:
            hint = "finish it with the workflow that began it, or leave it with `segue handover run --anew`"
            raise OtherWorkflow(str(fault).partition(": finish")[0], hint=hint) from fault
        except UncertainStep as fault:
            name = fault.step_name
            asked = StepUncertain(
                f"nobody knows whether step {name} happened: its run died in the middle of it",
                hint=f"look, then `segue handover run --done {name}` or `segue handover run --again {name}`",
            )
            asked.step = name
            raise asked from fault
        return self._ran(self.checkpoint.load(), executed, resumed)

    def _engine(
        self,
        note: str,
        state: str,
        session: str,
        answer: Callable[[str], str | None],
        progress: Progress | None,
    ) -> HandoverEngine:
        if self._steps is not None:
            tasks: Sequence[Step] = self._steps
        else:
            self.memory()  # refused before anything is begun
            steps = Steps(self.segue, self.workflow(), session)
            steps.since = self._since(session)
            tasks = steps.tasks(note, state)
        told: Answer = lambda step: answer(step) or ""  # noqa: E731
        about = {"session": session} if session else {}
        return HandoverEngine(tasks, self.checkpoint, answer=told, about=about, progress=progress)

    def _since(self, session: str) -> int:
        """The session's version at the last handover of it that was completed here."""
        version = seen = 0
        for body, _ in self.checkpoint.history():
            if isinstance(body, HandoverBegun):
                seen = version
            elif isinstance(body, HandoverStepDone) and isinstance(body.output, dict):
                same = bool(session) and body.output.get("session") == session
                seen = int(body.output.get("version", 0)) if same else seen
            elif isinstance(body, HandoverCompleted):
                version = seen
        return version

    def _ran(self, found: Record, executed: list[str], resumed: bool) -> HandoverRan:
        extra: dict[str, Any] = found.get("segue") or {}
        return HandoverRan(
            str(extra.get("run", "")), str(extra.get("session", "")), executed, resumed,
            dict(extra.get("outputs", {})), list(self.checkpoint.said),
        )  # fmt: skip

    def compact(
        self, *, months: int = 1, keep: bool = False, dry_run: bool = False, condense: Condense | None = None
    ) -> CompactionReport:
        """Old notes into archives by month."""
        from .compaction import compact

        if not dry_run:
            self.segue.workspace.pause_file.check()
        return compact(self.memory(), months=months, keep=keep, dry_run=dry_run, condense=condense)

    def pending(self) -> list[str]:
        """Steps of the interrupted run that are not done."""
        return pending_in(self.checkpoint.load())


def _check_answers(before: Record, answers: Mapping[str, str], *, anew: bool) -> None:
    """UsageError for an answer that nobody asked for: it would begin a handover that nobody wants."""
    begun = (before.get("segue") or {}).get("begun", "")
    asked = begun if before["status"] == "in_progress" and not anew else ""
    wrong = next((name for name in answers if name != asked), None)
    if wrong is not None:
        steps = f"; its steps: {', '.join(before['steps'])}" if before["steps"] else ""
        what = f"only {asked} is uncertain" if asked else "no step is uncertain"
        raise UsageError(
            f"nobody asked about step {wrong!r}: {what}{steps}",
            hint="`segue handover status` shows every step; `segue handover run` alone goes on",
        )


def _pending(fault: StepError) -> SegueError:
    cause = fault.cause
    if isinstance(cause, SegueError) and not isinstance(cause, HandoverPending) and not cause.retryable:
        return cause
    return HandoverPending(fault.step_name, cause.message if isinstance(cause, SegueError) else str(cause))
