"""What is shown on a terminal while something takes longer than a second; silent otherwise."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

from ..render import bar, cut_middle, is_terminal, one_line, style_for
from .context import CommandContext

_PATIENCE_SECONDS = 1.0
_REFRESH_SECONDS = 0.1
_BAR_CELLS = 20


def _plain(number: int) -> str:
    return f"{number:,}"


class ProgressBar:
    """Called by a service with (done, total, what); cleared at the end of the ``with``. ``words`` says a
    number of what is counted, such as bytes."""

    def __init__(self, context: CommandContext, words: Callable[[int], str] = _plain) -> None:
        self._style = style_for(sys.stderr, context.environment, no_color=context.args.no_color)
        self._on = is_terminal(sys.stderr)
        self._words = words
        self._began = time.monotonic()
        self._next = self._began + _PATIENCE_SECONDS
        self._drawn = False

    @property
    def is_seen(self) -> bool:
        """Whether somebody sees it."""
        return self._on

    def __call__(self, done: int, total: int, what: str = "") -> None:
        if not self._on or time.monotonic() < self._next:
            return
        self._next = time.monotonic() + _REFRESH_SECONDS
        self._drawn = True
        percent = 100 * done // total if total else 0
        facts = f" {percent:>3}%  {self._words(done)}/{self._words(total)}  {self._times(done, total)}  "
        room = max(10, self._style.width - _BAR_CELLS - len(facts) - 1)
        line = bar(percent, _BAR_CELLS, self._style) + facts + cut_middle(one_line(what), room, self._style)
        print(f"\r\x1b[2K{line}", end="", file=sys.stderr, flush=True)

    def _times(self, done: int, total: int) -> str:
        """How long it has taken, and how long the rest will take if it goes on like this."""
        seconds = time.monotonic() - self._began
        left = f", {_clock(seconds * (total - done) / done)} left" if 0 < done < total else ""
        return _clock(seconds) + left

    def __enter__(self) -> ProgressBar:
        return self

    def __exit__(self, *_: object) -> None:
        if self._drawn:
            print("\r\x1b[2K", end="", file=sys.stderr, flush=True)


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def model_progress(context: CommandContext) -> Callable[[str], None] | None:
    """A function that shows on a terminal which model is being asked, and since when; None without a
    terminal."""
    return None if context.json or not is_terminal(sys.stderr) else _asking


def _asking(text: str) -> None:
    print(f"{text} since {time.strftime('%H:%M:%S')}; Ctrl-C cancels", file=sys.stderr, flush=True)
