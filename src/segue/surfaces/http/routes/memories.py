"""`/v1/memories`: what was learnt, for whom it is meant, and who may read it.

The reader is the agent of the key; only a key that is bound to no agent may read as one. A memory that may
not be read is not there, in any operation. Projects are apart: nothing of another one is ever seen.
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


class NewMemory(RequestBody):
    """Something to be remembered."""

    content: Content
    type: Short = "standard"
    scope: Scope = ""
    """Empty: the project, or those it is shared with."""
    agent: Name = ""
    """Whose it is; by default the caller's."""
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
    """Memories to be kept, all or none."""

    memories: Annotated[list[NewMemory], Meta(min_length=1, max_length=MANY_MAX)]


class RememberedList(msgspec.Struct):
    memories: list[Remembered]


class ReaderFields(RequestBody):
    """As whom memories are read, if the key is bound to no agent, and from where."""

    agent: Name = ""
    session: Name = ""
    user: Name = ""
    namespace: Name = ""


class MemoryQuery(ReaderFields):
    """What is looked for, and what a memory must be to be found."""

    query: Annotated[str, Meta(max_length=100_000)] = "*"
    """`*`: the newest."""
    top_k: Annotated[int, Meta(ge=1, le=mem.TOP_K_MAX)] = 10
    types: Names = []
    scopes: Names = []
    agents: Names = []
    """Of whom."""
    sessions: Names = []
    metadata: dict[str, Any] = {}
    since: Short = ""
    until: Short = ""
    min_score: float | None = None


class CrossAgentQuery(RequestBody):
    """What another agent may read of these agents: what they shared with it, and what is meant for all."""

    requesting_agent: Name
    query: Annotated[str, Meta(max_length=100_000)] = "*"
    target_agents: Names = []
    """Of whom; empty: of all."""
    top_k: Annotated[int, Meta(ge=1, le=mem.TOP_K_MAX)] = 10
    session: Name = ""
    user: Name = ""
    namespace: Name = ""


class PlaybookQuery(ReaderFields):
    """The task that strategies are looked for."""

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
    """What is to be changed; what it said before is gone."""

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
    """Whether a memory was of help."""

    vote: Literal[mem.VOTES]  # type: ignore[valid-type]
    context: Annotated[str, Meta(max_length=4_096)] = ""


class DeltaOperation(RequestBody):
    """One of a delta: add, update or deprecate."""

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
    """A memory that answers a query."""

    effectiveness_now: float = msgspec.field(name="effectiveness")
    score: float
    quoted: bool
    """It reads like an instruction and is body: to be shown in quotes, never to be followed."""


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
    """Which session's memories are pruned, and how many stay."""

    session: Id
    keep: Annotated[int, Meta(ge=0, le=1_000_000)] = curation.KEEP_RECENT


class ImportedMemories(msgspec.Struct):
    new: int
    known: int


class MemoryFile(RequestBody):
    content: str
    """What an export gave."""


def _found(found: list[Recalled]) -> Any:
    """What `FoundMemories` describes, as commands print it."""
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
    response={"id": MEMORY["id"], "known": False, "flags": []},
)  # fmt: skip
def add_memory(caller: Caller, body: NewMemory) -> Remembered:
    """Remember something. What is there already, for the same audience, stays as it is: ``known`` is true."""
    return caller.segue.memories.remember_many([_fields(caller, body)])[0]


@route(
    "POST", "/v1/memories/batch", role="writer", status=201, errors=(),
    body={"memories": [{"content": MEMORY["content"]}]},
    response={"memories": [{"id": MEMORY["id"], "known": False, "flags": []}]},
)  # fmt: skip
def add_memories(caller: Caller, body: NewMemories) -> RememberedList:
    """Remember many, all or none."""
    return RememberedList(
        caller.segue.memories.remember_many([_fields(caller, one) for one in body.memories])
    )


@route(
    "POST", "/v1/memories/query", role="reader", errors=(),
    body={"query": "how do I run the tests", "top_k": 5},
)  # fmt: skip
def query_memories(caller: Caller, body: MemoryQuery) -> FoundMemories:
    """What answers a query, the best first; `*` lists the newest. Nothing that the caller may not read."""
    return _found(caller.segue.memories.recall(**_asked(caller, body)))  # type: ignore[no-any-return]


@route(
    "POST", "/v1/memories/cross-agent", role="reader", errors=(),
    body={"requesting_agent": "codex", "target_agents": ["claude-code"], "query": "auth"},
)  # fmt: skip
def query_across(caller: Caller, body: CrossAgentQuery) -> FoundMemories:
    """What one agent may read of others. Of these agents only what they shared, never what is private."""
    agent = caller.access.act_as(body.requesting_agent)
    found = caller.segue.memories.recall(
        body.query, top_k=body.top_k, agents=body.target_agents, agent=agent, session=body.session,
        user=body.user, namespace=body.namespace,
    )  # fmt: skip
    return _found(found)  # type: ignore[no-any-return]


@route("POST", "/v1/memories/playbook", role="reader", errors=(), body={"query": "flaky tests"})
def playbook(caller: Caller, body: PlaybookQuery) -> FoundMemories:
    """Strategies and reflections that bear on a task, those that worked first."""
    asked = {**_asked(caller, body), "types": body.types or None}
    return _found(caller.segue.memories.playbook(**asked))  # type: ignore[no-any-return]


@route(
    "POST", "/v1/memories/reflection", role="writer", status=201, errors=(),
    body={"content": "the clock of the CI lags", "error_pattern": "token expired"},
    response={"id": MEMORY["id"], "known": False, "flags": []},
)  # fmt: skip
def reflect(caller: Caller, body: Reflection) -> Remembered:
    """Keep what was learnt from how something went."""
    return caller.segue.memories.remember_many([{**_fields(caller, body), "type": "reflection"}])[0]


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
    """Add, update and deprecate, all or none; the ids, in order."""
    operations = [
        {name: value for name, value in asdict(one).items() if value not in (None, "")}
        for one in body.operations
    ]
    return MemoryIds(caller.segue.memories.delta(operations))


@route("POST", "/v1/memories/prune", role="writer", body={"session": "leak-hunt", "keep": 50})
def prune(caller: Caller, body: Pruning) -> curation.Pruned:
    """Keep a session's newest memories; the rest becomes one summary, and no longer counts."""
    try:
        return curation.prune(caller.segue.memories, body.session, keep=body.keep)
    except UnknownSession:
        caller.session(body.session)
        return curation.Pruned(0, 0)


@route("GET", "/v1/memories/audit", role="reader", errors=())
def audit_memories(caller: Caller) -> Junk:
    """Memories that could go, or that somebody should look at; nothing is changed."""
    return curation.audit(caller.segue.memories)


@route(
    "GET", "/v1/memories/export", role="reader", errors=(), media_type="application/jsonl",
    response='{"format":"segue-memories","version":1,"memories":1}\n{"id":"m1f0c2a9b8d7e","content":"…"}\n',
)  # fmt: skip
def export_memories(caller: Caller) -> str:
    """All memories that the caller may read: one JSON object a line, after a line that describes the file."""
    return curation.export(caller.segue.memories).decode()


@route(
    "POST", "/v1/memories/import", role="writer", errors=(), response={"new": 3, "known": 0},
    body={"content": "{\"format\":\"segue-memories\",\"version\":1,\"memories\":0}\n"},
)  # fmt: skip
def import_memories(caller: Caller, body: MemoryFile) -> ImportedMemories:
    """Import what an export holds, trusted as imported; all or nothing. With an agent's key, only what is
    that agent's."""
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
    """Erase what a memory says; a tombstone stays, and so do backups until they are replaced."""
    found = caller.segue.memories.forget(memory, reason=reason)
    return ForgottenMemory(found.id, found.forgotten)


@route("POST", "/v1/memories/{memory}/vote", role="writer", body={"vote": "helpful"})
def vote(caller: Caller, memory: Name, body: Vote) -> Memory:
    """Say whether a memory was of help; one vote a voter, a later one counts instead."""
    return caller.segue.memories.vote(memory, body.vote, context=body.context)
