"""Distil an embedder into a static one: `python -m tools.embedding.train SENTENCES.txt.gz OUT.bin`.

The teacher (MiniLM, the extra `semantic`) embeds every sentence. A row for each piece of the vocabulary is
then fitted, so that a sentence's vector (the sum of its rows by the root of their number, plus a bias) points
where the first principal components of the teacher's point, and so that among the sentences of a batch the
same ones are alike as for the teacher. Numpy on a processor is enough. At the end the values of a row become
levels, with a scale for the row.
"""

from __future__ import annotations

import argparse
import gzip
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from segue.effects.vectors.embedder import Embedder
from segue.effects.vectors.minilm import MiniLM
from segue.effects.vectors.static import PIECES_MAX
from segue.effects.vectors.weights_file import laid_out, shipped
from segue.effects.vectors.wordpiece import pieces_of

Matrix = Any
NEIGHBOURS = 16
BLOCK = 20_000
"""Among so many sentences the neighbours of each are looked for."""
TEMPERATURE = 0.05
ALIKE_WEIGHT = 0.1
COMMON = 1e-3
"""A piece that makes up so large a part of all text begins at half of its length."""
LEVELS = (-127, -94, -72, -56, -42, -29, -17, -6, 6, 17, 29, 42, 56, 72, 94, 127)
"""What a value can be: the sixteen levels that lie nearest to the values, by Lloyd's algorithm."""


class Sentences:
    """Sentences as pieces, and as the teacher sees them."""

    def __init__(self, texts: Sequence[str], teacher: Embedder, log: Callable[[str], object]) -> None:
        self.pieces = [np.array(pieces_of(text, PIECES_MAX), dtype=np.int64) for text in texts]
        rows = []
        for start in range(0, len(texts), 1_000):
            rows += teacher.embed(texts[start : start + 1_000])
            log(f"the teacher has seen {len(rows):,} of {len(texts):,}")
        self.taught = np.array(rows, dtype=np.float32)


class Student:
    """Rows, a bias, and what Adam remembers of each."""

    def __init__(self, rows: Matrix, rate: float) -> None:
        self.rows = rows.astype(np.float32)
        self.bias = np.zeros(rows.shape[1], dtype=np.float32)
        self._rate = rate
        self._means = [np.zeros_like(self.rows), np.zeros_like(self.bias)]
        self._squares = [np.zeros_like(self.rows), np.zeros_like(self.bias)]
        self._steps = 0

    def embed(self, pieces: Sequence[Matrix]) -> tuple[Matrix, Matrix]:
        """(unit vectors, their lengths before) of sentences."""
        flat, owner, counts = _flat(pieces)
        sums = np.zeros((len(pieces), self.rows.shape[1]), dtype=np.float32)
        np.add.at(sums, owner, self.rows[flat])
        raw = sums / np.sqrt(counts)[:, None] + self.bias
        lengths = np.maximum(np.linalg.norm(raw, axis=1, keepdims=True), 1e-6)
        return raw / lengths, lengths

    def step(self, pieces: Sequence[Matrix], taught: Matrix, wanted: Matrix, pace: float) -> float:
        """Learn from one batch; returns its loss before. ``wanted``: the vectors to be reached."""
        made, lengths = self.embed(pieces)
        count = len(pieces)
        own, theirs = _alike(made), _alike(taught)
        loss = 1 - float((made * wanted).sum(1).mean())
        loss -= ALIKE_WEIGHT * float((theirs * np.log(own + 1e-12)).sum(1).mean())
        pull = ALIKE_WEIGHT * (own - theirs) / count
        slope = -wanted / count + (pull + pull.T) @ made / TEMPERATURE
        slope = (slope - (slope * made).sum(1, keepdims=True) * made) / lengths
        flat, owner, counts = _flat(pieces)
        touched, place = np.unique(flat, return_inverse=True)
        changes = np.zeros((len(touched), made.shape[1]), dtype=np.float32)
        np.add.at(changes, place, (slope / np.sqrt(counts)[:, None])[owner])
        self._steps += 1
        self._move(0, self.rows, touched, changes, pace)
        self._move(1, self.bias, np.arange(len(self.bias)), slope.sum(0), pace)
        return loss

    def _move(self, which: int, values: Matrix, at: Matrix, slope: Matrix, pace: float) -> None:
        """A step of Adam, for the rows that the batch touched."""
        mean, square = self._means[which], self._squares[which]
        mean[at] = 0.9 * mean[at] + 0.1 * slope
        square[at] = 0.999 * square[at] + 0.001 * slope * slope
        evened = mean[at] / (1 - 0.9**self._steps)
        values[at] -= pace * self._rate * evened / (np.sqrt(square[at] / (1 - 0.999**self._steps)) + 1e-8)

    def file(self) -> bytes:
        """The bytes of a file of weights."""
        codes, scales = nearest_levels(self.rows)
        rows = [row.tobytes() for row in codes]
        return laid_out(shipped().pieces(), rows, scales.tolist(), self.bias.tolist(), LEVELS)


def nearest_levels(rows: Matrix) -> tuple[Matrix, Matrix]:
    """(the number of a level for each value, a scale for each row): those with the least square error."""
    levels = np.array(LEVELS, dtype=np.float64)
    size = np.maximum(np.sqrt((rows.astype(np.float64) ** 2).mean(1)), 1e-8)
    best, codes, scales = np.full(len(rows), np.inf), np.zeros(rows.shape, np.uint8), np.ones(len(rows))
    for widest in np.linspace(1.6, 3.4, 37):
        found = np.digitize(rows / (size * widest / 127)[:, None], (levels[1:] + levels[:-1]) / 2)
        values = levels[found]
        scale = np.maximum((values * rows).sum(1) / (values * values).sum(1), 1e-8)
        error = ((values * scale[:, None] - rows) ** 2).sum(1)
        better = error < best
        best[better], codes[better], scales[better] = error[better], found[better], scale[better]
    return codes, scales


def _flat(pieces: Sequence[Matrix]) -> tuple[Matrix, Matrix, Matrix]:
    """(all pieces, the sentence of each, how many each sentence has)."""
    counts = np.array([len(one) for one in pieces])
    return np.concatenate(pieces), np.repeat(np.arange(len(pieces)), counts), np.maximum(counts, 1)


def _alike(vectors: Matrix) -> Matrix:
    """How the likeness of each to all others is shared out among them."""
    likeness = vectors @ vectors.T / TEMPERATURE
    np.fill_diagonal(likeness, -1e4)
    likeness = np.exp(likeness - likeness.max(1, keepdims=True))
    return likeness / likeness.sum(1, keepdims=True)


def neighbours(taught: Matrix) -> Matrix:
    """For each sentence some of the nearest in its block."""
    found = np.empty((len(taught), NEIGHBOURS), dtype=np.int64)
    for start in range(0, len(taught), BLOCK):
        block = taught[start : start + BLOCK]
        for row in range(0, len(block), 1_000):
            likeness = block[row : row + 1_000] @ block.T
            likeness[np.arange(len(likeness)), row + np.arange(len(likeness))] = -2
            best = np.argpartition(-likeness, min(NEIGHBOURS, len(block) - 1), axis=1)[:, :NEIGHBOURS]
            found[start + row : start + row + len(best)] = start + best
    return found


def beginning(teacher: Embedder, sentences: Sentences, components: Matrix, mean: Matrix) -> Matrix:
    """Rows to begin with: what the teacher makes of each piece alone, shorter for common pieces."""
    spelled = [piece.removeprefix("##") for piece in shipped().pieces()]
    alone = np.array(teacher.embed(spelled), dtype=np.float32)
    rows = (alone - mean) @ components
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-6)
    counts = np.bincount(np.concatenate(sentences.pieces), minlength=len(spelled))
    return rows * (COMMON / (COMMON + counts / max(1, counts.sum())))[:, None]


def trained(
    texts: Sequence[str], teacher: Embedder, *, width: int = 128, steps: int = 2_500, batch: int = 1_024,
    rate: float = 4e-3, seed: int = 0, log: Callable[[str], object] = print,
) -> tuple[Student, Student]:  # fmt: skip
    """(the student, the student as it began) of these sentences."""
    texts = [text for text in texts if pieces_of(text, PIECES_MAX)]
    sentences = Sentences(texts, teacher, log)
    mean = sentences.taught.mean(0)
    centred = sentences.taught - mean
    components = np.linalg.svd(centred[:200_000], full_matrices=False)[2][:width].T
    wanted = centred @ components
    wanted /= np.maximum(np.linalg.norm(wanted, axis=1, keepdims=True), 1e-6)
    rows = beginning(teacher, sentences, components, mean)
    student, begun = Student(rows, rate), Student(rows, rate)
    near, chance = neighbours(sentences.taught), np.random.default_rng(seed)
    for step in range(steps):
        anchors = chance.integers(0, len(texts), batch // 2)
        beside = near[anchors, chance.integers(0, NEIGHBOURS, len(anchors))]
        chosen = np.unique(np.concatenate([anchors, beside]))
        pieces = [sentences.pieces[one] for one in chosen]
        pace = min(1.0, 4 * (step + 1) / steps, 4 / 3 * (1 - step / steps) + 0.01)
        loss = student.step(pieces, sentences.taught[chosen], wanted[chosen], pace)
        if step % 100 == 0:
            log(f"step {step:,}: {loss:.3f}")
    return student, begun


def main() -> None:
    parser = argparse.ArgumentParser(prog="tools.embedding.train")
    parser.add_argument("sentences", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--steps", type=int, default=2_500)
    args = parser.parse_args()
    begun = time.monotonic()
    texts = gzip.decompress(args.sentences.read_bytes()).decode().split("\n")
    student, _ = trained(texts, MiniLM(), width=args.width, steps=args.steps)
    args.out.write_bytes(student.file())
    print(f"{args.out}: {args.out.stat().st_size:,} bytes after {time.monotonic() - begun:,.0f} s")


if __name__ == "__main__":
    main()
