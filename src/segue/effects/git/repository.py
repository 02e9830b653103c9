"""Repositories and working trees, read without running git.

Every command needs to know which repository, working tree and project a folder belongs to, so that is read
from git's own files.
"""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path

from ..._files import read_text
from ...core.base.values import Value


class Repository(Value):
    """The folders of a working tree and its repository."""

    root: Path
    """Top folder of the working tree."""
    common: Path
    """The repository's own folder, shared by its worktrees."""


def find(folder: Path) -> Repository | None:
    """The repository whose working tree holds a folder."""
    for top in (folder, *folder.parents):
        marker = top / ".git"
        if marker.is_dir():
            return Repository(top, marker)
        if marker.is_file():
            return _linked(top, marker)
    return None


def _linked(top: Path, marker: Path) -> Repository | None:
    """A worktree or submodule: ``.git`` is a file that names the folder."""
    try:
        text = read_text(marker, errors="replace")
        if not text.startswith("gitdir:"):
            return None
        gitdir = (top / text[7:].strip()).resolve()
        named = gitdir / "commondir"
        common = (
            (gitdir / read_text(named, errors="replace").strip()).resolve() if named.is_file() else gitdir
        )
        return Repository(top, common)
    except (OSError, ValueError):
        return None


def own_folder(repository: Repository) -> Path:
    """The folder that holds the HEAD and the index of this working tree; each worktree has its own."""
    marker = repository.root / ".git"
    if marker.is_dir():
        return marker
    with suppress(OSError, ValueError):
        return (repository.root / read_text(marker, errors="replace").partition(":")[2].strip()).resolve()
    return repository.common


def head(repository: Repository) -> tuple[str, str]:
    """The commit and the branch that are checked out; empty where there is none."""
    try:
        text = read_text(own_folder(repository) / "HEAD", errors="replace").strip()
    except OSError:
        return "", ""
    if not text.startswith("ref: refs/heads/"):
        return text, ""
    return ref(repository, text.removeprefix("ref: ")), text.removeprefix("ref: refs/heads/")


def ref(repository: Repository, name: str) -> str:
    """The commit that a ref points to; empty if there is no such ref."""
    with suppress(OSError):
        return read_text(repository.common / name, errors="replace").strip()
    with suppress(OSError):
        packed = read_text(repository.common / "packed-refs", errors="replace")
        rows = (line.partition(" ") for line in packed.splitlines())
        return next((commit for commit, _, full in rows if full == name), "")
    return ""


def worktrees(repository: Repository) -> tuple[Path, ...]:
    """Every working tree of the repository, this one first."""
    roots = [repository.root]
    if repository.common.name == ".git":
        roots.append(repository.common.parent)
    for marker in sorted((repository.common / "worktrees").glob("*/gitdir")):
        with suppress(OSError):  # removed meanwhile
            roots.append((marker.parent / read_text(marker, errors="replace").strip()).parent)
    return tuple(path for path in dict.fromkeys(roots) if path.is_dir())


def remote_url(repository: Repository) -> str:
    """The URL of the remote ``origin``, else of the first remote; empty if there is none."""
    try:
        text = read_text(repository.common / "config", errors="replace")
    except OSError:
        return ""
    urls: dict[str, str] = {}
    name = ""
    for raw in text.splitlines():
        line = raw.strip()
        if line.startswith("["):
            match = re.fullmatch(r'\[remote "(.+)"\]', line)
            name = match[1] if match else ""
        elif name and name not in urls:
            key, equals, value = line.partition("=")
            if equals and key.strip().lower() == "url":
                urls[name] = value.strip().strip('"')
    return urls.get("origin") or next(iter(urls.values()), "")


def normalise_url(url: str) -> str:
    """``host/owner/name``, whatever the form of the remote's URL, and never with credentials.

    git@github.com:acme/shop.git, ssh://git@github.com:22/acme/shop and
    https://token@github.com/acme/shop/ give the same result. A local path stays a path.
    """
    text = url.strip().split("?")[0].split("#")[0]
    scheme = re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", text)
    if scheme:
        host, _, path = text[scheme.end() :].partition("/")
        if scheme[0].lower() == "file://":
            return _local(text[scheme.end() :])
    else:
        scp = re.match(r"(?:[^@/\\]+@)?([^:/\\]{2,}):(?!\\)(.*)", text)
        if not scp:
            return _local(text)
        host, path = scp[1], scp[2]
    host = host.rpartition("@")[2].lower()
    host = re.sub(r":\d+$", "", host)
    return "/".join(part for part in (host, _local(path).lstrip("/")) if part)


def _local(path: str) -> str:
    return re.sub(r"/+", "/", path).rstrip("/").removesuffix(".git").rstrip("/")
