"""A session as a person looks at it: where it stands, what happened, and what the next run would be told."""

from __future__ import annotations

from ...core.base.values import Value
from ...core.brief.compose import BYTES_DEFAULT, compose_lines
from ...core.event_words import event_words
from ...core.journal.event import Event
from ...core.sessions.status import SessionStatus
from ...effects.redaction.redact import redact
from ..brief.brief import render_brief
from ..brief.project_brief import facts_of_session
from ..runs.run import Run, run_in
from ..runs.sessions_shown import status_with_runs
from ..sessions.repository import stream_of
from ..workspace.open_session import find_session
from ..workspace.workspace import Workspace

EVENTS_PAGE = 100
EVENTS_MAX = 1_000
"""How many events are shown at most of a page that was open while they happened."""


class BriefLine(Value):
    """A line of what the next run would be told."""

    text: str
    steps: tuple[int, ...] = ()
    """The steps of the newest run that it rests on."""


class TimelineEntry(Value):
    """Something that happened in a session."""

    version: int
    at: str
    words: str
    kind: str
    actor: str = ""
    run: str = ""


class SessionView(Value):
    """Everything that a person looks at of a session."""

    status: SessionStatus
    project_name: str
    runs: list[Run]
    """Its runs, the newest first, with sub-agents'."""
    timeline: list[TimelineEntry]
    """The newest first."""
    first: int
    """The version of the oldest event that is shown."""
    older: int
    """The version before which older events are; 0 if there are none."""
    folder: str
    """Where its newest run worked on this machine; empty if that is not known."""


class SessionBrief(Value):
    """What the next run of a session would be told."""

    text: str
    lines: list[BriefLine]
    run: str = ""
    """The key of the run that steps are of."""


def session_view(workspace: Workspace, id: str, *, before: int = 0, first: int = 0) -> SessionView:
    """A session with a page of its events, the newest first; with ``first``, from that one on. Raises
    UnknownSession."""
    session = find_session(workspace, id)
    status = status_with_runs(session)
    rows = workspace.store.runs.rows(session=session.id)
    runs = [run for run in map(run_in, rows) if run is not None]
    runs.sort(key=lambda run: run.last, reverse=True)
    end = before if before > 0 else workspace.store.head(stream_of(session.id)).version + 1
    after = max(0, end - 1 - EVENTS_PAGE)
    if first:
        after = max(min(first - 1, after), end - 1 - EVENTS_MAX)
    limit = max(0, end - 1 - after)
    events = workspace.store.read(stream_of(session.id), after=after, limit=limit) if limit else []
    name = workspace.working_tree.project_name(status.project)
    folder = next((run.cwd for run in runs if run.cwd and not run.side), "")
    timeline = [_entry(event) for event in reversed(events)]
    older = after + 1 if after else 0
    return SessionView(status, name, runs, timeline, after + 1, older, folder)


def _entry(event: Event) -> TimelineEntry:
    return TimelineEntry(event.version, event.at, event_words(event), event.kind, event.actor, event.run)


def session_brief(workspace: Workspace, id: str) -> SessionBrief:
    """What the next run of a session would be told, with the steps that each line rests on. Raises
    UnknownSession."""
    known, runs, more = facts_of_session(workspace, id)
    lines = compose_lines(known, BYTES_DEFAULT, more)
    text = render_brief(known, runs, more=more)
    if redact("\n".join(line.text for line in lines)) != text:  # made shorter, because masks are longer
        return SessionBrief(text, [BriefLine(line) for line in text.split("\n")])
    last = runs.digests[0].steps if runs.digests else 0
    shown = [
        BriefLine(redact(line.text), tuple(at for at in sorted(set(line.at)) if 0 < at <= last))
        for line in lines
    ]
    return SessionBrief(text, shown, runs.keys[0] if runs.keys else "")
