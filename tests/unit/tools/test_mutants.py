"""The program that changes the code to see whether the tests notice."""

from __future__ import annotations

from tests.mutants.__main__ import MODULES, drawn
from tests.mutants.changes import changes
from tests.mutants.equivalent import EQUIVALENT


def test_every_change_that_is_said_to_do_the_same_can_still_be_made() -> None:
    possible = {(m.module, m.text, str(m.change)) for m in drawn(list(MODULES), seed=0, count=1_000_000)}
    assert possible.issuperset(EQUIVALENT)


def test_the_same_seed_draws_the_same_changes_and_never_one_twice() -> None:
    one, again, other = (drawn(list(MODULES), seed, 60) for seed in (7, 7, 8))
    assert one == again != other and len(set(one)) == len(one) == 60


def test_constants_operators_and_conditions_are_changed_one_at_a_time_and_texts_are_not() -> None:
    source = b'def f(a: int = 3) -> bool:\n    """Three."""\n    return a >= 10 and not a + 1 == "9"\n'
    found = {str(change): change.applied(source) for change in changes(source)}
    assert set(found) == {
        "3 → 4", ">= → >", "10 → 20", "and → or", 'not a + 1 == "9" → a + 1 == "9"', "+ → -",
        "1 → 2", "== → !=",
    }  # fmt: skip
    assert b"a > 10 and" in found[">= → >"] and b"a: int = 4)" in found["3 → 4"]
    for changed in found.values():
        compile(changed, "f.py", "exec")
