"""Own paths into a commit, and the commit to a remote; nothing of the user's is touched.

The commit is made with a copy of the index, so what the user has staged stays staged and is in no commit
of ours. Nothing is forced, nothing is done while a merge or rebase is under way, and nothing is
committed that looks like a secret. A push counts when the remote itself says that it has the commit.
Whatever cannot be done now is pending, with the reason, and the same call does it later.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from ..._failpoints import trip
from ...core.base.values import Value
from ..redaction.redact import secrets_in

LOCK_SECONDS = 10.0
"""How long to wait for another git that has the index."""
_UNDER_WAY = {
    "MERGE_HEAD": "a merge",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase",
    "BISECT_LOG": "a bisection",
}
_PLACES = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_OBJECT_DIRECTORY")
_SCAN_BYTES_MAX = 32_000_000
_NOBODY = {"NAME": "Segue", "EMAIL": "segue@localhost"}
"""Who commits where git knows nobody."""


class Published(Value):
    """What came of a publish."""

    ok: bool
    reason: str = ""
    """Why it is pending, in words; empty if it is done."""
    commit: str = ""
    committed: bool = False
    """Whether this call made the commit."""
    pushed: bool = False
    """Whether the remote has it, as the remote says."""
    files: tuple[str, ...] = ()
    found: tuple[str, ...] = ()
    """Where something looks like a secret: ``file:line: kind``."""


class CannotPublish(Exception):
    """It cannot be done now."""

    def __init__(self, reason: str, found: Sequence[str] = ()) -> None:
        super().__init__(reason)
        self.found = tuple(found)


class Publisher:
    """Publishes paths of one repository."""

    def __init__(
        self, root: Path, paths: Sequence[str], *, push: bool = False, remote: str = "origin",
        branch: str = "", hooks: bool = True, sign: bool | None = None, timeout_seconds: float = 60.0,
        lock_seconds: float = LOCK_SECONDS,
    ) -> None:  # fmt: skip
        self.root = root
        self.paths = list(paths)
        self.push = push
        self.remote = remote
        self.branch = branch
        """Where to push to; empty: the branch that is checked out."""
        self.hooks = hooks
        self.sign = sign
        """None: as git is configured."""
        self.timeout_seconds = timeout_seconds
        self.lock_seconds = lock_seconds

    def publish(self, message: str) -> Published:
        """Commit what changed in the paths, push if that is wanted, and say what came of it."""
        done = Published(False)
        try:
            folder = self._folder()
            self._nothing_under_way(folder)
            commit, files = self._commit(folder, message)
            done = Published(True, "", commit, bool(files), False, files)
            if self.push and commit:
                self._push(commit)
                done = Published(True, "", commit, bool(files), True, files)
            return done
        except CannotPublish as pending:
            return Published(
                False, str(pending), done.commit, done.committed, False, done.files, pending.found
            )

    # -- git -----------------------------------------------------------------------------------

    def _git(
        self, *words: str, index: Path | None = None, text: str = "", who: bool = False
    ) -> subprocess.CompletedProcess[str]:
        environment = {name: value for name, value in os.environ.items() if name not in _PLACES}
        environment |= {"GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C", "GIT_EDITOR": "true"}
        if index is not None:
            environment["GIT_INDEX_FILE"] = str(index)
        if who:
            environment |= {
                f"GIT_{role}_{k}": v for role in ("AUTHOR", "COMMITTER") for k, v in _NOBODY.items()
            }
        try:
            process = subprocess.Popen(
                ["git", "-C", str(self.root), *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, text=True, errors="replace", env=environment, start_new_session=True,
            )  # fmt: skip
        except OSError as fault:
            raise CannotPublish(f"git cannot be run: {fault.strerror}") from fault
        try:
            out, err = process.communicate(text, timeout=self.timeout_seconds)
        except subprocess.TimeoutExpired:
            with suppress(OSError):
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            raise CannotPublish(f"git {words[0]} took longer than {self.timeout_seconds:g} seconds") from None
        return subprocess.CompletedProcess(words, process.returncode, out, err)

    def _ask(self, *words: str, index: Path | None = None) -> str:
        """What git says, or Pending with its complaint."""
        told = self._git(*words, index=index)
        if told.returncode != 0:
            raise CannotPublish(f"git {words[0]}: {_complaint(told)}")
        return told.stdout

    def _folder(self) -> Path:
        told = self._git("rev-parse", "--absolute-git-dir", "--is-inside-work-tree")
        lines = told.stdout.split("\n")
        if told.returncode != 0 or "true" not in lines:
            raise CannotPublish(f"{self.root} is not in a working tree of git")
        return Path(lines[0])

    def _nothing_under_way(self, folder: Path) -> None:
        for name, what in _UNDER_WAY.items():
            if (folder / name).exists():
                raise CannotPublish(f"{what} is under way: nothing is committed into it")
        if self._ask("ls-files", "--unmerged"):
            raise CannotPublish("there are conflicts: nothing is committed into them")

    # -- commit --------------------------------------------------------------------------------

    def _commit(self, folder: Path, message: str) -> tuple[str, tuple[str, ...]]:
        """(the commit that has the paths as they are, the files that were committed now)."""
        original = Path(self._ask("rev-parse", "--git-path", "index").strip())
        original = original if original.is_absolute() else self.root / original
        self._wait_for_index(original)
        index = folder / f"segue-index-{os.urandom(6).hex()}"
        head = self._git("rev-parse", "--verify", "-q", "HEAD").stdout.strip()
        try:
            if original.exists():
                shutil.copyfile(original, index)
            paths = self._known(index)
            files = self._changed(index, paths, head) if paths else ()
            if files:
                self._no_secrets(files, message)
                trip("handover.commit.before")
                if not self._make_commit(index, paths, message, head):
                    files = ()
                trip("handover.commit.after")
            if paths:
                self._refresh(paths, original)
        finally:
            for left in (index, index.with_name(f"{index.name}.lock")):
                left.unlink(missing_ok=True)
        return self._git("rev-parse", "--verify", "-q", "HEAD").stdout.strip(), files

    def _wait_for_index(self, original: Path) -> None:
        lock = original.with_name(f"{original.name}.lock")
        deadline = time.monotonic() + self.lock_seconds
        while lock.exists():
            if time.monotonic() > deadline:
                raise CannotPublish(
                    f"another git has the index: {lock} is there for {self.lock_seconds:g} seconds"
                )
            time.sleep(0.05)

    def _known(self, index: Path) -> list[str]:
        """Those of the paths that exist or that git knows; Pending if one of them is ignored."""
        known = []
        for path in self.paths:
            there = os.path.lexists(self.root / path)
            tracked = bool(self._ask("ls-files", "-z", "--", path, index=index))
            if there and not tracked and self._git("check-ignore", "-q", "--", path).returncode == 0:
                raise CannotPublish(f"git ignores {path}: nothing of it can be committed")
            if there or tracked:
                known.append(path)
        return known

    def _changed(self, index: Path, paths: list[str], head: str) -> tuple[str, ...]:
        self._ask("add", "-A", "--", *paths, index=index)
        words = ("diff", "--cached", "--name-only", "-z", "--no-renames", "--no-relative")
        if head:
            told = self._ask(*words, head, "--", *paths, index=index)
        else:
            told = self._ask("ls-files", "-z", "--full-name", "--", *paths, index=index)
        return tuple(name for name in told.split("\0") if name)

    def _no_secrets(self, files: Sequence[str], message: str) -> None:
        top = Path(self._ask("rev-parse", "--show-toplevel").rstrip("\n"))
        found = [f"the commit's message: {kind}" for _, kind in secrets_in(message)]
        for name in files:
            found += [f"{name}: its name is a {kind}" for _, kind in secrets_in(name)]
            try:
                with open(top / name, "rb") as file:
                    body = file.read(_SCAN_BYTES_MAX + 1)
            except FileNotFoundError:
                continue  # its removal is what is published
            except OSError as fault:
                raise CannotPublish(f"{name} cannot be read: {fault.strerror}") from fault
            if len(body) > _SCAN_BYTES_MAX:
                raise CannotPublish(
                    f"{name} is larger than {_SCAN_BYTES_MAX:,} bytes: it is not published unread"
                )
            found += [f"{name}:{line}: {kind}" for line, kind in secrets_in(body.decode("utf-8", "replace"))]
        if found:
            raise CannotPublish(f"something looks like a secret: {found[0]}", found)

    def _make_commit(self, index: Path, paths: list[str], message: str, head: str) -> bool:
        """Whether it was made here: a git that outlived a killed handover may just have made the same."""
        words = ["commit", "--quiet", "--cleanup=whitespace", "--file=-", "--only"]
        words += [] if self.hooks else ["--no-verify"]
        words += [] if self.sign is None else ["--gpg-sign" if self.sign else "--no-gpg-sign"]
        nobody = self._git("var", "GIT_COMMITTER_IDENT").returncode != 0
        told = self._git(*words, "--", *paths, index=index, text=message, who=nobody)
        if told.returncode == 0:
            return True
        now = self._git("rev-parse", "--verify", "-q", "HEAD").stdout.strip()
        if now == head or self._changed(index, paths, now):
            raise CannotPublish(f"git commit: {_complaint(told)}")
        return False

    def _refresh(self, paths: list[str], original: Path) -> None:
        """Let the user's index know what is committed, of these paths and of nothing else."""
        if self._git("diff", "--cached", "--quiet", "--", *paths).returncode == 0:
            return
        self._wait_for_index(original)
        self._ask("reset", "--quiet", "--", *paths)

    # -- push ----------------------------------------------------------------------------------

    def _push(self, commit: str) -> None:
        current = self._git("symbolic-ref", "--quiet", "--short", "HEAD").stdout.strip()
        branch = self.branch or current
        if not branch:
            raise CannotPublish("no branch is checked out, and none is named to push to")
        if current and current != branch:
            raise CannotPublish(f"{current} is checked out: it is not pushed to {branch}")
        ref = f"refs/heads/{branch}"
        if self._has(ref, commit):
            return
        words = ["push", "--quiet", *([] if self.hooks else ["--no-verify"])]
        told = self._git(*words, self.remote, f"{commit}:{ref}")
        trip("handover.push.after")
        if told.returncode != 0:
            raise CannotPublish(f"git push: {_complaint(told)}")
        if not self._has(ref, commit):
            raise CannotPublish(f"{self.remote} took the push, and does not have {commit[:12]} on {branch}")

    def _has(self, ref: str, commit: str) -> bool:
        """Whether the remote's branch is this commit, or holds it."""
        told = self._ask("ls-remote", self.remote, ref).split()
        if not told:
            return False
        tip = told[0]
        if tip == commit:
            return True
        if self._git("cat-file", "-e", f"{tip}^{{commit}}").returncode != 0:
            self._ask("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", self.remote, ref)
        return self._git("merge-base", "--is-ancestor", commit, tip).returncode == 0


def _complaint(told: subprocess.CompletedProcess[str]) -> str:
    """What git, or a hook, said in the first lines that say something; URLs lose their credentials."""
    lines = [line.strip() for line in (told.stderr or told.stdout).splitlines() if line.strip()]
    worse = [line for line in lines if re.match(r"(fatal|error|remote:|! )", line)] or lines
    text = " / ".join(worse[:3])[:300] or f"exit {told.returncode}"
    return re.sub(r"://[^/@\s]+@", "://", text)
