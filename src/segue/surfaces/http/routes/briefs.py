"""`/v1/sessions/{id}/brief` and `…/restoration`: where the work stands, for whoever continues it.

Both are made of the session's state, of the digests of its runs and of memories alone: what a working tree
would add is missing, and the log of a restoration says so.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta
from starlette.responses import Response

from ....core.brief.compose import BYTES_DEFAULT, BYTES_MIN
from ....core.resume.restoration import Restoration
from ....services.brief.project_brief import brief_of_session
from ..server.route import JSON, TEXT, Caller, route

Bytes = Annotated[
    int, Meta(ge=BYTES_MIN, le=1_000_000, description="The most bytes that the brief may have.")
]
Form = Annotated[Literal["text", "json", "markdown"], Meta(description="The format of the brief.")]
Budget = Annotated[
    str, Meta(max_length=32, description="minimal, balanced, full, or a number of tokens from 300 up.")
]
_MEDIA_TYPES = {"text": TEXT, "json": JSON, "markdown": "text/markdown"}


@route(
    "GET", "/v1/sessions/{id}/brief", role="reader", media_type=TEXT,
    also=("application/json", "text/markdown"), response="Goal: Refactor authentication to JWT\n…",
)  # fmt: skip
def brief(caller: Caller, id: str, max_bytes: Bytes = BYTES_DEFAULT, format: Form = "text") -> Response:
    """Where the work stands, in a limited number of bytes: from the session's state, the digests of its runs
    and memories, without a model."""
    session = caller.session(id)
    text = brief_of_session(caller.segue.workspace, session.id, budget=max_bytes, form=format)
    return Response(text.encode("utf-8", "replace"), media_type=_MEDIA_TYPES[format])


@route("GET", "/v1/sessions/{id}/restoration", role="reader")
def restoration(caller: Caller, id: str, budget: Budget = "balanced") -> Restoration:
    """The context of a session within a budget of tokens, and a log of what was included and what was not. A
    server has no working tree: notes, uncommitted changes and files are missing, and the log says so."""
    session = caller.session(id)
    return caller.segue.restore(session.id, budget=budget)
