"""What a command is, and what it may come to: the base of all of them, apart from any one.

Flags say when a command may be decided again and who may give it. What it comes to is decided by its row in
``commands._DECIDERS``, or by the command itself (``Decides``); a test holds that it is exactly one of them.
"""

from __future__ import annotations

from typing import ClassVar, Protocol

from ..base.values import Value
from ..journal.event import Body
from .state import SessionState

Bodies = list[Body]


class Refusal(Value):
    """A command that cannot be: the code of the error that the service raises, and its words."""

    code: str
    message: str
    hint: str = ""


class Command(Value, tag=True, tag_field="command", omit_defaults=True):
    """Base of all commands."""

    MERGES: ClassVar[bool] = True
    """Whether it may be decided again behind any event of somebody else."""
    CLASHES: ClassVar[tuple[str, ...]] = ()
    """Kinds of events behind which it may not, although MERGES."""
    ANYTIME: ClassVar[bool] = False
    """Whether a session that is over takes it."""
    LOOKS: ClassVar[bool] = False
    """Whether it replaces something, and so is decided in the newest state, not the last one seen."""
    SIGNED: ClassVar[bool] = False
    """Whether it has a field ``by`` that says who declares it: set here, whatever stood in it."""
    WITNESSED: ClassVar[bool] = False
    """Whether it says what Segue itself saw, and so comes from a service and from nobody else."""


class Decides(Protocol):
    """A command that brings its own decision."""

    def outcome(self, state: SessionState) -> Bodies | Refusal: ...
