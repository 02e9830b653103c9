"""Where a handover is published to, beyond the local disk.

A backend answers whether it is published. False means pending: the step stays undone and a
resume tries again. ``GitBackend`` says so only when git, and with ``push`` the remote, has it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from ..effects.git.publish import Published, Publisher


class Backend(Protocol):
    """Anything that can publish."""

    def publish(self, message: str, dry_run: bool = False) -> bool:
        """Whether it is published now."""
        ...


class NullBackend:
    """Files on disk are enough."""

    def publish(self, message: str, dry_run: bool = False) -> bool:
        """Always."""
        return True


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
        self.last = Published(False, "nothing was published yet")
        """What came of the last publish, with the reason if it is pending."""

    def publish(self, message: str, dry_run: bool = False) -> bool:
        """Commit, push if that is wanted, and ask the remote whether it has it."""
        if dry_run:
            return True
        publisher = Publisher(
            self.repo_root, self.paths, push=self.push, remote=self.remote, branch=self.branch,
            timeout_seconds=self.timeout,
        )  # fmt: skip
        self.last = publisher.publish(message)
        return self.last.ok


def require(backend: Backend, message: str) -> None:
    """Publish, or raise why not."""
    if not backend.publish(message):
        reason = backend.last.reason if isinstance(backend, GitBackend) else ""
        raise RuntimeError(reason or "backend.publish failed")
