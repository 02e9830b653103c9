"""Test suites and tools for those who write a store or an agent, or build on Segue.

``JournalSuite`` is the contract of a store as tests: subclass it, override how a journal is made, and let
pytest collect it. ``RunsSuite`` is the same for a store of runs, ``MemoriesSuite`` for a store of memories.
``ReaderSuite`` is the contract of an agent's reader: it needs the agent, and a module that writes its format.
``failpoints`` kills a process, or raises, at a named place.

    from segue.testing import JournalSuite

    class TestMyStore(JournalSuite):
        durable = True

        def make(self, tmp_path):
            return MyJournal(tmp_path / "store")

Importing this package does not need pytest, and the rest of Segue does not import it.
"""

from __future__ import annotations

from .failpoints import Passed, all_failpoints, armed, kill_at, recording, spawn
from .memories import MemoriesSuite
from .project_facts import ProjectFactsSuite
from .readers import ReaderSuite
from .runs import RunsSuite
from .stores import JournalSuite

__all__ = [
    "JournalSuite",
    "MemoriesSuite",
    "Passed",
    "ProjectFactsSuite",
    "ReaderSuite",
    "RunsSuite",
    "all_failpoints",
    "armed",
    "kill_at",
    "recording",
    "spawn",
]
