"""What runs were told by us: each brief, kept with the run that got it, and why a stop was refused.

It is the one trace of it for agents that do not write down what a hook said. A run's stream also holds
what recording hooks saw of it (``services.spooling``). The text is kept, and each fact of it with its
kind, source and size: later, what was of use can be told from what was not.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...core import event_kinds as ev
from ...core.base.text import clean_name, clean_text
from ...core.base.values import Value
from ...core.runs.brief_labels import Label
from ...core.runs.inherited import CLOSING, OPENING
from ...effects.clock import now
from ...errors import StaleVersion
from ...stores.base import Append

if TYPE_CHECKING:
    from ...stores.base import Journal
    from ..workspace.workspace import Workspace

_PROBED = (Label.SINCE_THEN, Label.UNCOMMITTED)
_DECLARED = (
    Label.GOAL,
    Label.PLAN,
    Label.NEXT,
    Label.BLOCKED,
    Label.QUESTIONS,
    Label.DONE,
    Label.DECIDED,
    Label.LEARNT,
)


class DeliveredFact(Value):
    """A part of a brief: what it is about, where it was known from, and how large it is."""

    kind: str
    """The label of its line, in small letters."""
    source: str
    """session, run, probe, memory or brief (its own first and last line)."""
    bytes: int


class DeliveredBrief(Value):
    """A text that a run was given."""

    agent: str
    run: str
    at: str
    kind: str
    """brief, steer (before a compaction) or pressure."""
    source: str
    """Of a brief: startup, resume, compact, clear or fork."""
    bytes: int
    text: str
    facts: tuple[DeliveredFact, ...] = ()
    session: str = ""


def stream_of_run(agent: str, native: str) -> str:
    """The stream of a run."""
    return f"run/{clean_name(agent)}/{clean_name(native[:128], what='run id')}"


def facts_of(text: str, *, declared: bool = False) -> tuple[DeliveredFact, ...]:
    """The facts of a brief. With ``declared`` what a session can say was said by one."""
    found: list[DeliveredFact] = []
    for line in text.split("\n"):
        size = len(line.encode("utf-8", "replace")) + 1
        label = line.partition(":")[0].partition(" (")[0]
        if line.startswith((OPENING, CLOSING)) or not line:
            found.append(DeliveredFact("frame", "brief", size))
        elif label.isupper() and ":" in line:
            found.append(DeliveredFact(label.lower(), _source(label, declared), size))
        elif found:
            last = found.pop()
            found.append(DeliveredFact(last.kind, last.source, last.bytes + size))
        else:
            found.append(DeliveredFact("frame", "brief", size))
    return tuple(found)


def _source(label: str, declared: bool) -> str:
    if label in _PROBED:
        return "probe"
    if label == Label.REMEMBERED:
        return "memory"
    return "session" if declared and label in _DECLARED else "run"


def given(workspace: Workspace, agent: str, native: str) -> list[DeliveredBrief]:
    """All that a run was given, in order."""
    found = []
    for event in workspace.store.read(stream_of_run(agent, native)):
        body = ev.read_body(event)
        if isinstance(body, ev.BriefGiven):
            facts = tuple(DeliveredFact(*one) for one in body.facts)
            found.append(
                DeliveredBrief(
                    agent,
                    native,
                    event.at,
                    body.what,
                    body.source,
                    body.bytes,
                    body.text,
                    facts,
                    body.session,
                )
            )
    return found


def brief_body(
    workspace: Workspace, text: str, *, kind: str, source: str, session: str = "", declared: bool = False
) -> ev.BriefGiven:
    """A text that is given, as it is kept."""
    clean = clean_text(text, what="brief", mask=workspace.repository.mask, limit=65_536)
    facts = [(fact.kind, fact.source, fact.bytes) for fact in facts_of(text, declared=declared)]
    size = len(text.encode("utf-8", "replace"))
    return ev.BriefGiven(kind, source, size, text_hash(text), clean, facts, session)


def text_hash(text: str) -> str:
    """By which the same text is known again."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:24]


def append(journal: Journal, stream: str, bodies: Sequence[ev.Body], *, actor: str, at: str = "") -> None:
    """Add to a stream that nobody decides about: whoever came in between stays before."""
    drafts = [ev.draft(body, at=at or now(), actor=actor) for body in bodies]
    while drafts:
        try:
            journal.append(Append(stream, journal.head(stream).version, drafts))
            return
        except StaleVersion:
            continue
