"""Memories: what was learnt, whom it is meant for, and who may read it.

A memory has an *audience*: its scope, and the agents, session, project or organization that the scope names.
``may_read`` is the only rule about who may read what, and stores apply it in every operation. Nothing in one
namespace is visible from another. What came from a transcript, a tool or somebody else's file is data: if it
reads like an instruction, it is flagged and never passed on as one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from ...errors import UsageError
from ..base import canonical
from ..base.lazy import regex
from ..base.values import Value

SCOPES = ("agent-private", "agent-shared", "session", "project", "organization", "global")
TYPES = (
    "standard", "decision", "reflection", "strategy", "error-solution", "task-result", "task-failure",
    "history-summary", "handoff", "session-init", "learnt",
)  # fmt: skip
PLAYBOOK_TYPES = ("strategy", "reflection", "error-solution")
TRUSTS = ("user", "agent", "transcript", "imported")
"""Where a memory comes from: the user, an agent, a transcript or an import."""
TRUSTED = ("user", "agent")
CONTENT_BYTES_MAX = 100_000
METADATA_BYTES_MAX = 16_000
AUDIENCE_MEMORIES_MAX = 200_000
TOP_K_MAX = 1_000
HALF_LIFE_DAYS = 90.0
INSTRUCTION = "instruction-like"
_TYPE = regex(r"[a-z][a-z0-9_-]{0,31}")
SESSION_TYPES = ("session-init", "task-result", "task-failure", "history-summary")
"""Types of memories that tell how one session goes."""
AGENT_SCOPES = ("agent-private", "agent-shared")
_OWNERS = {
    "agent-private": "agent", "agent-shared": "agent", "session": "session", "project": "project",
    "organization": "organization",
}  # fmt: skip
"""The field that names whom a memory of a scope is meant for; a global one is meant for all."""


class Provenance(Value, omit_defaults=True):
    """Where a memory comes from."""

    actor: str = ""
    run: str = ""
    file: str = ""
    commit: str = ""
    source: str = ""
    """The session, the task or the import that it came from, in words."""


class Memory(Value, omit_defaults=True):
    """Something that was learnt and outlives the session."""

    id: str
    content: str
    type: str = "standard"
    scope: str = "project"
    namespace: str = "default"
    user: str = ""
    agent: str = ""
    session: str = ""
    project: str = ""
    organization: str = ""
    shared_with: tuple[str, ...] = ()
    metadata: dict[str, Any] = {}
    provenance: Provenance = Provenance()
    trust: str = "agent"
    flags: tuple[str, ...] = ()
    created: str = ""
    updated: str = ""
    expires: str = ""
    valid_from: str = ""
    valid_to: str = ""
    error_pattern: str = ""
    correct_approach: str = ""
    deprecated: str = ""
    """When it was deprecated; empty if it was not."""
    superseded_by: str = ""
    reason: str = ""
    """Why it was deprecated or forgotten."""
    forgotten: bool = False
    revision: int = 1
    helpful: int = 0
    harmful: int = 0
    recalled: int = 0
    recalled_at: str = ""

    @property
    def effectiveness(self) -> float:
        """Between -1 and 1, from votes and outcomes; close to 0 while there are few of them."""
        return (self.helpful - self.harmful) / (self.helpful + self.harmful + 1)

    @property
    def live(self) -> bool:
        """Whether it is neither deprecated nor forgotten."""
        return not self.deprecated and not self.forgotten


class MemoryReader(Value):
    """Who reads memories, and from where."""

    agent: str = "user"
    namespace: str = "default"
    user: str = ""
    sessions: tuple[str, ...] = ()
    projects: tuple[str, ...] = ()
    organization: str = ""


class Audience(Value, array_like=True):
    """Whom a memory is meant for. ``names`` are agents, a session, a project or an organization."""

    namespace: str
    user: str
    scope: str
    names: tuple[str, ...]
    project: str = ""
    """The project that a memory for agents belongs to; empty for one that another version stored."""


class MemoryFilter(Value):
    """Conditions of a search, besides its words. An empty field matches anything."""

    types: tuple[str, ...] = ()
    scopes: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    metadata: dict[str, Any] = {}
    since: str = ""
    until: str = ""
    prefix: str = ""
    """The prefix of the id."""
    dead: bool = False
    """Whether to include memories that are deprecated, forgotten or expired."""


def audience_of(memory: Memory) -> Audience:
    """The audience of a memory."""
    names = {getattr(memory, _OWNERS[memory.scope])} if memory.scope in _OWNERS else set()
    if memory.scope == "agent-shared":
        names.update(memory.shared_with)
    project = memory.project if memory.scope in AGENT_SCOPES else ""
    return Audience(memory.namespace, memory.user, memory.scope, tuple(sorted(names)), project)


def audience_fields(audience: Audience) -> tuple[Any, ...]:
    """An audience as stores keep and send it. Without a project it has the form that all of them had in
    older versions."""
    fields = msgspec.structs.astuple(audience)
    return fields if audience.project else fields[:-1]


def audience_key(audience: Audience) -> bytes:
    """An audience as the key of a row."""
    return msgspec.json.encode(audience_fields(audience))


def may_read(reader: MemoryReader, audience: Audience) -> bool:
    """Whether a reader belongs to an audience. Every read in every store goes by this rule."""
    if audience.namespace != reader.namespace or (audience.user and audience.user != reader.user):
        return False
    match audience.scope:
        case "agent-private" | "agent-shared":
            if audience.project and audience.project not in reader.projects:
                return False
            return bool(reader.agent) and reader.agent in audience.names
        case "session":
            return any(name in reader.sessions for name in audience.names if name)
        case "project":
            return any(name in reader.projects for name in audience.names if name)
        case "organization":
            return bool(reader.organization) and reader.organization in audience.names
        case "global":
            return True
    return False


def fits(where: MemoryFilter, memory: Memory, now: str) -> bool:
    """Whether a memory meets the conditions of a filter."""
    if not where.dead and not (memory.live and is_valid(memory, now)):
        return False
    return (
        (not where.types or memory.type in where.types)
        and (not where.scopes or memory.scope in where.scopes)
        and (not where.agents or memory.agent in where.agents)
        and (not where.sessions or memory.session in where.sessions)
        and (not where.since or memory.created >= where.since)
        and (not where.until or memory.created <= where.until)
        and memory.id.startswith(where.prefix)
        and all(_matches(memory.metadata.get(k), v) for k, v in where.metadata.items())
    )


def _matches(value: Any, wanted: Any) -> bool:
    """Whether a list contains the wanted value, or any other value equals it."""
    if isinstance(value, list) and not isinstance(wanted, list):
        return wanted in value
    return type(value) is type(wanted) and bool(value == wanted)


def is_valid(memory: Memory, now: str) -> bool:
    """Whether a memory is valid at a time, that is, neither expired nor valid only earlier or later."""
    return (
        (not memory.expires or now < memory.expires)
        and (not memory.valid_from or memory.valid_from <= now)
        and (not memory.valid_to or now < memory.valid_to)
    )


def hash_of(memory: Memory) -> bytes:
    """The hash by which duplicates within an audience are recognised: content, regardless of spacing, and
    type; of what tells of one session also the session, so that another one may tell the same."""
    identity = [" ".join(memory.content.split()), memory.type]
    if memory.session and memory.type in SESSION_TYPES:
        identity.append(memory.session)
    return canonical.digest(msgspec.json.encode(identity))


# -- validation ------------------------------------------------------------------------------------


def checked(memory: Memory) -> Memory:
    """The memory, flagged if it reads like an instruction. Raises UsageError if it is not valid."""
    if not memory.content.strip():
        raise UsageError("the memory is empty", hint="say in a sentence what was learnt")
    if memory.scope not in SCOPES:
        raise UsageError(f"unknown scope: {memory.scope[:40]}", hint="use one of " + ", ".join(SCOPES))
    if not _TYPE.fullmatch(memory.type):
        raise UsageError(
            f"{memory.type[:40]!r} cannot be used as a type", hint="for example " + ", ".join(TYPES[:5])
        )
    if memory.trust not in TRUSTS:
        raise UsageError(f"unknown trust: {memory.trust[:40]}", hint="use one of " + ", ".join(TRUSTS))
    owner = _OWNERS.get(memory.scope)
    if owner and not getattr(memory, owner):
        raise UsageError(f"the scope {memory.scope} needs an owner", hint=f"say which {owner} is meant")
    if len(msgspec.json.encode(memory.metadata)) > METADATA_BYTES_MAX:
        raise UsageError(
            f"the metadata has more than {METADATA_BYTES_MAX:,} bytes",
            hint="put the data in a file and store its path instead",
        )
    return flagged(memory)


_ORDERS = (
    r"(?ix)"
    r"\b(?:ignore|disregard|forget|override|bypass)\b.{0,40}\b(?:previous|prior|above|earlier|all|any|your|these"
    r"|system|safety)\b.{0,40}\b(?:instruction|prompt|rule|guideline|context|direction|polic|check)"
    r"|\b(?:you\ are|act\ as|pretend\ to\ be|from\ now\ on|you\ must|you\ should\ always)\b"
    r"|\b(?:new|updated|important|urgent)\ (?:system\ )?instructions?\b"
    r"|<\s*/?\s*(?:system|assistant|instructions?|system-reminder|im_start|im_end)\b|\[/?INST\]|<\|"
    r"|\b(?:system|developer)\ (?:prompt|message)\b"
    r"|\b(?:curl|wget)\b[^\n]{0,120}\|\s*(?:ba|z|da)?sh\b"
    r"|\b(?:send|post|upload|exfiltrat\w+|leak|email|forward)\b.{0,60}\b(?:secret|token|password|credential|key|env)"
    r"|\bdo\ not\ (?:tell|mention|inform|reveal)\b"
    r"|\brun\ the\ following\b"
    r"|^\s*(?:system|assistant|user|human)\s*:"
)


def reads_like_an_order(text: str) -> bool:
    """Whether a text looks like an attempt to give a model instructions."""
    return re.search(_ORDERS, text[:20_000]) is not None


def flagged(memory: Memory) -> Memory:
    """The memory, flagged if it reads like an instruction but does not come from the user or an agent."""
    texts = (memory.content, memory.error_pattern, memory.correct_approach)
    if memory.trust in TRUSTED or not any(map(reads_like_an_order, texts)):
        return memory
    return msgspec.structs.replace(memory, flags=tuple(sorted({*memory.flags, INSTRUCTION})))


def may_restore(memory: Memory) -> bool:
    """Whether a memory may be shown to an agent without being marked as a quotation."""
    return INSTRUCTION not in memory.flags


# -- votes and the audit trail ---------------------------------------------------------------------

VOTES = ("helpful", "harmful")


class Vote(Value):
    """One voter's opinion of a memory; a later vote of the same voter replaces it."""

    memory: str
    voter: str
    vote: str
    at: str
    context: str = ""


class MemoryAudit(Value):
    """An entry of the audit trail."""

    memory: str
    act: str
    """One of add, update, deprecate, forget, vote, summarise and import."""
    at: str
    actor: str
    reason: str = ""


def tombstone(memory: Memory, at: str, reason: str) -> Memory:
    """What remains of a forgotten memory: whose it was, and why it was forgotten, but not its content."""
    return Memory(
        memory.id, "", memory.type, memory.scope, memory.namespace, memory.user, memory.agent, memory.session,
        memory.project, memory.organization, memory.shared_with, trust=memory.trust, created=memory.created,
        updated=at, deprecated=memory.deprecated or at, reason=reason, forgotten=True,
        revision=memory.revision + 1,
    )  # fmt: skip


def worth(memory: Memory, age_days: float) -> float:
    """How valuable a memory still is. The value halves with time, and grows with votes, trust and recalls."""
    fresh = 0.5 ** (max(0.0, age_days) / HALF_LIFE_DAYS)
    trust = {"user": 1.0, "agent": 0.8, "transcript": 0.6, "imported": 0.6}.get(memory.trust, 0.5)
    return float(max(0.0, fresh * trust * (1.0 + memory.effectiveness) + 0.02 * min(memory.recalled, 10)))


def metadata_of(values: Mapping[str, Any] | None) -> dict[str, Any]:
    """The values as plain JSON data. Raises UsageError if JSON cannot represent them."""
    try:
        plain = msgspec.to_builtins(dict(values or {}), str_keys=True)
        result: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(plain))
    except (TypeError, msgspec.MsgspecError, UnicodeEncodeError) as fault:
        raise UsageError(
            f"the metadata is not JSON: {fault}", hint="use texts, numbers, booleans, lists and objects"
        ) from fault
    return result
