"""Changing and curating memories: delta, forget, prune, decay, audit, reembed, export and import.

Each operation is one transaction. Nothing is merged silently: near duplicates and contradictions are
reported. A deprecated memory stays and says why and by what it was superseded; a forgotten one leaves a
tombstone.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import msgspec
from msgspec.structs import replace

from ...core.base.lazy import regex
from ...core.base.values import Progress, Value, count, texts
from ...core.features.checks import PERSON
from ...core.memories import curation, model as mem
from ...core.memories.curation import Junk, Pair
from ...core.memories.dates import moment_of
from ...core.memories.model import Memory, MemoryAudit, MemoryFilter, MemoryReader, Provenance
from ...effects.clock import days_between, moment, now
from ...errors import BadImport, SegueError, StaleVersion, UnknownSession, UsageError
from ...stores.memory_changes import MemoryChange, StoredMemory
from .service import MemoryService, Remembered, searched_text

FORMAT = "segue-memories"
KEEP_RECENT = 50
NEVER_RECALLED_DAYS = 30
DECAY_THRESHOLD = 0.1
COMPARED_MAX = 8
"""How many of the nearest memories one is compared with."""
MEANING_AUDIT_MAX, AUDIT_NEAREST = 200, 5
"""How many memories an audit compares by meaning, the newest first, and with how many of the nearest."""
SUMMARY_BYTES_MAX = 16_000
"""Of the memories in one summary, so that a search finds each word of it."""
_RETRIES = 8
_FIELDS = (
    "content", "type", "scope", "metadata", "session", "shared_with", "expires", "valid_from", "valid_to",
    "error_pattern", "correct_approach", "trust",
)  # fmt: skip
_IDENTITY = ("agent", "session", "user", "namespace")
_PROVENANCE = ("actor", "run", "file", "commit", "source")
_ID = regex(r"m[0-9a-f]{1,32}")


class Compared(Value):
    """The memories that another one may repeat or contradict; each pair begins with that one."""

    duplicates: list[Pair]
    contradictions: list[Pair]


class ComparedMemory(Remembered):
    """What was remembered, with the memories that it may repeat or contradict; none if it was known."""

    duplicates: list[Pair] = []
    contradictions: list[Pair] = []


class Pruned(Value):
    """The result of a prune: how many memories were kept, and which ones were summarised."""

    kept: int
    summarised: int
    summary: str = ""
    """The id of the first summary; empty if there was nothing to do, or in a dry run."""
    summaries: tuple[str, ...] = ()
    """What the summaries say, or would say in a dry run: one for each audience."""
    gone: tuple[str, ...] = ()
    """The ids of the summarised memories, which stay as deprecated ones."""
    dry_run: bool = False


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
        names = texts(values["shared_with"])
        values["shared_with"] = tuple(service._text(name, "agent", 256) for name in names)
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
    """The trust of a changed memory: an agent cannot raise it, and what it rewords is the agent's."""
    wanted = values.get("trust", memory.trust)
    if wanted not in mem.TRUSTS or service.who == PERSON:
        return str(wanted)
    own = memory.trust if values.get("content", memory.content) == memory.content else "agent"
    return max(str(wanted), own, memory.trust, key=mem.TRUSTS.index)


def updated(
    service: MemoryService, id: str, reason: str, fields: Mapping[str, Any], identity: Mapping[str, str]
) -> Memory:
    """Change fields of a memory. Raises UsageError for a field that cannot be changed, or if another memory
    already says the same to the same readers."""
    service.pause_file.check()
    for attempt in range(_RETRIES):
        memory = service.get(id, **identity)
        changed = _changed(service, memory, fields)
        if changed is memory:
            return memory
        trail = [service.trace(changed, "update", reason)]
        change = MemoryChange(puts=service.stored([changed]), trail=trail)
        try:
            service.store.write(change)
            return changed
        except StaleVersion as stale:
            if stale.expected == stale.actual:  # not a concurrent write: the new text exists already
                raise UsageError(
                    "another memory already says this to the same readers",
                    hint=f"`segue recall` finds it; {memory.id} was left unchanged",
                ) from None
            if attempt == _RETRIES - 1:
                raise
    raise AssertionError("unreachable")


def delta(service: MemoryService, operations: Sequence[Mapping[str, Any]], **identity: str) -> list[str]:
    """Add, update and deprecate memories, all or none. Returns the ids in the order of the operations."""
    service.pause_file.check()
    adds: list[Memory] = []
    puts: dict[str, Memory] = {}
    trail: list[MemoryAudit] = []
    results: list[tuple[str, int]] = []
    for operation in operations:
        kind = str(operation.get("type", ""))
        why = str(operation.get("deprecation_reason") or operation.get("reason") or "")
        reason = service._text(why, "reason", 4_096)
        if kind == "add":
            memory = _drafted(service, operation)
            results.append(("", len(adds)))
            adds.append(memory)
            trail.append(service.trace(memory, "add", reason))
            continue
        if kind not in ("update", "deprecate"):
            raise UsageError(f"unknown operation: {kind[:40]!r}", hint="add, update or deprecate")
        memory = service.get(str(operation.get("memory_id", "")), **identity)
        memory = puts.get(memory.id, memory)
        puts[memory.id] = _operated(service, memory, kind, operation, reason)
        results.append((memory.id, -1))
        trail.append(service.trace(memory, kind, reason))
    changed = [replace(one, revision=service.get(id, **identity).revision + 1) for id, one in puts.items()]
    ids = service.store.write(MemoryChange(service.stored(adds), service.stored(changed), trail=trail))
    return [id or ids[index] for id, index in results]


def _drafted(service: MemoryService, operation: Mapping[str, Any]) -> Memory:
    own = ("type", "memory_type", "reason")
    fields = {name: value for name, value in operation.items() if name not in own and value is not None}
    try:
        return service.draft(type=str(operation.get("memory_type") or "standard"), **fields)
    except TypeError as fault:
        raise UsageError(
            f"this memory cannot be added: {fault}", hint="it may have content, scope, metadata and so on"
        ) from fault


def _operated(
    service: MemoryService, memory: Memory, kind: str, operation: Mapping[str, Any], reason: str
) -> Memory:
    if kind == "deprecate":
        by = str(operation.get("superseded_by") or "")
        at = now()
        return replace(
            memory, deprecated=memory.deprecated or at, superseded_by=by, reason=reason, updated=at
        )
    fields = {name: operation[name] for name in _FIELDS if name in operation and name != "type"}
    if operation.get("memory_type"):
        fields["type"] = operation["memory_type"]
    if operation.get("metadata_patch"):
        fields["metadata"] = {**memory.metadata, **dict(operation["metadata_patch"])}
    return _changed(service, memory, fields)


def forget(service: MemoryService, id: str, reason: str, **identity: str) -> Memory:
    """Erase the content of a memory. A tombstone stays."""
    service.pause_file.check()
    memory = service.get(id, **identity)
    if memory.forgotten:
        return memory
    stone = mem.tombstone(memory, now(), service._text(reason, "reason", 4_096))
    trail = [service.trace(stone, "forget", stone.reason)]
    service.store.write(MemoryChange(puts=[StoredMemory(stone)], trail=trail))
    service.store.compact()
    return stone


def deprecated(
    service: MemoryService, *, session: str = "", types: Sequence[str] = (), limit: int = 50, **identity: str
) -> list[Memory]:
    """Memories that no longer count: pruned, decayed, replaced. Each says why, and by what."""
    where = MemoryFilter(types=tuple(types), sessions=(session,) if session else (), dead=True)
    reader = service.reader(session=session, **identity)
    found = [
        one for one in service.store.listing(reader, where, now()) if one.deprecated and not one.forgotten
    ]
    return sorted(found, key=lambda one: (one.deprecated, one.created), reverse=True)[:limit]


def prune(
    service: MemoryService, session: str, *, keep: int = KEEP_RECENT, dry_run: bool = False,
    condense: Callable[[Sequence[Memory]], str] | None = None, **identity: str,
) -> Pruned:  # fmt: skip
    """Keep a session's newest memories; the others are deprecated and replaced by a summary for each
    audience, in which nothing that differs is left out. With ``dry_run`` nothing is changed.

    ``condense`` may add lines to a summary, but cannot remove any. Raises UnknownSession if the session has
    no memories that the reader can see."""
    if not dry_run:
        service.pause_file.check()
    if keep < 0:
        raise UsageError("a prune cannot keep fewer than 0 memories", hint="give --keep 0 or more")
    reader = service.reader(session=session, **identity)
    if not service.store.listing(reader, MemoryFilter(sessions=(session,), dead=True), now(), 1):
        raise UnknownSession(
            f"there are no memories of a session {session[:60]!r}",
            hint="see `segue list`",
        )
    memories = service.store.listing(reader, MemoryFilter(sessions=(session,)), now())
    memories = [memory for memory in memories if memory.type != "history-summary"]
    old = memories[keep:]
    groups: dict[mem.Audience, list[Memory]] = {}
    for memory in reversed(old):
        groups.setdefault(mem.audience_of(memory), []).append(memory)
    summaries = [
        (_summary(service, part, session, condense(part) if condense and not dry_run else ""), part)
        for group in groups.values()
        for part in _parts(group)
    ]
    ids: list[str] = [] if dry_run else _replace_by(service, session, summaries)
    return Pruned(
        len(memories) - len(old), len(old), ids[0] if ids else "",
        tuple(summary.content for summary, _ in summaries), tuple(memory.id for memory in old), dry_run,
    )  # fmt: skip


def _parts(group: Sequence[Memory]) -> list[list[Memory]]:
    """Memories in parts, each of which has a summary within the size of a memory."""
    parts: list[list[Memory]] = [[]]
    size = 0
    for memory in group:
        size += len(memory.content.encode()) + 16
        if parts[-1] and size > SUMMARY_BYTES_MAX:
            parts.append([])
            size = len(memory.content.encode()) + 16
        parts[-1].append(memory)
    return parts


def _replace_by(
    service: MemoryService, session: str, summaries: Sequence[tuple[Memory, Sequence[Memory]]]
) -> list[str]:
    """Store summaries and deprecate what each summarises. Returns the ids of the summaries."""
    adds, puts, trail = [], [], []
    for summary, group in summaries:
        adds.append(summary)
        many = count(len(group), "memory", "memories")
        trail.append(service.trace(summary, "summarise", f"{many} of session {session}"))
        for memory in group:
            puts.append(_superseded(memory, summary.id, "summarised"))
            trail.append(service.trace(memory, "deprecate", f"summarised by {summary.id}"))
    if not adds:
        return []
    return service.store.write(MemoryChange(service.stored(adds), service.stored(puts), trail=trail))


def _summary(service: MemoryService, group: Sequence[Memory], session: str, extra: str = "") -> Memory:
    """A summary of memories of one audience, trusted no more than the least trusted of them."""
    plain = [memory for memory in group if mem.may_restore(memory)]
    base = group[-1]
    trust = max((memory.trust for memory in group), key=mem.TRUSTS.index)
    return service.draft(
        f"{curation.summary(plain or group)}\n{extra}".strip(), type="history-summary", scope=base.scope,
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
    service: MemoryService, *, threshold: float = DECAY_THRESHOLD, dry_run: bool = False, **identity: str
) -> list[str]:
    """Deprecate memories of little worth, by age, votes and use, but not the user's. Returns their ids."""
    if not dry_run:
        service.pause_file.check()
    at = now()
    decayed = []
    for memory in service.store.listing(service.reader(**identity), MemoryFilter(), at):
        age = days_between(memory.recalled_at or memory.created, at)
        if memory.trust != "user" and mem.worth(memory, age) < threshold:
            decayed.append(
                replace(memory, deprecated=at, reason="decayed", updated=at, revision=memory.revision + 1)
            )
    if decayed and not dry_run:
        trail = [service.trace(memory, "deprecate", "decayed") for memory in decayed]
        service.store.write(MemoryChange(puts=service.stored(decayed), trail=trail))
    return [memory.id for memory in decayed]


def audit(service: MemoryService, **identity: str) -> Junk:
    """Which memories could go or need attention. The newest are compared with all by meaning, too. Nothing is
    changed."""
    at, reader = now(), service.reader(**identity)
    live = service.store.listing(reader, MemoryFilter(), at)
    old = moment(-86_400 * NEVER_RECALLED_DAYS)
    expired = [
        memory.id
        for memory in service.store.listing(reader, MemoryFilter(dead=True), at)
        if memory.live and not mem.is_valid(memory, at)
    ]
    same, against = curation.pairs(live, _near_pairs(service, reader, live[:MEANING_AUDIT_MAX]))
    return Junk(
        total=len(live), duplicates=same, contradictions=against,
        never_recalled=[m.id for m in live if not m.recalled and m.created < old and m.trust != "user"],
        harmful=[m.id for m in live if m.effectiveness < -0.3],
        expired=expired, flagged=[m.id for m in live if not mem.may_restore(m)],
    )  # fmt: skip


def remember(service: MemoryService, content: str, **about: Any) -> ComparedMemory:
    """Keep one memory, and say which others it may repeat or contradict: the one way in which every surface
    remembers. ``about`` takes the arguments of ``MemoryService.draft``."""
    [kept] = service.remember_many([{"content": content, **about}])
    found = Compared([], [])
    if not kept.known:
        identity = {name: about.get(name) or "" for name in _IDENTITY}
        with suppress(SegueError, OSError):  # it is kept already
            found = compared(service, kept.id, **identity)
    return ComparedMemory(kept.id, kept.known, kept.flags, found.duplicates, found.contradictions)


def compared(service: MemoryService, id: str, **identity: str) -> Compared:
    """Which memories say nearly the same as this one, or may contradict it, for the same audience: among the
    nearest by meaning if the embedder is ready and knows meanings, else among those with its words."""
    memory, reader = service.get(id, **identity), service.reader(**identity)
    text = searched_text(memory)
    near = service.nearest([text], reader, COMPARED_MAX)[0]
    others = near or [(other, 0.0) for other in service.with_words(text, top_k=COMPARED_MAX, reader=reader)]
    found = Compared([], [])
    for other, cosine in others:
        if other.id == memory.id or mem.audience_of(other) != mem.audience_of(memory):
            continue
        verdict = curation.compare(memory.content, other.content, cosine)
        if verdict is not None:
            pair = Pair(memory.id, other.id, verdict.why, verdict.likeness)
            (found.contradictions if verdict.contradicts else found.duplicates).append(pair)
    return found


def _near_pairs(
    service: MemoryService, reader: MemoryReader, memories: Sequence[Memory]
) -> dict[tuple[str, str], float]:
    """The cosines of these memories and the few that are nearest to each, by the ids of both."""
    nearest = service.nearest([searched_text(memory) for memory in memories], reader, AUDIT_NEAREST)
    return {
        (memory.id, other.id): cosine
        for memory, others in zip(memories, nearest, strict=True)
        for other, cosine in others
        if other.id != memory.id and cosine >= curation.SAME_SUBJECT
    }


def consolidate(service: MemoryService, *, dry_run: bool = True, **identity: str) -> list[Pair]:
    """The pairs of near duplicates. Unless it is a dry run, the older of each pair is deprecated in favour of
    the newer. Memories that may contradict each other are never among them, nor those that only seem to mean
    the same: vectors are too little to merge by."""
    if not dry_run:
        service.pause_file.check()
    reader = service.reader(**identity)
    live = {memory.id: memory for memory in service.store.listing(reader, MemoryFilter(), now())}
    duplicates, gone, puts = curation.pairs(list(live.values()))[0], set(), []
    for pair in duplicates:
        if pair.one in gone or pair.other in gone:
            continue
        both = (live[pair.one], live[pair.other])
        newer, older = sorted(both, key=lambda m: (m.created, m.id), reverse=True)
        gone.add(older.id)
        puts.append(_superseded(older, newer.id, "says nearly the same"))
    if puts and not dry_run:
        trail = [service.trace(m, "deprecate", f"consolidated into {m.superseded_by}") for m in puts]
        service.store.write(MemoryChange(puts=service.stored(puts), trail=trail))
    return duplicates


def reembed(
    service: MemoryService, *, progress: Progress | None = None, batch: int = 32, **identity: str
) -> int:
    """Give every memory a vector of the embedder in use. Returns how many of those the reader may see."""
    service.pause_file.check()
    reader, visible = service.reader(**identity), 0
    while embedded := service.embed_some(batch):
        visible += sum(mem.may_read(reader, mem.audience_of(memory)) for memory in embedded)
        if progress:
            progress(visible, visible, service.embedder.name)
    return visible


def export(service: MemoryService, **identity: str) -> bytes:
    """The memories that the reader may see as JSON lines, after a header line that names the format."""
    memories = service.store.listing(service.reader(**identity), MemoryFilter(dead=True), now())
    return as_lines(memories) + b"\n"


def as_lines(memories: Sequence[Memory]) -> bytes:
    """Memories, given the newest first, as the lines of an export."""
    head = msgspec.json.encode({"format": FORMAT, "version": 1, "memories": len(memories)})
    return b"\n".join([head, *map(msgspec.json.encode, reversed(memories))])


def import_(
    service: MemoryService, data: bytes, *, keep_trust: bool = False,
    allow: Callable[[str], object] | None = None,
) -> tuple[int, int]:  # fmt: skip
    """Import an export, all or nothing. Returns how many memories were new and how many were known already.

    They are trusted as imported unless ``keep_trust`` is set. ``allow`` is called with the agent of each
    memory and raises if that agent's memories may not be imported. Raises BadImport for other data."""
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
    fresh = _not_stored_yet(service, ready)
    trail = [service.trace(memory, "import") for memory in fresh]
    ids = service.store.write(MemoryChange(adds=service.stored(fresh), trail=trail)) if fresh else []
    new = sum(id == memory.id for id, memory in zip(ids, fresh, strict=True))
    return new, len(ready) - new


def _not_stored_yet(service: MemoryService, memories: Sequence[Memory]) -> list[Memory]:
    """Those whose id is not stored with the same content or as deprecated or forgotten. One whose id belongs
    to a different memory gets a new id: a store silently keeps what it has under an id."""
    ids_of: dict[MemoryReader, list[str]] = {}
    for memory in memories:
        reader = MemoryReader(
            memory.agent, memory.namespace, memory.user, (memory.session,), (memory.project,),
            memory.organization,
        )  # fmt: skip
        ids_of.setdefault(reader, []).append(memory.id)
    stored = {
        memory.id: memory
        for reader, ids in ids_of.items()
        for memory in service.store.get(list(dict.fromkeys(ids)), reader)
    }
    fresh: list[Memory] = []
    taken = set(stored)
    for memory in memories:
        known = stored.get(memory.id)
        if known is not None and (known.content == memory.content or not known.live):
            continue
        fresh.append(replace(memory, id=f"m{os.urandom(6).hex()}") if memory.id in taken else memory)
        taken.add(memory.id)
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
