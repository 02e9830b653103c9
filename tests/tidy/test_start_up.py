"""What a command costs before it does anything: modules compile no pattern, and hooks load what they need."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from segue.core.base.lazy import regex

PACKAGE = Path(__file__).parents[2] / "src" / "segue"
OWN_FILES = ("testing", "lazy.py", "installed_file.py")
"""What no command imports, what compiles for the others, and what imports nothing."""


def at_import(node: ast.AST) -> Iterator[ast.Call]:
    """Calls that importing a module makes."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(child, ast.Call):
            yield child
        yield from at_import(child)


def compiled_at_import(tree: ast.Module) -> list[int]:
    return [call.lineno for call in at_import(tree) if ast.unparse(call.func) == "re.compile"]


def modules() -> list[Path]:
    paths = sorted(PACKAGE.rglob("*.py"))
    return [path for path in paths if not set(OWN_FILES) & set(path.relative_to(PACKAGE).parts)]


def test_no_module_compiles_a_pattern_while_it_is_imported() -> None:
    found = [
        f"{path.relative_to(PACKAGE)}:{line}"
        for path in modules()
        for line in compiled_at_import(ast.parse(path.read_text()))
    ]
    assert not found, "use segue.core.base.lazy.regex:\n" + "\n".join(found)


def test_a_planted_pattern_is_found_at_the_top_and_not_in_a_function() -> None:
    planted = "A = re.compile('a')\ndef b():\n    return re.compile('b')\nC = {'c': re.compile('c')}\n"
    assert compiled_at_import(ast.parse(planted)) == [1, 4]


def test_every_pattern_and_decoder_that_waits_can_be_made() -> None:
    import importlib
    import pkgutil

    import segue

    kind = type(regex("a"))
    seen = 0
    for info in pkgutil.walk_packages(segue.__path__, "segue."):
        if any(part in info.name for part in ("testing", "__main__", "installed_file", "plugin_tree")):
            continue
        try:
            module = importlib.import_module(info.name)
        except ImportError:
            continue  # what an extra brings
        for value in vars(module).values():
            for one in value if isinstance(value, tuple | list) else (value,):
                if isinstance(one, kind):
                    assert vars(one)["_make"]() is not None
                    seen += 1
    assert seen > 100


def test_a_pattern_that_waits_does_what_a_compiled_one_does() -> None:
    later, now = regex(r"(\w+)-(\d+)", re.I), re.compile(r"(\w+)-(\d+)", re.I)
    for _ in range(2):
        assert later.sub(r"\2", "Ab-1 c-2") == now.sub(r"\2", "Ab-1 c-2")
        assert later.findall("ab-1") == now.findall("ab-1")
        assert (later.pattern, later.flags, later.groups) == (now.pattern, now.flags, now.groups)
    assert regex(rb"\d+").search(b"a 12") is not None
    with pytest.raises(re.error):
        regex("(").search("")
