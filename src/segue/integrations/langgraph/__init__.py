"""LangGraph on Segue: `SegueSaver` keeps the checkpoints of graphs, `SegueStore` their long-term memory.

Install it with ``pip install segue[langgraph]``.
"""

from __future__ import annotations

from .. import not_installed

try:
    from .saver import SegueSaver
    from .store import SegueStore
except ModuleNotFoundError as fault:
    raise not_installed("langgraph", fault) from fault

__all__ = ["SegueSaver", "SegueStore"]
