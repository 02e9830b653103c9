"""Ledgers of a few messages, for tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from segue.core.ledger.fold import take_kept
from segue.core.ledger.keep import kept
from segue.core.ledger.model import Entry, Ledger
from segue.core.ledger.sayings import Message, Saying, TurnEnded
from segue.core.ledger.standing import Standing, standing

AT = 1_760_000_000.0
TASK = "Move the invoicing service from float to Decimal."
ADDED = "Also add a CHANGELOG entry when everything is finished."


class Talk:
    """Runs that follow one another; each call adds what is said next."""

    def __init__(self) -> None:
        self.ledger = Ledger()
        self.run = "codex/r1"
        self._number = 0
        self._runs = 1

    def next_run(self) -> None:
        """Begin another run."""
        self._runs += 1
        self.run, self._number = f"claude-code/r{self._runs}", 0

    def hear(self, kind: type[Saying], *values: Any, **more: Any) -> None:
        """Let the run say something."""
        self._number += 1
        self.keep(
            [kind(self._number, AT + 60 * self._runs + self._number, 10 * self._number, *values, **more)]
        )

    def keep(self, sayings: Sequence[Saying]) -> None:
        """Keep these sayings."""
        body = kept(self.ledger, self.run, sayings)
        if body is not None:
            self.ledger = take_kept(self.ledger, body, "")

    def user(self, text: str, **more: Any) -> None:
        """The user writes."""
        self.hear(Message, text, **more)

    def agent(self, text: str, did: str = "src/a.py", calls: int = 2) -> None:
        """The agent ends its turn with these words."""
        self.hear(TurnEnded, text, did, calls)

    def entries(self, kind: str) -> list[Entry]:
        """All entries of a kind."""
        return [entry for entry in self.ledger.entries if entry.kind == kind]

    def states(self, kind: str) -> dict[str, str]:
        """The states of the entries of a kind, by their texts."""
        return {entry.text: entry.state for entry in self.entries(kind)}

    @property
    def holds(self) -> Standing:
        """What stands."""
        return standing(self.ledger.entries)

    def requests(self) -> list[str]:
        """The open requests."""
        return [one.entry.text for one in self.holds.requests]

    def rules(self) -> list[str]:
        """The rules that stand."""
        return [one.entry.text for one in self.holds.rules]


def begun() -> Talk:
    """A conversation that began with a task."""
    talk = Talk()
    talk.user(TASK)
    return talk
