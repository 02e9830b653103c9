"""What usually comes next, from what came before: by the habits of a project and the run itself.

What came last decides: a command with its outcome, or an edit; where little is known of that, commands in
general do. The habits count as much as a few commands at most (``Weights``), so that a run which goes its own
way is soon believed more than them, and of the run itself what it did lately counts most.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..base.values import Value
from .model import SEEN_MIN, Counted, HabitTable
from .trace import Move

ANY, START, EDIT = "", "^", "edit"
RECENT_MAX, EDITED_MAX = 20, 5
FILES_WEIGHT = 0.5


class Weights(Value):
    """What counts how much for the next command."""

    own: float = 3.0
    """The last command of the run itself."""
    own_fade: float = 0.8
    """Each command of the run itself, of the one after it."""
    habits: float = 10.0
    """All habits together, at most."""
    general: float = 1.0
    """Commands in general, beside those that came after what came last."""


class Expected(Value):
    """A command that usually comes next, and on which counts that rests."""

    form: str
    before: str
    """What came before it, see ``context_of``."""
    count: int
    of: int
    share: float


def context_of(moves: Sequence[Move]) -> str:
    """What came last: a command with + or - for its outcome, an edit, or nothing."""
    last = next((move for move in reversed(moves) if move.kind != "read"), None)
    if last is None:
        return START
    if last.kind == "edit":
        return EDIT
    return last.what + {True: "+", False: "-", None: "?"}[last.ok]


def count_commands(
    counts: dict[str, Counted], moves: Sequence[Move], weight: float, fade: float = 1.0
) -> None:
    """Add to ``counts`` what came after what in a run. Its last command has this weight, and each of those
    before it ``fade`` of the one after it."""
    last = START
    weight *= fade ** max(0, sum(move.kind == "run" for move in moves) - 1)
    for move in moves:
        if move.kind == "read":
            continue
        if move.kind == "run":
            for context in (last, ANY):
                of = counts.setdefault(context, {})
                before, times = of.get(move.what, (0.0, 0))
                of[move.what] = (before + weight, times + 1)
            weight /= fade
        last = context_of((move,))


WEIGHTS = Weights()


def next_commands(
    table: HabitTable, moves: Sequence[Move], most: int = 3, weigh: Weights = WEIGHTS
) -> list[str]:
    """The commands that are likely to come next, the likeliest first."""
    own: dict[str, Counted] = {}
    count_commands(own, moves, weigh.own, weigh.own_fade)
    shares: dict[str, float] = {}
    for context in (ANY, context_of(moves)):
        weights = {form: weigh.general * share for form, share in shares.items()}
        habits = table.after.get(context, {})
        whole = sum(weight for weight, _ in habits.values())
        for form, (weight, _) in own.get(context, {}).items():
            _add(weights, form, weight)
        for form, (weight, _) in habits.items():
            _add(weights, form, weight * min(1.0, weigh.habits / whole))
        total = sum(weights.values()) or 1.0
        shares = {form: weight / total for form, weight in weights.items()}
    return _best(shares, most)


def expected_commands(table: HabitTable, moves: Sequence[Move], least: float) -> list[Expected]:
    """The commands that by habit alone come after what came last, with their counts."""
    before = context_of(moves)
    counts = table.after.get(before, {})
    weight_of_all, of = sum(weight for weight, _ in counts.values()), sum(n for _, n in counts.values())
    found = [
        Expected(form, before, count, of, weight / weight_of_all)
        for form, (weight, count) in counts.items()
        if count >= SEEN_MIN and weight / weight_of_all >= least
    ]
    return sorted(found, key=lambda one: -one.share)


def next_files(table: HabitTable, moves: Sequence[Move], most: int = 3) -> list[str]:
    """The files that are likely to be edited next, other than the one that was edited last."""
    edited = list(dict.fromkeys(move.what for move in reversed(moves) if move.kind == "edit"))
    last = edited[0] if edited else ""
    seen = dict.fromkeys(move.what for move in reversed(moves) if move.kind in ("edit", "read"))
    recent = [path for path in seen if path != last][:RECENT_MAX]
    scores = {path: 1.0 / place for place, path in enumerate(recent, 1)}
    for place, path in enumerate(edited[:EDITED_MAX], 1):
        whole = table.edited.get(path, 0.0) + 1.0
        for other, (weight, _) in table.files.get(path, {}).items():
            _add(scores, other, FILES_WEIGHT * weight / whole / place)
    total = sum(table.edited.values()) + 1.0
    for path, weight in table.edited.items():
        _add(scores, path, FILES_WEIGHT * weight / total)
    scores.pop(last, None)
    return _best(scores, most)


def _add(scores: dict[str, float], key: str, score: float) -> None:
    scores[key] = scores.get(key, 0.0) + score


def _best(scores: dict[str, float], most: int) -> list[str]:
    return sorted(scores, key=lambda key: -scores[key])[:most]


def hits(table: HabitTable, moves: Sequence[Move]) -> tuple[int, int]:
    """How often the next command of a run was among the first three, and of how many."""
    found, of = 0, 0
    for at in command_places(moves):
        of += 1
        found += moves[at].what in next_commands(table, moves[:at])
    return found, of


def command_places(moves: Sequence[Move]) -> Iterable[int]:
    """The places of commands that begin a line."""
    return (at for at, move in enumerate(moves) if move.kind == "run" and not move.joined)
