"""Memories: what was learnt, for whom it is meant, and who may read it.

A memory is meant for an *audience*, made of its scope and of who or what that scope names. ``may_read``
is the one rule on who reads what; stores ask it about audiences and let nothing else through, in any
operation. A namespace is a wall: nothing of one is seen from another. What came from a transcript, a tool
or a file of somebody else is data: if it reads like an instruction it is flagged, and never handed on as one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
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
"""Told by the user, declared by an agent, observed in a transcript, imported."""
TRUSTED = ("user", "agent")
CONTENT_BYTES_MAX = 100_000
METADATA_BYTES_MAX = 16_000
AUDIENCE_MEMORIES_MAX = 200_000
TOP_K_MAX = 1_000
INSTRUCTION = "instruction-like"
_TYPE = regex(r"[a-z][a-z0-9_-]{0,31}")


class Provenance(Value, omit_defaults=True):
    """Where a memory comes from."""

    actor: str = ""
    run: str = ""
    file: str = ""
    commit: str = ""
    source: str = ""
    """In words: a session, a task, an import."""


class Memory(Value, omit_defaults=True):
    """One thing that was learnt."""

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
    """Since when it no longer counts; empty while it does."""
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
        """From votes and outcomes: between -1 and 1, near 0 while there are few."""
        return (self.helpful - self.harmful) / (self.helpful + self.harmful + 1)

    @property
    def live(self) -> bool:
        """Whether it counts: neither deprecated nor forgotten."""
        return not self.deprecated and not self.forgotten


class MemoryReader(Value):
    """Who asks, and from where."""

    agent: str = "user"
    namespace: str = "default"
    user: str = ""
    sessions: tuple[str, ...] = ()
    projects: tuple[str, ...] = ()
    organization: str = ""


class Audience(Value, array_like=True):
    """For whom memories are meant; ``names`` are agents, a session, a project or an organization."""

    namespace: str
    user: str
    scope: str
    names: tuple[str, ...]


class MemoryFilter(Value):
    """What is looked for, beside the words; empty: anything."""

    types: tuple[str, ...] = ()
    scopes: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    metadata: dict[str, Any] = {}
    since: str = ""
    until: str = ""
    prefix: str = ""
    """How an id begins."""
    dead: bool = False
    """Also what was deprecated, forgotten or has expired."""


def audience_of(memory: Memory) -> Audience:
    """For whom a memory is meant."""
    names: tuple[str, ...]
    match memory.scope:
        case "agent-private":
            names = (memory.agent,)
        case "agent-shared":
            names = tuple(sorted({memory.agent, *memory.shared_with}))
        case "session":
            names = (memory.session,)
        case "project":
            names = (memory.project,)
        case "organization":
            names = (memory.organization,)
        case _:
            names = ()
    return Audience(memory.namespace, memory.user, memory.scope, names)


def may_read(reader: MemoryReader, audience: Audience) -> bool:
    """The rule of scopes; every read of every store goes by it."""
    if audience.namespace != reader.namespace or (audience.user and audience.user != reader.user):
        return False
    match audience.scope:
        case "agent-private" | "agent-shared":
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
    """Whether a memory is what is looked for."""
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
        and all(_same(memory.metadata.get(k), v) for k, v in where.metadata.items())
    )


def _same(value: Any, wanted: Any) -> bool:
    """A list holds what is wanted, anything else equals it."""
    if isinstance(value, list) and not isinstance(wanted, list):
        return wanted in value
    return type(value) is type(wanted) and bool(value == wanted)


def is_valid(memory: Memory, now: str) -> bool:
    """Whether its time has come and is not over."""
    return (
        (not memory.expires or now < memory.expires)
        and (not memory.valid_from or memory.valid_from <= now)
        and (not memory.valid_to or now < memory.valid_to)
    )


def hash_of(memory: Memory) -> bytes:
    """What two memories of one audience have in common if they say the same."""
    said = [" ".join(memory.content.split()), memory.type]
    return canonical.digest(msgspec.json.encode(said))


# -- the gate --------------------------------------------------------------------------------------


def checked(memory: Memory) -> Memory:
    """The memory, if it can be one; UsageError says why not."""
    if not memory.content.strip():
        raise UsageError("a memory needs words", hint="say in a sentence what was learnt")
    if memory.scope not in SCOPES:
        raise UsageError(f"unknown scope: {memory.scope[:40]}", hint="one of " + ", ".join(SCOPES))
    if not _TYPE.fullmatch(memory.type):
        raise UsageError(f"{memory.type[:40]!r} cannot be a type", hint="for example " + ", ".join(TYPES[:5]))
    if memory.trust not in TRUSTS:
        raise UsageError(f"unknown trust: {memory.trust[:40]}", hint="one of " + ", ".join(TRUSTS))
    named = {
        "agent-private": memory.agent, "agent-shared": memory.agent, "session": memory.session,
        "project": memory.project, "organization": memory.organization, "global": "all",
    }  # fmt: skip
    if not named[memory.scope]:
        wanted = memory.scope.removeprefix("agent-") if memory.scope == "session" else memory.scope
        raise UsageError(f"nobody is named for the scope {memory.scope}", hint=f"say which {wanted} is meant")
    if len(msgspec.json.encode(memory.metadata)) > METADATA_BYTES_MAX:
        raise UsageError(
            f"the metadata has over {METADATA_BYTES_MAX:,} bytes", hint="keep it short; name a file instead"
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
    """Whether a text tries to tell a model what to do."""
    return re.search(_ORDERS, text[:20_000]) is not None


def flagged(memory: Memory) -> Memory:
    """With a flag if it came from where orders do not come from, and reads like one."""
    texts = (memory.content, memory.error_pattern, memory.correct_approach)
    if memory.trust in TRUSTED or not any(map(reads_like_an_order, texts)):
        return memory
    return msgspec.structs.replace(memory, flags=tuple(sorted({*memory.flags, INSTRUCTION})))


def may_restore(memory: Memory) -> bool:
    """Whether it may be put in front of an agent without quotes around it."""
    return INSTRUCTION not in memory.flags


# -- votes and the trail ---------------------------------------------------------------------------

VOTES = ("helpful", "harmful")


class Vote(Value):
    """What one voter holds of one memory; a later vote takes its place."""

    memory: str
    voter: str
    vote: str
    at: str
    context: str = ""


class MemoryAudit(Value):
    """A line of the audit trail."""

    memory: str
    act: str
    """add, update, deprecate, forget, vote, summarise, import."""
    at: str
    actor: str
    reason: str = ""


def tombstone(memory: Memory, at: str, reason: str) -> Memory:
    """What stays of a forgotten memory: that there was one, whose, and why it went."""
    return Memory(
        memory.id, "", memory.type, memory.scope, memory.namespace, memory.user, memory.agent, memory.session,
        memory.project, memory.organization, memory.shared_with, trust=memory.trust, created=memory.created,
        updated=at, deprecated=memory.deprecated or at, reason=reason, forgotten=True,
        revision=memory.revision + 1,
    )  # fmt: skip


def worth(memory: Memory, age_days: float, half_life_days: float = 90.0) -> float:
    """What is left of a memory's worth: halves with time, and votes and trust weigh."""
    fresh = 0.5 ** (max(0.0, age_days) / half_life_days)
    trust = {"user": 1.0, "agent": 0.8, "transcript": 0.6, "imported": 0.6}.get(memory.trust, 0.5)
    return float(max(0.0, fresh * trust * (1.0 + memory.effectiveness) + 0.02 * min(memory.recalled, 10)))


def named(values: Iterable[str] | str | None) -> tuple[str, ...]:
    """One name or several, as several."""
    return () if values is None else (values,) if isinstance(values, str) else tuple(values)


def metadata_of(values: Mapping[str, Any] | None) -> dict[str, Any]:
    """Any JSON object, as plain data."""
    try:
        plain = msgspec.to_builtins(dict(values or {}), str_keys=True)
        result: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(plain))
    except (TypeError, msgspec.MsgspecError, UnicodeEncodeError) as fault:
        raise UsageError(
            f"the metadata is not JSON: {fault}", hint="texts, numbers, lists, objects"
        ) from fault
    return result
