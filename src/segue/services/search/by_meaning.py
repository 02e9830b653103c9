"""Searching by meaning: texts that say it in other words, where an embedder knows meanings.

All that somebody said (prompts, answers, decisions, notes) is compared with the question, in whichever run,
by its passages; so is what was found by words. The vectors are kept beside the index, as signed bytes. With
an embedder that is quick a sync makes them; whoever searches makes those that are still lacking, the newest
first, for a while.
"""

from __future__ import annotations

import time
from collections.abc import Hashable, Iterator, Mapping
from contextlib import suppress
from typing import TypeVar

from ...core.search.index import SearchIndex, TextId, Wanted
from ...core.search.kinds import Kind
from ...effects.vectors.embedder import Embedder
from ...errors import NotInstalled, SegueError, extra
from ...stores.vectors import cosines, packed
from ..memories.service import memories_of
from ..workspace.workspace import Workspace
from .indexes import indexes_of

SAID: tuple[Kind, ...] = ("prompt", "goal", "decision", "note", "item", "handover", "answer")
"""The kinds of texts that are worth a comparison: what people and agents said, not what programs printed."""
PASSAGE_CHARS, PASSAGES_MAX = 600, 8
"""Of a text so many passages are compared."""
LACKING_MAX = 20_000
ALIKE_MIN = 0.35
"""Texts that are less alike say something else."""
BEST_MAX = 200
BATCH_QUICK, BATCH_SLOW = 256, 8
PATIENCE_SECONDS = 4.0
"""How long a search waits for vectors; the next one goes on where it stopped."""
SYNC_SECONDS = 2.0
"""How long a sync makes vectors."""
_SMOOTHING = 20
Place = TypeVar("Place", bound=Hashable)


class Meaning:
    """What a question means. With ``keeps``, the vectors of texts are kept in the index."""

    def __init__(self, embedder: Embedder, question: str, *, keeps: bool = True) -> None:
        if not embedder.semantic:
            raise NotInstalled("this embedder does not know what words mean", hint=extra("semantic"))
        self._embedder = embedder
        self._keeps = keeps
        self._vector = packed(embedder.embed([question])[0])
        self._due = time.monotonic() + PATIENCE_SECONDS

    def alike(self, index: SearchIndex, wanted: Wanted, texts: Mapping[TextId, str]) -> dict[TextId, float]:
        """How alike the question and texts of an index are, from -1 to 1: these ones, and the best of all
        that somebody said and that meets the conditions."""
        kinds = tuple(kind for kind in wanted.kinds or SAID if kind in SAID)
        said = Wanted((), kinds=kinds, failed=wanted.failed, since=wanted.since, sources=wanted.sources)
        vectors: dict[TextId, bytes] = {}
        if kinds:
            for new in made(index, said, self._embedder, self._due, keeps=self._keeps):
                vectors |= new
            vectors |= index.vectors(said, self._embedder.name)
        others = [id for id in texts if id not in vectors]
        vectors |= _embedded(self._embedder, {id: texts[id] for id in others})
        alike = _alike(self._vector, vectors)
        best = sorted(alike, key=lambda id: -alike[id])[:BEST_MAX]
        return {id: alike[id] for id in {*best, *texts}}


def made(
    index: SearchIndex, wanted: Wanted, embedder: Embedder, due: float, *, keeps: bool
) -> Iterator[Mapping[TextId, bytes]]:
    """Make the vectors that texts lack, until it is time; some at once, the newest first."""
    lacking = index.lacking(wanted, embedder.name, LACKING_MAX)
    size = BATCH_QUICK if embedder.ready else BATCH_SLOW
    for first in range(0, len(lacking), size):
        if time.monotonic() > due:
            return
        new = _embedded(embedder, index.texts(lacking[first : first + size]))
        if keeps:
            index.put_vectors(embedder.name, new)
        yield new


def embed_texts_in_passing(workspace: Workspace) -> None:
    """Make vectors of what was said, as a sync does in passing: for a short time, with an embedder that is
    quick; whatever stands in the way stays for the next one."""
    with suppress(SegueError, OSError):
        embedder = memories_of(workspace).embedder
        due = time.monotonic() + SYNC_SECONDS
        if embedder.ready and embedder.semantic and not workspace.pause_file.in_force():
            for index in indexes_of(workspace):
                for _ in made(index, Wanted((), kinds=SAID), embedder, due, keeps=True):
                    pass


def passages_of(text: str) -> list[str]:
    """The first passages of a text, cut between words."""
    found: list[str] = []
    while text and len(found) < PASSAGES_MAX:
        cut = len(text) if len(text) <= PASSAGE_CHARS else text.rfind(" ", PASSAGE_CHARS // 2, PASSAGE_CHARS)
        cut = cut if cut > 0 else PASSAGE_CHARS
        found.append(text[:cut])
        text = text[cut:].lstrip()
    return found or [""]


def _embedded(embedder: Embedder, texts: Mapping[TextId, str]) -> dict[TextId, bytes]:
    """For each text the vectors of its passages, one after the other."""
    parts = {id: passages_of(text) for id, text in texts.items()}
    vectors = iter(embedder.embed([part for some in parts.values() for part in some]) if parts else [])
    return {id: b"".join(packed(next(vectors)) for _ in some) for id, some in parts.items()}


def _alike(vector: bytes, vectors: Mapping[TextId, bytes]) -> dict[TextId, float]:
    """How alike a vector and the nearest passage of each text are."""
    owners: list[TextId] = []
    whole: list[bytes] = []
    for id, parts in vectors.items():
        if len(parts) % len(vector) == 0:
            owners += [id] * (len(parts) // len(vector))
            whole.append(parts)
    found: dict[TextId, float] = {}
    for id, share in zip(owners, cosines(vector, b"".join(whole)), strict=True):
        found[id] = max(share, found.get(id, -1.0))
    return found


def fused(by_words: Mapping[Place, int], alike: Mapping[Place, float]) -> dict[Place, float]:
    """The score of each text from its rank by words and its rank by meaning."""
    meant = sorted((place for place, share in alike.items() if share >= ALIKE_MIN), key=lambda p: -alike[p])
    scores = {place: 1.0 / (_SMOOTHING + rank) for place, rank in by_words.items()}
    for rank, place in enumerate(meant):
        scores[place] = scores.get(place, 0.0) + 1.0 / (_SMOOTHING + rank)
    return scores
