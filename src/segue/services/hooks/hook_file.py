"""The recording hook as it is installed: built from its source, beside the paths that it loads Segue from.

The file's place never changes, so that the command that agents know (and the trust that a user gave to
it) outlives upgrades. What changes with an upgrade stands in ``paths``.
"""

from __future__ import annotations

import ast
from importlib.util import find_spec
from pathlib import Path

from ...effects.files.atomic import write_whole
from ..workspace.data_folder import DataFolder

SOURCE = Path(__file__).parents[2] / "surfaces" / "hook" / "installed_file.py"
NEEDED = ("segue", "msgspec", "apsw", "re2", "_re2", "yaml", "backports.zstd")
"""What is imported to answer; each may lie in a place of its own."""


class _Bare(ast.NodeTransformer):
    """Without docstrings and annotations: they are compiled at every start."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.generic_visit(node)
        node.returns = None
        for argument in node.args.args:
            argument.annotation = None
        if ast.get_docstring(node) is not None:
            node.body = node.body[1:]
        return node


def built() -> bytes:
    """The file that agents run."""
    tree = ast.parse(SOURCE.read_bytes())
    tree.body = tree.body[1:]
    bare = ast.unparse(ast.fix_missing_locations(_Bare().visit(tree)))
    return f"# Written by `segue init` from Segue's {SOURCE.name}; do not edit.\n{bare}\n".encode()


def paths() -> bytes:
    """Where Segue and what it needs is loaded from, a path a line."""
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
    """Write what is not there as it should be; gives what was written."""
    wanted = {file_of(home): built(), home.path / "hook" / "paths": paths()}
    written = []
    for path, body in wanted.items():
        try:
            same = path.read_bytes() == body
        except OSError:
            same = False
        if not same:
            write_whole(path, body)
            written.append(path)
    return written
