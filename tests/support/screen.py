"""A terminal for an agent's own screen: what is drawn is read, and what it asks of a terminal is answered.

It draws nothing itself. A screen waits for answers to a few questions (where the cursor is, the type of the
terminal, its colours) before it begins; they get the answers of a plain terminal.
"""

from __future__ import annotations

import fcntl
import os
import re
import struct
import subprocess
import termios
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

ROWS, COLUMNS = 40, 120
ANSWERS = {
    b"\x1b[6n": b"\x1b[1;1R",
    b"\x1b[c": b"\x1b[?62;22c",
    b"\x1b[?u": b"\x1b[?0u",
    b"\x1b]10;?": b"\x1b]10;rgb:ffff/ffff/ffff\x1b\\",
    b"\x1b]11;?": b"\x1b]11;rgb:0000/0000/0000\x1b\\",
}
_SIGNS = re.compile(
    rb"\x1b\[[0-9;?<>=$]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[()][A-Z0-9]|\x1b[=>78]"
)


class Screen:
    """A program with a terminal of its own."""

    def __init__(self, words: Sequence[str], *, folder: Path, environment: Mapping[str, str]) -> None:
        self._ours, theirs = os.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        self.process = subprocess.Popen(
            words, cwd=folder, env={**environment, "TERM": "xterm-256color"}, stdin=theirs, stdout=theirs,
            stderr=theirs, start_new_session=True, preexec_fn=_take_terminal,
        )  # fmt: skip
        os.close(theirs)
        self._drawn = b""
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def text(self) -> str:
        """Everything drawn so far on one line, without control sequences."""
        return " ".join(_SIGNS.sub(b" ", self._drawn).decode("utf-8", "replace").split())

    def press(self, keys: str) -> None:
        """Press keys, as a user would."""
        os.write(self._ours, keys.encode())

    def wait_for(self, text: str, seconds: float = 60.0) -> bool:
        """Whether this is drawn in time."""
        until = time.monotonic() + seconds
        while text not in self.text:
            if time.monotonic() > until or self.process.poll() is not None:
                return text in self.text
            time.sleep(0.05)
        return True

    def close(self) -> None:
        """kill -9 it, and hang up."""
        self.process.kill()
        self.process.wait(30)
        self._reader.join(5)
        os.close(self._ours)

    def __enter__(self) -> Screen:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _read(self) -> None:
        with suppress(OSError):  # it hung up
            while piece := os.read(self._ours, 65_536):
                self._drawn += piece
                for asked, answer in ANSWERS.items():
                    if asked in piece:
                        os.write(self._ours, answer)


def _take_terminal() -> None:
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
