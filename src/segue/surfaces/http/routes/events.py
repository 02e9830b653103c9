"""Events of a session over HTTP: read them from a version on, follow them, append some.

An event is a fact in the journal, and what may become one is decided by the library. So what is appended here
passes the same decision as the command that it comes from, at exactly the version that is expected. Kinds
that only a decision or Segue itself can bring about (a completion, a rewind, evidence of features, an import,
a hold) cannot be appended: they have routes of their own.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from anyio import to_thread
from msgspec import Meta

from ....core import event_kinds as ev
from ....core.base.values import Value, parse_digits
from ....core.event_words import event_object
from ....core.sessions import budget as money
from ....core.sessions import commands as do
from ....effects.clock import now
from ....errors import UsageError
from ....services.sessions.repository import Saved, stream_of
from ...render import compact
from ..server.parameters import SAVED, WHOLE_MAX, Cursor, Limit, Version, cursor_of, keys_in, session_of
from ..server.response import header
from ..server.route import Visit, route
from ..server.routing import Answer, Request
from .commands import checked, wire_of
from .sessions import LoggedEvent

TAGS = ("events",)
EVENTS_MAX = 1_000
HEART_SECONDS = 15.0
BATCH = 200
EVENT = {
    "version": 5, "kind": "item.done", "at": "2026-11-15T10:12:00.000000Z", "actor": "user", "run": "",
    "format": 1, "left": 0, "erased": False, "known": True, "words": "done: user model",
    "body": {"text": "user model"}, "hash": "9f2c…", "prev": "07ab…",
}  # fmt: skip

FROM: dict[type[ev.Body], Callable[[Any], do.Command]] = {
    ev.ItemAdded: lambda b: do.Add(b.text),
    ev.ItemBegun: lambda b: do.Begin(b.text, b.quiet),
    ev.ItemDone: lambda b: do.Done(b.text),
    ev.ItemBlocked: lambda b: do.Block(b.text, b.reason, stay=True),
    ev.ItemUnblocked: lambda b: do.Unblock(b.text),
    ev.ItemDropped: lambda b: do.Drop(b.text, b.reason),
    ev.Noted: lambda b: do.Note(b.text),
    ev.Decided: lambda b: do.Decide(b.text, b.why),
    ev.Asked: lambda b: do.Ask(b.text),
    ev.Answered: lambda b: do.Answer(b.text, b.answer),
    ev.Learnt: lambda b: do.Learn(b.text),
    ev.ErrorSeen: lambda b: do.Fail(b.text),
    ev.ErrorSolved: lambda b: do.Solve(b.text, b.solution),
    ev.ThreadMoved: lambda b: do.Thread(b.topic, b.status, tuple(b.notes)),
    ev.FocusSet: lambda b: do.Focus(b.note_id, b.note_title, b.file, b.position),
    ev.NotesLoaded: lambda b: do.LoadNotes(tuple(b.ids), b.tokens, b.paths),
    ev.ChangesSeen: lambda b: do.SeeChanges(tuple(b.changes)),
    ev.ContextNoted: lambda b: do.NoteContext(b.values),
    ev.Counted: lambda b: do.Count(b.counts),
    ev.BudgetSet: lambda b: money.SetBudget(b.limit_cost, b.limit_tokens, b.limited),
    ev.BudgetSpent: lambda b: money.Spend(b.cost, b.tokens),
    ev.AgentNoted: lambda b: do.NoteAgent(b.agent, b.values),
    ev.AgentDropped: lambda b: do.DropAgent(b.agent),
    ev.Marked: lambda b: do.Mark(b.name, b.note),
    ev.SessionPaused: lambda b: do.Pause(b.reason, b.cause),
    ev.Resumed: lambda b: do.Resume(),
    ev.Abandoned: lambda b: do.Abandon(b.reason),
    ev.Described: lambda b: do.Describe(b.goal, b.summary),
    ev.Handed: lambda b: do.Hand(b.to, b.note),
}
"""Of each kind that may be appended, the command that it comes from."""


def _drafted(body: type[ev.Body]) -> type[msgspec.Struct]:
    """An event of a kind as it comes in a request."""
    name = f"{body.__name__}Event"
    inner = wire_of(body, name=f"{body.__name__}Body")
    field: Any = ("body", inner)
    if not any(one.required for one in msgspec.structs.fields(inner)):
        field = ("body", inner, msgspec.field(default_factory=inner))
    return msgspec.defstruct(
        name, [field], module=__name__, tag=body.KIND, tag_field="kind", forbid_unknown_fields=True,
        namespace={"__doc__": f"An event of the kind {body.KIND}."},
    )  # fmt: skip


WIRE = {_drafted(body): body for body in FROM}
_ANY: Any = reduce(or_, WIRE)

if TYPE_CHECKING:

    class EventList(msgspec.Struct):
        events: list[Any]
        expect: int

else:
    EventList = msgspec.defstruct(
        "EventList",
        [
            ("events", Annotated[list[_ANY], Meta(min_length=1, max_length=EVENTS_MAX)]),
            ("expect", Annotated[int, Meta(ge=1, le=WHOLE_MAX)]),
        ],
        module=__name__, forbid_unknown_fields=True,
        namespace={"__doc__": "Events, and the version of the session behind which they are to stand."},
    )  # fmt: skip


class EventPage(msgspec.Struct):
    """Events in order, and where to go on."""

    events: list[LoggedEvent]
    head: int
    """The session's version."""
    next: str = ""
    """The cursor of what comes behind these, also if there is nothing yet."""


def event_of(event: ev.Event) -> LoggedEvent:
    """An event as it is told."""
    return msgspec.convert(event_object(event), LoggedEvent)


@route(
    "GET", "/v1/sessions/{id}/events", need="reader", tags=TAGS,
    answer={"events": [EVENT], "head": 5, "next": "WzVd"},
)  # fmt: skip
def list_events(
    visit: Visit, id: str, after: Version = 0, limit: Limit = 100, cursor: Cursor = ""
) -> EventPage:
    """Events behind a version, in order; ``cursor`` goes on where a page before ended."""
    session = session_of(visit, id)
    if cursor:
        (after,) = keys_in(cursor, int)
    head = visit.segue.workspace.store.head(stream_of(session.id)).version
    events = session.log(after=after, limit=limit)
    last = events[-1].version if events else max(after, 0)
    return EventPage([event_of(event) for event in events], max(head, last), cursor_of(last))


@route(
    "POST", "/v1/sessions/{id}/events", need="writer", tags=TAGS, answer=SAVED,
    together=lambda data: all(WIRE[type(one)] is not ev.Learnt for one in data.events),  # it takes a model
    body={"events": [{"kind": "item.done", "body": {"text": "user model"}}], "expect": 4},
)  # fmt: skip
def append_events(visit: Visit, id: str, data: EventList) -> Saved:
    """Append events behind exactly the version ``expect``, all or none; 409 ``stale_version`` if the session
    is elsewhere. Each is decided on as its command would be: one that says what is so already adds nothing,
    and one that cannot be is refused. Kinds that only a decision brings about are not taken."""
    session = session_of(visit, id)
    commands = [checked(FROM[WIRE[type(one)]](one.body)) for one in data.events]
    segue = visit.segue
    saved = segue.workspace.repository.commit(session.id, commands, since=data.expect, exact=True)
    return segue.workspace.with_warnings(saved)


# -- following -------------------------------------------------------------------------------------


class _Following(Value):
    """Who follows what."""

    visit: Visit
    stream: str
    after: int


@route(
    "GET", "/v1/sessions/{id}/events/follow", need="reader", tags=TAGS, media_type="text/event-stream",
    answer="id: 5\nevent: item.done\ndata: {\"version\": 5, …}\n\n",
)  # fmt: skip
async def follow_events(visit: Visit, request: Request, id: str, after: Version = 0) -> Answer:
    """Events as they happen, as server-sent events: ``id`` is the version, so that a client that lost the
    connection goes on with `Last-Event-ID`. Comments keep the connection open; it ends with the server, or
    when the key no longer holds."""
    session = await to_thread.run_sync(session_of, visit, id)
    last = request.headers.get("last-event-id", "")
    if last:
        after = parse_digits(last)
        if not 0 <= after <= WHOLE_MAX:
            raise UsageError("Last-Event-ID is no version", hint="send the id of the last event, or none")
    told = _told(_Following(visit, stream_of(session.id), after))
    return Answer(told, "text/event-stream", headers=[header("cache-control", "no-store")])


async def _told(asked: _Following) -> AsyncGenerator[bytes, None]:
    visit, after, beat = asked.visit, asked.after, time.monotonic()
    watch, project = visit.front.watch, visit.access.project
    yield b"retry: 1000\n: following\n\n"
    while not watch.closing:
        waking = watch.waking(project)
        if await watch.head(project, asked.stream) > after:
            if not await to_thread.run_sync(_still_known, visit):
                return
            journal = visit.front.projects.store(project)
            for event in await to_thread.run_sync(
                lambda: journal.read(asked.stream, after=after, limit=BATCH)  # noqa: B023
            ):
                after, beat = event.version, time.monotonic()
                data = compact(event_object(event)).decode()
                yield f"id: {event.version}\nevent: {event.kind}\ndata: {data}\n\n".encode()
            continue
        await watch.wait(waking, HEART_SECONDS)
        if time.monotonic() - beat >= HEART_SECONDS:
            if not await to_thread.run_sync(_still_known, visit):
                return
            beat = time.monotonic()
            yield b": still here\n\n"


def _still_known(visit: Visit) -> bool:
    """Whether the key still holds."""
    if not visit.front.rules.auth:
        return True
    record = visit.front.projects.desk.key(visit.access.key)
    return record is not None and record.state(now()) == "live"


ROUTES = [list_events, append_events, follow_events]
