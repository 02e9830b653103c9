"""The own list of an agent, its todos or its plan, beside the plan of the session it works on.

An item that the agent ticked off under the name that it has in the session is done there too, with the
agent as the actor of the event and a note that names the run. Names are the same if they differ only in case,
spaces and punctuation at their end. What an agent left open in its own list is not done either.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...core.base.values import count
from ...core.features.verdict import refusal
from ...core.sessions import commands as do
from ..workspace.session_handle import SessionHandle

TEXT_CHARS = 160


def item_key(text: str) -> str:
    """What two names of the same item have in common."""
    return " ".join(text.split()).casefold().rstrip(".,;:!…").rstrip()


def mark_ticked(session: SessionHandle, ticked: Iterable[str], agent: str, run: str) -> list[str]:
    """Mark the open items of the session as done that an agent has ticked off, and return them."""
    keys = {item_key(text) for text in ticked}
    state = session.state
    items = [state.items[at].text for at in (*state.active, *state.next)]
    done = [item for item in items if item_key(item) in keys]
    if done:
        source = f"{agent} ticked off {count(len(done), 'item')} in its own list, in run {run or 'unknown'}"
        session.commit_trusted((do.Note(source), *map(do.Done, done)), actor=agent)
    return done


def open_items_refusal(plan: Sequence[str], own: Sequence[str], agent: str) -> str:
    """Why work is not done of which items are open, in the words in which the gate of the features says what
    is not proven: those of the plan or, if it is done, those of the agent's own list."""
    items, whose = (plan, "the plan") if plan else (own, f"{agent}'s own list")
    lines = [text[:TEXT_CHARS] for text in (" ".join(item.split()) for item in items)]
    return refusal(f"{count(len(items), 'item')} of {whose} not done", lines)


def left_open(session: SessionHandle, own: Sequence[str]) -> list[str]:
    """What is open in an agent's own list and is no item of the session, each item once: an agent may list
    what it is told again."""
    known = {item_key(item.text) for item in session.state.items}
    texts = {item_key(text): text for text in reversed(own)}
    return [text for key, text in reversed(texts.items()) if key not in known]
