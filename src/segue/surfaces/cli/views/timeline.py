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


def timeline(events: Sequence[ev.Event], style: Style) -> list[str]:
    """Days as headings, then version, time, actor and what happened."""
    lines: list[str] = []
    day = ""
    names = {event.actor: cut(one_line(event.actor), 24, style) for event in events}
    actors = max(map(cells, names.values()), default=0)
    digits = max((len(str(event.version)) for event in events), default=1)
    for event in events:
        at = moment(event.at)
        local = at.astimezone() if at else None
        today, clock = (local.date().isoformat(), f"{local:%H:%M:%S}") if local else ("?", "??:??:??")
        if today != day:
            lines += [*([""] if lines else []), style.paint(today, "bold")]
            day = today
        head = f"{event.version:>{digits}}  {clock}  {pad(names[event.actor], actors)}  "
        indent = cells(head)
        room = max(20, style.width - indent) if style.width else 0
        first, *rest = wrap(shown(event_words(event)), room, style, lines=6)
        colour = _COLOURS.get(event.kind)
        lines.append(style.paint(head, "dim") + (style.paint(first, colour) if colour else first))
        lines += [" " * indent + line for line in rest]
    return lines
