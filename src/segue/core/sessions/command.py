"""The base class of commands, and what deciding one can result in.

Class flags say when a command may be decided again and who may give it. A command is decided either by its
entry in ``commands._DECIDERS`` or by its own method ``outcome`` (see ``Decides``), never by both.
"""

from __future__ import annotations

from typing import Any, ClassVar, Protocol

from ..base.values import Value
from ..journal.event import Body
from .state import SessionState

Bodies = list[Body]


class Refusal(Value):
    """A command that is not possible: the code, the message and the hint of the error to raise."""

    code: str
    message: str
    hint: str = ""
    facts: dict[str, Any] = {}
    """Values of the error's ``fields``, by name."""


class Command(Value, tag=True, tag_field="command", omit_defaults=True):
    """The base of all commands."""

    MERGES: ClassVar[bool] = True
    """Whether it may be decided again after somebody else's events were appended first."""
    CLASHES: ClassVar[tuple[str, ...]] = ()
    """Kinds of events after which it may not be decided again, although it merges."""
    ANYTIME: ClassVar[bool] = False
    """Whether it is possible in a session that is over."""
    LOOKS: ClassVar[bool] = False
    """Whether it replaces something, so that it must be decided on the newest state, not on a cached one."""
    SIGNED: ClassVar[bool] = False
    """Whether it has a field ``by`` for the actor, which is overwritten when the command is decided."""
    WITNESSED: ClassVar[bool] = False
    """Whether it records what Segue itself observed, so that only services may issue it."""


class Decides(Protocol):
    """A command that is decided by its own method."""

    def outcome(self, state: SessionState) -> Bodies | Refusal: ...
