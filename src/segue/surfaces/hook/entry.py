"""`segue hook`, which agents call. It never fails: what cannot be stored is spooled and logged, and it exits
0.

The installed file (``installed_file.py``) calls ``answered`` when a reply is wanted; `segue hook AGENT EVENT`
does the same where the command is on the PATH. It ends in time by itself; an alarm ends it in any case.
"""

from __future__ import annotations

import signal
from types import FrameType


def answered(home: str, agent: str, event: str, payload: bytes) -> bytes:
    """The reply to the agent."""
    import gc

    gc.disable()  # there are many small values, and the process ends soon
    from ...services.hooks.handler import answered as answer
    from ...services.hooks.time_limits import OutOfTime, alarm_seconds
    from ...settings import environment_now

    def on_alarm(number: int, frame: FrameType | None) -> None:
        raise OutOfTime("the time limit of the hook is over")

    signal.signal(signal.SIGALRM, on_alarm)
    signal.setitimer(signal.ITIMER_REAL, alarm_seconds(event))
    try:
        return answer(home, agent, event, payload, environment_now(), in_own_process=True)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
