"""The port of an index for searching: what goes in, what comes out, and how far each source is in it.

An index can be thrown away at any time: everything in it is made again from transcripts, copies and the
store. All texts were masked before they come to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol
from zlib import crc32

from ..base.values import Value
from .kinds import Kind
from .query import SearchTerm
from .texts import SearchText

TextId = int | str
"""What an index calls one of its texts."""


class SearchSource(Value):
    """A run, a session or something else that texts belong to."""

    key: str
    agent: str = ""
    native: str = ""
    """The agent's own id of a run; the id of a session."""
    path: str = ""
    cwd: str = ""
    project: str = ""
    project_name: str = ""
    parent: str = ""
    """The run whose sub-agent it is."""


class IndexedSource(Value):
    """How far a source is in the index."""

    source: SearchSource
    steps: int
    """How many of its steps are."""
    version: int
    """Of what it was made: for a run the bytes that were read, for a session its version."""
    sum: int
    """A checksum over its texts."""
    last: float


class NewTexts(NamedTuple):
    """Texts of a source to be indexed."""

    source: SearchSource
    texts: Sequence[SearchText]
    steps: int
    version: int
    last: float
    anew: bool
    """Whether they take the place of what is there; else they come after it."""


class Wanted(Value):
    """Which texts are asked for: those with all of these terms, or with any of them."""

    terms: tuple[SearchTerm, ...]
    every: bool = True
    excluded: tuple[SearchTerm, ...] = ()
    kinds: tuple[Kind, ...] = ()
    """Only texts of these kinds; empty for all."""
    failed: bool = False
    since: float = 0.0
    sources: tuple[str, ...] | None = None
    """Only texts of the sources with these keys; None for all."""


class TextRange(Value):
    """Which texts of a source are read, one after the other."""

    limit: int
    first: int = 1
    """The first step."""
    last: int = 0
    """Where it is not 0: the last step, and of more texts than ``limit`` the last ones."""
    kinds: tuple[Kind, ...] = ()
    """Only texts of these kinds; empty for all."""
    failed: bool = False


class Match(NamedTuple):
    """A text that matches, with its rank: the lower, the better."""

    id: TextId
    source: str
    """The key of its source."""
    step: int
    kind: Kind
    at: float
    failed: bool
    rank: float


class SearchIndex(Protocol):
    """Full text over what runs and sessions say."""

    @property
    def what(self) -> str:
        """What it is called in errors."""
        ...

    def put(self, new: Iterable[NewTexts]) -> None:
        """Index texts; all or nothing."""
        ...

    def drop(self, keys: Iterable[str]) -> None:
        """Remove sources with their texts."""
        ...

    def delete(self) -> None:
        """Remove everything; it is made again."""
        ...

    def indexed(self) -> dict[str, IndexedSource]:
        """How far each source is indexed, by its key."""
        ...

    def find(self, key: str) -> IndexedSource | None:
        """How far one source is indexed; None if it is not."""
        ...

    def sources(self) -> dict[str, SearchSource]:
        """Every source by its key."""
        ...

    def matches(self, wanted: Wanted, limit: int) -> list[Match]:
        """The texts that match, the best first."""
        ...

    def how_many(self, term: SearchTerm, most: int) -> int:
        """In how many texts a term stands, as far as so many."""
        ...

    def size_in_texts(self) -> int:
        """How many texts there are, about."""
        ...

    def texts(self, ids: Sequence[TextId]) -> Mapping[TextId, str]:
        """The texts of matches by their ids."""
        ...

    def having(self, ids: Sequence[TextId]) -> list[Match]:
        """The texts with these ids, as far as they are there."""
        ...

    def lacking(self, wanted: Wanted, embedder: str, limit: int) -> list[TextId]:
        """The newest texts that meet the conditions and have no vectors of an embedder."""
        ...

    def vectors(self, wanted: Wanted, embedder: str) -> Mapping[TextId, bytes]:
        """What ``put_vectors`` kept for texts that meet the conditions; an index may keep none."""
        ...

    def put_vectors(self, embedder: str, vectors: Mapping[TextId, bytes]) -> None:
        """Keep the vectors that an embedder made of texts, until the texts are gone: those of a text's parts
        stand one after the other."""
        ...

    def read(self, key: str, wanted: TextRange) -> list[SearchText]:
        """Texts of one source in the order of their steps."""
        ...


def checksum(texts: Iterable[SearchText], start: int = 0) -> int:
    """A checksum over texts, which goes on from that of the texts before them."""
    for one in texts:
        start = crc32(f"{one.step} {one.kind} {one.text}".encode("utf-8", "surrogatepass"), start)
    return start


def sources_of(known: Mapping[str, SearchSource], agent: str, projects: Iterable[str]) -> tuple[str, ...]:
    """The keys of the sources of an agent and of projects; all where nothing is asked for."""
    wanted = set(projects)
    return tuple(
        key
        for key, source in known.items()
        if agent in ("", source.agent) and (not wanted or {source.project, source.project_name} & wanted)
    )
