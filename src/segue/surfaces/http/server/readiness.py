"""Whether a balancer should give requests to this server: its store answers soon, and it is not about to end.

A store that is away keeps every worker waiting, so it is asked in a thread of its own, by one question at a
time, and whoever asks us hears within two seconds. That the process lives is another question (``/health``).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from ....errors import SegueError, StoreUnavailable

ANSWER_SECONDS_MAX = 2.0


class Readiness:
    """Asks the store, and knows whether the server drains."""

    def __init__(self, look: Callable[[], None]) -> None:
        """``look`` asks the store, and raises what it raises."""
        self._look = look
        self._asking = ThreadPoolExecutor(1, thread_name_prefix="segue-ready")
        self._answer: Future[None] | None = None
        self.draining = False
        """Set when the server is asked to end: whoever comes now is served, and told to go elsewhere."""

    async def check(self) -> None:
        """Raise a SegueError if no request should come here."""
        if self.draining:
            raise StoreUnavailable("this server is shutting down", hint="use another one")
        if self._answer is None or self._answer.done():
            self._answer = self._asking.submit(self._look)
        answer = self._answer
        came, loop = asyncio.Event(), asyncio.get_running_loop()
        answer.add_done_callback(lambda _: loop.call_soon_threadsafe(came.set))
        try:
            await asyncio.wait_for(came.wait(), ANSWER_SECONDS_MAX)
        except TimeoutError:
            told = f"the store has not answered for {ANSWER_SECONDS_MAX:g} s"
            raise StoreUnavailable(told, hint="is its server up?") from None
        answer.result()

    def is_ready(self) -> bool:
        """What is known without asking: whether the last answer was one."""
        answer = self._answer
        if self.draining or answer is None or not answer.done():
            return False
        return not isinstance(answer.exception(), SegueError)

    def close(self) -> None:
        """Wait for nobody any more."""
        self._asking.shutdown(wait=False, cancel_futures=True)
