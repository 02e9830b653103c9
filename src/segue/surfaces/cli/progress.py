"""What is shown on a terminal while something takes longer than a second; silent otherwise."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

from ..render import bar, cut, is_terminal, one_line, style_for
from .context import CommandContext

_PATIENCE_SECONDS = 1.0
_REFRESH_SECONDS = 0.1


class ProgressBar:
    """Called by a service with (done, total, what); cleared at the end of the ``with``."""

    def __init__(self, context: CommandContext) -> None:
        self._style = style_for(sys.stderr, context.environment, no_color=context.args.no_color)
        self._on = is_terminal(sys.stderr)
        self._next = time.monotonic() + _PATIENCE_SECONDS
        self._drawn = False

    def __call__(self, done: int, total: int, what: str = "") -> None:
        if not self._on or time.monotonic() < self._next:
            return
        self._next = time.monotonic() + _REFRESH_SECONDS
        self._drawn = True
        percent = 100 * done // total if total else 0
        tail = cut(one_line(what), max(10, self._style.width - 40), self._style)
        line = f"{bar(percent, 20, self._style)} {percent:>3}%  {done:,}/{total:,}  {tail}"
        print(f"\r\x1b[2K{line}", end="", file=sys.stderr, flush=True)

    def __enter__(self) -> ProgressBar:
        return self

    def __exit__(self, *_: object) -> None:
        if self._drawn:
            print("\r\x1b[2K", end="", file=sys.stderr, flush=True)


def model_progress(context: CommandContext) -> Callable[[str], None] | None:
    """A function that shows on a terminal which model is being asked, and since when; None without a
    terminal."""
    return None if context.json or not is_terminal(sys.stderr) else _asking


def _asking(text: str) -> None:
    print(f"{text} since {time.strftime('%H:%M:%S')}; Ctrl-C cancels", file=sys.stderr, flush=True)
