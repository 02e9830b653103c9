"""The transcript of a conversation: what makes a run of it, for briefs, lists, search and pages.

The store has the conversation; the transcript follows it and is not synced, so that an addition costs no more
than a line. A process that is killed in between leaves it a line short: the next one that writes adds what
is missing, by the versions in the lines. If it cannot be written, the conversation is kept all the same.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import msgspec

from ...._files import open_file
from ....agents.conversations import PROCESS_SUFFIX, SUFFIX, TranscriptLine
from ....effects.files.atomic import private_folder, replace_quickly
from ....effects.processes.identity import start_of

_TAIL_BYTES = 65_536


class ConversationTranscript:
    """The transcript of one conversation on this machine."""

    def __init__(self, folder: Path, agent: str, native: str) -> None:
        self.path = folder / agent / f"{native}{SUFFIX}"
        self._pid = 0
        """The process that has written here and found nothing missing."""

    def catch_up(self, until: int, lines_since: Callable[[int, int], list[bytes]]) -> None:
        """Before the first line of this process: add what is missing up to a version."""
        if self._pid == os.getpid():
            return
        with suppress(OSError):
            private_folder(self.path.parent)
            version, is_whole = self._end()
            if version > until:  # it was begun anew in the store
                self.remove()
                version, is_whole = 0, True
            if not is_whole:
                self.write(b"\n")
            for line in lines_since(version, until) if version < until else ():
                self.write(line)
            self._note_process()
            self._pid = os.getpid()

    def write(self, line: bytes) -> None:
        """Add a line. A transcript that cannot be written is behind, and nothing else."""
        with suppress(OSError):
            file = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            try:
                os.write(file, line)
            finally:
                os.close(file)

    def remove(self) -> None:
        """Remove it, because the conversation was erased."""
        self._pid = 0
        for suffix in (SUFFIX, PROCESS_SUFFIX):
            with suppress(OSError):
                os.unlink(self.path.with_suffix(suffix))

    def _note_process(self) -> None:
        pid = os.getpid()
        noted = f"{pid} {start_of(pid).rpartition(':')[2]}"
        replace_quickly(self.path.with_suffix(PROCESS_SUFFIX), noted.encode())

    def _end(self) -> tuple[int, bool]:
        """The version in the last whole line, and whether the file ends with it; (0, True) without one."""
        try:
            with open_file(self.path) as file:
                size = os.fstat(file.fileno()).st_size
                reach = _TAIL_BYTES
                while True:
                    file.seek(max(0, size - reach))
                    lines = file.read(reach).split(b"\n")
                    for line in reversed(lines[:-1]):
                        with suppress(msgspec.DecodeError):
                            if version := msgspec.json.decode(line, type=TranscriptLine).v:
                                return version, not lines[-1]
                    if reach >= size:
                        return 0, not lines[-1]
                    reach *= 16
        except FileNotFoundError:
            return 0, True
