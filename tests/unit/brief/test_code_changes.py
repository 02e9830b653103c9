"""What a change of code is about: where it stands, what it defines, and its telling line."""

from __future__ import annotations

import pytest

from segue.core.brief.code_changes import ChangeWords, change_words
from segue.core.brief.trail_words import edit_words
from segue.core.runs.steps import Change


def edit(old: str, new: str, place: str = "") -> ChangeWords:
    return change_words(Change("a.py", "edit", old, new, place))


def test_an_edit_stands_in_the_definition_above_its_first_new_line() -> None:
    old = "def parse(text):\n    pass\n\ndef write(text):\n    pass"
    words = edit(old, "def parse(text):\n    pass\n\ndef write(text):\n    return text")
    assert (words.where, words.added, words.removed) == ("write", "return text", "")


def test_an_edit_stands_where_its_hunk_says() -> None:
    assert edit("a", "b", "class Parser:\nmore").where == "Parser"
    assert edit("a", "b", f"  line   {'x' * 60}").where == f"line {'x' * 45}"


def test_what_is_removed_is_told_though_only_a_comma_was_added_elsewhere() -> None:
    words = edit("keep_this_name(1)\ndrop_this_name(2)", "keep_this_name(1),")
    assert (words.added, words.removed) == ("", "drop_this_name(2)")


def test_new_definitions_are_named_but_the_one_that_it_stands_in_is_not() -> None:
    words = edit("x = 1", "\n".join(f"def name_{number}():\n    pass" for number in range(7)))
    assert words.where == "name_0" and words.new == ("name_1", "name_2", "name_3", "name_4", "name_5")


def test_a_new_file_has_the_names_that_it_defines_and_its_lines() -> None:
    text = "\n".join(f"def name_{number}():\n    pass" for number in range(6))
    words = change_words(Change("a.py", "create", "", text))
    assert words.new == ("name_0", "name_1", "name_2", "name_3") and words.lines == 12
    assert change_words(Change("a.py", "create", "", "a", lines=900)).lines == 900


@pytest.mark.parametrize(
    ("lines", "telling"),
    [
        (["import parser_of_rows_and_columns", "amount = cents(row)"], "amount = cents(row)"),
        (["}", "x"], "x"),
        (["}"], ""),
        (["// the rounding of all totals in invoices", "totals = rounded"], "totals = rounded"),
        (["amount = cents(row)", "def cents(amount):"], "def cents(amount):"),
        (["short = one", "amounts_of_rows = cents_of(rows)"], "amounts_of_rows = cents_of(rows)"),
        (["alpha = betas", "gamma = delta"], "alpha = betas"),
        (["x[1] = {2: (3, 4), 5: (6, 7), 8: (9, 0)}", "amounts of rows"], "amounts of rows"),
    ],
)  # fmt: skip
def test_the_line_that_says_most_is_told(lines: list[str], telling: str) -> None:
    assert edit("", "\n".join(lines)).added == telling


def test_a_line_with_names_that_were_there_before_says_less() -> None:
    words = edit("known_name other_name", "known_name = other_name\nfresh_name = later_name")
    assert words.added == "fresh_name = later_name"


def test_other_new_lines_that_say_something_come_behind_it() -> None:
    rows = [f"value_{number} = amount_{number}" for number in range(6)]
    words = edit(
        "", "\n".join(["def parse(text, rates, rounding):", "import rows_of_parser as rows", *rows, "}"])
    )
    assert words.added == "def parse(text, rates, rounding):" and words.told == (words.added, *rows[:3])


def test_of_a_very_long_change_the_beginning_is_looked_at() -> None:
    lines = [f"x{number}" for number in range(399)]
    assert edit("", "\n".join([*lines, "def late(): pass"])).new == ("late",)
    assert edit("", "\n".join([*lines, "x", "def later(): pass"])).new == ()
    assert edit("", "\n".join(["x"] * 59 + ["amount = cents(row)"])).added == "amount = cents(row)"
    assert edit("", "\n".join(["x"] * 60 + ["amount = cents(row)"])).added == "x"


def test_a_file_that_was_written_over_is_told_by_what_changed_or_by_some_of_its_names() -> None:
    text = "class Cart:\n" + "".join(f"    def {name}(self): ...\n" for name in ("add", "drop", "total"))
    new = Change("cart.py", "create", "", text)
    assert edit_words(new, change_words(new))[0] == " (5 lines: Cart, add, drop, …)"
    over = Change("cart.py", "create", "", text, place="    def total(self):")
    assert edit_words(over, change_words(over))[0] == " (5 lines, changed in total)"


def test_lines_that_were_added_are_told_in_their_order() -> None:
    new = "if text.isdigit():\n    return sum(int(number) * units[unit])"
    change = Change("a.py", "edit", "x", new)
    told = edit_words(change, change_words(change))[1]
    assert told == "+ if text.isdigit(): / return sum(int(number) * units[unit])"
