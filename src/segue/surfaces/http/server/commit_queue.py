"""Threads for requests: one for each, or one for all that write to the same file.

Only one can write to an embedded store at a time. So requests that do little else wait in a lane, and one
thread works on them, one behind the other. Those that waited together are made durable together: each is
decided by itself, a refusal of one takes nothing from the others, and none is answered before the commit that
holds it. A request that comes alone is a commit of its own.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import Context, copy_context
from typing import Any, NamedTuple, TypeVar

from ....services.server.idempotency import OnceSqlite
from ....services.server.projects import Projects

T = TypeVar("T")
WORKERS = 40
"""So many requests are worked on at once; the others wait their turn."""
TOGETHER_MAX = 64
"""So many requests share a commit at most: others can write in between."""
_workers = ThreadPoolExecutor(WORKERS, thread_name_prefix="segue-request")


async def in_thread(call: Callable[[], T]) -> T:
    """What a call gives, run in a thread with the context of the request."""
    loop = asyncio.get_running_loop()
    one = _Waiting(copy_context(), call, loop.create_future())
    _workers.submit(_work_on, loop, one)
    found: T = await one.future
    return found


def _work_on(loop: asyncio.AbstractEventLoop, one: _Waiting) -> None:
    loop.call_soon_threadsafe(_tell, [one], [_done(one)])


class _Waiting(NamedTuple):
    context: Context
    call: Callable[[], Any]
    future: asyncio.Future[Any]


class _Fault(NamedTuple):
    """A call that raised."""

    fault: BaseException


class Lane:
    """Requests that write to the embedded store of a project."""

    def __init__(self, projects: Projects, project: str) -> None:
        self._projects = projects
        self._project = project
        self._waiting: deque[_Waiting] = deque()
        self._at_work = False

    async def run(self, call: Callable[[], T]) -> T:
        """What a call gives, once all that it wrote is durable."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        self._waiting.append(_Waiting(copy_context(), call, future))
        if not self._at_work:
            self._at_work = True
            _workers.submit(self._work, loop)
        return await future

    def _work(self, loop: asyncio.AbstractEventLoop) -> None:
        """In a thread, as long as any wait."""
        while self._waiting:
            some = [self._waiting.popleft() for _ in range(min(len(self._waiting), TOGETHER_MAX))]
            loop.call_soon_threadsafe(_tell, some, self._worked(some))
        loop.call_soon_threadsafe(self._rest, loop)

    def _rest(self, loop: asyncio.AbstractEventLoop) -> None:
        """In the loop, where those who come are seen."""
        self._at_work = bool(self._waiting)
        if self._at_work:
            _workers.submit(self._work, loop)

    def _worked(self, some: list[_Waiting]) -> list[Any]:
        """What each gives, or raises."""
        if len(some) == 1:
            return [_done(some[0])]
        given: list[Any] = []
        try:
            store = self._projects.store(self._project)
            assert isinstance(store, OnceSqlite)
            with store.together():
                given.extend(_done(one) for one in some)
        except BaseException as fault:  # nothing of what they wrote is there
            given += [None] * (len(some) - len(given))
            given = [one if isinstance(one, _Fault) else _Fault(fault) for one in given]
        return given


def _done(one: _Waiting) -> Any:
    try:
        return one.context.run(one.call)
    except Exception as fault:
        return _Fault(fault)


def _tell(some: list[_Waiting], given: list[Any]) -> None:
    """In the loop: answer those who wait."""
    for one, found in zip(some, given, strict=True):
        if one.future.done():
            continue
        if isinstance(found, _Fault):
            one.future.set_exception(found.fault)
        else:
            one.future.set_result(found)
