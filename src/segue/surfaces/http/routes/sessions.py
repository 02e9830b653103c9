"""`/v1/sessions`: list, begin, show, export and import sessions."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta
from starlette.responses import Response

from ....core.base.text import clean_text
from ....core.event_words import event_object
from ....core.journal.event import Event
from ....core.sessions.state import TYPES
from ....core.sessions.status import Card, SessionStatus
from ....errors import AlreadyDone, UsageError
from ....services.server.idempotency import left_by
from ....services.sessions.repository import Saved
from ...render import plain
from ..server.parameters import SAVED, Cursor, Id, Limit, Name, RequestBody, Text, Version, page, with_more
from ..server.route import JSON, Caller, route

ID = SAVED["session"]
ITEMS_MAX = 10_000
CARD = {
    "id": ID, "status": "active", "goal": "Refactor authentication to JWT", "summary": "2 of 3 done",
    "organization": "", "project": "web", "type": "coding", "done": 2, "total": 3, "active": "token check",
    "created": "2026-11-15T09:00:00.000000Z", "last_active": "2026-11-15T10:12:00.000000Z", "ended": "",
    "version": 9, "project_name": "web",
    "runs": [{"id": "5f6d", "agent": "codex", "last": "2026-11-15T10:12:00.000000Z", "ended": "alive"}],
}  # fmt: skip


class NewSession(RequestBody):
    """A session to begin; if the id exists, that session is returned unchanged."""

    goal: Text = ""
    items: Annotated[list[Text], Meta(max_length=ITEMS_MAX)] = []
    id: Id = ""
    type: Literal[("", *TYPES)] = ""  # type: ignore[valid-type]
    organization: Name = ""
    project: Name = ""


class StartedSession(Saved, kw_only=True):
    """A session that was begun, or that existed already."""

    status: str


class SessionPage(msgspec.Struct):
    """Sessions, and the cursor of the next page."""

    sessions: list[Card]
    next: str = ""
    """The cursor of the next page; empty if this was the last one."""


class LoggedEvent(msgspec.Struct):
    """An event: the envelope, and the body as it is in the journal."""

    version: int
    kind: str
    at: str
    actor: str
    run: str
    format: int
    left: int
    """How many events of the same commit follow."""
    erased: bool
    known: bool
    """Whether this server knows the kind."""
    words: str
    body: Any
    hash: str
    prev: str


def logged(event: Event) -> LoggedEvent:
    """An event as a log shows it."""
    return msgspec.convert(event_object(event), LoggedEvent)


class EventLog(msgspec.Struct):
    events: list[LoggedEvent]


class ImportedFile(RequestBody):
    """An export to import."""

    content: str
    """The content of an export, as text."""
    format: Literal["", "json", "yaml"] = ""
    """By default recognised from the content."""
    as_id: Id = ""
    """Another id for it; only possible with session YAML."""


Status = Annotated[
    Literal["", "created", "active", "paused", "completed", "abandoned"],
    Meta(description="Only sessions with this status."),
]
Order = Annotated[
    Literal["created", "active"],
    Meta(description="`created`: newest first, stable while others write; `active`: last active first."),
]


@route("GET", "/v1/sessions", role="reader", errors=(), response={"sessions": [CARD], "next": "WyIyMDI2Il0"})
def list_sessions(
    caller: Caller, status: Status = "", project: Name = "", organization: Name = "",
    order: Order = "created", limit: Limit = 100, cursor: Cursor = "",
) -> SessionPage:  # fmt: skip
    """The sessions of this project, a page at a time. ``project`` is the key or the name that a session
    itself has, for instance the URL of its repository."""
    cards = caller.segue.list(everywhere=True, status=status, project=project, organization=organization)
    keys = [(getattr(card, "created" if order == "created" else "last_active"), card.id) for card in cards]
    found, following = page(cards, keys, cursor, limit)
    return SessionPage(found, following)


@route(
    "POST", "/v1/sessions", role="writer", status=201, errors=(),
    body={"goal": "Refactor authentication to JWT", "items": ["user model", "auth middleware"]},
    response={**SAVED, "events": 4, "version": 4, "status": "active"},
)  # fmt: skip
def create_session(caller: Caller, body: NewSession) -> StartedSession:
    """Begin a session. If the ``id`` exists, nothing is changed and ``events`` is 0: creating the same
    session twice has the effect of creating it once."""
    segue = caller.segue
    for name in ("organization", "project"):
        clean_text(getattr(body, name), what=name, limit=256)
    exists = bool(body.id) and segue.workspace.repository.exists(body.id)
    try:
        session = segue.attach(body.id) if exists else segue.start(**msgspec.structs.asdict(body))
    except AlreadyDone as again:  # the same request again, because its response was lost
        left = left_by(caller.server.projects.store(caller.access.project), again.stream)
        session, exists = segue.attach(left[0][0].removeprefix("session/")), True
    state = session.state
    saved = segue.workspace.with_warnings(Saved(session.id, state.version, 0 if exists else state.version))
    return with_more(StartedSession, saved, status=state.status)


@route("GET", "/v1/sessions/{id}", role="reader")
def get_session(caller: Caller, id: str) -> SessionStatus:
    """What is done, under way, next and blocked, and all the rest worth showing: what `segue status --json`
    prints. The server cannot see whether files have changed since features were proven in a working tree, and
    shows these as ``stale``."""
    return caller.session(id).status()


@route("GET", "/v1/sessions/{id}/state", role="reader")
def get_state(caller: Caller, id: str, version: Version = 0) -> dict[str, Any]:
    """The whole folded state, now or as it was at a version."""
    session = caller.session(id)
    state = session.state
    if version and version != state.version:
        if version > state.version:
            raise UsageError(f"{id} is at version {state.version}", hint="give an earlier version, or none")
        state = caller.segue.workspace.repository.state_at(id, version)
    found: dict[str, Any] = plain(state)
    return found


@route("GET", "/v1/sessions/{id}/log", role="reader")
def get_log(caller: Caller, id: str, after: Version = 0, limit: Limit = 100) -> EventLog:
    """The newest events as a timeline, in order, with each in words: what `segue log --json` prints."""
    session = caller.session(id)
    after = max(after, session.state.version - limit)
    return EventLog([logged(event) for event in session.log(after=after)])


Form = Annotated[
    Literal["json", "yaml", "markdown", "html"],
    Meta(
        description="`json` keeps everything, `yaml` what session YAML can hold; `markdown` and `html` are "
        "for people to read."
    ),
]
_MEDIA_TYPES = {
    "json": JSON, "yaml": "application/yaml", "markdown": "text/markdown; charset=utf-8",
    "html": "text/html; charset=utf-8",
}  # fmt: skip
_ALONE = {"content-security-policy": "sandbox; default-src 'none'; style-src 'unsafe-inline'"}
"""What a browser shows of an exported page has nothing to do with the server that it comes from."""


@route(
    "GET", "/v1/sessions/{id}/export", role="reader", also=("application/yaml", "text/markdown", "text/html")
)
def export_session(caller: Caller, id: str, format: Form = "json") -> dict[str, Any]:
    """The session as `segue export` writes it: as JSON with all events, hashes and pieces, to be verified and
    imported elsewhere, or as a page to read."""
    content = caller.segue.export(caller.session(id).id, format)
    headers = _ALONE if format == "html" else {}
    found = Response(content, media_type=_MEDIA_TYPES[format], headers=headers)
    return found  # type: ignore[return-value]


@route(
    "POST", "/v1/sessions/import", role="writer", status=201, errors=(),
    body={"content": "{\"segue\":1, …}"}, response={**SAVED, "events": 0, "status": "paused"},
)  # fmt: skip
def import_session(caller: Caller, body: ImportedFile) -> StartedSession:
    """Import a session. It is verified first; what exists already is not added again, another history under
    the same id is refused, and evidence from elsewhere proves nothing here."""
    segue = caller.segue
    session = segue.import_(body.content.encode(), format=body.format or None, as_id=body.as_id)
    state = session.state
    saved = Saved(session.id, state.version, 0)
    return with_more(StartedSession, saved, status=state.status)
