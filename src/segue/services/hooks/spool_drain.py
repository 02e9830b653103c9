"""Draining the spool: what recording hooks saw goes into the streams of their runs, exactly once.

Only one drain runs at a time. A file is renamed away from the writers, stored in a few commits and removed,
or shortened by what is stored when a hook has no time for the rest. If the process dies in between, the next
drain finds the same records again and recognises them by their ids. The same event from two installations
(user, project, plugin) is recognised by its content and time, and stored once. What belongs to a folder or a
session where Segue is off is dropped.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from ...agents import hooks
from ...core import event_kinds as ev
from ...core.base.text import clean_text
from ...core.base.values import iso, seconds_of
from ...core.journal.event import Draft
from ...core.sessions.state import OBSERVER
from ...effects.deadline import NEVER, Deadline
from ...effects.files.atomic import file_lock
from ...effects.files.spool import Spool, SpoolRecord, checksum
from ...errors import SegueError, StaleVersion, StoreBusy
from ...stores.base import Append
from ..brief.summaries import Summaries
from ..runs.observed import runs_of
from ..runs.run_stream import stream_of_run
from ..runs.unwritten_runs import UnwrittenRun
from ..workspace.on_off import any_session_off, is_off
from ..workspace.workspace import Workspace

UNREADABLE = "ledger/hooks"
SAME_SECONDS = 5.0
BATCH = 256
"""How many records are stored in one commit."""
TEXT_CHARS = 2_000
Streams = dict[str, list[tuple[SpoolRecord, ev.Body]]]
GIVEN = "segue-given"
"""The event name of a record about a brief that was given to a run and could not be stored then."""


def spool_of(home: Path) -> Spool:
    """The spool of a data folder."""
    return Spool(home / "spool")


def drain(workspace: Workspace, *, commands: bool = True, until: Deadline = NEVER) -> int:
    """Store everything that waits, and return how many records were new. Raises StoreError. Without
    ``commands`` only the records of hooks are stored, and ``until`` then, because a hook has no time for
    more."""
    if commands:
        workspace.drain_offline()
    spool = spool_of(workspace.home.path)
    if not spool.size():
        return 0
    workspace.pause_file.check()
    try:
        with file_lock(spool.folder / "drain.lock", timeout_seconds=0.0, what="draining the spool"):
            stored = 0
            for path in spool.take():
                records = spool.read(path)
                for at in range(0, len(records), BATCH):
                    if at and until.is_over:
                        spool.leave(path, records[at:])
                        return stored
                    streams = _streams(workspace, records[at : at + BATCH])
                    stored += _commit(workspace, streams)
                    _note_unwritten(workspace, streams)
                spool.drop(path)
                if until.is_over:
                    break
            return stored
    except StoreBusy as busy:
        if "draining" in busy.message:
            return 0  # another process is draining
        raise


def store(workspace: Workspace, records: Sequence[SpoolRecord]) -> int:
    """Commit records to the streams of their runs, all or none; those that are there already are left out."""
    return _commit(workspace, _streams(workspace, records))


def _streams(workspace: Workspace, records: Sequence[SpoolRecord]) -> Streams:
    """What is to be stored of records, by the stream that it belongs to."""
    streams: Streams = {}
    for record in records:
        stream, body = _body(workspace, record)
        if body is not None:
            streams.setdefault(stream, []).append((record, body))
    return streams


def _note_unwritten(workspace: Workspace, streams: Streams) -> None:
    """Remember runs that were given a prompt and whose agents have not written anything yet."""
    runs = runs_of(workspace).unwritten
    runs.tidy(days_max=workspace.settings.number("resumable_days"))
    for stream, wanted in streams.items():
        prompts = [(record, body) for record, body in wanted if isinstance(body, ev.RunHooked)]
        prompts = [(record, body) for record, body in prompts if body.kind == "prompt"]
        for record, body in prompts[-1:]:
            native = stream.rpartition("/")[2]
            runs.note(UnwrittenRun(body.agent, native, body.cwd, body.transcript, record.at))


def _commit(workspace: Workspace, streams: Streams) -> int:
    while streams:
        appends, count = [], 0
        for stream, wanted in streams.items():
            version, drafts = _unknown(workspace, stream, wanted)
            if drafts:
                appends.append(Append(stream, version, drafts))
                count += len(drafts)
        try:
            if appends:
                workspace.store.append(*appends)
                workspace.backups.written(count)
            return count
        except StaleVersion:
            continue
    return 0


def _unknown(
    workspace: Workspace, stream: str, wanted: Iterable[tuple[SpoolRecord, ev.Body]]
) -> tuple[int, list[Draft]]:
    events = workspace.store.read(stream)
    ids: set[str] = set()
    moments: dict[tuple[str, str], str] = {}
    for event in events:
        body = ev.read_body(event)
        if isinstance(body, ev.RunHooked):
            ids.add(body.id)
            moments[(body.event, body.sum)] = event.at
    drafts = []
    hashes = {body.hash for body in map(ev.read_body, events) if isinstance(body, ev.BriefGiven)}
    for record, new in wanted:
        at = iso(record.at)
        if not isinstance(new, ev.RunHooked):
            if isinstance(new, ev.BriefGiven) and new.hash not in hashes:
                drafts.append(ev.draft(new, at=at, actor=record.agent))
                hashes.add(new.hash)
            continue
        before = moments.get((new.event, new.sum), "")
        if new.id in ids or (before and abs(seconds_of(before) - seconds_of(at)) < SAME_SECONDS):
            continue
        ids.add(new.id)
        moments[(new.event, new.sum)] = at
        drafts.append(ev.draft(new, at=at, actor=OBSERVER))
    return len(events), drafts


def _body(workspace: Workspace, record: SpoolRecord) -> tuple[str, ev.Body | None]:
    """The stream for a record, and the body to store there; None if nothing is stored."""
    total = f"{checksum(b'', record.payload):016x}"
    if record.event == GIVEN:
        return _given(record)
    try:
        event = hooks.read(record.agent, record.event, record.payload) if not record.cut else None
        stream = stream_of_run(event.agent, event.native) if event is not None else UNREADABLE
    except (SegueError, ValueError):
        event, stream = None, UNREADABLE
    if event is None:
        text = f"{len(record.payload)} bytes that could not be read" if record.payload else "nothing"
        return stream, ev.RunHooked(record.id, record.agent, record.event, total, text=text, pid=record.pid)
    folder = Path(event.cwd or "/")
    is_any_off = any_session_off(workspace.home)
    session = session_of_run(workspace, event.agent, event.native) if is_any_off else ""
    if event.side or is_off(workspace.home, folder, session):
        return stream, None
    if event.kind == "summary":
        Summaries(workspace.home.path).note(event.native, event.text)
        return stream, None
    text = clean_text(event.text[: TEXT_CHARS * 4], what="hook", mask=workspace.repository.mask)[:TEXT_CHARS]
    return stream, ev.RunHooked(
        record.id, record.agent, record.event, total, event.kind, event.source, text, event.turn, event.tool,
        event.call, event.done, event.cwd, event.transcript, record.pid,
    )  # fmt: skip


def _given(record: SpoolRecord) -> tuple[str, ev.Body | None]:
    with suppress(msgspec.MsgspecError, SegueError, KeyError, TypeError):
        delivery = msgspec.json.decode(record.payload)
        body = msgspec.convert(delivery["body"], ev.BriefGiven)
        return stream_of_run(record.agent, str(delivery["native"])), body
    return UNREADABLE, None


def session_of_run(workspace: Workspace, agent: str, native: str) -> str:
    """The session that a run was attached to; empty if it was not."""
    rows = runs_of(workspace).runs.rows()
    return next((row.session for row in rows if (row.agent, row.native) == (agent, native)), "")
