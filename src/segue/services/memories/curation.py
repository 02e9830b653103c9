"""Changing and curating memories: delta, forget, prune, decay, audit, reembed, export and import.

Each is one transaction. Nothing is merged silently: what says nearly the same, or speaks against another, is
shown. What is deprecated stays and says by what and why; what is forgotten leaves a tombstone.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from ...core.base.lazy import regex
from ...core.base.values import Value, count, texts
from ...core.features.checks import PERSON
from ...core.memories import curation
from ...core.memories import model as mem
from ...core.memories.curation import Junk, Pair
from ...core.memories.dates import moment_of
from ...core.memories.model import Memory, MemoryAudit, MemoryFilter, MemoryReader, Provenance
from ...effects.clock import days_between, moment, now
from ...errors import BadImport, StaleVersion, UnknownSession, UsageError
from ...stores.memory_changes import MemoryChange, StoredMemory

if TYPE_CHECKING:
    from .service import MemoryService

FORMAT = "segue-memories"
KEEP_RECENT = 50
NEVER_RECALLED_DAYS = 30
DECAY_THRESHOLD = 0.1
_RETRIES = 8
_FIELDS = (
    "content", "type", "scope", "metadata", "session", "shared_with", "expires", "valid_from", "valid_to",
    "error_pattern", "correct_approach", "trust",
)  # fmt: skip
_PROVENANCE = ("actor", "run", "file", "commit", "source")
_ID = regex(r"m[0-9a-f]{1,32}")
Progress = Callable[[int, int, str], None]


class Pruned(Value):
    """What a prune kept and put together."""

    kept: int
    summarised: int
    summary: str = ""
    """The id of the memory that says it in short; empty if nothing was to do."""


def _changed(service: MemoryService, memory: Memory, fields: Mapping[str, Any]) -> Memory:
    unknown = sorted(set(fields) - set(_FIELDS))
    if unknown:
        raise UsageError(f"a memory's {unknown[0]} cannot be changed", hint="one of " + ", ".join(_FIELDS))
    values = {name: value for name, value in fields.items() if value is not None}
    if "content" in values:
        values["content"] = service._text(values["content"], "memory", mem.CONTENT_BYTES_MAX).strip()
    if "metadata" in values:
        values["metadata"] = service._cleaned(mem.metadata_of(values["metadata"]))
    if "shared_with" in values:
        values["shared_with"] = tuple(
            service._text(name, "agent", 256) for name in texts(values["shared_with"])
        )
    for name, limit in (("session", 256), ("error_pattern", 4_096), ("correct_approach", 16_384)):
        if name in values:
            values[name] = service._text(values[name], name.replace("_", " "), limit)
    for name in ("expires", "valid_from", "valid_to"):
        if name in values:
            values[name] = moment_of(values[name], name)
    values["trust"] = _trust(service, memory, values)
    changed = replace(memory, **values)
    if changed == memory:
        return memory
    return mem.checked(replace(changed, updated=now(), revision=memory.revision + 1))


def _trust(service: MemoryService, memory: Memory, values: Mapping[str, Any]) -> str:
    """An agent cannot raise it, and what an agent words anew is no longer what the user told."""
    wanted = values.get("trust", memory.trust)
    if wanted not in mem.TRUSTS or service.who == PERSON:
        return str(wanted)
    own = memory.trust if values.get("content", memory.content) == memory.content else "agent"
    return max(str(wanted), own, memory.trust, key=mem.TRUSTS.index)


def updated(
    service: MemoryService, id: str, reason: str, fields: Mapping[str, Any], asks: Mapping[str, str]
) -> Memory:
    """Change one memory."""
    service.pause_file.check()
    for attempt in range(_RETRIES):
        memory = service.get(id, **asks)
        changed = _changed(service, memory, fields)
        if changed is memory:
            return memory
        change = MemoryChange(puts=service.kept([changed]), trail=[service.trace(changed, "update", reason)])
        try:
            service.store.write(change)
            return changed
        except StaleVersion as stale:
            if stale.expected == stale.actual:  # nobody was faster: these words are there
                raise UsageError(
                    "another memory says this to the same readers",
                    hint=f"`segue recall` finds it; {memory.id} stays as it was",
                ) from None
            if attempt == _RETRIES - 1:
                raise
    raise AssertionError("unreachable")


def delta(service: MemoryService, operations: Sequence[Mapping[str, Any]], **asks: str) -> list[str]:
    """Add, update and deprecate, all or none."""
    service.pause_file.check()
    adds: list[Memory] = []
    puts: dict[str, Memory] = {}
    trail: list[MemoryAudit] = []
    results: list[tuple[str, int]] = []
    for one in operations:
        kind = str(one.get("type", ""))
        reason = service._text(str(one.get("deprecation_reason") or one.get("reason") or ""), "reason", 4_096)
        if kind == "add":
            given = {
                k: v for k, v in one.items() if k not in ("type", "memory_type", "reason") and v is not None
            }
            memory = _drafted(service, str(one.get("memory_type") or "standard"), given)
            results.append(("", len(adds)))
            adds.append(memory)
            trail.append(service.trace(memory, "add", reason))
            continue
        if kind not in ("update", "deprecate"):
            raise UsageError(f"unknown operation: {kind[:40]!r}", hint="add, update or deprecate")
        found = service.get(str(one.get("memory_id", "")), **asks)
        memory = puts.get(found.id, found)
        puts[memory.id] = _operated(service, memory, kind, one, reason)
        results.append((memory.id, -1))
        trail.append(service.trace(memory, kind, reason))
    changed = [replace(memory, revision=service.get(id, **asks).revision + 1) for id, memory in puts.items()]
    ids = service.store.write(MemoryChange(service.kept(adds), service.kept(changed), trail=trail))
    return [id or ids[place] for id, place in results]


def _drafted(service: MemoryService, type: str, given: Mapping[str, Any]) -> Memory:
    try:
        return service.draft(type=type, **given)
    except TypeError as fault:
        raise UsageError(f"this cannot be added: {fault}", hint="content, scope, metadata …") from fault


def _operated(
    service: MemoryService, memory: Memory, kind: str, one: Mapping[str, Any], reason: str
) -> Memory:
    if kind == "deprecate":
        by = str(one.get("superseded_by") or "")
        return replace(
            memory, deprecated=memory.deprecated or now(), superseded_by=by, reason=reason, updated=now()
        )
    fields = {name: one[name] for name in _FIELDS if name in one and name != "type"}
    if one.get("memory_type"):
        fields["type"] = one["memory_type"]
    if one.get("metadata_patch"):
        fields["metadata"] = {**memory.metadata, **dict(one["metadata_patch"])}
    return _changed(service, memory, fields)


def forget(service: MemoryService, id: str, reason: str, **asks: str) -> Memory:
    """Erase what a memory says; a tombstone stays."""
    service.pause_file.check()
    memory = service.get(id, **asks)
    if memory.forgotten:
        return memory
    stone = mem.tombstone(memory, now(), service._text(reason, "reason", 4_096))
    service.store.write(
        MemoryChange(puts=[StoredMemory(stone)], trail=[service.trace(stone, "forget", stone.reason)])
    )
    service.store.compact()
    return stone


def prune(
    service: MemoryService, session: str, *, keep: int = KEEP_RECENT,
    condense: Callable[[Sequence[Memory]], str] | None = None, **asks: str,
) -> Pruned:  # fmt: skip
    """Keep a session's newest memories; the rest becomes one summary, and no longer counts.

    ``condense`` may add lines to a summary, never take any away."""
    service.pause_file.check()
    if keep < 0:
        raise UsageError("a prune keeps some or none", hint="--keep 0 or more")
    reader = service.reader(session=session, **asks)
    if not service.store.listing(reader, MemoryFilter(sessions=(session,), dead=True), now(), 1):
        raise UnknownSession(
            f"nothing was remembered in a session {session[:60]!r}",
            hint="see `segue list`",
        )
    found = service.store.listing(reader, MemoryFilter(sessions=(session,)), now())
    found = [memory for memory in found if memory.type != "history-summary"]
    old = found[keep:]
    if not old:
        return Pruned(len(found), 0)
    oldest_first = old[::-1]
    pieces: dict[mem.Audience, list[Memory]] = {}
    for memory in oldest_first:
        pieces.setdefault(mem.audience_of(memory), []).append(memory)
    adds, puts, trail, first = [], [], [], ""
    for group in pieces.values():
        told = _summary(service, group, session, condense(group) if condense else "")
        adds.append(told)
        first = first or told.id
        trail.append(
            service.trace(
                told, "summarise", f"{count(len(group), 'memory', 'memories')} of session {session}"
            )
        )
        for memory in group:
            puts.append(_superseded(memory, told.id, "summarised"))
            trail.append(service.trace(memory, "deprecate", f"summarised by {told.id}"))
    ids = service.store.write(MemoryChange(service.kept(adds), service.kept(puts), trail=trail))
    return Pruned(len(found) - len(old), len(old), ids[0] if ids else first)


def _summary(service: MemoryService, group: Sequence[Memory], session: str, more: str = "") -> Memory:
    """Many memories of one audience in short; it is trusted as little as the least of them."""
    plain = [memory for memory in group if mem.may_restore(memory)]
    base = group[-1]
    trust = max((memory.trust for memory in group), key=mem.TRUSTS.index)
    return service.draft(
        f"{curation.summary(plain or group)}\n{more}".strip(), type="history-summary", scope=base.scope,
        agent=base.agent, user=base.user, namespace=base.namespace, session=session, project=base.project,
        organization=base.organization, shared_with=base.shared_with, trust=trust,
        source=f"a prune of {count(len(group), 'memory', 'memories')}",
        metadata={"summarised": len(group), "from": group[0].created, "to": base.created},
    )  # fmt: skip


def _superseded(memory: Memory, by: str, reason: str) -> Memory:
    at = now()
    return replace(
        memory, deprecated=at, superseded_by=by, reason=reason, valid_to=memory.valid_to or at, updated=at,
        revision=memory.revision + 1,
    )  # fmt: skip


def decay(
    service: MemoryService, *, threshold: float = DECAY_THRESHOLD, dry_run: bool = False, **asks: str
) -> list[str]:
    """Deprecate what time, votes and disuse have left little worth of; what the user told stays."""
    if not dry_run:
        service.pause_file.check()
    at = now()
    gone = []
    for memory in service.store.listing(service.reader(**asks), MemoryFilter(), at):
        age = days_between(memory.recalled_at or memory.created, at)
        if memory.trust != "user" and mem.worth(memory, age) < threshold:
            gone.append(
                replace(memory, deprecated=at, reason="decayed", updated=at, revision=memory.revision + 1)
            )
    if gone and not dry_run:
        trail = [service.trace(memory, "deprecate", "decayed") for memory in gone]
        service.store.write(MemoryChange(puts=service.kept(gone), trail=trail))
    return [memory.id for memory in gone]


def audit(service: MemoryService, **asks: str) -> Junk:
    """What could go or should be looked at; nothing is changed."""
    at, reader = now(), service.reader(**asks)
    live = service.store.listing(reader, MemoryFilter(), at)
    old = moment(-86_400 * NEVER_RECALLED_DAYS)
    expired = [
        memory.id
        for memory in service.store.listing(reader, MemoryFilter(dead=True), at)
        if memory.live and not mem.is_valid(memory, at)
    ]
    same, against = curation.pairs(live)
    return Junk(
        total=len(live), duplicates=same, contradictions=against,
        never_recalled=[m.id for m in live if not m.recalled and m.created < old and m.trust != "user"],
        harmful=[m.id for m in live if m.effectiveness < -0.3],
        expired=expired, flagged=[m.id for m in live if not mem.may_restore(m)],
    )  # fmt: skip


def consolidate(service: MemoryService, *, dry_run: bool = True, **asks: str) -> list[Pair]:
    """Near duplicates; unless it is a dry run, of each two the older no longer counts and names the newer.
    Those that may speak against each other are never among them."""
    if not dry_run:
        service.pause_file.check()
    reader = service.reader(**asks)
    live = {memory.id: memory for memory in service.store.listing(reader, MemoryFilter(), now())}
    found, gone, puts = curation.pairs(list(live.values()))[0], set(), []
    for pair in found:
        if pair.one in gone or pair.other in gone:
            continue
        newer, older = sorted(
            (live[pair.one], live[pair.other]), key=lambda m: (m.created, m.id), reverse=True
        )
        gone.add(older.id)
        puts.append(_superseded(older, newer.id, "says nearly the same"))
    if puts and not dry_run:
        trail = [
            service.trace(memory, "deprecate", f"consolidated into {memory.superseded_by}") for memory in puts
        ]
        service.store.write(MemoryChange(puts=service.kept(puts), trail=trail))
    return found


def reembed(service: MemoryService, *, progress: Progress | None = None, batch: int = 32, **asks: str) -> int:
    """Give every memory a vector of the embedder in use; says how many of those that may be seen."""
    service.pause_file.check()
    reader, done, seen = service.reader(**asks), 0, 0
    while True:
        some = service.embed_some(batch)
        done += len(some)
        seen += sum(mem.may_read(reader, mem.audience_of(memory)) for memory in some)
        if not some:
            return seen
        if progress:
            progress(seen, seen, service.embedder.name)


# -- exchange --------------------------------------------------------------------------------------


def export(service: MemoryService, **asks: str) -> bytes:
    """What may be seen, a line of JSON each behind a line that says what it is."""
    found = service.store.listing(service.reader(**asks), MemoryFilter(dead=True), now())
    head = msgspec.json.encode({"format": FORMAT, "version": 1, "memories": len(found)})
    return b"\n".join([head, *(msgspec.json.encode(memory) for memory in reversed(found))]) + b"\n"


def import_(
    service: MemoryService, data: bytes, *, keep_trust: bool = False,
    allow: Callable[[str], object] | None = None,
) -> tuple[int, int]:  # fmt: skip
    """(new, known already) of an export; trusted as imported unless ``keep_trust``. All or nothing.
    ``allow`` is asked about the agent of each, and raises if it may not be brought in."""
    service.pause_file.check()
    lines = data.splitlines()
    try:
        head = msgspec.json.decode(lines[0]) if lines else {}
        if head.get("format") != FORMAT or head.get("version") != 1:
            raise BadImport("this is not an export of memories", hint="make one with `segue memories export`")
        rows = [msgspec.json.decode(line, type=Memory) for line in lines[1:] if line.strip()]
    except (msgspec.MsgspecError, AttributeError, UnicodeDecodeError) as fault:
        raise BadImport(f"this is not an export of memories: {fault}", hint="nothing was imported") from fault
    if allow is not None:
        for agent in {memory.agent for memory in rows}:
            allow(agent)
    ready = [_imported(service, memory, keep_trust) for memory in rows]
    fresh = _unknown(service, ready)
    trail = [service.trace(memory, "import") for memory in fresh]
    ids = service.store.write(MemoryChange(adds=service.kept(fresh), trail=trail)) if fresh else []
    new = sum(id == memory.id for id, memory in zip(ids, fresh, strict=True))
    return new, len(ready) - new


def _unknown(service: MemoryService, memories: Sequence[Memory]) -> list[Memory]:
    """Those that are not there: neither with the same text, nor gone. One whose id another has gets its own:
    a store that has the id would keep what it has, and say nothing."""
    asked: dict[MemoryReader, list[str]] = {}
    for one in memories:
        reader = MemoryReader(
            one.agent, one.namespace, one.user, (one.session,), (one.project,), one.organization
        )
        asked.setdefault(reader, []).append(one.id)
    there = {
        one.id: one
        for reader, ids in asked.items()
        for one in service.store.get(list(dict.fromkeys(ids)), reader)
    }
    fresh: list[Memory] = []
    taken = set(there)
    for one in memories:
        found = there.get(one.id)
        if found is not None and (found.content == one.content or not found.live):
            continue
        fresh.append(replace(one, id=f"m{os.urandom(6).hex()}") if one.id in taken else one)
        taken.add(one.id)
    return fresh


def _imported(service: MemoryService, memory: Memory, keep_trust: bool) -> Memory:
    names = ("user", "agent", "session", "project", "organization", "superseded_by", "namespace")
    times = ("created", "updated", "expires", "valid_from", "valid_to", "deprecated", "recalled_at")
    clean = replace(
        memory,
        id=memory.id if _ID.fullmatch(memory.id) else f"m{os.urandom(6).hex()}",
        content=service._text(memory.content, "memory", mem.CONTENT_BYTES_MAX),
        error_pattern=service._text(memory.error_pattern, "error pattern", 4_096),
        correct_approach=service._text(memory.correct_approach, "approach", 16_384),
        reason=service._text(memory.reason, "reason", 4_096),
        metadata=service._cleaned(mem.metadata_of(memory.metadata)),
        provenance=Provenance(
            *(service._text(getattr(memory.provenance, name), "source", 4_096) for name in _PROVENANCE)
        ),
        shared_with=tuple(service._text(name, "agent", 256) for name in memory.shared_with),
        flags=tuple(flag for flag in memory.flags if flag == mem.INSTRUCTION),
        trust=service.trust(memory.trust) if keep_trust else "imported",
        **{name: service._text(getattr(memory, name), name, 256) for name in names},
        **{name: moment_of(getattr(memory, name), name) for name in times},
    )
    return clean if clean.forgotten else mem.checked(clean)
