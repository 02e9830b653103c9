"""The graph of the code: definitions and files, and which uses which.

A name is resolved as far as syntax tells. What scope, imports or the owner say is sure; else every definition
of that name in the language may be meant, each with a share of the weight, and beyond a few of them none is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from .imports import ImportResolver, family_of
from .symbols import TYPES, Definition, Files, Reference

GUESSES_MAX = 4
"""With more definitions than this that may be meant, nothing is guessed."""
GUESS_WEIGHT = 0.3
_SELF = frozenset({"self", "this", "cls", "super", "Self", "base", "crate"})
_PACKAGES = frozenset({"go", "java", "c_sharp"})
"""Languages in which the files of a folder see each other without an import."""


class Node(NamedTuple):
    """A definition, by the place in its file's list; -1 is the file itself."""

    path: str
    place: int


class Edge(NamedTuple):
    """Something uses something else."""

    user: int  # of the graph's nodes
    used: int
    kind: str  # call, use, inherit, import
    lines: tuple[int, ...]
    sure: bool
    weight: float


class CodeGraph:
    """Definitions and files of a project, and which uses which."""

    def __init__(self, files: Files) -> None:
        self.files = files
        self.nodes: list[Node] = []
        self.number: dict[Node, int] = {}
        for path, symbols in files.items():
            for place in range(-1, len(symbols.definitions)):
                node = Node(path, place)
                self.number[node] = len(self.nodes)
                self.nodes.append(node)
        self.by_name: dict[str, list[int]] = {}
        self._defined: list[Definition | None] = []
        self._by_family: dict[tuple[str, str], list[int]] = {}
        for number, (path, place) in enumerate(self.nodes):
            symbols = files[path]
            one = symbols.definitions[place] if place >= 0 else None
            self._defined.append(one)
            if one is not None:
                self.by_name.setdefault(one.name, []).append(number)
                self._by_family.setdefault((family_of(symbols.language), one.name), []).append(number)
        self.edges: list[Edge] = list(self._edges())

    def definition(self, number: int) -> Definition:
        """The definition of a node that is no file."""
        one = self._defined[number]
        assert one is not None, "a file is no definition"
        return one

    def title(self, number: int) -> str:
        """What a node is called: its name with its owner's; empty for a file."""
        return self.definition(number).title if self.nodes[number].place >= 0 else ""

    def file_of(self, number: int) -> int:
        """The node of the file that a node is in."""
        return self.number[Node(self.nodes[number].path, -1)]

    def users(self) -> dict[int, list[Edge]]:
        """The edges by what is used."""
        found: dict[int, list[Edge]] = {}
        for edge in self.edges:
            found.setdefault(edge.used, []).append(edge)
        return found

    def uses(self) -> dict[int, list[Edge]]:
        """The edges by who uses."""
        found: dict[int, list[Edge]] = {}
        for edge in self.edges:
            found.setdefault(edge.user, []).append(edge)
        return found

    def _edges(self) -> Iterator[Edge]:
        resolver = ImportResolver(self.files)
        scopes = {path: self._scope(path, resolver) for path, one in self.files.items() if one.language}
        for path, symbols in self.files.items():
            scope = scopes.get(path)
            if scope is None:
                continue
            top = self.number[Node(path, -1)]
            known: dict[tuple[str, str, str, str], tuple[list[int], bool]] = {}
            for target, line in scope.files.items():
                if target != path:
                    yield Edge(top, self.number[Node(target, -1)], "import", (line,), True, 1.0)
            for reference in symbols.references:
                user = top + 1 + reference.within
                owner = ""
                if reference.receiver in _SELF and reference.within >= 0:
                    owner = symbols.definitions[reference.within].owner
                key = (reference.name, reference.receiver, reference.kind, owner)
                if key not in known:
                    known[key] = self._meant(path, reference, scope, scopes)
                found, sure = known[key]
                share = (1.0 if sure else GUESS_WEIGHT) / max(1, len(found))
                for used in found:
                    if used != user:
                        weight = share * len(reference.lines) ** 0.5
                        yield Edge(user, used, reference.kind, reference.lines, sure, weight)

    def _scope(self, path: str, resolver: ImportResolver) -> _Scope:
        files: dict[str, int] = {}
        names: dict[str, tuple[str, tuple[str, ...]]] = {}
        stars: list[str] = []
        for one in self.files[path].imports:
            found = tuple(resolver.files_of(path, one))
            files.update((file, one.line) for file in found if file not in files)
            for there, here in one.names:
                if there == "*":
                    stars += found
                elif found:
                    names[here] = (there, found)
            if not one.names:
                stars += found
        family = family_of(self.files[path].language)
        near = [one for one in resolver.folder(path) if one != path] if family in _PACKAGES else []
        return _Scope(files, names, stars, near, family)

    def _meant(
        self, path: str, reference: Reference, scope: _Scope, scopes: dict[str, _Scope]
    ) -> tuple[list[int], bool]:
        """The definitions that a reference may mean, and whether that is sure."""
        name, receiver = reference.name, reference.receiver
        if reference.name in scope.names and not receiver:
            name = scope.names[reference.name][0] or name
        found = self._by_family.get((scope.family, name), [])
        if not found:
            return [], False
        if scope.family == "cpp":
            found = [one for one in found if self.definition(one).kind != "declaration"] or found
        sure = self._received(path, reference, found, scope) if receiver else []
        if not receiver:
            sure = self._in_scope(path, reference.name, found, scope, scopes)
        if sure:
            return sure, True
        if reference.kind == "use" and not (reference.name[:1].isupper() and scope.family in _PACKAGES):
            return [], False
        if receiver in scope.names and not scope.names[receiver][0]:
            return [], False  # a module was named, and it has none of this name that is known
        return self._guessed(path, reference, found, scope), False

    def _received(self, path: str, reference: Reference, found: list[int], scope: _Scope) -> list[int]:
        """What ``receiver.name`` means where the receiver tells."""
        receiver = reference.receiver
        if receiver in _SELF and reference.within >= 0:
            owner = self.files[path].definitions[reference.within].owner
            own = [one for one in found if self.definition(one).owner == owner]
            here = [one for one in own if self.nodes[one].path == path]
            parents = [] if here else self._inherited(path, owner, found)
            return here or parents or (own if len(own) == 1 else [])
        if receiver in scope.names:
            there, files = scope.names[receiver]
            inside = [one for one in found if self.nodes[one].path in files]
            owned = [one for one in inside if self.definition(one).owner == there]
            return owned if there and owned else [one for one in inside if not self.definition(one).owner]
        owned = [one for one in found if self.definition(one).owner == receiver]
        return owned if len({self.nodes[one].path for one in owned}) == 1 else []

    def _inherited(self, path: str, owner: str, found: list[int]) -> list[int]:
        """Members of this name that the types have which a type of a file names as its parents."""
        parents = {
            one.name
            for one in self.files[path].references
            if one.kind == "inherit"
            and one.within >= 0
            and self.files[path].definitions[one.within].name == owner
        }
        return [one for one in found if self.definition(one).owner in parents]

    def _in_scope(
        self, path: str, name: str, found: list[int], scope: _Scope, scopes: dict[str, _Scope]
    ) -> list[int]:
        """What a plain name means by the file, its imports and, where a language has them, its package."""
        here = [one for one in found if self.nodes[one].path == path]
        plain = [one for one in here if self.definition(one).kind != "method"]
        if plain:
            return plain
        if name in scope.names:
            files = set(scope.names[name][1])
            inside = [one for one in found if self.nodes[one].path in files]
            passed_on = {
                file for one in files if one in scopes for file in scopes[one].passed_on(scope.names[name][0])
            }
            return inside or [one for one in found if self.nodes[one].path in passed_on]
        if here and scope.family in (*_PACKAGES, "ruby", "cpp"):
            return here  # a method of the same type is called by its name alone
        files = {*scope.stars, *scope.near}
        inside = [one for one in found if self.nodes[one].path in files]
        top = [one for one in inside if self.definition(one).kind != "method"]
        return top if scope.family != "cpp" or top else self._behind_header(found, scope)

    def _behind_header(self, found: list[int], scope: _Scope) -> list[int]:
        """Functions of C whose header, a file of the same name, is included."""
        stems = {file.rpartition("/")[2].partition(".")[0] for file in scope.stars}
        return [one for one in found if self.nodes[one].path.rpartition("/")[2].partition(".")[0] in stems]

    def _guessed(self, path: str, reference: Reference, found: list[int], scope: _Scope) -> list[int]:
        members = [one for one in found if self.definition(one).kind == "method"]
        other = [one for one in found if self.definition(one).kind in (*TYPES, "function")]
        wanted = (members if reference.receiver else [*other, *members]) or found
        near = [one for one in wanted if self.nodes[one].path in scope.files or self.nodes[one].path == path]
        chosen = near or wanted
        return chosen if len(chosen) <= GUESSES_MAX else []


class _Scope(NamedTuple):
    """What a file sees by its imports."""

    files: dict[str, int]
    names: dict[str, tuple[str, tuple[str, ...]]]  # what it calls it: what it is called there, and where
    stars: list[str]  # files all of whose names it sees
    near: list[str]
    family: str

    def passed_on(self, name: str) -> list[str]:
        """The files from which this one has a name that it passes on."""
        found = self.names.get(name)
        return [*(found[1] if found else ()), *self.stars]
