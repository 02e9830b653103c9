"""Memories in a recovery: brought back from whatever holds them, and the last rung of the ladder.

A memory is taken from the damaged file, its log and the backups, in its newest revision; a tombstone wins
over what it stands for. Where a session's own events are gone everywhere, the memories that it is named in
tell its goal, what was done, what is next and what was decided. The session then says of itself that it was
reconstructed; nothing else is made up.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from ...._files import copy_file
from ....core.base.lazy import regex
from ....core.base.text import clean_name
from ....core.base.values import Value, count
from ....core.memories.model import SESSION_TYPES, Audience, Memory, audience_of, hash_of
from ....core.memories.words import words
from ....core.sessions import commands as do
from ....core.sessions.commands import Command
from ....core.sessions.feature_commands import AddFeature
from ....effects.clock import now
from ....errors import BadName, SegueError
from ....stores.memory_changes import MemoryChange, StoredMemory
from ....stores.sqlite import SqliteStore
from ....stores.sqlite.salvage import salvage
from ...memories.service import searched_text
from ...workspace.data_folder import DataFolder
from .lost_state import LostSession, SourceWords, shortened
from .result import Rung

WORDS = SourceWords(
    "memories", Rung("memories", "none", "no session is known from memories alone"),
    "the memories say nothing about", "reconstructed from memories",
)  # fmt: skip


def gathered(places: Iterable[Path]) -> list[Memory]:
    """Every memory that these files still hold, each in its newest revision, oldest first."""
    found: dict[str, Memory] = {}
    for place in places:
        for memory in (*_readable(place), *_carved(place)):
            there = found.get(memory.id)
            if there is None or memory.revision > there.revision:
                found[memory.id] = memory
    return sorted(found.values(), key=lambda memory: (memory.created, memory.id))


def _readable(place: Path) -> list[Memory]:
    """As SQLite gives them, with votes and recalls; none if it does not. Of a copy: looking must not change
    a backup or a damaged file, and opening a store may."""
    if not place.exists():
        return []
    with tempfile.TemporaryDirectory(prefix="segue-look-") as folder:
        copy = Path(folder) / "segue.db"
        try:
            copy_file(place, copy)
            log = place.with_name(f"{place.name}-wal")
            if log.exists():
                copy_file(log, copy.with_name(f"{copy.name}-wal"))
            with contextlib.closing(SqliteStore(copy)) as journal:
                return [kept.memory for kept in journal.memories.intact()]
        except (SegueError, OSError):
            return []


def _carved(place: Path) -> list[Memory]:
    found = []
    for body in salvage(place).memories:
        with contextlib.suppress(msgspec.MsgspecError, UnicodeDecodeError):
            found.append(msgspec.json.decode(body, type=Memory))
    return found


def put_back(path: Path, memories: Sequence[Memory]) -> None:
    """Keep these in a store that was made anew; vectors are made when they are needed."""
    if not memories:
        return
    with contextlib.closing(SqliteStore(path)) as journal:
        journal.memories.write(MemoryChange(adds=[with_words(memory) for memory in memories]))
        if journal.database.journal_mode == "wal":
            journal.database.connection().execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def with_words(memory: Memory) -> StoredMemory:
    """A memory as a store takes it in, with the words that it is found by."""
    return StoredMemory(memory, " ".join(words(searched_text(memory)[:20_000])) if memory.live else "")


def scrubbed(kept: Iterable[StoredMemory], clean: Callable[[Any], Any]) -> list[StoredMemory]:
    """Those that hold a text, without it, as puts; names of agents, sessions and projects stay.

    The same words are kept once: one that now says what another one says lives on in that one.
    """
    changed: list[Memory] = []
    saying: dict[tuple[Audience, bytes], str] = {}
    for one in kept:
        cleaned = _cleaned(one.memory, clean)
        if cleaned != one.memory:
            changed.append(cleaned)
        elif cleaned.live:
            saying[audience_of(cleaned), hash_of(cleaned)] = cleaned.id
    found = []
    for memory in changed:
        if memory.live:
            other = saying.setdefault((audience_of(memory), hash_of(memory)), memory.id)
            if other != memory.id:
                reason = "says the same as another one, since a text was erased"
                memory = replace(memory, deprecated=now(), superseded_by=other, reason=reason)
        found.append(with_words(memory))
    return found


def _cleaned(memory: Memory, clean: Callable[[Any], Any]) -> Memory:
    """The memory without a text, one revision later; the memory itself if it does not hold it."""
    names = ("content", "reason", "error_pattern", "correct_approach", "metadata")
    fields = {name: clean(getattr(memory, name)) for name in names}
    source = memory.provenance
    said_of = {name: clean(getattr(source, name)) for name in ("file", "commit", "source")}
    changed = replace(memory, provenance=replace(source, **said_of), **fields)
    if changed == memory:
        return memory
    content = "" if memory.forgotten else changed.content or "[scrubbed]"
    return replace(changed, revision=memory.revision + 1, content=content)


def lost_sessions(home: DataFolder, path: Path, there: Collection[str]) -> list[LostSession]:
    """Sessions that memories tell of and that are nowhere else."""
    by_session: dict[str, list[Memory]] = {}
    for memory in _readable(path):
        if memory.session and memory.session not in there and not memory.forgotten:
            by_session.setdefault(memory.session, []).append(memory)
    found = []
    for session, memories in by_session.items():
        with contextlib.suppress(BadName):
            telling = any(type_of(memory.type, memory.metadata) in SESSION_TYPES for memory in memories)
            if telling and not home.archived(session).is_file():
                ordered = sorted(memories, key=lambda m: (m.created, m.id))
                reason = "what was declared is lost; the rest comes from memories"
                found.append(LostSession(session, _commands(session, ordered), reason))
    return found


def sessions_named(path: Path) -> frozenset[str]:
    """Sessions that the memories of a store name."""
    return frozenset(memory.session for memory in _readable(path))


class Told(Value):
    """What a session's memories tell of it, in their order."""

    goal: str = ""
    items: tuple[str, ...] = ()
    done: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    decisions: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()
    criteria: tuple[tuple[str, str, tuple[str, ...]], ...] = ()
    """Features: id, description and steps."""


def type_of(type: str, metadata: Mapping[str, Any]) -> str:
    """The type of a memory; programs of the recipe write some of them into the metadata only."""
    named = metadata.get("type")
    return named.replace("_", "-") if type == "standard" and isinstance(named, str) else type


def told_by(told: Told, type: str, content: str, metadata: Mapping[str, Any]) -> Told:
    """What was told so far and by one more memory."""
    text = shortened(content)
    item = shortened(str(metadata.get("item") or metadata.get("task") or _task_in(content)))
    match type_of(type, metadata):
        case "session-init":
            return _begun(told, content, metadata)
        case "task-result" if item:
            return replace(told, done=_more(told.done, item))
        case "task-failure" if item:
            return replace(told, items=_more(told.items, item), failed=(*told.failed, f"{item}: {text}"))
        case "decision" if text:
            return replace(told, decisions=_more(told.decisions, text))
        case "task-result" | "task-failure":
            return told
        case _:
            return replace(told, findings=(*told.findings, text)) if text else told


_TASK = regex(r"Task '(.{1,300}?)' (?:failed|result)\b")


def _task_in(content: str) -> str:
    """The task that a memory is about by its words: the recipe gives a failure no metadata."""
    named = _TASK.match(content)
    return named[1] if named else ""


def _more(texts: tuple[str, ...], text: str) -> tuple[str, ...]:
    return texts if text in texts else (*texts, text)


def _begun(told: Told, content: str, metadata: Mapping[str, Any]) -> Told:
    """A session's first memory: goal and plan are in the metadata, or in lines, as the recipe writes them."""
    lines = dict(line.partition(": ")[::2] for line in content.splitlines())
    goal = shortened(str(metadata.get("goal") or lines.get("Session goal") or content))
    items = metadata.get("items") or _listed(lines.get("Subtasks", ""))
    planned = [shortened(str(item)) for item in items if str(item).strip()]
    criteria = []
    for one in _listed(lines.get("Success criteria", "")):
        if isinstance(one, dict) and isinstance(one.get("id"), str):
            steps = one.get("test_steps")
            steps = tuple(map(str, steps)) if isinstance(steps, list) else ()
            criteria.append((one["id"], str(one.get("description") or one["id"]), steps))
    return replace(
        told, goal=told.goal or goal, items=tuple(dict.fromkeys((*told.items, *planned))),
        criteria=(*told.criteria, *criteria),
    )  # fmt: skip


def _listed(text: str) -> list[Any]:
    with contextlib.suppress(msgspec.MsgspecError):
        found = msgspec.json.decode(text or "[]")
        return found if isinstance(found, list) else []
    return []


def _commands(session: str, memories: Sequence[Memory]) -> list[Command]:
    """The session as commands: goal, plan, decisions, findings, summary, and where it all comes from."""
    first, told = memories[0], Told()
    for memory in memories:
        told = told_by(told, memory.type, memory.content, memory.metadata)
    goal = told.goal or shortened(first.content) or f"session {session}"
    organization, project = first.organization or "personal", first.project or "unknown"
    wishes: list[Command] = [do.Create(session, goal, organization, project)]
    wishes += [do.Add(item) for item in told.items]
    wishes += [do.Done(item, new=True) for item in told.done]
    wishes += [do.Fail(text) for text in told.failed]
    wishes += [do.Decide(text) for text in told.decisions]
    wishes += [do.Learn(text) for text in told.findings]
    for id, description, steps in told.criteria:
        with contextlib.suppress(BadName):
            wishes.append(AddFeature(clean_name(id), description, steps=steps))
    source = count(len(memories), "memory", "memories")
    wishes.append(do.Describe(summary=f"reconstructed from {source}; what was declared is lost"))
    wishes.append(do.Note(f"reconstructed from {source}, the newest of {memories[-1].created[:16]}"))
    return wishes
