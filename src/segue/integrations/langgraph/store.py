"""LangGraph's long-term memory on Segue's memories.

What is kept is plain JSON, and passes what every memory passes: secrets are masked, sizes are limited.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any

from langgraph.store.base import (
    BaseStore,
    GetOp,
    IndexConfig,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    TTLConfig,
    get_text_at_path,
    tokenize_path,
)

from ...api.segue import Segue
from ...errors import UsageError
from ...services.graphs.kept_items import KeptItem, KeptItems

_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "$eq": lambda value, wanted: value == wanted,
    "$ne": lambda value, wanted: value != wanted,
    "$gt": lambda value, wanted: value is not None and value > wanted,
    "$gte": lambda value, wanted: value is not None and value >= wanted,
    "$lt": lambda value, wanted: value is not None and value < wanted,
    "$lte": lambda value, wanted: value is not None and value <= wanted,
}


class SegueStore(BaseStore):
    """Keeps what LangGraph's graphs remember as memories of Segue.

    A query searches by words and by meaning. ``index`` may name the ``fields`` to search;
    vectors are Segue's own. ``ttl`` sets times to live, in minutes.
    """

    supports_ttl = True

    def __init__(
        self, segue: Segue | None = None, *, name: str = "langgraph", index: IndexConfig | None = None,
        ttl: TTLConfig | None = None,
    ) -> None:  # fmt: skip
        self.segue = segue if segue is not None else Segue()
        self.ttl_config = ttl
        self._fields = list((index or {}).get("fields") or ["$"])
        self._items = KeptItems(self.segue.workspace, name)

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Run these operations in order; of several puts to one key, the last one wins."""
        return [self._done(op) for op in ops]

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """As ``batch``."""
        return await asyncio.to_thread(self.batch, list(ops))

    def sweep_ttl(self) -> int:
        """Forget expired items, which are never returned anyway. Returns how many."""
        return self._items.remove_expired()

    def _done(self, op: Op) -> Result:
        match op:
            case GetOp():
                return self._get(op)
            case PutOp():
                self._put(op)
                return None
            case SearchOp():
                return self._search(op)
            case ListNamespacesOp():
                return self._namespaces(op)
        raise UsageError(f"an unknown kind of operation: {type(op).__name__}", hint="is LangGraph newer?")

    def _get(self, op: GetOp) -> Item | None:
        found = self._items.get(op.namespace, op.key)
        if found is None:
            return None
        if op.refresh_ttl:
            self._items.refresh(found)
        return Item(**_fields(found))

    def _put(self, op: PutOp) -> None:
        if op.value is None:
            self._items.delete(op.namespace, op.key)
            return
        text = None if op.index is False else self._text(op.value, op.index or self._fields)
        self._items.put(op.namespace, op.key, op.value, text=text, ttl_minutes=op.ttl)

    def _text(self, value: Mapping[str, Any], fields: Iterable[str]) -> str:
        """What a search goes by."""
        found: list[str] = []
        for field in fields:
            found += get_text_at_path(dict(value), field if field == "$" else tokenize_path(field))
        return "\n".join(found)

    def _search(self, op: SearchOp) -> list[SearchItem]:
        scored: list[tuple[KeptItem, float | None]] = [(item, None) for item in self._items.all()]
        if op.query:
            best = self._items.search(op.query)
            named = {(item.namespace, item.key) for item, _ in best}
            rest = [pair for pair in scored if (pair[0].namespace, pair[0].key) not in named]
            scored = [*best, *rest]
        size = len(op.namespace_prefix)
        fits = [
            (item, score)
            for item, score in scored
            if item.namespace[:size] == op.namespace_prefix and _fits(item.value, op.filter or {})
        ][op.offset : op.offset + op.limit]
        if op.refresh_ttl:
            for item, _ in fits:
                self._items.refresh(item)
        return [SearchItem(**_fields(item), score=score) for item, score in fits]

    def _namespaces(self, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        found = {item.namespace for item in self._items.all()}
        wanted = [one for one in found if all(_matches(one, c) for c in op.match_conditions or ())]
        if op.max_depth is not None:
            wanted = list({one[: op.max_depth] for one in wanted})
        return sorted(wanted)[op.offset : op.offset + op.limit]


def _fields(item: KeptItem) -> dict[str, Any]:
    return {
        "value": item.value,
        "key": item.key,
        "namespace": item.namespace,
        "created_at": datetime.fromisoformat(item.created),
        "updated_at": datetime.fromisoformat(item.updated),
    }


def _fits(value: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    return all(_compared(value.get(name), condition) for name, condition in wanted.items())


def _compared(value: Any, wanted: Any) -> bool:
    """Whether a value is the wanted one, or meets its conditions, which are named with a dollar."""
    if not isinstance(wanted, Mapping):
        return bool(value == wanted)
    if any(name.startswith("$") for name in wanted):
        unknown = [name for name in wanted if name not in _COMPARE]
        if unknown:
            raise UsageError(f"unknown condition: {unknown[0]}", hint="one of " + ", ".join(_COMPARE))
        return all(_COMPARE[name](value, limit) for name, limit in wanted.items())
    return isinstance(value, Mapping) and all(_compared(value.get(k), v) for k, v in wanted.items())


def _matches(namespace: tuple[str, ...], condition: MatchCondition) -> bool:
    path = tuple(condition.path)
    if len(path) > len(namespace):
        return False
    part = (
        namespace[: len(path)]
        if condition.match_type == "prefix"
        else namespace[len(namespace) - len(path) :]
    )
    return all(wanted in ("*", name) for name, wanted in zip(part, path, strict=True))
