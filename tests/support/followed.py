"""A command that goes on until it is ended, as a process of its own, and what it has printed so far."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

from tests.support.children import ends_with_us


class Followed:
    """``python -m segue …`` with pipes for its output."""

    def __init__(self, *words: str, folder: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "segue", *words], cwd=folder, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, env=dict(os.environ),
            preexec_fn=ends_with_us(),
        )  # fmt: skip
        self._out, self._err = bytearray(), bytearray()
        self._readers = [
            threading.Thread(target=self._read, args=pair, daemon=True)
            for pair in ((self.process.stdout, self._out), (self.process.stderr, self._err))
        ]
        for reader in self._readers:
            reader.start()

    def _read(self, stream: object, into: bytearray) -> None:
        while piece := os.read(stream.fileno(), 65_536):  # type: ignore[attr-defined]
            into += piece

    @property
    def out(self) -> str:
        return bytes(self._out).decode()

    @property
    def err(self) -> str:
        return bytes(self._err).decode()

    def wait_for(self, text: str, *, err: bool = False, seconds: float = 30.0) -> None:
        """Wait until this was printed; fails if it is not in time."""
        until = time.monotonic() + seconds
        while text not in (self.err if err else self.out):
            ended = self.process.poll()
            assert time.monotonic() < until and ended is None, (text, ended, self.out[-2000:], self.err)
            time.sleep(0.02)

    def interrupt(self) -> int:
        """Ctrl-C; the exit code."""
        self.process.send_signal(signal.SIGINT)
        code = self.process.wait(20)
        for reader in self._readers:
            reader.join(10)
        return code

    def __enter__(self) -> Followed:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait(20)
        for reader in self._readers:
            reader.join(10)
        for stream in (self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()
