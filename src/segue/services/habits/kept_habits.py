"""Learning habits, and keeping them: the trace of each run, and the table that is made of them.

Commands read the runs whole, within a time limit: traces that are not made yet are left to the next time. A
hook that tells something reads one row. At the end of a run, when nobody waits, a hook learns from the
digests that are kept anyway (``learn_at_end``), because many users never type a command.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice

import msgspec

from ...core.base.lazy import msgpack_decoder
from ...core.base.text import clean_text
from ...core.habits.learn import COMMITS_MAX, RUNS_MAX, learn
from ...core.habits.model import HabitTable
from ...core.habits.next_moves import hits
from ...core.habits.trace import FORMAT, RunTrace, trace_of, trace_of_digest
from ...core.runs.model import RunDigest
from ...effects.git import repository as git
from ...effects.git.queries import commit_files
from ...effects.redaction.redact import redact_bytes
from ...errors import SegueError
from ...stores.base import ProjectFact, RunRow
from ..runs.discovery import found_of
from ..runs.observed import runs_of
from ..runs.read_transcript import masked
from ..runs.run import facts_of, refreshed
from ..workspace.workspace import Workspace
from .rows import HITS, TRACE, TRAIL, is_on, keep_table, project_of, table_of

PASSING_SECONDS, COMMAND_SECONDS, GIT_SECONDS = 2.0, 30.0, 2.0
END_SECONDS, END_GIT_SECONDS, END_RUNS_MAX = 0.25, 0.2, 8
STEPS_MAX = 6_000
"""So many steps of a run tell what is usual in it."""
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
    trails = {fact.key for fact in facts.rows(TRAIL, project=project, bodies=False)}
    for row in reversed(new):  # the oldest first, so that each is judged by those before it
        if time.monotonic() > deadline:
            break
        is_new = row.key not in known and row.key not in trails
        trace = _whole_trace(workspace, row)
        _keep_trace(workspace, project, TRACE, row.key, row.last, trace, before if is_new else None)
        if row.key in trails:
            facts.drop(project, TRAIL, [row.key])
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
    now = time.time()
    rows = workspace.store.runs.rows(projects=workspace.working_tree.project_keys(workspace.settings))
    found = []
    for row in rows:
        facts = facts_of(row)
        if facts is None or facts.run.side:
            continue
        if facts.run.ended != "alive" or refreshed(facts.run, found_of(row), now=now).ended != "alive":
            found.append(row)
        if len(found) == RUNS_MAX:
            break
    return found


def learn_at_end(
    workspace: Workspace, key: str, digest: RunDigest | None, seconds: float = END_SECONDS
) -> None:
    """Learn from the last steps of a run that ends (``key`` and its digest; None: of none), and of runs that
    are over and were not learnt from. No transcript is read, unless it grew after its run was looked at
    last."""
    if not is_on(workspace) or not workspace.sees_tree or workspace.pause_file.in_force():
        return
    project, deadline = project_of(workspace), time.monotonic() + seconds
    facts, before = workspace.store.project_facts, table_of(workspace, project, files=True)
    kept = [*_kept(workspace, TRAIL, project), *_kept(workspace, TRACE, project)]
    known = {fact.key: fact.at for fact in sorted(kept, key=lambda fact: fact.at)}
    own = workspace.store.runs.get(key) if digest is not None else None
    ended = []
    if own is not None and digest is not None and known.get(key) != own.last:
        ended.append((key, own.last, digest))
    finder = runs_of(workspace).finder()
    over = [
        row for row in _runs_to_learn_from(workspace) if row.key != key and known.get(row.key) != row.last
    ]
    for row in over[:END_RUNS_MAX]:
        with suppress(SegueError, OSError):
            ended.append((row.key, row.last, finder.reading(found_of(row)).digest))
        if time.monotonic() > deadline:
            break
    if not ended:
        return
    for of, last, told in reversed(ended):
        trace = trace_of_digest(masked(told))
        _keep_trace(workspace, project, TRAIL, of, last, trace, before if of not in known else None)
    repository = git.find(workspace.folder)
    commits = commit_files(repository, COMMITS_MAX, seconds=END_GIT_SECONDS) if repository else []
    table = learn(list(_traces(workspace, project)), _present(workspace, commits))
    if not commits and before is not None:  # git had no time: what it said before holds on
        table.commits, table.together = before.commits, before.together
    keep_table(workspace, project, table)
    gone = {fact.key for fact in _kept(workspace, TRAIL, project)[RUNS_MAX:]}
    if gone:
        facts.drop(project, TRAIL, gone)


def _kept(workspace: Workspace, kind: str, project: str) -> list[ProjectFact]:
    return workspace.store.project_facts.rows(kind, project=project, bodies=False)


def _whole_trace(workspace: Workspace, row: RunRow) -> RunTrace:
    """The trace of a run's first steps; an empty one of a run that cannot be read any more."""
    try:
        steps = runs_of(workspace).finder().steps(found_of(row), redact_bytes)
        return trace_of(islice(steps, STEPS_MAX))
    except (SegueError, OSError):
        return RunTrace()


def _keep_trace(
    workspace: Workspace, project: str, kind: str, key: str, last: float, trace: RunTrace,
    before: HabitTable | None,
) -> None:  # fmt: skip
    """Keep the trace of a run and, for a new one, how well the habits before it told its commands."""
    mask = workspace.repository.mask
    trace.rules = [clean_text(text, what="rule", mask=mask, limit=4_096) for text in trace.rules]
    kept = [ProjectFact(project, kind, key, last, msgspec.msgpack.encode(trace))]
    if before is not None and before.runs:
        found, of = hits(before, trace.moves)
        alone, _ = hits(HabitTable(), trace.moves)
        if of:
            body = msgspec.msgpack.encode({"hits": found, "alone": alone, "of": of, "runs": before.runs})
            kept.append(ProjectFact(project, HITS, key, last, body))
    workspace.store.project_facts.put(kept)


def newest_trace(workspace: Workspace, project: str) -> RunTrace:
    """The trace of the newest run that was learnt from; an empty one if there is none."""
    facts = workspace.store.project_facts
    newest = [fact for kind in (TRACE, TRAIL) for fact in facts.rows(kind, project=project, limit=1)]
    for fact in sorted(newest, key=lambda fact: -fact.at):
        with suppress(msgspec.DecodeError, UnicodeDecodeError):
            return _trace.decode(fact.body)
    return RunTrace()


def _traces(workspace: Workspace, project: str) -> Iterator[RunTrace]:
    """The kept traces, in the order of time."""
    facts = workspace.store.project_facts
    rows = {
        fact.key: fact
        for kind in (TRAIL, TRACE)
        for fact in facts.rows(kind, project=project, limit=RUNS_MAX)
    }
    found = []
    for fact in sorted(rows.values(), key=lambda fact: -fact.at)[:RUNS_MAX]:
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
