"""Files that git stores in another form than they have in the working tree, through a filter program.

The program is not run here, so git compares such a file as it is with what it has stored, and says that it
has changed as soon as its time differs. For Git LFS the stored form is known: a pointer with the hash of the
content. For other filters a file counts as changed if its size is not the one that git saw last.
"""

from __future__ import annotations

import hashlib
import os
import stat
import subprocess
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from ..._files import open_file
from . import repository as git
from .command import open_git

LFS = "lfs"
_READ_BYTES, _TEXT_BYTES_MAX = 1 << 20, 1 << 20
_SECONDS = 5.0
_UNSET = (b"", b"unspecified", b"unset", b"set")


def filters_of(root: Path, paths: Iterable[bytes]) -> dict[bytes, str]:
    """The filter of each of these paths that has one."""
    wanted = [path for path in paths if not path.endswith(b"/")]
    if not wanted or not filters_mentioned(root, wanted):
        return {}
    given = b"".join(path + b"\0" for path in wanted)
    parts = _said(root, "check-attr", "-z", "--stdin", "filter", given=given).split(b"\0")
    rows = zip(parts[0::3], parts[2::3], strict=False)
    return {path: value.decode("utf-8", "replace") for path, value in rows if value not in _UNSET}


def _said(root: Path, *words: str, given: bytes = b"") -> bytes:
    """The output of a git command; empty if it fails or takes too long."""
    try:
        asking = open_git(root, *words, stdin=subprocess.PIPE)
    except OSError:
        return b""
    try:
        return bytes(asking.communicate(given, timeout=_SECONDS)[0])
    except subprocess.TimeoutExpired:
        asking.kill()
        asking.communicate()
        return b""


def filters_mentioned(root: Path, paths: Sequence[bytes]) -> bool:
    """Whether a file of attributes that holds for one of the paths speaks of filters."""
    repository = git.find(root)
    top = os.fsencode(repository.root if repository else root)
    folders = {b""}
    for path in paths:
        while path := path.rpartition(b"/")[0]:
            folders.add(path)
    files = [os.path.join(top, folder, b".gitattributes") for folder in folders]
    if repository is not None:
        files.append(os.fsencode(repository.common / "info" / "attributes"))
    home = os.path.expanduser("~")
    config = os.environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    files.append(os.fsencode(os.path.join(config, "git", "attributes")))
    return any(b"filter" in _text(file) for file in files) or _names_attributes(top)


def _text(file: bytes) -> bytes:
    """The beginning of a file in small letters; empty if there is none, or if it is no plain file."""
    with suppress(OSError):
        if stat.S_ISREG(os.stat(file).st_mode):
            with open_file(file) as opened:
                return opened.read(_TEXT_BYTES_MAX).lower()
    return b""


def _names_attributes(top: bytes) -> bool:
    """Whether a configuration names a file of attributes at another place."""
    config = os.environ.get("GIT_CONFIG_GLOBAL") or os.path.expanduser("~/.gitconfig")
    local = os.path.join(top, b".git", b"config")
    for file in (os.fsencode(config), local, b"/etc/gitconfig", b"/etc/gitattributes"):
        text = _text(file)
        if b"attributesfile" in text or (file.endswith(b"attributes") and b"filter" in text):
            return True
    return False


def pointer_id(file: bytes) -> bytes:
    """The id of the blob that Git LFS stores for a file; pointers and empty files are stored as they are."""
    content, size, start = hashlib.sha256(), 0, b""
    with open_file(file) as opened:
        while chunk := opened.read(_READ_BYTES):
            start = start or chunk[:1024]
            size += len(chunk)
            content.update(chunk)
    text = b"version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize %d\n" % (
        content.hexdigest().encode(), size,
    )  # fmt: skip
    if not size or (size < 1024 and start.startswith(b"version https://git-lfs")):
        text = start
    return hashlib.sha1(b"blob %d\0" % len(text) + text, usedforsecurity=False).hexdigest().encode()


def unchanged(root: Path, entries: dict[bytes, bytes]) -> set[bytes]:
    """Those of the entries (path, and the blob in the index) that git calls modified only because their
    filter was not run."""
    found = set()
    filtered = filters_of(root, entries)
    sizes = _sizes_in_index(root, [path for path, name in filtered.items() if name != LFS])
    for path, name in filtered.items():
        full = os.path.join(os.fsencode(root), path)
        with suppress(OSError):
            if name == LFS:
                is_same = pointer_id(full) == entries[path]
            else:
                is_same = sizes.get(path, -1) in (0, os.lstat(full).st_size)  # 0: git itself is not sure
            if is_same:
                found.add(path)
    return found


def _sizes_in_index(root: Path, paths: Sequence[bytes]) -> dict[bytes, int]:
    """The size that each file had in the working tree when git last saw it."""
    sizes: dict[bytes, int] = {}
    for path in paths:
        answer = _said(root, "ls-files", "--debug", "-z", "--", os.fsdecode(b":(literal)" + path))
        for word in answer.partition(b"\0")[2].split(b"\n"):
            name, _, value = word.strip().partition(b":")
            if name == b"size":
                sizes[path] = int(value.split()[0])
    return sizes
