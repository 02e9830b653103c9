"""The files that a file imports, as far as they are in the project.

Imports are recognised by regular expressions, without a parser: those of Python, JavaScript and TypeScript,
Go, Rust, Java, C and Ruby in their usual form. A related file is shown by its outline, the lines that declare
something: what one needs to know of a file in order to call it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from .._files import open_file
from ..core.base.lazy import regex

FILE_BYTES_MAX, OUTLINE_LINES = 200_000, 40
_PYTHON = regex(r"^\s*(?:from\s+(\.*[\w.]*)\s+import\s+([\w, ()]+)|import\s+([\w., ]+))", re.M)
_QUOTED = regex(
    r"""(?:from|require\(|import\(|import|#include|require_relative)\s*[("'<]+(\.{0,2}/?[\w@./-]+)["'>]"""
)
_RUST = regex(r"^\s*(?:pub\s+)?mod\s+(\w+)\s*;|^\s*use\s+(?:crate|super|self)::([\w:]+)", re.M)
_DECLARES = regex(
    r"^\s{0,8}(?:export\s+)?(?:default\s+)?(?:public\s+|private\s+|protected\s+|static\s+|async\s+|pub(?:\([^)]*\))?\s+)*"
    r"(?:def|class|function|func|fn|interface|type|struct|enum|trait|impl|module|const\s+\w+\s*=\s*(?:async\s*)?\()\b.*"
)
_ENDINGS = ("", *".py .ts .tsx .js .jsx .mjs .rb .h /__init__.py /index.ts /index.js".split())


def references(root: Path, path: str) -> Iterator[str]:
    """The files of the project that a file imports, in the order of its imports."""
    seen = {path}
    for name in _imported_names(path, _text(root / path)):
        imported = _resolved(root, path, name)
        if imported and imported not in seen:
            seen.add(imported)
            yield imported


def _imported_names(path: str, text: str) -> Iterable[str]:
    if path.endswith(".py"):
        for module, names, plain in _PYTHON.findall(text):
            if plain:
                yield from (name.strip().split(" ")[0].replace(".", "/") for name in plain.split(","))
                continue
            dots = len(module) - len(module.lstrip("."))
            base = module.lstrip(".").replace(".", "/")
            base = "./" + "../" * (dots - 1) + base if dots else base
            yield base
            yield from (f"{base.rstrip('/')}/{name}" for name in re.findall(r"\w+", names))
    elif path.endswith(".rs"):
        for module, used in _RUST.findall(text):
            yield f"./{module or used.split('::')[0]}.rs"
    else:
        yield from _QUOTED.findall(text)


def _resolved(root: Path, path: str, name: str) -> str:
    """The path of the file that an import means, relative to the root; empty if it is not in the project."""
    folder = (root / path).parent
    bases = [folder] if name.startswith(".") else [folder, root, root / "src", root / "lib"]
    for base in bases:
        for ending in _ENDINGS:
            candidate = base / f"{name}{ending}"
            if candidate.is_file():
                try:
                    return candidate.resolve().relative_to(root.resolve()).as_posix()
                except (ValueError, OSError):
                    return ""
    return ""


def outline(root: Path, path: str) -> str:
    """The lines of a file that declare something."""
    lines = [line.rstrip() for line in _text(root / path).split("\n") if _DECLARES.match(line)]
    return "\n".join(lines[:OUTLINE_LINES])


def _text(path: Path) -> str:
    try:
        with open_file(path) as file:
            return file.read(FILE_BYTES_MAX).decode("utf-8", "replace")
    except OSError:
        return ""
