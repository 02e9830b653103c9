"""Copies of transcripts in a store that others share, so that another machine can read what a run did.

What is shared is the masked copy that the archive has, masked once more; never the agent's own file. It
happens only where ``share_transcripts`` is set, and only for a session that is in the store: when a session
is archived, the copies of its runs leave the store with it. A piece begins with the key of its run: no two
runs have one in common, so that it can go with its run without a look at others.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from ...core import event_kinds as ev
from ...core.journal.pieces import address as address_of
from ...core.runs.shared_copies import PREFIX, SharedCopy, fold, history, lengths, stream_of
from ...effects.clock import now
from ...effects.files.archive import Archive, Copy, compress, decompress
from ...effects.redaction.redact import redact_bytes
from ...errors import DamagedError, StaleVersion
from ...stores.base import Append, Journal
from ..workspace.on_off import is_off

if TYPE_CHECKING:
    from ..workspace.workspace import Workspace

SHARED_BYTES_MAX = 64 << 20
"""Of one transcript, compressed; a larger one is not shared."""
BATCH_BYTES = 4 << 20
"""In one commit: far below what a server takes in one request."""
BATCH_PIECES = 16
"""In one answer."""
LOOK_SECONDS = 30 * 86_400.0
"""Copies of runs that were active so recently are compared with the store at every sync."""
_TRIES = 3


Unshared = tuple[str, str, str]
"""Agent, transcript and reason, of what was to be shared and was not."""


# -- writing ---------------------------------------------------------------------------------------


def share_runs(
    workspace: Workspace, archive: Archive | None, project: str, changed: Collection[str]
) -> tuple[int, list[Unshared]]:
    """Bring the store up to what the archive has of a project's runs: how many copies grew, and what is not
    shared. ``changed``: keys of runs of which something was read just now."""
    if not workspace.home.elsewhere:
        return 0, []
    if archive is None:
        return 0, [("", "", "nothing is shared: no copies are kept (archive_bytes_max is 0)")]
    if not workspace.settings["redact"]:
        return 0, [("", "", "nothing is shared: secrets are not masked (redact is off)")]
    there = dict(workspace.store.streams(PREFIX))
    weights: dict[str, int] = {}
    shared, unshared = 0, []
    for copy in _to_share(workspace, archive, project):
        about = copy.about
        version = there.get(stream_of(about.key), 0)
        if version and about.key not in changed and _is_shared(workspace.store, copy, version):
            continue
        weights = weights or archive.weights()
        weight = weights.get(about.key, 0)
        if weight > SHARED_BYTES_MAX:
            reason = (
                f"not shared: {weight / 1e6:,.0f} MB compressed, of at most {SHARED_BYTES_MAX / 1e6:,.0f}"
            )
            unshared.append((about.agent, about.path, reason))
            continue
        try:
            shared += _share_copy(workspace, archive, copy)
        except DamagedError as fault:
            unshared.append((about.agent, about.path, f"not shared: {fault.message}"))
    return shared, unshared


def _to_share(workspace: Workspace, archive: Archive, project: str) -> Iterator[Copy]:
    """Copies of this project's runs in this store that nobody switched off."""
    known: dict[str, bool] = {"": True}
    for copy in archive.copies():
        about, session = copy.about, copy.session
        if about.project != project or about.store != str(workspace.home.database):
            continue
        if is_off(workspace.home, Path(about.cwd) if about.cwd else workspace.working_tree.root, session):
            continue
        if session not in known:
            known[session] = workspace.repository.exists(session)
        if known[session]:
            yield copy


def _is_shared(journal: Journal, copy: Copy, version: int) -> bool:
    """Whether the store has all of a copy that nothing was added to just now, as far as sizes tell."""
    if time.time() - copy.last > LOOK_SECONDS:
        return True
    last = bodies(journal.read(stream_of(copy.about.key), after=version - 1, limit=1))
    return bool(last) and last[-1].size == copy.about.size + len(copy.about.torn)


def _share_copy(workspace: Workspace, archive: Archive, copy: Copy) -> bool:
    text = b"".join(archive.read(copy.about.key))
    for left in reversed(range(_TRIES)):
        try:
            return share(workspace.store, copy, text, actor=workspace.repository.actor)
        except StaleVersion:  # another machine has the same run
            if not left:
                return False
    return False


def share(journal: Journal, copy: Copy, text: bytes, *, actor: str) -> bool:
    """Put what is new of a copy into the store; False if it has all of it. What was committed is a whole
    beginning of the copy, however often this is interrupted."""
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
    stays, at = (len(known.pieces), known.size) if begins else (0, 0)
    total = hashlib.sha256(memoryview(text)[:at])
    named: list[tuple[str, int]] = []
    waiting: dict[str, bytes] = {}
    before = [length for _, length in known.pieces[stays:]]
    cuts = lengths(before, len(text) - at)
    for place, length in enumerate(cuts):
        plain = text[at : at + length]
        piece = packed(about.key, plain)
        address = address_of(piece)
        at += length
        total.update(plain)
        if not named and stays < len(known.pieces) and known.pieces[stays] == (address, length):
            stays += 1
            continue
        named.append((address, length))
        if address not in old:
            waiting[address] = piece
        if sum(map(len, waiting.values())) >= BATCH_BYTES and place < len(cuts) - 1:
            version = _commit(journal, copy, version, (at, total.hexdigest(), stays, named), waiting, actor)
            stays, named, waiting = stays + len(named), [], {}
    _commit(journal, copy, version, (at, total.hexdigest(), stays, named), waiting, actor)
    return True


def _commit(
    journal: Journal, copy: Copy, version: int, told: tuple[int, str, int, list[tuple[str, int]]],
    pieces: dict[str, bytes], actor: str,
) -> int:  # fmt: skip
    about = copy.about
    body = ev.TranscriptShared(about.key, about.agent, about.native, *told)
    drafts = [ev.draft(body, at=now(), actor=actor)]
    done = journal.append(Append(stream_of(about.key), version, drafts), pieces=pieces)
    return done[-1].version


def packed(key: str, plain: bytes) -> bytes:
    """A piece of a run's copy."""
    return key.encode() + compress(plain)


def unpacked(key: str, piece: bytes) -> bytes:
    """What is in a piece; DamagedError if it is none of this run."""
    own = key.encode()
    try:
        if not piece.startswith(own):
            raise ValueError("a piece is not of this run")
        return decompress(piece[len(own) :])
    except ValueError as fault:
        raise DamagedError("the copy", stream_of(key), str(fault)) from fault


def _sum(text: bytes, size: int) -> str:
    return hashlib.sha256(memoryview(text)[:size]).hexdigest()


# -- reading ---------------------------------------------------------------------------------------


def bodies(events: Iterable[ev.Event]) -> list[ev.TranscriptShared]:
    """What the events of a transcript's stream say."""
    return [body for body in map(ev.read_body, events) if isinstance(body, ev.TranscriptShared)]


def folded(events: Iterable[ev.Event]) -> SharedCopy:
    """The copy as it is now."""
    known = SharedCopy()
    for body in bodies(events):
        known = fold(known, body)
    return known


def named(events: Iterable[ev.Event]) -> list[str]:
    """Every piece that these events name."""
    return list(dict.fromkeys(address for body in bodies(events) for address, _ in body.pieces))


class SharedCopies:
    """The copies that are in a store."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    def has(self, key: str) -> bool:
        """Whether there is a copy of this run's transcript."""
        return self._journal.head(stream_of(key)).version > 0

    def read(self, key: str) -> Iterator[bytes]:
        """The copy in blocks of whole lines, proven; DamagedError where it is not what was shared."""
        known = folded(self._journal.read(stream_of(key)))
        total, erased = hashlib.sha256(), False
        rest: list[bytes] = []
        for address, piece in _fetched(self._journal, stream_of(key), known):
            erased = erased or address_of(piece) != address
            plain = unpacked(key, piece)
            total.update(plain)
            end = plain.rfind(b"\n") + 1
            if end:
                yield b"".join((*rest, plain[:end]))
                rest = []
            rest.append(plain[end:])
        if known.size and not erased and total.hexdigest() != known.hash:
            raise DamagedError("the copy", stream_of(key), "it is not what was shared")
        if last := b"".join(rest):
            yield last


def _fetched(journal: Journal, stream: str, known: SharedCopy) -> Iterator[tuple[str, bytes]]:
    for address, piece in _there(journal, known):
        if not piece:
            raise DamagedError("the copy", stream, "a piece is gone")
        yield address, piece


def _there(journal: Journal, known: SharedCopy) -> Iterator[tuple[str, bytes]]:
    """Address and piece, in order; an empty one where it is gone."""
    for start in range(0, len(known.pieces), BATCH_PIECES):
        wanted = [address for address, _ in known.pieces[start : start + BATCH_PIECES]]
        found = journal.pieces(wanted)
        yield from ((address, found.get(address, b"")) for address in wanted)


# -- erasing ---------------------------------------------------------------------------------------


def scrub_pieces(
    journal: Journal, stream: str, change: Callable[[bytes], bytes], *, dry_run: bool = False
) -> int:
    """Put every copy that this stream ever told through a change that keeps its length, in place; how many
    pieces it changed."""
    key = stream.removeprefix(PREFIX)
    masked: dict[str, bytes] = {}
    for known in history(bodies(journal.read(stream))):
        plain = [_readable(key, masked.get(one, piece)) for one, piece in _there(journal, known)]
        text = b"".join(plain)
        changed = change(text)
        if changed == text:
            continue
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
        journal.drop(Append(stream_of(key), events[-1].version), pieces=named(events))


def leaving(workspace: Workspace, session: str) -> tuple[list[Append], list[str]]:
    """The streams and pieces that leave the store with a session."""
    there = dict(workspace.store.streams(PREFIX))
    if not there:
        return [], []
    streams, pieces = [], []
    for row in workspace.store.runs.rows(session=session):
        name = stream_of(row.key)
        if name in there:
            events = workspace.store.read(name)
            streams.append(Append(name, events[-1].version))
            pieces += named(events)
    return streams, pieces
