"""Commits our own paths and pushes the commit, without touching anything of the user's.

The commit is made with a copy of the index, so what the user has staged stays staged and is in no commit of
ours. Nothing is forced, nothing is done during a merge or rebase, and nothing is committed that looks like a
secret. A push counts when the remote itself reports the commit. What cannot be done now stays pending with a
reason, and the same call completes it later.

The commit is the user's: hooks, filters, signing and the way to the remote are those that his ``git commit``
and ``git push`` would use. Everything else that git is asked runs nothing that the repository configures.
"""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from ..._failpoints import trip
from ..._files import copy_file, open_file
from ...core.base.values import Value
from ..processes.end_group import end_group
from ..redaction.redact import secrets_in
from .command import Allowed, open_git
from .filters import filters_of

LOCK_SECONDS = 10.0
"""How long to wait for another git process that holds the index."""
_UNDER_WAY = {
    "MERGE_HEAD": "a merge",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase",
    "BISECT_LOG": "a bisection",
}
_SCAN_BYTES_MAX = 32_000_000
_NOBODY = {"NAME": "Segue", "EMAIL": "segue@localhost"}
"""The author where git is not configured with one."""


class Published(Value):
    """The result of publishing."""

    ok: bool
    reason: str = ""
    """Why it is pending; empty if it is done."""
    commit: str = ""
    committed: bool = False
    """Whether this call made the commit."""
    pushed: bool = False
    """Whether the remote reports that it has the commit."""
    files: tuple[str, ...] = ()
    found: tuple[str, ...] = ()
    """Where something looks like a secret: ``file:line: kind``."""


class CannotPublish(Exception):
    """Publishing is not possible now; a later call may succeed."""

    def __init__(self, reason: str, found: Sequence[str] = ()) -> None:
        super().__init__(reason)
        self.found = tuple(found)


class Publisher(Value):
    """Publishes some paths of a repository."""

    root: Path
    paths: Sequence[str]
    push: bool = False
    remote: str = "origin"
    branch: str = ""
    """The branch to push to; empty for the one that is checked out."""
    hooks: bool = True
    sign: bool | None = None
    """Whether to sign the commit; None leaves that to git's configuration."""
    timeout_seconds: float = 60.0
    lock_seconds: float = LOCK_SECONDS

    @property
    def _hooks(self) -> tuple[Allowed, ...]:
        return ("hooks",) if self.hooks else ()

    def publish(self, message: str) -> Published:
        """Commit what changed in the paths, and push it if that is wanted."""
        done = Published(False)
        try:
            folder = self._git_folder()
            self._check_nothing_under_way(folder)
            commit, files = self._commit(folder, message)
            done = Published(True, "", commit, bool(files), False, files)
            if self.push and commit:
                self._push(commit)
                done = replace(done, pushed=True)
            return done
        except CannotPublish as pending:
            return replace(done, ok=False, reason=str(pending), pushed=False, found=pending.found)

    def _git(
        self, *words: str, index: Path | None = None, text: str = "", our_author: bool = False,
        allow: tuple[Allowed, ...] = (),
    ) -> subprocess.CompletedProcess[str]:  # fmt: skip
        environment = {"GIT_INDEX_FILE": str(index)} if index is not None else {}
        if our_author:
            for name, value in _NOBODY.items():
                environment |= {f"GIT_AUTHOR_{name}": value, f"GIT_COMMITTER_{name}": value}
        try:
            process = open_git(
                self.root, *words, allow=allow, environment=environment, stdin=subprocess.PIPE,
                stderr=subprocess.PIPE, text=True, errors="replace", start_new_session=True,
            )  # fmt: skip
        except OSError as fault:
            raise CannotPublish(f"git cannot be run: {fault.strerror}") from fault
        try:
            out, err = process.communicate(text, timeout=self.timeout_seconds)
        except subprocess.TimeoutExpired:
            end_group(process)
            process.communicate()
            raise CannotPublish(f"git {words[0]} took longer than {self.timeout_seconds:g} seconds") from None
        return subprocess.CompletedProcess(words, process.returncode, out, err)

    def _ask(self, *words: str, index: Path | None = None, allow: tuple[Allowed, ...] = ()) -> str:
        """The output of a git command; CannotPublish with its error message if it fails."""
        done = self._git(*words, index=index, allow=allow)
        if done.returncode != 0:
            raise CannotPublish(f"git {words[0]}: {_error_message(done)}")
        return done.stdout

    def _git_folder(self) -> Path:
        done = self._git("rev-parse", "--absolute-git-dir", "--is-inside-work-tree")
        lines = done.stdout.split("\n")
        if done.returncode != 0 or "true" not in lines:
            raise CannotPublish(f"{self.root} is not in a git working tree")
        return Path(lines[0])

    def _check_nothing_under_way(self, folder: Path) -> None:
        for name, what in _UNDER_WAY.items():
            if (folder / name).exists():
                raise CannotPublish(f"{what} is in progress: nothing is committed until it is finished")
        if self._ask("ls-files", "--unmerged"):
            raise CannotPublish("there are merge conflicts: nothing is committed until they are resolved")

    def _commit(self, folder: Path, message: str) -> tuple[str, tuple[str, ...]]:
        """The commit that has the paths as they are, and the files that this call committed."""
        original = Path(self._ask("rev-parse", "--git-path", "index").strip())
        original = original if original.is_absolute() else self.root / original
        self._wait_for_index(original)
        index = folder / f"segue-index-{os.urandom(6).hex()}"
        head = self._git("rev-parse", "--verify", "-q", "HEAD").stdout.strip()
        try:
            if original.exists():
                copy_file(original, index)
            paths = self._known(index)
            allow = self._filters(index, paths)
            files = self._changed(index, paths, head, allow) if paths else ()
            if files:
                self._check_no_secrets(files, message)
                trip("handover.commit.before")
                if not self._make_commit(index, paths, message, head, allow):
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
                raise CannotPublish(f"another git process has held {lock} for {self.lock_seconds:g} seconds")
            time.sleep(0.05)

    def _known(self, index: Path) -> list[str]:
        """Those of the paths that exist or are tracked; CannotPublish if one of them is ignored."""
        known = []
        for path in self.paths:
            exists = os.path.lexists(self.root / path)
            tracked = bool(self._ask("ls-files", "-z", "--", path, index=index))
            if exists and not tracked and self._git("check-ignore", "-q", "--", path).returncode == 0:
                raise CannotPublish(f"git ignores {path}: it cannot be committed")
            if exists or tracked:
                known.append(path)
        return known

    def _filters(self, index: Path, paths: list[str]) -> tuple[Allowed, ...]:
        """Filters are run if one of the files to commit is under one: it may be what encrypts the file."""
        if not paths:
            return ()
        listed = self._ask("ls-files", "-z", "-c", "-o", "--exclude-standard", "--", *paths, index=index)
        return (
            ("filters",) if filters_of(self.root, map(os.fsencode, filter(None, listed.split("\0")))) else ()
        )

    def _changed(
        self, index: Path, paths: list[str], head: str, allow: tuple[Allowed, ...]
    ) -> tuple[str, ...]:
        self._ask("add", "-A", "--", *paths, index=index, allow=allow)
        words = ("diff", "--cached", "--name-only", "-z", "--no-renames", "--no-relative")
        if head:
            names = self._ask(*words, head, "--", *paths, index=index)
        else:
            names = self._ask("ls-files", "-z", "--full-name", "--", *paths, index=index)
        return tuple(name for name in names.split("\0") if name)

    def _check_no_secrets(self, files: Sequence[str], message: str) -> None:
        top = Path(self._ask("rev-parse", "--show-toplevel").rstrip("\n"))
        found = [f"the commit message: {kind}" for _, kind in secrets_in(message)]
        for name in files:
            found += [f"{name}: its name is a {kind}" for _, kind in secrets_in(name)]
            try:
                with open_file(top / name) as file:
                    body = file.read(_SCAN_BYTES_MAX + 1)
            except FileNotFoundError:
                continue  # the commit removes it
            except OSError as fault:
                raise CannotPublish(f"{name} cannot be read: {fault.strerror}") from fault
            if len(body) > _SCAN_BYTES_MAX:
                size = f"{name} is larger than {_SCAN_BYTES_MAX:,} bytes"
                raise CannotPublish(f"{size}: too large to scan for secrets")
            found += [f"{name}:{line}: {kind}" for line, kind in secrets_in(body.decode("utf-8", "replace"))]
        if found:
            raise CannotPublish(f"something looks like a secret: {found[0]}", found)

    def _make_commit(
        self, index: Path, paths: list[str], message: str, head: str, allow: tuple[Allowed, ...]
    ) -> bool:
        """Whether this call made the commit: a git process of a killed handover may have made it."""
        words = ["commit", "--quiet", "--cleanup=whitespace", "--file=-", "--only"]
        words += [] if self.hooks else ["--no-verify"]
        words += [] if self.sign is None else ["--gpg-sign" if self.sign else "--no-gpg-sign"]
        no_author = self._git("var", "GIT_COMMITTER_IDENT").returncode != 0
        done = self._git(
            *words, "--", *paths, index=index, text=message, our_author=no_author,
            allow=(*allow, "signing", *self._hooks),
        )  # fmt: skip
        if done.returncode == 0:
            return True
        now = self._git("rev-parse", "--verify", "-q", "HEAD").stdout.strip()
        if now == head or self._changed(index, paths, now, allow):
            raise CannotPublish(f"git commit: {_error_message(done)}")
        return False

    def _refresh(self, paths: list[str], original: Path) -> None:
        """Update the user's index to the commit, for these paths only."""
        if self._git("diff", "--cached", "--quiet", "--", *paths).returncode == 0:
            return
        self._wait_for_index(original)
        self._ask("reset", "--quiet", "--", *paths)

    def _push(self, commit: str) -> None:
        current = self._git("symbolic-ref", "--quiet", "--short", "HEAD").stdout.strip()
        branch = self.branch or current
        if not branch:
            raise CannotPublish("no branch is checked out, and no branch to push to is set")
        if current and current != branch:
            raise CannotPublish(f"{current} is checked out, so nothing is pushed to {branch}")
        ref = f"refs/heads/{branch}"
        if self._has(ref, commit):
            return
        words = ["push", "--quiet", *([] if self.hooks else ["--no-verify"])]
        done = self._git(
            *words, self.remote, f"{commit}:{ref}", allow=("transports", "signing", *self._hooks)
        )
        trip("handover.push.after")
        if done.returncode != 0:
            raise CannotPublish(f"git push: {_error_message(done)}")
        if not self._has(ref, commit):
            raise CannotPublish(f"{self.remote} accepted the push but {branch} does not have {commit[:12]}")

    def _has(self, ref: str, commit: str) -> bool:
        """Whether the remote's branch is at this commit or contains it."""
        words = self._ask("ls-remote", self.remote, ref, allow=("transports",)).split()
        if not words:
            return False
        tip = words[0]
        if tip == commit:
            return True
        if self._git("cat-file", "-e", f"{tip}^{{commit}}").returncode != 0:
            self._ask(
                "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", self.remote, ref,
                allow=("transports",),
            )  # fmt: skip
        return self._git("merge-base", "--is-ancestor", commit, tip).returncode == 0


def _error_message(done: subprocess.CompletedProcess[str]) -> str:
    """The first lines of an error that git or a hook printed, without credentials in URLs."""
    lines = [line.strip() for line in (done.stderr or done.stdout).splitlines() if line.strip()]
    errors = [line for line in lines if re.match(r"(fatal|error|remote:|! )", line)] or lines
    text = " / ".join(errors[:3])[:300] or f"exit {done.returncode}"
    return re.sub(r"://[^/@\s]+@", "://", text)
