"""`/v1/sessions/{id}/events`: read events from a version on, follow them, append some.

An event is a fact in the journal, and the library decides what may become one. So an event that is sent here
is treated as the command that leads to it, and decided at exactly the version that is expected. Kinds that
only a decision or Segue itself can produce (a completion, a rewind, evidence of features, an import, a hold)
cannot be appended: they have routes of their own.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable, Iterable
from functools import partial, reduce
from operator import or_
from typing import Annotated, Any

import msgspec
from anyio import to_thread
from msgspec import Meta
from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from ....core import event_kinds as ev
from ....core.base.values import parse_digits
from ....core.event_words import event_object
from ....core.sessions import commands as do
from ....effects.clock import now
from ....errors import UsageError
from ....services.sessions.repository import Saved, stream_of
from ...render import compact
from ..server.parameters import INTEGER_MAX, Cursor, Limit, RequestBody, Version, cursor_of, keys_in
from ..server.route import Caller, route
from .commands import COMMANDS, command_of, commit, needs_no_model, wire_type
from .sessions import LoggedEvent, logged

EVENTS_MAX = 1_000
HEARTBEAT_SECONDS = 15.0
BATCH = 16
"""Events at once for a follower: a client that does not read them has them in memory until it is dropped."""
EVENT = {
    "version": 5, "kind": "item.done", "at": "2026-11-15T10:12:00.000000Z", "actor": "user", "run": "",
    "format": 1, "left": 0, "erased": False, "known": True, "words": "done: user model",
    "body": {"text": "user model"}, "hash": "9f2c…", "prev": "07ab…",
}  # fmt: skip


def _wire_event(kind: type[do.Command], body: type[ev.Body]) -> type[msgspec.Struct]:
    """An event as it is sent: its body has the fields of the command that leads to it."""
    inner = wire_type(kind, f"{body.__name__}Body", body.__struct_fields__)
    needed = any(field.required for field in msgspec.structs.fields(inner))
    field = ("body", inner) if needed else ("body", inner, msgspec.field(default_factory=inner))
    return msgspec.defstruct(
        f"{body.__name__}Event", [field], module=__name__, tag=body.KIND, tag_field="kind",
        forbid_unknown_fields=True, namespace={"__doc__": f"An event of the kind {body.KIND}."},
    )  # fmt: skip


WIRE = {_wire_event(kind, body): kind for kind, body in COMMANDS.items()}
_AnyEvent: Any = reduce(or_, WIRE)


class EventList(RequestBody):
    """Events, and the version of the session after which to append them."""

    events: Annotated[list[_AnyEvent], Meta(min_length=1, max_length=EVENTS_MAX)]
    expect: Annotated[int, Meta(ge=1, le=INTEGER_MAX)]


def _command_of(event: Any) -> do.Command:
    command = command_of(WIRE[type(event)], event.body)
    return replace(command, stay=True) if isinstance(command, do.Block) else command


class EventPage(msgspec.Struct):
    """Events in order, and the cursor of the next page."""

    events: list[LoggedEvent]
    head: int
    """The session's version."""
    next: str = ""
    """The cursor of what comes after these, even if there is nothing yet."""


@route(
    "GET", "/v1/sessions/{id}/events", role="reader",
    response={"events": [EVENT], "head": 5, "next": "WzVd"},
)  # fmt: skip
def list_events(
    caller: Caller, id: str, after: Version = 0, limit: Limit = 100, cursor: Cursor = ""
) -> EventPage:
    """Events after a version, in order; ``cursor`` continues where the previous page ended."""
    session = caller.session(id)
    if cursor:
        (after,) = keys_in(cursor, int)
    head = caller.segue.workspace.store.head(stream_of(session.id)).version
    events = session.log(after=after, limit=limit)
    last = events[-1].version if events else max(after, 0)
    return EventPage([logged(event) for event in events], max(head, last), cursor_of(last))


@route(
    "POST", "/v1/sessions/{id}/events", role="writer",
    together=lambda body: needs_no_model([WIRE[type(one)] for one in body.events]),
    body={"events": [{"kind": "item.done", "body": {"text": "user model"}}], "expect": 4},
)  # fmt: skip
def append_events(caller: Caller, id: str, body: EventList) -> Saved:
    """Append events after exactly the version ``expect``, all or none; 409 ``stale_version`` if the session
    has another version. Each is decided as its command would be: one that changes nothing adds nothing, and
    one that is not possible is refused. Kinds that only a decision produces are not accepted."""
    commands = [_command_of(event) for event in body.events]
    return commit(caller, id, commands, since=body.expect, exact=True)


@route(
    "GET", "/v1/sessions/{id}/events/follow", role="reader", media_type="text/event-stream",
    response="id: 5\nevent: item.done\ndata: {\"version\": 5, …}\n\n",
)  # fmt: skip
async def follow_events(caller: Caller, request: Request, id: str, after: Version = 0) -> Response:
    """Events as they happen, as server-sent events: ``id`` is the version, so that a client that lost the
    connection continues with `Last-Event-ID`. Comments keep the connection open; it ends with the server, or
    when the key is no longer valid."""
    session = await to_thread.run_sync(caller.session, id)
    last = request.headers.get("last-event-id", "")
    if last:
        after = parse_digits(last)
        if not 0 <= after <= INTEGER_MAX:
            raise UsageError("Last-Event-ID is not a version", hint="send the id of the last event, or none")
    return StreamingResponse(
        _followed(caller, stream_of(session.id), after), media_type="text/event-stream",
        headers={"cache-control": "no-store"},
    )  # fmt: skip


async def _followed(caller: Caller, stream: str, after: int) -> AsyncGenerator[bytes, None]:
    follower, project = caller.server.follower, caller.access.project
    store, last_sent = caller.server.projects.store(project), time.monotonic()
    known = partial(_still_known, caller)
    yield b"retry: 1000\n: following\n\n"
    while not follower.closing:
        signal = follower.signal(project)
        if await follower.head(project, stream) > after:
            if not await follower.shared((project, "key", caller.access.key), known):
                return
            place = (project, "events", stream, str(after))
            read = partial(store.read, stream, after=after, limit=BATCH)
            for version, message in await follower.shared(place, partial(_messages, read)):
                after, last_sent = version, time.monotonic()
                yield message
            continue
        await follower.wait(signal, HEARTBEAT_SECONDS)
        if time.monotonic() - last_sent >= HEARTBEAT_SECONDS:
            if not await follower.shared((project, "key", caller.access.key), known):
                return
            last_sent = time.monotonic()
            yield b": still here\n\n"


def _messages(read: Callable[[], Iterable[ev.Event]]) -> list[tuple[int, bytes]]:
    """The next events with their versions, as messages."""
    found = []
    for event in read():
        data = compact(event_object(event)).decode()
        message = f"id: {event.version}\nevent: {event.kind}\ndata: {data}\n\n"
        found.append((event.version, message.encode()))
    return found


def _still_known(caller: Caller) -> bool:
    """Whether the caller's key is still valid."""
    if not caller.server.options.auth:
        return True
    record = caller.server.projects.server_tables.key(caller.access.key)
    return record is not None and record.state(now()) == "live"
