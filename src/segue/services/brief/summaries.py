"""Summaries that hooks saw before they were in a transcript.

Claude Code asks its hooks what to tell after a compaction before it has written down the summary, but reports
the summary as the last message of the helper that wrote it. It is kept, masked, in a small file until then.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

from ..._files import read_bytes
from ...effects.files.atomic import write_whole
from ...effects.redaction.redact import redact
from ...errors import SegueError

SUMMARIES_MAX = 32
FRESH_SECONDS = 300.0
"""An older one is that of another compaction."""


class Summaries:
    """The summaries in a data folder, one for each run."""

    def __init__(self, home: Path) -> None:
        self._folder = home / "hook" / "summaries"

    def note(self, native: str, text: str) -> None:
        """Keep the newest summary of a run."""
        if not _is_name(native) or not text.strip():
            return
        with suppress(OSError, SegueError):
            body = f"{time.time():.3f}\n{redact(text)}"
            write_whole(self._folder / native, body.encode("utf-8", "replace"))
            self._forget_old()

    def fresh(self, native: str) -> str:
        """The summary of a run that was made just now; empty if none was."""
        if not _is_name(native):
            return ""
        with suppress(OSError, ValueError):
            at, _, text = read_bytes(self._folder / native).decode("utf-8", "replace").partition("\n")
            if abs(time.time() - float(at)) <= FRESH_SECONDS:
                return text
        return ""

    def _forget_old(self) -> None:
        names = os.listdir(self._folder)
        if len(names) > SUMMARIES_MAX:
            for name in sorted(names, key=lambda name: -os.stat(self._folder / name).st_mtime)[
                SUMMARIES_MAX:
            ]:
                os.unlink(self._folder / name)


def _is_name(native: str) -> bool:
    return bool(native) and not {"/", "\0"} & set(native) and native not in (".", "..")
