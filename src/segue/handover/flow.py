"""The handover of a working tree: its declared workflow, with the checkpoint in the journal.

    with Segue() as segue:
        Handover(segue).run(note="OAuth waits for credentials")

An interrupted run is finished first, with its own payloads; only then does the new one start.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..api.segue import Segue
from ..core.base.text import clean_text
from ..core.base.values import Value
from ..core.handover.events import HandoverBegun, HandoverCompleted, HandoverStepDone
from ..core.handover.record import Record, code_of, is_theirs, pending_in, steps_of
from ..effects.files.checkpoint_file import AGENT_HANDOVER, recall_checkpoint
from ..errors import (
    BadSettings,
    HandoverPending,
    NotTrusted,
    OtherWorkflow,
    SegueError,
    StepUncertain,
    UsageError,
)
from ..settings import PROJECT_FILE, table_of, user_file
from .checkpoint import Checkpoint
from .compaction import CompactionReport, Condense, compact
from .declared import Workflow, workflow
from .engine import Answer, HandoverEngine, Step, StepError, UncertainStep, WorkflowError
from .kinds import Steps, session_here
from .ledger import StoreCheckpoint
from .memory import MemoryStore

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
    theirs: str = ""
    """The checkpoint of agent-handover that this is about; empty if it is about Segue's own handover."""


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
        self._declared_in = ""
        """The file that declares the steps of the run; empty for the default and for steps in Python."""

    def workflow(self) -> Workflow:
        """The workflow that the project declares, else the user's, else the default. Raises NotTrusted if the
        project declares one and its file is not trusted: no other takes its place."""
        tree, variables = self.segue.workspace.working_tree, self.segue.workspace.environment
        own = tree.project_file if tree.project_file.is_file() else None
        if own is not None and not tree.trusted():
            if _declares_handover(own):
                raise NotTrusted(
                    f"{own} declares the handover but is not trusted in its current form, so nothing was run",
                    hint="review it, then `segue trust`; then run the handover again",
                )
            own = None
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
        return self.standing().code

    @property
    def _agent_handover(self) -> Checkpoint:
        """The checkpoint that programs of agent-handover keep in this working tree."""
        return Checkpoint(self.segue.workspace.working_tree.root / AGENT_HANDOVER)

    def standing(self) -> HandoverStatus:
        """The progress of the newest run, step by step; of one of agent-handover if that is interrupted and
        ours is not, or if there is no other."""
        record = self.checkpoint.load()
        theirs, said = recall_checkpoint(self._agent_handover.path)
        if is_theirs(record, theirs) and theirs["status"] != "none":
            return status_of(theirs, said=[said] if said else [], theirs=AGENT_HANDOVER)
        return status_of(record, said=[*self.checkpoint.notices, *([said] if said else [])])

    def run(
        self, *, note: str = "", state: str = "", anew: bool = False, commit: bool = True,
        answers: Mapping[str, str] | None = None, progress: Progress | None = None,
    ) -> HandoverRan:  # fmt: skip
        """Finish an interrupted run, then hand over.

        Without a note or a state, only an interrupted run is finished. With ``anew``, it is left unfinished;
        a checkpoint of agent-handover is set aside. Without ``commit``, the files are left uncommitted, also
        if the run is interrupted and finished later. ``answers`` gives ``done`` or ``again`` for steps that
        are uncertain or failed, and ``done`` for steps that the workflow no longer has."""
        self.segue.workspace.pause_file.check()
        mask = self.segue.workspace.repository.mask
        note, state = (clean_text(text, what="note", mask=mask).strip() for text in (note, state))
        before, answers = self.checkpoint.load(), answers or {}
        if not anew and code_of(before) != 1:
            self._check_agent_handover()
        session = session_here(self.segue, self._session)
        engine = self._engine(note, state, session, answers, progress, commit=commit)
        _check_answers(before, answers, engine.foreign(before), anew=anew)
        if anew:
            self._set_agent_handover_aside()
        resumed = before["status"] == "in_progress" and not anew
        try:
            executed = engine.run(resume=not anew, only=not (note or state))
        except StepError as fault:
            raise self._pending(fault) from fault
        except WorkflowError as fault:
            raise _other_workflow(fault) from fault
        except UncertainStep as fault:
            raise _uncertain(fault) from fault
        return self._ran(self.checkpoint.load(), executed, resumed)

    def _check_agent_handover(self) -> None:
        """Raise OtherWorkflow if a handover of agent-handover is interrupted here."""
        theirs, _ = recall_checkpoint(self._agent_handover.path)
        if code_of(theirs) != 1:
            return
        raise OtherWorkflow(
            f"a handover of agent-handover was interrupted before {', '.join(pending_in(theirs))}"
            f" ({AGENT_HANDOVER})",
            hint="finish it with the program that began it, for example `agent-handover run --config FILE`; "
            "`segue handover run --anew` leaves it unfinished",
        )

    def _set_agent_handover_aside(self) -> None:
        checkpoint = self._agent_handover
        theirs, _ = recall_checkpoint(checkpoint.path)
        aside = checkpoint.set_aside() if code_of(theirs) == 1 else None
        if aside is not None:
            self.checkpoint.notices.append(f"the interrupted handover of agent-handover is now in {aside}")

    def _pending(self, fault: StepError) -> SegueError:
        """The error for a step that failed, with what to do about it."""
        cause, name = fault.cause, fault.step_name
        if isinstance(cause, SegueError) and not isinstance(cause, HandoverPending) and not cause.retryable:
            return cause
        reason = cause.message if isinstance(cause, SegueError) else str(cause)
        if self.standing().steps.get(name) == "uncertain":
            return HandoverPending(name, reason, f"it may have happened anyway: {_answers_for(name)}")
        hints = ["what came before it is done; `segue handover run` continues with this step"]
        if self._declared_in:
            hints.append("if its declaration is wrong, correct it and run `segue trust` first")
        hints.append(f"if you did it by hand: `segue handover run --done {name}`")
        return HandoverPending(name, reason, "; ".join(hints))

    def _engine(
        self,
        note: str,
        state: str,
        session: str,
        answers: Mapping[str, str],
        progress: Progress | None,
        *,
        commit: bool,
    ) -> HandoverEngine:
        if self._steps is not None:
            tasks: Sequence[Step] = self._steps
        else:
            self.memory()  # raises before anything is started
            flow = self.workflow()
            self._declared_in = flow.source
            steps = Steps(self.segue, flow, session, commit=commit)
            steps.since = self._since(session)
            tasks = steps.tasks(note, state)
        answer: Answer = lambda step: answers.get(step, "")  # noqa: E731
        by_hand = [step for step, said in answers.items() if said == "done"]
        about = {"session": session} if session else {}
        return HandoverEngine(
            tasks, self.checkpoint, answer=answer, about=about, progress=progress, by_hand=by_hand
        )

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


def notes_folder(root: Path, environment: Mapping[str, str]) -> str:
    """The folder of a working tree in which handovers left notes; empty if there are none."""
    with suppress(BadSettings):
        folder = workflow(table_of("handover", root / PROJECT_FILE, user_file(environment))[0]).memory_dir
        if any((root / folder).glob("layer[123]/**/*.md")):
            return folder
    return ""


def status_of(record: Record, *, said: Sequence[str] = (), theirs: str = "") -> HandoverStatus:
    """The progress that a checkpoint records, step by step."""
    extra: dict[str, Any] = record.get("segue") or {}
    return HandoverStatus(
        code_of(record), record["status"], steps_of(record), str(extra.get("run", "")),
        str(extra.get("session", "")), record.get("started_at") or "", record.get("finished_at") or "",
        dict(extra.get("failed", {})), dict(extra.get("outputs", {})), list(said), theirs,
    )  # fmt: skip


def status_of_file(path: Path) -> HandoverStatus:
    """The progress that a checkpoint file records; the file is not changed. Raises UsageError for something
    that is no file."""
    if path.exists() and not path.is_file():
        raise UsageError(f"{path} is not a file", hint="name the checkpoint file of a handover")
    record, said = recall_checkpoint(path)
    return status_of(record, said=[said] if said else [], theirs=str(path))


def _declares_handover(file: Path) -> bool:
    """Whether a project file declares a handover; also if it cannot be read, because nobody knows then."""
    try:
        return bool(table_of("handover", file)[0])
    except BadSettings:
        return True


def _check_answers(before: Record, answers: Mapping[str, str], foreign: Sequence[str], *, anew: bool) -> None:
    """Raise UsageError for an answer about a step that needs none; it would start an unwanted handover."""
    extra = before.get("segue") or {}
    pending = pending_in(before) if before["status"] == "in_progress" and not anew else []
    open_steps = [name for name in pending if name == extra.get("begun") or name in extra.get("failed", {})]
    open_steps += [name for name in foreign if name in pending and name not in open_steps]
    wrong = next((name for name in answers if name not in open_steps), None)
    if wrong is not None:
        steps = f"; the steps are {', '.join(before['steps'])}" if before["steps"] else ""
        what = (
            f"only {', '.join(open_steps)} failed or is uncertain" if open_steps else "no step is uncertain"
        )
        raise UsageError(
            f"step {wrong!r} needs no answer: {what}{steps}",
            hint="`segue handover status` shows every step; `segue handover run` alone continues",
        )


def _answers_for(step: str) -> str:
    return f"check, then `segue handover run --done {step}` or `segue handover run --again {step}`"


def _other_workflow(fault: WorkflowError) -> OtherWorkflow:
    steps = " --done ".join(fault.foreign)
    return OtherWorkflow(
        str(fault).partition(": finish")[0],
        hint=f"`segue handover run --done {steps}` continues without it; `--anew` starts over",
    )


def _uncertain(fault: UncertainStep) -> StepUncertain:
    name = fault.step_name
    how = f"it failed ({fault.reason})" if fault.reason else "its run ended before that was recorded"
    error = StepUncertain(f"it is not known whether step {name} happened: {how}", hint=_answers_for(name))
    error.step = name
    return error
