"""The note with which Segue begins a session for a run that had none, and how it is shown."""

from __future__ import annotations

from ..base.lazy import regex

OBSERVED = "observed:"
"""How such a note begins."""
_NOTE = regex(r"observed: (?:the first prompt of (\S+) run .*|(\S+) began with this request)")
"""With the form that versions before wrote."""


def observed_note(agent: str) -> str:
    """The note that begins the session of an agent's run."""
    return f"{OBSERVED} {agent} began with this request"


def observed_agent(note: str) -> str:
    """The agent that such a note names; empty for any other text."""
    found = _NOTE.fullmatch(note)
    return (found[1] or found[2]) if found else ""


def action_words(note: str) -> str:
    """A note as people read it."""
    agent = observed_agent(note)
    return f"{agent} began with this request" if agent else note
