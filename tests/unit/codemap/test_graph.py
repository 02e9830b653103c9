"""Which definition a name means, language by language, and what is only guessed."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from segue.core.codemap.graph import CodeGraph
from segue.core.codemap.questions import (
    changed_nodes,
    is_test,
    meant,
    only_tests,
    reached_from,
    users_of,
    uses_of,
)
from segue.core.codemap.symbols import FileSymbols, changed_definitions, innermost
from segue.effects.codemap.languages import language_of
from segue.effects.codemap.parse import parsed

PYTHON = {
    "src/shop/money.py": "RATE = 1\n\n\ndef cents(x):\n    return x * RATE\n",
    "src/shop/__init__.py": "from .money import cents\n",
    "src/shop/cart.py": (
        "from shop import cents\nfrom . import money\n\n\nclass Base:\n    def keep(self):\n        pass\n\n"
        "class Cart(Base):\n    def total(self):\n        self.keep()\n        return cents(1) + money.RATE\n"
    ),
    "tests/test_cart.py": "from shop.cart import Cart\n\n\ndef test_total():\n    assert Cart().total()\n",
    "other/money.py": "def cents(x):\n    return 'another'\n",
}
SCRIPT = {
    "packages/money/src/index.ts": "export { cents } from './cents.js';\n",
    "packages/money/src/cents.ts": "export function cents(x: number) { return x; }\n",
    "apps/web/src/cart.tsx": (
        "import { cents } from '@shop/money';\nimport { Row } from '@/row';\n"
        "export function Cart() { return <Row price={cents(1)} />; }\n"
    ),
    "apps/web/src/row.tsx": "export const Row = (props: any) => props.price;\n",
    "apps/web/src/cart.test.tsx": "import { Cart } from './cart';\ntest('x', () => { Cart(); });\n",
}
GO = {
    "go.mod": "module example.org/shop\n",
    "internal/money/money.go": "package money\n\nfunc Cents(x int) int { return half(x) }\n",
    "internal/money/half.go": "package money\n\nfunc half(x int) int { return x / 2 }\n",
    "cart.go": (
        'package shop\n\nimport "example.org/shop/internal/money"\n\ntype Cart struct{}\n\n'
        "func (c *Cart) Total() int { return money.Cents(1) }\n"
    ),
    "cart_test.go": "package shop\n\nfunc TestTotal() { (&Cart{}).Total() }\n",
}
RUST = {
    "src/lib.rs": "mod money;\nmod cart;\n",
    "src/money.rs": "pub fn cents(x: u8) -> u8 { x }\n",
    "src/cart.rs": (
        "use crate::money::cents;\npub struct Cart;\nimpl Cart {\n  pub fn total(&self) { self.one() }\n"
        "  fn one(&self) -> u8 { cents(1) }\n}\n"
    ),
}
JAVA = {
    "src/main/java/shop/money/Money.java": (
        "package shop.money;\npublic class Money { public static int cents(int x) { return x; } }\n"
    ),
    "src/main/java/shop/Cart.java": (
        "package shop;\nimport shop.money.Money;\n"
        "public class Cart { int total() { return Money.cents(one()); } int one() { return Near.two(); } }\n"
    ),
    "src/main/java/shop/Near.java": "package shop;\nclass Near { static int two() { return 2; } }\n",
}
C = {
    "include/money.h": "int cents(int x);\n",
    "src/money.c": '#include "money.h"\nint cents(int x) { return x; }\n',
    "src/cart.c": '#include "money.h"\nint total(void) { return cents(1); }\n',
}
RUBY = {
    "lib/money.rb": "module Money\n  def self.cents(x)\n    x\n  end\nend\n",
    "lib/cart.rb": "require_relative 'money'\nclass Cart\n  def total\n    Money.cents(one)\n  end\n"
    "  def one\n    1\n  end\nend\n",
}  # fmt: skip
C_SHARP = {
    "Money.cs": "namespace Shop.Money { public class Cash { public static int Cents(int x) { } } }\n",
    "Cart.cs": "using Shop.Money;\nnamespace Shop { class Cart { int Total() { return Cash.Cents(1); } } }\n",
}


def files(texts: Mapping[str, str]) -> dict[str, FileSymbols]:
    return {
        path: parsed(text.encode(), language_of(path)) if language_of(path) else FileSymbols()
        for path, text in texts.items()
    }


def graph(texts: Mapping[str, str]) -> CodeGraph:
    return CodeGraph(files(texts))


def users(texts: Mapping[str, str], name: str) -> list[str]:
    """``path:name`` of who surely uses it, without imports."""
    code = graph(texts)
    found = users_of(code, meant(code, name))
    return [f"{use.path}:{use.place.name}" for use in found if use.sure and use.kind != "import"]


@pytest.mark.parametrize(
    ("texts", "name", "wanted"),
    [
        (PYTHON, "src/shop/money.py:cents", ["src/shop/cart.py:Cart.total"]),
        (PYTHON, "RATE", ["src/shop/cart.py:Cart.total", "src/shop/money.py:cents"]),
        (PYTHON, "Base.keep", ["src/shop/cart.py:Cart.total"]),
        (PYTHON, "Cart", ["tests/test_cart.py:test_total"]),
        (PYTHON, "other/money.py:cents", []),
        (SCRIPT, "cents", ["apps/web/src/cart.tsx:Cart"]),
        (SCRIPT, "Row", ["apps/web/src/cart.tsx:Cart"]),
        (SCRIPT, "Cart", ["apps/web/src/cart.test.tsx:"]),
        (GO, "Cents", ["cart.go:Cart.Total"]),
        (GO, "half", ["internal/money/money.go:Cents"]),
        (RUST, "cents", ["src/cart.rs:Cart.one"]),
        (RUST, "Cart.one", ["src/cart.rs:Cart.total"]),
        (JAVA, "Money.cents", ["src/main/java/shop/Cart.java:Cart.total"]),
        (JAVA, "Near.two", ["src/main/java/shop/Cart.java:Cart.one"]),
        (JAVA, "Cart.one", ["src/main/java/shop/Cart.java:Cart.total"]),
        (C, "cents", ["src/cart.c:total"]),
        (RUBY, "Money.cents", ["lib/cart.rb:Cart.total"]),
        (RUBY, "Cart.one", ["lib/cart.rb:Cart.total"]),
        (C_SHARP, "Cash.Cents", ["Cart.cs:Cart.Total"]),
    ],
)
def test_a_name_means_what_scope_and_imports_say(
    texts: Mapping[str, str], name: str, wanted: list[str]
) -> None:
    assert users(texts, name) == wanted


@pytest.mark.parametrize(
    ("texts", "user", "used"),
    [
        (PYTHON, "tests/test_cart.py", "src/shop/cart.py"),
        (SCRIPT, "apps/web/src/cart.tsx", "packages/money/src/index.ts"),
        (GO, "cart.go", "internal/money/half.go"),
        (RUST, "src/lib.rs", "src/money.rs"),
        (JAVA, "src/main/java/shop/Cart.java", "src/main/java/shop/money/Money.java"),
        (C, "src/cart.c", "include/money.h"),
        (RUBY, "lib/cart.rb", "lib/money.rb"),
        (C_SHARP, "Cart.cs", "Money.cs"),
    ],
)
def test_an_import_leads_to_its_file(texts: Mapping[str, str], user: str, used: str) -> None:
    code = graph(texts)
    found = uses_of(code, meant(code, user))
    assert used in [use.place.path for use in found if use.kind == "import"]


def test_a_method_of_an_unknown_object_is_guessed_by_its_name_and_marked_as_such() -> None:
    texts = {
        "a.py": "class A:\n    def unusual(self):\n        pass\n",
        "b.py": "def run(x):\n    x.unusual()\n",
    }
    code = graph(texts)
    [use] = users_of(code, meant(code, "A.unusual"))
    assert (use.place.name, use.sure) == ("run", False)


def test_a_name_that_many_have_is_not_guessed_at_all() -> None:
    texts = {f"m{n}.py": f"class C{n}:\n    def get(self):\n        pass\n" for n in range(9)}
    assert graph({**texts, "b.py": "def run(x):\n    x.get()\n"}).edges == []


def test_names_of_different_languages_do_not_meet() -> None:
    assert (
        graph({"a.py": "def total():\n    pass\n", "b.go": "package b\n\nfunc x() { total() }\n"}).edges == []
    )


def test_what_a_change_affects_is_told_step_by_step_with_what_leads_there() -> None:
    code = graph(PYTHON)
    found = reached_from(code, meant(code, "src/shop/money.py:cents"))
    told = {(one.place.name or one.place.path): (one.steps, one.through) for one in found if one.sure}
    assert told["Cart.total"] == (1, "cents")
    assert told["test_total"][0] == 2
    tests = only_tests(found)
    assert [one.place.name for one in tests] == ["test_total"]


def test_a_change_in_a_file_is_one_of_the_definitions_that_differ() -> None:
    before = parsed(
        b"def one():\n    return 1\n\n\nclass A:\n    def two(self):\n        return 2\n", "python"
    )
    after = parsed(
        b"import os\n\n\ndef one():\n    return 1\n\n\nclass A:\n    def two(self):\n        return 3\n",
        "python",
    )
    places = changed_definitions(before, after)
    assert [after.definitions[at].title for at in places] == ["A.two"]
    assert [after.definitions[at].title for at in changed_definitions(None, after)] == ["one", "A"]
    assert after.definitions[innermost(after, 10)].title == "A.two"
    assert innermost(after, 1) == -1
    code = CodeGraph({"a.py": after})
    assert [code.title(one) for one in changed_nodes(code, {"a.py": places, "gone.py": ()})] == ["A.two"]


@pytest.mark.parametrize("name", ["cart.py", "src/shop/cart.py", "./src/shop/cart.py"])
def test_a_file_is_found_by_the_end_of_its_path(name: str) -> None:
    code = graph(PYTHON)
    assert [code.nodes[one].path for one in meant(code, name)] == ["src/shop/cart.py"]


def test_a_symbol_is_found_by_its_owner_its_module_or_its_file() -> None:
    code = graph(PYTHON)
    for name in ("total", "Cart.total", "cart.Cart.total", "cart.py:Cart.total", "cart.total", "Cart#total"):
        assert [code.title(one) for one in meant(code, name)] == ["Cart.total"], name
    assert meant(code, "nothing") == meant(code, "Nobody.total") == []


@pytest.mark.parametrize(
    ("path", "is_one"),
    [
        ("tests/unit/a.py", True), ("src/a_test.go", True), ("a.spec.ts", True), ("test_a.py", True),
        ("src/CartTest.java", True), ("spec/cart_spec.rb", True), ("src/contest.py", False),
        ("src/latest/a.py", False), ("src/testament.py", False),
    ],
)  # fmt: skip
def test_a_file_of_tests_is_known_by_its_name(path: str, is_one: bool) -> None:
    assert is_test(path) is is_one
