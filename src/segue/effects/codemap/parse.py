"""What a file of code defines, uses and imports, by tree-sitter.

Code that is broken is read as far as it goes: the parser finds its way back after an error. A plain name
counts as a use only if the file itself, one of its imports or a spelling that its language keeps for types
says that it may be a definition; else every local variable would be one.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple

from ...core.codemap.symbols import NAME_CHARS_MAX, TYPES, Definition, FileSymbols, Import, Reference
from .languages import grammar_of

if TYPE_CHECKING:
    from tree_sitter import Node, QueryCursor

LINES_OF_USE_MAX = 20
MATCHES_MAX, DEPTH_MAX = 65_536, 1_000
"""How much a query may hold open at once, and how deep it looks; only text that is made for it comes near."""
_TYPES_ARE_CAPITAL = frozenset({"go", "rust", "java", "c", "cpp", "ruby", "c_sharp"})
_SCOPES = TYPES | {"module", "function", "method"}


class _Span(NamedTuple):
    """A definition, or a scope that only names an owner, by its bytes."""

    start: int
    end: int
    name: str
    kind: str  # scope for one that is no definition
    line: int
    last: int
    owner: str
    name_at: int


class _Use(NamedTuple):
    at: int
    line: int
    name: str
    kind: str
    receiver: str


def parsed(source: bytes, language: str) -> FileSymbols:
    """What a file of a language defines, uses and imports. Raises NotInstalled without the extra."""
    from tree_sitter import QueryCursor

    grammar = grammar_of(language)
    root = grammar.parser.parse(source).root_node
    spans: list[_Span] = []
    uses: dict[int, _Use] = {}
    imports: dict[tuple[str, int], dict[str, str]] = {}
    inside_imports: list[tuple[int, int]] = []
    for _, found in _bounded(QueryCursor(grammar.query)).matches(root):
        if "import" in found:
            _take_import(found, language, imports, inside_imports)
        elif "name" in found or "scope" in found:
            spans += _spans(found)
        else:
            _take_use(found, uses)
    spans = _without_doubles(spans)
    wanted = {span.name for span in spans if span.kind != "scope"}
    wanted.update(here for names in imports.values() for here in names)
    names_at = {span.name_at for span in spans}
    for node in _bounded(QueryCursor(grammar.uses)).captures(root).get("use", ()):
        at = node.start_byte
        if at not in uses and at not in names_at:
            name = _text(node)
            if name in wanted or (language in _TYPES_ARE_CAPITAL and name[:1].isupper() and len(name) > 1):
                uses[at] = _Use(at, node.start_point.row + 1, name, "use", "")
    inside = sorted(inside_imports)
    kept = [use for use in uses.values() if use.at not in names_at and not _covers(inside, use.at)]
    definitions, references = _nested(spans, sorted(kept), source)
    lines = source.count(b"\n") + (not source.endswith(b"\n") and bool(source))
    listed = tuple(
        Import(module, line, tuple((there, here) for here, there in names.items()))
        for (module, line), names in imports.items()
    )
    return FileSymbols(language, lines, definitions, references, listed, root.has_error)


def _bounded(cursor: QueryCursor) -> QueryCursor:
    """The cursor with limits. To cut it off after a time would be simpler, but crashes the process."""
    cursor.match_limit = MATCHES_MAX
    cursor.set_max_start_depth(DEPTH_MAX)
    return cursor


def _text(node: Node) -> str:
    text = node.text
    return text.decode("utf-8", "replace") if text is not None and len(text) <= NAME_CHARS_MAX else ""


def _spans(found: dict[str, list[Node]]) -> Iterator[_Span]:
    owner = _text(found["owner"][0]) if "owner" in found else ""
    for capture, nodes in found.items():
        if not capture.startswith(("definition.", "declaration.", "scope")):
            continue
        kind = capture.partition(".")[2] or "scope"
        kind = "declaration" if capture.startswith("declaration.") else kind
        named = found.get("name") or found["owner"]
        name = _text(named[0])
        node = nodes[0]
        start = node.parent.start_byte if _is_decorated(node) and node.parent else node.start_byte
        if name:
            yield _Span(
                start, node.end_byte, name, kind, named[0].start_point.row + 1,
                node.end_point.row + (node.end_point.column > 0), owner,
                named[0].start_byte if kind != "scope" else -1,
            )  # fmt: skip


def _is_decorated(node: Node) -> bool:
    return node.parent is not None and node.parent.type == "decorated_definition"


def _without_doubles(spans: list[_Span]) -> list[_Span]:
    """Each name once: where two patterns match, the one that says more."""
    best: dict[tuple[int, int, str], _Span] = {}
    for span in spans:
        key = (span.name_at if span.kind != "scope" else span.start, span.kind == "scope", span.name)
        known = best.get(key)
        if known is None or (not known.owner and span.owner) or known.kind in ("declaration", "constant"):
            best[key] = span
    return sorted(best.values(), key=lambda span: (span.start, -span.end, span.kind != "scope"))


def _take_use(found: dict[str, list[Node]], uses: dict[int, _Use]) -> None:
    receiver = _text(found["receiver"][0]).lstrip("@") if "receiver" in found else ""
    for kind in ("call", "inherit", "use", "local"):
        for node in found.get(kind, ()):
            at, name = node.start_byte, _text(node)
            known = uses.get(at)
            if name and (known is None or known.kind == "use" or (receiver and not known.receiver)):
                uses[at] = _Use(at, node.start_point.row + 1, name, kind, receiver)


def _take_import(
    found: dict[str, list[Node]], language: str, imports: dict[tuple[str, int], dict[str, str]],
    inside: list[tuple[int, int]],
) -> None:  # fmt: skip
    node = found["import"][0]
    statement = node.type not in ("call_expression", "variable_declarator", "call")
    if statement:
        inside.append((node.start_byte, node.end_byte))
    line = node.start_point.row + 1
    alias = _text(found["alias"][0]) if "alias" in found else ""
    if "submodule" in found:
        name = _text(found["submodule"][0])
        imports.setdefault((f"self::{name}", line), {})[name] = ""
        return
    text = found["module"][0].text or b""
    module = text.decode("utf-8", "replace")[:1_000].strip("\"'<>`")
    if language == "rust":
        for path, here in _rust_paths(" ".join(module.split())):
            imports.setdefault((path, line), {})[here] = path.rpartition("::")[2]
        return
    if len(module) > 300:
        return
    names = imports.setdefault((module, line), {})
    if "star" in found:
        names["*"] = "*"
    elif "item" in found:
        for item in found["item"]:
            name = _text(item)
            names[alias or name] = name
    elif alias:
        names[alias] = ""
    elif language in ("python", "go", "java", "c_sharp"):
        last = module.replace("/", ".").rpartition(".")[2]
        names[last if language != "python" else module.partition(".")[0]] = last if language == "java" else ""


def _rust_paths(text: str, depth: int = 0) -> Iterator[tuple[str, str]]:
    """The paths of a ``use`` and what each is called here; groups in braces are spread out."""
    head, brace, rest = text.partition("{")
    if brace and depth < 4:
        piece, level = "", 0
        for char in rest.rstrip():
            if char in "{}":
                level += 1 if char == "{" else -1
                if level < 0:
                    break
            if char == "," and level == 0:
                yield from _rust_paths(head + piece.strip(), depth + 1)
                piece = ""
            else:
                piece += char
        if piece.strip():
            yield from _rust_paths(head + piece.strip(), depth + 1)
        return
    path, _, alias = text.partition(" as ")
    path = path.strip().removesuffix("::self")
    last = path.rpartition("::")[2]
    if path and len(path) <= NAME_CHARS_MAX:
        yield path, alias.strip() or last


def _covers(spans: list[tuple[int, int]], at: int) -> bool:
    """Whether one of these spans, which are in order and do not overlap, has a byte."""
    from bisect import bisect_right

    place = bisect_right(spans, (at, 1 << 62)) - 1
    return place >= 0 and at < spans[place][1]


def _nested(
    spans: list[_Span], uses: list[_Use], source: bytes
) -> tuple[tuple[Definition, ...], tuple[Reference, ...]]:
    """Definitions with their owners, and each use with the innermost definition around it."""
    definitions: list[Definition] = []
    parents: list[int] = []
    grouped: dict[tuple[str, str, int, str], list[int]] = {}
    stack: list[tuple[_Span, int]] = []
    waiting = iter([*uses, _Use(1 << 62, 0, "", "", "")])
    use = next(waiting)
    for span in [*spans, None]:
        while use.name and (span is None or use.at < span.start):
            within = _innermost(stack, use.at)
            lines = grouped.setdefault((use.name, use.kind, within, use.receiver), [])
            if len(lines) < LINES_OF_USE_MAX and use.line not in lines:
                lines.append(use.line)
            use = next(waiting)
        if span is None:
            break
        within = _innermost(stack, span.start)
        if span.kind == "scope":
            stack.append((span, -1))
            continue
        around = next((one for one, _ in reversed(stack) if one.kind in _SCOPES or one.kind == "scope"), None)
        owner = span.owner or (around.name if around is not None else "")
        in_type = span.owner or (around is not None and around.kind in (*TYPES, "scope"))
        kind = "method" if span.kind == "function" and in_type else span.kind
        digest = blake2b(source[span.start : span.end], digest_size=6).hexdigest()
        stack.append((span, len(definitions)))
        parents.append(within)
        definitions.append(Definition(span.name, kind, span.line, span.last, owner, digest))
    local = {(within, name) for name, kind, within, _ in grouped if kind == "local" and within >= 0}
    references = tuple(
        Reference(name, kind, within, tuple(lines), receiver)
        for (name, kind, within, receiver), lines in grouped.items()
        if kind != "local" and not (not receiver and local and _is_local(name, within, local, parents))
    )
    return tuple(definitions), references


def _innermost(stack: list[tuple[_Span, int]], at: int) -> int:
    """The place of the definition around a byte, once those that end before it are taken away; -1 if none."""
    while stack and stack[-1][0].end <= at:
        stack.pop()
    return next((place for _, place in reversed(stack) if place >= 0), -1)


def _is_local(name: str, within: int, local: set[tuple[int, str]], parents: list[int]) -> bool:
    """Whether a parameter or variable of the definition, or of one around it, has the name."""
    while within >= 0:
        if (within, name) in local:
            return True
        within = parents[within]
    return False
