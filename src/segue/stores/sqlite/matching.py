"""Full text on SQLite: an index of FTS5, with marks beside the words for what is not asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

Row = tuple[Any, ...]
Fetch = Callable[[str, Row], list[Row]]
_MATCH = "SELECT rowid FROM memory_words WHERE memory_words MATCH ? ORDER BY rowid DESC LIMIT ?"


class SqliteWords:
    """The words of what holds, of each group of marks, one."""

    def __init__(self, fetch: Fetch, marks: Sequence[Sequence[str]]) -> None:
        self._fetch = fetch
        self._only = "".join(f" AND ({' OR '.join(map(_quoted, group))})" for group in marks)

    def holding(self, wanted: Sequence[tuple[str, Sequence[str]]], most: int) -> list[list[int]]:
        found = []
        for word, others in wanted:
            either = f" AND ({' OR '.join(map(_quoted, others))})" if others else ""
            asked = _quoted(word) + either + self._only
            found.append([row[0] for row in self._fetch(_MATCH, (asked, most))])
        return found

    def newest(self) -> int:
        return int(self._fetch("SELECT max(no) FROM memories", ())[0][0] or 0)

    def lengths(self, numbers: Sequence[int]) -> dict[int, int]:
        sql = "SELECT no, length FROM memories WHERE no IN (SELECT value FROM json_each(?))"
        rows = self._fetch(sql, (msgspec.json.encode(numbers).decode(),))
        return {row[0]: row[1] for row in rows}


def _quoted(word: str) -> str:
    return '"' + word.replace('"', '""') + '"'
