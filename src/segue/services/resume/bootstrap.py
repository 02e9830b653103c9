"""Starting from the manifest: what was, whether the surroundings are still those, and what to do next.

It ends in time whatever happens: the work is done in a thread that hands over what it has, finding by
finding, and when the time is over the rest is said to be not looked at. Nothing is written: the checks
that it runs are no evidence. Text of a manifest is data, also of one that somebody else wrote.
"""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...core.base.text import clean_text
from ...core.base.values import Value, count, iso, seconds_of
from ...core.brief.manifest import Manifest, Preparation, read
from ...core.sessions.state import SessionState
from ...core.sessions.status import hints_of, progress_of
from ...effects import surroundings
from ...effects.git import repository as git
from ...effects.git import scene as effect
from ...effects.processes.identity import host_name
from ...effects.redaction.redact import redact_bytes
from ...errors import SegueError, UsageError
from ..brief.gather import summary_of_session
from ..features.features import Features
from ..runs.observed import runs_of
from ..runs.select import newest_run
from ..workspace.open_session import find_session
from . import prepare, scenes

if TYPE_CHECKING:
    from ..workspace.workspace import Workspace

SECONDS_MAX = 30.0
MARGIN_SECONDS = 2.0
"""Kept for printing and for ending what still runs."""
CHECKS_SECONDS = 15.0
FILE_BYTES_MAX = 1_000_000
ASKS = ("folder", "branch", "head", "changes", "tools", "interpreter", "dependencies", "checks")


class Readiness(Value):
    """One thing that was looked at."""

    name: str
    ok: bool | None
    """None: it could not be told, or there was nothing to compare with."""
    says: str
    mend: str = ""
    """What makes it right; a command in backquotes where there is one."""


class Boot(Value):
    """Where the work stands, and whether one can go on."""

    project: str
    session: str
    goal: str
    phase: str
    environment: str
    done: int
    pending: int
    next_action: str
    ready: bool
    differs: int
    findings: tuple[Readiness, ...]
    instructions: tuple[str, ...]
    """The manifest's own steps: data, not commands of ours."""
    source: str
    """The file that it started from; empty if the manifest was put together now."""
    prepared: str
    """When."""
    reason: str
    seconds: float


class _Desk:
    """What the thread has found so far."""

    def __init__(self) -> None:
        self.about: dict[str, Any] = {
            "project": "", "session": "", "goal": "", "phase": "", "environment": "", "done": 0, "pending": 0,
            "next_action": "", "instructions": (), "source": "", "prepared": "", "reason": "",
        }  # fmt: skip
        self.findings: list[Readiness] = []
        self.fault: BaseException | None = None


def bootstrap(
    workspace: Workspace, *, path: Path | None = None, seconds: float = SECONDS_MAX, checks: bool = True,
    session: str = "",
) -> Boot:  # fmt: skip
    """Load the newest manifest here (or of a file), verify the surroundings, say what to do next."""
    if not 1.0 <= seconds <= SECONDS_MAX:
        raise UsageError(f"{seconds:g} seconds", hint=f"between 1 and {SECONDS_MAX:g}")
    start = time.monotonic()
    desk = _Desk()
    deadline = start + max(0.5, seconds - MARGIN_SECONDS)
    looking = _Looking(workspace, desk, deadline, path, session, checks)
    worker = threading.Thread(target=looking.run, name="segue bootstrap", daemon=True)
    worker.start()
    worker.join(max(0.0, deadline + MARGIN_SECONDS / 2 - time.monotonic()))
    looking.stop()
    if desk.fault is not None and not desk.findings:
        raise desk.fault
    findings = list(desk.findings)
    told = {one.name for one in findings}
    late = "not looked at: the time is over"
    findings += [
        Readiness(name, None, late) for name in ASKS if name not in told and (checks or name != "checks")
    ]
    differs = sum(one.ok is False for one in findings)
    late_ones = any(one.says == late for one in findings)
    return Boot(
        **desk.about, ready=not differs and not late_ones, differs=differs, findings=tuple(findings),
        seconds=round(time.monotonic() - start, 3),
    )  # fmt: skip


class _Looking:
    """One look, in its own thread."""

    def __init__(
        self,
        workspace: Workspace,
        desk: _Desk,
        deadline: float,
        path: Path | None,
        session: str,
        checks: bool,
    ) -> None:
        self.workspace = workspace
        self.desk = desk
        self.deadline = deadline
        self.path = path
        self.wanted = session
        self.checks = checks
        self.root = workspace.working_tree.root
        self.state: SessionState | None = None
        self.manifest = Manifest()
        self.runner: Any = None

    @property
    def left(self) -> float:
        return max(0.01, self.deadline - time.monotonic())

    @property
    def about(self) -> Preparation:
        found = self.manifest.prepared
        return found if isinstance(found, Preparation) else Preparation()

    def stop(self) -> None:
        """End what still runs."""
        runner, self.runner = self.runner, None
        if runner is not None:
            threading.Thread(target=runner.close, daemon=True).start()

    def run(self) -> None:
        try:
            self._load()
            steps: list[tuple[str, Callable[[], Readiness | None]]] = [
                ("folder", self._folder), ("branch", self._branch), ("head", self._head),
                ("changes", self._changes), ("tools", self._tools), ("interpreter", self._interpreter),
                ("dependencies", self._dependencies),
            ]  # fmt: skip
            if self.checks:
                steps.append(("checks", self._checks))
            for name, step in steps:
                self._one(name, step)
        except BaseException as fault:  # handed to whoever waits
            self.desk.fault = fault

    def _one(self, name: str, step: Callable[[], Readiness | None]) -> None:
        try:
            found = step()
        except (SegueError, OSError, ValueError) as fault:
            found = Readiness(name, None, f"could not be looked at: {fault}")
        self.desk.findings.append(found or Readiness(name, None, "nothing to compare with"))

    # -- the manifest --------------------------------------------------------------------------

    def _load(self) -> None:
        source = self.path or newest_file(self.workspace)
        found = _read(source) if source else None
        if self.path is not None and found is None:
            raise UsageError(f"{self.path} holds no manifest", hint="`segue prepare --here` writes one")
        asked = self.wanted or (
            found.prepared.session if found and isinstance(found.prepared, Preparation) else ""
        )
        self.state = _state(self.workspace, asked)
        if found is None or (self.path is None and self._is_older(source, found)):
            found, source = self._composed(), None
        self.manifest = found
        self._describe(source)

    def _is_older(self, source: Path | None, found: Manifest) -> bool:
        """Whether work went on after a manifest was written."""
        assert source is not None
        written = source.stat().st_mtime
        slack = 60.0
        if self.state is not None and seconds_of(self.state.updated) > written + slack:
            return True
        newest = newest_run(runs_of(self.workspace).capture())
        return newest is not None and newest.changed > written + slack

    def _composed(self) -> Manifest:
        told = summary_of_session(self.workspace, self.state)
        scene = scenes.take(self.workspace, self.state, digests=told.digests, seconds=min(5.0, self.left))
        return (
            read(prepare.composed(self.workspace, self.state, told, scene, "put together now")) or Manifest()
        )

    def _describe(self, source: Path | None) -> None:
        manifest, state, about = self.manifest, self.state, self.desk.about
        meta = manifest.session_metadata
        done, pending = len(manifest.completed_tasks), len(manifest.pending_tasks)
        phase, steps = meta.phase, [*manifest.critical_context.next_steps]
        working = manifest.active_state.current_work
        if working:
            steps.insert(0, f"Continue: {working}")
        if state is not None:
            progress = progress_of(state)
            done, pending = progress.done, progress.total - progress.done
            phase = (
                f"{state.status}, {progress.done} of {progress.total} done"
                if progress.total
                else state.status
            )
            steps = [*hints_of(state).next_actions, *steps]
        about.update(
            project=meta.project
            or self.workspace.working_tree.project_name(
                self.workspace.working_tree.project_key(self.workspace.settings)[0]
            ),
            session=state.id if state else "",
            goal=state.goal if state else meta.goal,
            phase=phase or "not said",
            done=done,
            pending=pending,
            next_action=next(filter(None, steps), "nothing is planned"),
            instructions=tuple(manifest.bootstrap_instructions),
            source=str(source) if source else "",
            prepared=meta.timestamp or (iso(source.stat().st_mtime) if source else ""),
            reason=self.about.reason,
            environment=self._environment(),
        )

    def _environment(self) -> str:
        repository = git.find(self.root)
        head, branch = git.head(repository) if repository else ("", "")
        parts = [
            f"{branch or 'detached'} @ {head[:9]}" if head else "no commit yet" if repository else "no git"
        ]
        python = surroundings.interpreter(self.root, self.workspace.environment)
        if python:
            place, _, version = python.rpartition(" ")
            parts.append(f"Python {version} ({place})")
        return ", ".join(parts)

    # -- the surroundings ----------------------------------------------------------------------

    def _folder(self) -> Readiness | None:
        then = self.about.folder
        if not self.root.is_dir():
            return Readiness("folder", False, f"{self.root} is not there")
        if not then:
            return Readiness("folder", None, f"{self.root}; the manifest names none")
        if Path(then) == self.root:
            return Readiness("folder", True, str(self.root))
        if Path(then).is_dir() and self.about.host in ("", host_name()):
            return Readiness(
                "folder", False, f"this is {self.root}, the work was left in {then}", f"go to {then}"
            )
        return Readiness(
            "folder", True, f"{self.root}; it was {then} on {self.about.host or 'another machine'}"
        )

    def _branch(self) -> Readiness | None:
        then = self.manifest.memory_pointers.git_branch
        repository = git.find(self.root)
        if repository is None:
            return Readiness("branch", False if then else None, "there is no git here")
        _, branch = git.head(repository)
        shown = branch or "a detached head"
        if not then:
            return Readiness("branch", None, f"{shown}; the manifest names none")
        if then == branch:
            return Readiness("branch", True, shown)
        from ...core.resume.changes import is_plain

        if git.ref(repository, f"refs/heads/{then}"):
            command = f"`git switch {then}`" if is_plain(then) else "switch back to it"
            return Readiness("branch", False, f"{shown}, it was {then}", command)
        return Readiness("branch", False, f"{shown}; {then} is gone", "see what became of it: `segue since`")

    def _head(self) -> Readiness | None:
        then = self.about.head
        repository = git.find(self.root)
        if not then or repository is None:
            return None
        head, _ = git.head(repository)
        if head.startswith(then):
            return Readiness("head", True, then[:9])
        if not all(sign in "0123456789abcdef" for sign in then):
            return Readiness("head", None, "the manifest names no commit")
        told = effect.run(self.root, "rev-list", "--count", f"{then}..{head}", seconds=min(3.0, self.left))
        base = effect.run(self.root, "merge-base", "--is-ancestor", then, head, seconds=min(3.0, self.left))
        if told is None:
            return Readiness(
                "head", False, f"{head[:9]}; {then[:9]} is not here", "fetch it, or see `segue since`"
            )
        if base is None:
            return Readiness(
                "head", False, f"{head[:9]} does not have {then[:9]}", "see what happened: `segue since`"
            )
        return Readiness(
            "head",
            True,
            f"{head[:9]}, {count(int(told), 'commit')} after {then[:9]}: `segue since` tells them",
        )

    def _changes(self) -> Readiness | None:
        """What was not committed then."""
        from .since import since

        session = self.state.id if self.state else ""
        kept = scenes.kept(self.workspace, session)
        if kept is None or not kept.dirty or kept.folder != str(self.root):
            return Readiness("changes", None, "none were left uncommitted") if kept else None
        told = since(self.workspace, session, seconds=min(5.0, self.left))
        lost = [one.path for one in told.uncommitted if one.now in ("gone", "discarded")]
        if lost:
            where = "they may be in a stash: `git stash list`" if told.stashed else "see `segue since`"
            return Readiness("changes", False, f"not there any more: {', '.join(lost[:4])}", where)
        altered = sum(one.now in ("altered", "replaced") for one in told.uncommitted)
        return Readiness("changes", True, f"{len(told.uncommitted)} were left, {altered} altered since")

    def _tools(self) -> Readiness | None:
        names = self.about.tools
        if not names:
            return None
        path = self.workspace.environment.get("PATH")
        missing = [name for name in names if not shutil.which(name, path=path)]
        if not missing:
            return Readiness("tools", True, ", ".join(names))
        return Readiness(
            "tools", False, f"not on the PATH: {', '.join(missing)}", "install them, or set PATH as it was"
        )

    def _interpreter(self) -> Readiness | None:
        then, environment = self.about.interpreter, self.workspace.environment
        place = surroundings.environment_folder(self.root, environment)
        if place is None:
            if not then:
                return None
            return Readiness(
                "interpreter", False, f"{then} is not there", "`python3 -m venv .venv`, then install"
            )
        version = surroundings.asked_version(place, min(5.0, self.left))
        if not version:
            return Readiness(
                "interpreter", False, f"{place} does not run", "make it anew: `python3 -m venv .venv`"
            )
        was = then.rpartition(" ")[2]
        if was and was != "?" and was != version:
            return Readiness(
                "interpreter",
                False,
                f"Python {version}, it was {was}",
                "make the environment with that version",
            )
        return Readiness("interpreter", True, f"Python {version} in {place}")

    def _dependencies(self) -> Readiness | None:
        found = surroundings.dependencies(self.root, self.workspace.environment)
        wrong = [one for one in found if not one.ok]
        now = surroundings.locks(self.root)
        moved = [name for name, hash in self.about.locks.items() if now.get(name) != hash]
        after = f"; changed since: {', '.join(moved)}" if moved else ""
        if wrong:
            says = "; ".join(f"{one.lock}: {one.detail}" for one in wrong)
            return Readiness("dependencies", False, says + after, f"`{wrong[0].install_command}`")
        if not found:
            return (
                Readiness("dependencies", None, f"no lock file that can be compared{after}")
                if now or moved
                else None
            )
        return Readiness("dependencies", True, f"{', '.join(one.lock for one in found)} in sync{after}")

    # -- checks --------------------------------------------------------------------------------

    def _checks(self) -> Readiness | None:
        from ..features.recheck import recheck

        if self.state is None:
            names = self.about.checks
            return Readiness("checks", None, f"no session here for {', '.join(names)}") if names else None
        until = min(self.deadline, time.monotonic() + CHECKS_SECONDS)
        features = Features(find_session(self.workspace, self.state.id))
        told = recheck(features, self.state, until, self)
        if not (told.passed or told.failed or told.late or told.untrusted):
            return Readiness("checks", None, "no check had passed")
        says = [f"{len(told.passed)} that passed then pass now"] if told.passed else []
        says += [f"{name} fails now: {why}" for name, why in told.failed]
        says += [f"not run in time: {', '.join(told.late)}"] if told.late else []
        says += [f"not trusted, not run: {', '.join(told.untrusted)}"] if told.untrusted else []
        failed = " --feature ".join(name for name, _ in told.failed)
        mend = f"`segue verify --feature {failed}`" if failed else ""
        ok = False if told.failed else True if told.passed else None
        return Readiness("checks", ok, "; ".join(says), mend)


def newest_file(workspace: Workspace) -> Path | None:
    """The manifest of this project that was written last: ours, or a file in the project."""
    places = [
        scenes.folder_of(workspace) / prepare.LATEST,
        workspace.working_tree.root / prepare.HERE,
        workspace.folder / prepare.HERE,
    ]
    found = [path for path in dict.fromkeys(places) if path.is_file()]
    return max(found, key=lambda path: path.stat().st_mtime, default=None)


def _read(path: Path) -> Manifest | None:
    """A manifest as text that may be shown."""
    try:
        if path.stat().st_size > FILE_BYTES_MAX:
            return None
        body = path.read_bytes()
    except OSError as fault:
        raise UsageError(f"{path}: {fault.strerror}", hint="check the path") from fault
    text = clean_text(body.decode("utf-8", "replace"), limit=FILE_BYTES_MAX)
    return read(redact_bytes(text.encode()))


def _state(workspace: Workspace, session: str) -> SessionState | None:
    try:
        return scenes.state_of(workspace, session or None)
    except SegueError:
        return None
