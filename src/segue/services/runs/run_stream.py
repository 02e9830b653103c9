"""The stream of a run: what hooks saw of it, and the briefs that it was given."""

from __future__ import annotations

from ...agents.common import prompt_steps, typed_how
from ...core import event_kinds as ev
from ...core.base.text import clean_name
from ...core.base.values import seconds_of
from ...core.runs.steps import Step
from ...errors import SegueError
from ...stores.base import Journal

LOOKED_AT = 200
"""How many events at either end of a stream are looked through for a brief: a recording hook may have added
one for every call in between."""


def stream_of_run(agent: str, native: str) -> str:
    """The stream in which what hooks saw and said of a run is recorded."""
    return f"run/{clean_name(agent)}/{clean_name(native[:128], what='run id')}"


def brief_given(journal: Journal, agent: str, native: str) -> ev.BriefGiven | None:
    """The last brief about other runs that a run was given; None if there is none, or it cannot be read. One
    about the run itself does not count."""
    try:
        stream = stream_of_run(agent, native)
        events = journal.read(stream, limit=LOOKED_AT)
        if len(events) == LOOKED_AT:
            end = journal.head(stream).version
            events += journal.read(stream, after=max(LOOKED_AT, end - LOOKED_AT))
    except SegueError:
        return None
    for event in reversed(events):
        body = ev.read_body(event) if event.kind == ev.BriefGiven.KIND else None
        if not isinstance(body, ev.BriefGiven) or body.own or body.source == "compact":
            continue
        if body.what == "brief":
            return body
    return None


def prompts_seen(journal: Journal, agent: str, native: str) -> list[Step]:
    """What the user typed in a run, as far as hooks were told at its beginning, in the form in which a reader
    returns it. Raises SegueError."""
    steps: list[Step] = []
    for event in journal.read(stream_of_run(agent, native), limit=LOOKED_AT):
        body = ev.read_body(event) if event.kind == ev.RunHooked.KIND else None
        if isinstance(body, ev.RunHooked) and body.kind == "prompt":
            steps += prompt_steps(seconds_of(event.at), body.text, typed_how(body.text))
    return steps
