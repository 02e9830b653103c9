"""How long a hook may work: one place for every moment.

An agent waits for its hooks, at most ten seconds, and a user waits with it. ``deadline_of`` is when a hook
stops reading and takes what it has, counted from the start of its process, which takes longer on a busy
machine; all that reads in a hook asks it (``effects/deadline.py``). The alarm is
the last resort, for what cannot be asked: it ends the hook wherever it is, and the event is spooled.
"""

from __future__ import annotations

from ...effects.deadline import Deadline, OutOfTime

__all__ = ["SECONDS", "OutOfTime", "alarm_seconds", "deadline_of"]
SECONDS = {
    "stop": 0.7, "end": 0.9, "failure": 0.7, "compact": 1.0, "start": 1.3, "prompt": 1.3, "tool": 0.4,
    "status": 0.4,
}  # fmt: skip
"""By the kind of the event. At the end of a turn nothing is told, so less is read than where a run is told
where the last one stopped."""
SECONDS_DEFAULT = 0.7
SECONDS_MIN = 0.2
"""What a hook has in any case."""
ALARM_SECONDS = {
    "Stop": 2.0, "AfterAgent": 2.0, "idle": 2.0, "SessionEnd": 2.0, "Interrupt": 2.0, "StatusLine": 1.0,
}  # fmt: skip
"""By the name of the event, as nothing else is known yet. Codex gives its last hooks three seconds."""
ALARM_SECONDS_DEFAULT = 5.0


def deadline_of(kind: str, spent_seconds: float = 0.0) -> Deadline:
    """When a hook has to be done whose process was started so many seconds ago."""
    return Deadline(max(SECONDS_MIN, SECONDS.get(kind, SECONDS_DEFAULT) - spent_seconds))


def alarm_seconds(event: str) -> float:
    """When a hook is ended wherever it is."""
    return ALARM_SECONDS.get(event, ALARM_SECONDS_DEFAULT)
