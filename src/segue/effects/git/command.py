"""The one way in which Segue runs git: so that nothing a repository's own configuration names is run.

A repository that was unpacked from an archive brings a configuration along, and git runs programs that stand
in it, some of them for a mere ``git status``: a file system monitor, filters, hooks, text conversions, a
signing program, transports. Here all of them are off, whatever the repository says. Only what a caller allows
by name is left to the configuration, because the user asked for it: hooks, filters and signing for a commit
that he wants, transports for a push.

Filters are off for files of Git LFS too, whose program reads the repository's configuration; ``filters.py``
knows how to tell without them whether such a file has changed.
"""

from __future__ import annotations

import os
import stat
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import IO, Any, Literal

from ..._files import read_bytes
from . import repository as git

Allowed = Literal["hooks", "filters", "signing", "transports"]
_ALWAYS_OFF = {
    "core.fsmonitor": "false",
    "core.pager": "cat",
    "core.editor": "true",
    "sequence.editor": "true",
    "core.alternateRefsCommand": "true",
    "core.quotePath": "false",
    "log.showSignature": "false",
    "protocol.ext.allow": "never",
    "submodule.recurse": "false",
    "status.submoduleSummary": "false",
    "diff.submodule": "short",
    "safe.bareRepository": "explicit",
}
_OFF: dict[Allowed, dict[str, str]] = {
    "hooks": {"core.hooksPath": os.devnull},
    "filters": {},  # by their names
    "signing": {
        "gpg.program": "false",
        "gpg.openpgp.program": "false",
        "gpg.x509.program": "false",
        "gpg.ssh.program": "false",
        "gpg.ssh.defaultKeyCommand": "false",
    },
    "transports": {
        "core.sshCommand": "false",
        "core.gitProxy": "false",
        "core.askPass": "true",
        "credential.helper": "",
    },
}
_FLAGS = {
    "status": ("--ignore-submodules=dirty",),
    "diff": ("--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty"),
    "log": ("--no-ext-diff", "--no-textconv"),
}
"""Git looks into a submodule with a process of its own, whose filters are not known here by name."""
_NO_TRANSPORT = {"GIT_ALLOW_PROTOCOL": "", "GIT_NO_LAZY_FETCH": "1", "GIT_ASKPASS": "true", "SSH_ASKPASS": ""}
_LFS = "lfs"
_CONFIG_BYTES_MAX, _CONFIG_SECONDS = 1_000_000, 10.0


def open_git(
    root: Path, *words: str, allow: tuple[Allowed, ...] = (), environment: Mapping[str, str] | None = None,
    stdin: int | IO[Any] = subprocess.DEVNULL, stderr: int = subprocess.DEVNULL, **more: Any,
) -> subprocess.Popen[Any]:  # fmt: skip
    """Start a git command in a folder; OSError if there is no git. ``allow`` names what the repository's
    configuration may run. Git takes no optional locks, never prompts, and does not see which repository the
    caller's environment names."""
    return subprocess.Popen(
        git_command(root, *words, allow=allow), stdin=stdin, stdout=subprocess.PIPE, stderr=stderr,
        env={**_environment(allow), **(environment or {})}, **more,
    )  # fmt: skip


def _environment(allow: tuple[Allowed, ...] = ()) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith("GIT_") or _is_kept(k)}
    kept |= {"GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0", "GIT_EDITOR": "true"}
    return kept | ({} if "transports" in allow else _NO_TRANSPORT)


def _is_kept(name: str) -> bool:
    """Whether a variable of git is about the user and not about a repository."""
    return name.startswith(("GIT_CONFIG", "GIT_AUTHOR", "GIT_COMMITTER", "GIT_SSH", "GIT_SSL", "GIT_ASKPASS"))


def git_command(root: Path, *words: str, allow: tuple[Allowed, ...] = ()) -> list[str]:
    """The words of a git command; the first of ``words`` is git's subcommand."""
    settings = dict(_ALWAYS_OFF)
    for kind, off in _OFF.items():
        settings |= {} if kind in allow else off
    if "filters" not in allow:
        for name in sorted({_LFS, *own_filters(root)}):
            settings |= {f"filter.{name}.{key}": "" for key in ("clean", "smudge", "process")}
            settings[f"filter.{name}.required"] = "false"
    options = [part for key, value in settings.items() for part in ("-c", f"{key}={value}")]
    subcommand, *rest = words
    return ["git", "--no-pager", "-C", str(root), *options, subcommand, *_FLAGS.get(subcommand, ()), *rest]


def own_filters(root: Path) -> tuple[str, ...]:
    """The names of the filters that the configuration of a repository declares."""
    repository = git.find(root)
    if repository is None:
        return ()
    stamps = []
    for file in (repository.common / "config", git.own_folder(repository) / "config.worktree"):
        with suppress(OSError):
            facts = os.stat(file)
            if stat.S_ISREG(facts.st_mode):
                stamps.append((str(file), facts.st_mtime_ns, facts.st_size))
    return _declared_filters(str(repository.root), tuple(stamps))


@lru_cache(64)
def _declared_filters(root: str, files: tuple[tuple[str, int, int], ...]) -> tuple[str, ...]:
    """Ask git only if one of these files may declare a filter: it takes a process, which runs no other."""
    if not any(size > _CONFIG_BYTES_MAX or _mentions_filter(Path(file)) for file, _, size in files):
        return ()
    words = ["git", "-C", root, "config", "--includes", "--name-only", "-z", "--get-regexp", r"^filter\."]
    try:
        asked = subprocess.run(
            words, stdin=subprocess.DEVNULL, capture_output=True, timeout=_CONFIG_SECONDS, check=False,
            env=_environment(),
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return ()
    keys = asked.stdout.decode("utf-8", "surrogateescape").split("\0")
    return tuple(dict.fromkeys(key[len("filter.") :].rpartition(".")[0] for key in keys if key))


def _mentions_filter(file: Path) -> bool:
    try:
        text = read_bytes(file).lower()
    except OSError:
        return True
    return b"filter" in text or b"include" in text
