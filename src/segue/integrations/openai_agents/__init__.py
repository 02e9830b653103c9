"""Sessions of the OpenAI Agents SDK that survive: ``SegueSession("user-123")`` in the place of its
``SQLiteSession``.

The conversation is a run of Segue: it has a brief, and ``segue runs``, ``segue search`` and pages show it.
"""

from __future__ import annotations

from .. import not_installed

try:
    from .session import TESTED, SegueSession
except ModuleNotFoundError as fault:
    raise not_installed("openai-agents", fault) from fault

__all__ = ["TESTED", "SegueSession"]
