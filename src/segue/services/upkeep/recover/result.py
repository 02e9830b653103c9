"""What a recovery found and did."""

from __future__ import annotations

from ....core.base.values import Value
from ....core.journal.chain import Missing

ACTOR = "segue recover"
OF_A_STATE = "of an agent's state"
"""So ends what is said of pieces that are lost: no fault of the store that is rebuilt without them."""


class Rung(Value):
    """What one rung of the ladder gave."""

    name: str
    status: str
    """ok, used, damaged or none."""
    detail: str = ""


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
