"""Maps of anything: ranks sum to one, budgets are kept, and an index that was kept up equals a fresh one."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from hypothesis import given, settings, strategies as st

from segue.core.base.token_estimate import estimate
from segue.core.codemap.central import central
from segue.core.codemap.drawing import MapLink, dot, svg
from segue.core.codemap.graph import CodeGraph
from segue.core.codemap.questions import reached_from, users_of, uses_of
from segue.core.codemap.rank import pagerank
from segue.core.codemap.symbols import Definition, FileSymbols, Import, Reference
from segue.effects.codemap.languages import ENDINGS
from segue.effects.codemap.parse import parsed
from segue.effects.files.codemap_file import CodemapFile
from segue.services.codemap.index import CodeMap

NAMES = st.sampled_from(["a", "total", "Cart", "_x", "größe", "to_cents"])
PATHS = st.sampled_from(["a.py", "src/b.py", "src/c/__init__.py", "d.ts", "e/f.go", "g.md", "h.c", "h.h"])
MODULES = st.sampled_from(["b", ".b", "src.b", "./d", "../x", "e", "h.h", "", "*"])


@st.composite
def symbols(draw: st.DrawFn) -> FileSymbols:
    definitions = []
    for name in draw(st.lists(NAMES, max_size=5)):
        line = draw(st.integers(1, 50))
        kind = draw(st.sampled_from(["function", "method", "class", "type", "constant", "declaration"]))
        definitions.append(
            Definition(name, kind, line, line + draw(st.integers(0, 9)), draw(st.just("") | NAMES))
        )
    references = [
        Reference(
            name, draw(st.sampled_from(["call", "use", "inherit"])),
            draw(st.integers(-1, len(definitions) - 1)), (draw(st.integers(1, 50)),),
            draw(st.sampled_from(["", "self", "Cart", "b"])),
        )
        for name in draw(st.lists(NAMES, max_size=8))
    ]  # fmt: skip
    imports = [
        Import(module, 1, tuple((one, one) for one in draw(st.lists(NAMES | st.just("*"), max_size=2))))
        for module in draw(st.lists(MODULES, max_size=3))
    ]
    language = draw(st.sampled_from([*sorted(set(ENDINGS.values())), ""]))
    return FileSymbols(language, 60, tuple(definitions), tuple(references), tuple(imports))


GRAPHS = st.dictionaries(PATHS, symbols(), max_size=8).map(CodeGraph)
LINKS = st.integers(1, 12).flatmap(
    lambda size: st.lists(
        st.lists(st.tuples(st.integers(0, size - 1), st.floats(0.01, 100)), max_size=6),
        min_size=size, max_size=size,
    )
)  # fmt: skip


@given(LINKS, st.dictionaries(st.integers(0, 0), st.floats(0.01, 10), max_size=1))
def test_ranks_are_shares_of_one_whatever_the_links(
    links: list[list[tuple[int, float]]], seeds: dict[int, float]
) -> None:
    ranks = pagerank(links, seeds)
    assert abs(sum(ranks) - 1) < 1e-6
    assert all(rank >= 0 for rank in ranks)


@given(
    GRAPHS, st.dictionaries(PATHS, st.floats(0.1, 2), max_size=3), st.text(max_size=60), st.integers(1, 300)
)
def test_a_map_keeps_its_budget_and_names_each_file_once(
    graph: CodeGraph, touched: dict[str, float], task: str, budget: int
) -> None:
    found = central(graph, touched, task, budget)
    assert found.tokens <= budget
    assert found.tokens == estimate(found.text)
    paths = [file.path for file in found.files]
    assert len(paths) == len(set(paths)) == len(graph.files) - found.left_out
    larger = central(graph, touched, task, budget + 100)
    assert [file.path for file in larger.files][: len(paths)] == paths


@given(GRAPHS)
def test_who_uses_and_what_is_used_are_two_sides_of_the_same(graph: CodeGraph) -> None:
    for number in range(len(graph.nodes)):
        assert all(use.path in graph.files for use in (*users_of(graph, [number]), *uses_of(graph, [number])))
        assert all(1 <= one.steps <= 4 for one in reached_from(graph, [number]))
    for edge in graph.edges:
        assert edge.user != edge.used
        assert edge.weight > 0


@given(st.lists(st.tuples(st.text(max_size=20), st.text(max_size=20), st.booleans()), max_size=12))
def test_a_picture_of_any_names_is_well_formed(rows: list[tuple[str, str, bool]]) -> None:
    from xml.etree import ElementTree

    links = [MapLink(*row) for row in rows]
    ElementTree.fromstring(svg([], links))
    text = dot([], links)
    assert text.count("->") == len(links) or any("->" in end for row in rows for end in row[:2])


@given(st.binary(max_size=300), st.sampled_from(sorted(set(ENDINGS.values()))))
def test_no_bytes_are_too_much_for_a_parser(body: bytes, language: str) -> None:
    found = parsed(body, language)
    assert all(1 <= one.line <= one.last for one in found.definitions)
    assert all(-1 <= one.within < len(found.definitions) for one in found.references)


SOURCES = st.sampled_from(
    [
        "def a():\n    return b()\n",
        "from b import a\n\n\ndef c():\n    return a()\n",
        "",
        "x = (\n",
        "\0",
        "class A: pass\n",
    ]
)
EDITS = st.lists(
    st.tuples(st.sampled_from(["a.py", "b.py", "c/d.py", "e.md"]), SOURCES | st.none()), max_size=8
)


@settings(deadline=None, max_examples=25)
@given(st.lists(EDITS, min_size=1, max_size=3))
def test_a_map_that_was_kept_up_equals_a_fresh_one_after_any_edits(
    rounds: list[list[tuple[str, str | None]]],
) -> None:
    with tempfile.TemporaryDirectory() as place:
        root = Path(place, "tree")
        (root / "c").mkdir(parents=True)
        kept = CodeMap(root, CodemapFile(Path(place, "kept.db")))
        for edits in rounds:
            for name, source in edits:
                if source is None:
                    (root / name).unlink(missing_ok=True)
                else:
                    (root / name).write_text(source)
                    os.utime(root / name, (1, 1))  # time says nothing: the content must
            kept.update()
        fresh = CodeMap(root, CodemapFile(Path(place, "fresh.db")))
        fresh.update()
        assert kept.files() == fresh.files()
        kept.file.close()
        fresh.file.close()
