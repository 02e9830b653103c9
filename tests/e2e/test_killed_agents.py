"""Real agents that are killed again and again: each next run is told of the task and of the call that was cut
off, whatever became of the runs before it."""

from __future__ import annotations

import os
import random
from collections.abc import Callable

import pytest
from tests.e2e.conftest import MakeRig
from tests.support.killed_agents.drive import ChainOfRuns, KilledAgent
from tests.support.killed_agents.plan import planned
from tests.support.killed_agents.tally import Tally

SEED = os.environ.get("SEGUE_CHAIN_SEED", "")
"""The seed of a single chain that is to be repeated."""
SLOWEST_FIRST = ("cline", "opencode", "gemini-cli", "claude-code", "codex")


@pytest.mark.timeout(7200)
@pytest.mark.parametrize("hooks", ["plain", "live"])
@pytest.mark.parametrize("agent", SLOWEST_FIRST)
def test_a_run_that_was_killed_at_any_moment_is_told_to_the_next(
    rig: MakeRig, agent: str, hooks: str, kill_count: int, record_property: Callable[[str, object], None]
) -> None:
    """`make soak-agents` kills each of them 50 times, half of that with live hooks."""
    killed, tally = KilledAgent(rig(agent), agent, live=hooks == "live"), Tally()
    while tally.kills < max(2, kill_count // 8):
        seed = int(SEED) if SEED else random.randrange(1 << 30)
        print(f"SEGUE_CHAIN_SEED={seed}")
        chain = ChainOfRuns(killed, planned(seed))
        tally.add(chain.go())
        print(*chain.story, sep="\n")
        if SEED:
            break
    record_property("killed agents", [agent, *tally.counts()])
    assert not tally.wrong, "\n".join(tally.wrong)
