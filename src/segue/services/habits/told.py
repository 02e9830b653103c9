"""What a brief says of habits: read from the row that was learnt before, always with its counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...core.base.values import Value
from ...core.habits.model import EVERYTHING, HOLDS_MIN, HabitTable, HabitWords, habit_id
from ...core.runs.digest import trail
from ...core.runs.model import RunDigest
from ...errors import SegueError
from ..workspace.workspace import Workspace
from .rows import is_on, project_of, table_of, words_of

if TYPE_CHECKING:
    from ...core.habits.next_moves import Expected
    from ...core.habits.trace import Move

COMMANDS_MAX, FILES_MAX = 2, 2
STEPS_LOOKED_AT = 24


class HabitLines(Value):
    """What a brief says of habits, a line each."""

    next: list[str] = []
    rules: list[str] = []


def habit_lines(workspace: Workspace, digest: RunDigest, changed: Sequence[str]) -> HabitLines:
    """What usually comes next after a run, and the rules that were accepted; nothing if habits are off, or
    the store fails. ``changed`` are the files that are not committed."""
    try:
        if not is_on(workspace):
            return HabitLines()
        project = project_of(workspace)
        words = words_of(workspace, project)
        table = table_of(workspace, project)
    except (SegueError, OSError):
        return HabitLines()
    next = [] if table is None else usually_next(table, words, digest, changed)
    return HabitLines(next, list(words.accepted.values()))


def accepted_rules(workspace: Workspace) -> list[str]:
    """The rules that were accepted from what users said again and again; none if habits are off."""
    try:
        return list(words_of(workspace, project_of(workspace)).accepted.values()) if is_on(workspace) else []
    except (SegueError, OSError):
        return []


def usually_next(
    table: HabitTable, words: HabitWords, digest: RunDigest, changed: Sequence[str] = ()
) -> list[str]:
    """What usually comes next after a run, by these habits, a line each."""
    if EVERYTHING in words.off:
        return []
    from ...core.habits.trace import moves_of_trail  # most projects have no habits, and most hooks no time

    moves = moves_of_trail(trail(digest)[-STEPS_LOOKED_AT:], digest.cwd)
    return [*_commands(table, words, moves), *_files(table, words, moves, changed)]


def _commands(table: HabitTable, words: HabitWords, moves: Sequence[Move]) -> list[str]:
    if not moves:
        return []
    from ...core.habits.next_moves import expected_commands

    off = {*words.off}
    expected = [
        one
        for one in expected_commands(table, moves, HOLDS_MIN)
        if not off & {habit_id("command", one.form), habit_id("order", one.form)}
    ][:COMMANDS_MAX]
    if not expected:
        return []
    told = [
        f"`{words.corrected.get(one.form, one.form)}` ({one.count} of {one.of} times)" for one in expected
    ]
    return [f"{', '.join(told)} {_after(expected[0], moves)}"]


def _after(expected: Expected, moves: Sequence[Move]) -> str:
    from ...core.habits.next_moves import EDIT, START, context_of

    if expected.before in (EDIT, START):
        return "after an edit" if expected.before == EDIT else "at the start"
    outcome = {"+": "passed", "-": "failed"}.get(context_of(moves)[-1], "ran")
    return f"after `{expected.before[:-1]}` {outcome}"


def _files(table: HabitTable, words: HabitWords, moves: Sequence[Move], changed: Sequence[str]) -> list[str]:
    """Files that usually change together with those that have changed, and have not changed yet."""
    here = [*dict.fromkeys([*(move.what for move in moves if move.kind == "edit"), *changed])]
    missing = [
        one
        for one in table.together
        if one.path in here and one.other not in here and one.id not in words.off
    ]
    told = {one.other: one for one in reversed(missing)}
    best = sorted(told.values(), key=lambda one: -one.share)[:FILES_MAX]
    return [f"{one.other} changes with {one.path} ({one.both} of {one.of} {one.source})" for one in best]
