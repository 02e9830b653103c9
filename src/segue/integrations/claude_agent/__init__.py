"""Segue in a program on the Claude Agent SDK: ``segue_options()`` gives options with which its agent starts
with the brief, is saved and is kept from claiming what is not proven; ``SegueSessionStore`` keeps sessions.

Nothing is written to the settings of the user or the project.
"""

from __future__ import annotations

from .. import not_installed

try:
    from .options import TESTED, segue_options
    from .sessions import SegueSessionStore
except ModuleNotFoundError as fault:
    raise not_installed("claude-agent", fault) from fault

__all__ = ["TESTED", "SegueSessionStore", "segue_options"]
