"""Exporting and importing sessions: as JSON without loss, and as session YAML.

JSON contains the events as they are, with their hashes: nothing is imported before all of it is verified, and
an import into an empty stream gives the same chain. What a store cannot write again as it was (bodies that a
scrub rewrote, commits that a recovery tore) gets new hashes; the bodies stay the same. An import that was
interrupted continues where it stopped, repeating one adds nothing, and another history under the same id is
refused.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

import msgspec
from msgspec.structs import asdict, replace

from ...core import event_kinds as ev
from ...core.base import canonical as canon
from ...core.base.text import clean_name, clean_text
from ...core.base.values import Value, count
from ...core.journal.chain import faults
from ...core.journal.pieces import address as address_of
from ...core.sessions import session_yaml
from ...core.sessions.fold import fold_body
from ...core.sessions.state import SessionState
from ...effects.clock import now
from ...errors import BadImport, BadName, ConflictError, StaleVersion, UnknownSession, UsageError
from ...stores.base import Append, Journal
from ..sessions.repository import fold_all, stream_of
from ..workspace.session_handle import SessionHandle
from ..workspace.workspace import Workspace

FORMATS = ("json", "yaml")
"""The formats that can be imported again."""
READABLE_FORMATS = ("markdown", "html")
"""The formats for people to read; see ``readable.py``."""
NOTEBOOK_FORMAT = "notebook"
"""Sources of the whole project for a notebook tool, in a folder; see ``notebook.py``."""
EXPORT_FORMATS = (*FORMATS, *READABLE_FORMATS, NOTEBOOK_FORMAT)
FORMAT_VERSION = 1


class Envelope(Value, forbid_unknown_fields=True, omit_defaults=True):
    """An event in an export."""

    version: int
    kind: str
    at: str
    actor: str
    body_hash: str
    prev: str
    hash: str
    run: str = ""
    format: int = 1
    left: int = 0
    erased: bool = False
    body: Any = None
    body64: str | None = None
    """The body in base64, if it is not the canonical JSON of any value."""


class _Export(Value, forbid_unknown_fields=True, omit_defaults=True):
    segue: int
    session: str
    events: list[Envelope]
    pieces: dict[str, str]
    checksum: str = ""
    missing: list[str] = []
    """The addresses of pieces that events name and the store did not have."""
    erased: list[str] = []
    """The addresses of pieces that a scrub rewrote, so that they do not match their content."""


class Parcel(Value):
    """An exported session, verified and ready to be imported."""

    session: str
    events: list[ev.Event]
    pieces: dict[str, bytes]
    missing: tuple[str, ...] = ()
    erased: tuple[str, ...] = ()

    @property
    def head(self) -> bytes:
        """The hash of the last event."""
        return self.events[-1].hash


def export_session(workspace: Workspace, id: str, format: str = "json") -> bytes:
    """A session as bytes: ``json`` loses nothing, ``yaml`` contains what the session YAML can express."""
    if format not in FORMATS:
        raise UsageError(f"unknown format: {format}", hint=f"one of {', '.join(EXPORT_FORMATS)}")
    events = workspace.store.read(stream_of(id))
    if not events:
        raise UnknownSession(
            f"there is no session {id!r}", hint="`segue list --all` shows the ones that exist"
        )
    if format == "yaml":
        from ...effects.files.safe_yaml import write_yaml

        text = write_yaml(_document(events))
        lost = session_yaml.left_out(fold_all(events))
        return f"{_not_here(id, lost)}{text}".encode()
    return pack(id, events, workspace.store)


def left_out_of_yaml(session: SessionHandle) -> list[str]:
    """What of a session the YAML format cannot express, in words."""
    return session_yaml.left_out(session.state)


def _not_here(id: str, lost: Sequence[str]) -> str:
    """A comment that says what a YAML export leaves out; empty if it leaves nothing out."""
    if not lost:
        return ""
    rest = f"`segue export {id} --format json` keeps everything"
    return f"# Not in this file: {', '.join(lost)}.\n# {rest}.\n"


def pack(id: str, events: Sequence[ev.Event], journal: Journal) -> bytes:
    """The JSON export of these events, with all pieces that they name."""
    named = named_pieces(events)
    found = journal.pieces(named)
    export = _Export(
        FORMAT_VERSION,
        id,
        [_envelope(event) for event in events],
        {address: base64.b64encode(body).decode() for address, body in found.items()},
        missing=[address for address in named if address not in found],
        erased=[address for address, body in found.items() if address_of(body) != address],
    )
    return canon.encode(replace(export, checksum=_checksum(canon.decode(canon.encode(export)))))


def named_pieces(events: Iterable[ev.Event]) -> list[str]:
    """The addresses of all pieces that a session ever named, sorted."""
    named: set[str] = set()
    for event in events:
        body = ev.read_body(event)
        if isinstance(body, ev.AgentSaved):
            named.update(address for _, _, come in body.splices for address in come)
        elif isinstance(body, ev.Rewound) and isinstance(agents := body.patch.get("agents"), dict):
            for agent in agents.values():
                named.update(agent.get("pieces", ()) if isinstance(agent, dict) else ())
    return sorted(named)


def _envelope(event: ev.Event) -> Envelope:
    value, exact = _value_of(event.body)
    return Envelope(
        event.version, event.kind, event.at, event.actor, event.body_hash.hex(), event.prev.hex(),
        event.hash.hex(), event.run, event.format, event.left, event.erased, value,
        None if exact else base64.b64encode(event.body).decode(),
    )  # fmt: skip


def _value_of(body: bytes) -> tuple[Any, bool]:
    """The value of a body, and whether its canonical JSON is the body again."""
    with suppress(msgspec.MsgspecError, ValueError, RecursionError):
        value = canon.decode(body)
        return (value, True) if canon.encode(value) == body else (None, False)
    return None, False


def _checksum(export: dict[str, Any]) -> str:
    rest = {name: value for name, value in export.items() if name != "checksum"}
    return canon.digest(canon.encode(rest)).hex()


def _document(events: Sequence[ev.Event]) -> session_yaml.Document:
    bodies = (ev.read_body(event) for event in reversed(events) if event.kind == ev.Imported.KIND)
    form = next((body.form for body in bodies if isinstance(body, ev.Imported)), [])
    return session_yaml.written_as(session_yaml.document(fold_all(events)), form)


def import_session(
    workspace: Workspace, data: bytes, format: str | None = None, as_id: str = ""
) -> SessionHandle:
    """Import an exported session into the store; the format is recognised by the content if it is not
    given."""
    workspace.pause_file.check()
    if as_id:
        clean_name(as_id, what="session id")
    if format not in (None, *FORMATS):
        raise UsageError(f"unknown format: {format}", hint="one of " + ", ".join(FORMATS))
    if (format or _recognised(data)) == "yaml":
        return _import_document(workspace, data, as_id)
    parcel = unpack(data)
    _check_texts(parcel)
    void: list[ev.Draft] = []
    if any(one.ran or one.attested for one in fold_all(parcel.events).features.values()):
        void = [
            ev.draft(ev.EvidenceVoided("it came from a file"), at=now(), actor=workspace.repository.actor)
        ]
    return deliver(workspace, parcel, as_id, behind=void)


def _recognised(data: bytes) -> str:
    with suppress(msgspec.MsgspecError, ValueError, RecursionError):
        value = canon.decode(data)
        return "json" if isinstance(value, dict) and "session" in value and "segue" in value else "yaml"
    return "json" if data.lstrip().startswith(b'{"checksum"') else "yaml"


def unpack(data: bytes) -> Parcel:
    """The session in a JSON export, with every hash verified. Raises BadImport, which says what is wrong."""
    try:
        value = canon.decode(data)
        found = value.get("segue") if isinstance(value, dict) else None
        if found != FORMAT_VERSION:
            raise _bad(
                f"its format is {found}, and this Segue reads format {FORMAT_VERSION}", "upgrade Segue"
            )
        export = msgspec.convert(value, _Export)
        if export.checksum != _checksum(value):
            raise _bad("its checksum does not match: it was changed or cut off")
        stream = stream_of(export.session)
        pieces = {address: base64.b64decode(body, validate=True) for address, body in export.pieces.items()}
    except (msgspec.MsgspecError, BadName, RecursionError, binascii.Error, UnicodeDecodeError) as fault:
        raise _bad(f"its structure is wrong: {fault}") from fault
    events = [_event(stream, envelope) for envelope in export.events]
    if not events or events[0].kind != ev.Created.KIND:
        raise _bad("its first event does not create a session")
    for fault_found in faults(stream, events):
        raise _bad(f"version {fault_found.version}: {fault_found.reason}")
    parcel = Parcel(export.session, events, pieces, tuple(export.missing), tuple(export.erased))
    _check_pieces(parcel)
    return parcel


def _bad(reason: str, hint: str = "export it again with `segue export`") -> BadImport:
    return BadImport(f"this is not a complete export of a session: {reason}", hint=hint)


def _event(stream: str, e: Envelope) -> ev.Event:
    try:
        body = base64.b64decode(e.body64, validate=True) if e.body64 is not None else canon.encode(e.body)
        body_hash, prev, own = (bytes.fromhex(text) for text in (e.body_hash, e.prev, e.hash))
    except (ValueError, binascii.Error) as fault:
        raise _bad(f"version {e.version}: {fault}") from fault
    fields = {name: value for name, value in asdict(e).items() if name != "body64"}
    fields |= {"body": body, "body_hash": body_hash, "prev": prev, "hash": own}
    return ev.Event(stream=stream, **fields)


def _check_pieces(parcel: Parcel) -> None:
    for address, body in parcel.pieces.items():
        if address_of(body) != address and address not in parcel.erased:
            raise _bad(f"the piece {address} does not match its address")
        if len(address) != 32 or any(c not in "0123456789abcdef" for c in address):
            raise _bad(f"{address[:40]!r} is not the address of a piece")
    absent = set(named_pieces(parcel.events)) - parcel.pieces.keys() - set(parcel.missing)
    if absent:
        raise _bad(f"it lacks {count(len(absent), 'piece')} of agents' states")


def _check_texts(parcel: Parcel) -> None:
    """Raise BadImport for a text that cleaning would change: an exact import cannot repair it."""
    for event in parcel.events:
        value, _ = _value_of(event.body)
        for text in (event.kind, event.actor, event.run, event.at, *_texts(value)):
            if clean_text(text, what=f"text of version {event.version}") != text:
                raise _bad(f"version {event.version}: a text contains control characters")


def _texts(value: Any) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield name
            yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)


def deliver(
    workspace: Workspace, parcel: Parcel, as_id: str = "", *, behind: Sequence[ev.Draft] = ()
) -> SessionHandle:
    """Append what the store lacks of a verified session and, if it lacked anything, ``behind`` after that."""
    workspace.pause_file.check()
    id = as_id or parcel.session
    added = append_missing(workspace.store, id, parcel, behind)
    workspace.repository.forget(id)
    workspace.backups.written(added)
    return SessionHandle(workspace, id)


def append_missing(journal: Journal, id: str, parcel: Parcel, behind: Sequence[ev.Draft] = ()) -> int:
    stream = stream_of(id)
    commits = _commits(parcel.events, id if id != parcel.session else "")
    chain: list[ev.Event] = []  # what these commits become in an empty stream
    for drafts in commits:
        chain += ev.seal(stream, len(chain), chain[-1].hash if chain else canon.GENESIS, drafts)
    own = [event.hash for event in parcel.events] if id == parcel.session else []
    there = _agreed(journal, stream, [event.hash for event in chain], own)
    commits += [list(behind)] if behind and there < len(chain) else []
    _append(journal, stream, commits, there, parcel)
    return max(0, len(chain) - there)


def _commits(events: Sequence[ev.Event], as_id: str) -> list[list[ev.Draft]]:
    """The drafts of a session's events, grouped by commit."""
    commits: list[list[ev.Draft]] = []
    open_left = 0
    for event in events:
        if not open_left or event.left != open_left - 1:
            commits.append([])
        open_left = event.left
        body = event.body
        if as_id and event.kind == ev.Created.KIND:
            body = canon.encode({**canon.decode(body), "id": as_id})
        commits[-1].append(ev.Draft(event.kind, body, event.at, event.actor, event.run, event.format))
    return commits


def _agreed(journal: Journal, stream: str, chain: list[bytes], own: list[bytes]) -> int:
    """How much of a chain the store has already. Raises ConflictError if it has another history."""
    stored = [event.hash for event in journal.read(stream)]
    common = min(len(stored), len(chain))
    if not common or stored[common - 1] in (chain[common - 1], *own[common - 1 : common]):
        return len(stored)
    apart = next(i for i in range(common) if stored[i] not in (chain[i], *own[i : i + 1]))
    raise ConflictError(
        f"{stream} exists with another history: they differ from version {apart + 1} on",
        hint="import it under another id with `--as`",
    )


def _append(journal: Journal, stream: str, commits: list[list[ev.Draft]], there: int, parcel: Parcel) -> None:
    appends, version = [], 0
    for drafts in commits:
        if version >= there:
            appends.append(Append(stream, version, drafts))
        version += len(drafts)
    pieces = _pieces_to_add(journal, parcel)
    if not appends:
        if pieces:
            journal.append(pieces=pieces)
        return
    try:
        journal.append(*appends, pieces=pieces)
    except StaleVersion as stale:
        if stale.stream != stream or stale.actual != appends[0].expect:
            raise
        # This store takes one commit of a stream at a time; an interrupted import continues here.
        for number, append in enumerate(appends):
            journal.append(append, pieces=None if number else pieces)


def _pieces_to_add(journal: Journal, parcel: Parcel) -> dict[str, bytes]:
    """The pieces that the store lacks. Those that a scrub rewrote are stored at once, and marked."""
    stored = journal.pieces(parcel.pieces)
    lacking = {address: body for address, body in parcel.pieces.items() if address not in stored}
    erased = {address: lacking.pop(address) for address in parcel.erased if address in lacking}
    if erased:
        journal.append(pieces=erased)
        journal.erase([], erased)
    return lacking


# -- the session YAML --------------------------------------------------------------------------


def _import_document(workspace: Workspace, data: bytes, as_id: str) -> SessionHandle:
    from ...effects.files.safe_yaml import read_yaml

    root = _cleaned(read_yaml(data), "", workspace)
    if not isinstance(root, dict):
        raise BadImport("the document must be a mapping", hint="see docs/formats.md")
    if as_id and isinstance(root.get("session"), dict):
        root = {**root, "session": {**root["session"], "id": as_id}}
    imported = now()
    declared = session_yaml.events_of(root, imported=imported)
    created = declared[0].body
    assert isinstance(created, ev.Created)
    try:
        stream = stream_of(created.id)
        for one in declared:
            if isinstance(one.body, ev.AgentNoted):
                clean_name(one.body.agent, what="agent's name")
    except BadName as fault:
        raise BadImport(
            fault.message, hint=f"{fault.hint}; a session takes another id with `--as`"
        ) from fault
    stored = workspace.store.read(stream)
    if stored:
        if canon.encode(_document(stored)) != canon.encode(root):
            raise ConflictError(
                f"session {created.id} exists with different content",
                hint="import it under another id with `--as`",
            )
        return SessionHandle(workspace, created.id)
    declared = _in_their_words(declared, root)
    actor, run = workspace.repository.actor, workspace.repository.run
    drafts = [ev.draft(one.body, at=one.at, actor=actor, run=run) for one in declared]
    workspace.store.append(Append(stream, 0, drafts))
    workspace.repository.forget(created.id)
    workspace.backups.written(len(drafts))
    return SessionHandle(workspace, created.id)


def _in_their_words(
    declared: list[session_yaml.DatedBody], root: session_yaml.Document
) -> list[session_yaml.DatedBody]:
    """The same events, the last of which records how the document was written."""
    state = SessionState()
    for number, one in enumerate(declared, 1):
        state = fold_body(state, one.body, version=number, at=one.at, actor="")
    last = declared[-1]
    form = session_yaml.differences(session_yaml.document(state), root)
    return [*declared[:-1], session_yaml.DatedBody(last.at, replace(last.body, form=form))]


def _cleaned(value: Any, path: str, workspace: Workspace) -> Any:
    if isinstance(value, str):
        return clean_text(value, what=path or "document", mask=workspace.repository.mask)
    if isinstance(value, dict):
        return {
            _cleaned(k, path, workspace): _cleaned(v, f"{path}.{k}".strip("."), workspace)
            for k, v in value.items()
        }
    if isinstance(value, list):
        return [_cleaned(v, path, workspace) for v in value]
    return value
