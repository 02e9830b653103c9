"""The file as it is open: the connections that threads have to it, and the commit that writes share."""

from __future__ import annotations

import os
import threading
from contextlib import suppress

import apsw

from ... import errors
from .. import forks


class KeptConnection:
    """A thread's connection, let go when the thread ends: a server has many that come and go. It is closed
    once nobody else has it. After a fork the threads of the parent are gone, and their connections are the
    parent's: not to be touched."""

    __slots__ = ("_among", "_db", "_left_open", "_process")

    def __init__(self, db: apsw.Connection, among: list[apsw.Connection]) -> None:
        self._db, self._among, self._process = db, among, os.getpid()
        self._left_open = forks.left_open  # by a name of its own: those of modules go while Python exits

    def __del__(self) -> None:
        if os.getpid() != self._process:
            self._left_open.append(self._db)
            return
        with suppress(ValueError):
            self._among.remove(self._db)


class Opening:
    """The file as it is open: what was read under another opening may be of another file."""

    __slots__ = ("connections", "forks", "here", "inode", "is_replaced", "log_inode")

    def __init__(self) -> None:
        self.forks = forks.count
        self.inode = 0
        """Of the file; 0 until the first connection is there."""
        self.log_inode = 0
        """Of its log, if that was there when a connection was made."""
        self.connections: list[apsw.Connection] = []
        self.is_replaced = False
        """Whether somebody found the file gone, or another one in its place."""
        self.here = threading.local()
        """What each thread has of it: a connection, the cursor that it writes with, why it can only read."""


class SharedCommit:
    """A commit that several writes of a thread share."""

    __slots__ = ("appends", "begun", "fault", "opening")

    def __init__(self, opening: Opening) -> None:
        self.opening = opening
        self.appends = 0
        self.begun = False
        self.fault: errors.SegueError | None = None
        """Why it cannot be made any more: nothing that was part of it is there."""
