"""Since you left: what changed between the scene that was kept and now.

The scene is the newest one of the session. If an agent worked on after it (and was killed, say), the moment
when it was last heard of counts, and git's own log of heads says on which commit that was; without any
scene too. Nothing is written. What takes time (git) runs while the rest is looked up.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ...core import event_kinds as ev
from ...core.base.lazy import regex
from ...core.base.values import iso
from ...core.features.checks import glob_regex, is_literal
from ...core.features.model import Feature
from ...core.features.verdict import definition_of, had_passed
from ...core.resume.changes import (
    Beside,
    Delta,
    FeatureDelta,
    Files,
    LockChange,
    Mention,
    changes,
    delta,
    files_of,
)
from ...core.resume.lock_files import bumps, is_lock, packages
from ...core.resume.scene import Scene
from ...core.sessions.state import SessionState
from ...effects.git import history, trees
from ...effects.git import repository as git
from ...effects.git import scene as effect
from ...effects.git.history import HistoryQuery
from ...effects.processes.identity import host_name
from ...errors import SegueError, UnknownRun, UnknownSession, UsageError
from ..brief.gather import digest_of
from ..features.features import Features, patterns_of
from ..memories.reader import reader_of
from ..runs.observed import runs_of
from ..runs.run import run_in
from ..runs.select import newest_run, runs_meant
from ..workspace.open_session import find_session
from . import scenes
from .notes import library_of

if TYPE_CHECKING:
    from ...agents.base import Found
    from ..runs.discovery import RunFinder
    from ..workspace.workspace import Workspace

SLACK_SECONDS = 60.0
"""An agent writes its last lines a little after it told us that it stops."""
RUNS_MAX, EVENTS_MAX, MEMORIES_MAX = 20, 50, 50
_QUIET = (
    "session.paused",
    "session.resumed",
    "session.started",
    "metrics.counted",
    "changes.seen",
    "focus.set",
)
_AGO = regex(r"(\d+(?:\.\d+)?)\s*(m|min|h|d|w)")
_UNITS = {"m": 60.0, "min": 60.0, "h": 3600.0, "d": 86_400.0, "w": 604_800.0}


def since(
    workspace: Workspace, session: str = "", *, start: str = "", seconds: float = history.TIME_SECONDS,
    begun: effect.SceneQuery | None = None,
) -> Delta:  # fmt: skip
    """What changed since the session was left, or since ``start``: a time, an age such as 2h, a commit."""
    state = scenes.state_of(workspace, session or None)
    capture = runs_of(workspace).capture()
    then = given(workspace, state, start) if start else left(workspace, state, capture)
    way = HistoryQuery(then, workspace.working_tree.root, seconds=seconds)
    runs = list(_runs(workspace, capture, then))
    events = _events(workspace, state, then)
    memories = _memories(workspace, then)
    now = scenes.look(workspace, seconds, begun)
    then = _as_it_was(then, now)
    told = way.history()
    present = _present(then, now)
    kinds = changes(then, now, told, present)
    changed = _paths(files_of(kinds))
    beside = Beside(
        events=events,
        features=_features(workspace, state, then, changed) if state else (),
        memories=memories,
        runs=tuple(runs),
        locks=_locks(workspace.working_tree.root, then, changed),
        notes=frozenset(filter(library_of(workspace).is_place, changed)),
        outside=tuple(_outside(then.notes, scenes.notes_outside(workspace))),
        present=present,
    )
    return delta(then, now, told, beside, kinds)


# -- the scene of then -----------------------------------------------------------------------------


def left(workspace: Workspace, state: SessionState | None, capture: RunFinder) -> Scene:
    """The world when the work was left, as it was kept or as far as it can be put together."""
    kept = scenes.kept(workspace, state.id if state else "")
    last = newest_run(capture, session=state.id if state else "", but=capture.asks)
    if kept is not None and (last is None or last.changed <= kept.at + SLACK_SECONDS):
        return kept
    if last is not None:
        return _of_run(workspace, state, capture, last, kept)
    if state is not None:
        moment = datetime.fromisoformat(state.paused or state.updated or state.created).timestamp()
        touched = scenes.touched(workspace.working_tree.root, state, ())
        return derived(
            workspace, state, moment, "the session's journal and git's log of heads", touched=touched
        )
    raise UnknownSession(
        "nobody has left this project yet: there is no session, no run and no scene here",
        hint="`segue prepare` keeps a scene to compare with",
    )


def _of_run(
    workspace: Workspace, state: SessionState | None, capture: RunFinder, found: Found, kept: Scene | None
) -> Scene:
    try:
        digest = digest_of(workspace, capture, found)
    except (SegueError, OSError, UnknownRun):
        digest = None
    moment = min(found.changed, digest.last or found.changed) if digest else found.changed
    touched = scenes.touched(workspace.working_tree.root, state, [digest] if digest else ())
    source = "the transcript of the last run and git's log of heads"
    scene = derived(workspace, state, moment, source, touched=touched)
    if kept is None:
        return scene
    return replace(
        scene, version=kept.version, focus=kept.focus, notes=kept.notes,
        touched=tuple(dict.fromkeys((*scene.touched, *kept.touched))),
    )  # fmt: skip


def derived(
    workspace: Workspace, state: SessionState | None, moment: float, source: str, *, head: str = "",
    touched: Sequence[str] = (),
) -> Scene:  # fmt: skip
    """A scene of a moment at which nobody kept one."""
    root = workspace.working_tree.root
    repository = git.find(root)
    bare = Scene(
        at=moment, host=host_name(), folder=str(root), session=state.id if state else "",
        version=_version_at(workspace, state, moment), touched=tuple(touched), derived=source,
    )  # fmt: skip
    if repository is None:
        return replace(bare, cut=True)
    now, branch_now = git.head(repository)
    then, branch_then = history.head_at(root, moment)
    if not then and now:  # older than the log: by the dates of commits, of which there may be none yet
        asked = effect.run(root, "rev-list", "-1", f"--before={int(moment)}", "HEAD", seconds=5.0)
        then = now if asked is None else asked.decode().strip()
    return replace(
        bare, git=True, head=head or then, branch=branch_then or branch_now,
        shallow=(repository.common / "shallow").exists(), stash=git.ref(repository, "refs/stash"),
    )  # fmt: skip


def _version_at(workspace: Workspace, state: SessionState | None, moment: float) -> int:
    """The version that a session had."""
    if state is None:
        return 0
    at = iso(moment + 1)
    return sum(event.at <= at for event in find_session(workspace, state.id).log())


def given(workspace: Workspace, state: SessionState | None, start: str) -> Scene:
    """The scene of a moment or a commit that somebody named."""
    kept = scenes.kept(workspace, state.id if state else "")
    touched = kept.touched if kept else scenes.touched(workspace.working_tree.root, state, ())
    age = _AGO.fullmatch(start.strip())
    if age:
        moment = max(1.0, time.time() - float(age[1]) * _UNITS[age[2]])  # there was no git before 1970
        return derived(workspace, state, moment, f"git's log of heads, {start} ago", touched=touched)
    try:
        moment = datetime.fromisoformat(start).timestamp()
        return derived(workspace, state, moment, f"git's log of heads at {start}", touched=touched)
    except ValueError:
        pass
    asked = effect.run(
        workspace.working_tree.root, "log", "-1", "--format=%H %ct", "--end-of-options", start, seconds=5.0
    )
    if not asked:
        raise UsageError(
            f"{start!r} is no time, no age and no commit", hint="for example 2h, 3d, 2026-11-14 or HEAD~3"
        )
    head, at = asked.decode().split()
    return derived(workspace, state, float(at), f"the commit {head[:12]}", head=head, touched=touched)


def _as_it_was(then: Scene, now: Scene) -> Scene:
    """A derived scene with what was not committed then: of that, what has not changed since."""
    if not then.derived or not now.git:
        return then
    old = [one for one in now.dirty if _changed_at(Path(now.folder) / one.path) <= then.at + 1]
    return replace(then, dirty=tuple(old), stash=now.stash)


def _changed_at(path: Path) -> float:
    try:
        return os.lstat(path).st_mtime
    except OSError:
        return 0.0


# -- what is beside the tree -----------------------------------------------------------------------


def _present(then: Scene, now: Scene) -> dict[str, str]:
    """What files hold that were not committed then and are clean now."""
    here = {one.path for one in now.dirty}
    wanted = [os.fsencode(one.path) for one in then.dirty if one.path not in here]
    if not wanted or (then.folder, then.host) != (now.folder, now.host):
        return {}
    return {os.fsdecode(path): id for path, id in trees.blob_ids(Path(now.folder), wanted).items()}


def _outside(then: Mapping[str, str], now: Mapping[str, str]) -> Iterable[tuple[str, str]]:
    """Notes outside the tree that changed; none if none were known then."""
    for path in sorted(then.keys() | now.keys()) if then else ():
        if then.get(path) != now.get(path):
            yield path, "created" if path not in then else "deleted" if path not in now else "modified"


def _paths(files: Files) -> list[str]:
    renamed = [path for pair in files.renamed for path in pair]
    return [*files.created, *files.modified, *files.deleted, *renamed]


def _runs(workspace: Workspace, capture: RunFinder, then: Scene) -> Iterable[Mention]:
    """Runs that were active since, not counting the one that asks and sub-agents."""
    seen: set[str] = set()
    for found in runs_meant(capture, but=capture.asks):
        if found.changed <= then.at + SLACK_SECONDS or len(seen) >= RUNS_MAX:
            break
        if found.native in seen:
            continue
        seen.add(found.native)
        row = capture.row(found)
        run = run_in(row) if row is not None else None
        yield Mention(found.native, run.goal if run else "", found.agent, iso(found.changed))


def _events(workspace: Workspace, state: SessionState | None, then: Scene) -> tuple[Mention, ...]:
    """What was written into the session since."""
    if state is None or state.version <= then.version:
        return ()
    found = []
    for event in find_session(workspace, state.id).log(after=then.version):
        body = ev.read_body(event)
        if body is None or event.kind in _QUIET:
            continue
        text = next((v for f in body.__struct_fields__ if isinstance(v := getattr(body, f), str) and v), "")
        found.append(Mention(event.kind, text[:200], event.actor, event.at))
    return tuple(found[-EVENTS_MAX:])


def _memories(workspace: Workspace, then: Scene) -> tuple[Mention, ...]:
    """Memories that are new or changed since, for who may read them."""
    kept = workspace.store.memories
    try:
        reader, start = reader_of(workspace), iso(then.at)
        found: dict[str, Mention] = {}
        for trace in kept.trail(reader, limit=200):
            if trace.at <= start:
                break
            if trace.act != "vote" and len(found) < MEMORIES_MAX:
                found.setdefault(trace.memory, Mention(trace.memory, trace.act, trace.actor, trace.at))
        said = {one.id: one.content for one in kept.get(list(found), reader)}
        return tuple(replace(one, text=f"{one.text}: {said.get(one.id, '')[:200]}") for one in found.values())
    except (SegueError, OSError):
        return ()


def _features(
    workspace: Workspace, state: SessionState, then: Scene, changed: Sequence[str]
) -> tuple[FeatureDelta, ...]:
    """Features that are not as they were."""
    before: Mapping[str, Feature] = {}
    if then.version:
        before = workspace.repository.state_at(state.id, then.version).features
    if not before and not state.features:
        return ()
    found: list[FeatureDelta] = []
    verdicts = {one.id: one for one in Features(find_session(workspace, state.id)).verdicts(state)}
    for id, feature in state.features.items():
        old, verdict = before.get(id), verdicts[id]
        if old is None:
            found.append(FeatureDelta(id, "added", feature.description))
        elif definition_of(old) != definition_of(feature):
            found.append(FeatureDelta(id, "changed", "steps, checks or covered paths"))
        if verdict.status == "stale" and old is not None and (hit := _covered(feature, changed)):
            found.append(FeatureDelta(id, "stale", f"{', '.join(hit[:3])} changed"))
        elif verdict.status == "failing" and old is not None and had_passed(old):
            found.append(FeatureDelta(id, "failing", verdict.reason))
        elif verdict.passes and old is not None and not had_passed(old) and old.checks:
            found.append(FeatureDelta(id, "passing", ""))
    found += [
        FeatureDelta(id, "removed", one.description) for id, one in before.items() if id not in state.features
    ]
    return tuple(found)


def _covered(feature: Feature, changed: Sequence[str]) -> list[str]:
    """Of these paths, those that a feature covers."""
    patterns = patterns_of(feature)
    if not patterns:
        return list(changed)
    rules = []
    for pattern in patterns:
        plain = pattern.removesuffix("/**")
        rules.append(re.escape(plain) + "(?:/.*)?" if is_literal(plain) else glob_regex(pattern))
    rule = re.compile("|".join(f"(?:{one})" for one in rules), re.DOTALL)
    return [path for path in changed if rule.fullmatch(path)]


def _locks(root: Path, then: Scene, changed: Sequence[str]) -> tuple[LockChange, ...]:
    """Lock files with other packages."""
    names = [path for path in changed if is_lock(path)][:20]
    if not names:
        return ()
    before = history.files_at_commit(root, then.head, names) if then.git and then.head else {}
    found = []
    for name in names:
        try:
            now = (root / name).read_text(encoding="utf-8", errors="replace")
        except OSError:
            now = ""
        old = before.get(name, b"").decode("utf-8", "replace")
        different = tuple(bumps(packages(name, old), packages(name, now))) if old or not then.git else ()
        if different or not then.git or not old:
            found.append(LockChange(name, different if then.git else ()))
    return tuple(found)


__all__ = ["Delta", "derived", "left", "since"]
