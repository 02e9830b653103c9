"""Which files of a project the map has: what git tracks or would track, without what nobody wrote by hand.

Ignored files, links, files behind a link out of the project, large ones and those that a tool wrote
(minified, on very long lines) are left out. A file whose language is not known has a place by its path only.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ..._files import read_bytes
from ..files.codemap_file import changed_ns
from ..files.project_links import leads_out
from ..git import repository
from ..git.own_paths import NOTHING, OwnPaths
from ..git.queries import output_of
from .languages import language_of

FILE_BYTES_MAX, LINE_BYTES_MAX = 600_000, 400
FILES_MAX = 50_000
GIT_SECONDS = 10.0
_TOOLS_WROTE = frozenset({"node_modules", "bower_components", "site-packages", "__pycache__"})
_WALKED_OVER = _TOOLS_WROTE | {"build", "dist", "target", "venv", "env", "out", "vendor"}
_WRITTEN = (".min.js", ".min.css", ".bundle.js", ".lock", "-lock.json", "-lock.yaml", ".map", ".snap")
_TEXTS = frozenset(
    ".md .mdx .rst .txt .toml .yaml .yml .json .html .css .scss .sql .sh .ini .cfg .proto .graphql .xml .vue"
    " .svelte .kt .swift .php .scala .ex .exs .lua .tf .gradle .ipynb .jinja .j2 .tmpl".split()
)
_TEXT_NAMES = frozenset({"Makefile", "Dockerfile", "Gemfile", "Rakefile", "Justfile", "CMakeLists.txt"})


class ListedFile(NamedTuple):
    """A file of the project, as its folder describes it."""

    path: str
    language: str
    size: int
    changed_ns: int


def listed_files(root: Path, own: OwnPaths = NOTHING) -> list[ListedFile]:
    """The files that the map has, by their paths."""
    inside: dict[str, bool] = {}
    base = os.fspath(root)
    found = []
    for name in _names(root):
        if _is_written(name):
            continue
        language = language_of(name)
        if not language and not _is_text(name):
            continue
        folder = name.rpartition("/")[0]
        if folder not in inside:
            inside[folder] = not folder or not leads_out(root / folder, root)
        try:
            about = os.lstat(f"{base}/{name}")
        except (OSError, ValueError):
            continue
        if not inside[folder] or not stat.S_ISREG(about.st_mode) or about.st_size > FILE_BYTES_MAX:
            continue
        if own is not NOTHING and own.has(root / name):
            continue
        found.append(ListedFile(name, language, about.st_size, changed_ns(about)))
        if len(found) >= FILES_MAX:
            break
    return sorted(found)


def source_of(root: Path, path: str) -> bytes | None:
    """The code in a file; None if it is gone, binary, too large or was written by a tool."""
    try:
        body = read_bytes(root / path, FILE_BYTES_MAX + 1)
    except (OSError, ValueError):
        return None
    if len(body) > FILE_BYTES_MAX or b"\0" in body[:8_192]:
        return None
    return None if len(body) > LINE_BYTES_MAX * (body.count(b"\n") + 10) else body


def _names(root: Path) -> Iterator[str]:
    if repository.find(root) is not None:
        asked = ("ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate")
        answer = output_of(root, *asked, seconds=GIT_SECONDS)
        if answer is not None:
            for name in answer.split(b"\0"):
                try:
                    text = name.decode()
                except UnicodeDecodeError:
                    continue  # a path that is no text cannot be shown or stored
                if text:
                    yield text
            return
    yield from _walked(root)


def _walked(root: Path) -> Iterator[str]:
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(one for one in folders if one not in _WALKED_OVER and not one.startswith("."))
        base = Path(folder).relative_to(root).as_posix()
        for name in sorted(names):
            path = name if base == "." else f"{base}/{name}"
            if path.isprintable():
                yield path


def _is_written(path: str) -> bool:
    return path.endswith(_WRITTEN) or not _TOOLS_WROTE.isdisjoint(path.split("/"))


def _is_text(path: str) -> bool:
    name = path.rpartition("/")[2]
    return (
        name in _TEXT_NAMES or name[name.rfind(".") :].lower() in _TEXTS
        if "." in name
        else name in _TEXT_NAMES
    )
