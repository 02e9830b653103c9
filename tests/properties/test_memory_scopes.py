"""No operation tells a reader anything of memories that it may not see: results, counts, errors, writes.

Two services look the same to the reader: one with all memories, one with those alone that the reader may see.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import Phase, given, strategies as st
from tests.support.examples import examples

from segue.core.memories.model import SCOPES, Memory, MemoryReader, audience_of, may_read
from segue.effects.vectors.embedder import HashEmbedder
from segue.errors import SegueError
from segue.services.memories import curation as upkeep
from segue.services.memories.service import MemoryService
from segue.stores.base import Memories
from segue.stores.memory.memories import VolatileMemories
from segue.stores.memory_changes import MemoryChange
from segue.stores.sqlite import SqliteStore

NAMES = ["a", "b"]
TEXTS = ["the pool is small", "the pool is not small", "JWT_SECRET is set", "tests fail on CI", "retry twice"]
FAST = (Phase.explicit, Phase.reuse, Phase.generate)
"""Without shrinking: an example has dozens of operations."""
HIDDEN = "mfffffffffff0"


def some(*values: str) -> st.SearchStrategy[str]:
    return st.sampled_from(values)


rows: st.SearchStrategy[list[dict[str, Any]]] = st.lists(
    st.builds(
        dict, text=some(*TEXTS), scope=some(*SCOPES), agent=some(*NAMES), session=some("", *NAMES),
        project=some(*NAMES), organization=some(*NAMES), namespace=some("default", "default", "other"),
        user=some("", "", "ann"), shared=st.lists(some(*NAMES), max_size=1), day=st.integers(1, 28),
        type=some("standard", "reflection", "strategy"),
    ),
    min_size=1, max_size=10,
)  # fmt: skip
readers = st.builds(
    MemoryReader, agent=some(*NAMES), namespace=some("default", "other"), user=some("", "ann"),
    sessions=st.lists(some(*NAMES), max_size=1).map(tuple),
    projects=st.lists(some(*NAMES), max_size=1).map(tuple), organization=some("", *NAMES),
)  # fmt: skip


def memory_of(place: int, row: dict[str, Any]) -> Memory:
    at = f"2026-05-{row['day']:02d}T00:00:00.{place:06d}Z"
    return Memory(
        f"m{place:012x}", f"{row['text']} {place % 3}", row["type"], row["scope"], row["namespace"],
        row["user"], row["agent"], row["session"], row["project"], row["organization"],
        tuple(row["shared"]), created=at, updated=at,
    )  # fmt: skip


def service(store: Memories, memories: list[Memory], reader: MemoryReader) -> MemoryService:
    made = MemoryService(store, reader=lambda: reader, embedder=HashEmbedder)
    for one in memories:
        trail = [made.trace(one, "add", "why")]
        store.write(MemoryChange(adds=made.stored([one]), trail=trail))
    return made


def told(act: Callable[[], Any]) -> Any:
    """What an operation gives, or the error that it ends in, as plain data without times of now."""
    try:
        return _timeless(msgspec.to_builtins(act()))
    except SegueError as error:
        return [error.code, str(error), error.hint]


def _timeless(value: Any) -> Any:
    if isinstance(value, dict):
        changing = ("at", "updated", "deprecated", "valid_to", "recalled_at", "score", "summary")
        return {name: _timeless(part) for name, part in value.items() if name not in changing}
    return [_timeless(part) for part in value] if isinstance(value, list) else value


def operations(one: MemoryService, id: str, query: str) -> dict[str, Callable[[], Any]]:
    """Every operation that reads, then those that write; ``id`` is of one that may not be seen."""
    return {
        "recall": lambda: one.search(query, top_k=20),
        "recall by day": lambda: one.search("pool on 3 May 2026"),
        "recall a name": lambda: one.search("JWT_SECRET"),
        "recall of a session": lambda: one.search(query, sessions="a"),
        "recall of an agent": lambda: one.search(query, agents="b", types="standard"),
        "list": lambda: one.search("*", top_k=1_000),
        "sessions": lambda: [name for name, _ in one.sessions_about(query)],
        "playbook": lambda: one.playbook(query),
        "get": lambda: one.get(id),
        "get by its beginning": lambda: one.get(id[:6]),
        "trail": lambda: one.store.trail(one.reader()),
        "trail of one": lambda: one.store.trail(one.reader(), id),
        "audit": lambda: upkeep.audit(one),
        "consolidate": lambda: upkeep.consolidate(one),
        "decay": lambda: upkeep.decay(one, threshold=9.0, dry_run=True),
        "export": lambda: upkeep.export(one).decode(),
        "vote": lambda: one.vote(id, "helpful"),
        "update": lambda: upkeep.updated(one, id, "", {"content": "mine now"}, {}),
        "deprecate": lambda: upkeep.delta(one, [{"type": "deprecate", "memory_id": id}]),
        "forget": lambda: upkeep.forget(one, id, ""),
        "delta": lambda: upkeep.delta(one, [{"type": "update", "memory_id": id, "content": "mine"}]),
        "reembed": lambda: upkeep.reembed(one),
        "prune": lambda: upkeep.prune(one, (*one.reader().sessions, "c")[0], keep=1),
        "prune of none": lambda: upkeep.prune(one, "c"),
        "decay in earnest": lambda: len(upkeep.decay(one, threshold=9.0)),
        "what is left": lambda: len(one.search("*", top_k=1_000)),
    }


def differences(
    stores: tuple[Memories, Memories], given_rows: Any, reader: MemoryReader, query: str
) -> list[str]:
    everything = [memory_of(place, row) for place, row in enumerate(given_rows)]
    visible = [one for one in everything if may_read(reader, audience_of(one))]
    secret = next((one.id for one in everything if one not in visible), HIDDEN)
    full, own = service(stores[0], everything, reader), service(stores[1], visible, reader)
    wrong = []
    for name, act in operations(full, secret, query).items():
        there, wanted = told(act), told(operations(own, secret, query)[name])
        if there != wanted:
            wrong.append(f"{name}: {there} instead of {wanted}")
    kept = {one.memory.id: one.memory for one in stores[0].everything()}
    hidden = [one for one in everything if one not in visible]
    wrong += [f"{one.id} was changed" for one in hidden if kept.get(one.id, one) != one]
    return wrong


@given(rows, readers, st.sampled_from([*TEXTS, "pool", "nothing of the kind"]))
@examples(100, phases=FAST)
def test_no_operation_tells_of_what_may_not_be_seen(
    given_rows: Any, reader: MemoryReader, query: str
) -> None:
    assert differences((VolatileMemories(), VolatileMemories()), given_rows, reader, query) == []


@given(given_rows=rows, reader=readers, query=st.sampled_from(TEXTS))
@examples(15, phases=FAST)
def test_neither_does_any_on_sqlite(
    tmp_path_factory: pytest.TempPathFactory, given_rows: Any, reader: MemoryReader, query: str
) -> None:
    folder = tmp_path_factory.mktemp("scopes")
    full, own = (SqliteStore(folder / f"{name}.db") for name in ("full", "own"))
    try:
        assert differences((full.memories, own.memories), given_rows, reader, query) == []
    finally:
        full.close()
        own.close()
