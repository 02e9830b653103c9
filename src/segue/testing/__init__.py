"""What Segue is tested with, for those who write a store or build on Segue.

``JournalSuite`` is the contract of a store as tests: subclass it, say how a journal is made,
and let pytest collect it. ``RunsSuite`` is the same for what a store keeps of runs, ``MemoriesSuite``
for memories.
``ReaderSuite`` is the same for an agent's reader: name the agent, and a module that writes its format.
``failpoints`` kills a process, or raises, at a named place.
``ScriptedModel`` answers a real agent as a script says; ``tests.support.rig`` has the world that it runs in.

    from segue.testing import JournalSuite

    class TestMyStore(JournalSuite):
        durable = True

        def make(self, tmp_path):
            return MyJournal(tmp_path / "store")

Nothing here needs pytest to be imported, and nothing of Segue imports this.
"""

from __future__ import annotations

from .failpoints import Passed, all_failpoints, armed, kill_at, recording, spawn
from .memories import MemoriesSuite
from .readers import ReaderSuite
from .runs import RunsSuite
from .stores import JournalSuite

__all__ = [
    "JournalSuite",
    "MemoriesSuite",
    "Passed",
    "ReaderSuite",
    "RunsSuite",
    "all_failpoints",
    "armed",
    "kill_at",
    "recording",
    "spawn",
]
