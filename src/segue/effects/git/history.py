"""What happened in git between one commit and another.

All git commands run at once and share one deadline. The old commit may be missing (a history was rewritten
and cleaned up, or the clone is shallow): then commits are selected by their time, and the result says so.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from ...core.base.values import iso
from ...core.resume.changes import Commit, CommitsBetween, FileChange, How
from ...core.resume.scene import Scene
from . import repository as git
from .queries import GitQueries, output_of

TIME_SECONDS, REFLOG_SECONDS, FILES_SECONDS = 10.0, 2.0, 5.0
COMMITS_MAX = 2_000
_FORMAT = "--format=%H%x1f%an%x1f%ae%x1f%ct%x1f%P%x1f%s"
_KINDS = {"A": "created", "D": "deleted", "R": "renamed"}


class HistoryQuery:
    """The history from the commit of a scene to the current one. Git starts working at once, so that the
    caller can do something else before it asks for ``history``."""

    def __init__(self, then: Scene, root: Path, *, seconds: float = TIME_SECONDS) -> None:
        self.then = then
        self.repository = git.find(root)
        if self.repository is None or not then.git:
            return
        self.head, self.branch = git.head(self.repository)
        self.old_branch = git.ref(self.repository, f"refs/heads/{then.branch}") if then.branch else ""
        self.shallow = then.shallow or (self.repository.common / "shallow").exists()
        self.queries = GitQueries(self.repository.root, seconds)
        ask, old, new = self.queries.ask, then.head, self.head
        if old == new or not new:
            return
        if not old:
            ask("log", "log", "-z", _FORMAT, f"-{COMMITS_MAX + 1}", new)
            ask("tree", "ls-tree", "-r", "-z", new)
            return
        ask("base", "merge-base", "--is-ancestor", old, new)
        ask("log", "log", "-z", _FORMAT, f"-{COMMITS_MAX + 1}", f"{old}..{new}")
        ask("diff", "diff", "--raw", "-z", "-M", "-l400", "--abbrev=64", old, new)

    def history(self) -> CommitsBetween:
        """Wait for git, and return what it found; parts that it did not answer in time are marked unknown."""
        then = self.then
        if self.repository is None or not then.git:
            return CommitsBetween()
        if then.head == self.head or not self.head:
            how: How = "same" if then.head == self.head else "unknown"
            return CommitsBetween(how=how, old_branch=self.old_branch)
        answer = self.queries.answer
        _, log = answer("log")
        if not then.head:
            return self._from_nothing(log, answer("tree")[1])
        code, _ = answer("base")
        _, diff = answer("diff")
        if code == 0:
            return self._history("forward", log, diff)
        if code == 1 and not self.shallow:
            return self._apart(log, diff)
        return self._by_time(diff)

    def _history(self, how: How, log: bytes | None, diff: bytes | None, **fields: Any) -> CommitsBetween:
        commits = read_log(log or b"")
        if how == "apart":  # older commits of another branch were there before
            commits = [commit for commit in commits if commit.at >= iso(self.then.at)]
        unknown = ["the commits: git did not answer"] if log is None else []
        unknown += ["the committed files: git did not answer"] if diff is None else []
        listed = commits[:COMMITS_MAX]
        history = CommitsBetween(
            how=how, commits=tuple(listed), more=len(commits) - len(listed), old_branch=self.old_branch,
            changes=tuple(read_raw(diff or b"")), unknown=tuple(unknown),
        )  # fmt: skip
        return replace(history, **fields) if fields else history

    def _from_nothing(self, log: bytes | None, tree: bytes | None) -> CommitsBetween:
        """The history if there was no commit yet."""
        changes = []
        for row in (tree or b"").split(b"\0"):
            facts, _, path = row.partition(b"\t")
            if path:
                _, kind, id = facts.decode().split(" ")
                changes.append(FileChange(os.fsdecode(path), "created", after=id, submodule=kind == "commit"))
        return self._history("forward", log, b"", changes=tuple(changes))

    def _apart(self, log: bytes | None, diff: bytes | None) -> CommitsBetween:
        """The history if the old commit exists but is no ancestor of the new one."""
        old, new = self.then.head, self.head
        self.queries.ask("back", "merge-base", "--is-ancestor", new, old)
        self.queries.ask("lost", "rev-list", "--count", f"{new}..{old}")
        self.queries.ask(
            "same", "rev-list", "--cherry-mark", "--left-only", "--no-merges", f"-{COMMITS_MAX}",
            f"{old}...{new}",
        )  # fmt: skip
        back, _ = self.queries.answer("back")
        _, lost = self.queries.answer("lost")
        _, marked = self.queries.answer("same")
        switched = self.then.branch != self.branch
        detached = not self.branch and not self.then.branch
        how: How = "backward" if back == 0 and not switched else "rewritten"
        if switched or (detached and how == "rewritten"):
            how = "apart"
        rebased = sum(line.startswith(b"=") for line in (marked or b"").split(b"\n"))
        return self._history(how, log, diff, lost=int(lost or 0), rebased=rebased)

    def _by_time(self, diff: bytes | None) -> CommitsBetween:
        """The history if the old commit, or what connects it, is missing: commits since then."""
        since = f"--since=@{int(self.then.at)}"
        self.queries.ask("log", "log", "-z", _FORMAT, f"-{COMMITS_MAX + 1}", since, self.head)
        reason = "the clone is shallow: commits are listed by their time"
        changes = read_raw(diff or b"")
        if diff is None:
            self.queries.ask(
                "files", "log", "-z", "--raw", "--format=", "-M", "-l400", "--abbrev=64", f"-{COMMITS_MAX}",
                since, self.head,
            )  # fmt: skip
            changes = _joined(read_raw(self.queries.answer("files")[1] or b""))
            gone = self.then.head[:12]
            reason = f"the commit {gone} no longer exists: commits and files are listed by their time"
        _, log = self.queries.answer("log")
        return self._history("unknown", log, b"", changes=tuple(changes), by_time=True, unknown=(reason,))


def _joined(changes: list[FileChange]) -> list[FileChange]:
    """One change for each path, from the changes of many commits, the newest first."""
    by_path: dict[str, FileChange] = {}
    for change in changes:
        newer = by_path.get(change.path)
        if newer is None:
            by_path[change.path] = change
        elif change.kind == "created" and newer.kind == "modified":
            by_path[change.path] = FileChange(change.path, "created", after=newer.after)
    return list(by_path.values())


def read_log(output: bytes) -> list[Commit]:
    """The commits in the output of ``git log -z`` with our format."""
    commits = []
    for row in output.decode("utf-8", "replace").split("\0"):
        parts = row.lstrip("\n").split("\x1f", 5)
        if len(parts) == 6:
            id, author, email, at, parents, subject = parts
            when = float(at) if at.isdecimal() else 0.0
            commits.append(Commit(id, author, email, iso(when), subject, " " in parents))
    return commits


def read_raw(output: bytes) -> list[FileChange]:
    """The changes in the output of ``git diff --raw -z``."""
    changes: list[FileChange] = []
    parts = iter(output.decode("utf-8", "surrogateescape").split("\0"))
    for part in parts:
        part = part.lstrip("\n")
        if part[:1] != ":":
            continue
        old_mode, new_mode, before, after, sign = part[1:].split(" ")
        path, source = next(parts, ""), ""
        if sign[:1] in "RC":
            source, path = path, next(parts, "")
        kind: Any = "created" if sign[:1] == "C" else _KINDS.get(sign[:1], "modified")
        is_submodule = "160000" in (old_mode, new_mode)
        before, after = before if before.strip("0") else "", after if after.strip("0") else ""
        source = source if kind == "renamed" else ""
        changes.append(FileChange(path, kind, source, before, after, is_submodule))
    return changes


def head_at(root: Path, moment: float) -> tuple[str, str]:
    """The commit and the branch that were checked out at a time, from git's reflog; empty where it does not
    say. The branch is known only if it was left since."""
    words = ("log", "-g", "-z", "--format=%H%x1f%gd%x1f%gs", "--date=unix", "-500", "HEAD")
    reflog = output_of(root, *words, seconds=REFLOG_SECONDS)
    branch = ""
    for row in (reflog or b"").decode("utf-8", "replace").split("\0"):
        id, _, rest = row.lstrip("\n").partition("\x1f")
        place, _, why = rest.partition("\x1f")
        when = place.partition("@{")[2].rstrip("}")
        if not when.isdecimal():
            continue
        if int(when) <= moment:
            return id, branch
        if why.startswith("checkout: moving from "):
            branch = why.removeprefix("checkout: moving from ").partition(" to ")[0]
    return "", branch


def files_at_commit(root: Path, commit: str, paths: list[str]) -> dict[str, bytes]:
    """The content of these files in a commit; files that it does not have are left out."""
    queries = GitQueries(root, FILES_SECONDS)
    for path in paths:
        queries.ask(path, "cat-file", "blob", f"{commit}:{path}")
    bodies = {path: queries.answer(path)[1] for path in paths}
    return {path: body for path, body in bodies.items() if body is not None}
