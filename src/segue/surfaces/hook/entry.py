"""`segue hook`: what agents call. It can only end well: whatever fails is spooled, logged, and exits 0.

The installed file (``hook_file.py``) calls ``answered`` where something is to be said; `segue hook AGENT
EVENT` does the same for those who have the command on their PATH. A time limit holds whatever happens.
"""

from __future__ import annotations

import signal
from types import FrameType

LIMIT_SECONDS = {"SessionEnd": 2.5, "Interrupt": 2.5, "StatusLine": 1.0}
LIMIT_SECONDS_DEFAULT = 8.0


class _TooLong(Exception):
    """The agent has waited long enough."""


def _ring(number: int, frame: FrameType | None) -> None:
    raise _TooLong("the time that a hook may take is over")


def answered(home: str, agent: str, event: str, payload: bytes) -> bytes:
    """What the agent is told; nothing if that takes too long."""
    import gc

    gc.disable()  # many small values, and the process ends soon
    from ...services.hooks.handler import answered as answer
    from ...settings import environment_now

    signal.signal(signal.SIGALRM, _ring)
    signal.setitimer(signal.ITIMER_REAL, LIMIT_SECONDS.get(event, LIMIT_SECONDS_DEFAULT))
    try:
        return answer(home, agent, event, payload, environment_now())
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
