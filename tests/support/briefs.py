"""Briefs of a few steps, and the text after a label in one."""

from __future__ import annotations

import re

from segue.core.brief.compose import compose
from segue.core.brief.facts import Probe, facts
from segue.core.runs.digest import fold
from segue.core.runs.steps import Prompt, Step

GOAL = "Rework the invoice parser so that amounts are kept in cents"


def brief(*steps: Step, budget: int = 2_048, probe: Probe | None = None) -> str:
    """The brief for the next run after these steps."""
    return compose(facts([fold(steps)], probe=probe, agent="codex"), budget, "segue show run-1 --timeline")


def brief_with_goal(*steps: Step) -> str:
    """The same after somebody asked for ``GOAL``."""
    return brief(Prompt(1, GOAL), *steps)


def line(text: str, label: str) -> str:
    """The text after a label; empty if the label is missing."""
    found = [one for one in text.split("\n") if re.match(rf"{label}(?: \([^)]*\))?:", one)]
    return found[0].partition(": ")[2] if found else ""
