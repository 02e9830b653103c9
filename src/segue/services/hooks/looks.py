"""When a run is looked at again: at which size of its transcript, and what it was like when it was last
prepared for.

Each run has a small file, which the installed hook reads too: it loads Segue only when the size is reached.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import msgspec

from ..._files import read_bytes
from ...core.runs.window_pressure import Marks
from ...effects.files.atomic import write_whole
from ...errors import SegueError

LOOKS_MAX = 256
"""For how many runs it is remembered when they were last looked at."""


class Looks:
    """The file of a run."""

    def __init__(self, home: Path, native: str) -> None:
        self._file = home / "hook" / "looks" / native
        self._is_named = bool(native) and not {"/", "\0"} & set(native)

    def is_due(self, transcript: str) -> bool:
        """Whether the transcript has reached the size at which the run is to be looked at; True if none is
        noted."""
        try:
            size = int(read_bytes(self._file).partition(b"\n")[0])
        except (OSError, ValueError):
            return True
        with suppress(OSError):
            return os.stat(transcript).st_size >= size
        return False

    def marks(self) -> Marks | None:
        """What the run was like when it was last prepared for."""
        with suppress(OSError, msgspec.DecodeError):
            return msgspec.json.decode(read_bytes(self._file).partition(b"\n")[2], type=Marks)
        return None

    def again_at(self, size: int, marks: Marks | None = None) -> None:
        """Note at which size of its transcript the run is to be looked at."""
        if not self._is_named:
            return
        with suppress(OSError, SegueError):
            write_whole(self._file, b"%d\n%s" % (size, msgspec.json.encode(marks) if marks else b""))
            _forget_old(self._file.parent)


def _forget_old(folder: Path) -> None:
    names = os.listdir(folder)
    if len(names) > LOOKS_MAX:
        for name in sorted(names, key=lambda name: -os.stat(folder / name).st_mtime)[LOOKS_MAX:]:
            with suppress(OSError):
                os.unlink(folder / name)
