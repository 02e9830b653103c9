"""A checkpointer for LangGraph that keeps threads as sessions of Segue.

Everything is serialised as LangGraph's own serializer does it. What is read builds nothing but values
(``serializer.py``), unless the saver is given another serializer. A put that returned is on the disk.
"""

from __future__ import annotations

import asyncio
import builtins
import heapq
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
    PendingWrite,
    SerializerProtocol,
    get_checkpoint_id,
    get_checkpoint_metadata,
)

from ...api.segue import Segue
from ...core.graphs.saved_values import State, Typed
from ...errors import UsageError
from ...services.graphs.loading import Loader, TaskWrites
from ...services.graphs.rewriting import Keeps, keep_all, keep_none, rewrite
from ...services.graphs.series import Entry
from ...services.graphs.thread_session import ThreadSession
from ...services.graphs.threads import Found, GraphThreads, session_of
from .said import answer_in, questions_in, said_in
from .serializer import ValuesSerializer

_VALUES = "channel_values"
_COUNTERS = "counters_since_delta_snapshot"
_READ_AT_ONCE = 32
"""How many checkpoints of a list are read together."""


class SegueSaver(BaseCheckpointSaver[int]):
    """Keeps the checkpoints of LangGraph graphs in a Segue store; every thread is a session.

    >>> saver = SegueSaver()                      # the store that SEGUE_STORE names, else the embedded one
    >>> saver = SegueSaver(Segue(home="data"))    # or any Segue that is open already
    >>> graph = builder.compile(checkpointer=saver)
    """

    def __init__(self, segue: Segue | None = None, *, serde: SerializerProtocol | None = None) -> None:
        super().__init__(serde=serde if serde is not None else ValuesSerializer())
        self.segue = segue if segue is not None else Segue()
        self._threads = GraphThreads(self.segue.workspace)
        self._sessions: dict[str, ThreadSession] = {}

    def __enter__(self) -> SegueSaver:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the store."""
        self.segue.close()

    def session_id(self, thread_id: str) -> str:
        """The id of the session that a thread is, for `segue show` and `segue brief`."""
        return session_of(str(thread_id))

    def get_next_version(self, current: int | str | None, channel: None) -> Any:
        """The version that follows: a number; a text, as other savers make them, stays one."""
        if isinstance(current, str):
            number, _, rest = current.partition(".")
            return f"{int(number) + 1:0{len(number)}}.{rest}"
        return 1 if current is None else current + 1

    # -- putting ------------------------------------------------------------------------------------

    def put(
        self, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:  # fmt: skip
        """Store a checkpoint; when it returns, it is durable."""
        where = config["configurable"]
        thread, namespace = str(where["thread_id"]), where.get("checkpoint_ns", "")
        dumps = self.serde.dumps_typed
        values = checkpoint[_VALUES]
        bare = {name: value for name, value in checkpoint.items() if name != _VALUES}
        told = get_checkpoint_metadata(config, metadata)
        channels = {name: dumps(value) for name, value in values.items()}
        state = State(dumps(bare), dumps(told), channels, where.get("checkpoint_id") or "")
        session = self._session(thread)
        if metadata.get("source") == "input" and not namespace:
            session.asked_for(said_in(values))
        else:
            session.begin("")
        id = checkpoint["id"]
        self._threads.thread(thread).put(namespace, id, state)
        return _config(where["thread_id"], namespace, id)

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Store what a task wrote; when it returns, it is durable."""
        where = config["configurable"]
        thread, namespace = str(where["thread_id"]), where.get("checkpoint_ns", "")
        rows = [
            (WRITES_IDX_MAP.get(channel, place), channel, *self.serde.dumps_typed(value))
            for place, (channel, value) in enumerate(writes)
        ]
        replaces = all(channel in WRITES_IDX_MAP for channel, _ in writes)
        session = self._session(thread)
        session.begin("")
        told = TaskWrites(task_id, task_path, replaces, rows)
        self._threads.thread(thread).put_writes(namespace, str(where["checkpoint_id"]), told)
        if replaces:
            session.interrupted(questions_in(writes))
            session.failed([str(value) for channel, value in writes if channel == "__error__"])
            if answer := answer_in(writes):
                session.resumed(answer)

    def _session(self, thread: str) -> ThreadSession:
        found = self._sessions.get(thread)
        if found is None:
            made = ThreadSession(self.segue.workspace, session_of(thread), thread)
            found = self._sessions.setdefault(thread, made)
        return found

    # -- reading ------------------------------------------------------------------------------------

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """The checkpoint that a config names, else the newest one of its thread and namespace."""
        where = config["configurable"]
        thread, namespace = str(where["thread_id"]), where.get("checkpoint_ns", "")
        found = self._threads.thread(thread).get(namespace, get_checkpoint_id(config) or "")
        return None if found is None else self._tuple(where["thread_id"], found)

    def list(
        self, config: RunnableConfig | None, *, filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None, limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:  # fmt: skip
        """The matching checkpoints, newest first: of a thread, one of its namespaces, or all threads."""
        at_once = _READ_AT_ONCE if limit is None or filter else max(1, min(limit, _READ_AT_ONCE))
        found = self._matching(config, filter or {}, before, at_once)
        return found if limit is None else islice(found, max(limit, 0))

    def _matching(
        self, config: RunnableConfig | None, wanted: Mapping[str, Any], before: RunnableConfig | None,
        at_once: int,
    ) -> Iterator[CheckpointTuple]:  # fmt: skip
        where = config["configurable"] if config is not None else {}
        threads = [str(where["thread_id"])] if where else self._threads.all()
        below = (get_checkpoint_id(before) or "") if before is not None else ""
        only = get_checkpoint_id(config) if config is not None else None
        sources = []
        for name in threads:
            thread = self._threads.thread(name)
            if not thread.refresh():
                continue
            namespace = where.get("checkpoint_ns")
            namespaces = builtins.list(thread.namespaces) if namespace is None else [namespace]
            sources += [self._entries(name, one, below, only) for one in namespaces]
        loader = Loader(self.segue.workspace.store)
        merged = heapq.merge(*sources, key=lambda one: one[0], reverse=True)
        while block := builtins.list(islice(merged, at_once)):
            loader.fetch(piece for *_, entry in block for piece in (entry.piece, *entry.writes))
            for _, name, namespace, entry in block:
                if wanted and not self._fits(loader.metadata(entry.piece), wanted):
                    continue
                thread = self._threads.thread(name)
                state = loader.state(entry.piece, thread.stream(namespace))
                found = thread.found(namespace, entry, state, loader)
                yield self._tuple(where.get("thread_id", name), found)

    def _entries(
        self, name: str, namespace: str, below: str, only: str | None
    ) -> Iterator[tuple[str, str, str, Entry]]:
        for entry in self._threads.thread(name).entries(namespace, below):
            if only is None or entry.id == only:
                yield entry.id, name, namespace, entry

    def _fits(self, metadata: Typed, wanted: Mapping[str, Any]) -> bool:
        told = self.serde.loads_typed(metadata)
        return all(name in told and told[name] == value for name, value in wanted.items())

    def _tuple(self, thread_id: Any, found: Found) -> CheckpointTuple:
        loads, state = self.serde.loads_typed, found.state
        checkpoint = loads(state.checkpoint)
        checkpoint[_VALUES] = {name: loads(typed) for name, typed in state.channels.items()}
        parent = _config(thread_id, found.namespace, found.parent) if found.parent else None
        writes: list[PendingWrite] = [
            (task, channel, loads(typed)) for _, task, _, channel, typed in found.writes
        ]
        return CheckpointTuple(
            _config(thread_id, found.namespace, found.id), cast(Checkpoint, checkpoint),
            cast(CheckpointMetadata, loads(state.metadata)), parent, writes,
        )  # fmt: skip

    def get_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """What was written to channels of which a checkpoint holds no value, back to the last value."""
        where = config["configurable"]
        thread = self._threads.thread(str(where["thread_id"]))
        namespace = where.get("checkpoint_ns", "")
        entries = thread.entries(namespace)
        target = get_checkpoint_id(config)
        loader, remaining = Loader(self.segue.workspace.store), set(channels)
        collected: dict[str, list[PendingWrite]] = {name: [] for name in channels}
        seeds: dict[str, Any] = {}
        wanted: str | None = None
        for entry in entries:
            if wanted is None:
                if target is None or entry.id == target:
                    wanted = loader.parent(entry)
                continue
            if not remaining or not wanted:
                break
            if entry.id != wanted:
                continue
            wanted = loader.parent(entry)
            for _, task, _, channel, typed in reversed(loader.writes(entry.writes) if entry.writes else []):
                if channel in remaining:
                    collected[channel].append((task, channel, self.serde.loads_typed(typed)))
            record = loader.record(entry.piece)
            held = remaining & (record.inline.keys() | record.spans.keys())
            if held:
                state = loader.state(entry.piece, thread.stream(namespace))
                seeds.update({name: self.serde.loads_typed(state.channels[name]) for name in held})
                remaining -= held
        return {
            name: cast(
                DeltaChannelHistory,
                {"writes": collected[name][::-1], **({"seed": seeds[name]} if name in seeds else {})},
            )
            for name in channels
        }

    # -- deleting and copying -----------------------------------------------------------------------

    def delete_thread(self, thread_id: str) -> None:
        """Delete the checkpoints and writes of a thread; its session stays, with what was declared in it."""
        self._rewrite(str(thread_id), str(thread_id), keep_none)

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Delete the checkpoints of runs, in all threads and namespaces, with their writes."""
        gone = {str(run) for run in run_ids}

        def others(_: str, entries: builtins.list[Entry], loader: Loader) -> builtins.list[Entry]:
            loader.fetch(entry.piece for entry in entries)
            runs = [self.serde.loads_typed(loader.metadata(entry.piece)).get("run_id") for entry in entries]
            return [entry for entry, run in zip(entries, runs, strict=True) if run not in gone]

        for thread in self._threads.all() if gone else ():
            self._rewrite(thread, thread, others)

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy all checkpoints and writes of a thread to another, in place of what that had."""
        source, target = str(source_thread_id), str(target_thread_id)
        if source == target:
            return
        if self._rewrite(source, target, keep_all):
            self._session(target).begin(f"A copy of thread {source}")

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Delete all checkpoints but the newest of each namespace and what that is built on, or all of them.

        What a delta channel of the newest checkpoint needs stays: the checkpoints back to its last value."""
        if strategy not in ("keep_latest", "delete"):
            raise UsageError(f"unknown strategy: {strategy}", hint="use keep_latest or delete")
        for thread in thread_ids:
            self._rewrite(str(thread), str(thread), self._newest if strategy == "keep_latest" else keep_none)

    def _newest(self, _: str, entries: builtins.list[Entry], loader: Loader) -> builtins.list[Entry]:
        if not entries:
            return []
        by_id = {entry.id: entry for entry in entries}
        newest = by_id[max(by_id)]
        kept, needed = (
            {newest.id},
            set(self.serde.loads_typed(loader.metadata(newest.piece)).get(_COUNTERS) or ()),
        )
        entry: Entry | None = newest
        while entry is not None:
            kept.add(entry.id)
            record = loader.record(entry.piece)
            needed -= record.inline.keys() | record.spans.keys()
            entry = by_id.get(loader.parent(entry)) if needed else None
        return [entry for entry in entries if entry.id in kept]

    def _rewrite(self, source: str, target: str, keeps: Keeps) -> bool:
        thread = self._threads.thread
        return rewrite(self.segue.workspace, thread(source), thread(target), keeps)

    # -- the same, for programs that do not wait ----------------------------------------------------

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """As ``get_tuple``."""
        return await asyncio.to_thread(self.get_tuple, config)

    async def alist(
        self, config: RunnableConfig | None, *, filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None, limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:  # fmt: skip
        """As ``list``."""
        found = self.list(config, filter=filter, before=before, limit=limit)
        while (one := await asyncio.to_thread(next, found, None)) is not None:
            yield one

    async def aput(
        self, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:  # fmt: skip
        """As ``put``."""
        return await asyncio.to_thread(self.put, config, checkpoint, metadata, new_versions)

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """As ``put_writes``."""
        await asyncio.to_thread(self.put_writes, config, writes, task_id, task_path)

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """As ``get_delta_channel_history``."""
        return await asyncio.to_thread(self.get_delta_channel_history, config=config, channels=channels)

    async def adelete_thread(self, thread_id: str) -> None:
        """As ``delete_thread``."""
        await asyncio.to_thread(self.delete_thread, thread_id)

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """As ``delete_for_runs``."""
        await asyncio.to_thread(self.delete_for_runs, run_ids)

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """As ``copy_thread``."""
        await asyncio.to_thread(self.copy_thread, source_thread_id, target_thread_id)

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """As ``prune``."""
        await asyncio.to_thread(self.prune, thread_ids, strategy=strategy)


def _config(thread_id: Any, namespace: str, id: str) -> RunnableConfig:
    return {"configurable": {"thread_id": thread_id, "checkpoint_ns": namespace, "checkpoint_id": id}}
