"""A mask may be longer than what it hides; the brief is not longer than its budget for it."""

from __future__ import annotations

from random import Random
from string import ascii_letters, digits

import pytest

from segue.core.brief.facts import facts
from segue.core.runs.digest import fold
from segue.core.runs.steps import Call, Plan, PlanItem, Prompt, Result, Say
from segue.services.brief.brief import render_brief

FORMS = ("password=%s", "API_KEY=%s", "postgres://u:%s@host/db", "token: %s", "--password %s")


def told(random: Random) -> str:
    words = []
    for _ in range(random.choice((5, 20, 60))):
        secret = "".join(random.choices(ascii_letters + digits, k=random.choice((8, 10, 16, 40))))
        words.append(random.choice(FORMS) % secret if random.random() < 0.5 else "use the cart")
    return " and ".join(words)


@pytest.mark.parametrize("seed", range(12))
def test_masks_never_make_a_brief_longer_than_its_budget(seed):
    random = Random(seed)
    command = told(random)
    digest = fold(
        [
            Prompt(1.0, told(random)),
            Say(2.0, told(random)),
            Call(3.0, "c1", "Bash", "run", command, command),
            Result(4.0, "c1", False, 1, told(random)),
            Plan(5.0, (PlanItem(told(random)), PlanItem(told(random)))),
        ]
    )
    for budget in (256, 300, 700, 2_048):
        for form in ("text", "json", "markdown"):
            assert len(render_brief(facts([digest], agent="x"), budget=budget, form=form).encode()) <= budget
