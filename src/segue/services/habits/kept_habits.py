"""Learning habits, and keeping them: the trace of each run, and the table that is made of them.

Learning is done by commands, never on a hook's way, and within a time limit: traces that are not made yet
are left to the next time. A hook reads one row.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import suppress

import msgspec

from ...core.base.lazy import msgpack_decoder
from ...core.base.text import clean_text
from ...core.habits.learn import COMMITS_MAX, RUNS_MAX, learn
from ...core.habits.model import HabitTable
from ...core.habits.next_moves import hits
from ...core.habits.trace import FORMAT, RunTrace, trace_of
from ...effects.git import repository as git
from ...effects.git.queries import commit_files
from ...effects.redaction.redact import redact_bytes
from ...errors import SegueError
from ...stores.base import ProjectFact, RunRow
from ..runs.discovery import found_of
from ..runs.observed import runs_of
from ..runs.run import facts_of
from ..workspace.workspace import Workspace
from .rows import HITS, TRACE, is_on, keep_table, project_of, table_of

PASSING_SECONDS, COMMAND_SECONDS, GIT_SECONDS = 2.0, 30.0, 2.0
_trace = msgpack_decoder(RunTrace)


def learn_in_passing(workspace: Workspace, seconds: float = PASSING_SECONDS) -> None:
    """Learn from new runs for a short time; whatever stands in the way stays for the next time."""
    with suppress(SegueError, OSError):
        if is_on(workspace) and workspace.sees_tree and not workspace.pause_file.in_force():
            learn_habits(workspace, seconds=seconds)


def learn_habits(workspace: Workspace, *, seconds: float = COMMAND_SECONDS) -> HabitTable:
    """The habits of the project, after its new runs were learnt from; those that the time does not suffice
    for are left out."""
    workspace.pause_file.check()
    project, deadline = project_of(workspace), time.monotonic() + seconds
    facts = workspace.store.project_facts
    rows = _runs_to_learn_from(workspace)
    known = {fact.key: fact.at for fact in facts.rows(TRACE, project=project, bodies=False)}
    new = [row for row in rows if known.get(row.key) != row.last]
    before = table_of(workspace, project)
    for row in reversed(new):  # the oldest first, so that each is judged by those before it
        if time.monotonic() > deadline:
            break
        _keep_trace(workspace, project, row, before if row.key not in known else None)
    wanted = {row.key for row in rows}
    if gone := [key for key in known if key not in wanted]:
        facts.drop(project, TRACE, gone)
    repository = git.find(workspace.folder)
    commits = commit_files(repository, COMMITS_MAX, seconds=min(GIT_SECONDS, seconds)) if repository else []
    if not new and not gone and before is not None and before.commits == len(commits):
        return before
    table = learn(list(_traces(workspace, project)), _present(workspace, commits))
    keep_table(workspace, project, table)
    return table


def _runs_to_learn_from(workspace: Workspace) -> list[RunRow]:
    """The newest runs of the project that are over, without those of sub-agents; the newest first."""
    rows = workspace.store.runs.rows(projects=workspace.working_tree.project_keys(workspace.settings))
    found = []
    for row in rows:
        facts = facts_of(row)
        if facts is not None and not facts.run.side and facts.run.ended != "alive":
            found.append(row)
        if len(found) == RUNS_MAX:
            break
    return found


def _keep_trace(workspace: Workspace, project: str, row: RunRow, before: HabitTable | None) -> None:
    """Keep the trace of a run and, for a new one, how well the habits before it told its commands. A run that
    cannot be read any more has an empty one."""
    finder = runs_of(workspace).finder()
    try:
        trace = trace_of(finder.steps(found_of(row), redact_bytes))
    except (SegueError, OSError):
        trace = RunTrace()
    mask = workspace.repository.mask
    trace.rules = [clean_text(text, what="rule", mask=mask, limit=4_096) for text in trace.rules]
    kept = [ProjectFact(project, TRACE, row.key, row.last, msgspec.msgpack.encode(trace))]
    if before is not None and before.runs:
        found, of = hits(before, trace.moves)
        alone, _ = hits(HabitTable(), trace.moves)
        if of:
            body = msgspec.msgpack.encode({"hits": found, "alone": alone, "of": of, "runs": before.runs})
            kept.append(ProjectFact(project, HITS, row.key, row.last, body))
    workspace.store.project_facts.put(kept)


def newest_trace(workspace: Workspace, project: str) -> RunTrace:
    """The trace of the newest run that was learnt from; an empty one if there is none."""
    for fact in workspace.store.project_facts.rows(TRACE, project=project, limit=1):
        with suppress(msgspec.DecodeError, UnicodeDecodeError):
            return _trace.decode(fact.body)
    return RunTrace()


def _traces(workspace: Workspace, project: str) -> Iterator[RunTrace]:
    """The kept traces, in the order of time."""
    found = []
    for fact in workspace.store.project_facts.rows(TRACE, project=project, limit=RUNS_MAX):
        with suppress(msgspec.DecodeError, UnicodeDecodeError):
            trace = _trace.decode(fact.body)
            if trace.format == FORMAT:
                found.append(trace)
    return iter(sorted(found, key=lambda trace: trace.began))


def _present(workspace: Workspace, commits: Sequence[Sequence[str]]) -> list[list[str]]:
    """The files of commits that are still there; a commit without any stays, so that their number does."""
    root, seen = workspace.working_tree.root, dict[str, bool]()
    for path in {path for files in commits for path in files}:
        with suppress(OSError, ValueError):
            seen[path] = (root / path).exists()
    return [[path for path in files if seen.get(path)] or ["-"] for files in commits]
