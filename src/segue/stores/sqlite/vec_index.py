"""The nearest vectors by the extension sqlite-vec, where it is installed and loads.

The database looks through the bits itself: nothing is read into the process first, which suits one that asks
once. The best of them are compared by their bytes, as everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from functools import cache
from importlib import util
from pathlib import Path
from typing import Any

import apsw
import msgspec

from ...core.memories.ranking import Pairs
from ..vectors import HAMMING_SHORTLIST_MIN, Bodies, VectorBits, bits_of, by_bytes, signs_of

_NEAR = """
    SELECT no FROM memory_bits WHERE model = ?1 AND audience IN (SELECT value FROM json_each(?2))
        AND length(bits) IN (length(?3), length(?6))
        AND (?4 IS NULL OR no IN (SELECT value FROM json_each(?4)))
    ORDER BY CASE length(bits) WHEN length(?3) THEN vec_distance_hamming(vec_bit(bits), vec_bit(?3))
        ELSE 2 * vec_distance_hamming(vec_bit(bits), vec_bit(?6)) END, no DESC LIMIT ?5
"""


@cache
def extension() -> str:
    """The file of the extension; empty where it is not installed."""
    spec = util.find_spec("sqlite_vec")  # not imported: that would load numpy
    return str(Path(spec.origin).parent / "vec0") if spec is not None and spec.origin else ""


def loaded(db: apsw.Connection) -> bool:
    """Whether a connection has the extension, which is loaded into it if it can be."""
    if not extension():
        return False
    try:
        db.execute("SELECT vec_version()").fetchall()
        return True
    except apsw.SQLError:
        pass
    try:
        db.enable_load_extension(True)
        try:
            db.load_extension(extension())
        finally:
            db.enable_load_extension(False)
    except (apsw.Error, AttributeError):  # built for another machine, or an SQLite that loads none
        return False
    return True


class SqliteVecIndex:
    """The vectors of one model, in their table."""

    needs_rows = False

    def __init__(self, model: str, fetch: Callable[[str, tuple[Any, ...]], list[tuple[Any, ...]]]) -> None:
        self._model = model
        self._fetch = fetch

    def add(self, vectors: Iterable[VectorBits]) -> None:
        """They are in the table already."""

    def near(
        self, vector: bytes, groups: Collection[int], only: Collection[int] | None, most: int, bodies: Bodies
    ) -> Pairs:
        among = _array(only) if only is not None else None
        values = (
            self._model,
            _array(groups),
            bits_of(vector),
            among,
            max(HAMMING_SHORTLIST_MIN, most),
            signs_of(vector),
        )
        return by_bytes(vector, bodies([row[0] for row in self._fetch(_NEAR, values)]), most)


def _array(values: Collection[int]) -> str:
    return msgspec.json.encode(list(values)).decode()
