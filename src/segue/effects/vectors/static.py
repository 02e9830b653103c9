"""The embedder that comes with Segue: a vector for each piece of a word, and a text is the sum of its pieces.

There is no network and no matrix product. The sum is exact, in whole numbers: all dimensions stand side by
side in one long integer of Python, a lane each, so that one multiplication and one addition serve them all.
What is left is done in the same order everywhere: a text has the same vector on every machine.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Sequence
from functools import lru_cache
from math import fsum, sqrt
from pathlib import Path

from .weights_file import WeightsFile, opened, shipped
from .wordpiece import pieces_of

PIECES_MAX = 128
"""How much of a text is looked at: as much as in the training. A lane has room for 257 pieces."""
_LANE_BYTES = 4
_MIDDLE = 128
"""What is added to each value in the file, so that none is below 0."""


class StaticEmbedder:
    """The sum of the vectors of a text's pieces, from the weights that come with Segue or another file."""

    name = "static-128-2"
    dim = 128
    semantic = True
    ready = True

    def __init__(self, weights: Path | None = None) -> None:
        self._path = weights

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """A unit vector for each text; all zeros for one without a word. Raises DamagedError."""
        weights = opened(self._path) if self._path is not None else shipped()
        return [_vector(weights, pieces_of(text, PIECES_MAX)) for text in texts]


def _vector(weights: WeightsFile, pieces: Sequence[int]) -> list[float]:
    if not pieces:
        return [0.0] * weights.width
    lanes = sum(_lanes(weights, piece) for piece in pieces)
    sums = array("I", lanes.to_bytes(_LANE_BYTES * weights.width, "little"))
    if sys.byteorder == "big":
        sums.byteswap()
    middle = _MIDDLE * sum(weights.scales[piece] for piece in pieces)
    share = weights.unit / sqrt(len(pieces))
    vector = [(one - middle) * share + bias for one, bias in zip(sums, weights.bias, strict=True)]
    length = sqrt(fsum([x * x for x in vector])) or 1.0
    return [x / length for x in vector]


@lru_cache(maxsize=4_096)
def _lanes(weights: WeightsFile, piece: int) -> int:
    """The row of a piece, multiplied with its scale: each value in the lowest bytes of a lane."""
    spread = bytearray(_LANE_BYTES * weights.width)
    spread[::_LANE_BYTES] = weights.row(piece)
    return int.from_bytes(spread, "little") * weights.scales[piece]
