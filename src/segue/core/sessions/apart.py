"""Commands that can do without each other's events: finishing an item, planning one, a note.

They are the most common ones, and the sync of the commit before has emptied the processor's caches when they
come: so they are decided in a state that lacks those before them, which are folded when somebody looks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..journal.event import Body
from . import events as ev
from .cleaning import are_harmless
from .commands import Add, Begin, Command, Done, Note, SaveAgent
from .state import OPEN, SessionState, key_of

_TEXT_OF: dict[type[Command], str] = {Done: "item", Begin: "item", Add: "item", Note: "text", SaveAgent: ""}


def apart(state: SessionState, command: Any, clean: Callable[[Any], Any]) -> tuple[Body, str] | None:
    """What a command comes to that looks at its own item at most, and the key of that item.

    Such a command may be decided in a state that lacks any number of others of its kind on other
    items. None for any other command, and for one that comes to nothing or is refused. ``clean`` is
    asked for commands whose text is not plainly harmless.
    """
    kind = type(command)
    field = _TEXT_OF.get(kind)
    if field is None or state.status not in OPEN:
        return None
    if not field:
        return ev.AgentSaved(command.agent, command.size, command.splices), ""
    text = getattr(command, field)
    words = text.split()
    plain = " ".join(words)
    if plain != text or not are_harmless(words, plain):
        text = getattr(clean(command), field)
        plain = " ".join(text.split())
    if kind is Note:
        return ev.Noted(text), ""
    if text[:1] == "#":
        return None
    own, status = plain.casefold(), ""  # as `key` has it
    place = state.items.find(own, key_of)
    if place >= 0:
        item = state.items[place]
        text, status = item.text, item.status
    if kind is Done:
        return (ev.ItemDone(text), own) if status != "done" else None
    if kind is Begin:
        return (ev.ItemBegun(text, command.quiet), own) if status != "active" else None
    return (ev.ItemAdded(text), own) if status in ("", "dropped") else None
