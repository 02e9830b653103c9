"""Spend: what asking a model may cost, what it did cost, and whether it still may.

Pure. Before a call its ceiling is entered in the ledger of the day, and only if the caps of the call, the
session and the day hold with it; after it, what was used. A ceiling that was never settled counts in full:
the money may be gone. An unknown price counts as the highest there is.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from ..base.values import Value
from ..journal.event import Body, Event, read_body


class SpendReserved(Body):
    KIND = "spend.reserved"
    id: str
    model: str
    purpose: str
    ceiling: float
    """Dollars that the call can cost at most."""
    session: str = ""


class SpendSettled(Body):
    KIND = "spend.settled"
    id: str
    cost: float
    """Dollars, from what the answer says that it used."""
    input: int = 0
    output: int = 0
    seconds: float = 0.0
    outcome: str = "answered"


TOKEN_BYTES_MIN = 2  # no tokenizer needs more tokens for text than one for two bytes
MILLION = 1_000_000
GRAIN = 1e-12  # what sums of floats may be off


class Price(Value):
    """Dollars for a million tokens."""

    input: float
    output: float

    @property
    def free(self) -> bool:
        return not self.input and not self.output


DEAREST = Price(75.0, 150.0)
"""What a price that nobody knows is taken for."""


class Caps(Value):
    """The most that may be spent, in dollars."""

    call: float = 0.05
    session: float = 0.25
    day: float = 1.00


class ModelCall(Value):
    """One call."""

    id: str
    at: str
    model: str
    purpose: str
    session: str = ""
    ceiling: float = 0.0
    cost: float = 0.0
    """What counts: the ceiling until it is settled."""
    input: int = 0
    output: int = 0
    seconds: float = 0.0
    outcome: str = "open"


class DayLedger(Value):
    """The calls of a day."""

    version: int = 0
    entries: tuple[ModelCall, ...] = ()

    @property
    def total(self) -> float:
        return sum(entry.cost for entry in self.entries)

    def of_session(self, session: str) -> float:
        """What a session spent that day; 0 for work without a session."""
        return sum(entry.cost for entry in self.entries if session and entry.session == session)


def tokens_most(bytes_sent: int) -> int:
    """The most tokens that so many bytes can be."""
    return -(-bytes_sent // TOKEN_BYTES_MIN)


def cost_of(input_tokens: int, output_tokens: int, price: Price | None) -> float:
    """What so many tokens cost."""
    known = price or DEAREST
    return (input_tokens * known.input + output_tokens * known.output) / MILLION


def ceiling(bytes_sent: int, output_tokens_max: int, price: Price | None) -> float:
    """What a call can cost at most."""
    return cost_of(tokens_most(bytes_sent), output_tokens_max, price)


def fold(events: Iterable[Event]) -> DayLedger:
    """The ledger of a day from its events."""
    version, entries = 0, {}
    for event in events:
        version = event.version
        body = read_body(event)
        if isinstance(body, SpendReserved):
            entries[body.id] = ModelCall(
                body.id, event.at, body.model, body.purpose, body.session, body.ceiling, body.ceiling
            )
        elif isinstance(body, SpendSettled) and body.id in entries:
            entries[body.id] = replace(
                entries[body.id], cost=body.cost, input=body.input, output=body.output,
                seconds=body.seconds, outcome=body.outcome,
            )  # fmt: skip
    return DayLedger(version, tuple(entries.values()))


def refusal(cost_max: float, session: str, today: DayLedger, before: Iterable[DayLedger], caps: Caps) -> str:
    """Why a call of this ceiling may not be made; empty if it may."""
    if not cost_max:
        return ""
    if cost_max > caps.call + GRAIN:
        return f"it may cost ${cost_max:.4f}; the cap per call is ${caps.call:.2f}"
    spent = today.of_session(session) + sum(one.of_session(session) for one in before)
    if session and spent + cost_max > caps.session + GRAIN:
        return f"the session has spent ${spent:.4f} of ${caps.session:.2f}, and it may cost ${cost_max:.4f}"
    if today.total + cost_max > caps.day + GRAIN:
        return f"${today.total:.4f} of today's ${caps.day:.2f} are spent, and it may cost ${cost_max:.4f}"
    return ""
