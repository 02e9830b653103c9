"""A plugin of pytest that records which lines of the chosen modules each test executes, and for how long.

``MUTANTS_MODULES`` are their paths, separated by colons; ``MUTANTS_LINES`` is where it writes, a line of JSON
for each test, in a file for each process of the tests. The modules are compiled with a mark before each
statement and in each lambda: tracing every call of every test would take twice as long.
"""

from __future__ import annotations

import ast
import json
import os
import sys
import time
from collections.abc import Iterator, Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, ModuleType
from typing import Any

import pytest

MARKS = "__executed_lines__"
_seen: dict[str, set[int]] = {
    path: set() for path in os.environ.get("MUTANTS_MODULES", "").split(":") if path
}
_failed: set[str] = set()


class _Marker(ast.NodeTransformer):
    """Puts a mark before each statement, and into each lambda, since that is executed later."""

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        if isinstance(node, ast.Lambda):
            node.body = ast.BoolOp(ast.Or(), [self._mark(node.body), node.body])  # a mark is None
        for field in ("body", "orelse", "finalbody"):
            statements = getattr(node, field, None)
            if isinstance(statements, list):
                setattr(node, field, [one for some in statements for one in self._marked(some)])
        return node

    def _marked(self, statement: ast.stmt) -> list[ast.stmt]:
        match statement:
            case ast.ImportFrom(module="__future__") | ast.Expr(value=ast.Constant()):
                return [statement]  # these must come first
        return [ast.Expr(self._mark(statement)), statement]

    @staticmethod
    def _mark(node: ast.stmt | ast.expr) -> ast.expr:
        return ast.parse(f"{MARKS}.add({node.lineno})", mode="eval").body


class _MarkingLoader(SourceFileLoader):
    def get_code(self, fullname: str) -> CodeType:
        tree = _Marker().visit(ast.parse(self.get_data(self.path)))
        return compile(ast.fix_missing_locations(tree), self.path, "exec", dont_inherit=True)

    def exec_module(self, module: ModuleType) -> None:
        vars(module)[MARKS] = _seen[self.path]
        super().exec_module(module)


class _MarkingFinder(PathFinder):
    @classmethod
    def find_spec(
        cls, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        spec = super().find_spec(fullname, path, target) if fullname.startswith("segue.") else None
        if spec is None or spec.origin not in _seen:
            return None
        spec.loader = _MarkingLoader(fullname, spec.origin)
        return spec


sys.meta_path.insert(0, _MarkingFinder)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.failed:
        _failed.add(report.nodeid)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[Any]:
    for lines in _seen.values():
        lines.clear()
    began = time.monotonic()
    try:
        return (yield)
    finally:
        record = {
            "test": item.nodeid,
            "seconds": round(time.monotonic() - began, 3),
            "failed": item.nodeid in _failed,
            "lines": {path: sorted(lines) for path, lines in _seen.items() if lines},
        }
        with open(f"{os.environ['MUTANTS_LINES']}.{os.getpid()}", "a") as file:
            file.write(json.dumps(record) + "\n")
