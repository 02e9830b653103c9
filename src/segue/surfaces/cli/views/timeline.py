"""The journal as a timeline on a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from ....core import event_kinds as ev
from ....core.event_words import event_words
from ...render import Style, cells, cut, moment, one_line, pad, shown, wrap

_COLOURS = {
    "item.done": "green",
    "item.blocked": "yellow",
    "error.seen": "red",
    "decision.made": "cyan",
    "session.gap": "red",
    "pending.refused": "red",
}
ACTOR_CELLS_MAX = 24


class Timeline:
    """Events one after the other: days as headings, then version, time, actor and what happened."""

    def __init__(self, style: Style, *, actor_cells: int = 0, digits: int = 1) -> None:
        """Actors and versions are given at least so much room, and more from the first that needs it."""
        self._style = style
        self._actor_cells = actor_cells
        self._digits = digits
        self._day = ""

    def lines(self, event: ev.Event) -> list[str]:
        """The lines of an event, under a heading where a day begins."""
        style, lines = self._style, list[str]()
        at = moment(event.at)
        local = at.astimezone() if at else None
        today, clock = (local.date().isoformat(), f"{local:%H:%M:%S}") if local else ("", "")
        if today and today != self._day:
            lines += [*([""] if self._day else []), style.paint(today, "bold")]
            self._day = today
        name = actor_words(event.actor, style)
        self._actor_cells = max(self._actor_cells, cells(name))
        self._digits = max(self._digits, len(str(event.version)))
        head = f"{event.version:>{self._digits}}  {clock:8}  {pad(name, self._actor_cells)}  "
        indent = cells(head)
        room = max(20, style.width - indent) if style.width else 0
        first, *rest = wrap(shown(event_words(event)), room, style, lines=6)
        colour = _COLOURS.get(event.kind)
        lines.append(style.paint(head, "dim") + (style.paint(first, colour) if colour else first))
        return lines + [" " * indent + line for line in rest]


def actor_words(actor: str, style: Style) -> str:
    """The name of an actor, shortened."""
    return cut(one_line(actor), ACTOR_CELLS_MAX, style)


def timeline(events: Sequence[ev.Event], style: Style) -> list[str]:
    """All lines of some events."""
    actors = max((cells(actor_words(name, style)) for name in {event.actor for event in events}), default=0)
    digits = max((len(str(event.version)) for event in events), default=1)
    shown_so_far = Timeline(style, actor_cells=actors, digits=digits)
    return [line for event in events for line in shown_so_far.lines(event)]
