"""The handover of a working tree: its declared workflow, with the checkpoint in the journal.

    with Segue() as segue:
        Handover(segue).run(note="OAuth waits for credentials")

An interrupted run is finished first, with its own payloads; only then does the new one start.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..api.segue import Segue
from ..core.base.text import clean_text
from ..core.base.values import Value
from ..core.handover.events import HandoverBegun, HandoverCompleted, HandoverStepDone
from ..errors import BadSettings, HandoverPending, OtherWorkflow, SegueError, StepUncertain, UsageError
from ..settings import table_of, user_file
from .compaction import CompactionReport, Condense, compact
from .declared import Workflow, workflow
from .engine import Answer, HandoverEngine, Step, StepError, UncertainStep, WorkflowError
from .kinds import Steps, session_here
from .ledger import StoreCheckpoint
from .memory import MemoryStore
from .record import Record, code_of

Progress = Callable[[int, int, str], None]


class HandoverRan(Value):
    """The result of running a handover."""

    run: str
    session: str
    executed: list[str]
    resumed: bool
    """Whether an interrupted run was finished."""
    outputs: dict[str, Any]
    said: list[str] = []
    """Notices about what was repaired."""


class HandoverStatus(Value):
    """The progress of a handover."""

    code: int
    """0 clean, 1 resume needed, 2 completed."""
    status: str
    steps: dict[str, str]
    """By name: pending, done, failed or uncertain."""
    run: str = ""
    session: str = ""
    started: str = ""
    finished: str = ""
    reasons: dict[str, str] = {}
    """Why steps failed."""
    outputs: dict[str, Any] = {}
    said: list[str] = []


class Handover:
    """Hands over at the end of a session, in a working tree."""

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
        """Steps in Python that replace the declared ones."""

    def workflow(self) -> Workflow:
        """The workflow that the project declares if it is trusted, else the user's, else the default."""
        tree, variables = self.segue.workspace.working_tree, self.segue.workspace.environment
        own = tree.project_file if tree.project_file.is_file() and tree.trusted() else None
        table, source = table_of("handover", own, user_file(variables) if variables else None)
        return workflow(table, source)

    def memory(self) -> MemoryStore:
        """The Markdown layers of this project."""
        folder = Path(self.workflow().memory_dir)
        root = self.segue.workspace.working_tree.root
        for part in (folder, *folder.parents):
            if (root / part).is_symlink():
                raise BadSettings(
                    f"{part} is a symbolic link", hint="handovers write to real folders of the project only"
                )
        return MemoryStore(root / folder)

    def check(self) -> int:
        """0 if all is clean, 1 if a resume is needed, 2 if the last run completed."""
        return self.checkpoint.resume_code()

    def standing(self) -> HandoverStatus:
        """The progress of the newest run, step by step."""
        record = self.checkpoint.load()
        extra: dict[str, Any] = record.get("segue") or {}
        steps = dict(record["steps"])
        steps |= {name: "failed" for name in extra.get("failed", {}) if steps.get(name) != "done"}
        if extra.get("begun"):
            steps[extra["begun"]] = "uncertain"
        return HandoverStatus(
            code_of(record), record["status"], steps, str(extra.get("run", "")),
            str(extra.get("session", "")), record["started_at"] or "", record["finished_at"] or "",
            dict(extra.get("failed", {})), dict(extra.get("outputs", {})), list(self.checkpoint.notices),
        )  # fmt: skip

    def run(
        self, *, note: str = "", state: str = "", anew: bool = False,
        answers: Mapping[str, str] | None = None, progress: Progress | None = None,
    ) -> HandoverRan:  # fmt: skip
        """Finish an interrupted run, then hand over.

        Without a note or a state, only an interrupted run is finished. With ``anew``, it is left unfinished.
        ``answers`` gives ``done`` or ``again`` for uncertain steps."""
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
            hint = "finish it with its own workflow, or leave it unfinished with `segue handover run --anew`"
            raise OtherWorkflow(str(fault).partition(": finish")[0], hint=hint) from fault
        except UncertainStep as fault:
            name = fault.step_name
            uncertain = StepUncertain(
                f"nobody knows whether step {name} happened: its run died in the middle of it",
                hint=f"check, then `segue handover run --done {name}` or `segue handover run --again {name}`",
            )
            uncertain.step = name
            raise uncertain from fault
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
            self.memory()  # raises before anything is started
            steps = Steps(self.segue, self.workflow(), session)
            steps.since = self._since(session)
            tasks = steps.tasks(note, state)
        answer_for: Answer = lambda step: answer(step) or ""  # noqa: E731
        about = {"session": session} if session else {}
        return HandoverEngine(tasks, self.checkpoint, answer=answer_for, about=about, progress=progress)

    def _since(self, session: str) -> int:
        """The session's version at its last completed handover in this working tree."""
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

    def _ran(self, record: Record, executed: list[str], resumed: bool) -> HandoverRan:
        extra: dict[str, Any] = record.get("segue") or {}
        return HandoverRan(
            str(extra.get("run", "")), str(extra.get("session", "")), executed, resumed,
            dict(extra.get("outputs", {})), list(self.checkpoint.notices),
        )  # fmt: skip

    def compact(
        self, *, months: int = 1, keep: bool = False, dry_run: bool = False, condense: Condense | None = None
    ) -> CompactionReport:
        """Compact old notes into archives by month."""
        if not dry_run:
            self.segue.workspace.pause_file.check()
        return compact(self.memory(), months=months, keep=keep, dry_run=dry_run, condense=condense)


def _check_answers(before: Record, answers: Mapping[str, str], *, anew: bool) -> None:
    """Raise UsageError for an answer about a step that is not uncertain; it would start an unwanted
    handover."""
    begun = (before.get("segue") or {}).get("begun", "")
    uncertain = begun if before["status"] == "in_progress" and not anew else ""
    wrong = next((name for name in answers if name != uncertain), None)
    if wrong is not None:
        steps = f"; the steps are {', '.join(before['steps'])}" if before["steps"] else ""
        what = f"only {uncertain} is uncertain" if uncertain else "no step is uncertain"
        raise UsageError(
            f"step {wrong!r} needs no answer: {what}{steps}",
            hint="`segue handover status` shows every step; `segue handover run` alone continues",
        )


def _pending(fault: StepError) -> SegueError:
    cause = fault.cause
    if isinstance(cause, SegueError) and not isinstance(cause, HandoverPending) and not cause.retryable:
        return cause
    return HandoverPending(fault.step_name, cause.message if isinstance(cause, SegueError) else str(cause))
