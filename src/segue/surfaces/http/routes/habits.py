"""`/v1/habits`: what runs and commits of the project do again and again, as clients learnt it."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from ....services.habits.report import Habit, HabitsReport
from ...render import plain
from ..server.parameters import RequestBody
from ..server.route import Caller, route

HabitId = Annotated[str, Meta(max_length=64, description="The id of a habit.")]
_HABIT = Habit(
    "h3f9a1c2", "command", "pytest", 9, 11, 0.87, "on", "test", 31, 6, 1, 4.2, 9.0
)  # fmt: skip
_REPORT = HabitsReport(
    True, 11, 40, [_HABIT], ["edit", "pytest", "git commit"], ["git commit"], ["tests/test_cart.py"]
)


class HabitChange(RequestBody):
    """What to change about habits."""

    off: HabitId = ""
    """Switch it off; ``all`` for all."""
    on: HabitId = ""
    accept: HabitId = ""
    """Make an offered rule a standing one."""
    correct: HabitId = ""
    text: Annotated[str, Meta(max_length=400)] = ""
    """With ``correct``: what it should be."""


@route("GET", "/v1/habits", role="reader", errors=(), response=plain(_REPORT))
def get_habits(caller: Caller) -> HabitsReport:
    """The habits of the project, with their counts. Clients learn them, where the transcripts are."""
    return caller.segue.habits()


@route("PATCH", "/v1/habits", role="writer", body={"off": "all"}, response=plain(_REPORT))
def change_habits(caller: Caller, body: HabitChange) -> HabitsReport:
    """Switch habits off or on, accept an offered rule, or correct a habit."""
    return caller.segue.change_habits(
        off=body.off, on=body.on, accept=body.accept, correct=(body.correct, body.text)
    )
