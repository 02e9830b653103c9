"""Which notes, and which part of a long one, mean what the work is about.

It is done with the embedding that comes with Segue, whatever the settings name for memories: a fraction of a
millisecond a text, the same on every machine. How much is looked at is limited by numbers, not by a clock, so
that the same notes are found each time: the newest notes by their titles and openings, of the nearest of
these also what stands further down.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress
from heapq import nlargest
from operator import mul

from msgspec.structs import replace

from ...core.resume.restoration import Candidate
from ...effects.notes import Library, ProjectNote, body_of
from ...errors import SegueError

MEANING_MIN = 0.35
"""The least cosine of a query and a passage: texts that have nothing to do with it come close."""
CLEARER = 0.1
"""By how much a part of a note must be nearer than its beginning to be shown before it."""
NOTES_MAX, NEAREST_MAX, PASSAGES_MAX = 120, 16, 16
"""How many notes are looked at, in how many of them further down, and at how many passages of each."""
PASSAGE_CHARS = 500
PIECES_MIN, PIECES_MAX = 6, 64
"""A note of fewer pieces is short: it is read from its beginning. Of a long one so many are looked at."""
FURTHER_DOWN = "(the part about this work comes first; what precedes it follows)"
BEFORE = "(the beginning of the note)"


class QueryMeaning:
    """What a query means, to compare texts with."""

    def __init__(self, query: str) -> None:
        from ...effects.vectors.static import StaticEmbedder

        self._embedder = StaticEmbedder()
        self._vector: list[float] = []
        if query.strip():
            with suppress(SegueError):  # damaged weights: nothing is found by meaning
                self._vector = self._embedder.embed([query])[0]

    def cosines(self, texts: Sequence[str]) -> list[float]:
        """How near each text is to the query; 0 for all if that cannot be said."""
        if not any(self._vector):
            return [0.0] * len(texts)
        try:
            return [round(sum(map(mul, self._vector, one)), 6) for one in self._embedder.embed(texts)]
        except SegueError:
            return [0.0] * len(texts)

    def notes(self, library: Library, seen: Collection[str], most: int) -> list[ProjectNote]:
        """The notes that mean what the query does, without those that were ``seen``, the nearest first."""
        if most <= 0 or not any(self._vector):
            return []
        unseen = (note for note in library.all().values() if note.is_text and note.id not in seen)
        newest = nlargest(NOTES_MAX, unseen, key=lambda note: (note.changed_ns, note.path))
        passages = {note.path: _passages(note, library.text(note) or "") for note in newest}
        openings = self.cosines([passages[note.path][0] for note in newest])
        ranked = sorted(zip(openings, newest, strict=True), key=lambda pair: (-pair[0], pair[1].path))
        scored = [
            (max([opening, *self.cosines(passages[note.path][1:])]), note)
            for opening, note in ranked[:NEAREST_MAX]
        ]
        scored.sort(key=lambda pair: (-pair[0], pair[1].path))
        return [note for score, note in scored[:most] if score >= MEANING_MIN]

    def begun_where_it_matters(self, one: Candidate) -> Candidate:
        """A long note with the part first that means what the query does; what stands before it comes last.
        Other candidates as they are."""
        if len(one.pieces) < PIECES_MIN:
            return one
        near = [max(self.cosines(_paragraphs(piece)), default=0.0) for piece in one.pieces[:PIECES_MAX]]
        best = max(range(len(near)), key=lambda place: (near[place], -place))
        if not best or near[best] < max(MEANING_MIN, near[0] + CLEARER):
            return one
        first, *rest = one.pieces[best:]
        begin, *before = one.pieces[:best]
        pieces = (f"{FURTHER_DOWN}\n{first}", *rest, f"{BEFORE}\n{begin}", *before)
        return replace(one, pieces=pieces)


def _passages(note: ProjectNote, text: str) -> list[str]:
    """The title with the opening, then the paragraphs."""
    body = body_of(text)
    paragraphs = _paragraphs(body[: PASSAGE_CHARS * PASSAGES_MAX])
    return [f"{note.title}\n{body[:PASSAGE_CHARS]}", *paragraphs[:PASSAGES_MAX]]


def _paragraphs(text: str) -> list[str]:
    """The paragraphs of a text, so that one is not lost among others, without the title of a note, which says
    of none of them that it is about the work."""
    lines = "\n".join(line.rstrip() for line in text.split("\n") if not line.startswith("# "))
    return [paragraph[:PASSAGE_CHARS] for paragraph in lines.split("\n\n") if paragraph.strip()]
