"""Questions to the map: who uses this, what it uses, what a change affects, which tests reach it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from ..base.lazy import regex
from ..base.values import Value
from .graph import CodeGraph, Edge, Node
from .symbols import TYPES

DEPTH_MAX = 4
"""How many steps away something still counts as affected."""
USES_MAX = 200
_TEST = regex(
    r"(?:^|/)(?:tests?|specs?|__tests__|testing)/|(?:^|/)(?:test_[^/]*|conftest|[^/]*(?:_test|_spec|_tests|"
    r"\.test|\.spec|Test|Tests|Spec))\.[a-z]+$"
)


class Place(Value):
    """A definition or, without a name, a file."""

    path: str
    name: str = ""
    kind: str = "file"
    line: int = 1


class Use(Value):
    """Who uses something, or what is used; where, and how that is known."""

    place: Place
    kind: str
    """call, use, inherit or import."""
    path: str
    """The file in which it is used."""
    lines: tuple[int, ...]
    sure: bool
    """Whether scope and imports tell; else only the name is the same."""


class Reached(Value):
    """Something that a change may reach, and through what."""

    place: Place
    steps: int
    through: str = ""
    """What leads there: the thing one step nearer to the change."""
    sure: bool = True


def is_test(path: str) -> bool:
    """Whether a file is one of tests, by its name."""
    return _TEST.search(path) is not None


def place_of(graph: CodeGraph, number: int) -> Place:
    """A node for people and programs."""
    path, at = graph.nodes[number]
    if at < 0:
        return Place(path)
    one = graph.definition(number)
    return Place(path, one.title, one.kind, one.line)


def meant(graph: CodeGraph, name: str) -> list[int]:
    """The nodes that somebody means by a name: a symbol (``verify``, ``Token.verify``, ``tokens.verify``,
    ``tokens.py:verify``) or a file; empty if there is none."""
    path, colon, symbol = name.rpartition(":")
    if not colon:
        path, symbol = "", name
    if not path and (file := graph.number.get(Node(name.removeprefix("./"), -1))) is not None:
        return [file]
    owner, _, last = symbol.replace("::", ".").replace("#", ".").rpartition(".")
    owner = owner.rpartition(".")[2]
    named = [
        one
        for one in graph.by_name.get(last, ())
        if not path or f"/{graph.nodes[one].path}".endswith(f"/{path.removeprefix('./')}")
    ]
    found = [one for one in named if not owner or graph.definition(one).owner == owner]
    found = found or [one for one in named if _module(graph.nodes[one].path) == owner]
    if found or path:
        return [one for one in found if graph.definition(one).kind != "declaration"] or found
    files = [path for path in graph.files if f"/{path}".endswith(f"/{name}")]
    return [graph.number[Node(path, -1)] for path in files]


def _module(path: str) -> str:
    return path.rpartition("/")[2].partition(".")[0]


def with_inner(graph: CodeGraph, numbers: Iterable[int]) -> set[int]:
    """These nodes and all that they hold: what a file defines, what a type owns."""
    found = set(numbers)
    for number in list(found):
        path, place = graph.nodes[number]
        outer = graph.definition(number) if place >= 0 else None
        if outer is not None and outer.kind not in (*TYPES, "module"):
            continue
        for at, one in enumerate(graph.files[path].definitions):
            if outer is None or (outer.line <= one.line and one.last <= outer.last):
                found.add(graph.number[Node(path, at)])
    return found


def users_of(graph: CodeGraph, numbers: Iterable[int]) -> list[Use]:
    """Who uses these things, without what they do themselves; what is sure comes first."""
    wanted = with_inner(graph, numbers)
    edges = [edge for edge in graph.edges if edge.used in wanted and edge.user not in wanted]
    return _listed(graph, edges, lambda edge: edge.user)


def uses_of(graph: CodeGraph, numbers: Iterable[int]) -> list[Use]:
    """What these things use, without each other."""
    wanted = with_inner(graph, numbers)
    edges = [edge for edge in graph.edges if edge.user in wanted and edge.used not in wanted]
    return _listed(graph, edges, lambda edge: edge.used)


def _listed(graph: CodeGraph, edges: Iterable[Edge], shown: Callable[[Edge], int]) -> list[Use]:
    lines: dict[tuple[int, str, str, bool], set[int]] = {}
    for edge in edges:
        key = (shown(edge), edge.kind, graph.nodes[edge.user].path, edge.sure)
        lines.setdefault(key, set()).update(edge.lines)
    uses = [
        Use(place_of(graph, number), kind, path, tuple(sorted(found)), sure)
        for (number, kind, path, sure), found in lines.items()
    ]
    uses.sort(key=lambda use: (not use.sure, use.path, use.lines[:1], use.place.path, use.place.name))
    return uses[:USES_MAX]


def reached_from(graph: CodeGraph, numbers: Iterable[int], *, depth: int = DEPTH_MAX) -> list[Reached]:
    """What uses these things, directly or through others, the nearest first. What is only guessed leads no
    further."""
    users = graph.users()
    begun = with_inner(graph, numbers)
    seen: dict[int, Reached] = {}
    front = sorted(begun)
    for steps in range(1, depth + 1):
        after: dict[int, None] = {}
        for number in front:
            for edge in sorted(users.get(number, ()), key=lambda edge: not edge.sure):
                if edge.user in begun or edge.user in seen:
                    continue
                through = place_of(graph, number)
                seen[edge.user] = Reached(
                    place_of(graph, edge.user), steps, through.name or through.path, edge.sure
                )
                if edge.sure:
                    after[edge.user] = None
        front = list(after)
    return sorted(seen.values(), key=lambda one: (one.steps, not one.sure, one.place.path, one.place.line))


def only_tests(reached: Iterable[Reached]) -> list[Reached]:
    """Of what is reached, the tests: each file once if nothing inside it is known."""
    found = [one for one in reached if is_test(one.place.path)]
    inner = {one.place.path for one in found if one.place.name}
    return [one for one in found if one.place.name or one.place.path not in inner]


def changed_nodes(graph: CodeGraph, changed: Mapping[str, Iterable[int]]) -> list[int]:
    """The nodes of changed definitions by file; of a file without any, the file."""
    found = []
    for path, places in changed.items():
        inner = [graph.number[Node(path, at)] for at in places if Node(path, at) in graph.number]
        file = graph.number.get(Node(path, -1))
        found += inner or ([file] if file is not None else [])
    return found
