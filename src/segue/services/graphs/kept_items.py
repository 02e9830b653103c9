"""What graphs remember across threads: items with a namespace and a key, each kept as a memory.

An item is one memory, whose id follows from namespace and key, in a namespace of memories of its own: what
graphs keep for themselves is not told to agents as something that was learnt. Its value is in the memory's
metadata; the memory's text is what a search goes by.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from ...core.base.values import Value
from ...core.memories import model as mem
from ...core.memories.model import Memory, MemoryFilter, MemoryReader
from ...effects.clock import moment, now
from ...errors import StaleVersion
from ...stores.memory_changes import MemoryChange
from ..memories.service import MemoryService, memories_of
from ..workspace.workspace import Workspace

_PREFIX, _FIELD = "lg", "langgraph"
_RETRIES = 20
_TEXT_CHARS_MAX = 20_000


class KeptItem(Value):
    """An item as it is kept."""

    namespace: tuple[str, ...]
    key: str
    value: dict[str, Any]
    created: str
    updated: str
    ttl_minutes: float | None = None
    searched: bool = True


class KeptItems:
    """The items of a store."""

    def __init__(self, workspace: Workspace, name: str) -> None:
        self._service: MemoryService = memories_of(workspace)
        self._name = name

    def _reader(self) -> MemoryReader:
        return self._service.reader(namespace=self._name)

    def get(self, namespace: tuple[str, ...], key: str) -> KeptItem | None:
        """The item of a key, unless its time is over."""
        memory = self._memory(item_id(namespace, key))
        return _item(memory) if memory is not None and _holds(memory) else None

    def _memory(self, id: str) -> Memory | None:
        return next(iter(self._service.store.get([id], self._reader())), None)

    def put(
        self, namespace: tuple[str, ...], key: str, value: Mapping[str, Any], *, text: str | None,
        ttl_minutes: float | None,
    ) -> None:  # fmt: skip
        """Keep an item in the place of what the key held; a search goes by ``text``, None for not at all."""
        kept: dict[str, Any] = {"namespace": list(namespace), "key": key, "value": dict(value)}
        if ttl_minutes is not None:
            kept["ttl_minutes"] = ttl_minutes
        if text is None:
            kept["searched"] = False
        service = self._service
        service.pause_file.check()
        words = f"{'/'.join(namespace)} · {key}"
        if text:
            words += f"\n{text[:_TEXT_CHARS_MAX]}"
        draft = service.draft(
            words, scope="global", namespace=self._name, metadata={_FIELD: kept}, source="langgraph",
            ttl_seconds=None if ttl_minutes is None else ttl_minutes * 60,
        )  # fmt: skip
        self._write(replace(draft, id=item_id(namespace, key)))

    def _write(self, memory: Memory) -> None:
        service = self._service
        for left in reversed(range(_RETRIES)):
            before = self._memory(memory.id)
            if before is None:
                change = MemoryChange(adds=service.stored([memory]), trail=[service.trace(memory, "add")])
            else:
                created = before.created if _holds(before) else memory.created
                after = replace(memory, created=created, revision=before.revision + 1)
                change = MemoryChange(puts=service.stored([after]), trail=[service.trace(after, "update")])
            try:
                service.store.write(change)
                break
            except StaleVersion:  # somebody else put it too
                if not left:
                    raise
        service.after_write(1)

    def delete(self, namespace: tuple[str, ...], key: str) -> None:
        """Forget the item of a key, if there is one."""
        service = self._service
        service.pause_file.check()
        for left in reversed(range(_RETRIES)):
            memory = self._memory(item_id(namespace, key))
            if memory is None or memory.forgotten:
                return
            gone = mem.tombstone(memory, now(), "deleted")
            trail = [service.trace(gone, "forget", "deleted")]
            try:
                service.store.write(MemoryChange(puts=service.stored([gone]), trail=trail))
                return
            except StaleVersion:
                if not left:
                    raise

    def refresh(self, item: KeptItem) -> None:
        """Let the time of an item begin again, if it has one."""
        if item.ttl_minutes is None:
            return
        memory = self._memory(item_id(item.namespace, item.key))
        if memory is None or not _holds(memory):
            return
        later = replace(memory, expires=moment(item.ttl_minutes * 60), revision=memory.revision + 1)
        try:
            self._service.store.write(MemoryChange(puts=self._service.stored([later])))
        except StaleVersion:
            return  # it was put anew, with a time of its own

    def all(self) -> list[KeptItem]:
        """Every item, the one that was put last first."""
        found = self._service.store.listing(self._reader(), MemoryFilter(prefix=_PREFIX), now())
        items = [item for memory in found if (item := _item(memory)) is not None]
        return sorted(items, key=lambda item: item.updated, reverse=True)

    def search(self, query: str) -> list[tuple[KeptItem, float]]:
        """Items that match a query, by its words and by what they mean, the best first."""
        found = self._service.search(query, top_k=mem.TOP_K_MAX, namespace=self._name)
        pairs = [(_item(one.memory), one.score) for one in found]
        return [(item, score) for item, score in pairs if item is not None and item.searched]

    def remove_expired(self) -> int:
        """Forget items whose time is over; how many."""
        where = MemoryFilter(prefix=_PREFIX, dead=True)
        found = self._service.store.listing(self._reader(), where, now())
        over = [item for m in found if m.live and not _holds(m) and (item := _item(m)) is not None]
        for item in over:
            self.delete(item.namespace, item.key)
        return len(over)


def item_id(namespace: Sequence[str], key: str) -> str:
    """The id of the memory that an item is."""
    return _PREFIX + hashlib.sha256(msgspec.json.encode([*namespace, key])).hexdigest()[:24]


def _holds(memory: Memory) -> bool:
    return memory.live and mem.is_valid(memory, now())


def _item(memory: Memory) -> KeptItem | None:
    kept = memory.metadata.get(_FIELD)
    if not isinstance(kept, dict):
        return None
    return KeptItem(
        tuple(kept["namespace"]), kept["key"], kept["value"], memory.created, memory.updated,
        kept.get("ttl_minutes"), kept.get("searched", True),
    )  # fmt: skip
