"""What the integrations share: the Segue that is used if none is given, and calls beside the event loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import TypeVar

from ..api.segue import Segue
from ..errors import UnknownRun
from ..services.brief.project_brief import brief_here
from ..services.runs.conversations.log import ConversationLog

T = TypeVar("T")
_lock = threading.Lock()
_opened: dict[str, Segue] = {}


def segue_of(segue: Segue | None) -> Segue:
    """The given one, or the one of this process, which reads the environment."""
    if segue is not None:
        return segue
    with _lock:
        if "" not in _opened:
            _opened[""] = Segue()
        return _opened[""]


async def in_thread(work: Callable[[], T]) -> T:
    """The result of work in another thread. A caller that is cancelled waits until it is known."""
    task = asyncio.ensure_future(asyncio.to_thread(work))
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as fault:
            cancelled = fault
    if cancelled is not None:
        task.exception()  # known, and of no more use
        raise cancelled
    return task.result()


def brief_of(log: ConversationLog, budget_bytes: int) -> str:
    """What was wanted, done and left in a conversation; in an empty one, in the newest run of the project.
    Empty if there is nothing to tell."""
    try:
        log.tell()
        what = log.native if log.count() else ""
        return brief_here(log.workspace, what, log.agent if what else "", budget=budget_bytes)
    except UnknownRun:
        return ""
