"""Habits to look at, to correct and to switch off."""

from __future__ import annotations

from msgspec.structs import replace

from ...core.base.text import clean_text
from ...core.base.values import Value
from ...core.features.checks import PERSON
from ...core.habits.model import EVERYTHING, HOLDS_MIN, HabitTable, HabitWords
from ...core.habits.next_moves import next_commands, next_files
from ...errors import RefusedError, UsageError
from ..workspace.workspace import Workspace
from .kept_habits import learn_habits, newest_trace
from .rows import is_on, keep_words, project_of, table_of, words_of

SAID_CHARS = 400


class Habit(Value):
    """A habit, with what it rests on."""

    id: str
    kind: str
    """command, order, together or rule."""
    text: str
    held: int
    of: int
    share: float
    """By weight: later runs count more."""
    state: str = "on"
    """on, faded (it did not hold lately), off, accepted (a rule) or offered (a rule)."""
    group: str = ""
    count: int = 0
    failed: int = 0
    flaky: int = 0
    seconds: float = 0.0
    seconds_most: float = 0.0
    path: str = ""
    other: str = ""
    source: str = ""


class HabitsReport(Value):
    """All habits of a project, and from how much they were learnt."""

    on: bool
    runs: int
    commits: int
    habits: list[Habit]
    checks: list[str] = []
    """The usual way from an edit to a commit."""
    next_commands: list[str] = []
    """What is likely to come next after the newest run that was learnt from, the likeliest first."""
    next_files: list[str] = []


def habits_report(workspace: Workspace, *, learns: bool = True) -> HabitsReport:
    """The habits of the project; with ``learns``, after its new runs were learnt from."""
    may_learn = learns and workspace.sees_tree and is_on(workspace) and not workspace.pause_file.in_force()
    table = learn_habits(workspace) if may_learn else table_of(workspace)
    words = words_of(workspace)
    found = habits_in(table or HabitTable(), words)
    on = is_on(workspace) and EVERYTHING not in words.off
    order = [habit.text for habit in found if habit.kind == "order" and habit.state == "on"]
    checks = ["edit", *order, "git commit"] if order else []
    whole = table_of(workspace, files=True) or HabitTable()
    moves = newest_trace(workspace, project_of(workspace)).moves if on else []
    return HabitsReport(
        on, whole.runs, whole.commits, found, checks,
        [words.corrected.get(form, form) for form in next_commands(whole, moves)] if moves else [],
        next_files(whole, moves) if moves else [],
    )  # fmt: skip


def habits_in(table: HabitTable, words: HabitWords) -> list[Habit]:
    """The habits of a table, as people see them."""
    found = [
        Habit(
            one.id, "command", words.corrected.get(one.form, one.form), one.runs, one.of, one.share,
            _state(one.share), one.group, one.count, one.failed, one.flaky, one.seconds, one.seconds_most,
        )
        for one in table.commands
    ]  # fmt: skip
    found += [
        Habit(one.id, "order", words.corrected.get(one.form, one.form), one.held, one.of, one.share)
        for one in table.order
    ]
    found += [
        Habit(
            one.id, "together", f"{one.path} goes with {one.other}", one.both, one.of, one.share,
            path=one.path, other=one.other, source=one.source,
        )
        for one in table.together
    ]  # fmt: skip
    found += [
        Habit(one.id, "rule", one.text, one.runs, one.of, one.runs / max(1, one.of), "offered")
        for one in table.rules
        if one.id not in words.accepted
    ]
    found += [Habit(id, "rule", text, 0, 0, 1.0, "accepted") for id, text in words.accepted.items()]
    return [replace(one, state="off") if one.id in words.off else one for one in found]


def _state(share: float) -> str:
    return "on" if share >= HOLDS_MIN else "faded"


def change_habits(
    workspace: Workspace,
    *,
    off: str = "",
    on: str = "",
    accept: str = "",
    correct: tuple[str, str] = ("", ""),
) -> HabitsReport:
    """Switch habits off or on (``all`` for all), accept an offered rule, or correct what a command is called.
    Raises UsageError if there is no such habit."""
    table, words = table_of(workspace) or HabitTable(), words_of(workspace)
    known = {habit.id: habit for habit in habits_in(table, words)}
    for id in filter(None, (off, on, accept, correct[0])):
        if id not in known and not (id == EVERYTHING and id in (off, on)):
            raise UsageError(
                f"there is no habit {id[:40]}", hint="`segue habits` lists those of this project"
            )
    if off:
        words.off = sorted({*words.off, off})
        words.accepted.pop(off, None)
    if on:
        words.off = [] if on == EVERYTHING else [id for id in words.off if id != on]
    if accept:
        if known[accept].kind != "rule":
            raise UsageError("only a rule can be accepted", hint="`segue habits --on ID` switches a habit on")
        _check_person(workspace)
        words.accepted[accept] = known[accept].text
        words.off = [id for id in words.off if id != accept]
    if correct[0]:
        _correct(workspace, table, words, known[correct[0]], correct[1])
    keep_words(workspace, words)
    return habits_report(workspace, learns=False)


def _check_person(workspace: Workspace) -> None:
    """Only a person makes a rule that stands: agents obey those."""
    if workspace.declarer != PERSON:
        told = f"{workspace.declarer} cannot make a standing rule"
        raise RefusedError(told, hint="a person accepts an offered rule, in a terminal of their own")


def _correct(workspace: Workspace, table: HabitTable, words: HabitWords, habit: Habit, said: str) -> None:
    text = clean_text(said, what="habit", mask=workspace.repository.mask, limit=SAID_CHARS).strip()
    if not text:
        raise UsageError("what should it be?", hint='segue habits --correct ID "pnpm test"')
    if habit.kind == "rule":
        _check_person(workspace)
        words.accepted[habit.id] = text
        return
    forms = {one.id: one.form for one in table.commands} | {one.id: one.form for one in table.order}
    form = forms.get(habit.id, "")
    if not form:
        raise UsageError("only commands and rules can be corrected", hint="`segue habits --off ID` hides it")
    words.corrected[form] = text
