"""How near a static embedding is to its teacher.

`python -m tools.embedding.evaluate WEIGHTS.bin SENTENCES.txt.gz`

Give sentences that it was not trained on. For each of them: is the teacher's nearest neighbour the nearest
here, too, and is it among the first ten? What it is worth in use, `make bench-memory` says.
"""

from __future__ import annotations

import argparse
import gzip
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from segue.effects.vectors.minilm import MiniLM
from segue.effects.vectors.static import StaticEmbedder


def agreement(taught: Any, made: Any, asked: int = 4_000) -> tuple[float, float]:
    """The share of sentences whose nearest for the teacher is the nearest here, and among the first ten."""
    taught, made = np.asarray(taught, dtype=np.float32), np.asarray(made, dtype=np.float32)
    first = ten = 0
    count = min(asked, len(taught))
    for one in range(count):
        theirs, ours = taught @ taught[one], made @ made[one]
        theirs[one] = ours[one] = -2
        nearer = int((ours > ours[int(theirs.argmax())]).sum())
        first += nearer < 1
        ten += nearer < 10
    return first / count, ten / count


def evaluated(weights: Path, texts: Sequence[str]) -> tuple[float, float]:
    """The agreement of a file of weights with MiniLM."""
    return agreement(MiniLM().embed(texts), StaticEmbedder(weights).embed(texts))


def main() -> None:
    parser = argparse.ArgumentParser(prog="tools.embedding.evaluate")
    parser.add_argument("weights", type=Path)
    parser.add_argument("sentences", type=Path)
    parser.add_argument("--most", type=int, default=20_000, help="of the sentences, from the end")
    args = parser.parse_args()
    texts = gzip.decompress(args.sentences.read_bytes()).decode().split("\n")[-args.most :]
    first, ten = evaluated(args.weights, texts)
    print(f"{len(texts):,} sentences: nearest in {first:.2f}, among the first ten in {ten:.2f}")


if __name__ == "__main__":
    main()
