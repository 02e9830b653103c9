"""What is measured and kept: how runs did with their briefs.

Runs are judged in commands, once each, within a time limit; never on a hook's way.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress

import msgspec

from ...core.handover.usefulness import judge
from ...core.lessons.mended import MendedFailures
from ...core.lessons.signature import normalised
from ...core.runs.steps import Call, Step
from ...core.stats.report import Recovery
from ...effects.redaction.redact import redact_bytes
from ...errors import SegueError
from ...stores.base import ProjectFact, RunRow
from ..brief.delivered import DeliveredBrief, delivered_to
from ..habits.kept_habits import PASSING_SECONDS, learn_in_passing
from ..habits.rows import project_of
from ..runs.discovery import found_of
from ..runs.observed import runs_of
from ..runs.run import facts_of, run_in
from ..runs.run_stream import brief_given
from ..workspace.workspace import Workspace

RECOVERY = "recovery"
RUNS_MAX = 100
TIMINGS_MAX = 5_000
_PITFALL = "PITFALL"


def learn_from_runs(workspace: Workspace, seconds: float = PASSING_SECONDS) -> None:
    """Learn habits from new runs and judge how they did with their briefs, for a short time; whatever stands
    in the way stays for the next time."""
    deadline = time.monotonic() + seconds
    learn_in_passing(workspace, seconds)
    with suppress(SegueError, OSError):
        if workspace.sees_tree and not workspace.pause_file.in_force():
            _judge_runs(workspace, deadline)


def _judge_runs(workspace: Workspace, deadline: float) -> None:
    project, facts = project_of(workspace), workspace.store.project_facts
    known = {fact.key for fact in facts.rows(RECOVERY, project=project, bodies=False)}
    rows = workspace.store.runs.rows(projects=workspace.working_tree.project_keys(workspace.settings))
    for row in [row for row in rows[:RUNS_MAX] if row.key not in known]:
        if time.monotonic() > deadline:
            break
        run = facts_of(row)
        if run is None or run.run.side or run.run.ended == "alive":
            continue
        found = _recovery(workspace, row)
        if found is not None:
            body = msgspec.msgpack.encode(found)
            facts.put([ProjectFact(project, RECOVERY, row.key, found.at, body)])


def _recovery(workspace: Workspace, row: RunRow) -> Recovery | None:
    """How a run did with the brief that it was given; None if it was given none, or did nothing yet."""
    given = brief_given(workspace.store, row.agent, row.native)
    if given is None or not given.runs:
        return None
    mended, steps = MendedFailures(), list[Step]()
    for step in runs_of(workspace).finder().steps(found_of(row), redact_bytes):
        mended.take(step)
        steps.append(step)
    if not any(isinstance(step, Call) for step in steps):
        return None
    judged = judge(given.text, steps)
    told = [_error(line) for text in _texts(workspace, row) for line in text.split("\n") if _is_pitfall(line)]
    solved = {one for lesson in mended.lessons for one in lesson.signatures}
    began = next((step.at for step in steps if step.at), row.last)
    return Recovery(
        began, row.native, judged.score, round(judged.measures.seconds_to_edit, 1),
        judged.measures.calls_to_edit, given.bytes, _is_after_crash(workspace, given.runs),
        len(told), sum(any(error in one for one in solved) for error in told),
    )  # fmt: skip


def _is_after_crash(workspace: Workspace, runs: Sequence[str]) -> bool:
    """Whether the newest of these runs that called anything had crashed, or one behind it that did not."""
    for key in runs:
        row = workspace.store.runs.get(key)
        run = run_in(row) if row is not None else None
        if run is None or run.ended == "crashed" or run.calls:
            return run is not None and run.ended == "crashed"
    return False


def _texts(workspace: Workspace, row: RunRow) -> list[str]:
    briefs: list[DeliveredBrief] = []
    with suppress(SegueError):
        briefs = delivered_to(workspace, row.agent, row.native)
    return [one.text for one in briefs]


def _is_pitfall(line: str) -> bool:
    return "mended before by" in line and (line.startswith(_PITFALL) or line.startswith("Segue, from"))


def _error(line: str) -> str:
    """The error that a pitfall is about, as signatures have it."""
    return normalised(line.partition(": mended before by")[0].partition(": ")[2])[:60]
