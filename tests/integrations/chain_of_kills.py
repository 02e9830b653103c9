"""Programs that pay with a tool, and are killed at random moments: what must hold whichever framework it is.

Each conversation pays the numbers from 0 on, one after the other. A payment is a line in a file, which no
restart takes back. After each kill the store is opened anew: all that was acknowledged is there, and no
number is paid again whose result the store had.
"""

from __future__ import annotations

import os
import random
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from tests.integrations.forked_program import ForkedProgram
from tests.support.scripted import Raw, Say, Script

PAYMENTS = 6
PROMPT = "SCRIPT:pay please pay all"


def script(tool: str = "pay") -> Script:
    """The model's part: a payment in each turn, and a word at the end."""
    turns = [[Raw(tool, {"n": number})] for number in range(PAYMENTS)]
    return Script("pay", [*turns, [Say("All is paid.")]])


def note(file: Path, line: str) -> None:
    """A line that is on the disk when this returns."""
    descriptor = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(descriptor, f"{line}\n".encode())
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def noted(file: Path) -> list[str]:
    return file.read_text().splitlines() if file.exists() else []


def paid(folder: Path, conversation: str) -> Counter[int]:
    """How often each number was paid in a conversation."""
    words = (line.split() for line in noted(folder / "payments"))
    return Counter(int(number) for name, number in words if name == conversation)


class Chain:
    """Conversations of a program, each killed and gone on with until it is through. What went wrong is in
    ``lost``, ``paid_again``, ``unpaid``, ``invented`` and ``failed``, for the tests to look at."""

    def __init__(self, program: ForkedProgram, folder: Path, seed: int, *, pays_all: bool = True) -> None:
        """Without ``pays_all`` the framework tells the model of a call without a result, for which the script
        has no turn: then it goes on with the next number."""
        self.program, self.folder, self.pays_all = program, folder, pays_all
        self.rng = random.Random(seed)
        self.kills = self.conversations = 0
        self.lost: list[str] = []
        """What was acknowledged and is not there."""
        self.paid_again: list[str] = []
        """Payments that were made although the store had the result of an earlier one."""
        self.unpaid: list[str] = []
        """Conversations that are through without all payments, or without all of their results."""
        self.invented: list[str] = []
        """Conversations with results of payments that were not made."""
        self.failed: list[str] = []
        """Runs that ended in another way than well or by the kill."""

    def go(self, kills: int, kept: Callable[[str], set[int]], lost: Callable[[str], list[str]]) -> None:
        """Kill so often, within the time that a run takes which is left alone. ``kept``: the numbers whose
        results the store has; ``lost``: what was acknowledged and is not there."""
        began = time.monotonic()
        if status := self.program.run("left-alone"):
            self.failed.append(f"left-alone ended with {status}")
            return
        seconds = time.monotonic() - began
        while self.kills < kills and not self.failed:
            name = f"conversation-{self.conversations}"
            self.conversations += 1
            self._conversation(name, kills, seconds, kept, lost)

    def _conversation(
        self, name: str, kills: int, seconds: float, kept: Callable[[str], set[int]],
        lost: Callable[[str], list[str]],
    ) -> None:  # fmt: skip
        while True:
            results, before = kept(name), paid(self.folder, name)
            is_last = self.kills >= kills
            after = None if is_last else self.rng.uniform(0, seconds)
            status = self.program.run(name, after)
            again = {number for number, times in (paid(self.folder, name) - before).items() if times}
            self.paid_again += [f"{name}: {number}" for number in sorted(again & results)]
            self.lost += [f"{name}: {one}" for one in lost(name)]
            if status not in (0, -9):
                self.failed.append(f"{name} ended with {status}")
                return
            if status == 0:
                self._through(name, set(paid(self.folder, name)), kept(name))
                return
            self.kills += 1

    def _through(self, name: str, made: set[int], known: set[int]) -> None:
        if not known <= made:
            self.invented.append(f"{name}: {sorted(known - made)}")
        if self.pays_all and not made == known == set(range(PAYMENTS)):
            self.unpaid.append(f"{name}: paid {sorted(made)}, kept {sorted(known)}")
