"""Briefs of a few steps, and the text after a label in one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from segue.core.brief.compose import compose
from segue.core.brief.empty_runs import joined_with_empty
from segue.core.brief.facts import BriefFacts, Probe, facts
from segue.core.ledger.fold import take_kept
from segue.core.ledger.keep import kept
from segue.core.ledger.model import Ledger
from segue.core.runs.digest import take
from segue.core.runs.hearing import Hearing, hear, heard_now
from segue.core.runs.model import RunDigest
from segue.core.runs.steps import Prompt, Step

GOAL = "Rework the invoice parser so that amounts are kept in cents"


def known(*runs: Sequence[Step], joins: bool = False, **more: Any) -> BriefFacts:
    """What is known after these runs, the oldest first. With ``joins``, those that did nothing are told
    together with the one before. ``more`` is what ``facts`` takes besides."""
    digests: list[RunDigest] = []
    ledger = Ledger()
    for number, steps in enumerate(runs):
        digest, hearing = RunDigest(), Hearing()
        for step in steps:
            take(digest, step)
            hear(hearing, digest, step)
        name = f"codex/{digest.native or f'run{number}'}"
        body = kept(ledger, name, heard_now(hearing, digest))
        ledger = take_kept(ledger, body, "") if body is not None else ledger
        digest.native = digest.native or f"run{number}"
        digests.insert(0, digest)
    shown = joined_with_empty(digests) if joins else digests
    result = facts(shown, entries=ledger.entries, **more)
    result.run = "" if re.fullmatch(r"run\d+", result.run) else result.run
    return result


def brief(*steps: Step, budget: int = 2_048, probe: Probe | None = None) -> str:
    """The brief for the next run after these steps."""
    return compose(known(steps, probe=probe, agent="codex"), budget, "segue show run-1 --timeline")


def brief_with_goal(*steps: Step) -> str:
    """The same after somebody asked for ``GOAL``."""
    return brief(Prompt(1, GOAL), *steps)


def line(text: str, label: str) -> str:
    """The text after a label; empty if the label is missing."""
    found = [one for one in text.split("\n") if re.match(rf"{label}(?: \([^)]*\))?:", one)]
    return found[0].partition(": ")[2] if found else ""
