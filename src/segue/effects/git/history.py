"""What git says of the way from one commit to another.

All questions are asked at once, and each has the same time. The old commit may be gone (a history was
rewritten and cleaned up, a clone is shallow): then commits are told by their time, and that is said.
"""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from ...core.base.values import iso
from ...core.resume.changes import Commit, CommitsBetween, FileChange, How
from ...core.resume.scene import Scene
from . import repository as git
from .trees import asked

TIME_SECONDS = 10.0
COMMITS_MAX = 2_000
_FORMAT = "--format=%H%x1f%an%x1f%ae%x1f%ct%x1f%P%x1f%s"
_KINDS = {"A": "created", "D": "deleted", "R": "renamed"}


class Way:
    """From the commit of a scene to the one of now. Git is at it from the beginning until ``history`` is
    asked for, so that something else can be done meanwhile."""

    def __init__(self, then: Scene, root: Path, *, seconds: float = TIME_SECONDS) -> None:
        self.then = then
        self.repository = git.find(root)
        if self.repository is None or not then.git:
            return
        self.head, self.branch = git.head(self.repository)
        self.old_branch = git.ref(self.repository, f"refs/heads/{then.branch}") if then.branch else ""
        self.shallow = then.shallow or (self.repository.common / "shallow").exists()
        self.asking = Asking(self.repository.root, seconds)
        ask, old, new = self.asking.ask, then.head, self.head
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
        """What git said."""
        then = self.then
        if self.repository is None or not then.git:
            return CommitsBetween()
        if then.head == self.head or not self.head:
            return CommitsBetween(
                how="same" if then.head == self.head else "unknown", old_branch=self.old_branch
            )
        answer = self.asking.answer
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

    def _history(self, how: How, log: bytes | None, diff: bytes | None, **more: Any) -> CommitsBetween:
        commits = read_log(log or b"")
        if how == "apart":  # of another branch, what is older was there before
            commits = [one for one in commits if one.at >= iso(self.then.at)]
        unknown = ["the commits: git did not answer"] if log is None else []
        unknown += ["the committed files: git did not answer"] if diff is None else []
        listed = commits[:COMMITS_MAX]
        found = CommitsBetween(
            how=how, commits=tuple(listed), more=len(commits) - len(listed), old_branch=self.old_branch,
            changes=tuple(read_raw(diff or b"")), unknown=tuple(unknown),
        )  # fmt: skip
        return replace(found, **more) if more else found

    def _from_nothing(self, log: bytes | None, tree: bytes | None) -> CommitsBetween:
        """There was no commit then."""
        changes = []
        for row in (tree or b"").split(b"\0"):
            facts, _, path = row.partition(b"\t")
            if path:
                _, kind, id = facts.decode().split(" ")
                changes.append(FileChange(os.fsdecode(path), "created", after=id, submodule=kind == "commit"))
        return self._history("forward", log, b"", changes=tuple(changes))

    def _apart(self, log: bytes | None, diff: bytes | None) -> CommitsBetween:
        """The old commit is there, and not in the history of the new one."""
        old, new = self.then.head, self.head
        self.asking.ask("back", "merge-base", "--is-ancestor", new, old)
        self.asking.ask("lost", "rev-list", "--count", f"{new}..{old}")
        self.asking.ask(
            "same", "rev-list", "--cherry-mark", "--left-only", "--no-merges", f"-{COMMITS_MAX}",
            f"{old}...{new}",
        )  # fmt: skip
        back, _ = self.asking.answer("back")
        _, lost = self.asking.answer("lost")
        _, marked = self.asking.answer("same")
        switched = self.then.branch != self.branch
        detached = not self.branch and not self.then.branch
        how: How = "backward" if back == 0 and not switched else "rewritten"
        if switched or (detached and how == "rewritten"):
            how = "apart"
        rebased = sum(line.startswith(b"=") for line in (marked or b"").split(b"\n"))
        return self._history(how, log, diff, lost=int(lost or 0), rebased=rebased)

    def _by_time(self, diff: bytes | None) -> CommitsBetween:
        """The old commit is gone, or what connects it: what was committed since, by its time."""
        since = f"--since=@{int(self.then.at)}"
        self.asking.ask("log", "log", "-z", _FORMAT, f"-{COMMITS_MAX + 1}", since, self.head)
        says = "the clone is shallow: commits are told by their time"
        changes = read_raw(diff or b"")
        if diff is None:
            self.asking.ask(
                "files", "log", "-z", "--raw", "--format=", "-M", "-l400", "--abbrev=64", f"-{COMMITS_MAX}",
                since, self.head,
            )  # fmt: skip
            changes = _joined(read_raw(self.asking.answer("files")[1] or b""))
            says = (
                f"the commit {self.then.head[:12]} is not here any more: commits and files are told by time"
            )
        _, log = self.asking.answer("log")
        return self._history("unknown", log, b"", changes=tuple(changes), by_time=True, unknown=(says,))


class Asking:
    """Questions to git that run beside each other."""

    def __init__(self, root: Path, seconds: float) -> None:
        self.root = root
        self.deadline = time.monotonic() + seconds
        self._asked: dict[str, subprocess.Popen[bytes] | None] = {}

    def ask(self, name: str, *words: str) -> None:
        try:
            self._asked[name] = asked(self.root, *words)
        except OSError:
            self._asked[name] = None

    def answer(self, name: str) -> tuple[int, bytes | None]:
        """(exit code, what it said); None if it failed or took too long."""
        one = self._asked.pop(name)
        if one is None:
            return -1, None
        try:
            told, _ = one.communicate(timeout=max(0.001, self.deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            one.kill()
            one.communicate()
            return -1, None
        return one.returncode, told if one.returncode == 0 else None


def _joined(changes: list[FileChange]) -> list[FileChange]:
    """One change for each path, of those of many commits, newest first."""
    found: dict[str, FileChange] = {}
    for one in changes:
        newer = found.get(one.path)
        if newer is None:
            found[one.path] = one
        elif one.kind == "created" and newer.kind == "modified":
            found[one.path] = FileChange(one.path, "created", after=newer.after)
    return list(found.values())


def read_log(told: bytes) -> list[Commit]:
    commits = []
    for row in told.decode("utf-8", "replace").split("\0"):
        parts = row.lstrip("\n").split("\x1f", 5)
        if len(parts) == 6:
            id, author, email, at, parents, subject = parts
            when = float(at) if at.isdecimal() else 0.0
            commits.append(Commit(id, author, email, iso(when), subject, " " in parents))
    return commits


def read_raw(told: bytes) -> list[FileChange]:
    """``git diff --raw -z``."""
    found: list[FileChange] = []
    parts = iter(told.decode("utf-8", "surrogateescape").split("\0"))
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
        found.append(FileChange(path, kind, source if kind == "renamed" else "", before, after, is_submodule))
    return found


def head_at(root: Path, moment: float, *, seconds: float = 2.0) -> tuple[str, str]:
    """(commit, branch) that the tree was on at a moment, as git's own log of heads tells; empty where it
    does not. A branch is told only if it was left since."""
    asking = Asking(root, seconds)
    asking.ask("log", "log", "-g", "-z", "--format=%H%x1f%gd%x1f%gs", "--date=unix", "-500", "HEAD")
    _, told = asking.answer("log")
    branch = ""
    for row in (told or b"").decode("utf-8", "replace").split("\0"):
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


def shown(root: Path, commit: str, paths: list[str], *, seconds: float = 5.0) -> dict[str, bytes]:
    """Files as a commit has them; without those that it does not have."""
    asking = Asking(root, seconds)
    for path in paths:
        asking.ask(path, "cat-file", "blob", f"{commit}:{path}")
    found = {path: asking.answer(path)[1] for path in paths}
    return {path: body for path, body in found.items() if body is not None}
