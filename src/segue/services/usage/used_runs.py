"""The runs whose usage is reported: those in the store, and those that only lie on this machine.

Most numbers stand in the rows of the store, so that no transcript and no digest is read for them. Transcripts
of this project that changed are synced first. Those of other projects are read where they are; what they used
is remembered (``remembered_runs.py``) and read again when they change.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from msgspec.structs import replace

from ...agents import agent as agent_of, agent_name
from ...agents.base import Found
from ...core.base.text import slug
from ...core.base.values import Progress
from ...core.runs.digest import FORMAT
from ...core.usage.counted_responses import RunUsage
from ...core.usage.report import UsedRun
from ...effects.git import repository as git
from ...effects.redaction.redact import redact_bytes
from ...errors import SegueError
from ...stores.base import RunRow
from ...stores.memory.store import VolatileStore
from ..runs import cursor
from ..runs.discovery import RunFinder, found_of
from ..runs.duplicates import RunsSeen
from ..runs.observed import runs_of
from ..runs.read_transcript import final
from ..runs.remembered_runs import RememberedRuns
from ..runs.run import Run, RunFacts, facts_of, run_of, stored_usage, usage_in
from ..runs.sync import sync
from ..workspace.workspace import Workspace

WAIT_SECONDS = 0.1


class UsedRuns:
    """The runs of a project, or of all, with what they used."""

    def __init__(self, workspace: Workspace, agent: str, everywhere: bool, progress: Progress | None) -> None:
        self._workspace = workspace
        self._agent = agent_name(agent)
        self._everywhere = everywhere
        self._progress = progress
        self._remembered = RememberedRuns(workspace)
        self._needed: set[str] = set()
        """The keys of what was remembered or had to be read."""
        self._whole: dict[str, RunUsage] = {}
        """What was read of runs that the store does not have."""
        self._names: dict[str, tuple[str, str]] = {}
        """The key and the short name of the project that a folder is in."""
        self.not_read = 0

    def runs(self) -> list[UsedRun]:
        """All of them."""
        finder = runs_of(self._workspace).finder(everywhere=self._everywhere, every_file=True)
        found, seen = self._found(finder)
        rows = self._rows()
        stored = self._stored(found, rows)
        if self._may_sync() and len(stored) < len(found):
            changed = {key: one for key, one in found.items() if key not in stored}
            self._sync(finder, list(changed.values()))
            rows = self._rows()
            stored |= self._stored(changed, rows)
        self._names = {row.cwd: self._named(row.project) for row in rows.values() if row.cwd and row.project}
        used, done, total = [], 0, sum(one.size for one in found.values())
        for key, one in found.items():
            if self._progress is not None:
                self._progress(done, total, one.path)
            run = self._present(finder, key, one, rows.get(key), stored.get(key))
            used += [run] if run is not None else []
            done += one.size
        used += self._absent(finder, rows, found, seen)
        self._remembered.keep(self._needed if self._everywhere and not self._agent else None)
        leads = {run.id: run for run in used if not run.side}
        return [_in_project_of(run, leads.get(run.parent)) if run.side else run for run in used]

    def whole(self, run: UsedRun) -> RunUsage | None:
        """All that is known of the responses of a run; None if that cannot be read."""
        if run.key in self._whole:
            return self._whole[run.key]
        row = runs_of(self._workspace).runs.get(run.key)
        reading = cursor.reading_of(cursor.unpacked(row.reading)) if row is not None else None
        if reading is not None and row is not None:
            with suppress(SegueError, ValueError):
                return final(reading, agent_of(row.agent)).usage
        kept = self._remembered.get(run.key)
        if kept is not None:
            finder = runs_of(self._workspace).finder(everywhere=True)
            at = Found(kept.run.agent, kept.run.path, kept.run.id, 0.0, 0, kept.run.cwd)
            with suppress(SegueError, OSError):
                return self._read(finder, at, kept.run.key)[1]
        return None

    # -- bringing the store up to date ---------------------------------------------------------

    def _may_sync(self) -> bool:
        """Whether this machine has agents, and a store for what is synced: who only looks makes none."""
        return self._workspace.sees_tree and not isinstance(self._workspace.store, VolatileStore)

    def _sync(self, finder: RunFinder, changed: list[Found]) -> None:
        """Sync the transcripts of this project that changed. Whatever stands in the way (nothing can be
        written, Segue is off, somebody else syncs), they are read where they are."""
        with suppress(SegueError, OSError):
            scope = runs_of(self._workspace).finder().scope if self._everywhere else None
            own = [one for one in changed if scope is None or (one.cwd and scope.holds(one.cwd))]
            written = [one for one in own if finder.is_written(one)]
            if written:
                sync(self._workspace, found=written, wait_seconds=WAIT_SECONDS, progress=self._progress)

    def _rows(self) -> dict[str, RunRow]:
        return {row.key: row for row in runs_of(self._workspace).runs.rows()}

    def _stored(self, found: Mapping[str, Found], rows: Mapping[str, RunRow]) -> dict[str, RunFacts]:
        """What the store has of these runs, as far as that is how their transcripts are now."""
        stored = {}
        for key, one in found.items():
            facts = facts_of(rows[key]) if key in rows else None
            if facts is None or facts.format != FORMAT or not facts.usage:
                continue
            agent = agent_of(one.agent)
            if cursor.is_unchanged(facts.stamp, cursor.stamp_of(one, agent), agent):
                stored[key] = facts
        return stored

    # -- one run -------------------------------------------------------------------------------

    def _found(self, finder: RunFinder) -> tuple[dict[str, Found], RunsSeen]:
        found: dict[str, Found] = {}
        seen = RunsSeen((), finder.key)
        for one in finder.found(self._agent):
            seen.add(one)
            found.setdefault(finder.key(one), one)
        return found, seen

    def _present(
        self, finder: RunFinder, key: str, found: Found, row: RunRow | None, facts: RunFacts | None = None
    ) -> UsedRun | None:
        if facts is not None:
            return self._used(facts.run, facts.usage) if not facts.run.empty else None
        stamp = cursor.stamp_of(found, agent_of(found.agent))
        self._needed.add(key)
        kept = self._remembered.current(key, found)
        if kept is not None:
            return self._used(kept.run, kept.usage) if not kept.run.empty else None
        try:
            run, usage = self._read(finder, found, key)
        except (SegueError, OSError):
            self.not_read += 1
            return None
        run = replace(run, project=row.project, session=row.session) if row is not None else run
        self._remembered.put(key, stamp, run, stored_usage(usage))
        return self._used(run, stored_usage(usage)) if not run.empty else None

    def _read(self, finder: RunFinder, found: Found, key: str) -> tuple[Run, RunUsage]:
        reading = finder.reading(found, redact_bytes if self._workspace.settings["redact"] else None)
        digest = final(reading, agent_of(found.agent))
        self._whole[key] = digest.usage
        return run_of(found, reading, digest, host=finder.host, now=time.time()), digest.usage

    def _absent(
        self, finder: RunFinder, rows: dict[str, RunRow], found: dict[str, Found], seen: RunsSeen
    ) -> Iterator[UsedRun]:
        """The runs in the store whose transcripts are not on this machine, or not any more."""
        keys = set(self._workspace.working_tree.project_keys(self._workspace.settings))
        for key, row in rows.items():
            wanted = self._everywhere or row.project in keys or not self._workspace.sees_tree
            if key in found or not wanted or self._agent not in ("", row.agent) or seen.same_run(row):
                continue
            facts = facts_of(row)
            if facts is None:
                self.not_read += 1
            elif facts.usage:
                yield self._used(facts.run, facts.usage)
            elif (run := self._present(finder, key, found_of(row), row)) is not None:
                yield run

    def _used(self, run: Run, stored: bytes) -> UsedRun:
        project, name = self._named(run.project) if run.project else self._project_of(run.cwd)
        return UsedRun(
            run.key, run.id, run.agent, usage_in(stored) or RunUsage(), project, name, run.session, run.goal,
            run.parent, run.side, run.began, run.last,
        )  # fmt: skip

    def _named(self, project: str) -> tuple[str, str]:
        return project, self._workspace.working_tree.project_name(project)

    def _project_of(self, cwd: str) -> tuple[str, str]:
        """The project of a run that was never synced: that of others in the same folder, else its working
        tree."""
        if cwd not in self._names:
            repository = git.find(Path(cwd)) if cwd and Path(cwd).is_dir() else None
            root = str(repository.root) if repository is not None else cwd
            self._names[cwd] = self._names.get(root) or (root, slug(Path(root).name) if root else "")
        return self._names[cwd]


def _in_project_of(run: UsedRun, lead: UsedRun | None) -> UsedRun:
    """A sub-agent's run in the project of its lead: it may work in a working tree that is soon gone."""
    if lead is None:
        return run
    session = run.session or lead.session
    return replace(run, project=lead.project, project_name=lead.project_name, session=session)
