"""The habits of a project, as they are kept: a small row that is made anew after each run.

Every habit has its counts, and a weight in which each later run counts more than those before it: what did
not hold lately fades, however often it held before.
"""

from __future__ import annotations

import msgspec

from ..base.canonical import sha256
from ..base.lazy import msgpack_decoder

FORMAT = 1
HOLDS_MIN = 0.34
"""The least share, by weight, of a habit that is told."""
SEEN_MIN = 3
"""How often a habit must have held before it is told."""


class CommandHabit(msgspec.Struct, array_like=True):
    """A command that runs use again and again: a test, a check, a build or another one."""

    form: str
    group: str
    runs: int
    """In how many runs it was used."""
    of: int
    """Of how many."""
    count: int
    failed: int
    flaky: int
    """How often it failed and passed again with nothing done in between."""
    seconds: float
    """How long it takes: the median; 0 if that is not known."""
    seconds_most: float
    """How long it takes in nine of ten cases."""
    share: float
    """The share of runs, by weight."""

    @property
    def id(self) -> str:
        return habit_id("command", self.form)


class OrderHabit(msgspec.Struct, array_like=True):
    """A check that comes between the last edit and a commit."""

    form: str
    held: int
    of: int
    """Of how many commits after an edit."""
    place: float
    """Its mean place among the checks before a commit."""
    share: float

    @property
    def id(self) -> str:
        return habit_id("order", self.form)


class TogetherHabit(msgspec.Struct, array_like=True):
    """A file that changes when another one does."""

    path: str
    other: str
    both: int
    of: int
    share: float
    source: str = "commits"
    """commits or runs"""

    @property
    def id(self) -> str:
        return habit_id("together", self.path, self.other)


class RuleHabit(msgspec.Struct, array_like=True):
    """What users said again and again that should be so; offered as a standing rule, never set by itself."""

    text: str
    runs: int
    of: int

    @property
    def id(self) -> str:
        return habit_id("rule", self.text)


Counted = dict[str, tuple[float, int]]
"""What came next, with its weight and how often."""


class HabitTable(msgspec.Struct, omit_defaults=True):
    """All habits of a project."""

    runs: int = 0
    commits: int = 0
    commands: list[CommandHabit] = []
    order: list[OrderHabit] = []
    together: list[TogetherHabit] = []
    rules: list[RuleHabit] = []
    after: dict[str, Counted] = {}
    """By what came before: the commands that came next."""
    files: dict[str, Counted] = {}
    """By the file that was edited: the files that were edited in the same run."""
    edited: dict[str, float] = {}
    """How often files were edited, by weight."""
    format: int = FORMAT


class HabitWords(msgspec.Struct, omit_defaults=True):
    """What people said about habits."""

    off: list[str] = []
    """The ids of those that are switched off; ``all`` for all."""
    accepted: dict[str, str] = {}
    """Rules that were accepted, by id."""
    corrected: dict[str, str] = {}
    """Commands by the form that was counted, as they should be told."""


EVERYTHING = "all"
_encoder = msgspec.msgpack.Encoder()
_table = msgpack_decoder(HabitTable)
_words = msgpack_decoder(HabitWords)


def habit_id(*parts: str) -> str:
    """The id of a habit, by what it is about."""
    return f"h{sha256(chr(31).join(parts).encode('utf-8', 'replace')).hexdigest()[:7]}"


def encode(value: HabitTable | HabitWords) -> bytes:
    return _encoder.encode(value)


def table_in(body: bytes) -> HabitTable | None:
    """A stored table; None if it is of another format."""
    try:
        table = _table.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return table if table.format == FORMAT else None


def words_in(body: bytes) -> HabitWords:
    """What people said about habits; nothing if it cannot be read."""
    try:
        return _words.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return HabitWords()
