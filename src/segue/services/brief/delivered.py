"""The briefs that runs were given, recorded in the stream of each run.

For agents whose transcripts do not contain the output of hooks, this is the only trace. Recorded are the text
and the kind, source and size of each fact in it, so that useful facts can be told from useless ones later.
The stream of a run also holds what recording hooks saw (``services/hooks/spool_drain.py``).
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from ...core import event_kinds as ev
from ...core.base.canonical import sha256
from ...core.base.text import clean_text
from ...core.base.values import Value, iso, seconds_of
from ...core.runs.brief_labels import Label
from ...core.runs.brief_text import CLOSING, OPENING
from ...core.runs.steps import Given
from ...effects.clock import now
from ...errors import SegueError, StaleVersion
from ...stores.base import Append, Journal
from ..runs.run_stream import stream_of_run

if TYPE_CHECKING:
    from ..runs.run import Run
    from ..workspace.workspace import Workspace

_DECLARED = (
    Label.GOAL, Label.OPEN, Label.BLOCKED, Label.UNPROVEN, Label.QUESTIONS, Label.DECIDED, Label.FOCUS,
    Label.THREADS, Label.LEARNT, Label.NOTICE,
)  # fmt: skip


class DeliveredFact(Value):
    """A part of a brief: what it is about, where it comes from, and its size."""

    kind: str
    """The label of its line, in lower case."""
    source: str
    """session, run, probe, memory or brief (its first and last line)."""
    bytes: int


class DeliveredBrief(Value):
    """A text that a run was given, by a hook or with its first prompt."""

    agent: str
    run: str
    at: str
    kind: str
    """brief, steer (before a compaction), pressure, pitfall, or prompt: what Segue started the run with."""
    source: str
    """For a brief, what began the run: startup, resume, compact, clear or fork."""
    bytes: int
    text: str
    facts: tuple[DeliveredFact, ...] = ()
    session: str = ""


def facts_of(text: str, *, declared: bool = False) -> tuple[DeliveredFact, ...]:
    """The facts of a brief. With ``declared``, those that a session can provide are attributed to it."""
    facts: list[DeliveredFact] = []
    for line in text.split("\n"):
        size = len(line.encode("utf-8", "replace")) + 1
        label = line.partition(":")[0].partition(" (")[0]
        if line.startswith((OPENING, CLOSING)) or not line:
            facts.append(DeliveredFact("frame", "brief", size))
        elif label.isupper() and ":" in line:
            facts.append(DeliveredFact(label.lower(), _source(label, declared), size))
        elif facts:
            last = facts.pop()
            facts.append(DeliveredFact(last.kind, last.source, last.bytes + size))
        else:
            facts.append(DeliveredFact("frame", "brief", size))
    return tuple(facts)


def _source(label: str, declared: bool) -> str:
    if label == Label.TREE:
        return "probe"
    if label in (Label.REMEMBERED, Label.PITFALL):
        return "memory"
    return "session" if declared and label in _DECLARED else "run"


def delivered_to(workspace: Workspace, agent: str, native: str) -> list[DeliveredBrief]:
    """Every text that a run was given, in order."""
    briefs = []
    for event in workspace.store.read(stream_of_run(agent, native)):
        body = ev.read_body(event)
        if isinstance(body, ev.BriefGiven):
            facts = tuple(DeliveredFact(*fact) for fact in body.facts)
            briefs.append(
                DeliveredBrief(
                    agent, native, event.at, body.what, body.source, body.bytes, body.text, facts,
                    body.session,
                )
            )  # fmt: skip
    return briefs


def told_to_run(workspace: Workspace, run: Run) -> list[DeliveredBrief]:
    """Every text that a run was given, in order: what hooks said, and what Segue wrote into its prompts,
    which stands in the transcript alone."""
    from ..runs.listing import steps_of

    told = delivered_to(workspace, run.agent, run.id)
    known = {_words(one.text) for one in told}
    with suppress(SegueError, OSError):
        for step in steps_of(workspace, run):
            if not isinstance(step, Given) or _words(step.text) in known:
                continue
            known.add(_words(step.text))
            size, facts = len(step.text.encode("utf-8", "replace")), facts_of(step.text)
            at = iso(step.at)
            told.append(
                DeliveredBrief(run.agent, run.id, at, "prompt", "", size, step.text, facts, run.session)
            )
    return sorted(told, key=lambda one: seconds_of(one.at))


def _words(text: str) -> str:
    return " ".join(text.split())


def brief_body(
    workspace: Workspace, text: str, *, kind: str, source: str, session: str = "", declared: bool = False,
    runs: Sequence[str] = (), own: bool = False,
) -> ev.BriefGiven:  # fmt: skip
    """The event body that records a text given to a run."""
    mask = workspace.repository.mask
    clean = clean_text(text, what="brief", mask=mask, limit=65_536)
    facts = [(fact.kind, fact.source, fact.bytes) for fact in facts_of(text, declared=declared)]
    size = len(text.encode("utf-8", "replace"))
    return ev.BriefGiven(kind, source, size, text_hash(text), clean, facts, session, runs=list(runs), own=own)


def text_hash(text: str) -> str:
    """A hash by which an identical text is recognised."""
    return sha256(text.encode("utf-8", "replace")).hexdigest()[:24]


def append(journal: Journal, stream: str, bodies: Sequence[ev.Body], *, actor: str, at: str = "") -> None:
    """Append to a stream, after whatever others append at the same time."""
    drafts = [ev.draft(body, at=at or now(), actor=actor) for body in bodies]
    while drafts:
        try:
            journal.append(Append(stream, journal.head(stream).version, drafts))
            return
        except StaleVersion:
            continue
