"""Whether an event was answered a moment ago: two installations (user, project, plugin) may call for it.

Each event that was answered is an empty file, whose name is a checksum of it and of the size of the
transcript.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

from ...agents.hooks import HookEvent
from ...effects.files.atomic import private_folder
from ...effects.files.spool import checksum

ONCE_SECONDS = 5.0


def is_first(home: Path, event: HookEvent, name: str, payload: bytes) -> bool:
    """Whether no other installation has answered this event a moment ago."""
    if event.kind not in ("start", "prompt", "compact", "stop"):
        return True
    size = 0
    if event.kind != "prompt" and event.transcript:
        with suppress(OSError):
            size = os.stat(event.transcript).st_size
    key = f"{checksum(f'{event.agent} {name} {size} '.encode(), payload):016x}"
    folder = home / "hook" / "once"
    try:
        private_folder(folder)
        _forget_old(folder)
        try:
            os.close(os.open(folder / key, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            return True
        except FileExistsError:
            age = time.time() - (folder / key).stat().st_mtime
            os.utime(folder / key)
            return age > ONCE_SECONDS
    except OSError:
        return True


def _forget_old(folder: Path) -> None:
    names = os.listdir(folder)
    for name in names if len(names) >= 64 else ():
        with suppress(OSError):
            if time.time() - os.stat(folder / name).st_mtime > 60:
                os.unlink(folder / name)
