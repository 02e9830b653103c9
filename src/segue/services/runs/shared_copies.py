"""Copies of transcripts in a shared store, from which another machine can read what a run did.

What is shared is the archive's masked copy, masked once more, never the agent's own file. This happens only
where ``share_transcripts`` is set, and only for sessions in the store: when a session is archived, the copies
of its runs leave the store with it. Every piece begins with the key of its run, so that no two runs have a
piece in common and a piece can be dropped with its run.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING

from ...core import event_kinds as ev
from ...core.base.canonical import sha256
from ...core.base.values import Value
from ...core.journal.pieces import address as address_of
from ...core.runs.shared_copies import PREFIX, SharedCopy, fold, history, lengths, stream_of
from ...effects.clock import now
from ...effects.files.archive import Archive, Copy
from ...effects.files.compression import compress, decompress
from ...effects.redaction.redact import redact_bytes
from ...errors import DamagedError, StaleVersion
from ...stores.base import Append, Journal
from ..workspace.on_off import is_off
from ..workspace.workspace import Workspace

if TYPE_CHECKING:
    from hashlib import _Hash

SHARED_BYTES_MAX = 64 << 20
"""The size, compressed, up to which a transcript is shared."""
BATCH_BYTES = 4 << 20
"""What is written in one commit: far below what a server takes in one request."""
BATCH_PIECES = 16
"""How many pieces are read at once."""
RECENT_SECONDS = 30 * 86_400.0
"""Copies of runs that were active so recently are compared with the store at every sync."""
_TRIES = 3


class Unreadable(Value):
    """A transcript that could not be read or shared."""

    agent: str
    path: str
    reason: str


# -- writing ---------------------------------------------------------------------------------------


def share_runs(
    workspace: Workspace, archive: Archive | None, project: str, changed: Collection[str]
) -> tuple[int, list[Unreadable]]:
    """Bring a project's copies in the store up to date with the archive. Returns how many copies grew, and
    what could not be shared. ``changed`` holds the keys of runs that this sync has read."""
    if not workspace.home.shared_store:
        return 0, []
    if archive is None:
        return 0, [Unreadable("", "", "nothing is shared: no copies are kept (archive_bytes_max is 0)")]
    if not workspace.settings["redact"]:
        return 0, [Unreadable("", "", "nothing is shared: secrets are not masked (redact is off)")]
    versions = dict(workspace.store.streams(PREFIX))
    weights: dict[str, int] = {}
    shared, unshared = 0, []
    for copy in _to_share(workspace, archive, project):
        about = copy.about
        version = versions.get(stream_of(about.key), 0)
        if version and about.key not in changed and _is_shared(workspace.store, copy, version):
            continue
        weights = weights or archive.weights()
        weight = weights.get(about.key, 0)
        if weight > SHARED_BYTES_MAX:
            reason = f"not shared: {weight / 1e6:,.0f} MB compressed, over {SHARED_BYTES_MAX / 1e6:,.0f} MB"
            unshared.append(Unreadable(about.agent, about.path, reason))
            continue
        try:
            shared += _share_copy(workspace, archive, copy)
        except DamagedError as fault:
            unshared.append(Unreadable(about.agent, about.path, f"not shared: {fault.message}"))
    return shared, unshared


def _to_share(workspace: Workspace, archive: Archive, project: str) -> Iterator[Copy]:
    """Copies of this project's runs in this store, unless Segue is off for them."""
    exists: dict[str, bool] = {"": True}
    for copy in archive.copies():
        about, session = copy.about, copy.session
        if about.project != project or about.store != str(workspace.home.database):
            continue
        if is_off(workspace.home, Path(about.cwd) if about.cwd else workspace.working_tree.root, session):
            continue
        if session not in exists:
            exists[session] = workspace.repository.exists(session)
        if exists[session]:
            yield copy


def _is_shared(journal: Journal, copy: Copy, version: int) -> bool:
    """Whether the store has all of a copy that this sync did not extend, judged by sizes."""
    if time.time() - copy.last > RECENT_SECONDS:
        return True
    last = bodies(journal.read(stream_of(copy.about.key), after=version - 1, limit=1))
    return bool(last) and last[-1].size == copy.about.size + len(copy.about.torn)


def _share_copy(workspace: Workspace, archive: Archive, copy: Copy) -> bool:
    text = b"".join(archive.read(copy.about.key))
    for _ in range(_TRIES):
        with suppress(StaleVersion):  # another machine has the same run
            return share(workspace.store, copy, text, actor=workspace.repository.actor)
    return False


def share(journal: Journal, copy: Copy, text: bytes, *, actor: str) -> bool:
    """Put what is new of a copy into the store; False if the store has all of it. If this is interrupted, the
    store has an intact beginning of the copy."""
    about = copy.about
    stream = stream_of(about.key)
    events = journal.read(stream)
    version = events[-1].version if events else 0
    known = folded(events)
    begins = not known.size or (len(text) >= known.size and _sum(text, known.size) == known.hash)
    line = text.rfind(b"\n", 0, known.size) + 1
    if not begins or redact_bytes(text[line:]) != text[line:]:
        text, begins = redact_bytes(text), False
    if len(text) == known.size and _sum(text, known.size) == known.hash:
        return False
    old = {address for address, _ in known.pieces}
    kept, at = (len(known.pieces), known.size) if begins else (0, 0)
    total = _running_sum(memoryview(text)[:at])
    added: list[tuple[str, int]] = []
    waiting: dict[str, bytes] = {}
    before = [length for _, length in known.pieces[kept:]]
    cuts = lengths(before, len(text) - at)
    for index, length in enumerate(cuts):
        plain = text[at : at + length]
        piece = packed(about.key, plain)
        address = address_of(piece)
        at += length
        total.update(plain)
        if not added and kept < len(known.pieces) and known.pieces[kept] == (address, length):
            kept += 1
            continue
        added.append((address, length))
        if address not in old:
            waiting[address] = piece
        if sum(map(len, waiting.values())) >= BATCH_BYTES and index < len(cuts) - 1:
            version = _commit(journal, copy, version, (at, total.hexdigest(), kept, added), waiting, actor)
            kept, added, waiting = kept + len(added), [], {}
    _commit(journal, copy, version, (at, total.hexdigest(), kept, added), waiting, actor)
    return True


def _commit(
    journal: Journal, copy: Copy, version: int, change: tuple[int, str, int, list[tuple[str, int]]],
    pieces: dict[str, bytes], actor: str,
) -> int:  # fmt: skip
    about = copy.about
    body = ev.TranscriptShared(about.key, about.agent, about.native, *change)
    drafts = [ev.draft(body, at=now(), actor=actor)]
    done = journal.append(Append(stream_of(about.key), version, drafts), pieces=pieces)
    return done[-1].version


def packed(key: str, plain: bytes) -> bytes:
    """Text of a run's copy as a piece for the store."""
    return key.encode() + compress(plain)


def unpacked(key: str, piece: bytes) -> bytes:
    """The text in a piece. Raises DamagedError if it does not belong to this run or cannot be unpacked."""
    prefix = key.encode()
    try:
        if not piece.startswith(prefix):
            raise ValueError("a piece belongs to another run")
        return decompress(piece[len(prefix) :])
    except ValueError as fault:
        raise DamagedError("the copy", stream_of(key), str(fault)) from fault


def _running_sum(text: bytes | memoryview = b"") -> _Hash:
    import hashlib  # loads OpenSSL, which hooks do not need

    return hashlib.sha256(text)


def _sum(text: bytes, size: int) -> str:
    return sha256(memoryview(text)[:size]).hexdigest()


# -- reading ---------------------------------------------------------------------------------------


def bodies(events: Iterable[ev.Event]) -> list[ev.TranscriptShared]:
    """The bodies of the events in a transcript's stream."""
    return [body for body in map(ev.read_body, events) if isinstance(body, ev.TranscriptShared)]


def folded(events: Iterable[ev.Event]) -> SharedCopy:
    """The present state of a copy, from the events of its stream."""
    return reduce(fold, bodies(events), SharedCopy())


def piece_addresses(events: Iterable[ev.Event]) -> list[str]:
    """The address of every piece that these events refer to."""
    return list(dict.fromkeys(address for body in bodies(events) for address, _ in body.pieces))


class SharedCopies:
    """Reads the copies of transcripts in a store."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    def has(self, key: str) -> bool:
        """Whether there is a copy of this run's transcript."""
        return self._journal.head(stream_of(key)).version > 0

    def read(self, key: str) -> Iterator[bytes]:
        """The copy in blocks of complete lines. Raises DamagedError if it does not match its hash."""
        known = folded(self._journal.read(stream_of(key)))
        total, erased = _running_sum(), False
        rest: list[bytes] = []
        for address, piece in _pieces(self._journal, known):
            if not piece:
                raise DamagedError("the copy", stream_of(key), "a piece is missing")
            erased = erased or address_of(piece) != address
            plain = unpacked(key, piece)
            total.update(plain)
            end = plain.rfind(b"\n") + 1
            if end:
                yield b"".join((*rest, plain[:end]))
                rest = []
            rest.append(plain[end:])
        if known.size and not erased and total.hexdigest() != known.hash:
            raise DamagedError("the copy", stream_of(key), "its content does not match its hash")
        if last := b"".join(rest):
            yield last


def _pieces(journal: Journal, known: SharedCopy) -> Iterator[tuple[str, bytes]]:
    """Addresses and pieces in order; a missing piece is empty."""
    for start in range(0, len(known.pieces), BATCH_PIECES):
        wanted = [address for address, _ in known.pieces[start : start + BATCH_PIECES]]
        found = journal.pieces(wanted)
        yield from ((address, found.get(address, b"")) for address in wanted)


# -- erasing ---------------------------------------------------------------------------------------


def scrub_pieces(
    journal: Journal, stream: str, change: Callable[[bytes], bytes], *, dry_run: bool = False
) -> int:
    """Apply a change that keeps lengths to every version of the copy in a stream, in place. Returns how many
    pieces changed."""
    key = stream.removeprefix(PREFIX)
    masked: dict[str, bytes] = {}
    for known in history(bodies(journal.read(stream))):
        plain = [_readable(key, masked.get(address, piece)) for address, piece in _pieces(journal, known)]
        changed = change(b"".join(plain))
        at = 0
        for (address, _), before in zip(known.pieces, plain, strict=True):
            after = changed[at : at + len(before)]
            at += len(before)
            if after != before:
                masked[address] = packed(key, after)
    if not dry_run:
        _erase(journal, masked)
    return len(masked)


def _readable(key: str, piece: bytes) -> bytes:
    try:
        return unpacked(key, piece)
    except DamagedError:
        return b""


def _erase(journal: Journal, masked: dict[str, bytes]) -> None:
    batch: dict[str, bytes] = {}
    for address, piece in masked.items():
        batch[address] = piece
        if sum(map(len, batch.values())) >= BATCH_BYTES:
            journal.erase([], batch)
            batch = {}
    if batch:
        journal.erase([], batch)


def forget(journal: Journal, key: str) -> None:
    """Remove the copy of a run's transcript from the store, if there is one."""
    events = journal.read(stream_of(key))
    if events:
        journal.drop(Append(stream_of(key), events[-1].version), pieces=piece_addresses(events))


def archived_with(workspace: Workspace, session: str) -> tuple[list[Append], list[str]]:
    """The streams and pieces of copies that leave the store when a session is archived."""
    shared = dict(workspace.store.streams(PREFIX))
    if not shared:
        return [], []
    streams, pieces = [], []
    for row in workspace.store.runs.rows(session=session):
        name = stream_of(row.key)
        if name in shared:
            events = workspace.store.read(name)
            streams.append(Append(name, events[-1].version))
            pieces += piece_addresses(events)
    return streams, pieces
