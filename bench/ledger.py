"""`make bench-ledger`: what the ledger of a long session costs: keeping, folding, and saying what holds.

Messages of the kinds that people write are kept as they come, turn by turn, and folded again from what the
journal has of them. Beside it stands what decoding the same bytes costs.
"""

from __future__ import annotations

import random
import statistics
import time

import msgspec
from bench.common import machine, table, timed

from segue.core.ledger.events import SaidKept
from segue.core.ledger.fold import take_kept
from segue.core.ledger.keep import kept
from segue.core.ledger.model import Ledger
from segue.core.ledger.sayings import Message, Saying, TurnEnded
from segue.core.ledger.standing import standing

COUNTS, ROUNDS, LIMIT_MS = (500, 1_000, 2_000), 7, 50
PARTS = ("cart", "invoice", "login", "search", "export", "mailer", "ledger", "quota", "cache", "upload")
FORMS = (
    "Add a {} to the {} page.", "Also test the {} of the {}.", "Never change the {} of the {} by hand.",
    "The {} of the {} is wrong, it must be rounded.", "Why does the {} of the {} take so long?", "go on",
    "Please:\n1. rename the {}\n2. move the {} into its own file", "You may delete the {} in {} now.",
    "Forget the {} of the {}.", "Perfect, thanks. Now write the guide about the {} of the {}.",
)  # fmt: skip


def conversation(messages: int) -> list[Saying]:
    """So many messages of a user, each with the end of the agent's turn."""
    choose = random.Random(5)
    said: list[Saying] = []
    for number in range(messages):
        words = (f"{choose.choice(PARTS)}_{choose.randrange(400)}", choose.choice(PARTS))
        at, step = 1_760_000_000.0 + 60 * number, 20 * number
        said.append(Message(len(said) + 1, at, step, choose.choice(FORMS).format(*words)))
        told = f"The {words[0]} of the {words[1]} is done now, and the tests pass."
        said.append(TurnEnded(len(said) + 1, at + 30, step + 10, told, "src/shop.py", 3))
    return said


def keep_all(said: list[Saying]) -> tuple[Ledger, list[SaidKept]]:
    """The ledger of a conversation, and what the journal has of it: an event a turn."""
    ledger, bodies = Ledger(), []
    for at in range(0, len(said), 2):
        body = kept(ledger, "codex/r1", said[at : at + 2])
        if body is not None:
            bodies.append(body)
            ledger = take_kept(ledger, body, "2026-01-01T00:00:00Z")
    return ledger, bodies


def fold_all(bodies: list[SaidKept]) -> Ledger:
    ledger = Ledger()
    for body in bodies:
        ledger = take_kept(ledger, body, "2026-01-01T00:00:00Z")
    return ledger


def middle(times: list[float]) -> str:
    return f"{statistics.median(times) * 1000:.1f} ms"


def row(count: int) -> tuple[str, ...]:
    """What a conversation of so many messages costs."""
    said = conversation(count)
    start = time.process_time()
    ledger, bodies = keep_all(said)
    keeping = time.process_time() - start
    encoded = [msgspec.json.encode(body) for body in bodies]
    decoder = msgspec.json.Decoder(SaidKept)
    times: dict[str, list[float]] = {"decode": [], "fold": [], "standing": []}
    for _ in range(ROUNDS):
        times["decode"].append(timed(lambda: [decoder.decode(one) for one in encoded]))
        times["fold"].append(timed(lambda: fold_all(bodies)))
        times["standing"].append(timed(lambda: standing(ledger.entries)))
    return (
        f"{count:,}", f"{len(ledger.entries):,}", f"{keeping / count * 1000:.2f} ms",
        middle(times["decode"]), middle(times["fold"]), middle(times["standing"]),
    )  # fmt: skip


def main() -> None:
    table(
        f"The ledger of a session ({machine()}; the limit is {LIMIT_MS} ms to fold 2,000 messages)",
        ("messages", "entries", "keeping, each turn", "decoding its events", "folding them", "what holds"),
        [row(count) for count in COUNTS],
    )


if __name__ == "__main__":
    main()
