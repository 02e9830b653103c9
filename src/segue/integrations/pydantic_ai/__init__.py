"""Conversations of Pydantic AI that survive: ``SegueConversations`` is a ``ConversationStore``, and its
``keeper()`` a capability that keeps each message and each result of a tool as it comes.

A run that is killed goes on where it was: ``load`` gives what was kept, and a tool whose result was kept is
not called again.
"""

from __future__ import annotations

from .. import not_installed

try:
    from .keeper import Keeper, idempotency_key
    from .store import TESTED, SegueConversations
except ModuleNotFoundError as fault:
    raise not_installed("pydantic-ai", fault) from fault

__all__ = ["TESTED", "Keeper", "SegueConversations", "idempotency_key"]
