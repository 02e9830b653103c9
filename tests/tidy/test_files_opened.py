"""Files are opened by one function that never waits for a pipe or reads a device."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "src" / "segue"
ALLOWED = {
    "_files.py": "the function itself",
    "_installed.py": "only what the installer wrote of this package",
    "effects/processes/check_runner.py": "only files of /proc, which the kernel makes",
    "effects/processes/identity.py": "only files of /proc, which the kernel makes",
}
MODULES = [
    path for path in sorted(PACKAGE.rglob("*.py"))
    if path.relative_to(PACKAGE).parts[0] != "testing" and str(path.relative_to(PACKAGE)) not in ALLOWED
]  # fmt: skip


def reads(tree: ast.AST) -> list[int]:
    """The lines that open a file to read it without the function."""
    lines = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = node.func
        if isinstance(name, ast.Name) and name.id == "open":
            lines.append(node.lineno)
        if (
            isinstance(name, ast.Attribute)
            and name.attr in ("read_text", "read_bytes")
            and not _on_module(name)
        ):
            lines.append(node.lineno)
        if isinstance(name, ast.Attribute) and name.attr in ("copyfile", "copy2", "copytree"):
            lines.append(node.lineno)
        modes = [a.value for a in node.args if isinstance(a, ast.Constant) and a.value in ("r", "rb", "rt")]
        if isinstance(name, ast.Attribute) and name.attr == "open" and modes:
            lines.append(node.lineno)
    return lines


def _on_module(name: ast.Attribute) -> bool:
    return isinstance(name.value, ast.Name) and name.value.id == "_files"


def test_the_check_sees_every_way_to_open_a_file() -> None:
    code = (
        "open('x')\npath.read_text()\npath.read_bytes()\npath.open('rb')\nread_text(path)\nos.open(path, 0)\n"
        "shutil.copyfile(path, other)\n"
    )
    assert reads(ast.parse(code)) == [1, 2, 3, 4, 7]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_module_reads_files_by_the_function_that_never_waits(path: Path) -> None:
    lines = reads(ast.parse(path.read_text(encoding="utf-8")))
    assert not lines, (
        f"{path.name}: lines {lines}: use `open_file`, `read_bytes`, `read_text` or `copy_file` of `_files`"
    )
