"""Briefs of a few steps, and what stands behind a label in one."""

from __future__ import annotations

import re

from segue.core.brief.compose import compose
from segue.core.brief.facts import Probe, facts
from segue.core.runs.digest import fold
from segue.core.runs.steps import Prompt, Step

GOAL = "Rework the invoice parser so that amounts are kept in cents"


def brief(*steps: Step, budget: int = 2_048, probe: Probe | None = None) -> str:
    """What the next run is told after these steps."""
    return compose(facts([fold(steps)], probe=probe, agent="codex"), budget, "segue show run-1 --timeline")


def brief_with_goal(*steps: Step) -> str:
    """The same after somebody asked for ``GOAL``."""
    return brief(Prompt(1, GOAL), *steps)


def line(text: str, label: str) -> str:
    """What stands behind a label; "" where it is not there."""
    found = [one for one in text.split("\n") if re.match(rf"{label}(?: \([^)]*\))?:", one)]
    return found[0].partition(": ")[2] if found else ""
