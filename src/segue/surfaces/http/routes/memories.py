"""`/v1/memories`: what was learnt, for whom it is meant, and who may read it.

The reader is the agent of the key; only a key that is bound to no agent may read as one. A memory that the
reader may not read is treated as if it did not exist, in every operation. Projects are separate: nothing of
another one is ever visible.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta
from msgspec.structs import asdict

from ....core.memories import model as mem
from ....core.memories.curation import Junk
from ....core.memories.model import Memory, MemoryAudit
from ....errors import UnknownSession, UsageError
from ....services.memories import curation
from ....services.memories.service import Recalled, Remembered
from ...render import recalled_object
from ..server.parameters import Id, Name, RequestBody
from ..server.route import Caller, route

MANY_MAX = 1_000
Content = Annotated[str, Meta(max_length=mem.CONTENT_BYTES_MAX)]
Scope = Literal[("", *mem.SCOPES)]  # type: ignore[valid-type]
Names = Annotated[list[Name], Meta(max_length=1_000)]
Short = Annotated[str, Meta(max_length=64)]
MEMORY = {
    "id": "m1f0c2a9b8d7e", "content": "pytest needs JWT_SECRET set", "type": "learnt", "scope": "project",
    "metadata": {"area": "auth"},
}  # fmt: skip

REMEMBERED = {"id": MEMORY["id"], "known": False, "flags": [], "duplicates": [], "contradictions": []}


class NewMemory(RequestBody):
    """A memory to store."""

    content: Content
    type: Short = "standard"
    scope: Scope = ""
    """By default the project, or the agents that it is shared with."""
    agent: Name = ""
    """The agent that it belongs to; by default the caller."""
    user: Name = ""
    namespace: Name = ""
    session: Name = ""
    project: Name = ""
    organization: Name = ""
    shared_with: Names = []
    metadata: dict[str, Any] = {}
    ttl_seconds: Annotated[float, Meta(gt=0, le=3e9)] | None = None
    valid_from: Short = ""
    valid_to: Short = ""
    error_pattern: Annotated[str, Meta(max_length=4_096)] = ""
    correct_approach: Annotated[str, Meta(max_length=16_384)] = ""
    file: Annotated[str, Meta(max_length=4_096)] = ""
    commit: Name = ""
    run: Name = ""
    source: Annotated[str, Meta(max_length=4_096)] = ""


class NewMemories(RequestBody):
    """Memories to store, all or none."""

    memories: Annotated[list[NewMemory], Meta(min_length=1, max_length=MANY_MAX)]


class RememberedList(msgspec.Struct):
    memories: list[Remembered]


class ReaderFields(RequestBody):
    """Who reads, if the key is not bound to an agent, and from where."""

    agent: Name = ""
    session: Name = ""
    user: Name = ""
    namespace: Name = ""


class MemoryQuery(ReaderFields):
    """A query, and conditions that a memory must meet."""

    query: Annotated[str, Meta(max_length=100_000)] = "*"
    """`*` lists the newest memories."""
    top_k: Annotated[int, Meta(ge=1, le=mem.TOP_K_MAX)] = 10
    types: Names = []
    scopes: Names = []
    agents: Names = []
    """Only memories of these agents."""
    sessions: Names = []
    metadata: dict[str, Any] = {}
    since: Short = ""
    until: Short = ""
    min_score: float | None = None


class CrossAgentQuery(RequestBody):
    """A query for what an agent may read of other agents: what they shared with it, and what is meant for
    all."""

    requesting_agent: Name
    query: Annotated[str, Meta(max_length=100_000)] = "*"
    target_agents: Names = []
    """Only memories of these agents; empty for all."""
    top_k: Annotated[int, Meta(ge=1, le=mem.TOP_K_MAX)] = 10
    session: Name = ""
    user: Name = ""
    namespace: Name = ""


class PlaybookQuery(ReaderFields):
    """The task to find strategies for."""

    query: Annotated[str, Meta(max_length=100_000)] = ""
    top_k: Annotated[int, Meta(ge=1, le=mem.TOP_K_MAX)] = 10
    types: Names = []
    min_effectiveness: Annotated[float, Meta(ge=-1, le=1)] = -1.0


class Reflection(RequestBody):
    """What was learnt from how something went."""

    content: Content
    error_pattern: Annotated[str, Meta(max_length=4_096)] = ""
    correct_approach: Annotated[str, Meta(max_length=16_384)] = ""
    scope: Scope = ""
    agent: Name = ""
    session: Name = ""
    metadata: dict[str, Any] = {}


class ChangedMemory(RequestBody):
    """The fields to change; their old values are lost."""

    content: Content | None = None
    type: Short | None = None
    scope: Scope | None = None
    metadata: dict[str, Any] | None = None
    session: Name | None = None
    shared_with: Names | None = None
    expires: Short | None = None
    valid_from: Short | None = None
    valid_to: Short | None = None
    error_pattern: Annotated[str, Meta(max_length=4_096)] | None = None
    correct_approach: Annotated[str, Meta(max_length=16_384)] | None = None
    reason: Annotated[str, Meta(max_length=4_096)] = ""


class Vote(RequestBody):
    """A vote on whether a memory was helpful."""

    vote: Literal[mem.VOTES]  # type: ignore[valid-type]
    context: Annotated[str, Meta(max_length=4_096)] = ""


class DeltaOperation(RequestBody):
    """An operation of a delta: add, update or deprecate."""

    type: Literal["add", "update", "deprecate"]
    memory_id: Id = ""
    content: Content | None = None
    memory_type: Short | None = None
    scope: Scope | None = None
    metadata: dict[str, Any] | None = None
    metadata_patch: dict[str, Any] | None = None
    session: Name | None = None
    error_pattern: Annotated[str, Meta(max_length=4_096)] | None = None
    correct_approach: Annotated[str, Meta(max_length=16_384)] | None = None
    deprecation_reason: Annotated[str, Meta(max_length=4_096)] = ""
    superseded_by: Id = ""


class Delta(RequestBody):
    """Operations, carried out in this order, all or none."""

    operations: Annotated[list[DeltaOperation], Meta(min_length=1, max_length=MANY_MAX)]


class MemoryIds(msgspec.Struct):
    ids: list[str]


class FoundMemory(Memory, kw_only=True):
    """A memory that matches a query."""

    effectiveness_now: float = msgspec.field(name="effectiveness")
    score: float
    quoted: bool
    """Whether it is data that reads like an instruction: to be shown in quotes, never to be followed."""


class FoundMemories(msgspec.Struct):
    memories: list[FoundMemory]


class ShownMemory(msgspec.Struct):
    memory: Memory
    effectiveness: float
    trail: list[MemoryAudit]


class ForgottenMemory(msgspec.Struct):
    id: str
    forgotten: bool


class Pruning(RequestBody):
    """Which session's memories to prune, and how many to keep."""

    session: Id
    keep: Annotated[int, Meta(ge=0, le=1_000_000)] = curation.KEEP_RECENT
    dry_run: bool = False
    """Only say what would be done."""


class ImportedMemories(msgspec.Struct):
    new: int
    known: int


class MemoryFile(RequestBody):
    content: str
    """The content of an export."""


def _found(found: list[Recalled]) -> Any:
    """Memories in the form of `FoundMemories`, as commands print them."""
    return {"memories": [recalled_object(one) for one in found]}


def _fields(caller: Caller, one: msgspec.Struct) -> dict[str, Any]:
    """The fields of a memory that were given, as the library takes them; the agent is the key's own."""
    given = asdict(one)
    given["agent"] = caller.access.act_as(given.get("agent") or "")
    return {
        name: value for name, value in given.items() if name == "content" or value not in ("", None, [], {})
    }


def _asked(caller: Caller, one: ReaderFields) -> dict[str, Any]:
    """The fields of a query, as the library takes them; the agent is the key's own."""
    return {**asdict(one), "agent": caller.access.act_as(one.agent)}


@route(
    "POST", "/v1/memories", role="writer", status=201, errors=(),
    body={"content": MEMORY["content"], "type": "learnt", "metadata": {"area": "auth"}},
    response=REMEMBERED,
)  # fmt: skip
def add_memory(caller: Caller, body: NewMemory) -> curation.ComparedMemory:
    """Store a memory, and say which others it may repeat or contradict. If the same exists already for the
    same audience, it is kept as it is and ``known`` is true."""
    return caller.segue.memories.remember(**_fields(caller, body))


@route(
    "POST", "/v1/memories/batch", role="writer", status=201, errors=(),
    body={"memories": [{"content": MEMORY["content"]}]},
    response={"memories": [{"id": MEMORY["id"], "known": False, "flags": []}]},
)  # fmt: skip
def add_memories(caller: Caller, body: NewMemories) -> RememberedList:
    """Store several memories, all or none. They are not compared with others."""
    return RememberedList(
        caller.segue.memories.remember_many([_fields(caller, one) for one in body.memories])
    )


@route(
    "POST", "/v1/memories/query", role="reader", errors=(),
    body={"query": "how do I run the tests", "top_k": 5},
)  # fmt: skip
def query_memories(caller: Caller, body: MemoryQuery) -> FoundMemories:
    """The memories that match a query and that the caller may read, the best first; `*` lists the newest."""
    return _found(caller.segue.memories.recall(**_asked(caller, body)))  # type: ignore[no-any-return]


@route(
    "POST", "/v1/memories/cross-agent", role="reader", errors=(),
    body={"requesting_agent": "codex", "target_agents": ["claude-code"], "query": "auth"},
)  # fmt: skip
def query_across(caller: Caller, body: CrossAgentQuery) -> FoundMemories:
    """What an agent may read of other agents: only what they shared, never what is private."""
    agent = caller.access.act_as(body.requesting_agent)
    found = caller.segue.memories.recall(
        body.query, top_k=body.top_k, agents=body.target_agents, agent=agent, session=body.session,
        user=body.user, namespace=body.namespace,
    )  # fmt: skip
    return _found(found)  # type: ignore[no-any-return]


@route("POST", "/v1/memories/playbook", role="reader", errors=(), body={"query": "flaky tests"})
def playbook(caller: Caller, body: PlaybookQuery) -> FoundMemories:
    """Strategies and reflections for a task, those that worked first."""
    asked = {**_asked(caller, body), "types": body.types or None}
    return _found(caller.segue.memories.playbook(**asked))  # type: ignore[no-any-return]


@route(
    "POST", "/v1/memories/reflection", role="writer", status=201, errors=(),
    body={"content": "the clock of the CI lags", "error_pattern": "token expired"},
    response=REMEMBERED,
)  # fmt: skip
def reflect(caller: Caller, body: Reflection) -> curation.ComparedMemory:
    """Store what was learnt from how something went, and say which memories it may repeat or contradict."""
    return caller.segue.memories.reflect(**_fields(caller, body))


@route(
    "POST", "/v1/memories/delta", role="writer", response={"ids": [MEMORY["id"]]},
    body={
        "operations": [
            {"type": "add", "content": "tokens last 15 minutes"},
            {"type": "deprecate", "memory_id": MEMORY["id"], "deprecation_reason": "no longer so"},
        ]
    },
)  # fmt: skip
def delta(caller: Caller, body: Delta) -> MemoryIds:
    """Add, update and deprecate memories, all or none. Returns the ids, in order."""
    operations = [
        {name: value for name, value in asdict(one).items() if value not in (None, "")}
        for one in body.operations
    ]
    return MemoryIds(caller.segue.memories.delta(operations))


@route("POST", "/v1/memories/prune", role="writer", body={"session": "leak-hunt", "keep": 50})
def prune(caller: Caller, body: Pruning) -> curation.Pruned:
    """Keep a session's newest memories; the others are deprecated and replaced by a summary."""
    try:
        return curation.prune(caller.segue.memories, body.session, keep=body.keep, dry_run=body.dry_run)
    except UnknownSession:
        caller.session(body.session)
        return curation.Pruned(0, 0, dry_run=body.dry_run)


@route("GET", "/v1/memories/audit", role="reader", errors=())
def audit_memories(caller: Caller) -> Junk:
    """Memories that could be removed, or that need attention; nothing is changed."""
    return curation.audit(caller.segue.memories)


@route(
    "GET", "/v1/memories/export", role="reader", errors=(), media_type="application/jsonl",
    response='{"format":"segue-memories","version":1,"memories":1}\n{"id":"m1f0c2a9b8d7e","content":"…"}\n',
)  # fmt: skip
def export_memories(caller: Caller) -> str:
    """All memories that the caller may read, as one JSON object per line after a header line."""
    return curation.export(caller.segue.memories).decode()


@route(
    "POST", "/v1/memories/import", role="writer", errors=(), response={"new": 3, "known": 0},
    body={"content": "{\"format\":\"segue-memories\",\"version\":1,\"memories\":0}\n"},
)  # fmt: skip
def import_memories(caller: Caller, body: MemoryFile) -> ImportedMemories:
    """Import an export, all or nothing; its memories are trusted as imported. A key that is bound to an agent
    can import only that agent's memories."""
    return ImportedMemories(
        *curation.import_(caller.segue.memories, body.content.encode(), allow=caller.access.act_as)
    )


@route("GET", "/v1/memories/{memory}", role="reader")
def get_memory(caller: Caller, memory: Name, agent: Name = "", session: Name = "") -> ShownMemory:
    """A memory by its id, with its audit trail."""
    service = caller.segue.memories
    reader = {"agent": caller.access.act_as(agent), "session": session}
    found = service.get(memory, **reader)
    trail = service.store.trail(service.reader(**reader), found.id)
    return ShownMemory(found, found.effectiveness, list(trail))


@route("PATCH", "/v1/memories/{memory}", role="writer", body={"metadata": {"area": "login"}})
def update_memory(caller: Caller, memory: Name, body: ChangedMemory) -> Memory:
    """Change a memory's content, metadata, type, scope or times."""
    given = {name: value for name, value in asdict(body).items() if value is not None}
    if given.get("scope") == "":
        raise UsageError("the scope is empty", hint="one of " + ", ".join(mem.SCOPES))
    return caller.segue.memories.update(memory, **given)


@route("DELETE", "/v1/memories/{memory}", role="writer")
def forget_memory(caller: Caller, memory: Name, reason: Name = "") -> ForgottenMemory:
    """Erase the content of a memory. A tombstone stays, and backups contain the memory until they are
    replaced."""
    found = caller.segue.memories.forget(memory, reason=reason)
    return ForgottenMemory(found.id, found.forgotten)


@route("POST", "/v1/memories/{memory}/vote", role="writer", body={"vote": "helpful"})
def vote(caller: Caller, memory: Name, body: Vote) -> Memory:
    """Vote on whether a memory was helpful. Each voter has one vote: a later one replaces it."""
    return caller.segue.memories.vote(memory, body.vote, context=body.context)
