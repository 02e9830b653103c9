"""Rows behave like a tuple, share what they can, and find by key whatever their relatives did."""

from __future__ import annotations

import pytest

from segue.core.base.persistent_list import Rows


@pytest.mark.parametrize("count", [0, 1, 63, 64, 65, 128, 200])
def test_rows_are_what_was_put_in(count: int) -> None:
    plain = tuple(f"r{i}" for i in range(count))
    grown: Rows[str] = Rows()
    for row in plain:
        grown = grown.append(row)
    for rows in (Rows(plain), grown):
        assert len(rows) == count and tuple(rows) == plain
        assert [rows[i] for i in range(-count, count)] == [*plain, *plain]
        assert rows[3:90:7] == plain[3:90:7]
        assert rows == Rows(plain) and hash(rows) == hash(Rows(plain))
    for wrong in (count, -count - 1):
        with pytest.raises(IndexError):
            grown[wrong]


@pytest.mark.parametrize("place", [0, 63, 64, 127, 128, 149])
def test_replacing_a_row_leaves_the_rows_of_before_alone(place: int) -> None:
    before = Rows(range(150))
    after = before.replace(place, -1)
    assert list(before) == list(range(150))
    assert [i for i, (a, b) in enumerate(zip(before, after, strict=True)) if a != b] == [place]
    assert after != before


def test_rows_are_found_by_key_also_after_branching() -> None:
    def add(rows: Rows[str], *texts: str) -> Rows[str]:
        for text in texts:
            rows = rows.append_keyed(text.lower(), text, str.lower)
        return rows

    trunk = add(Rows(), "A", "B")
    left, right = add(trunk, "X", "Y"), add(trunk, "Y", "X", "Z")
    for rows in (trunk, left, right, add(left, "Z"), Rows(left)):
        for key in "abxyz":
            expected = next((i for i, row in enumerate(rows) if row.lower() == key), -1)
            assert rows.find(key, str.lower) == expected, (list(rows), key)


def test_rows_of_other_types_are_not_equal() -> None:
    assert Rows([1]) != (1,) and Rows([1]) != Rows([2])
