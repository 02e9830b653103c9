"""Erasing a text from everything that Segue keeps: journal, pieces, runs, backups, archive, files.

An event keeps its place and its hash; its body is rewritten, and an event at the end of the
stream records which bodies changed and what their hashes are now: the chain still verifies,
and an unrecorded change still shows. Pieces and foreign files are overwritten byte for byte,
so that nothing moves. Afterwards the files are compacted: deleted bytes are gone too.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from ..._files import read_bytes
from ...core import event_kinds as ev
from ...core.base import canonical
from ...core.base.values import Progress, Value, counted
from ...core.runs.shared_copies import PREFIX
from ...core.sessions.fold import fold
from ...core.sessions.state import SessionState
from ...effects.clock import now
from ...effects.files.atomic import write_whole
from ...effects.files.check_outputs import Outputs
from ...effects.files.maintenance import maintaining
from ...errors import BadImport, DamagedError, SegueError, StaleVersion, UsageError
from ...stores.base import Append, Journal, Memories, ProjectFacts, Rewrite, RunRow, Runs
from ...stores.memory.store import VolatileRuns
from ...stores.memory_changes import MemoryChange, MemoryWithHistory
from ...stores.sqlite import SqliteStore
from ...stores.sqlite.upkeep import compact
from ..habits.rows import HABITS, TRACE, TRAIL, WORDS
from ..memories.service import memories_of
from ..resume import emergency
from ..runs import cursor
from ..runs.observed import runs_of
from ..runs.remembered_runs import forget_runs
from ..runs.run import Run, facts_of, row_of
from ..runs.shared_copies import scrub_pieces
from ..sessions.repository import stream_of
from ..workspace.workspace import Workspace
from .archive_places import Content, SharedPlace, places_of

SCRUBBED = "[scrubbed]"
LENGTH_MIN = 4
RETRY_SECONDS = 60.0
"""How long a scrub tries again while somebody writes to a session that holds the text."""


class Scrubbed(Value):
    """What a scrub found, and unless it was a dry run, erased."""

    events: int
    pieces: int
    files: list[str]
    """Backups, archives and other files that held the text."""
    sessions: list[str]
    stays: list[str] = []
    """Where the text cannot be erased: ids, and names of actors and runs."""
    runs: int = 0
    """Runs whose digest or whose copy in the archive held it."""
    originals: list[str] = []
    """Transcripts of agents that hold it: not ours to change."""
    memories: int = 0
    beyond: list[str] = []
    """Where it may be that is not ours to reach: of a server."""


def scrub(
    workspace: Workspace, text: str, *, dry_run: bool = False, progress: Progress | None = None
) -> Scrubbed:
    """Erase a text wherever it is kept."""
    if len(text) < LENGTH_MIN:
        raise UsageError(
            f"a text of under {LENGTH_MIN} characters", hint="give the whole text that must be erased"
        )
    if dry_run:
        return _scrub(workspace, text, True, progress)
    workspace.pause_file.check()
    with maintaining(workspace.home.database, "segue scrub", journal=workspace.store):
        return _scrub(workspace, text, False, progress)


def _scrub(workspace: Workspace, text: str, dry_run: bool, progress: Progress | None) -> Scrubbed:
    events, pieces, sessions = scrub_journal(workspace.store, text, workspace.repository.actor, dry_run)
    runs = scrub_runs(runs_of(workspace).runs, text, dry_run)
    memories = scrub_memories(memories_of(workspace).store, text, dry_run)
    counted_facts = scrub_project_facts(workspace.store.project_facts, text, dry_run)
    hit = scrub_archives(workspace, text, dry_run)
    found_any = bool(events or pieces or runs or memories or counted_facts or hit)
    workspace.forget()
    if not dry_run:
        _compact(workspace, found_any)
        workspace.forget_last_seen()
    files = [path for path in _files(workspace) if path.is_file()]
    for path in counted(files, progress, lambda path: path.name):
        whole_backup = path.parent == workspace.home.backups and path.name.startswith("segue-")
        scrubbed = _scrub_backup if whole_backup else _scrub_file
        if scrubbed(path, text, workspace.repository.actor, dry_run):
            hit.append(str(path))
    hit += Outputs(workspace.home.evidence).rewrite(partial(mask_all, text=text), dry_run=dry_run)
    runs |= set(runs_of(workspace).archive.rewrite(partial(mask_all, text=text), dry_run=dry_run))
    if not dry_run:
        runs_of(workspace).search_index.delete()  # it is made anew of what is left
        for path in workspace.home.maps.glob("*.db*"):  # and so are they
            path.unlink(missing_ok=True)
        forget_runs(workspace)
    originals = [path for path in runs_of(workspace).runs.known() if _holds(path, text)]
    stays = _stays(workspace.store, text)
    server = "the server's write-ahead log, replicas and backups, until they are recycled"
    beyond = [server] if workspace.home.shared_store and found_any else []
    return Scrubbed(events, pieces, hit, sessions, stays, len(runs), sorted(originals), memories, beyond)


def _compact(workspace: Workspace, found_any: bool) -> None:
    if isinstance(workspace.store, SqliteStore):
        compact(workspace.store.database)
    elif workspace.home.shared_store and found_any:
        from ...stores.postgres import PostgresStore
        from ...stores.postgres.upkeep import compact as compact_server

        if isinstance(workspace.store, PostgresStore):
            compact_server(workspace.store.database)


def _stays(journal: Journal, text: str) -> list[str]:
    """Ids and headers that hold the text: they name things, and the chain is made of them."""
    found: set[str] = set()
    for stream, _ in journal.streams():
        if text in stream:
            found.add(stream)
        for event in journal.read(stream):
            found |= {f"{stream}: {name}" for name in (event.actor, event.run, event.kind) if text in name}
    return sorted(found)


def scrub_journal(journal: Journal, text: str, actor: str, dry_run: bool) -> tuple[int, int, list[str]]:
    """Erase a text from one journal: (events rewritten, pieces masked, sessions touched)."""
    seen: dict[str, _Found] = {}
    deadline = time.monotonic() + RETRY_SECONDS
    while True:
        for stream, version in journal.streams():
            if stream not in seen or seen[stream].version != version:
                seen[stream] = _found_in(journal, stream, text, dry_run, seen.get(stream))
        rewrites = [rewrite for one in seen.values() for rewrite in one.rewrites]
        pieces = {address: body for one in seen.values() for address, body in one.pieces.items()}
        if dry_run or not (rewrites or pieces):
            break
        try:
            journal.erase(rewrites, pieces, *(_record(one, actor) for one in seen.values() if one.rewrites))
            break
        except StaleVersion:  # somebody works there: look at what is new, and no more
            if time.monotonic() > deadline:
                raise
    copies = sum(one.copies for one in seen.values())
    names = {rewrite.stream for rewrite in rewrites}
    sessions = sorted(name.removeprefix("session/") for name in names if name.startswith("session/"))
    return len(rewrites), len(pieces) + copies, sessions


class _Found(Value):
    """What of a stream holds the text."""

    version: int
    rewrites: list[Rewrite]
    pieces: dict[str, bytes]
    copies: int


def _found_in(journal: Journal, stream: str, text: str, dry_run: bool, before: _Found | None) -> _Found:
    events = journal.read(stream)
    mine = [Rewrite(stream, e.version, body) for e in events if (body := _without(e, text)) != e.body]
    pieces, copies = dict[str, bytes](), before.copies if before is not None else 0
    if stream.startswith("session/"):
        pieces = _pieces_with(journal, events, text)
    elif stream.startswith(PREFIX):
        copies += scrub_pieces(journal, stream, partial(mask_all, text=text), dry_run=dry_run)
    return _Found(events[-1].version if events else 0, mine, pieces, copies)


def _record(found: _Found, actor: str) -> Append:
    """What is appended to a stream of which bodies are rewritten."""
    hashes = [canonical.digest(rewrite.body).hex() for rewrite in found.rewrites]
    record = ev.Erased([rewrite.version for rewrite in found.rewrites], hashes)
    return Append(found.rewrites[0].stream, found.version, [ev.draft(record, at=now(), actor=actor)])


_FIELDS = set(SessionState.__struct_fields__).union(*(one.__struct_fields__ for one in ev.BODIES.values()))
_NAMING = {ev.Created.KIND: "id", ev.TreeCurrent.KIND: "session"}
"""Fields that name a session: without them it could not be found."""


def _without(event: ev.Event, text: str) -> bytes:
    try:
        value = canonical.decode(event.body)
    except ValueError:
        return event.body.replace(text.encode(errors="surrogatepass"), b"*" * len(text.encode()))
    cleaned = _replace(value, text)
    naming = _NAMING.get(event.kind)
    if naming and isinstance(value, dict):
        cleaned[naming] = value.get(naming)
    return event.body if cleaned == value else canonical.encode(cleaned)


def _mask(text: str) -> str:
    """What stands there instead; it must not hold the text itself."""
    return "***" if text in SCRUBBED else SCRUBBED


def _replace(value: Any, text: str) -> Any:
    if isinstance(value, str):
        return value.replace(text, _mask(text))
    if isinstance(value, list):
        return [_replace(child, text) for child in value]
    if isinstance(value, dict):
        names = {name: name if name in _FIELDS else name.replace(text, _mask(text)) for name in value}
        return {names[name]: _replace(child, text) for name, child in value.items()}
    return value


def _pieces_with(journal: Journal, events: list[ev.Event], text: str) -> dict[str, bytes]:
    """Pieces of every saved state that hold the text, or a part of it across a cut, masked."""
    needle = text.encode(errors="surrogatepass")
    masked: dict[str, bytes] = {}
    seen: set[tuple[str, ...]] = set()
    state = SessionState()
    for event in events:
        state = fold(state, event)
        for agent in state.agents.values():
            if agent.pieces in seen:
                continue
            seen.add(agent.pieces)
            have = journal.pieces(agent.pieces)
            bodies = [masked.get(a, have.get(a, b"")) for a in agent.pieces]
            joined = b"".join(bodies)
            if needle in joined:
                _mask_pieces(joined.replace(needle, b"*" * len(needle)), agent.pieces, bodies, masked)
    return masked


def _mask_pieces(
    joined: bytes, addresses: tuple[str, ...], bodies: list[bytes], masked: dict[str, bytes]
) -> None:
    at = 0
    for address, body in zip(addresses, bodies, strict=True):
        new = joined[at : at + len(body)]
        if new != body:
            masked[address] = new
        at += len(body)


def scrub_runs(runs: Runs, text: str, dry_run: bool) -> set[str]:
    """Erase a text from what is kept of runs; the keys of those that held it. Names stay."""
    changed: list[RunRow] = []
    for listed in runs.rows():
        row, facts = runs.get(listed.key), facts_of(listed)
        if row is None:
            continue
        reading = cursor.masked(row.reading or b"", partial(mask_all, text=text))
        masked = {} if facts is None else _masked_words(facts.run, text)
        if facts is not None and masked:
            facts.run = replace(facts.run, **masked)
            changed.append(row_of(facts.run, facts.stamp, reading, facts.usage, unsaid=facts.unsaid))
        elif reading != row.reading:
            changed.append(replace(row, reading=reading))
    if changed and not dry_run:
        runs.put(changed)
    return {row.key for row in changed}


def _masked_words(run: Run, text: str) -> dict[str, str]:
    """What the user said in a run, as far as it is kept beside its digest and holds the text, masked."""
    said = {"goal": run.goal, "opening": run.opening}
    return {name: words.replace(text, "*" * len(text)) for name, words in said.items() if text in words}


def scrub_archives(workspace: Workspace, text: str, dry_run: bool) -> list[str]:
    """Erase a text from archives of sessions, but for those files of sessions that are scrubbed as such; the
    names of those that held it. One that is damaged is left."""
    hit, actor = [], workspace.repository.actor
    for place in places_of(workspace):
        for id in place.ids():
            with contextlib.suppress(DamagedError, BadImport):
                if (before := place.find(id)) is None:
                    continue
                runs = VolatileRuns()
                runs.put(before.runs)
                scrub_runs(runs, text, dry_run=False)
                kept = [row for listed in before.runs if (row := runs.get(listed.key)) is not None]
                shared = isinstance(place, SharedPlace)
                session = scrub_document(before.session, text, actor=actor) if shared else before.session
                content = Content(session, kept)
                if content != before:
                    hit.append(f"{'archive' if shared else 'runs of the archive'} {id}")
                    if not dry_run:
                        place.put(id, content)
    return hit


def scrub_project_facts(facts: ProjectFacts, text: str, dry_run: bool) -> int:
    """Erase a text from what was counted of projects; how many rows held it. They keep their lengths, so that
    they can still be read."""
    changed = []
    with contextlib.suppress(UsageError):  # a server of an older version has none
        for fact in [fact for kind in (TRACE, TRAIL, HABITS, WORDS) for fact in facts.rows(kind)]:
            body = _masked(fact.body, text)
            if body != fact.body:
                changed.append(replace(fact, body=body))
    if changed and not dry_run:
        facts.put(changed)
    return len(changed)


def scrub_memories(memories: Memories, text: str, dry_run: bool, retries: int = 4) -> int:
    """Erase a text from memories, their votes and their trail; how many held it."""
    from .recover.from_memories import scrubbed

    all_kept, beside = [], set()
    for one in _carried(memories):
        all_kept.append(one.kept)
        said = [vote.context for vote in one.votes] + [trace.reason for trace in one.trail]
        if any(text in words for words in said):
            beside.add(one.kept.memory.id)
    changed = scrubbed(all_kept, lambda value: _replace(value, text))
    if not dry_run:
        try:
            if changed:
                memories.write(MemoryChange(puts=changed))
        except StaleVersion:  # somebody changed one meanwhile
            if not retries:
                raise
            return scrub_memories(memories, text, dry_run, retries - 1)
        memories.compact(text)
    return len(beside | {kept.memory.id for kept in changed})


def _carried(memories: Memories) -> Iterator[MemoryWithHistory]:
    after = 0
    while page := memories.carried(after):
        yield from page
        after = page[-1].no


def mask_all(body: bytes, text: str) -> bytes:
    """The text in every spelling that it may have in JSON, in JSON within JSON, or by itself."""
    once = _escaped(text)
    plain = json.dumps(text)[1:-1].encode()
    for form in {text.encode(errors="surrogatepass"), once, _escaped(once.decode()), plain}:
        body = body.replace(form, b"*" * len(form))
    return body


def _holds(path: str, text: str) -> bool:
    with contextlib.suppress(OSError):
        body = read_bytes(Path(path))
        return mask_all(body, text) != body
    return False


def _files(workspace: Workspace) -> list[Path]:
    home = workspace.home
    found = sorted(home.backups.glob("segue-*.db")) + sorted(home.backups.glob(".segue-*"))
    raw = home.evidence / "running"
    folders = [
        home.archive,
        home.emergency,
        home.emergency_elsewhere,
        home.damaged,
        home.manifests,
        home.scenes,
        raw,
    ]
    folders += [home.handover, home.handoff, home.conversations]
    for folder in folders:
        found += sorted(path for path in folder.rglob("*") if path.is_file())
    return [*found, *home.path.glob("segue.db.recover*"), home.path / "segue.log"]


def _scrub_file(path: Path, text: str, actor: str, dry_run: bool) -> bool:
    body = read_bytes(path)
    cleaned = _scrub_archive(body, text, actor) or _scrub_emergency(path, text) or _masked(body, text)
    if cleaned != body and not dry_run:
        write_whole(path, cleaned)
    return cleaned != body


def _masked(body: bytes, text: str) -> bytes:
    """Any other file: the text itself, and as JSON would spell it, byte for byte."""
    for form in (text.encode(errors="surrogatepass"), _escaped(text)):
        body = body.replace(form, b"*" * len(form))
    return body


def _escaped(text: str) -> bytes:
    return canonical.encode(text)[1:-1]


def _scrub_backup(path: Path, text: str, actor: str, dry_run: bool) -> bool:
    journal = SqliteStore(path)
    try:
        events, pieces, _ = scrub_journal(journal, text, actor, dry_run)
        runs = scrub_runs(journal.runs, text, dry_run)
        memories = scrub_memories(journal.memories, text, dry_run)
        counted_facts = scrub_project_facts(journal.project_facts, text, dry_run)
        if not dry_run:
            compact(journal.database)
            journal.database.connection().pragma("journal_mode", "delete")
        return bool(events or pieces or runs or memories or counted_facts)
    except SegueError:  # a damaged one: at least its bytes
        return _scrub_file(path, text, actor, dry_run)
    finally:
        with contextlib.suppress(Exception):
            journal.close()


def _scrub_archive(body: bytes, text: str, actor: str) -> bytes:
    """An archived session without the text; nothing if this is no archive."""

    if body[:2] != b"\x1f\x8b":
        return b""
    try:
        plain = gzip.decompress(body)
        cleaned = scrub_document(plain, text, actor=actor)
    except (OSError, EOFError, SegueError):
        return b""
    return body if cleaned == plain else gzip.compress(cleaned)


def _scrub_emergency(path: Path, text: str) -> bytes:
    """An emergency file without the text; nothing if this is none."""
    found = emergency.read(path)
    if found is None:
        return b""
    cleaned = emergency.masked(found, text, lambda value: _replace(value, text))
    return read_bytes(path) if cleaned == found else emergency.encode(cleaned)


def scrub_document(data: bytes, text: str, *, actor: str = "user") -> bytes:
    """A JSON export without a text: bodies rewritten, hashes kept, and the rewriting on record."""
    from ...stores.memory.store import VolatileStore
    from ..handoff.export import append_missing, pack, unpack

    parcel, journal = unpack(data), VolatileStore()
    session = parcel.session
    append_missing(journal, session, parcel)
    events, pieces, _ = scrub_journal(journal, text, actor, False)
    return pack(session, journal.read(stream_of(session)), journal) if events or pieces else data
