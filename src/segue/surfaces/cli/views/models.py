"""Models as text: money, and what would be sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...render import count, one_line
from ..context import CommandContext

if TYPE_CHECKING:
    from ....services.models.ask import RequestPreview


def dollars(value: float) -> str:
    """An amount of money, with more digits if it is small."""
    digits = 2 if value >= 1 or not value else 4 if value >= 0.001 else 6
    return f"${value:.{digits}f}"


def show_sent(context: CommandContext, found: list[RequestPreview]) -> int:
    """Print what would be sent: the request to the first model in full, those to the others in one line
    each."""
    if context.json or not found:
        return context.report(found)
    first, *rest = found
    context.say(f"POST {first.url}", *(f"{name}: {value}" for name, value in first.headers.items()), "")
    context.say(first.body)
    for one in found:
        why = f"; it would not be asked: {one_line(one.refused)}" if one.refused else ""
        context.say("", f"{one.model}: {one.bytes:,} bytes, at most {dollars(one.ceiling)}{why}")
    context.say(f"nothing was sent; {count(len(rest), 'more model')} would be asked if the first one fails")
    return 0
