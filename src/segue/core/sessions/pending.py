"""Events of commands that waited for a server: that they were brought, and what was refused by then."""

from __future__ import annotations

from ..journal.body import Body


class PendingRefused(Body):
    KIND = "pending.refused"
    what: str
    """What was declared while the store could not be reached, in words."""
    reason: str
    declared: str = ""
    """When it was."""


class PendingBrought(Body):
    KIND = "pending.brought"
    id: str
    """The record that was kept while the store could not be reached."""
    session: str
    declared: str = ""
    refused: str = ""
    """Why it was not taken; empty if it was."""
