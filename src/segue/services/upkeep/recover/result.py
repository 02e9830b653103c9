"""What a recovery found and did."""

from __future__ import annotations

from ....core.base.values import Value
from ....core.journal.histories import Missing

ACTOR = "segue recover"
OF_A_STATE = "of an agent's state"
"""So ends what is said of pieces that are lost: no fault of the store that is rebuilt without them."""


class Rung(Value):
    """What one rung of the ladder gave."""

    name: str
    status: str
    """ok, used, damaged or none."""
    detail: str = ""


class KeptHistory(Value):
    """A history of a session that was found beside another one, and kept as a session of its own."""

    session: str
    """The session that holds it."""
    of: str
    """The session whose history it is, too."""
    version: int
    """The first version in which the two differ."""
    source: str
    """Where it was found."""


class Recovery(Value):
    """What a recovery found and did."""

    rungs: list[Rung]
    sessions: int
    events: int
    missing: list[Missing]
    kept: str
    """Where the damaged original is."""
    changed: bool
    memories: int = 0
    """Brought back, beside the sessions; counted where a store was made anew."""
    doubt: str = ""
    """What may be lost without a trace; empty if nothing was made anew."""
    backup: str = ""
    """The backup that was made of what came back."""
    histories: list[KeptHistory] = []
    """Histories that differ from those under the sessions' ids, each kept as a session of its own."""
