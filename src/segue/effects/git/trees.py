"""The working tree as hashes: the content of the files that a feature covers, as it is now.

The tree is read once for all features. In a git repository git tells by stat data which files equal its
index, and only the others are read. Flags that make git skip a file (assume-unchanged, skip-worktree) are
ignored: such files are read too. Without git the tree is walked, and a file is read again only if its size,
times or inode changed. A file is identified by its mode and the hash that git would give it, so committing
what was proven changes nothing.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import subprocess
import time
from bisect import bisect_left, insort
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

import msgspec

from ..._files import open_file, read_bytes, read_text
from ...core.features.checks import glob_regex, is_literal
from ..files.atomic import is_protected_database
from .command import open_git
from .filters import LFS, filters_mentioned, filters_of, pointer_id
from .status import StatusQuery

GENERATED = frozenset(
    "__pycache__ .pytest_cache .mypy_cache .ruff_cache .hypothesis .tox .nox .venv venv node_modules .git "
    ".hg .svn .coverage htmlcov .DS_Store .idea".split()
)
"""Names of files and folders that tools create; not covered unless git tracks them."""
_RACY_SECONDS = 2.0
"""A file that changed so recently may change again without a difference in its times."""
_READ_BYTES = 1 << 20
LARGE_BYTES = 8_000_000
_FEW = 500
_STATUS_SECONDS_MAX = 86_400.0
"""Whoever proves a feature waits for git, however long it takes."""


class Tree:
    """The files of a working tree at one time."""

    def __init__(self, root: Path, lines: list[bytes], head: str = "", *, took_seconds: float = 0.0) -> None:
        self.root = root
        self.lines = lines
        """``path NUL mode SPACE hash``, sorted."""
        self.head = head
        self.took_seconds = took_seconds
        self._known: dict[tuple[str, ...], tuple[str, int]] = {}
        self._loose: dict[str, bytes] = {}
        self._spans: dict[str, list[tuple[int, int]]] = {}

    def covered(self, patterns: Sequence[str]) -> tuple[str, int]:
        """The hash of the files that these patterns cover (none: all files), and their number."""
        wanted = tuple(patterns)
        if wanted not in self._known:
            self._known[wanted] = self._hash(wanted)
        return self._known[wanted]

    def _hash(self, patterns: tuple[str, ...]) -> tuple[str, int]:
        spans: list[tuple[int, int]] = []
        loose: list[bytes] = []
        for pattern in patterns:
            matching = self._spans.get(pattern)
            if matching is None:
                matching = self._spans[pattern] = self._find(pattern)
            spans += matching
            if not matching and is_literal(pattern) and (line := self._ignored_file(pattern)):
                loose.append(line)
        if not patterns:
            spans = [(0, len(self.lines))]
        total, count, end = hashlib.sha256(), 0, 0
        for first, last in sorted(spans):
            first = max(first, end)
            if first < last:
                total.update(b"\n".join(self.lines[first:last]) + b"\n")
                count += last - first
                end = last
        for line in sorted(set(loose)):
            total.update(line + b"\n")
            count += 1
        return total.hexdigest()[:32], count

    def _find(self, pattern: str) -> list[tuple[int, int]]:
        """The ranges of lines whose paths a pattern covers."""
        plain = pattern.removesuffix("/**")
        if is_literal(plain):
            path = os.fsencode(plain)
            return [span for span in (self._span(path, b"\0", b"\1"), self._below(path)) if span[0] < span[1]]
        fixed, slash, _ = re.split(r"[*?]", pattern)[0].rpartition("/")
        first, last = self._below(os.fsencode(fixed)) if slash else (0, len(self.lines))
        fits, skip = _rule(pattern[len(fixed + slash) :]).match, len(os.fsencode(fixed + slash))
        places = [place for place in range(first, last) if fits(self.lines[place], skip)]
        if len(places) == last - first:
            return [(first, last)] if places else []
        return [(place, place + 1) for place in places]

    def _span(self, path: bytes, first: bytes, last: bytes) -> tuple[int, int]:
        start = bisect_left(self.lines, path + first)
        return start, bisect_left(self.lines, path + last, start)

    def _below(self, folder: bytes) -> tuple[int, int]:
        return self._span(folder, b"/", b"0")

    def holds(self, path: bytes) -> bool:
        """Whether the tree has a file of exactly this path."""
        place = self.place(path)
        return place < len(self.lines) and self.lines[place].startswith(path + b"\0")

    def place(self, path: bytes) -> int:
        """The position where the line of a path is or would be inserted."""
        return bisect_left(self.lines, path + b"\0")

    def _ignored_file(self, path: str) -> bytes:
        """The line of a file that is named in full but ignored by git; empty if there is no such file."""
        if path not in self._loose:
            self._loose[path] = _line(self.root, os.fsencode(path), {}) or b""
        return self._loose[path]


@lru_cache(maxsize=1024)
def _rule(glob: str) -> re.Pattern[bytes]:
    """The regular expression for the rest of a path; many features share the end of a glob."""
    return re.compile(b"(?s:" + os.fsencode(glob_regex(glob)) + b")\0")


def look(root: Path, *, cache: Path | None = None, skip: Iterable[Path] = ()) -> Tree:
    """The tree as it is now, without the paths in ``skip``; ``cache`` is a file that makes it faster."""
    start = time.monotonic()
    skipped = _below_root(root, skip)
    answer = _of_git(root, skipped, cache) if (root / ".git").exists() else None
    lines, head = answer if answer is not None else (_walked(root, skipped, cache), "")
    return Tree(root, lines, head, took_seconds=time.monotonic() - start)


def _of_git(root: Path, skip: tuple[bytes, ...], cache: Path | None) -> tuple[list[bytes], str] | None:
    """The lines of the tree and its head, by means of git; None if git fails."""
    try:
        query = StatusQuery(root, "--no-renames", "--untracked-files=all")
    except OSError:
        return None
    index = _index(root, cache)  # while git reads the tree
    _, status = query.answer(_STATUS_SECONDS_MAX)
    if status is None or index is None:
        return None
    lines, hidden = index
    head = status.head
    changed = {entry.path for entry in status.entries if entry.signs[1:] != b"."}
    changed |= hidden | _of_other_filters(root, lines)
    if not changed:
        return lines, head  # in git's own order, which is ours
    tree = Tree(root, lines)
    places = {path: tree.place(path) for path in changed if tree.holds(path)}
    fresh = {path for path in changed - places.keys() if not _is_skipped(path, skip)}
    read = sorted(places.keys() | {path for path in fresh if not is_generated(path)})
    return _replaced(lines, places, _dirty_lines(root, read, filtered=_has_filters(root, lines))), head


def _replaced(lines: list[bytes], places: dict[bytes, int], dirty: list[bytes]) -> list[bytes]:
    """The lines with fresh ones at these places; most stay where they were: no need to sort again."""
    result = list(lines)
    new = {line.partition(b"\0")[0]: line for line in dirty}
    gone = {place for path, place in places.items() if path not in new}
    for path, place in places.items():
        result[place] = new.pop(path, b"")
    if gone:
        result = [line for place, line in enumerate(result) if place not in gone]
    if len(new) > _FEW:
        return sorted([*result, *new.values()])
    for line in new.values():
        insort(result, line)
    return result


def _index(root: Path, cache: Path | None) -> tuple[list[bytes], set[bytes]] | None:
    """The lines of the index, and the paths that git was told to skip.

    Git always replaces the index file as a whole, so its lines are the same as long as the file is."""
    stamp = _stamp(root)
    if cache is not None and stamp:
        with suppress(OSError):
            first, _, rest = read_bytes(cache).partition(b"\n")
            if first == stamp:
                return rest.split(b"\n"), set()
    listing = open_git(root, "ls-files", "-s", "-v", "-z")
    entries = listing.communicate()[0].split(b"\0")[:-1]
    if listing.returncode:
        return None
    if not entries:
        return [], set()
    tab = entries[0].index(b"\t")
    lines = [entry[tab + 1 :] + b"\0" + entry[2 : tab - 2] for entry in entries]
    hidden = {entry[tab + 1 :] for entry in entries if entry[:2] != b"H "}
    if cache is not None and stamp and not hidden and stamp == _stamp(root):
        body = b"\n".join(lines)
        if body.count(b"\n") == len(lines) - 1:
            _write_cache(cache, stamp + b"\n" + body)
    return lines, hidden


def _stamp(root: Path) -> bytes:
    """What identifies a version of the index; empty if that is not certain."""
    try:
        marker = root / ".git"
        if marker.is_file():
            marker = root / read_text(marker, errors="replace").partition("gitdir:")[2].strip()
        index = os.stat(marker / "index")
    except OSError:
        return b""
    if time.time() - max(index.st_mtime, index.st_ctime) < _RACY_SECONDS:
        return b""
    return f"{index.st_ino} {index.st_size} {index.st_mtime_ns} {index.st_ctime_ns}".encode()


def _of_other_filters(root: Path, lines: list[bytes]) -> set[bytes]:
    """The tracked files under a filter whose stored form is not known here: they are read as they are, so
    that a commit changes nothing about them."""
    named = [line.partition(b"\0")[0] for line in lines if b".gitattributes\0" in line]
    if not filters_mentioned(root, named):
        return set()
    paths = [line.partition(b"\0")[0] for line in lines]
    return {path for path, name in filters_of(root, paths).items() if name != LFS}


def _pointers(root: Path, paths: Sequence[bytes]) -> dict[bytes, bytes]:
    """The ids of the files that Git LFS stores."""
    found = {}
    for path, name in filters_of(root, paths).items():
        full = os.path.join(os.fsencode(root), path)
        if name == LFS and not is_protected_database(full):
            with suppress(OSError):
                found[path] = pointer_id(full)
    return found


def _below_root(root: Path, paths: Iterable[Path]) -> tuple[bytes, ...]:
    return tuple(os.fsencode(path.relative_to(root)) for path in paths if path.is_relative_to(root))


def _is_skipped(path: bytes, skip: tuple[bytes, ...]) -> bool:
    return any(path == folder or path.startswith(folder + b"/") for folder in skip)


def is_generated(path: bytes) -> bool:
    """Whether a part of the path is the name of something that tools create."""
    return any(part in GENERATED or part.endswith(".pyc") for part in os.fsdecode(path).split("/"))


def _has_filters(root: Path, lines: list[bytes]) -> bool:
    """Whether git may convert files on their way into the index: then git must hash them itself."""
    if b".gitattributes\0" in b"\n".join(lines):  # one search; another file that ends so costs only time
        return True
    home = Path(os.environ.get("HOME") or "/")
    config = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config") / "git"
    named = os.environ.get("GIT_CONFIG_GLOBAL")
    files = [Path(named)] if named else [home / ".gitconfig", config / "config"]
    if (root / ".gitattributes").exists() or (config / "attributes").exists():
        return True
    git = root / ".git"
    if not git.is_dir() or (git / "info" / "attributes").exists():
        return True
    for file in (*files, git / "config", Path("/etc/gitconfig")):
        with suppress(OSError):
            text = read_bytes(file).lower()
            if any(word in text for word in (b"autocrlf", b"attributesfile", b"objectformat", b"include")):
                return True
    return False


def _dirty_lines(root: Path, paths: list[bytes], *, filtered: bool) -> list[bytes]:
    """The lines of files that must be read; with filters git hashes them, which takes longer."""
    plain = [path for path in paths if b"\n" not in path and _is_file(root, path)] if filtered else []
    ids: dict[bytes, bytes] = {}
    if plain:
        hashing = open_git(root, "hash-object", "--stdin-paths", stdin=subprocess.PIPE)
        hashes = hashing.communicate(b"".join(path + b"\n" for path in plain))[0].split(b"\n")[:-1]
        if hashing.returncode == 0 and len(hashes) == len(plain):
            ids = dict(zip(plain, hashes, strict=True))
        ids |= _pointers(root, plain)
    lines: list[bytes] = []
    for path in paths:
        if path.endswith(b"/") or os.path.isdir(os.path.join(os.fsencode(root), path)):
            below = Path(os.fsdecode(os.path.join(os.fsencode(root), path)))
            folder = path.rstrip(b"/") + b"/"
            lines += [folder + line for line in _walked(below, (), None)]
        elif line := _line(root, path, ids):
            lines.append(line)
    return lines


def _is_file(root: Path, path: bytes) -> bool:
    with suppress(OSError):
        return stat.S_ISREG(os.lstat(os.path.join(os.fsencode(root), path)).st_mode)
    return False


def _line(root: Path, path: bytes, ids: dict[bytes, bytes]) -> bytes | None:
    """The line of a file as it is now; None if there is no such file."""
    full = os.path.join(os.fsencode(root), path)
    try:
        facts = os.lstat(full)
        if stat.S_ISLNK(facts.st_mode):
            return path + b"\x00120000 " + _blob(os.readlink(full))
        if not stat.S_ISREG(facts.st_mode):
            return None
        return path + b"\0" + _mode(facts) + b" " + (ids.get(path) or _blob_of_file(full))
    except OSError:
        return None


def _mode(facts: os.stat_result) -> bytes:
    return b"100755" if facts.st_mode & 0o100 else b"100644"


def _blob(body: bytes) -> bytes:
    return hashlib.sha1(b"blob %d\0" % len(body) + body, usedforsecurity=False).hexdigest().encode()


def _blob_of_file(path: bytes) -> bytes:
    if is_protected_database(path):
        raise PermissionError(f"{os.fsdecode(path)} is a database that this process has open")
    with open_file(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size <= _READ_BYTES:
            return _blob(file.read())
        total = hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False)
        while chunk := file.read(_READ_BYTES):
            total.update(chunk)
    return total.hexdigest().encode()


def blob_ids(root: Path, paths: Sequence[bytes]) -> dict[bytes, str]:
    """The hash that git would give to the content of each file; paths that are no files are left out."""
    lines = _dirty_lines(root, list(paths), filtered=_has_filters(root, []))
    wanted = set(paths)
    pairs = (line.partition(b"\0") for line in lines)
    return {path: rest.partition(b" ")[2].decode() for path, _, rest in pairs if path in wanted}


Seen = dict[bytes, tuple[int, int, int, int, bytes]]
"""By path: size, modification time, change time, inode, and mode and hash as in a line."""


def hash_files(
    root: Path, *, cache: Path | None, skip: Iterable[Path], most: int, seconds: float
) -> dict[bytes, bytes] | None:
    """The hash of each file in a folder without git, by path; None if there are too many or it takes long."""
    try:
        lines = _walked(root, _below_root(root, skip), cache, most, time.monotonic() + seconds)
    except OverflowError:
        return None
    pairs = (line.partition(b"\0") for line in lines)
    return {path: rest.partition(b" ")[2] for path, _, rest in pairs}


def _walked(
    root: Path, skip: tuple[bytes, ...], cache: Path | None, most: int = 0, until: float = 0.0
) -> list[bytes]:
    """The lines of a folder; OverflowError as soon as there are more than ``most``, or the time is over."""
    before, at = _read_cache(cache)
    seen: Seen = {}
    lines: list[bytes] = []
    todo = [b""]
    while todo:
        if most and (len(lines) > most or time.monotonic() > until):
            raise OverflowError
        folder = todo.pop()
        try:
            entries = list(os.scandir(os.path.join(os.fsencode(root), folder)))
        except OSError:
            continue
        for entry in entries:
            path = folder + b"/" + entry.name if folder else entry.name
            if os.fsdecode(entry.name) in GENERATED or entry.name.endswith(b".pyc") or path in skip:
                continue
            if entry.is_dir(follow_symlinks=False):
                todo.append(path)
            elif line := (most and _large(path, entry)) or _walked_line(root, path, entry, before, at, seen):
                lines.append(line)
    if cache is not None and seen != before:
        _write_cache(cache, msgspec.msgpack.encode((time.time(), seen)))
    return sorted(lines)


def _large(path: bytes, entry: os.DirEntry[bytes]) -> bytes:
    """The line of a file that is too large to read, by its size and time; empty for other files."""
    with suppress(OSError):
        facts = entry.stat(follow_symlinks=False)
        if facts.st_size > LARGE_BYTES:
            return path + b"\0" + _mode(facts) + b" %d:%d" % (facts.st_size, facts.st_mtime_ns)
    return b""


def _walked_line(
    root: Path, path: bytes, entry: os.DirEntry[bytes], before: Seen, at: float, seen: Seen
) -> bytes | None:
    try:
        facts = entry.stat(follow_symlinks=False)
    except OSError:
        return None
    stamp = (facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns, facts.st_ino)
    old = before.get(path)
    newest = max(facts.st_mtime_ns, facts.st_ctime_ns) / 1e9
    if old is not None and old[:4] == stamp and newest < at - _RACY_SECONDS:
        seen[path] = old
        return path + b"\0" + old[4]
    line = _line(root, path, {})
    if line is not None:
        seen[path] = (*stamp, line[len(path) + 1 :])
    return line


def _read_cache(cache: Path | None) -> tuple[Seen, float]:
    """What was read the last time, and when; a cache that cannot be read counts as empty."""
    try:
        if cache is not None:
            at, seen = msgspec.msgpack.decode(read_bytes(cache), type=tuple[float, Seen])
            return seen, at
    except (OSError, msgspec.MsgspecError):
        pass
    return {}, 0.0


def _write_cache(cache: Path, body: bytes) -> None:
    """Replace a cache; if that fails, the next call reads the files again."""
    from ..files.atomic import private_folder

    with suppress(OSError):
        private_folder(cache.parent)
        fresh = cache.with_name(f".{cache.name}.{os.getpid()}")
        fresh.write_bytes(body)
        os.replace(fresh, cache)
