"""What a supervisor must not lose: its policy, what was spent, and the launch that is running or waiting.

It is the state of an agent named ``supervisor`` in the session, so it is as durable as the rest of it. A
launch is stored before the process is started and again when its pid is known. Whenever the supervisor dies,
the next one finds the child by its pid or by the mark in its environment.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress

import msgspec

from ...core.base.values import Value
from ...core.sessions.state import SUPERVISOR
from ...core.supervision.decide import Policy, Tally, Waiting
from ..workspace.session_handle import SessionHandle

LAUNCHES_MAX = 50


class Launched(Value):
    """One start of an agent."""

    mark: str
    number: int
    agent: str
    how: str
    why: str
    began: float
    native: str = ""
    pid: int = 0
    started: str = ""
    """The start time of the process, as the system writes it."""
    known: tuple[str, ...] = ()
    """The agent's newest runs before this one."""
    calls: int = 0
    """The calls in the conversation: at first those before this launch, in the end all of them."""
    tokens: int = 0
    cost: float = 0.0
    ended: str = ""
    """Why it ended; empty while it runs."""
    seconds: float = 0.0
    detail: str = ""


class Options(Value):
    """How agents are started."""

    full_access: bool = False
    screen: bool = False
    more: tuple[str, ...] = ()
    """Further words for the agent's command line."""
    named: bool = False
    """Whether somebody named the session or the run: then its goal holds, whatever was asked since."""


class Supervision(Value):
    """A piece of supervised work."""

    policy: Policy
    options: Options = Options()
    tally: Tally = Tally()
    launches: tuple[Launched, ...] = ()
    outcome: str = ""
    """How it ended; empty while it has not."""
    why: str = ""
    waiting: Waiting | None = None
    """What to launch when a rate limit has ended."""

    @property
    def under_way(self) -> Launched | None:
        """The launch whose end has not been recorded; None if there is none."""
        last = self.launches[-1] if self.launches else None
        return last if last is not None and not last.ended else None

    def with_launch(self, launch: Launched) -> Supervision:
        """The record with this launch added or updated."""
        others = tuple(one for one in self.launches if one.mark != launch.mark)
        return msgspec.structs.replace(self, launches=(*others, launch)[-LAUNCHES_MAX:])


def load(session: SessionHandle) -> Supervision | None:
    """The stored supervision of a session; None if there is none, or another version wrote it."""
    if SUPERVISOR not in session.state.agents:
        return None
    with suppress(msgspec.ValidationError):
        return msgspec.convert(session.load_agent(SUPERVISOR), Supervision)
    return None


def save(session: SessionHandle, kept: Supervision) -> None:
    """Make it durable."""
    session.save_agent(SUPERVISOR, msgspec.to_builtins(kept))


def new_mark() -> str:
    """A unique name for a launch."""
    return f"{int(time.time()):x}-{os.urandom(6).hex()}"
