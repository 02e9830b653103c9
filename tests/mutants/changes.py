"""What can be changed in a module: one operator or constant at a time, as text in its place."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

COMPARISONS: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
}
ARITHMETIC: dict[type[ast.operator], tuple[str, str]] = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "/"),
    ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "*"),
}


class Change(NamedTuple):
    """Another text in the place of one."""

    start: int
    """In bytes from the beginning of the source."""
    end: int
    line: int
    kind: str
    before: str
    after: str
    statement: range = range(0)
    """The lines of the statement that it is in, or of its head, if it has a body."""
    names: tuple[str, ...] = ()
    """What the statement assigns: whoever uses these sees a change that an import executes."""

    def __str__(self) -> str:
        return f"{_short(self.before)} → {_short(self.after)}"

    def applied(self, source: bytes) -> bytes:
        """The module with the change."""
        return source[: self.start] + self.after.encode() + source[self.end :]


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 48 else f"{text[:45]}…"


def changes(source: bytes) -> list[Change]:
    """Every change that can be made in a module, in the order of the text."""
    return sorted(_Finder(source).find(), key=lambda change: (change.start, change.end, change.kind))


class _Finder:
    def __init__(self, source: bytes) -> None:
        self._source = source
        self._starts = [0]
        for line in source.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))

    def find(self) -> Iterator[Change]:
        yield from self._within(ast.parse(self._source))

    def _within(self, node: ast.AST) -> Iterator[Change]:
        if isinstance(node, ast.stmt):
            for change in self._inside(node):
                yield (
                    change if change.statement else change._replace(statement=_head(node), names=_names(node))
                )
        else:
            yield from self._inside(node)

    def _inside(self, node: ast.AST) -> Iterator[Change]:
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            return
        if isinstance(node, (ast.If, ast.IfExp, ast.While)):
            yield self._negated(node.test)
        if isinstance(node, ast.comprehension):
            yield from map(self._negated, node.ifs)
        yield from self._own(node)
        for field, value in ast.iter_fields(node):
            if field in ("annotation", "returns", "decorator_list", "keywords") and not isinstance(
                node, ast.Call
            ):
                continue
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST) and not isinstance(child, (ast.JoinedStr, ast.FormattedValue)):
                    yield from self._within(child)

    def _own(self, node: ast.AST) -> Iterator[Change]:
        match node:
            case ast.Compare(left=left, ops=ops, comparators=others):
                for one, operator, other in zip([left, *others], ops, others, strict=False):
                    yield self._between(one, other, "comparison", *COMPARISONS[type(operator)])
            case ast.BoolOp(op=operator, values=values):
                words = ("and", "or") if isinstance(operator, ast.And) else ("or", "and")
                yield self._between(values[0], values[1], "and/or", *words)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                yield self._change(node, "not", self._text(node), self._text(operand))
            case ast.BinOp(left=left, op=operator, right=right) if type(operator) in ARITHMETIC:
                if not any(
                    isinstance(side, ast.Constant | ast.JoinedStr) and _is_text(side)
                    for side in (left, right)
                ):
                    yield self._between(left, right, "arithmetic", *ARITHMETIC[type(operator)])
            case ast.Constant(value=bool(value)):
                yield self._change(node, "constant", str(value), str(not value))
            case ast.Constant(value=int(value) | float(value)):
                yield self._change(node, "constant", self._text(node), _other_number(value))

    def _negated(self, test: ast.expr) -> Change:
        text = self._text(test)
        return self._change(test, "if", text, f"(not ({text}))")

    def _between(self, one: ast.expr, other: ast.expr, kind: str, before: str, after: str) -> Change:
        """The operator between two expressions: the last place there, since brackets may stand before it."""
        first, last = self._end(one), self._start(other)
        at = self._source.rfind(before.encode(), first, last)
        return Change(at, at + len(before), one.end_lineno or one.lineno, kind, before, after)

    def _change(self, node: ast.expr | ast.AST, kind: str, before: str, after: str) -> Change:
        assert isinstance(node, ast.expr)
        return Change(self._start(node), self._end(node), node.lineno, kind, before, after)

    def _text(self, node: ast.expr) -> str:
        return self._source[self._start(node) : self._end(node)].decode()

    def _start(self, node: ast.expr) -> int:
        return self._starts[node.lineno - 1] + node.col_offset

    def _end(self, node: ast.expr) -> int:
        return self._starts[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.Constant) and isinstance(node.value, (str, bytes))
    )


def _head(statement: ast.stmt) -> range:
    body = getattr(statement, "body", None)
    last = body[0].lineno - 1 if body else statement.end_lineno or statement.lineno
    return range(statement.lineno, max(last, statement.lineno) + 1)


def _names(statement: ast.stmt) -> tuple[str, ...]:
    match statement:
        case ast.Assign(targets=targets):
            found = {node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)}
            return tuple(sorted(found))
        case ast.AnnAssign(target=ast.Name(id=name)) | ast.FunctionDef(name=name):
            return (name,)
    return ()


def _other_number(value: int | float) -> str:
    """One that behaviour should depend on: the next for a small number, the double for a large one."""
    if isinstance(value, int):
        return str(value + 1 if value < 10 else value * 2)
    return repr(value * 2 if value else 1.0)
