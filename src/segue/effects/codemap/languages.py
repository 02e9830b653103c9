"""The languages that the map knows: their files, their grammars, and queries for what files define and use.

A query, in ``queries/``, names what it finds: ``@definition.KIND`` with ``@name``, ``@call``, ``@inherit``
and ``@use`` with an optional ``@receiver``, ``@local`` for a name that hides others, ``@import`` with
``@module`` and, where a language has them, ``@item``, ``@alias``, ``@star`` and ``@submodule``. Grammars come
inside the packages of the extra ``segue[map]``; nothing is downloaded.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ..._files import read_text
from ...errors import NotInstalled, extra

if TYPE_CHECKING:
    from tree_sitter import Parser, Query

ENDINGS = {
    ".py": "python", ".pyi": "python", ".js": "javascript", ".jsx": "javascript", ".mjs": "javascript",
    ".cjs": "javascript", ".ts": "typescript", ".mts": "typescript", ".cts": "typescript", ".tsx": "tsx",
    ".go": "go", ".rs": "rust", ".java": "java", ".c": "c", ".h": "cpp", ".cc": "cpp", ".cpp": "cpp",
    ".cxx": "cpp", ".hh": "cpp", ".hpp": "cpp", ".hxx": "cpp", ".rb": "ruby", ".rake": "ruby",
    ".cs": "c_sharp",
}  # fmt: skip
"""Endings of files, and the language in them. A header may be C or C++; the grammar of C++ reads both."""
_FOLDER = Path(__file__).with_name("queries")
_GRAMMARS = {
    "typescript": ("tree_sitter_typescript", "language_typescript"),
    "tsx": ("tree_sitter_typescript", "language_tsx"),
}

_PLAIN = "(identifier) @use"
_WITH_TYPES = "[(identifier) (type_identifier)] @use"
_SHORTHAND = "[(identifier) (shorthand_property_identifier)] @use"
USES = {
    "python": _PLAIN, "javascript": _SHORTHAND, "typescript": f"{_SHORTHAND} (type_identifier) @use",
    "tsx": f"{_SHORTHAND} (type_identifier) @use", "go": _WITH_TYPES, "rust": _WITH_TYPES,
    "java": _WITH_TYPES, "c": _WITH_TYPES, "cpp": _WITH_TYPES, "ruby": "[(identifier) (constant)] @use",
    "c_sharp": _PLAIN,
}  # fmt: skip
"""Every name, for what is used without being called; most of them are of no interest."""
_QUERIES = {
    "javascript": ("script", "javascript", "jsx"), "typescript": ("script", "typescript"),
    "tsx": ("script", "typescript", "jsx"), "cpp": ("c", "cpp"),
}  # fmt: skip
"""The files with the queries of a language, where they are not just one of its name."""


class Grammar(NamedTuple):
    """A language, ready to parse."""

    parser: Parser
    query: Query
    uses: Query


@cache
def grammar_of(language: str) -> Grammar:
    """The parser and the query for a language. Raises NotInstalled without the extra."""
    module, function = _GRAMMARS.get(language, (f"tree_sitter_{language}", "language"))
    try:
        from tree_sitter import Language, Parser, Query

        loaded = Language(getattr(import_module(module), function)())
    except ImportError as fault:
        raise NotInstalled(
            "the map of the code needs tree-sitter and its grammars", hint=extra("map")
        ) from fault
    return Grammar(Parser(loaded), Query(loaded, query_of(language)), Query(loaded, USES[language]))


def query_of(language: str) -> str:
    """The query for what files of a language define and use."""
    names = _QUERIES.get(language, (language,))
    return "\n".join(read_text(_FOLDER / f"{name}.scm") for name in names)


def language_of(path: str) -> str:
    """The language of a file by its name; empty if the map does not know it."""
    dot = path.rfind(".")
    return ENDINGS.get(path[dot:].lower(), "") if dot >= 0 else ""
