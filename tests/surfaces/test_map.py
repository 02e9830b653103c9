"""`segue map` on the command line, in restorations and in briefs."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from tests.support.git import Repository
from tests.support.runs import opened
from tests.surfaces.conftest import Cli

from segue.core.runs.steps import Call, Change, Prompt, Result, Start, Step
from segue.errors import NotInstalled
from segue.surfaces.mcp.calls import Calls
from segue.testing.transcripts import placed

MONEY = (
    "RATE = 100\n\n\ndef cents(euros):\n    return euros * RATE\n\n\n"
    "def euros(cents):\n    return cents / RATE\n"
)
CART = "from shop.money import cents\n\n\nclass Cart:\n    def total(self):\n        return cents(1)\n"
TEST = "from shop.cart import Cart\n\n\ndef test_total():\n    assert Cart().total() == 100\n"
NATIVE = "5f0c1c4e-0000-4000-8000-000000000001"
FILES = {
    "shop/money.py": MONEY,
    "shop/cart.py": CART,
    "tests/test_cart.py": TEST,
    "docs/notes.md": "# Notes\n",
}


@pytest.fixture
def shop(project: Path) -> Repository:
    repository = Repository(project)
    repository.commit("a shop", FILES)
    return repository


def test_who_uses_a_thing_is_told_with_file_and_line(cli: Cli, shop: Repository) -> None:
    assert cli("map", "users", "cents").out == (
        "who uses cents (shop/money.py:4):\n  shop/cart.py:6  Cart.total  call\n"
    )
    assert "RATE (shop/money.py:1)  use in line 5" in cli("map", "uses", "cents").out


def test_what_is_not_committed_is_followed_to_the_tests_that_reach_it(cli: Cli, shop: Repository) -> None:
    assert "no mapped file has uncommitted changes" in cli("map", "affected").out
    shop.write({"shop/money.py": MONEY.replace("euros * RATE", "round(euros * RATE)")})
    found = cli("map", "affected", "--json").value
    assert [place["name"] for place in found["about"]] == ["cents"]
    assert [(one["place"]["name"], one["steps"]) for one in found["reached"]] == [
        ("Cart.total", 1), ("test_total", 2),
    ]  # fmt: skip
    tests = cli("map", "tests", "--json").value["reached"]
    assert [one["place"]["name"] for one in tests] == ["test_total"]


def test_the_most_central_files_fit_the_budget(cli: Cli, shop: Repository) -> None:
    found = cli("map", "--task", "look at shop/cart.py", "--tokens", "60", "--json").value
    assert found["files"][0]["path"] == "shop/cart.py"
    assert found["tokens"] <= 60
    assert len(found["files"]) + found["left_out"] == 4
    assert "at least 50 tokens" in cli("map", "--tokens", "10", code=64).err


def test_a_name_that_is_unknown_is_an_error_with_near_names(cli: Cli, shop: Repository) -> None:
    assert "similar names: cents" in cli("map", "users", "cent", code=64).err
    assert "which symbol or file?" in cli("map", "users", code=64).err


def test_pictures_are_printed_without_another_program(
    cli: Cli, shop: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli("map")
    assert '"Cart.total"' in cli("map", "users", "cents", "--dot").out
    ElementTree.fromstring(cli("map", "users", "cents", "--svg").out)
    ElementTree.fromstring(cli("map", "--svg").out)


def test_names_and_paths_that_would_control_a_terminal_are_cleaned(cli: Cli, shop: Repository) -> None:
    shop.write({"evil\x1b[31m.js": "export function f() { return cents2(); }\nfunction cents2() {}\n"})
    for words in (("users", "cents2"), (), ("--task", "cents2"), ("users", "cents2", "--dot"), ("--svg",)):
        assert "\x1b" not in cli("map", *words).out
    assert "\x1b" not in cli("map", "users", "cents2", "--json").out


def test_the_tool_gives_the_json_of_the_command(cli: Cli, shop: Repository) -> None:
    for given, words in (
        ({}, ()), ({"question": "users", "name": "cents"}, ("users", "cents")),
        ({"question": "affected", "name": "RATE"}, ("affected", "RATE")),
        ({"task": "cents", "tokens": 80}, ("--task", "cents", "--tokens", "80")),
    ):  # fmt: skip
        assert Calls().call("map", given).value == cli("map", *words, "--json").value
    assert Calls().call("map", {"question": "why"}).failed


def run_of(shop: Repository, home: Path) -> None:
    """A run of an agent that worked on the cart and was killed."""
    project = str(shop.folder)
    steps: list[Step] = [
        Start(1_700_000_000.0, "start", native=NATIVE, cwd=project),
        Prompt(1_700_000_001.0, "Make the total of the cart exact"),
        Call(1_700_000_002.0, "1", "Read", "read", paths=(f"{project}/shop/cart.py",)),
        Result(1_700_000_003.0, "1", True, text=CART),
        Call(
            1_700_000_004.0, "2", "Edit", "edit", paths=(f"{project}/shop/money.py",),
            changes=(Change(f"{project}/shop/money.py", "edit", "    return euros", "    return round("),),
        ),
        Result(1_700_000_005.0, "2", True, text="ok"),
    ]  # fmt: skip
    placed("claude-code", steps, home=home, native=NATIVE, cwd=project)
    shop.write({"shop/money.py": MONEY.replace("euros * RATE", "round(euros * RATE)")})


def test_the_newest_run_is_what_the_map_is_about(cli: Cli, shop: Repository, home: Path) -> None:
    run_of(shop, home)
    found = cli("map", "--json").value["files"]
    assert {one["path"] for one in found if one["touched"]} == {"shop/cart.py", "shop/money.py"}
    assert found[0]["touched"]


def test_a_restoration_has_the_map_only_where_one_was_made_before(
    cli: Cli, shop: Repository, home: Path
) -> None:
    run_of(shop, home)
    with opened(home, shop.folder) as seg:
        assert "map of the code" not in seg.restore(budget=20_000).text
    cli("map")
    with opened(home, shop.folder) as seg:
        restored = seg.restore(budget=20_000)
    assert "the files that matter most for this work" in restored.text
    assert "shop/cart.py: Cart 4" in restored.text


def test_a_brief_names_what_is_changed_in_uncommitted_files_if_the_map_knows(
    cli: Cli, shop: Repository, home: Path
) -> None:
    run_of(shop, home)
    assert "shop/money.py (cents)" not in cli("brief").out
    cli("map")
    brief = cli("brief").out
    assert "Uncommitted now: shop/money.py (cents)." in brief
    assert "edited shop/money.py in cents" in brief
    shop.write({"shop/money.py": MONEY.replace("/ RATE", "// RATE")})  # not as it was when it was mapped
    assert "shop/money.py (" not in cli("brief").out


def test_a_damaged_map_does_no_harm_to_a_brief(cli: Cli, shop: Repository, home: Path) -> None:
    run_of(shop, home)
    cli("map")
    [path] = (home / "segue" / "archive" / "maps").glob("*.db")
    path.write_bytes(b"no database" * 1_000)
    assert "Uncommitted now: shop/money.py." in cli("brief").out
    assert "Cart.total" in cli("map", "users", "cents").out


def test_without_the_extra_the_error_says_how_to_get_it(
    cli: Cli, shop: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    from segue.effects.codemap import languages

    languages.grammar_of.cache_clear()
    monkeypatch.setitem(__import__("sys").modules, "tree_sitter", None)
    ran = cli("map", code=NotInstalled.exit_code)
    assert "[map]'" in ran.err
    assert json.loads(cli("map", "--json", code=NotInstalled.exit_code).out or "{}") is not None
    languages.grammar_of.cache_clear()
