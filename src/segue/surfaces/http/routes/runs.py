"""`/v1/runs`: runs of agents and their digests.

A client that reads transcripts sends what it made of them: a row with the facts of a run, and its digest. The
transcript stays where it is, and no path in a row is ever opened here.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from ....core.base.text import clean_name, clean_text
from ....errors import UnknownRun
from ....services.runs import sent_runs
from ....services.runs.observed import runs_of
from ....services.runs.run import Run, run_in
from ....services.runs.shared_copies import SharedCopies, forget
from ...render import plain
from ..server.parameters import INTEGER_MAX, Cursor, Limit, Name, RequestBody, page
from ..server.route import Caller, route

Count = Annotated[int, Meta(ge=0, le=INTEGER_MAX)]
_TEXTS = ("id", "agent", "host", "path", "cwd", "branch", "model", "goal", "parent", "ended", "left")
_SAMPLE = {
    "id": "56e8c1d2", "agent": "codex", "session": "leak-hunt", "path": "/home/ana/.codex/x.jsonl",
    "began": "2026-11-15T09:00:00.000000Z", "last": "2026-11-15T10:00:00.000000Z", "steps": 120,
}  # fmt: skip
RUN = {**plain(Run("", "", "")), **_SAMPLE, "key": "9f2c07ab51d34e6f8a90"}


class SentRun(RequestBody):
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
    context: Count = 0
    window: Count = 0
    goal: Annotated[str, Meta(max_length=4_096)] = ""
    parent: Annotated[str, Meta(max_length=256)] = ""
    side: bool = False
    stretches: Count = 0
    compactions: Count = 0
    steps: Count = 0
    calls: Count = 0
    malformed: Count = 0
    digest: dict[str, Any] | None = None
    """What the run was about, did and left, as `GET …/digest` returns it; without it, the stored one
    stays."""


class StoredRun(msgspec.Struct):
    """A run as the server has it."""

    key: str
    run: Run
    digest: bool
    """Whether its digest is stored."""


class RunPage(msgspec.Struct):
    runs: list[Run]
    next: str = ""


class DroppedRun(msgspec.Struct):
    key: str
    dropped: bool


def _row(caller: Caller, key: str) -> Any:
    row = runs_of(caller.segue.workspace).runs.get(key)
    if row is None:
        raise UnknownRun(f"no run has the key {key[:40]!r}", hint="GET /v1/runs lists them")
    return row


@route("GET", "/v1/runs", role="reader", errors=(), response={"runs": [RUN], "next": ""})
def list_runs(
    caller: Caller, session: Name = "", agent: Name = "", limit: Limit = 100, cursor: Cursor = ""
) -> RunPage:
    """The runs that were sent, a page at a time, newest first."""
    rows = runs_of(caller.segue.workspace).runs.rows(session=session)
    found = [run for run in map(run_in, rows) if run is not None and agent in ("", run.agent)]
    runs, following = page(found, [(run.began, run.key) for run in found], cursor, limit)
    return RunPage(runs, following)


@route("GET", "/v1/runs/{key}", role="reader")
def get_run(caller: Caller, key: Name) -> StoredRun:
    """A run by its key."""
    row = _row(caller, key)
    run = run_in(row)
    if run is None:
        raise UnknownRun(
            f"the run {key[:40]!r} is stored in another format", hint="send it again with `segue sync`"
        )
    run = msgspec.structs.replace(run, shared=SharedCopies(caller.segue.workspace.store).has(key))
    return StoredRun(key, run, sent_runs.digest_in(row) is not None)


@route("GET", "/v1/runs/{key}/digest", role="reader")
def get_digest(caller: Caller, key: Name) -> dict[str, Any]:
    """What the run was about, did and left; secrets are masked."""
    found = sent_runs.digest_in(_row(caller, key))
    if found is None:
        raise UnknownRun(
            f"no digest of the run {key[:40]!r} is kept", hint="send one with PUT /v1/runs/{key}"
        )
    digest: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(found))
    return digest


@route(
    "PUT", "/v1/runs/{key}", role="writer", body=_SAMPLE,
    response={"key": RUN["key"], "run": RUN, "digest": False},
)  # fmt: skip
def put_run(caller: Caller, key: Name, body: SentRun) -> StoredRun:
    """Store a run in place of the one with its key, which must be the hash of its agent, id and transcript.
    All texts are cleaned and masked; a digest may have at most 4 MB."""
    facts = msgspec.structs.asdict(body)
    session, digest = facts.pop("session"), facts.pop("digest")
    for name in _TEXTS:
        facts[name] = clean_text(facts[name], what=name, mask=caller.segue.workspace.repository.mask)
    if session:
        caller.session(clean_name(session, what="session id"))
    run = Run(key=key, project=caller.access.project, session=session, present=False, **facts)
    return StoredRun(key, run, sent_runs.keep_run(caller.segue.workspace, run, digest))


@route("DELETE", "/v1/runs/{key}", role="writer")
def drop_run(caller: Caller, key: Name) -> DroppedRun:
    """Delete what was sent of a run, and a shared copy of its transcript; the transcript itself stays where
    it is."""
    caller.segue.workspace.pause_file.check()
    runs = runs_of(caller.segue.workspace).runs
    there = runs.get(key) is not None
    if there:
        forget(caller.segue.workspace.store, key)
    runs.drop([key])
    return DroppedRun(key, there)
