"""A bundle: a session for another machine, in a file that can be verified.

It contains the session as a loss-free export, the memories that the taker may read, the note and a
restoration, with a hash over all of it. The states that agents saved are not included. Nothing that looks
like a secret leaves the machine: if something does, no bundle is made, and the error says where it is. An
import verifies the hash, then the chain of events; what it imports is trusted as imported, and proofs of
features do not count.
"""

from __future__ import annotations

import base64
import gzip
import zlib

import msgspec

from ..._failpoints import trip
from ...core import event_kinds as ev
from ...core.base import canonical
from ...core.base.text import clean_name, clean_text
from ...core.base.values import Value
from ...core.memories.model import MemoryFilter
from ...effects.clock import moment, now
from ...effects.redaction.redact import redact, secrets_in
from ...errors import BadImport, RefusedError
from ...stores.base import Append
from ...stores.memory.store import VolatileStore
from ..memories import curation
from ..memories.service import memories_of
from ..sessions.repository import stream_of
from ..workspace.workspace import Workspace
from .export import import_session, pack as export_events
from .offers import ANYONE, HOURS, Handoffs

FORMAT = 1
BYTES_MAX = 512_000_000
BYTES_FREE, PACKED_MAX = 32_000_000, 100
"""A larger content than this may be so many times as large as the file: no session is packed better."""
_PIECE_BYTES = 1 << 16
_MAGIC = b"\x1f\x8b"


class Bundle(Value, forbid_unknown_fields=True):
    """The content of a bundle."""

    segue_bundle: int
    session: str
    offer: str
    made: str
    by: str
    to: str
    note: str
    events: str
    """The export of the session, base64."""
    memories: str
    restoration: str
    sha256: str = ""


class Packed(Value):
    """A bundle that was made."""

    session: str
    offer: str
    sha256: str
    """The hash of the content: tell it to the taker, who sees the same hash on import."""
    body: bytes


class Unpacked(Value):
    """A bundle that was imported."""

    session: str
    sha256: str
    offer: str
    """The offer that can be taken here."""
    memories: int
    restoration: str


def is_bundle(data: bytes) -> bool:
    """Whether a file looks like a bundle."""
    return data.startswith(_MAGIC)


def pack(
    workspace: Workspace, session: str, *, to: str = ANYONE, note: str = "", hours: float = HOURS
) -> Packed:
    """A session as a bundle. Raises RefusedError, which says where, if something looks like a secret."""
    handoffs = Handoffs(workspace)
    _no_secrets(workspace, session)
    offer = handoffs.offer(session, to, note, hours=hours).offer
    events = workspace.store.read(stream_of(session))
    bundle = Bundle(
        FORMAT, session, offer.id, now(), workspace.repository.actor, offer.to, offer.note,
        base64.b64encode(export_events(session, events, VolatileStore())).decode(),
        _memories(workspace, session, offer.to), handoffs.restoration(offer),
    )  # fmt: skip
    whole = msgspec.structs.replace(bundle, sha256=_sum(bundle))
    return Packed(session, offer.id, whole.sha256, gzip.compress(canonical.encode(whole), mtime=0))


def _no_secrets(workspace: Workspace, session: str) -> None:
    """Raise RefusedError for a secret that was stored before a rule for it existed, or with redaction off."""
    for event in workspace.store.read(stream_of(session)):
        for _, kind in secrets_in(event.body.decode("utf-8", "replace")):
            raise RefusedError(
                f"version {event.version} of {session} ({event.kind}) contains a likely secret: {kind}",
                hint=f"look at it with `segue log {session}`; `segue scrub --help` shows how to erase it",
            )


def _memories(workspace: Workspace, session: str, to: str) -> str:
    service = memories_of(workspace)
    reader = service.reader(agent="" if to == ANYONE else to, session=session)
    found = service.store.listing(reader, MemoryFilter(sessions=(session,)), now())
    return redact(curation.as_lines(found).decode())


def _sum(bundle: Bundle) -> str:
    return canonical.digest(canonical.encode(msgspec.structs.replace(bundle, sha256=""))).hex()


def _check_size(data: bytes) -> None:
    """Raise BadImport for what is no whole bundle of a usual size. It is unpacked piece by piece, and nothing
    of it is kept: a small file can have a content that fills the memory."""
    unzip, rest, size = zlib.decompressobj(wbits=31), data, 0
    bytes_max = min(BYTES_MAX, max(BYTES_FREE, PACKED_MAX * len(data)))
    while rest and not unzip.eof:
        piece = unzip.decompress(rest, _PIECE_BYTES)
        if not size and piece and not piece.startswith(b"{"):
            raise BadImport("this is not a bundle", hint="make one with `segue handoff --to-file`")
        size, rest = size + len(piece), unzip.unconsumed_tail
        if size > bytes_max:
            raise BadImport("this bundle is far too large", hint="ask for it again")
    if not unzip.eof:
        raise BadImport("this bundle is incomplete", hint="ask for it again")


def read(data: bytes) -> Bundle:
    """The content of a bundle. Raises BadImport unless it matches its hash."""
    try:
        _check_size(data)
        body = zlib.decompress(data, wbits=31)
        bundle = msgspec.json.decode(body, type=Bundle)
    except (zlib.error, msgspec.MsgspecError, UnicodeDecodeError) as fault:
        raise BadImport(
            f"this is not a bundle: {fault}", hint="make one with `segue handoff --to-file`"
        ) from fault
    if bundle.segue_bundle != FORMAT:
        raise BadImport(
            f"this Segue cannot read bundles of version {bundle.segue_bundle}", hint="upgrade Segue"
        )
    if bundle.sha256 != _sum(bundle):
        raise BadImport("this bundle does not match its hash: it was changed", hint="ask for it again")
    return bundle


def unpack(workspace: Workspace, data: bytes, *, as_id: str = "") -> Unpacked:
    """Import a bundle: the session, its memories, and an offer that can be taken here."""
    workspace.pause_file.check()
    bundle = read(data)
    try:
        events = base64.b64decode(bundle.events, validate=True)
    except ValueError as fault:
        raise BadImport(f"this is not a bundle: {fault}", hint="ask for it again") from fault
    session = import_session(workspace, events, "json", as_id)
    new, _ = curation.import_(memories_of(workspace), bundle.memories.encode())
    trip("handoff.unpack.between")
    handoffs = Handoffs(workspace)
    if not any(offer.id == bundle.offer for offer in handoffs.of(session.id)):
        body = ev.HandoffOffered(
            clean_name(bundle.offer, what="offer's id"), clean_name(bundle.to, what="agent's name"),
            clean_text(bundle.note, what="note", mask=redact), moment(HOURS * 3600),
        )  # fmt: skip
        stream = f"handoff/{session.id}"
        draft = ev.draft(body, at=now(), actor=clean_text(bundle.by, what="name", limit=256))
        workspace.store.append(Append(stream, workspace.store.head(stream).version, [draft]))
    return Unpacked(session.id, bundle.sha256, bundle.offer, new, clean_text(bundle.restoration, mask=redact))
