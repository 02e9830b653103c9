"""Where a handover is published, beyond the local disk.

A backend returns whether it has published. False means pending: the step stays undone, and a resume tries
again. ``GitBackend`` returns True only when git has the commit and, with ``push``, the remote has it too.
"""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from .._checked_calls import checked
from ..effects.git.publish import Published, Publisher


class Backend(Protocol):
    """The interface of a backend."""

    def publish(self, message: str, dry_run: bool = False) -> bool:
        """Publish, and return whether it succeeded; False means that a resume tries again."""


@checked
class NullBackend:
    """Publishes nothing: files on disk are enough."""

    def publish(self, message: str, dry_run: bool = False) -> bool:
        """Always succeeds."""
        return True


@checked
class GitBackend:
    """Commits its own paths and nothing else, and pushes the commit."""

    def __init__(
        self, repo_root: Path | str, paths: list[str] | None = None, branch: str = "main",
        remote: str = "origin", push: bool = True, timeout: int = 60,
    ) -> None:  # fmt: skip
        self.repo_root = Path(repo_root)
        self.paths = paths or ["."]
        self.branch = branch
        self.remote = remote
        self.push = push
        self.timeout = timeout
        self.last = Published(False, "nothing has been published yet")
        """The result of the last call, with the reason if it is pending."""

    def publish(self, message: str, dry_run: bool = False) -> bool:
        """Commit, push if that is wanted, and check that the remote has the commit."""
        if dry_run:
            return True
        publisher = Publisher(
            self.repo_root, self.paths, push=self.push, remote=self.remote, branch=self.branch,
            timeout_seconds=self.timeout,
        )  # fmt: skip
        self.last = publisher.publish(message)
        return self.last.ok


def require(backend: Backend, message: str) -> None:
    """Publish; RuntimeError with the reason if that fails."""
    if not backend.publish(message):
        reason = backend.last.reason if isinstance(backend, GitBackend) else ""
        raise RuntimeError(reason or "backend.publish failed")
