"""What the judge is told of a case: how things stood, and what really came next."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bench.blind.cuts import Case
from bench.blind.transcript import Event

USER_MESSAGES, USER_CHARACTERS = 4, 1_500
STEPS_BEFORE, STEP_CHARACTERS = 14, 600
NEXT_CHARACTERS = 500
NEXT = "## What really came next"


def truth(case: Case) -> str:
    """The truth about a case, as Markdown."""
    past = case.past
    asked = [event for event in past if event.kind == "user"][-USER_MESSAGES:]
    moment = "right before the window was compacted" if case.kind == "compaction" else "in the middle of work"
    parts = [
        f"# Case {case.label}: {case.transcript.agent}, {moment}",
        "## The user's last messages before",
        *_shown(asked, USER_CHARACTERS),
        "## The last steps before",
        *_shown(past[-STEPS_BEFORE:], STEP_CHARACTERS),
        NEXT,
        *_shown([event for event in case.future if event.kind != "result"], NEXT_CHARACTERS, counted=True),
    ]
    return "\n\n".join(parts) + "\n"


def _shown(events: Sequence[Event], characters: int, *, counted: bool = False) -> Iterator[str]:
    calls = 0
    for event in events:
        text = event.text if len(event.text) <= characters else event.text[:characters] + " […]"
        if event.kind == "call":
            calls += 1
            number = f" {calls}" if counted else ""
            yield f"CALL{number} {event.tool}: {text}"
        elif event.kind == "result":
            yield f"RESULT{' (failed)' if event.failed else ''}: {text}"
        else:
            yield f"{event.kind.upper()}: {text}"
