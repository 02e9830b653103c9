"""Briefs: of a file, of a run, of where the work in this project stands.

Nothing is shown that was not masked: a digest passes the redaction as a whole before anything is made of it,
and the finished text once more. A brief of a file needs no store; none of them makes one.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from ...core.brief.compose import BYTES_DEFAULT, BYTES_MIN, compose, marked_down
from ...core.brief.facts import BriefFacts, Probe, picture
from ...core.runs.identifiers import short_run
from ...core.runs.model import RunDigest
from ...core.runs.sentences import is_substantial
from ...effects.redaction.redact import redact, redact_bytes
from ...errors import BudgetTooSmall, StoreUnavailable, UnknownRun, UnknownSession
from ...settings import data_folder, store_of
from ..features.features import Features
from ..runs.masking import masked
from ..runs.read_transcript import final, read, recognised
from ..runs.sent_runs import sent_runs_of
from ..workspace.open_session import find_session
from ..workspace.open_workspace import open_workspace
from ..workspace.workspace import Workspace

if TYPE_CHECKING:
    from ...agents.base import Found
    from ...core.runs.quotable import RunText
    from ...core.sessions.state import SessionState
    from ..runs.discovery import RunFinder
    from ..workspace.data_folder import DataFolder
    from ..workspace.last_seen import LastSeenSession

Format = Literal["text", "json", "markdown"]
Covered = Mapping[str, str] | None
MORE_BYTES = 8_192
LONG_BYTES = 6_000
"""From here on there is room to quote what was said, changed and seen; below it, a brief says more."""
RUNS_MAX = 3


def of_file(path: Path, agent: str = "", *, budget: int = BYTES_DEFAULT, form: Format = "text") -> str:
    """The brief of a transcript, by itself."""
    check(budget)
    one = recognised(path, agent)
    more = f"segue brief FILE --max-bytes {max(MORE_BYTES, 4 * budget)}"
    more = more if len(more) < 110 else ""
    if not _is_long(budget, form):
        digest = masked(final(read(path, one), one))
        return written([digest], agent=one.name, budget=budget, form=form, more=more)
    from ...core.runs.quotable import RunTexts
    from ..runs.quoting import masked_blocks

    material = RunTexts()
    digest = masked(final(read(path, one, also=material.take), one))
    blocks = masked_blocks(material.blocks)
    return written([digest], blocks=blocks, agent=one.name, budget=budget, form=form, more=more)


def of_place(
    folder: Path, environment: Mapping[str, str], what: str = "", agent: str = "", *,
    budget: int = BYTES_DEFAULT, form: Format = "text",
) -> str:  # fmt: skip
    """The brief of a run by its id, of a session by its id, or of where the work in this project stands."""
    from ...agents import agent as agent_of
    from ...effects.git.probe import probe
    from ..runs.discovery import RunFinder
    from ..workspace.data_folder import DataFolder
    from .relevant_memories import remembered

    check(budget)
    capture = RunFinder.here(folder, environment)
    found: Found | None = None
    session: SessionState | None = None
    covered: Covered = None
    seen = ""
    try:
        found = capture.find_run(what) if what else capture.newest(agent)
    except UnknownRun:
        session, covered, seen = _session(folder, environment, what, alone=True)
        if not what and not seen:
            found = _newest_there(capture, folder, environment, agent, session.id if session else "")
        if session is None and found is None:
            raise
    if found is None:
        world = probe(folder)
        more = (f"segue show {session.id}" if session else "") + seen
        memories = remembered(folder, environment, session, []) if not seen else []
        return written(
            [], session=session, memories=memories, covered=covered, probe=world, budget=budget, form=form,
            more=more,
        )  # fmt: skip
    reading = capture.reading(found)
    digests = [masked(final(reading, agent_of(found.agent)))]
    if not what:
        row = capture.row(found)
        session, covered, seen = _session(folder, environment, row.session if row else "")
        digests += before(capture, found, digests[0], row.session if row else "")
    memories = remembered(folder, environment, session, digests) if not seen else []
    world = probe(folder, digests[0].last)
    blocks: Sequence[RunText] = ()
    if _is_long(budget, form):
        from ..runs.quoting import blocks_of

        blocks = blocks_of(capture, found)
    return written(
        digests, blocks=blocks, agent=found.agent, session=session, memories=memories,
        covered=covered, probe=world, budget=budget, form=form,
        kept=(DataFolder(data_folder(environment)), found.native),
        more=f"segue show {short_run(found.native)} --timeline{seen}",
    )  # fmt: skip


def _newest_there(
    capture: RunFinder, folder: Path, environment: Mapping[str, str], agent: str, session: str
) -> Found | None:
    """The newest run that another machine left: of this session, or without one of the project."""
    from ..runs.discovery import found_of

    if capture.runs is None or capture.shelf is None:
        return None
    if session:
        rows = capture.runs.rows(session=session)
    else:
        with open_workspace(folder=folder, environment=environment) as workspace:
            rows = capture.runs.rows(projects=workspace.working_tree.project_keys(workspace.settings))
    there = (found_of(row) for row in rows if agent in ("", row.agent))
    return next((one for one in there if not one.parent), None)


def _is_long(budget: int, form: Format) -> bool:
    """Is there room to quote, and a form to quote in?"""
    return budget >= LONG_BYTES and form != "json"


def check(budget: int) -> None:
    """BudgetTooSmall before any work is done."""
    if budget < BYTES_MIN:
        raise BudgetTooSmall(
            f"a brief needs at least {BYTES_MIN} bytes, not {budget}",
            hint=f"use --max-bytes {BYTES_MIN} or more",
        )


def _session(
    folder: Path, environment: Mapping[str, str], id: str, *, alone: bool = False
) -> tuple[SessionState | None, Covered, str]:
    """The session of this id, or the current one; None without a store, if unknown, or if it is over.

    With it, the hashes over the files that its features cover. A server that is down is no fault unless
    the session is ``alone``: no run tells anything. Then it is told as last seen: the last part says so."""
    from ...core.sessions.state import OPEN
    from ..workspace.data_folder import DataFolder

    home = DataFolder(data_folder(environment)).for_store(store_of(environment))
    if not home.has_store():
        return None, None, ""
    try:
        with open_workspace(folder=folder, environment=environment) as workspace:
            session = find_session(workspace, id)
            state = session.state
            covered = Features(session).covered(state) if state.features else None
    except UnknownSession:
        return None, None, ""
    except StoreUnavailable:
        from ..workspace.last_seen import last_here

        last = last_here(home, folder, id)
        if last is not None and (id or last.state.status in OPEN):
            return last.state, None, said_of(last)
        if alone or not home.elsewhere:
            raise
        return None, None, ""  # the server is down: what is on this disk still tells where the work stands
    return (state, covered, "") if id or state.status in OPEN else (None, None, "")


def said_of(last: LastSeenSession) -> str:
    """That a session is told as it was last seen."""
    pending = f", {last.pending} pending" if last.pending else ""
    return f" (no server; the session as of {last.at[:16]}Z{pending})"


def of_found(capture: RunFinder, found: Found) -> RunDigest:
    """What a run says, masked."""
    from ...agents import agent as agent_of

    key = capture.key(found)
    digest = capture.told.get(key)
    if digest is None:
        digest = masked(final(capture.reading(found), agent_of(found.agent)))
        if capture.remembers:
            capture.told[key] = digest
    return digest


def before(capture: RunFinder, found: Found, newest: RunDigest, session: str) -> list[RunDigest]:
    """Runs before the newest that belong to the same work: of its session, or when it had no time to say."""
    from ...agents import agent as agent_of
    from ...errors import SegueError

    bare = not newest.inherited and not any(is_substantial(one.text) for one in newest.prompts)
    if not session and not bare:
        return []
    digests: list[RunDigest] = []
    for one in capture.found():
        row = capture.row(one) if session else None
        same = row is not None and row.session == session
        if (
            one.parent
            or one == found
            or one.changed > found.changed
            or capture.asks(one)
            or not (same or bare)
        ):
            continue
        try:
            digests.append(masked(final(capture.reading(one), agent_of(one.agent))))
        except SegueError:
            continue
        if len(digests) + 1 >= RUNS_MAX or bare:
            break
    return digests


def written(
    runs: Sequence[RunDigest], *, blocks: Sequence[RunText] = (), agent: str = "",
    session: SessionState | None = None, covered: Covered = None, probe: Probe | None = None,
    memories: Sequence[str] = (),
    budget: int = BYTES_DEFAULT, form: Format = "text", more: str = "",
    kept: tuple[DataFolder, str] | None = None,
) -> str:  # fmt: skip
    """The brief of what is given, in a form, masked; masks never make it longer than the budget.

    ``kept``: where to look for what a model said, and of which run."""
    shown = picture(runs, session, probe, memories, agent=agent, covered=covered)
    if kept is not None:
        from .model_claims import claims_of

        shown.claims = claims_of(*kept, shown)
    room = budget
    while True:
        if blocks and room >= LONG_BYTES:
            from ...core.brief.long_brief import account

            text = redact(account(shown, runs[0], blocks, room, more, bullets=form == "markdown"))
        else:
            text = redact(as_form(shown, form, room, more))
        over = len(text.encode("utf-8", "replace")) - budget
        if over <= 0:
            return text
        if room <= BYTES_MIN:  # masks are longer than what they hide: choose among masked texts
            shown = msgspec.json.decode(redact_bytes(msgspec.json.encode(shown)), type=BriefFacts)
            return redact(as_form(shown, form, budget, more))
        room = max(BYTES_MIN, room - over)


def as_form(shown: BriefFacts, form: Format, budget: int, more: str = "") -> str:
    if form == "json":
        from ...core.brief.manifest import manifest

        return manifest(shown, budget, more).decode()
    if form == "markdown":
        return marked_down(shown, budget, more)
    return compose(shown, budget, more)


def brief_of(
    workspace: Workspace, session: str, *, budget: int = BYTES_DEFAULT, form: Format = "text"
) -> str:
    """Where a session stands, from its state, the digests that were sent and memories, without a model."""
    from ...core.brief.facts import Probe
    from ..brief.relevant_memories import bearing

    handle = find_session(workspace, session)
    state = handle.state
    sent = sent_runs_of(workspace, state.id)
    told = [one for _, one in sent]
    return written(
        told, agent=sent[0][0].agent if sent else "", session=state,
        covered=Features(handle).covered(state) if state.features else None, probe=Probe(now=time.time()),
        memories=bearing(workspace, state, told), budget=budget, form=form, more=f"segue show {state.id}",
    )  # fmt: skip
