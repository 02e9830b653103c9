"""What changed between two scenes, for whoever returns to the work.

The report is made from two scenes, the commits between them, and what the store and the agents recorded in
that time. A file counts as changed if its content differs from what the work had seen, committed or not; a
file that was only committed has not changed. What cannot be determined is named in ``unknown`` and never
guessed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from msgspec.structs import replace

from ..base.values import Value, count, iso
from .lock_files import Bump
from .scene import Dirty, Scene

SHOWN_MAX = 200
COMMITS_SHOWN_MAX = 50

How = Literal["same", "forward", "backward", "rewritten", "apart", "unknown", "none"]
Left = Literal["still", "altered", "committed", "replaced", "discarded", "gone"]


class Commit(Value, gc=False):
    """A commit that was made since."""

    id: str
    author: str
    email: str
    at: str
    subject: str
    merge: bool = False


class FileChange(Value, gc=False):
    """A file that differs between two commits."""

    path: str
    kind: Literal["created", "modified", "deleted", "renamed"]
    source: str = ""
    """The old path, if it was renamed."""
    before: str = ""
    after: str = ""
    """Both are the hashes that git has for the contents."""
    submodule: bool = False


class CommitsBetween(Value):
    """What git says about the history from the old commit to the current one."""

    how: How = "none"
    """``forward`` if the old commit is in the history of the current one, ``backward`` for the opposite,
    ``apart`` if the current one is on another branch that does not contain the old one."""
    commits: tuple[Commit, ...] = ()
    """Newest first."""
    more: int = 0
    """The number of commits that are not listed."""
    lost: int = 0
    """The number of old commits that are not in the current history."""
    rebased: int = 0
    """How many of those are in the current history in another form."""
    changes: tuple[FileChange, ...] = ()
    by_time: bool = False
    """Whether commits were selected by time, because the old commit is missing or the clone is shallow."""
    old_branch: str = ""
    """The current commit of the old branch; empty if the branch is gone."""
    unknown: tuple[str, ...] = ()


class Uncommitted(Value, gc=False):
    """What happened to a change that had not been committed."""

    path: str
    kind: str
    now: Left


class LockChange(Value):
    """A lock file in which packages changed."""

    file: str
    bumps: tuple[Bump, ...]


class FeatureDelta(Value, gc=False):
    """A feature that changed, or whose verdict did."""

    id: str
    what: Literal["added", "removed", "changed", "stale", "failing", "passing"]
    why: str = ""


class Mention(Value, gc=False):
    """An event, a memory or a run, in one line."""

    id: str
    text: str
    by: str = ""
    at: str = ""


class Beside(Value):
    """What happened outside of the history of the working tree."""

    events: tuple[Mention, ...] = ()
    """Events of the session that others declared."""
    features: tuple[FeatureDelta, ...] = ()
    memories: tuple[Mention, ...] = ()
    runs: tuple[Mention, ...] = ()
    locks: tuple[LockChange, ...] = ()
    notes: frozenset[str] = frozenset()
    """The changed paths that are notes."""
    outside: tuple[tuple[str, str], ...] = ()
    """Notes outside the tree: pairs of a path and created, modified or deleted."""
    loaded: frozenset[str] = frozenset()
    """The paths of the notes that this session had loaded."""
    titles: Mapping[str, str] = {}
    """What notes are called, by their paths."""
    present: Mapping[str, str] = {}
    """The content hashes of files that were uncommitted then, are clean now and still exist."""
    unknown: tuple[str, ...] = ()


class Files(Value):
    """Changed paths, grouped by what happened to them."""

    created: tuple[str, ...] = ()
    modified: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()
    renamed: tuple[tuple[str, str], ...] = ()
    """Pairs of the old and the new path."""
    more: int = 0
    """The number of paths that are not listed."""
    more_of: dict[str, int] = {}
    """How many of these are of which kind."""
    titles: dict[str, str] = {}
    """What listed notes are called, as ``[[id|title]]``."""

    @property
    def count(self) -> int:
        return sum(self.counts().values())

    def counts(self) -> dict[str, int]:
        """How many paths there are of each kind, listed or not."""
        listed = {"created": self.created, "modified": self.modified, "renamed": self.renamed,
                  "deleted": self.deleted}  # fmt: skip
        return {kind: len(paths) + self.more_of.get(kind, 0) for kind, paths in listed.items()}


class Suggestion(Value):
    """Something to do before continuing, and why."""

    do: str
    why: str
    command: str = ""


class Delta(Value):
    """Everything that changed since the work was left."""

    session: str
    left: str
    """The time of the old scene."""
    now: str
    away_seconds: float
    reason: str
    """Why the old scene was saved."""
    derived: str
    """What the old scene was reconstructed from; empty if it was saved."""
    moved: str
    """Where the work was left, if that was another folder or machine."""
    branch: tuple[str, str]
    head: tuple[str, str]
    how: How
    switched: bool
    merged: bool
    """Whether the branch that is checked out now contains the old commits."""
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
    other_files: Files
    """Those that are no notes."""
    touched: tuple[str, ...]
    """The changed files that this work had read or changed."""
    submodules: tuple[str, ...]
    uncommitted: tuple[Uncommitted, ...]
    notes: Files
    notes_loaded: tuple[str, ...]
    """The changed notes that this session had loaded, under the names that they had then."""
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
        """Whether nothing changed."""
        moved = self.switched or self.how not in ("same", "none") or self.moved or self.doing
        altered = any(change.now != "still" for change in self.uncommitted)
        beside = self.features or self.memories or self.events or self.locks or self.runs or self.notes.count
        return not (moved or altered or self.files.count or self.conflicts or beside)


def delta(
    then: Scene, now: Scene, history: CommitsBetween, beside: Beside, changed: Kinds | None = None
) -> Delta:
    """Compare two scenes. ``changed`` is the result of ``changes``, if it is known already."""
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
        unknown.append("which files changed: the folder was a git repository only then, or is one only now")
    if elsewhere:
        unknown.append(f"what happened to uncommitted changes in {then.folder}: look there")
    result = Delta(
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
        other_files=files_of({path: kind for path, kind in changed.items() if path not in beside.notes}),
        touched=touched,
        submodules=tuple(one.path for one in history.changes if one.submodule),
        uncommitted=() if elsewhere else tuple(_uncommitted(then, now, history, beside.present)),
        notes=_notes(changed, beside),
        notes_loaded=_notes_loaded(changed, beside),
        **{name: getattr(beside, name) for name in ("features", "memories", "events", "locks", "runs")},
        stashed=then.git and now.git and bool(now.stash) and then.stash != now.stash and not elsewhere,
        unknown=tuple(dict.fromkeys(unknown)),
    )
    suggestions = (*_about_tree(result), *_about_work(result), *_about_others(result))
    return replace(result, suggestions=suggestions)


def changes(then: Scene, now: Scene, history: CommitsBetween, present: Mapping[str, str]) -> Kinds:
    """Every path whose content has changed; empty if the scenes cannot be compared."""
    elsewhere = _is_elsewhere(then, now)
    comparable = then.git == now.git and not (elsewhere and not now.git)
    return _changed(then, now, history, present, elsewhere) if comparable else {}


def _is_elsewhere(then: Scene, now: Scene) -> bool:
    return bool(then.folder) and (then.folder, then.host) != (now.folder, now.host)


def _why_cut(then: Scene, now: Scene) -> str:
    if now.git:
        return "which files are uncommitted: git did not answer in time"
    if then.derived:
        return "which files changed: this is not a git repository, and no scene was saved"
    return "which files changed: this is not a git repository, and it has too many files"


# -- files -----------------------------------------------------------------------------------------

Kinds = dict[str, tuple[str, str]]
"""For each path: created, modified, deleted or renamed, and the old path if it was renamed."""


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
        fresh = path in here and here[path].kind == "created"  # it is in no commit
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
    """A name for the content of a path; empty if there is no such file."""
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
    """The sorted paths of each kind, at most ``SHOWN_MAX`` of each."""
    parts: dict[str, list[str]] = {"created": [], "modified": [], "deleted": []}
    renamed: list[tuple[str, str]] = []
    more: Counter[str] = Counter()
    for path in sorted(changed):
        kind, source = changed[path]
        if len(renamed if kind == "renamed" else parts[kind]) >= SHOWN_MAX:
            more[kind] += 1
        elif kind == "renamed":
            renamed.append((source, path))
        else:
            parts[kind].append(path)
    return Files(
        tuple(parts["created"]), tuple(parts["modified"]), tuple(parts["deleted"]), tuple(renamed),
        more.total(), dict(more),
    )  # fmt: skip


def _touched(then: Scene, changed: Kinds, sources: Mapping[str, str]) -> tuple[str, ...]:
    """The changed files that this work had read or changed, in the work's order and under their new names."""
    renamed = {**{source: path for path, (_, source) in changed.items() if source}, **sources}
    used = dict.fromkeys((*then.touched, *(dirty.path for dirty in then.dirty)))
    paths = (path if path in changed else renamed.get(path, "") for path in used)
    return tuple(dict.fromkeys(path for path in paths if path in changed))[:SHOWN_MAX]


def _notes(changed: Kinds, beside: Beside) -> Files:
    kinds = {path: change for path, change in changed.items() if path in beside.notes}
    kinds |= {path: (kind, "") for path, kind in beside.outside}
    notes = files_of(kinds)
    listed = (*notes.created, *notes.modified, *(after for _, after in notes.renamed))
    return replace(notes, titles={path: beside.titles[path] for path in listed if path in beside.titles})


def _notes_loaded(changed: Kinds, beside: Beside) -> tuple[str, ...]:
    """The notes that the session had loaded and that are not as they were."""
    gone = {source for _, source in changed.values() if source}
    other = {path for path, _ in beside.outside}
    return tuple(sorted(beside.loaded & (changed.keys() | gone | other)))[:SHOWN_MAX]


def _uncommitted(
    then: Scene, now: Scene, history: CommitsBetween, present: Mapping[str, str]
) -> Iterable[Uncommitted]:
    """What happened to each change that was uncommitted then."""
    here = {dirty.path: dirty for dirty in now.dirty}
    moved = {change.path: change for change in history.changes}
    for old in then.dirty:
        yield Uncommitted(old.path, old.kind, _became(old, here.get(old.path), moved.get(old.path), present))


def _became(then: Dirty, now: Dirty | None, change: FileChange | None, present: Mapping[str, str]) -> Left:
    if now is not None:
        same = (now.kind == "deleted") == (then.kind == "deleted") and now.hash == then.hash
        return "still" if same else "altered"
    if then.kind == "deleted":
        if change is not None and change.kind == "deleted":
            return "committed"
        return "discarded" if then.path in present else "committed"
    content = present.get(then.path, "")
    if content and content == then.hash:
        return "committed" if change is not None or then.kind != "created" else "still"
    if change is not None:
        return "replaced"
    if not content:
        return "gone"
    return "discarded" if then.kind in ("modified", "renamed", "conflict") else "altered"


# -- suggestions -----------------------------------------------------------------------------------


def _named(paths: Sequence[str], most: int = 5) -> str:
    more = f" and {len(paths) - most} more" if len(paths) > most else ""
    return ", ".join(paths[:most]) + more


def _about_tree(delta: Delta) -> Iterable[Suggestion]:
    """What has to be settled in the working tree before anything else."""
    if delta.conflicts:
        yield Suggestion(
            f"resolve the conflicts in {_named(delta.conflicts)}",
            "nothing can be committed until then",
            "git status",
        )
    elif delta.doing:
        yield Suggestion(
            f"finish the {delta.doing} in progress", "it was started but not finished", "git status"
        )
    if delta.moved:
        folder = delta.moved.rpartition(" on ")[0]
        command = f"cd {folder}" if is_plain(folder) else "segue status"
        yield Suggestion(
            "check that this is the right folder", f"the work was left in {delta.moved}", command
        )
    if delta.switched:
        before, after = (name or "a detached head" for name in delta.branch)
        if delta.merged:
            why = f"it contains what was committed on {before}"
            yield Suggestion(f"continue on {after}", why, "git log --oneline -5")
        elif delta.branch_gone:
            yield Suggestion(f"find out what happened to {before}", "the branch is gone", "git branch --all")
        else:
            command = f"git switch {delta.branch[0]}" if is_plain(delta.branch[0]) else ""
            yield Suggestion(
                f"switch back to {before}, unless {after} is intended", "the branch was switched", command
            )
    if delta.how in ("rewritten", "backward"):
        old, new = (head[:12] for head in delta.head)
        lost = f"{count(delta.lost, 'old commit')} {'is' if delta.lost == 1 else 'are'} not in it"
        again = f", {delta.rebased} of them only in another form" if delta.rebased else ""
        yield Suggestion(
            "compare the rewritten history with the old one", lost + again, f"git log --oneline {new}..{old}"
        )


def is_plain(name: str) -> bool:
    """Whether a name can be used in a shell command without quoting."""
    return bool(name) and name[0] != "-" and all(sign.isalnum() or sign in "._/-+@#" for sign in name)


def _about_work(delta: Delta) -> Iterable[Suggestion]:
    """What happened to the files and notes that this work used."""
    missing = [change.path for change in delta.uncommitted if change.now in ("discarded", "gone")]
    if missing:
        where = "they may be in the newest stash" if delta.stashed else "they were not committed"
        command = "git stash show --stat" if delta.stashed else "git status"
        yield Suggestion(f"find out what happened to the changes in {_named(missing)}", where, command)
    altered = [change.path for change in delta.uncommitted if change.now in ("altered", "replaced")]
    again = list(dict.fromkeys((*altered, *delta.touched)))
    gone = set(delta.files.deleted)
    again = [path for path in again if path not in gone]
    if again:
        why = "this work had read or changed them, and they have changed since"
        yield Suggestion(f"read again: {_named(again)}", why, _about_paths("git diff", delta.head[0], again))
    lost = [path for path in delta.touched if path in gone]
    if lost:
        command = _about_paths("git log --oneline -1", delta.head[1], lost)
        yield Suggestion(f"continue without {_named(lost)}", "deleted in the meantime", command)
    yield from _about_notes(delta)
    if delta.locks:
        files = [lock.file for lock in delta.locks]
        yield Suggestion(
            f"update the dependencies to match {_named(files)}", "locked versions changed", "segue bootstrap"
        )


def _about_paths(command: str, commit: str, paths: Sequence[str]) -> str:
    """A command of git about files; empty outside a repository, or if a path would have to be quoted."""
    plain = [path for path in paths[:8] if is_plain(path)]
    if not commit or len(plain) < len(paths[:8]):
        return ""
    return f"{command} {commit[:12]} -- {' '.join(plain)}"


def _about_notes(delta: Delta) -> Iterable[Suggestion]:
    """Which notes to load: those that are new, and those that were loaded and are not as they were."""
    notes, renamed = delta.notes, dict(delta.notes.renamed)
    known = {renamed.get(path, path) for path in delta.notes_loaded}
    now = [*notes.modified, *(after for _, after in notes.renamed)]
    changed = [path for path in now if path in known]
    others = [path for path in now if path not in known]
    gone = [path for path in notes.deleted if path in known]
    if changed:
        why = "this session had loaded them, and they have changed since"
        yield Suggestion(f"reload the notes {_named(changed)}", why, _load(delta.session, changed))
    if gone:
        why = "this session had loaded them, and they were deleted in the meantime"
        command = _about_paths("git log --oneline -1", delta.head[1], gone)
        yield Suggestion(f"continue without the notes {_named(gone)}", why, command)
    if notes.created:
        command = _load(delta.session, notes.created)
        yield Suggestion(f"load the notes {_named(notes.created)}", "new in the meantime", command)
    if others:
        why = "changed in the meantime; this session had not loaded them"
        yield Suggestion(f"look at the notes {_named(others)}", why, _load(delta.session, others))


def _load(session: str, paths: Sequence[str]) -> str:
    """The command that loads notes into a session; without those whose paths would have to be quoted."""
    plain = [path for path in paths[:8] if is_plain(path)]
    wanted = "".join(f" --note {path}" for path in plain)
    return f"segue resume {session} --budget balanced{wanted}" if session and plain else ""


def _about_others(delta: Delta) -> Iterable[Suggestion]:
    """What happened to features, and what other runs did."""
    unproven = [feature.id for feature in delta.features if feature.what in ("stale", "failing")]
    if unproven:
        command = f"segue verify --feature {' --feature '.join(unproven[:8])}"
        yield Suggestion(f"prove again: {_named(unproven)}", "now stale or failing", command)
    for run in delta.runs[:3]:
        yield Suggestion(
            f"see what {run.by or 'another run'} did in the meantime",
            run.text or "it has been active since",
            f"segue brief {run.id}",
        )
    if delta.memories:
        yield Suggestion(
            "look at what was learnt in the meantime",
            f"new or changed: {count(len(delta.memories), 'memory', 'memories')}",
            "segue memories list",
        )
    if delta.commit_count and not (delta.touched or delta.locks or unproven):
        yield Suggestion(
            "look at what was committed", f"{count(delta.commit_count, 'commit')} since", "git log --oneline"
        )
