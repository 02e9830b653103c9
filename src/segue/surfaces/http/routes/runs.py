"""Runs, digests, briefs and restorations over HTTP.

A client that reads transcripts sends what it made of them: a row with the facts of a run, and its digest. The
transcript stays where it is, and no path in a row is ever opened here. Briefs and restorations are made of
the session's state, of its kept digests and of memories alone: what a working tree would add is absent, and
the log of a restoration says so.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from ....core.base.text import clean_name, clean_text
from ....core.brief.compose import BYTES_DEFAULT, BYTES_MIN
from ....core.resume.restoration import Restoration
from ....errors import UnknownRun
from ....services.brief.brief import brief_of_session
from ....services.runs import sent_runs
from ....services.runs.observed import runs_of
from ....services.runs.run import Run, run_in
from ....services.runs.shared_copies import SharedCopies, forget
from ...render import plain
from ..server.parameters import Cursor, Limit, Word, page, session_of
from ..server.route import Visit, route
from ..server.routing import JSON, TEXT, Answer

TAGS = ("runs",)
_TEXTS = ("id", "agent", "host", "path", "cwd", "branch", "model", "goal", "parent", "ended", "left")
_SAMPLE = {
    "id": "56e8c1d2", "agent": "codex", "session": "leak-hunt", "path": "/home/ana/.codex/x.jsonl",
    "began": "2026-11-15T09:00:00.000000Z", "last": "2026-11-15T10:00:00.000000Z", "steps": 120,
}  # fmt: skip
RUN = {**plain(Run("", "", "")), **_SAMPLE, "key": "9f2c07ab51d34e6f8a90"}


class NewRun(msgspec.Struct, forbid_unknown_fields=True):
    """A run as `segue sync` found it, and what its transcript says."""

    id: Annotated[str, Meta(min_length=1, max_length=256)]
    agent: Annotated[str, Meta(min_length=1, max_length=64)]
    host: Annotated[str, Meta(max_length=256)] = ""
    session: Annotated[str, Meta(max_length=128)] = ""
    path: Annotated[str, Meta(max_length=4_096)] = ""
    cwd: Annotated[str, Meta(max_length=4_096)] = ""
    branch: Annotated[str, Meta(max_length=256)] = ""
    began: Annotated[str, Meta(max_length=32)] = ""
    last: Annotated[str, Meta(max_length=32)] = ""
    ended: Annotated[str, Meta(max_length=32)] = ""
    left: Annotated[str, Meta(max_length=32)] = ""
    model: Annotated[str, Meta(max_length=256)] = ""
    context: Annotated[int, Meta(ge=0, le=2**53)] = 0
    window: Annotated[int, Meta(ge=0, le=2**53)] = 0
    goal: Annotated[str, Meta(max_length=4_096)] = ""
    parent: Annotated[str, Meta(max_length=256)] = ""
    side: bool = False
    stretches: Annotated[int, Meta(ge=0, le=2**53)] = 0
    compactions: Annotated[int, Meta(ge=0, le=2**53)] = 0
    steps: Annotated[int, Meta(ge=0, le=2**53)] = 0
    calls: Annotated[int, Meta(ge=0, le=2**53)] = 0
    malformed: Annotated[int, Meta(ge=0, le=2**53)] = 0
    digest: dict[str, Any] | None = None
    """What the run was about, did and left, as `GET …/digest` gives it; none: as it was."""


class KeptRun(msgspec.Struct):
    """A run that is kept."""

    key: str
    run: Run
    digest: bool
    """Whether its digest is there."""


class RunPage(msgspec.Struct):
    runs: list[Run]
    next: str = ""


class DroppedRun(msgspec.Struct):
    key: str
    dropped: bool


def _row(visit: Visit, key: str) -> Any:
    row = runs_of(visit.segue.workspace).runs.get(key)
    if row is None:
        raise UnknownRun(f"no run has the key {key[:40]!r}", hint="GET /v1/runs lists them")
    return row


@route(
    "GET", "/v1/runs", need="reader", tags=TAGS, errors=(), answer={"runs": [RUN], "next": ""},
)  # fmt: skip
def list_runs(
    visit: Visit, session: Word = "", agent: Word = "", limit: Limit = 100, cursor: Cursor = ""
) -> RunPage:
    """The runs that were sent, a page at a time, those that began last first."""
    rows = runs_of(visit.segue.workspace).runs.rows(session=session)
    found = [run for run in map(run_in, rows) if run is not None and agent in ("", run.agent)]
    runs, following = page(found, [(run.began, run.key) for run in found], cursor, limit)
    return RunPage(runs, following)


@route("GET", "/v1/runs/{key}", need="reader", tags=TAGS)
def get_run(visit: Visit, key: Word) -> KeptRun:
    """A run by its key."""
    row = _row(visit, key)
    run = run_in(row)
    if run is None:
        raise UnknownRun(
            f"the run {key[:40]!r} is kept in another form", hint="send it again with `segue sync`"
        )
    run = msgspec.structs.replace(run, shared=SharedCopies(visit.segue.workspace.store).has(key))
    return KeptRun(key, run, sent_runs.digest_in(row) is not None)


@route("GET", "/v1/runs/{key}/digest", need="reader", tags=TAGS)
def get_digest(visit: Visit, key: Word) -> dict[str, Any]:
    """What the run was about, did and left; secrets are masked."""
    found = sent_runs.digest_in(_row(visit, key))
    if found is None:
        raise UnknownRun(
            f"no digest of the run {key[:40]!r} is kept", hint="send one with PUT /v1/runs/{key}"
        )
    told: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(found))
    return told


@route(
    "PUT", "/v1/runs/{key}", need="writer", tags=TAGS, body=_SAMPLE,
    answer={"key": RUN["key"], "run": RUN, "digest": False},
)  # fmt: skip
def put_run(visit: Visit, key: Word, data: NewRun) -> KeptRun:
    """Keep a run in the place of what is kept under its key: a hash of its agent, id and transcript, which
    must be right. All texts are cleaned and masked; a digest has at most 4 MB."""
    given = data.__struct_fields__
    facts = {name: getattr(data, name) for name in given if name not in ("digest", "session")}
    for name in _TEXTS:
        facts[name] = clean_text(facts[name], what=name, mask=visit.segue.workspace.repository.mask)
    if data.session:
        session_of(visit, clean_name(data.session, what="session id"))
    run = Run(key=key, project=visit.access.project, session=data.session, present=False, **facts)
    return KeptRun(key, run, sent_runs.keep_run(visit.segue.workspace, run, data.digest))


@route("DELETE", "/v1/runs/{key}", need="writer", tags=TAGS)
def drop_run(visit: Visit, key: Word) -> DroppedRun:
    """Forget what was sent of a run, a shared copy of its transcript too; the transcript is where it was."""
    runs = runs_of(visit.segue.workspace).runs
    there = runs.get(key) is not None
    if there:
        forget(visit.segue.workspace.store, key)
    runs.drop([key])
    return DroppedRun(key, there)


# -- briefs and restorations -----------------------------------------------------------------------

Bytes = Annotated[int, Meta(ge=BYTES_MIN, le=1_000_000, description="At most so many bytes.")]
Form = Annotated[Literal["text", "json", "markdown"], Meta(description="Of the brief.")]
Budget = Annotated[
    str, Meta(max_length=32, description="minimal, balanced, full, or a number of tokens from 600 on.")
]
_TYPES = {"text": TEXT, "json": JSON, "markdown": "text/markdown"}


@route(
    "GET", "/v1/sessions/{id}/brief", need="reader", tags=("briefs",), media_type=TEXT,
    also=("application/json", "text/markdown"), answer="Goal: Refactor authentication to JWT\n…",
)  # fmt: skip
def brief(visit: Visit, id: str, max_bytes: Bytes = BYTES_DEFAULT, format: Form = "text") -> Answer:
    """Where the work stands, in at most so many bytes: from the session's state, the kept digests of its runs
    and memories, without a model."""
    session = session_of(visit, id)
    text = brief_of_session(visit.segue.workspace, session.id, budget=max_bytes, form=format)
    return Answer(text.encode("utf-8", "replace"), _TYPES[format])


@route("GET", "/v1/sessions/{id}/restoration", need="reader", tags=("briefs",))
def restoration(visit: Visit, id: str, budget: Budget = "balanced") -> Restoration:
    """The context of a session within a budget of tokens, and a log of what was told and what was not. A
    server has no working tree: notes, uncommitted changes and files are absent, and the log says so."""
    session = session_of(visit, id)
    return visit.segue.restore(session.id, budget=budget)


ROUTES = [list_runs, get_run, get_digest, put_run, drop_run, brief, restoration]
