"""Since you left: what changed between the stored scene of a session and now.

If an agent went on working after the scene (and was killed, say), its last sign of life counts instead, and
git's reflog says which commit was checked out then. The same is done if there is no scene at all. Nothing is
written. Git runs in the background while the rest is looked up.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from msgspec.structs import replace

from ..._files import read_text
from ...agents.base import Found
from ...core import event_kinds as ev
from ...core.base.lazy import regex
from ...core.base.values import iso
from ...core.event_words import event_words
from ...core.features.checks import glob_regex, is_literal
from ...core.features.model import Feature
from ...core.features.verdict import definition_of, had_passed
from ...core.resume import changes as core
from ...core.resume.lock_files import bumps, is_lock, packages
from ...core.resume.scene import Scene
from ...core.sessions.feature_fold import HANDLERS
from ...core.sessions.state import SessionState
from ...effects.git import history, repository as git, scene as effect, trees
from ...effects.git.history import HistoryQuery
from ...effects.git.queries import output_of
from ...effects.notes import Library
from ...effects.processes.identity import host_name
from ...errors import SegueError, UnknownRun, UnknownSession, UsageError
from ..brief.gather import digest_of
from ..features.features import Features, patterns_of
from ..memories.reader import reader_of
from ..runs.discovery import RunFinder
from ..runs.observed import runs_of
from ..runs.run import run_in
from ..runs.select import newest_run, runs_meant
from ..sessions.repository import stream_of
from ..workspace.open_session import find_session
from ..workspace.workspace import Workspace
from . import scenes
from .notes import library_of

SLACK_SECONDS = 60.0
"""An agent may write its last lines a little after its hook reported the end of the run."""
RUNS_MAX, EVENTS_MAX, MEMORIES_MAX = 20, 50, 50
_ABOUT_FEATURES = {ev.Rewound.KIND, ev.Imported.KIND, *(body.KIND for body in HANDLERS)}
_UNMENTIONED = frozenset(
    "session.paused session.resumed session.started metrics.counted changes.seen focus.set context.noted"
    " notes.loaded".split()
)
_AGO = regex(r"(\d+(?:\.\d+)?)\s*(m|min|h|d|w)")
_UNITS = {"m": 60.0, "min": 60.0, "h": 3600.0, "d": 86_400.0, "w": 604_800.0}


def since(
    workspace: Workspace, session: str = "", *, start: str = "", seconds: float = history.TIME_SECONDS,
    begun: effect.SceneQuery | None = None,
) -> core.Delta:  # fmt: skip
    """What changed since the session was left, or since ``start``: a time, an age such as 2h, or a commit.
    Raises UnknownSession if there is nothing to compare with."""
    state = scenes.state_of(workspace, session or None)
    finder = runs_of(workspace).finder()
    then, left = (
        (_scene_at(workspace, state, start), None) if start else _scene_when_left(workspace, state, finder)
    )
    way = HistoryQuery(then, workspace.working_tree.root, seconds=seconds)
    runs = list(_runs(finder, then, left))
    events = _events(workspace, state, then)
    memories = _memories(workspace, then)
    now = scenes.look(workspace, seconds, begun)
    then = _with_uncommitted(then, now)
    commits = way.history()
    present = _present(then, now)
    kinds = core.changes(then, now, commits, present)
    changed = sorted({*kinds, *(source for _, source in kinds.values() if source)})
    library = library_of(workspace, state)
    notes = frozenset(filter(library.is_place, changed))
    outside = tuple(_outside(then.notes, library.outside()))
    beside = core.Beside(
        events=events,
        features=_features(workspace, state, then, changed) if state else (),
        memories=memories,
        runs=tuple(runs),
        locks=_locks(workspace.working_tree.root, then, changed),
        notes=notes,
        outside=outside,
        titles=_titles(library) if notes or outside else {},
        present=present,
        loaded=frozenset(use.path for use in state.notes.values() if use.path) if state else frozenset(),
    )
    return core.delta(then, now, commits, beside, kinds)


def _scene_when_left(
    workspace: Workspace, state: SessionState | None, finder: RunFinder
) -> tuple[Scene, Found | None]:
    """The scene when the work was left, as it was stored, or derived from the last run or the journal; and
    that run, which is no other one than the work that was left."""
    stored = scenes.stored_scene(workspace, state.id if state else "")
    last = newest_run(finder, session=state.id if state else "", but=finder.is_caller)
    if stored is not None and (last is None or last.changed <= stored.at + SLACK_SECONDS):
        return stored, None
    if last is not None:
        return _scene_of_run(workspace, state, finder, last, stored), last
    if state is not None:
        moment = datetime.fromisoformat(state.paused or state.updated or state.created).timestamp()
        touched = scenes.touched(workspace.working_tree.root, state, ())
        source = "the session's journal and git's reflog"
        return _derived_scene(workspace, state, moment, source, touched=touched), None
    raise UnknownSession(
        "there is no session, run or scene in this project to compare with",
        hint="`segue prepare` stores a scene to compare with later",
        nothing_yet=True,
    )


def _scene_of_run(
    workspace: Workspace, state: SessionState | None, finder: RunFinder, found: Found, stored: Scene | None
) -> Scene:
    try:
        digest = digest_of(workspace, finder, found)
    except (SegueError, OSError, UnknownRun):
        digest = None
    moment = min(found.changed, digest.last or found.changed) if digest else found.changed
    touched = scenes.touched(workspace.working_tree.root, state, [digest] if digest else ())
    source = "the transcript of the last run and git's reflog"
    scene = _derived_scene(workspace, state, moment, source, touched=touched)
    if stored is None:
        return scene
    return replace(
        scene, version=stored.version, focus=stored.focus, notes=stored.notes,
        touched=tuple(dict.fromkeys((*scene.touched, *stored.touched))),
    )  # fmt: skip


def _derived_scene(
    workspace: Workspace, state: SessionState | None, moment: float, source: str, *, head: str = "",
    touched: Sequence[str] = (),
) -> Scene:  # fmt: skip
    root = workspace.working_tree.root
    repository = git.find(root)
    scene = Scene(
        at=moment, host=host_name(), folder=str(root), session=state.id if state else "",
        version=_version_at(workspace, state, moment), touched=tuple(touched), derived=source,
    )  # fmt: skip
    if repository is None:
        return replace(scene, cut=True)
    now, branch_now = git.head(repository)
    then, branch_then = history.head_at(root, moment)
    if not then and now:  # before the reflog begins: judge by the dates of commits
        listed = output_of(root, "rev-list", "-1", f"--before={int(moment)}", "HEAD", seconds=5.0)
        then = now if listed is None else listed.decode().strip()
    return replace(
        scene, git=True, head=head or then, branch=branch_then or branch_now,
        shallow=(repository.common / "shallow").exists(), stash=git.ref(repository, "refs/stash"),
    )  # fmt: skip


def _version_at(workspace: Workspace, state: SessionState | None, moment: float) -> int:
    if state is None:
        return 0
    at = iso(moment + 1)
    return sum(event.at <= at for event in find_session(workspace, state.id).log())


def _scene_at(workspace: Workspace, state: SessionState | None, start: str) -> Scene:
    stored = scenes.stored_scene(workspace, state.id if state else "")
    touched = stored.touched if stored else scenes.touched(workspace.working_tree.root, state, ())
    start = start.replace("\0", "")
    age = _AGO.fullmatch(start.strip())
    if age:
        moment = max(1.0, time.time() - float(age[1]) * _UNITS[age[2]])  # not before 1970
        return _derived_scene(workspace, state, moment, f"git's reflog, {start} ago", touched=touched)
    with suppress(ValueError, OverflowError, OSError):
        moment = datetime.fromisoformat(start).timestamp()
        if moment > time.time():
            raise UsageError(f"{start!r} is in the future", hint="for example 2h, 3d, 2026-11-14 or HEAD~3")
        return _derived_scene(workspace, state, moment, f"git's reflog at {start}", touched=touched)
    logged = output_of(
        workspace.working_tree.root, "log", "-1", "--format=%H %ct", "--end-of-options", start, seconds=5.0
    )
    if not logged:
        raise UsageError(
            f"{start!r} is not a time, an age or a commit", hint="for example 2h, 3d, 2026-11-14 or HEAD~3"
        )
    head, at = logged.decode().split()
    return _derived_scene(workspace, state, float(at), f"the commit {head[:12]}", head=head, touched=touched)


def _with_uncommitted(then: Scene, now: Scene) -> Scene:
    """A derived scene with the uncommitted changes of then, as far as the files have not changed since."""
    if not then.derived or not now.git:
        return then
    old = [change for change in now.dirty if _changed_at(Path(now.folder) / change.path) <= then.at + 1]
    return replace(then, dirty=tuple(old), stash=now.stash)


def _changed_at(path: Path) -> float:
    with suppress(OSError):
        return os.lstat(path).st_mtime
    return 0.0


def _present(then: Scene, now: Scene) -> dict[str, str]:
    """The content, by hash, of files that had uncommitted changes then and have none now."""
    dirty_now = {change.path for change in now.dirty}
    wanted = [os.fsencode(change.path) for change in then.dirty if change.path not in dirty_now]
    if not wanted or (then.folder, then.host) != (now.folder, now.host):
        return {}
    return {os.fsdecode(path): id for path, id in trees.blob_ids(Path(now.folder), wanted).items()}


def _titles(library: Library) -> dict[str, str]:
    """What each note is called that has a title, in the form in which notes link to one another."""
    notes = library.all().values()
    return {note.path: f"[[{note.id}|{note.title}]]" for note in notes if note.title != note.id}


def _outside(then: Mapping[str, str], now: Mapping[str, str]) -> Iterable[tuple[str, str]]:
    """Notes outside the tree that changed; empty if none were known then."""
    for path in sorted(then.keys() | now.keys()) if then else ():
        if then.get(path) != now.get(path):
            yield path, "created" if path not in then else "deleted" if path not in now else "modified"


def _runs(finder: RunFinder, then: Scene, left: Found | None) -> Iterable[core.Mention]:
    seen: set[str] = set()
    own = (left.agent, left.native) if left is not None else None
    for found in runs_meant(finder, but=finder.is_caller):
        if found.changed <= then.at + SLACK_SECONDS or len(seen) >= RUNS_MAX:
            break
        if found.native in seen or (found.agent, found.native) == own:
            continue
        seen.add(found.native)
        row = finder.row(found)
        run = run_in(row) if row is not None else None
        yield core.Mention(found.native, run.goal if run else "", found.agent, iso(found.changed))


def _events(workspace: Workspace, state: SessionState | None, then: Scene) -> tuple[core.Mention, ...]:
    if state is None or state.version <= then.version:
        return ()
    mentions = []
    for event in find_session(workspace, state.id).log(after=then.version):
        body = ev.read_body(event)
        if body is None or event.kind in _UNMENTIONED or _was_said_before(body, then):
            continue
        if event.kind in ev.LEDGER_KINDS:
            text = event_words(event).removeprefix("said: ").removeprefix("ledger: ")
        else:
            text = next(
                (v for f in body.__struct_fields__ if isinstance(v := getattr(body, f), str) and v), ""
            )
        mentions.append(core.Mention(event.kind, text[:200], event.actor, event.at))
    return tuple(mentions[-EVENTS_MAX:])


def _was_said_before(body: ev.Body, then: Scene) -> bool:
    """Whether an event only keeps what was said before the work was left."""
    if not isinstance(body, ev.SaidKept) or not body.run:
        return False
    left = iso(then.at + SLACK_SECONDS)
    return all(entry.at <= left for entry in body.entries)


def _memories(workspace: Workspace, then: Scene) -> tuple[core.Mention, ...]:
    store = workspace.store.memories
    with suppress(SegueError, OSError):
        reader, start = reader_of(workspace), iso(then.at)
        mentions: dict[str, core.Mention] = {}
        for trace in store.trail(reader, limit=200):
            if trace.at <= start:
                break
            if trace.act != "vote" and len(mentions) < MEMORIES_MAX:
                mention = core.Mention(trace.memory, trace.act, trace.actor, trace.at)
                mentions.setdefault(trace.memory, mention)
        contents = {memory.id: memory.content for memory in store.get(list(mentions), reader)}
        return tuple(
            replace(mention, text=f"{mention.text}: {contents.get(id, '')[:200]}")
            for id, mention in mentions.items()
        )
    return ()


def _features(
    workspace: Workspace, state: SessionState, then: Scene, changed: Sequence[str]
) -> tuple[core.FeatureDelta, ...]:
    before: Mapping[str, Feature] = {}
    if then.version:
        later = workspace.store.read(stream_of(state.id), after=then.version)
        before = state.features  # of which the journal is read as a whole only where it has changed
        if any(event.kind in _ABOUT_FEATURES for event in later):
            before = workspace.repository.state_at(state.id, then.version).features
    if not before and not state.features:
        return ()
    deltas: list[core.FeatureDelta] = []
    listed = Features(find_session(workspace, state.id)).verdicts(state)
    verdicts = {verdict.id: verdict for verdict in listed}
    for id, feature in state.features.items():
        old, verdict = before.get(id), verdicts[id]
        if old is None:
            deltas.append(core.FeatureDelta(id, "added", feature.description))
        elif definition_of(old) != definition_of(feature):
            deltas.append(core.FeatureDelta(id, "changed", "steps, checks or covered paths"))
        if verdict.status == "stale" and old is not None and (hit := _covered(feature, changed)):
            deltas.append(core.FeatureDelta(id, "stale", f"{', '.join(hit[:3])} changed"))
        elif verdict.status == "failing" and old is not None and had_passed(old):
            deltas.append(core.FeatureDelta(id, "failing", verdict.reason))
        elif verdict.passes and old is not None and not had_passed(old) and old.checks:
            deltas.append(core.FeatureDelta(id, "passing", ""))
    gone = [id for id in before if id not in state.features]
    deltas += [core.FeatureDelta(id, "removed", before[id].description) for id in gone]
    return tuple(deltas)


def _covered(feature: Feature, changed: Sequence[str]) -> list[str]:
    patterns = patterns_of(feature)
    if not patterns:
        return list(changed)
    rules = []
    for pattern in patterns:
        plain = pattern.removesuffix("/**")
        rules.append(re.escape(plain) + "(?:/.*)?" if is_literal(plain) else glob_regex(pattern))
    covered = re.compile("|".join(f"(?:{rule})" for rule in rules), re.DOTALL)
    return [path for path in changed if covered.fullmatch(path)]


def _locks(root: Path, then: Scene, changed: Sequence[str]) -> tuple[core.LockChange, ...]:
    names = [path for path in changed if is_lock(path)][:20]
    if not names:
        return ()
    before = history.files_at_commit(root, then.head, names) if then.git and then.head else {}
    locks = []
    for name in names:
        try:
            now = read_text(root / name, encoding="utf-8", errors="replace")
        except OSError:
            now = ""
        old = before.get(name, b"").decode("utf-8", "replace")
        different = tuple(bumps(packages(name, old), packages(name, now))) if old or not then.git else ()
        if different or not then.git or not old:
            locks.append(core.LockChange(name, different if then.git else ()))
    return tuple(locks)
