"""Rows that describe a run which the store has under another key as well.

A key is a hash of agent, id and path. Early versions took the id from the name of a file that they were
given, agents move and convert their files, and Cline writes a task into two documents, of which one may be
there first. The run as its agent's discovery finds it is the one that counts; the other row is dropped when
that run is read, and left out of lists until then.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path

from ...agents import agent as agent_of
from ...agents.base import Found
from ...errors import UnknownAgent
from ...stores.base import RunRow


class RunsSeen:
    """Runs as discovery finds them, to be compared with rows of the store."""

    def __init__(self, found: Iterable[Found], key: Callable[[Found], str]) -> None:
        self._key = key
        self._keys: set[str] = set()
        self._by_path: dict[tuple[str, str], Found] = {}
        self._by_native: dict[tuple[str, str], Found] = {}
        for one in found:
            self.add(one)

    def add(self, found: Found) -> None:
        self._keys.add(self._key(found))
        self._by_path.setdefault((found.agent, found.path), found)
        if not found.parent:
            self._by_native.setdefault((found.agent, found.native), found)

    def same_run(self, row: RunRow, *, is_gone: Callable[[RunRow], bool] | None = None) -> Found | None:
        """The run that a row is a duplicate of; None if it is a run of its own.

        ``is_gone`` tells whether the transcript of a row is not there any more. Without it, discovery was
        complete: a row whose transcript it did not find is a copy of the one with the same id."""
        if row.key in self._keys:
            return None
        try:
            form = agent_of(row.agent).form
        except UnknownAgent:
            return None
        at_path = self._by_path.get((row.agent, row.path))
        if at_path is not None and (form != "database" or row.native == Path(row.path).stem):
            return at_path
        same = self._by_native.get((row.agent, row.native))
        if same is None or same.path == row.path:
            return None
        views = form == "document" and os.path.dirname(same.path) == os.path.dirname(row.path)
        return same if views or is_gone is None or is_gone(row) else None
