"""The most central files and symbols for a task, within a budget of tokens.

What the work touched and what the task names are where the walk begins (``rank.py``). The text has a line a
file, with the symbols of it that matter most: a map says where to look, and the files are at hand.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..base.lazy import regex
from ..base.token_estimate import Counter, estimate
from ..base.values import Value
from .graph import CodeGraph, Node
from .rank import links_of, pagerank
from .symbols import TYPES

FIRST_FILES, SYMBOLS_OF_FIRST, SYMBOLS_OF_OTHERS = 8, 4, 1
"""How many files are told at length, and how many symbols are named of those and of the others: more files
that matter are worth more than more of what one can see in a file."""
SYMBOLS_OF_MENTION_MAX = 8
_WORD = regex(r"[A-Za-z_][A-Za-z0-9_]*")
_PATH = regex(r"[\w@.+-]*[/.][\w@/.+-]*\w")
_TELLING = regex(r"[^_]_[^_]|[a-z][A-Z]|[A-Z]{2}[a-z]|\d")
TOUCHED, FILE_NAMED, NAME_NAMED, WORD_NAMED = 1.0, 1.0, 0.6, 0.1
"""How much of a start a file that was touched, one that is named, a symbol that is named, and one whose name
may be just a word are."""


class MapSymbol(Value):
    """A symbol of a file, as the map names it."""

    name: str
    kind: str
    line: int


class MapFile(Value):
    """A file of the map, with its symbols that matter most."""

    path: str
    share: float
    """Its part of the rank."""
    touched: bool = False
    symbols: tuple[MapSymbol, ...] = ()


class CentralFiles(Value):
    """The files that matter most for a task, the first ones most."""

    files: tuple[MapFile, ...] = ()
    left_out: int = 0
    """How many files of the project are not named."""
    tokens: int = 0
    text: str = ""


def seeds_of(graph: CodeGraph, touched: Mapping[str, float], task: str) -> dict[int, float]:
    """Where the walk begins: at files with weights, and at what a text names."""
    seeds: dict[int, float] = {}
    for path, weight in touched.items():
        file = graph.number.get(Node(path, -1))
        if file is not None and weight > 0:
            seeds[file] = seeds.get(file, 0.0) + TOUCHED * weight
    named = [*_files_named(graph, task), *_symbols_named(graph, task)]
    share = max(1.0, sum(seeds.values())) if named else 0.0
    total = sum(weight for _, weight in named)
    for number, weight in named:
        seeds[number] = seeds.get(number, 0.0) + share * weight / total
    return seeds


def _files_named(graph: CodeGraph, task: str) -> list[tuple[int, float]]:
    wanted = {word.removeprefix("./") for word in _PATH.findall(task)}
    ends = {word.rpartition("/")[2] for word in wanted}
    return [
        (graph.number[Node(path, -1)], FILE_NAMED)
        for path in graph.files
        if path.rpartition("/")[2] in ends and any(f"/{path}".endswith(f"/{word}") for word in wanted)
    ]


def _symbols_named(graph: CodeGraph, task: str) -> list[tuple[int, float]]:
    found = []
    for word in dict.fromkeys(_WORD.findall(task)):
        numbers = graph.by_name.get(word, ())
        is_telling = _TELLING.search(word) is not None or len(word) > 11
        most, weight = (SYMBOLS_OF_MENTION_MAX, NAME_NAMED) if is_telling else (2, WORD_NAMED)
        if 0 < len(numbers) <= most and len(word) > 3:
            found += [(number, weight / len(numbers)) for number in numbers]
    return found


def central(
    graph: CodeGraph, touched: Mapping[str, float], task: str, budget: int, count: Counter | None = None
) -> CentralFiles:
    """The files and symbols that matter most for what was touched and for a task, within a budget of
    tokens."""
    count = count or estimate
    ranks = pagerank(links_of(graph), seeds_of(graph, touched, task))
    files: dict[str, float] = {}
    symbols: dict[str, list[tuple[float, int]]] = {}
    for number, (path, place) in enumerate(graph.nodes):
        files[path] = files.get(path, 0.0) + ranks[number]
        if place >= 0:
            symbols.setdefault(path, []).append((ranks[number], number))
    ordered = sorted(files, key=lambda path: (-files[path], path))
    chosen: list[MapFile] = []
    lines: list[str] = []
    used = 0
    for path in ordered:
        best = sorted(symbols.get(path, ()), key=lambda one: (-one[0], one[1]))
        most = SYMBOLS_OF_FIRST if len(chosen) < FIRST_FILES else SYMBOLS_OF_OTHERS
        file = MapFile(path, round(files[path], 6), path in touched, _shown(graph, best, most))
        line, file = _fitting(file, budget - used, count)
        if not line:
            break
        used += count(line)
        chosen.append(file)
        lines.append(line)
    text = "\n".join(lines)
    return CentralFiles(tuple(chosen), len(ordered) - len(chosen), count(text) if text else 0, text)


def _shown(graph: CodeGraph, best: Sequence[tuple[float, int]], most: int) -> tuple[MapSymbol, ...]:
    """The best symbols of a file in the order of their lines; a type stands for what it owns."""
    chosen = [number for _, number in best[: 3 * most]]
    owners = {graph.definition(one).name for one in chosen if graph.definition(one).kind in TYPES}
    own = [one for one in chosen if graph.definition(one).owner not in owners] or chosen
    shown = [graph.definition(one) for one in own[:most]]
    return tuple(MapSymbol(one.title, one.kind, one.line) for one in sorted(shown, key=lambda one: one.line))


def _fitting(file: MapFile, room: int, count: Counter) -> tuple[str, MapFile]:
    """The line of a file with as many of its symbols as there is room for; empty if there is none."""
    symbols = file.symbols
    while True:
        shown = MapFile(file.path, file.share, file.touched, symbols)
        line = line_of(shown)
        if count(line) <= room:
            return line, shown
        if not symbols:
            return "", file
        symbols = symbols[:-1]


def line_of(file: MapFile) -> str:
    """A file of the map on one line."""
    names = ", ".join(f"{one.name} {one.line}" for one in file.symbols)
    return f"{file.path}: {names}" if names else file.path
