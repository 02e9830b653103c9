"""Starting from the manifest: where the work stands, whether the environment is still the same, and what to
do next.

It always ends in time: a thread does the work and reports finding by finding, and what it has not reached
when the time is up counts as not checked. Nothing is written, and the checks that are run are no evidence.
The text of a manifest is data, whoever wrote it.
"""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from shlex import quote
from typing import Any

from ..._files import read_bytes
from ...core import event_kinds as ev
from ...core.base.page import plain
from ...core.base.text import clean_text, slug
from ...core.base.values import Value, count, iso, seconds_of
from ...core.brief.manifest import Manifest, Preparation, read
from ...core.features.events import CheckRan
from ...core.resume.changes import Delta, is_plain
from ...core.sessions.state import SessionState
from ...core.sessions.status import hints_of
from ...effects import surroundings
from ...effects.git import repository as git
from ...effects.git.queries import output_of
from ...effects.processes.identity import host_name
from ...effects.redaction.redact import redact_bytes
from ...errors import SegueError, UsageError
from ..brief.gather import summary_of_session
from ..brief.notices import interrupted_handover
from ..features.features import Features
from ..runs.observed import runs_of
from ..runs.select import newest_run
from ..runs.sessions_shown import state_shown
from ..sessions.repository import stream_of
from ..workspace.open_session import find_session
from ..workspace.own_files import MANIFEST_HERE
from ..workspace.workspace import Workspace
from . import prepare, scenes

SECONDS_MAX = 30.0
MARGIN_SECONDS = 2.0
SLACK_SECONDS = 60.0
"""A run that was written to so shortly after its manifest has done nothing that matters since."""
"""Reserved for printing and for stopping what still runs."""
CHECKS_SECONDS = 15.0
FILE_BYTES_MAX = 1_000_000
FINDINGS = (
    "folder", "branch", "head", "changes", "state file", "handover", "tools", "interpreter", "dependencies",
    "checks",
)  # fmt: skip


class Readiness(Value):
    """One thing that was checked."""

    name: str
    ok: bool | None
    """None if it could not be determined, or there was nothing to compare with."""
    says: str
    mend: str = ""
    """How to correct it, with a command in backquotes if there is one."""


class Boot(Value):
    """Where the work stands, and whether the environment is ready for it."""

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
    """The steps that the manifest suggests: data, not commands of Segue."""
    source: str
    """The manifest's file; empty if the manifest was composed just now."""
    prepared: str
    """When the manifest was written."""
    reason: str
    seconds: float


_Finding = tuple[bool | None, str] | tuple[bool | None, str, str] | None
"""Whether it is as it was, what is said of it, how to mend it; None if there is nothing to compare with."""


def bootstrap(
    workspace: Workspace, *, path: Path | None = None, seconds: float = SECONDS_MAX, checks: bool = True,
    session: str = "",
) -> Boot:  # fmt: skip
    """Load the newest manifest of this project, or the one at ``path``, check the environment, and say what
    to do next. Raises UsageError for a time limit out of range or a file that is not a manifest."""
    if not 1.0 <= seconds <= SECONDS_MAX:
        raise UsageError(
            f"a time limit of {seconds:g} seconds is out of range",
            hint=f"it must be between 1 and {SECONDS_MAX:g}",
        )
    start = time.monotonic()
    deadline = start + max(0.5, seconds - MARGIN_SECONDS)
    inspection = _Inspection(workspace, deadline, path, session, checks)
    worker = threading.Thread(target=inspection.run, name="segue bootstrap", daemon=True)
    worker.start()
    worker.join(max(0.0, deadline + MARGIN_SECONDS / 2 - time.monotonic()))
    inspection.stop()
    if inspection.fault is not None and not inspection.findings:
        raise inspection.fault
    findings = list(inspection.findings)
    reached = {finding.name for finding in findings}
    late = [name for name in FINDINGS if name not in reached and (checks or name != "checks")]
    findings += [Readiness(name, None, "not checked: the time is up") for name in late]
    differs = sum(finding.ok is False for finding in findings)
    return Boot(
        **inspection.found, ready=not (differs or late or inspection.hanging), differs=differs,
        findings=tuple(findings),
        seconds=round(time.monotonic() - start, 3),
    )  # fmt: skip


class _Inspection:
    """The work of a bootstrap, done in a thread of its own."""

    def __init__(
        self, workspace: Workspace, deadline: float, path: Path | None, session: str, checks: bool
    ) -> None:
        self.workspace = workspace
        self.deadline = deadline
        self.found: dict[str, Any] = {
            "project": "", "session": "", "goal": "", "phase": "", "environment": "", "done": 0, "pending": 0,
            "next_action": "", "instructions": (), "source": "", "prepared": "", "reason": "",
        }  # fmt: skip
        self.findings: list[Readiness] = []
        self.fault: BaseException | None = None
        self.path = path
        self.wanted = session
        self.checks = checks
        self.root = workspace.working_tree.root
        self.state: SessionState | None = None
        self.manifest = Manifest()
        self.runner: Any = None
        self.hanging: list[str] = []
        """Features whose checks passed quickly before and did not end in time now."""

    @property
    def left(self) -> float:
        return max(0.01, self.deadline - time.monotonic())

    @property
    def about(self) -> Preparation:
        found = self.manifest.prepared
        return found if isinstance(found, Preparation) else Preparation()

    def stop(self) -> None:
        """Stop a check that is still running."""
        runner, self.runner = self.runner, None
        if runner is not None:
            threading.Thread(target=runner.close, daemon=True).start()

    def run(self) -> None:
        try:
            self._load()
            steps: tuple[Callable[[], _Finding], ...] = (
                self._folder, self._branch, self._head, self._changes, self._state_file, self._handover,
                self._tools, self._interpreter, self._dependencies, *([self._checks] if self.checks else []),
            )  # fmt: skip
            for name, step in zip(FINDINGS, steps, strict=False):
                try:
                    finding = step() or (None, "nothing to compare with")
                except (SegueError, OSError, ValueError) as fault:
                    finding = (None, f"could not be checked: {fault}")
                ok, *words = finding
                self.findings.append(Readiness(name, ok, *map(plain, words)))
        except BaseException as fault:  # raised by the thread that waits
            self.fault = fault

    def _load(self) -> None:
        source = self.path or newest_file(self.workspace)
        manifest = _read(source) if source else None
        if self.path is not None and manifest is None:
            raise UsageError(f"{self.path} is not a manifest", hint="`segue prepare --here` writes one")
        session = self.wanted or (
            manifest.prepared.session if manifest and isinstance(manifest.prepared, Preparation) else ""
        )
        self.state = _state(self.workspace, session)
        if self.path is None and manifest is not None and self._is_of_others(manifest):
            whose = f"{source} is about {manifest.session_metadata.project}, so it was ignored"
            self.found["instructions"] = (f"{whose}: `segue bootstrap {quote(str(source))}` uses it",)
            manifest = None
        if manifest is None or (self.path is None and self._is_outdated(source)):
            manifest, source = self._composed(), None
        self.manifest = manifest
        self._describe(source)

    def _is_of_others(self, manifest: Manifest) -> bool:
        """Whether a manifest that nobody named is about another project than the session that is here."""
        tree, about = self.workspace.working_tree, manifest.prepared
        about = about if isinstance(about, Preparation) else Preparation()
        if self.state is None or about.session == self.state.id or about.folder == str(self.root):
            return False
        own = tree.project_name(tree.project_key(self.workspace.settings)[0]), self.root.name
        return slug(manifest.session_metadata.project or own[0]) not in map(slug, own)

    def _is_outdated(self, source: Path | None) -> bool:
        assert source is not None
        written = source.stat().st_mtime
        if self.state is not None and seconds_of(self.state.updated) > written:
            return True
        newest = newest_run(runs_of(self.workspace).finder())
        return newest is not None and newest.changed > written + SLACK_SECONDS

    def _composed(self) -> Manifest:
        runs = summary_of_session(self.workspace, self.state)
        seconds = min(5.0, self.left)
        scene = scenes.take_scene(self.workspace, self.state, digests=runs.digests, seconds=seconds)
        body = prepare.compose_manifest(self.workspace, self.state, runs, scene, "composed just now")
        return read(body) or Manifest()

    def _describe(self, source: Path | None) -> None:
        """What the manifest says of the work, and the session, unless a file was named that is not of it."""
        manifest, tree = self.manifest, self.workspace.working_tree
        state = self.state if self.path is None or self._is_about_session() else None
        meta = manifest.session_metadata
        done = self.about.done or len(manifest.completed_tasks)
        pending = self.about.pending or len(manifest.pending_tasks)
        phase, steps = meta.phase, [*manifest.critical_context.next_steps]
        working = manifest.active_state.current_work
        if working and not working.endswith("no result yet"):
            steps.insert(0, f"Continue: {working}")
        if state is not None:
            status = state_shown(self.workspace, state)
            status += f", {done} of {done + pending} done" if done + pending else ""
            project_phase = phase.partition(" (")[0] if " (" in phase else ""
            phase = f"{project_phase} ({status})" if project_phase else status
            steps = [*hints_of(state).next_actions, *steps]
        written = iso(source.stat().st_mtime) if source else ""
        self.found.update(
            project=meta.project or tree.project_name(tree.project_key(self.workspace.settings)[0]),
            session=state.id if state else "",
            goal=meta.goal or (state.goal if state else ""),
            phase=phase or "unknown",
            done=done,
            pending=pending,
            next_action=next(filter(None, steps), "nothing is planned"),
            instructions=(*self.found["instructions"], *manifest.bootstrap_instructions),
            source=str(source) if source else "",
            prepared=written if self.about.reason else meta.timestamp or written,
            reason=self.about.reason,
            environment=self._environment(),
        )

    def _is_about_session(self) -> bool:
        """Whether the manifest was made of the session that is here."""
        return self.state is not None and self.about.session == self.state.id

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

    def _folder(self) -> _Finding:
        then = self.about.folder
        if not self.root.is_dir():
            return (False, f"{self.root} does not exist")
        if not then:
            return (None, f"{self.root}; the manifest names none")
        if Path(then) == self.root:
            return (True, str(self.root))
        if Path(then).is_dir() and self.about.host in ("", host_name()):
            return (False, f"this is {self.root}, but the work was left in {then}", f"go to {then}")
        return (True, f"{self.root}; it was {then} on {self.about.host or 'another machine'}")

    def _branch(self) -> _Finding:
        then = self.manifest.memory_pointers.git_branch
        repository = git.find(self.root)
        if repository is None:
            return (False if then else None, "this is not a git repository")
        _, branch = git.head(repository)
        present = branch or "a detached head"
        if not then:
            return (None, f"{present}; the manifest names none")
        if then == branch:
            return (True, present)
        if git.ref(repository, f"refs/heads/{then}"):
            command = f"`git switch {then}`" if is_plain(then) else "switch back to it"
            return (False, f"{present}, but it was {then}", command)
        return (False, f"{present}; {then} is gone", "see what happened: `segue since`")

    def _head(self) -> _Finding:
        then = self.about.head
        repository = git.find(self.root)
        if not then or repository is None:
            return None
        head, _ = git.head(repository)
        if head.startswith(then):
            return (True, then[:9])
        if not all(sign in "0123456789abcdef" for sign in then):
            return (None, "the manifest names no commit")
        ahead = output_of(self.root, "rev-list", "--count", f"{then}..{head}", seconds=min(3.0, self.left))
        base = output_of(self.root, "merge-base", "--is-ancestor", then, head, seconds=min(3.0, self.left))
        if ahead is None:
            says = f"{head[:9]}; {then[:9]} is not in this repository"
            return (False, says, "fetch it, or see `segue since`")
        if base is None:
            return (False, f"{head[:9]} does not include {then[:9]}", "see what happened: `segue since`")
        return (True, f"{head[:9]}, {count(int(ahead), 'commit')} after {then[:9]}: see `segue since`")

    def _changes(self) -> _Finding:
        from .since import since

        session = self.state.id if self.state else ""
        stored = scenes.stored_scene(self.workspace, session)
        if stored is None or stored.folder != str(self.root):
            return None
        delta = since(self.workspace, session, seconds=min(5.0, self.left))
        lost = [change.path for change in delta.uncommitted if change.now in ("gone", "discarded")]
        if lost:
            where = "they may be in a stash: `git stash list`" if delta.stashed else "see `segue since`"
            return (False, f"gone: {', '.join(lost[:4])}", where)
        before = f"{count(len(delta.uncommitted), 'file')} left uncommitted"
        edited = _edited_since(delta) if self.found["source"] else []
        if edited:
            said = f"{before}; edited since: {', '.join(edited[:4])}"
            return (False, said + (" …" if len(edited) > 4 else ""), "see what changed: `segue since`")
        if not delta.uncommitted:
            return (None, "there were no uncommitted changes")
        return (True, f"{before}, unchanged since")

    def _state_file(self) -> _Finding:
        then = self.manifest.memory_pointers.project_state_file
        if not then:
            return None
        if (self.root / then).is_file():
            return (True, then)
        return (False, f"{then} does not exist", "see what happened: `segue since`")

    def _handover(self) -> _Finding:
        found = interrupted_handover(self.workspace)
        if found is None:
            return None
        return (False, f"interrupted before {', '.join(found.steps)}", found.resume)

    def _tools(self) -> _Finding:
        names = self.about.tools
        if not names:
            return None
        path = self.workspace.environment.get("PATH")
        missing = [name for name in names if not shutil.which(name, path=path)]
        if not missing:
            return (True, ", ".join(names))
        return (False, f"not on the PATH: {', '.join(missing)}", "install them, or set PATH as before")

    def _interpreter(self) -> _Finding:
        then, environment = self.about.interpreter, self.workspace.environment
        place = surroundings.environment_folder(self.root, environment)
        if place is None:
            if not then:
                return None
            return (False, f"{then} does not exist", "`python3 -m venv .venv`, then install")
        version = surroundings.asked_version(self.root, place, min(5.0, self.left))
        if not version:
            return (False, f"{place} does not run", "recreate it: `python3 -m venv .venv`")
        was = then.rpartition(" ")[2]
        if was and was != "?" and was != version:
            return (False, f"Python {version}, but it was {was}", "create the environment with that version")
        return (True, f"Python {version} in {place}")

    def _dependencies(self) -> _Finding:
        found = surroundings.dependencies(self.root, self.workspace.environment)
        wrong = [lock for lock in found if not lock.ok]
        now = surroundings.locks(self.root)
        moved = [name for name, hash in self.about.locks.items() if now.get(name) != hash]
        after = f"; changed since: {', '.join(moved)}" if moved else ""
        if wrong:
            says = "; ".join(f"{lock.lock}: {lock.detail}" for lock in wrong)
            return (False, says + after, f"`{wrong[0].install_command}`")
        if not found:
            says = f"no lock file to compare with what is installed{after}"
            return (None, says) if now or moved else None
        return (True, f"{', '.join(lock.lock for lock in found)} in sync{after}")

    def _checks(self) -> _Finding:
        from ..features.recheck import recheck

        if self.state is None:
            names = self.about.checks
            return (None, f"no session has {', '.join(names)}") if names else None
        begun = time.monotonic()
        until = min(self.deadline, begun + CHECKS_SECONDS)
        features = Features(find_session(self.workspace, self.state.id))
        outcome = recheck(features, self.state, until, self)
        if not (outcome.passed or outcome.failed or outcome.late or outcome.untrusted):
            return (None, "no check had passed before")
        self.hanging = [id for id in outcome.late if self._took(self.state, id) < (until - begun) / 2]
        says = [f"{len(outcome.passed)} still passing"] if outcome.passed else []
        says += [f"{name} fails now: {reason}" for name, reason in outcome.failed]
        says += [f"not run in time: {', '.join(outcome.late)}"] if outcome.late else []
        says += [f"{id} took {self._took(self.state, id):.1f} s before" for id in self.hanging]
        says += [f"not run, because not trusted: {', '.join(outcome.untrusted)}"] if outcome.untrusted else []
        unproven = " --feature ".join([*(name for name, _ in outcome.failed), *self.hanging])
        mend = f"`segue verify --feature {unproven}`" if unproven else ""
        ok = False if outcome.failed else True if outcome.passed and not self.hanging else None
        return (ok, "; ".join(says), mend)

    def _took(self, state: SessionState, id: str) -> float:
        """How long the checks of a feature ran when they last passed, in seconds."""
        seconds = 0.0
        for ran in state.features[id].ran.values():
            events = self.workspace.store.read(stream_of(state.id), after=ran.version - 1, limit=1)
            body = ev.read_body(events[0]) if events else None
            seconds += body.duration_seconds if isinstance(body, CheckRan) else 0.0
        return seconds


def _edited_since(delta: Delta) -> list[str]:
    """The files that were edited since the scene was kept; `segue since` tells of commits."""
    altered = [change.path for change in delta.uncommitted if change.now in ("altered", "replaced")]
    files = delta.files
    others = [*files.created, *files.modified, *files.deleted] if delta.how == "same" else []
    return [path for path in dict.fromkeys([*altered, *others]) if path != MANIFEST_HERE]


def newest_file(workspace: Workspace) -> Path | None:
    """The manifest of this project that was written last, in the data folder or in the project itself."""
    here = (workspace.working_tree.root / MANIFEST_HERE, workspace.folder / MANIFEST_HERE)
    places = [scenes.folder_of(workspace) / prepare.LATEST, *here]
    found = [path for path in dict.fromkeys(places) if path.is_file()]
    return max(found, key=lambda path: path.stat().st_mtime, default=None)


def _read(path: Path) -> Manifest | None:
    """The manifest in a file, cleaned and masked; None if it is none."""
    try:
        if path.stat().st_size > FILE_BYTES_MAX:
            return None
        body = read_bytes(path)
    except OSError as fault:
        raise UsageError(f"{path}: {fault.strerror}", hint="check the path") from fault
    text = clean_text(body.decode("utf-8", "replace"), limit=FILE_BYTES_MAX)
    return read(redact_bytes(text.encode()))


def _state(workspace: Workspace, session: str) -> SessionState | None:
    with suppress(SegueError):
        return scenes.state_of(workspace, session or None)
    return None
