"""What changed between two scenes: everything that whoever comes back must know before going on.

Pure: two scenes, what git says of the way from one commit to the other, and what the store and the agents
say of that time. A file counts as changed if its content is another one than the work had seen, whether or
not it was committed since; a file that was only committed is the same file. What could not be told is
named in ``unknown``, never guessed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from ..base.values import Value, count, iso
from .lock_files import Bump
from .scene import Dirty, Scene

SHOWN_MAX = 200
COMMITS_SHOWN_MAX = 50

How = Literal["same", "forward", "backward", "rewritten", "apart", "unknown", "none"]
Left = Literal["still", "altered", "committed", "replaced", "discarded", "gone"]


class Commit(Value, gc=False):
    """A commit that came since."""

    id: str
    author: str
    email: str
    at: str
    subject: str
    merge: bool = False


class FileChange(Value, gc=False):
    """A file that two commits have otherwise."""

    path: str
    kind: Literal["created", "modified", "deleted", "renamed"]
    source: str = ""
    """The path of before, if it was renamed."""
    before: str = ""
    after: str = ""
    """What git names the contents."""
    submodule: bool = False


class CommitsBetween(Value):
    """What git says of the way from the commit of then to that of now."""

    how: How = "none"
    """forward: the old one is in the history of the new one; backward: the other way round; apart: on
    another branch, which does not have it."""
    commits: tuple[Commit, ...] = ()
    """Newest first."""
    more: int = 0
    """Commits that are not listed."""
    lost: int = 0
    """Commits of then that the history of now does not have."""
    rebased: int = 0
    """Of those, how many are there in another form."""
    changes: tuple[FileChange, ...] = ()
    by_time: bool = False
    """The old commit is not there, or a clone is shallow: told by the time of commits."""
    old_branch: str = ""
    """Where the branch of then is now; empty if it is gone."""
    unknown: tuple[str, ...] = ()


class Uncommitted(Value, gc=False):
    """What became of a change that was not committed."""

    path: str
    kind: str
    now: Left


class LockChange(Value):
    """A lock file with other packages."""

    file: str
    bumps: tuple[Bump, ...]


class FeatureDelta(Value, gc=False):
    """A feature that is not as it was."""

    id: str
    what: Literal["added", "removed", "changed", "stale", "failing", "passing"]
    why: str = ""


class Mention(Value, gc=False):
    """A memory or a run, in a line."""

    id: str
    text: str
    by: str = ""
    at: str = ""


class Beside(Value):
    """What happened beside the working tree."""

    events: tuple[Mention, ...] = ()
    """Of the session, by others."""
    features: tuple[FeatureDelta, ...] = ()
    memories: tuple[Mention, ...] = ()
    runs: tuple[Mention, ...] = ()
    locks: tuple[LockChange, ...] = ()
    notes: frozenset[str] = frozenset()
    """Which of the changed paths are notes."""
    outside: tuple[tuple[str, str], ...] = ()
    """Notes outside the tree: (path, created | modified | deleted)."""
    present: Mapping[str, str] = {}
    """Of files that were not committed then and are clean now: what their content is, if they are there."""
    unknown: tuple[str, ...] = ()


class Files(Value):
    """Paths by what happened to them."""

    created: tuple[str, ...] = ()
    modified: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()
    renamed: tuple[tuple[str, str], ...] = ()
    """(before, after)."""
    more: int = 0
    """Paths that are not listed."""

    @property
    def count(self) -> int:
        return len(self.created) + len(self.modified) + len(self.deleted) + len(self.renamed) + self.more


class Suggestion(Value):
    """What to do first, and why."""

    do: str
    why: str
    command: str = ""


class Delta(Value):
    """Since you left."""

    session: str
    left: str
    """The moment, as ``now`` is one."""
    now: str
    away_seconds: float
    reason: str
    """Why the scene of then was kept."""
    derived: str
    """Empty, or from what the scene of then was put together."""
    moved: str
    """Where it was left, if that was another folder or machine."""
    branch: tuple[str, str]
    head: tuple[str, str]
    how: How
    switched: bool
    merged: bool
    """What was committed then is in another branch now."""
    branch_gone: bool
    merges: int
    lost: int
    rebased: int
    doing: str
    conflicts: tuple[str, ...]
    commits: tuple[Commit, ...]
    commit_count: int
    authors: dict[str, int]
    files: Files
    touched: tuple[str, ...]
    """Of the changed files, those that this work had to do with."""
    submodules: tuple[str, ...]
    uncommitted: tuple[Uncommitted, ...]
    notes: Files
    features: tuple[FeatureDelta, ...]
    memories: tuple[Mention, ...]
    events: tuple[Mention, ...]
    locks: tuple[LockChange, ...]
    runs: tuple[Mention, ...]
    stashed: bool
    unknown: tuple[str, ...]
    suggestions: tuple[Suggestion, ...] = ()

    @property
    def nothing(self) -> bool:
        """Whether all is as it was."""
        moved = self.switched or self.how not in ("same", "none") or self.moved or self.doing
        altered = any(one.now != "still" for one in self.uncommitted)
        beside = self.features or self.memories or self.events or self.locks or self.runs or self.notes.count
        return not (moved or altered or self.files.count or self.conflicts or beside)


def delta(
    then: Scene, now: Scene, history: CommitsBetween, beside: Beside, changed: Kinds | None = None
) -> Delta:
    """Compare; ``changed`` if it is known already."""
    elsewhere = _is_elsewhere(then, now)
    changed = changes(then, now, history, beside.present) if changed is None else changed
    conflicts = tuple(one.path for one in now.dirty if one.kind == "conflict")
    sources = {one.source: one.path for one in history.changes if one.kind == "renamed"}
    touched = _touched(then, changed, sources)
    authors = Counter(one.author for one in history.commits)
    switched = then.git and now.git and then.branch != now.branch
    unknown = [*history.unknown, *beside.unknown]
    if then.cut or now.cut:
        unknown.append(_why_cut(then, now))
    if then.git != now.git:
        unknown.append("the files: there was git then or is now, not both")
    if elsewhere:
        unknown.append(f"changes that were not committed in {then.folder}: look there")
    told = Delta(
        session=then.session,
        left=iso(then.at),
        now=iso(now.at),
        away_seconds=round(max(0.0, now.at - then.at), 3),
        reason=then.reason,
        derived=then.derived,
        moved=f"{then.folder} on {then.host}" if elsewhere else "",
        branch=(then.branch, now.branch),
        head=(then.head, now.head),
        how=history.how,
        switched=switched,
        merged=switched and history.how == "forward",
        branch_gone=switched and bool(then.branch) and not history.old_branch,
        merges=sum(one.merge for one in history.commits),
        lost=history.lost,
        rebased=history.rebased,
        doing=now.doing,
        conflicts=conflicts,
        commits=history.commits[:COMMITS_SHOWN_MAX],
        commit_count=len(history.commits) + history.more,
        authors=dict(sorted(authors.items(), key=lambda pair: (-pair[1], pair[0]))),
        files=files_of(changed),
        touched=touched,
        submodules=tuple(one.path for one in history.changes if one.submodule),
        uncommitted=() if elsewhere else tuple(_uncommitted(then, now, history, beside.present)),
        notes=_notes(changed, beside),
        features=beside.features,
        memories=beside.memories,
        events=beside.events,
        locks=beside.locks,
        runs=beside.runs,
        stashed=then.git and now.git and bool(now.stash) and then.stash != now.stash and not elsewhere,
        unknown=tuple(dict.fromkeys(unknown)),
    )
    return _with_suggestions(told, then)


def changes(then: Scene, now: Scene, history: CommitsBetween, present: Mapping[str, str]) -> Kinds:
    """Every path whose content is another one than then."""
    elsewhere = _is_elsewhere(then, now)
    compares = then.git == now.git and not (elsewhere and not now.git)
    return _changed(then, now, history, present, elsewhere) if compares else {}


def _is_elsewhere(then: Scene, now: Scene) -> bool:
    return bool(then.folder) and (then.folder, then.host) != (now.folder, now.host)


def _why_cut(then: Scene, now: Scene) -> str:
    if now.git:
        return "which files are not committed: git did not answer in time"
    if then.derived:
        return "which files changed: there is no git, and no scene was kept"
    return "which files changed: there is no git, and there are too many of them"


# -- files -----------------------------------------------------------------------------------------

Kinds = dict[str, tuple[str, str]]
"""Path to (created | modified | deleted | renamed, the path of before)."""


def _changed(
    then: Scene, now: Scene, history: CommitsBetween, present: Mapping[str, str], elsewhere: bool
) -> Kinds:
    if not now.git:
        return {} if then.cut or now.cut else _of_listings(then.files, now.files)
    left = {} if elsewhere else {one.path: one for one in then.dirty}
    here = {one.path: one for one in now.dirty}
    moved = {one.path: one for one in history.changes}
    found: Kinds = {}
    for path in dict.fromkeys((*moved, *left, *here)):
        change = moved.get(path)
        fresh = path in here and here[path].kind == "created"  # no commit has it
        before = _content(left.get(path), change.before if change else "" if fresh else _SAME)
        after = _content(here.get(path), change.after if change else _SAME)
        if path in left and path not in here and change is None:
            after = present.get(path, "" if left[path].kind == "created" else _SAME)
        if change is not None and change.kind == "renamed" and path not in left:
            found[path] = ("renamed", change.source)
        elif before != after:
            found[path] = ("created" if not before else "deleted" if not after else "modified", "")
    for one in here.values():
        if one.kind == "renamed" and one.source and one.path not in left:
            found[one.path] = ("renamed", one.source)
            found.pop(one.source, None)
    return found


_SAME = "as committed"


def _content(dirty: Dirty | None, committed: str) -> str:
    """What a path holds: a name for the content, empty if there is no such file."""
    if dirty is None:
        return committed
    if dirty.kind == "deleted":
        return ""
    return dirty.hash or f"? {dirty.path}"


def _of_listings(then: Mapping[str, str], now: Mapping[str, str]) -> Kinds:
    found: Kinds = dict.fromkeys(now.keys() - then.keys(), ("created", ""))
    found |= dict.fromkeys(then.keys() - now.keys(), ("deleted", ""))
    found |= {path: ("modified", "") for path in then.keys() & now.keys() if then[path] != now[path]}
    gone = {then[path]: path for path, (kind, _) in sorted(found.items()) if kind == "deleted"}
    for path, (kind, _) in sorted(found.items()):
        source = gone.pop(now[path], "") if kind == "created" else ""
        if source:  # the same content under another name
            found[path] = ("renamed", source)
            del found[source]
    return dict(sorted(found.items()))


def files_of(changed: Kinds) -> Files:
    """So many of each kind, sorted."""
    parts: dict[str, list[str]] = {"created": [], "modified": [], "deleted": []}
    renamed: list[tuple[str, str]] = []
    more = 0
    for path in sorted(changed):
        kind, source = changed[path]
        room = renamed if kind == "renamed" else parts[kind]
        if len(room) >= SHOWN_MAX:
            more += 1
        elif kind == "renamed":
            renamed.append((source, path))
        else:
            parts[kind].append(path)
    return Files(
        tuple(parts["created"]), tuple(parts["modified"]), tuple(parts["deleted"]), tuple(renamed), more
    )


def _touched(then: Scene, changed: Kinds, sources: Mapping[str, str]) -> tuple[str, ...]:
    """In the order in which this work cared for them."""
    sources = {**{source: path for path, (_, source) in changed.items() if source}, **sources}
    cared = dict.fromkeys((*then.touched, *(one.path for one in then.dirty)))
    names = (path if path in changed else sources.get(path, "") for path in cared)
    return tuple(dict.fromkeys(path for path in names if path in changed))[:SHOWN_MAX]


def _notes(changed: Kinds, beside: Beside) -> Files:
    kinds = {path: one for path, one in changed.items() if path in beside.notes}
    kinds |= {path: (kind, "") for path, kind in beside.outside}
    return files_of(kinds)


def _uncommitted(
    then: Scene, now: Scene, history: CommitsBetween, present: Mapping[str, str]
) -> Iterable[Uncommitted]:
    """What became of each change that was not committed then."""
    here = {one.path: one for one in now.dirty}
    moved = {one.path: one for one in history.changes}
    for one in then.dirty:
        yield Uncommitted(one.path, one.kind, _became(one, here.get(one.path), moved.get(one.path), present))


def _became(then: Dirty, now: Dirty | None, change: FileChange | None, present: Mapping[str, str]) -> Left:
    if now is not None:
        same = (now.kind == "deleted") == (then.kind == "deleted") and now.hash == then.hash
        return "still" if same else "altered"
    if then.kind == "deleted":
        if change is not None and change.kind == "deleted":
            return "committed"
        return "discarded" if then.path in present else "committed"
    there = present.get(then.path, "")
    if there and there == then.hash:
        return "committed" if change is not None or then.kind != "created" else "still"
    if change is not None:
        return "replaced"
    if not there:
        return "gone"
    return "discarded" if then.kind in ("modified", "renamed", "conflict") else "altered"


# -- suggestions -----------------------------------------------------------------------------------


def _with_suggestions(told: Delta, then: Scene) -> Delta:
    from msgspec.structs import replace

    found = [*_of_the_tree(told), *_of_the_work(told, then), *_of_the_surroundings(told)]
    return replace(told, suggestions=tuple(found))


def _named(paths: Sequence[str], most: int = 5) -> str:
    more = f" and {len(paths) - most} more" if len(paths) > most else ""
    return ", ".join(paths[:most]) + more


def _of_the_tree(told: Delta) -> Iterable[Suggestion]:
    """What stands in the way of going on."""
    if told.conflicts:
        yield Suggestion(
            f"solve the conflicts in {_named(told.conflicts)}",
            "nothing can be committed until then",
            "git status",
        )
    elif told.doing:
        yield Suggestion(
            f"finish the {told.doing} that is under way", "it was begun and not ended", "git status"
        )
    if told.moved:
        yield Suggestion("look whether this is the right folder", f"the work was left in {told.moved}")
    if told.switched:
        before, after = (name or "a detached head" for name in told.branch)
        if told.merged:
            yield Suggestion(f"go on in {after}", f"what was committed in {before} is part of it")
        elif told.branch_gone:
            yield Suggestion(f"find out what became of {before}", "the branch is gone", "git branch --all")
        else:
            command = f"git switch {told.branch[0]}" if is_plain(told.branch[0]) else ""
            yield Suggestion(
                f"go back to {before}, or say that {after} is right", "the branch was switched", command
            )
    if told.how in ("rewritten", "backward"):
        old, new = (head[:12] for head in told.head)
        what = f"not in it: {count(told.lost, 'commit')} of then"
        again = f", {told.rebased} of them in another form" if told.rebased else ""
        yield Suggestion(
            "look at what the rewritten history has", what + again, f"git log --oneline {new}..{old}"
        )


def is_plain(name: str) -> bool:
    """Whether a name can stand in a command as it is."""
    return bool(name) and name[0] != "-" and all(sign.isalnum() or sign in "._/-+@#" for sign in name)


def _of_the_work(told: Delta, then: Scene) -> Iterable[Suggestion]:
    """What this work had in its hands."""
    missing = [one.path for one in told.uncommitted if one.now in ("discarded", "gone")]
    if missing:
        where = "they may be in the newest stash" if told.stashed else "they were not committed"
        command = "git stash show --stat" if told.stashed else ""
        yield Suggestion(f"find out what became of the changes in {_named(missing)}", where, command)
    altered = [one.path for one in told.uncommitted if one.now in ("altered", "replaced")]
    again = list(dict.fromkeys((*altered, *told.touched)))
    gone = set(told.files.deleted)
    again = [path for path in again if path not in gone]
    if again:
        yield Suggestion(
            f"read again: {_named(again)}", "this work had read or changed them, and they changed since"
        )
    lost = [path for path in told.touched if path in gone]
    if lost:
        yield Suggestion(f"do without {_named(lost)}", "deleted since")
    if told.notes.count:
        fresh = [*told.notes.modified, *told.notes.created, *(after for _, after in told.notes.renamed)]
        if fresh:
            yield Suggestion(f"load the notes {_named(fresh)}", "changed or new since")
    if told.locks:
        files = [one.file for one in told.locks]
        yield Suggestion(
            f"bring dependencies in sync with {_named(files)}",
            "other packages are locked now",
            "segue bootstrap",
        )


def _of_the_surroundings(told: Delta) -> Iterable[Suggestion]:
    unproven = [one.id for one in told.features if one.what in ("stale", "failing")]
    if unproven:
        command = f"segue verify --feature {' --feature '.join(unproven[:8])}"
        yield Suggestion(f"prove again: {_named(unproven)}", "stale or failing since", command)
    for run in told.runs[:3]:
        yield Suggestion(
            f"see what {run.by or 'another run'} did meanwhile",
            run.text or "it was active since",
            f"segue brief {run.id}",
        )
    if told.memories:
        yield Suggestion(
            "look at what was learnt meanwhile",
            f"new or changed: {count(len(told.memories), 'memory', 'memories')}",
            "segue memories list",
        )
    if told.commit_count and not (told.touched or told.locks or unproven):
        yield Suggestion(
            "look at what was committed", f"{count(told.commit_count, 'commit')} since", "git log --oneline"
        )
