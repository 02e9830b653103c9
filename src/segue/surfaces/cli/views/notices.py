"""The notices of a supervised run, as lines for people or for programs."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...render import count, cut, is_terminal, one_line, style_for
from ..context import CommandContext, write

if TYPE_CHECKING:
    from ....services.supervision.supervisor import Notice, RunFinished

_STEP_CHARS = 160
_WHILE_AT_WORK = ("launched", "working", "step", "ticked", "asks", "trouble", "spent")
_COLOURS = {
    "left behind": "yellow",
    "asks": "yellow",
    "trouble": "yellow",
    "waiting": "yellow",
    "stopped": "bold",
}


class NoticePrinter:
    """Notices as lines for people or for programs."""

    def __init__(
        self, context: CommandContext, spending: Callable[[float], str], *, screen: bool = False
    ) -> None:
        """``spending`` says what was spent so far, given the share of the window that is used. On the agent's
        own ``screen`` nothing is written while it works."""
        self._context, self._spending, self._screen = context, spending, screen
        self._style = style_for(sys.stdout, context.environment, no_color=context.args.no_color)
        self._live = is_terminal(sys.stdout) and not context.json
        self._drawn = False

    def tell(self, notice: Notice) -> None:
        if self._context.json:
            if notice.kind != "step":
                self._object(notice)
        elif self._screen and notice.kind in _WHILE_AT_WORK:
            return
        elif notice.kind == "working":
            self._working(notice)
        elif notice.kind != "step":
            self._line(notice)
        elif not self._context.args.quiet:
            self.clear()
            write(
                sys.stdout, cut(f"  {one_line(notice.text)}", self._style.width or _STEP_CHARS, self._style)
            )
            sys.stdout.flush()

    def _line(self, notice: Notice) -> None:
        self.clear()
        colour = _COLOURS.get(notice.kind, "")
        text = one_line(notice.text)
        dot = self._style.mark("dot")
        head = f"run {notice.launch} {dot} {notice.agent} {dot} "
        text = f"asks: {text}" if notice.kind == "asks" else text
        write(sys.stdout, head + (self._style.paint(text, colour) if colour else text))
        sys.stdout.flush()

    def _working(self, notice: Notice) -> None:
        if not self._live:
            return
        self._drawn = True
        dot = self._style.mark("dot")
        spent = self._spending(notice.share)
        line = f"run {notice.launch} {dot} {notice.agent} {dot} {notice.seconds:.0f} s {dot} {spent}  "
        room = max(20, (self._style.width or 80) - 2)
        print(f"\r\x1b[2K{cut(line + one_line(notice.text), room, self._style)}", end="", flush=True)

    def clear(self) -> None:
        if self._drawn:
            print("\r\x1b[2K", end="", flush=True)
            self._drawn = False

    def finish(self, finished: RunFinished) -> None:
        if self._context.json:
            self._object(finished, kind="finished")
            return
        words = {"done": "done", "paused": "paused; `segue run` continues", "budget": "stopped"}
        runs = count(finished.runs, "run")
        unproven = finished.outcome == "done" and not finished.proven
        proven = "; no check proves it" if unproven else ""
        head = words.get(finished.outcome, finished.outcome)
        self._context.say(f"{head}: {one_line(finished.why)} ({runs}, {finished.seconds:.0f} s{proven})")

    def _object(self, value: Any, **more: Any) -> None:
        import json

        from ...render import plain

        write(sys.stdout, json.dumps({**more, **plain(value)}, ensure_ascii=False))
        sys.stdout.flush()


def terminal_writer(context: CommandContext) -> Callable[[str], None] | None:
    """What writes to the user's terminal as it is: standard error or output, whichever is one; None if
    neither is."""
    stream = next((one for one in (context.err, context.out) if is_terminal(one)), None)
    if stream is None:
        return None

    def put(text: str) -> None:
        stream.write(text)
        stream.flush()

    return put
