"""The names that lines of code define, and the definition that a piece of a file stands in."""

from __future__ import annotations

from collections.abc import Iterable

from .lazy import regex

_LINES_ABOVE = 600
_DEFINED = regex(
    r"^\s*(?:(?:export|default|public|private|protected|internal|static|async|pub(?:\([a-z]+\))?"
    r"|abstract|final"
    r"|override|unsafe|inline|virtual)\s+)*"
    r"(?:def|class|func|function\*?|fn|interface|type|struct|enum|impl|trait|module|namespace|record"
    r"|protocol)\s+"
    r"(?:\([^)]*\)\s*)?([A-Za-z_$][\w$]*)"
    r"|^\s*(?:export\s+)?(?:const|let|var)\s+([A-Za-z_$][\w$]*)\s*(?::[^=]+)?=\s*(?:async\s*)?(?:\("
    r"|function|use|React)"
    r"|^\s{0,8}(?:(?:async|static|private|public"
    r"|protected)\s+)*([a-z_$][\w$]*)\([^;]*\)\s*(?::\s*[^;{]+)?\{\s*$"
    r"|^\s*(?:test|it|describe)\(\s*[\"'`](.{3,60}?)[\"'`]"
    r"|^(#{1,4} .{2,60})"
)
_NO_NAMES = frozenset(
    {"if", "for", "while", "switch", "catch", "return", "else", "function", "with", "match"}
)


def definition(line: str) -> str:
    """The name that a line of code defines, or a heading of prose; empty if it is neither."""
    match = _DEFINED.match(line)
    name = next((group for group in match.groups() if group), "") if match else ""
    return "" if name in _NO_NAMES else name.strip()


def definitions(lines: Iterable[str]) -> list[str]:
    """The names that lines define, each once."""
    return [name for name in dict.fromkeys(map(definition, lines)) if name]


def enclosing(text: str, piece: str) -> str:
    """The line that defines what ``piece`` stands in, or its heading; else the number of its line.

    Empty if the piece is not in the text.
    """
    at = text.find(piece) if piece else -1
    if at < 0:
        return ""
    indent = len(piece) - len(piece.lstrip(" \t")) if text[at - 1 : at] == "\n" else 1_000
    above = text[:at].split("\n")
    for line in reversed(above[-_LINES_ABOVE:-1]):
        bare = line.lstrip(" \t")
        inner = max(indent, 1) if bare.startswith("#") else indent  # what stands at the margin is in no code
        if len(line) - len(bare) < inner and bare and definition(line):
            return line.strip()[:200]
    return f"line {len(above)}"
