"""What matters most for a task within a budget, and the pictures of it."""

from __future__ import annotations

from xml.etree import ElementTree

from tests.unit.codemap.test_graph import PYTHON, graph

from segue.core.base.token_estimate import estimate
from segue.core.codemap.central import central, seeds_of
from segue.core.codemap.drawing import MapLink, dot, svg
from segue.core.codemap.rank import links_of, pagerank
from segue.core.codemap.work import path_from, task_text, touched_files
from segue.core.runs.digest import fold
from segue.core.runs.steps import Call, Prompt, Start, Step

EVIL = 'a"];\\evil\x1b[31m<script>alert(1)</script>\n&\u202e'


def test_what_was_touched_and_its_neighbours_come_first() -> None:
    found = central(graph(PYTHON), {"src/shop/cart.py": 1.0}, "", 1_000)
    paths = [file.path for file in found.files]
    assert paths[0] == "src/shop/cart.py"
    assert set(paths[1:4]) == {"tests/test_cart.py", "src/shop/money.py", "src/shop/__init__.py"}
    assert (found.files[0].touched, found.left_out) == (True, 0)
    assert "Cart 9" in found.text.split("\n")[0]


def test_a_task_leads_to_the_files_and_symbols_that_it_names() -> None:
    code = graph(PYTHON)
    assert central(code, {}, "look at other/money.py", 1_000).files[0].path == "other/money.py"
    named = seeds_of(code, {}, "why does test_total fail?")
    assert [code.title(one) for one in named] == ["test_total"]
    assert seeds_of(code, {}, "buy more and so on") == {}


def test_a_small_budget_names_fewer_files_and_says_how_many_are_left() -> None:
    code = graph(PYTHON)
    small = central(code, {"src/shop/cart.py": 1.0}, "", 30)
    assert 0 < len(small.files) < 5
    assert small.left_out == 5 - len(small.files)
    assert estimate(small.text) == small.tokens <= 30


def test_ranks_sum_to_one_and_follow_the_seeds() -> None:
    code = graph(PYTHON)
    links = links_of(code)
    ranks = pagerank(links, {})
    assert abs(sum(ranks) - 1) < 1e-9
    assert pagerank([], {}) == []
    assert pagerank([[(1, 1.0)], [], []], {0: 1.0})[2] == 0.0


def test_the_files_of_a_run_are_known_by_their_paths_from_the_root() -> None:
    steps: list[Step] = [
        Start(1.0, "start", cwd="/src/shop"),
        Prompt(1.0, "make cents exact"),
        Call(2.0, "1", "Read", "read", paths=("/src/shop/src/shop/money.py",)),
        Call(3.0, "2", "Edit", "edit", paths=("src/shop/cart.py",)),
        Call(3.0, "3", "Read", "read", paths=("/etc/passwd",)),
    ]
    digest = fold(steps)
    found = touched_files(digest, "/src/shop", PYTHON)
    assert list(found) == ["src/shop/cart.py", "src/shop/money.py"]
    assert found["src/shop/cart.py"] > found["src/shop/money.py"]
    assert "make cents exact" in task_text(None, [digest])
    assert path_from("../shop/src/shop/cart.py", "/src/shop", "/src/shop", PYTHON) == "src/shop/cart.py"


def test_a_picture_shows_every_arrow_and_escapes_what_names_hold() -> None:
    links = [MapLink(EVIL, "b"), MapLink("b", "c", False), MapLink("c", "b")]
    text = dot(["alone"], links)
    assert text.count("->") == 3
    assert text.count("dashed") == 1
    assert '\\"];' in text and "\x1b" not in text and text.count("\n") == 11
    picture = svg(["alone"], links)
    root = ElementTree.fromstring(picture)
    names = [one.text for one in root.iter("{http://www.w3.org/2000/svg}text")]
    assert {"alone", "b", "c"} < set(names)
    assert "<script" not in picture and "\x1b" not in picture and "\u202e" not in picture
    assert picture.count("marker-end") == 3
    assert ElementTree.fromstring(svg([], [])).tag.endswith("svg")


def test_a_picture_of_a_circle_and_of_very_many_things_ends() -> None:
    links = [MapLink(str(n), str((n + 1) % 400)) for n in range(400)]
    assert ElementTree.fromstring(svg([], links)) is not None
    assert dot([], links).count("label=") == 150
