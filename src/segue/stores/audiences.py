"""Which audiences a reader belongs to, for every store that numbers them: each is judged once."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ..core.base.lazy import json_decoder
from ..core.memories.model import Audience, MemoryReader, may_read

_READERS_CACHED = 64
_decoder = json_decoder(Audience)


def audience_in(key: bytes) -> Audience:
    """The audience that a key stands for."""
    return _decoder.decode(key)


class Audiences:
    """The audiences of a store, as far as they were looked at. The caller holds a lock."""

    def __init__(self) -> None:
        self._keys: dict[int, Audience] = {}
        self._readers: dict[MemoryReader, tuple[int, list[int]]] = {}

    def __len__(self) -> int:
        return len(self._keys)

    def seen(self, reader: MemoryReader, newer: Callable[[int], Iterable[tuple[int, bytes]]]) -> list[int]:
        """The numbers of those that the reader belongs to; ``newer`` gives what came behind a number."""
        for no, key in newer(max(self._keys, default=0)):
            self._keys[no] = _decoder.decode(key)
        checked, seen = self._readers.get(reader, (0, []))
        newest = max(self._keys, default=0)
        if checked < newest:
            seen = seen + [no for no, key in self._keys.items() if no > checked and may_read(reader, key)]
            if len(self._readers) > _READERS_CACHED:
                self._readers.clear()
            self._readers[reader] = (newest, seen)
        return seen
