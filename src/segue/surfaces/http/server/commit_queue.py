"""Threads for requests: one for each or, for requests that write to the same file, one for all of them.

Only one thread can write to an embedded store at a time. So requests that mainly write wait in a queue, and
one thread works on them, one after the other. Those that waited together are committed together: each is
decided by itself, the refusal of one does not affect the others, and none is answered before the commit that
contains it. A request that comes alone is a commit of its own.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import Context, copy_context
from typing import Any, NamedTuple, TypeVar

from ....services.server.idempotency import IdempotentSqlite
from ....services.server.projects import Projects

T = TypeVar("T")
WORKERS = 40
"""How many requests are worked on at once; the others wait their turn."""
TOGETHER_MAX = 64
"""How many requests may share a commit, so that others can write in between."""
_workers = ThreadPoolExecutor(WORKERS, thread_name_prefix="segue-request")


async def in_thread(call: Callable[[], T]) -> T:
    """The result of a call, made in a thread with the context of the request."""
    loop = asyncio.get_running_loop()
    waiting = _WaitingCall(copy_context(), call, loop.create_future())
    _workers.submit(_work_on, loop, waiting)
    found: T = await waiting.future
    return found


class _WaitingCall(NamedTuple):
    context: Context
    call: Callable[[], Any]
    future: asyncio.Future[Any]

    def outcome(self) -> Any:
        """The result, or the fault that was raised."""
        try:
            return self.context.run(self.call)
        except Exception as fault:
            return _Fault(fault)


class _Fault(NamedTuple):
    """What a call raised."""

    fault: BaseException


def _work_on(loop: asyncio.AbstractEventLoop, waiting: _WaitingCall) -> None:
    loop.call_soon_threadsafe(_settle, [waiting], [waiting.outcome()])


def _settle(calls: list[_WaitingCall], outcomes: list[Any]) -> None:
    """Give each waiting call its outcome; runs in the event loop."""
    for waiting, outcome in zip(calls, outcomes, strict=True):
        if waiting.future.done():
            continue
        if isinstance(outcome, _Fault):
            waiting.future.set_exception(outcome.fault)
        else:
            waiting.future.set_result(outcome)


class CommitQueue:
    """Requests that write to the embedded store of a project."""

    def __init__(self, projects: Projects, project: str) -> None:
        self._projects = projects
        self._project = project
        self._waiting: deque[_WaitingCall] = deque()
        self._at_work = False

    async def run(self, call: Callable[[], T]) -> T:
        """The result of a call, once all that it wrote is durable."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        self._waiting.append(_WaitingCall(copy_context(), call, future))
        if not self._at_work:
            self._at_work = True
            _workers.submit(self._work, loop)
        return await future

    def _work(self, loop: asyncio.AbstractEventLoop) -> None:
        """Work as long as any call waits; runs in a thread."""
        while self._waiting:
            calls = [self._waiting.popleft() for _ in range(min(len(self._waiting), TOGETHER_MAX))]
            loop.call_soon_threadsafe(_settle, calls, self._outcomes(calls))
        loop.call_soon_threadsafe(self._rest, loop)

    def _rest(self, loop: asyncio.AbstractEventLoop) -> None:
        """Stop, unless calls came in the meantime; runs in the event loop."""
        self._at_work = bool(self._waiting)
        if self._at_work:
            _workers.submit(self._work, loop)

    def _outcomes(self, calls: list[_WaitingCall]) -> list[Any]:
        """The outcome of each call. Several share one commit; if that fails, nothing that they wrote is
        stored."""
        if len(calls) == 1:
            return [calls[0].outcome()]
        outcomes: list[Any] = []
        try:
            store = self._projects.store(self._project)
            assert isinstance(store, IdempotentSqlite)
            with store.together():
                outcomes.extend(waiting.outcome() for waiting in calls)
        except BaseException as fault:
            outcomes += [None] * (len(calls) - len(outcomes))
            outcomes = [one if isinstance(one, _Fault) else _Fault(fault) for one in outcomes]
        return outcomes
