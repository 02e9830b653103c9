"""SQLite gives the bits of all vectors as one row: every byte of them, in the order of their numbers."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from segue.stores.sqlite import SqliteStore, memories as ours
from segue.stores.sqlite.memories import SqliteMemories


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    made = SqliteStore(tmp_path / "segue.db")
    yield made
    made.close()


def put(store: SqliteStore, rows: list[tuple[int, int, bytes]]) -> SqliteMemories:
    """These bits as they stand in the file, of a model `m`."""
    kept = store.memories
    assert isinstance(kept, SqliteMemories)
    sql = "INSERT INTO memory_bits VALUES ('m', ?, ?, ?)"
    kept._database.writing(lambda db: db.executemany(sql, rows))
    return kept


def read(kept: SqliteMemories) -> list[tuple[int, int, bytes]]:
    """All rows again, as an index takes them in."""
    found: list[tuple[int, int, bytes]] = []
    last = 0
    while some := kept._bits("m", last):
        for one in some:
            width = len(one.bits) // len(one.numbers)
            parts = [one.bits[at * width : (at + 1) * width] for at in range(len(one.numbers))]
            found += zip(one.numbers, one.groups, parts, strict=True)
        last = max(max(one.numbers) for one in some)
    return sorted(found)


def test_every_byte_comes_back_also_those_that_are_no_text(store: SqliteStore) -> None:
    rows = [(1, 1, bytes(4)), (2, 1, b"\xff\xfe\x00\x80"), (5, 2, b"'\"\x00\n"), (9, 1, b"\xf0\x9f\x98\x80")]
    assert read(put(store, rows)) == rows


def test_vectors_with_more_bits_and_with_fewer_come_back_whole(store: SqliteStore) -> None:
    chance = random.Random(3)
    rows = [(no, no % 3, chance.randbytes(32 if no % 2 else 16)) for no in range(1, 60)]
    assert read(put(store, rows)) == rows


def test_they_come_in_parts_where_there_are_many(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ours, "_NUMBERS_AT_ONCE", 7)
    rows = [(no, 0, no.to_bytes(4, "big")) for no in (*range(1, 30), 500, 501, 90_000)]
    assert read(put(store, rows)) == rows


def test_without_vectors_there_is_nothing(store: SqliteStore) -> None:
    assert put(store, [])._bits("m", 0) == []
