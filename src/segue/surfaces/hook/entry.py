"""`segue hook`, which agents call. It never fails: what cannot be stored is spooled and logged, and it exits
0.

The installed file (``installed_file.py``) calls ``answered`` when a reply is wanted; `segue hook AGENT EVENT`
does the same where the command is on the PATH. A time limit applies in any case.
"""

from __future__ import annotations

import signal
from types import FrameType

LIMIT_SECONDS = {"SessionEnd": 2.5, "Interrupt": 2.5, "StatusLine": 1.0}
LIMIT_SECONDS_DEFAULT = 8.0


class _TooLong(Exception):
    """The hook has used up its time."""


def _on_alarm(number: int, frame: FrameType | None) -> None:
    raise _TooLong("the time limit of the hook is over")


def answered(home: str, agent: str, event: str, payload: bytes) -> bytes:
    """The reply to the agent; raises when the time limit is over."""
    import gc

    gc.disable()  # there are many small values, and the process ends soon
    from ...services.hooks.handler import answered as answer
    from ...settings import environment_now

    signal.signal(signal.SIGALRM, _on_alarm)
    signal.setitimer(signal.ITIMER_REAL, LIMIT_SECONDS.get(event, LIMIT_SECONDS_DEFAULT))
    try:
        return answer(home, agent, event, payload, environment_now())
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
