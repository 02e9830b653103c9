"""Output that goes on until somebody ends it: a screen that is redrawn in place, or lines.

Whatever ends it, the terminal is as it was before: Ctrl-C, `q`, a signal, an error, and while it is stopped
with Ctrl-Z. It ends when nobody reads the lines any more.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from types import FrameType
from typing import Any, TextIO

from ..render import Style, is_terminal

_ENTER = "\x1b[?1049h\x1b[?25l\x1b[?7l"
"""The other screen, without a cursor, and without wrapping of lines that are too long."""
_LEAVE = "\x1b[?7h\x1b[?25h\x1b[?1049l"
_TERMINATED = 128


def wait_for_reader(out: TextIO, seconds: float) -> None:
    """Wait for a while. Raises BrokenPipeError when nobody reads the output any more."""
    if not hasattr(select, "poll"):
        time.sleep(seconds)
        return
    poll = select.poll()
    with suppress(OSError, ValueError):
        poll.register(out.fileno(), 0)
    if any(events & select.POLLERR for _, events in poll.poll(seconds * 1000)):
        raise BrokenPipeError
    with suppress(OSError, ValueError):
        out.flush()


class Screen:
    """The other screen of a terminal, for as long as the ``with`` lasts; ``draw`` writes only a change."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._drawn: list[str] = []
        self._before: dict[int, Any] = {}
        self._keys: list[Any] | None = None
        self._read, self._write = os.pipe()

    def __enter__(self) -> Screen:
        for end in (self._read, self._write):
            os.set_blocking(end, False)
        self._wakeup = signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)
        handlers: dict[str, Callable[[int, FrameType | None], object]] = {
            "SIGWINCH": lambda *_: None, "SIGTERM": _end, "SIGHUP": _end, "SIGTSTP": self._stop,
        }  # fmt: skip
        for name, handler in handlers.items():
            if hasattr(signal, name):
                number = getattr(signal, name)
                self._before[number] = signal.signal(number, handler)
        self._begin()
        return self

    def __exit__(self, *_: object) -> None:
        self._leave()
        signal.set_wakeup_fd(self._wakeup)
        for number, handler in self._before.items():
            signal.signal(number, handler)
        os.close(self._read)
        os.close(self._write)

    def draw(self, lines: Sequence[str], style: Style) -> None:
        """Show these lines; of too many, the last that fits says how many more there are."""
        with suppress(OSError, ValueError):
            rows = os.get_terminal_size(self._out.fileno()).lines
            if len(lines) > rows > 1:
                more = f"{len(lines) - rows + 1} more lines in a taller window; `segue status` shows all"
                lines = [*lines[: rows - 1], style.paint(more, "dim")]
        if list(lines) == self._drawn:
            return
        self._drawn = list(lines)
        body = "\r\n".join(f"{line}\x1b[K" for line in lines)
        self._show(f"\x1b[H{body}\x1b[J")

    def wait(self, seconds: float) -> bool:
        """Wait for a while, or until the window changes; False if a key said to end."""
        sources = [self._read, *([sys.stdin.fileno()] if self._keys is not None else [])]
        ready = select.select(sources, [], [], seconds)[0]
        if self._read in ready:
            with suppress(BlockingIOError):
                if signal.SIGWINCH in os.read(self._read, 512):
                    self._drawn = []
        if len(sources) == 2 and sources[1] in ready:
            pressed = os.read(sources[1], 512)
            return bool(pressed) and not pressed.lower().startswith(b"q")
        return True

    def _begin(self) -> None:
        self._drawn = []
        self._show(_ENTER)
        with suppress(ImportError, OSError, ValueError):
            if is_terminal(sys.stdin):
                import termios
                import tty

                self._keys = termios.tcgetattr(sys.stdin)
                tty.setcbreak(sys.stdin, termios.TCSANOW)

    def _leave(self) -> None:
        with suppress(OSError, ValueError):  # the terminal may be gone
            self._show(_LEAVE)
        if self._keys is not None:
            import termios

            with suppress(termios.error, OSError, ValueError):
                termios.tcsetattr(sys.stdin, termios.TCSANOW, self._keys)
            self._keys = None

    def _stop(self, number: int, frame: FrameType | None) -> None:
        """Give the terminal back while the process is stopped, and take it again afterwards."""
        self._leave()
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)  # goes on here when the process is continued
        signal.signal(number, self._stop)
        self._begin()

    def _show(self, text: str) -> None:
        encoding = self._out.encoding or "utf-8"
        self._out.write(text.encode(encoding, "replace").decode(encoding))
        self._out.flush()


def _end(number: int, frame: FrameType | None) -> None:
    raise SystemExit(_TERMINATED + number)
