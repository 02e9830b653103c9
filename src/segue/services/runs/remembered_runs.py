"""What is remembered of runs that the store does not have, so that their transcripts are read once.

It is one file in the data folder, ``runs.msgpack``: for each transcript its stamp, the facts of the run and
what it used. Of its texts there is only the beginning of the first prompt, masked, and not even that where no
copies are wanted. The file can be thrown away; nothing creates the data folder for it.
"""

from __future__ import annotations

from collections.abc import Container
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec.structs import replace

from ..._files import read_bytes
from ...agents import agent as agent_of
from ...agents.base import Found
from ...core.base.lazy import msgpack_decoder
from ...core.runs.digest import FORMAT
from ...effects.files.atomic import replace_quickly
from ...errors import SegueError
from ..workspace.on_off import is_off
from ..workspace.workspace import Workspace
from . import cursor
from .cursor import FileStamp
from .run import Run

FILE = "runs.msgpack"
BEFORE = "usage.msgpack"
"""What the file was called when it had numbers only."""


class RememberedRun(msgspec.Struct):
    """A run that the store does not have."""

    format: int
    stamp: FileStamp
    run: Run
    usage: bytes
    """What it used, see ``stored_usage``."""


_decoder = msgpack_decoder(dict[str, RememberedRun])


class RememberedRuns:
    """The file with such runs; read when somebody asks for one, and written by ``keep``."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._file = workspace.home.path / FILE
        self._runs: dict[str, RememberedRun] | None = None
        self._is_changed = False

    def get(self, key: str) -> RememberedRun | None:
        """What is remembered of a run, however its transcript is now; None if that is nothing."""
        return self._known().get(key)

    def current(self, key: str, found: Found) -> RememberedRun | None:
        """The same, if that is how its transcript is now."""
        kept = self._known().get(key)
        if kept is None or kept.format != FORMAT:
            return None
        agent = agent_of(found.agent)
        return kept if cursor.is_unchanged(kept.stamp, cursor.stamp_of(found, agent), agent) else None

    def put(self, key: str, stamp: FileStamp, run: Run, usage: bytes) -> None:
        """Remember a run. Where Segue is off nothing is."""
        if not stamp.inode or is_off(self._workspace.home, Path(run.cwd or "/")):
            return
        if self._workspace.settings.number("archive_bytes_max") <= 0:
            run = replace(run, goal="", branch="")  # who wants no copies wants no part of one either
        self._known()[key] = RememberedRun(FORMAT, stamp, run, usage)
        self._is_changed = True

    def keep(self, only: Container[str] | None = None) -> None:
        """Write the file if something was put into it; with ``only``, without what is not among these."""
        if self._runs is None:
            return
        if only is not None:
            kept = {key: one for key, one in self._runs.items() if key in only}
            self._is_changed |= len(kept) < len(self._runs)
            self._runs = kept
        if not self._is_changed or self._workspace.pause_file.in_force() or not self._file.parent.is_dir():
            return
        with suppress(OSError, SegueError):
            replace_quickly(self._file, msgspec.msgpack.encode(self._runs))
            self._is_changed = False
            self._file.with_name(BEFORE).unlink(missing_ok=True)

    def _known(self) -> dict[str, RememberedRun]:
        if self._runs is None:
            try:
                self._runs = _decoder.decode(read_bytes(self._file))
            except (OSError, UnicodeDecodeError, msgspec.DecodeError):
                self._runs = {}
        return self._runs


def forget_runs(workspace: Workspace) -> None:
    """Throw away what is remembered; it is made again from what is left."""
    for name in (FILE, BEFORE):
        (workspace.home.path / name).unlink(missing_ok=True)
