"""What a parser tells about a file: what it defines, what it uses, and what it imports.

Only names are kept, never a line of the code: a map says where to look, and holds no text that would have
to be masked.
"""

from __future__ import annotations

import msgspec

NAME_CHARS_MAX = 120
"""Longer names are made by machines, and left out."""
TYPES = frozenset({"class", "type"})
"""The kinds of definitions that own others and that others inherit from."""


class Definition(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """Something that a file defines."""

    name: str
    kind: str  # function, method, class, type, constant, module
    line: int  # where it begins, counted from 1
    last: int  # where it ends
    owner: str = ""  # the class, type or module that it belongs to
    digest: str = ""  # of its text, by which a change is recognised

    @property
    def title(self) -> str:
        """Its name with that of its owner."""
        return f"{self.owner}.{self.name}" if self.owner else self.name


class Reference(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """A name that is used inside one definition, once or several times."""

    name: str
    kind: str  # call, use, inherit
    within: int  # the place of the definition in the file's list; -1 at the top of the file
    lines: tuple[int, ...]
    receiver: str = ""  # what stands before the dot, if it is a single name


class Import(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """Something that a file imports, in the words of its language."""

    module: str
    line: int
    names: tuple[tuple[str, str], ...] = ()
    """What it takes from there, and what it calls it here; without any, the module as a whole."""


class FileSymbols(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """What a file defines, uses and imports."""

    language: str = ""  # empty for a file that is not parsed
    lines: int = 0
    definitions: tuple[Definition, ...] = ()
    references: tuple[Reference, ...] = ()
    imports: tuple[Import, ...] = ()
    broken: bool = False  # whether the parser met an error, and so may have missed something


Files = dict[str, FileSymbols]
"""Files by their paths from the root of the project, with slashes."""


def innermost(symbols: FileSymbols, line: int) -> int:
    """The place of the smallest definition around a line; -1 if there is none."""
    best, size = -1, 1 << 60
    for place, one in enumerate(symbols.definitions):
        if one.line <= line <= one.last and one.last - one.line < size:
            best, size = place, one.last - one.line
    return best


def changed_definitions(before: FileSymbols | None, after: FileSymbols) -> list[int]:
    """The places of definitions that are new or whose text is another; of nested ones the innermost."""
    old: dict[tuple[str, str], set[str]] = {}
    for one in before.definitions if before else ():
        old.setdefault((one.title, one.kind), set()).add(one.digest)
    changed = [
        place
        for place, one in enumerate(after.definitions)
        if one.digest not in old.get((one.title, one.kind), ())
    ]
    return [
        place
        for place in changed
        if before is not None or not after.definitions[place].owner
        if not any(other != place and _inside(after, other, place) for other in changed) or before is None
    ]


def _inside(symbols: FileSymbols, inner: int, outer: int) -> bool:
    one, other = symbols.definitions[inner], symbols.definitions[outer]
    return other.line <= one.line and one.last <= other.last and one is not other
