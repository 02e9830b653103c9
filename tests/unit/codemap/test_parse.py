"""What a parser finds in a file, language by language, and in files that are broken or made to hurt."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import pytest

from segue.core.codemap.symbols import FileSymbols
from segue.effects.codemap.languages import ENDINGS, language_of
from segue.effects.codemap.parse import parsed
from segue.effects.codemap.parser_process import ParserProcess

PYTHON = """
import os.path
from .money import to_cents, RATE as rate
from .all import *

LIMIT = 3

class Cart(Base):
    @property
    def total(self):
        return self.sum(to_cents(1)) * rate

    def sum(self, one):
        def inner():
            return LIMIT
        return inner()
"""
SCRIPT = """
import cart, { total as sum } from './cart.js';
import * as money from '@shop/money';
export { RATE } from './rates';
const { load } = require('./load');
export const LIMIT = 3;
export const checkout = async (one) => sum(one) + money.cents(LIMIT);
class Basket extends Base {
  add(one) { this.keep(one); return new Basket().add(one); }
  keep() {}
}
function top() { return checkout(cart); }
"""
TYPED = """
import { Item } from './item';
interface Priced { price: number }
type Many = Priced[];
enum Kind { A }
abstract class Shop implements Priced { sell(item: Item): Many { return this.sell(item); } }
"""
TSX = """
import { Row } from './row';
const pick = () => 1;
export function Table(props: Props) { return <Row onClick={pick}><Cell/></Row>; }
"""
GO = """package shop

import (
	"fmt"
	cash "example.org/shop/internal/money"
)

const Limit = 3

type Cart struct{ n int }

func (c *Cart) Total() int { fmt.Println(Limit); return cash.Cents(c.count()) }
func (c Cart) count() int { return c.n }
func main() { New().Total() }
func New() *Cart { return &Cart{} }
"""
RUST = """
use crate::money::{cents, rates::Rate as R};
mod list;
const LIMIT: u8 = 3;
pub struct Cart { n: u8 }
trait Total { fn total(&self) -> u8; }
impl Total for Cart { fn total(&self) -> u8 { self.count() + cents(LIMIT) } }
impl Cart { fn count(&self) -> u8 { R::of(1) } }
mod tests { fn works() { super::check(1); } }
fn check(n: u8) {}
"""
JAVA = """package shop;
import shop.money.Cents;
public class Cart extends Base implements Total {
  static final int LIMIT = 3;
  Cart() {}
  int total() { return this.count() + new Cents(LIMIT).value() + Rates.now(); }
  int count() { return LIMIT; }
}
interface Total {}
"""
C = """
#include "shop/money.h"
#include <stdio.h>
#define LIMIT 3
struct cart { int n; };
typedef struct cart Cart;
int count(Cart *one);
static int *spare(void) { return 0; }
int total(Cart *one) { printf("%d", LIMIT); return cents(count(one)); }
"""
CPP = """
#include "cart.hpp"
namespace shop {
class Cart : public Base { public: int total(); int count() { return total(); } };
}
int Cart::total() { this->count(); auto one = new Cart(); return Rates::now(); }
"""
RUBY = """
require_relative 'money'
module Shop
  LIMIT = 3
  class Cart < Base
    def total(one)
      count(one) + one.price + Rates.now + LIMIT
    end
    def self.make; new; end
  end
end
"""
C_SHARP = """
using Shop.Money;
namespace Shop.Carts {
  public class Cart : Base, ITotal {
    public int N { get; set; }
    int Total() { return this.Count() + Rates.Now() + new Cents(1).Value(); }
    int Count() { return N; }
  }
}
"""
CASES = {
    "python": (
        PYTHON, "constant LIMIT, class Cart, method Cart.total, method Cart.sum, function sum.inner",
        "Base<inherit@Cart self.sum<call@Cart.total to_cents<call@Cart.total rate<use@Cart.total"
        " LIMIT<use@sum.inner inner<call@Cart.sum",
        ".money .all os.path",
    ),
    "javascript": (
        SCRIPT, "constant LIMIT, function checkout, class Basket, method Basket.add, method Basket.keep,"
        " function top",
        "sum<call@checkout money.cents<call@checkout LIMIT<use@checkout Base<inherit@Basket"
        " this.keep<call@Basket.add Basket<call@Basket.add Basket.add<call@Basket.add checkout<call@top"
        " cart<use@top",
        "./cart.js @shop/money ./rates ./load",
    ),
    "typescript": (
        TYPED, "type Priced, type Many, type Kind, class Shop, method Shop.sell",
        "Priced<inherit@Shop Item<use@Shop.sell Many<use@Shop.sell this.sell<call@Shop.sell", "./item",
    ),
    "tsx": (
        TSX, "function pick, function Table", "Row<call@Table pick<use@Table Cell<call@Table", "./row",
    ),
    "go": (
        GO, "constant Limit, type Cart, method Cart.Total, method Cart.count, function main, function New",
        "fmt.Println<call@Cart.Total Limit<use@Cart.Total cash.Cents<call@Cart.Total c.count<call@Cart.Total"
        " New<call@main Total<call@main Cart<use@New",
        "fmt example.org/shop/internal/money",
    ),
    "rust": (
        RUST, "constant LIMIT, class Cart, type Total, method Total.total, method Cart.total,"
        " method Cart.count, function tests.works, function check",
        "Total<inherit@ self.count<call@Cart.total cents<call@Cart.total LIMIT<use@Cart.total"
        " R.of<call@Cart.count super.check<call@tests.works",
        "crate::money::cents crate::money::rates::Rate self::list",
    ),
    "java": (
        JAVA, "class Cart, constant Cart.LIMIT, method Cart.Cart, method Cart.total, method Cart.count,"
        " type Total",
        "Base<inherit@Cart Total<inherit@Cart this.count<call@Cart.total Cents<call@Cart.total"
        " Rates.now<call@Cart.total value<call@Cart.total LIMIT<use@Cart.count",
        "shop.money.Cents",
    ),
    "c": (
        C, "constant LIMIT, class cart, type Cart, declaration count, function spare, function total",
        "printf<call@total LIMIT<use@total cents<call@total count<call@total Cart<use@total",
        "shop/money.h stdio.h",
    ),
    "cpp": (
        CPP, "class shop.Cart, declaration Cart.total, method Cart.count, method Cart.total",
        "Base<inherit@shop.Cart total<call@Cart.count this.count<call@Cart.total Cart<call@Cart.total"
        " Rates.now<call@Cart.total",
        "cart.hpp",
    ),
    "ruby": (
        RUBY, "module Shop, constant Shop.LIMIT, class Shop.Cart, method Cart.total, method Cart.make",
        "Base<inherit@Shop.Cart count<call@Cart.total one.price<call@Cart.total Rates.now<call@Cart.total"
        " LIMIT<use@Cart.total",
        "money",
    ),
    "c_sharp": (
        C_SHARP, "module Shop.Carts, class Shop.Carts.Cart, constant Cart.N, method Cart.Total,"
        " method Cart.Count",
        "Base<inherit@Shop.Carts.Cart ITotal<inherit@Shop.Carts.Cart this.Count<call@Cart.Total"
        " Rates.Now<call@Cart.Total Cents<call@Cart.Total Value<call@Cart.Total N<use@Cart.Count",
        "Shop.Money",
    ),
}  # fmt: skip


def defined(symbols: FileSymbols) -> list[str]:
    return [f"{one.kind} {one.title}" for one in symbols.definitions]


def used(symbols: FileSymbols) -> list[str]:
    titles = [one.title for one in symbols.definitions] + [""]
    return [
        f"{f'{one.receiver}.' if one.receiver else ''}{one.name}<{one.kind}@{titles[one.within]}"
        for one in symbols.references
    ]


@pytest.mark.parametrize("language", CASES)
def test_definitions_references_calls_and_imports_of_a_language_are_found(language: str) -> None:
    source, definitions, references, imports = CASES[language]
    found = parsed(source.encode(), language)
    assert not found.broken
    assert found.lines == source.count("\n")
    assert set(definitions.split(", ")) <= set(defined(found))
    assert set(references.split()) <= set(used(found))
    assert set(imports.split()) == {one.module for one in found.imports}


def test_every_language_that_files_may_have_is_tested() -> None:
    assert set(ENDINGS.values()) == set(CASES)
    assert (language_of("a/b.PY"), language_of("a.tsx"), language_of("Makefile"), language_of("a.md")) == (
        "python", "tsx", "", "",
    )  # fmt: skip


def test_what_an_import_is_called_here_and_there_is_known() -> None:
    found = {one.module: one.names for one in parsed(PYTHON.encode(), "python").imports}
    assert found[".money"] == (("to_cents", "to_cents"), ("RATE", "rate"))
    assert found[".all"] == (("*", "*"),)
    found = {one.module: one.names for one in parsed(SCRIPT.encode(), "javascript").imports}
    assert found["./cart.js"] == (("", "cart"), ("total", "sum"))


def test_lines_are_those_of_the_name_and_of_the_end() -> None:
    symbols = parsed(PYTHON.encode(), "python")
    total = next(one for one in symbols.definitions if one.name == "total")
    assert (total.line, total.last) == (10, 11)
    lines = {one.name: one.lines for one in symbols.references}
    assert lines["to_cents"] == (11,)


def test_a_local_variable_is_no_use_of_anything() -> None:
    assert used(parsed(b"def f(path):\n    name = path\n    return name\n", "python")) == []
    hidden = b"def f():\n    pass\n\n\ndef g(f):\n    def h():\n        return f()\n    return h\n"
    assert used(parsed(hidden, "python")) == ["h<use@g"]
    assert used(parsed(b"function f() {}\nconst g = (f) => f();\n", "javascript")) == []


@pytest.mark.parametrize("language", CASES)
def test_broken_code_gives_what_comes_before_and_after_the_break(language: str) -> None:
    source = CASES[language][0].encode()
    half = parsed(source[: len(source) // 2], language)
    assert half.definitions
    for garbage in (b"", b"\xff\xfe\x00)", b"}}}}((((", source[::-1], b"def class ] " * 50):
        parsed(garbage, language)


def test_a_file_with_a_break_in_the_middle_keeps_what_is_around_it() -> None:
    source = b"def one():\n    return 1\n\ndef (:\n\ndef three():\n    return one()\n"
    found = parsed(source, "python")
    assert found.broken
    assert {"function one", "function three"} <= set(defined(found))


@pytest.mark.parametrize("language", CASES)
def test_text_that_is_made_to_hurt_costs_its_time_limit_at_most_and_no_other_file(language: str) -> None:
    with ParserProcess() as parser:
        for piece in (b"(\n", b"def f():\n", b"class A {\n", b"a.\n"):
            parser.seconds, began = 2.0, time.monotonic()
            parser.parsed(piece * 20_000, language)
            assert time.monotonic() - began < 30
            parser.seconds = 60.0
            source, definitions, _, _ = CASES[language]
            assert set(definitions.split(", ")) <= set(defined(parser.parsed(source.encode(), language)))


def test_a_parser_that_dies_or_hangs_costs_the_file_that_it_was_at() -> None:
    with ParserProcess(seconds=60.0) as parser:
        parser.parsed(b"x = 1\n", "python")
        process = parser._process
        assert process is not None
        for sign in (signal.SIGKILL, signal.SIGSTOP):
            assert parser._process is not None
            parser.seconds = 0.5
            parser._process.send_signal(sign)
            lost = parser.parsed(b"def f():\n    pass\n", "python")
            assert (lost.broken, lost.definitions) == (True, ())
            parser.seconds = 60.0
            assert parser.parsed(b"def f():\n    pass\n", "python").definitions[0].name == "f"
    assert process.poll() is not None


def test_nothing_is_downloaded_for_any_language() -> None:
    program = (
        "import sys\n"
        "def watch(event, args):\n"
        "    if event.startswith(('socket.', 'urllib.', 'http.', 'subprocess.', 'os.exec')):\n"
        "        raise SystemExit(f'{event} {args}')\n"
        "sys.addaudithook(watch)\n"
        "from segue.effects.codemap.languages import ENDINGS\n"
        "from segue.effects.codemap.parse import parsed\n"
        "for language in set(ENDINGS.values()):\n"
        "    parsed(b'x', language)\n"
        "print('parsed')\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("parsed\n", "")
