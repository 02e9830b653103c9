"""A handle is the shortest beginning of an id that names one entry, and never under four characters."""

from __future__ import annotations

import pytest

from segue.core.ledger.handles import entries_named, handles
from segue.core.ledger.model import Entry


def entries(*ids: str) -> list[Entry]:
    return [Entry(id, "rule", f"rule {id}") for id in ids]


def test_a_handle_has_four_characters_where_these_are_enough() -> None:
    assert handles(entries("aaaa111111", "bbbb222222")) == {"aaaa111111": "aaaa", "bbbb222222": "bbbb"}


def test_a_handle_is_as_long_as_it_must_be() -> None:
    made = handles(entries("abcd1x0000", "abcd1y0000", "abce000000", "abcd100000"))
    assert made == {
        "abcd1x0000": "abcd1x", "abcd1y0000": "abcd1y", "abcd100000": "abcd10", "abce000000": "abce",
    }  # fmt: skip


def test_every_handle_names_its_own_entry() -> None:
    known = entries(*(f"{number * 7919 % 65521:010x}"[::-1] for number in range(500)))
    for id, handle in handles(known).items():
        assert [entry.id for entry in entries_named(known, handle)] == [id]


@pytest.mark.parametrize(
    ("name", "ids"),
    [
        ("abcd", ["abcd111111", "abcd222222"]), ("abcd1", ["abcd111111"]), (" ABCD2 ", ["abcd222222"]),
        ("abcd111111", ["abcd111111"]), ("abc", []), ("", []), ("ffff", []), ("abcd111111x", []),
    ],
)  # fmt: skip
def test_a_name_is_an_id_or_its_beginning(name: str, ids: list[str]) -> None:
    known = entries("abcd111111", "abcd222222", "eeee333333")
    assert [entry.id for entry in entries_named(known, name)] == ids
