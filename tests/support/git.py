"""Real git repositories for tests."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path


class Repository:
    """A repository in a folder, made if it is not there."""

    def __init__(self, folder: Path, *, fresh: bool = True) -> None:
        self.folder = folder
        if fresh:
            folder.mkdir(parents=True, exist_ok=True)
            self.git("init", "-q")

    def git(self, *words: str, at: float | None = None, ok: bool = True, author: str = "") -> str:
        """Run git; ``at`` is the time that it takes for now."""
        more = (
            {"GIT_AUTHOR_DATE": f"@{int(at)} +0000", "GIT_COMMITTER_DATE": f"@{int(at)} +0000"} if at else {}
        )
        if author:
            more |= {"GIT_AUTHOR_NAME": author, "GIT_AUTHOR_EMAIL": f"{author.lower()}@example.org"}
        done = subprocess.run(
            ["git", "-C", str(self.folder), *words], capture_output=True, text=True, check=False,
            env={**os.environ, **more},
        )  # fmt: skip
        assert not ok or done.returncode == 0, f"git {words}: {done.stdout}{done.stderr}"
        return done.stdout.strip()

    def write(self, files: Mapping[str, str]) -> None:
        for name, text in files.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def commit(
        self,
        subject: str,
        files: Mapping[str, str] | None = None,
        *,
        at: float | None = None,
        author: str = "",
    ) -> str:
        """Write files, commit the whole tree, and return the commit."""
        self.write(files or {})
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", subject, at=at, author=author)
        return self.head()

    def head(self, name: str = "HEAD") -> str:
        return self.git("rev-parse", name)
