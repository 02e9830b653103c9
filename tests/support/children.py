"""Makes servers and agents that tests start end with the process that started them, even if that is
killed."""

from __future__ import annotations

import ctypes
import signal
import sys
import threading
from collections.abc import Callable

PR_SET_PDEATHSIG = 1


def ends_with_us(number: signal.Signals = signal.SIGKILL) -> Callable[[], None] | None:
    """For ``preexec_fn``: the child gets this signal when the process of the tests dies. Only on Linux, and
    only from the main thread: the signal comes when the thread that started the child ends."""
    if sys.platform != "linux" or threading.current_thread() is not threading.main_thread():
        return None
    prctl = ctypes.CDLL(None).prctl

    def ask() -> None:
        prctl(PR_SET_PDEATHSIG, int(number), 0, 0, 0)

    return ask
