"""The installed hook file: built from its source, next to a list of the paths that it loads Segue from.

The file's place never changes, so that the command that agents know (and the trust that a user gave to
it) outlives upgrades. What changes with an upgrade stands in ``paths``.
"""

from __future__ import annotations

import ast
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

from ..._files import read_bytes
from ...effects.files.atomic import PRIVATE_FOLDER, write_whole
from ..workspace.data_folder import DataFolder

SOURCE = Path(__file__).parents[2] / "surfaces" / "hook" / "installed_file.py"
NEEDED = ("segue", "msgspec", "apsw", "re2", "_re2", "yaml", "backports.zstd")
"""The packages that a reply needs; each may be installed in a different place."""


class _Bare(ast.NodeTransformer):
    """Removes docstrings and annotations, which would be compiled at every start."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.generic_visit(node)
        node.returns = None
        for argument in node.args.args:
            argument.annotation = None
        if ast.get_docstring(node) is not None:
            node.body = node.body[1:]
        return node


def built() -> bytes:
    """The content of the file that agents run."""
    tree = ast.parse(read_bytes(SOURCE))
    tree.body = tree.body[1:]
    bare = ast.unparse(ast.fix_missing_locations(_Bare().visit(tree)))
    return f"# Written by `segue init` from Segue's {SOURCE.name}; do not edit.\n{bare}\n".encode()


def paths() -> bytes:
    """The paths that Segue and its dependencies are loaded from, one per line."""
    roots: dict[str, None] = {}
    for name in NEEDED:
        try:
            spec = find_spec(name)
        except (ImportError, ValueError):
            continue
        if spec is None:
            continue
        places = [*(spec.submodule_search_locations or ()), *([spec.origin] if spec.origin else [])]
        if places:
            roots[str(Path(places[0]).parents[name.count(".")])] = None
    return "\n".join(roots).encode("utf-8", "surrogateescape")


def file_of(home: DataFolder) -> Path:
    """Where the installed file is."""
    return home.path / "hook" / "hook.py"


def put(home: DataFolder) -> list[Path]:
    """Write the files that are missing or outdated, and return their paths."""
    wanted = {file_of(home): built(), home.path / "hook" / "paths": paths()}
    written = []
    with suppress(OSError):  # earlier versions let others look into it
        if (folder := file_of(home).parent).is_dir():
            folder.chmod(PRIVATE_FOLDER)
    for path, body in wanted.items():
        try:
            same = read_bytes(path) == body
        except OSError:
            same = False
        if not same:
            write_whole(path, body)
            written.append(path)
    return written
