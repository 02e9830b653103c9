"""Full text on Postgres: lexemes in an inverted index, just as our own tokenizer gives them.

No text search configuration takes part: words are put in as they are, and asked for as they are, so that a
query finds here what it finds on every other store. Beside the words stand marks for namespace and audience,
type, agent and session (``~a…``), so that the index itself leaves out what is not asked for.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

from ...core.memories.model import Memory
from .database import Database, plain


def mark(namespace: str, kind: str, name: object) -> str:
    """A lexeme that stands for an audience, a type, an agent or a session of a namespace."""
    told = f"{namespace}\0{name}".encode(errors="replace")
    return f"~{kind}{hashlib.sha256(told).hexdigest()[:20]}"


def lexemes(namespace: str, memory: Memory, audience: int, words: str) -> list[str]:
    """What is kept of a memory."""
    marks = [
        mark(namespace, "a", audience), mark(namespace, "t", memory.type),
        mark(namespace, "g", memory.agent), mark(namespace, "s", memory.session),
    ]  # fmt: skip
    return [*dict.fromkeys(plain(word) for word in words.split()), *marks]


class PostgresWords:
    """The words of what holds, of each group of marks, one."""

    def __init__(self, database: Database, marks: Sequence[Sequence[str]]) -> None:
        self._database = database
        self._only = [_either(group) for group in marks]

    def holding(self, wanted: Sequence[tuple[str, Sequence[str]]], most: int) -> list[list[int]]:
        asked = []
        for word, others in wanted:
            parts = [_quoted(word), *([_either(others)] if others else []), *self._only]
            asked.append(" & ".join(parts))
        found: list[list[int]] = [[] for _ in wanted]
        sql = (  # a number plus nothing: the index of words is to be used, not that of numbers
            "SELECT q.place, p.no FROM unnest(%(asked)s::text[]) WITH ORDINALITY AS q (text, place),"
            " LATERAL (SELECT w.no FROM segue.memory_words w WHERE w.namespace = %(namespace)s"
            " AND w.words @@ q.text::tsquery ORDER BY w.no + 0 DESC LIMIT %(most)s) p"
        )
        values = {"asked": asked, "namespace": self._database.namespace, "most": most}
        for place, no in self._database.fetch(sql, values):
            found[place - 1].append(no)
        for numbers in found:
            numbers.sort(reverse=True)
        return found

    def newest(self) -> int:
        sql = "SELECT coalesce(max(no), 0) FROM segue.memories WHERE namespace = %s"
        return int(self._database.fetch(sql, (self._database.namespace,))[0][0])

    def lengths(self, numbers: Sequence[int]) -> dict[int, int]:
        sql = "SELECT no, length FROM segue.memories WHERE namespace = %s AND no = ANY(%s)"
        return dict(self._database.fetch(sql, (self._database.namespace, list(numbers))))


def _either(words: Iterable[str]) -> str:
    return f"({' | '.join(map(_quoted, words))})"


def _quoted(word: str) -> str:
    return "'" + plain(word).replace("\\", "\\\\").replace("'", "''") + "'"
