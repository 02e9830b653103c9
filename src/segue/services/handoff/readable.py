"""A session or a run as a document that people read, in one file: Markdown or HTML.

Everything in it is masked, shortened where it is long, and shown as text whatever it contains. Other surfaces
may ask for the document itself (``session_document``, ``run_document``) and write it in their own way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from ...agents import agent as agent_of
from ...core.base.values import count
from ...core.documents.conversation import changed_files, conversation
from ...core.documents.model import (
    Block,
    Document,
    Entry,
    Facts,
    Folded,
    Heading,
    Listing,
    Paragraph,
    Preformatted,
    shortened,
)
from ...core.event_words import event_words
from ...core.features.model import Feature
from ...core.features.verdict import Verdict
from ...core.sessions.budget import budget_words
from ...core.sessions.state import action_words
from ...core.sessions.status import SessionStatus
from ...effects.clock import now
from ...errors import SegueError, UsageError
from ..brief.project_brief import brief_of_session
from ..runs.listing import run_named, steps_of
from ..runs.run import Run, run_in
from ..runs.sessions_shown import status_with_runs
from ..workspace.open_session import find_session
from ..workspace.session_handle import SessionHandle
from ..workspace.workspace import Workspace
from .export import READABLE_FORMATS

TEXT_CHARS_MAX = 4_000
EVENTS_MAX = 2_000
RUNS_MAX = 200
FILES_MAX = 200


def written(document: Document, format: str) -> bytes:
    """A document as a file. Raises UsageError for an unknown format."""
    if format == "html":
        from ...core.documents.html import html

        return html(document).encode("utf-8", "replace")
    if format == "markdown":
        from ...core.documents.markdown import markdown

        return markdown(document).encode("utf-8", "replace")
    raise UsageError(f"unknown format: {format}", hint=f"one of {', '.join(READABLE_FORMATS)}")


def export_readable(workspace: Workspace, id: str, format: str) -> bytes:
    """The session or else the run with this id as a file. Raises UnknownSession if there is neither."""
    run = run_named(workspace, id) if id else None
    if run is not None:
        return written(run_document(workspace, run), format)
    return written(session_document(find_session(workspace, id)), format)


# -- a run -------------------------------------------------------------------------------------


def run_document(workspace: Workspace, run: Run) -> Document:
    """A run as a conversation, with what it was about and what it changed. Raises SegueError if its
    transcript cannot be read."""
    steps = steps_of(workspace, run)
    agent = agent_of(run.agent)
    mask = _mask(workspace)
    goal = mask(run.goal) or "A run without a prompt"
    facts = Facts((
        ("Run", f"{run.id} of {agent.title}"), ("Session", run.session), ("Model", run.model),
        ("Began", _when(run.began)), ("Last active", _when(run.last)),
        ("Ended", "not known" if run.ended == "recent" else run.ended),
        ("Branch", run.branch), ("Folder", run.cwd), ("Window", _window(run)),
        ("Work", f"{count(run.steps, 'step')}, {count(run.calls, 'call')}"),
        ("Not readable", count(run.malformed, "record") if run.malformed else ""),
    ))  # fmt: skip
    blocks: list[Block] = [facts]
    files = changed_files(steps)
    if files:
        times = [Entry(path, aside=count(n, "change")) for path, n in list(files.items())[:FILES_MAX]]
        left = len(files) - len(times)
        more = [Paragraph(f"and {count(left, 'more file')}")] if left else []
        blocks += [Heading(2, "What it changed"), Listing(tuple(times)), *more]
    return Document(
        goal, (*blocks, Heading(2, "Conversation"), *conversation(steps, agent.title)), _footer(workspace)
    )


def _window(run: Run) -> str:
    full = f" of {run.window:,}" if run.window else ""
    return f"{run.context:,} tokens{full}" if run.context else ""


# -- a session ---------------------------------------------------------------------------------


def session_document(session: SessionHandle) -> Document:
    """A session: its goal, plan, features with evidence, decisions, questions, findings, runs, events, and
    what its next run would be told."""
    workspace, state = session.workspace, session.state
    status = status_with_runs(session)
    parts = _Parts(_mask(workspace))
    blocks: list[Block] = [_facts(status, state.summary, parts)]
    blocks += parts.section("Plan", _plan(status))
    blocks += parts.section("Features", _features(status.features, state.features))
    blocks += parts.section(
        "Decisions", (Entry(d.text, "•", _when(d.at), _lines(("because", d.why))) for d in status.decisions)
    )
    blocks += parts.section(
        "Questions",
        (Entry(q.text, "✓" if q.answer else "?", _when(q.at), _lines(("answer", q.answer)))
         for q in state.questions),
    )  # fmt: skip
    blocks += parts.section("Findings", (Entry(f.text, "•", _when(f.at)) for f in state.findings))
    blocks += parts.section(
        "Errors",
        (Entry(t.text, "✓" if t.solution else "!", _when(t.at), _lines(("solved", t.solution)))
         for t in state.troubles),
    )  # fmt: skip
    blocks += parts.section(
        "Threads", (Entry(t.topic, "~", t.status, tuple(t.notes)) for t in status.threads)
    )
    blocks += parts.section("Runs", _runs(workspace, session.id))
    blocks += _events(session, parts)
    blocks += _brief(workspace, session.id)
    return Document(parts.text(state.goal), tuple(blocks), _footer(workspace))


class _Parts:
    """Makes parts of the texts of a session: masked, and shortened."""

    def __init__(self, mask: Callable[[str], str]) -> None:
        self._mask = mask

    def text(self, text: str) -> str:
        return shortened(self._mask(text), TEXT_CHARS_MAX)

    def section(self, title: str, entries: Iterable[Entry]) -> list[Block]:
        """A heading and a list; nothing if there are no entries."""
        made = tuple(
            Entry(self.text(one.text), one.mark, self.text(one.aside), tuple(map(self.text, one.more)))
            for one in entries
        )
        return [Heading(2, title), Listing(made)] if made else []


def _facts(status: SessionStatus, summary: str, parts: _Parts) -> Facts:
    life, progress = status.lifecycle, status.progress
    rows = (
        ("Session", status.id), ("Status", status.status),
        ("Progress", f"{progress.done} of {progress.total} done" if progress.total else ""),
        ("Project", status.project), ("Type", status.type),
        ("Created", _when(life.created)), ("Last active", _when(status.last_active)),
        ("Ended", _when(life.ended)), ("Paused", life.pause_reason if status.status == "paused" else ""),
        ("Active", f"{life.active_minutes:g} min" if life.active_minutes else ""),
        ("Spent", budget_words(status.budget)), ("Held by", status.held_by), ("Handed to", status.handed_to),
        ("Summary", summary),
        ("Last action", action_words(status.last_action)),
    )  # fmt: skip
    return Facts(tuple((name, parts.text(value)) for name, value in rows))


def _plan(status: SessionStatus) -> list[Entry]:
    return [
        *(Entry(text, "✓", "done") for text in status.done),
        *(Entry(text, "▶", "under way") for text in status.active),
        *(Entry(text, "○", "next") for text in status.next),
        *(Entry(one.item, "■", "blocked", _lines(("because", one.reason))) for one in status.blocked),
        *(Entry(text, "✗", "dropped") for text in status.dropped),
    ]


def _features(verdicts: Sequence[Verdict], features: dict[str, Feature]) -> list[Entry]:
    return [
        Entry(
            f"{one.id}: {one.description}", "✓" if one.passes else "✗", one.status,
            tuple(_evidence(one, features)),
        )
        for one in verdicts
    ]  # fmt: skip


def _evidence(verdict: Verdict, features: dict[str, Feature]) -> Iterable[str]:
    """What speaks for and against a feature, a line each."""
    if verdict.reason:
        yield verdict.reason
    feature = features.get(verdict.id)
    if feature is None:
        return
    for check in feature.checks:
        ran = feature.ran.get(check.hash)
        if ran is None:
            yield f"check not run: {check.text}"
        else:
            first = f": {ran.first}" if ran.first and not ran.ok else ""
            yield f"check {'passed' if ran.ok else 'failed'} {_when(ran.at)}: {check.text}{first}"
    for step, word in feature.attested.items():
        yield f"attested by {word.name} {_when(word.at)}: {step}" + (f" ({word.note})" if word.note else "")


def _runs(workspace: Workspace, session: str) -> list[Entry]:
    found = []
    for row in workspace.store.runs.rows(session=session):
        run = run_in(row)
        if run is not None and not run.side:
            aside = ", ".join(filter(None, (_when(run.last), run.ended, run.model)))
            found.append(Entry(f"{run.agent} {run.id}: {run.goal or '(no prompt)'}", "•", aside))
    return found[:RUNS_MAX]


def _events(session: SessionHandle, parts: _Parts) -> list[Block]:
    version = session.state.version
    events = session.log(after=max(0, version - EVENTS_MAX))
    left = version - len(events)
    entries = tuple(
        Entry(parts.text(event_words(event)), "", f"{_when(event.at)}, {event.actor}") for event in events
    )
    earlier: list[Block] = [Paragraph(f"{count(left, 'earlier event')} are left out.")] if left > 0 else []
    return [Heading(2, "Timeline"), Folded(count(version, "event"), (*earlier, Listing(entries)))]


def _brief(workspace: Workspace, session: str) -> list[Block]:
    try:
        text = brief_of_session(workspace, session)
    except SegueError as fault:
        return [Heading(2, "Brief"), Paragraph(f"It could not be written: {fault.message}")]
    return [Heading(2, "Brief"), Paragraph("What the next run would be told first."), Preformatted(text)]


def _lines(*pairs: tuple[str, str]) -> tuple[str, ...]:
    return tuple(f"{label}: {text}" for label, text in pairs if text)


def _mask(workspace: Workspace) -> Callable[[str], str]:
    return workspace.repository.mask or (lambda text: text)


def _when(at: str) -> str:
    return f"{at[:19].replace('T', ' ')} UTC" if at else ""


def _footer(workspace: Workspace) -> str:
    masked = "Secrets are masked, and long" if workspace.repository.mask else "Long"
    return f"Written by Segue, {_when(now())}. {masked} texts are shortened."
