"""What supervised work has cost is said in words, and again when more of a limit is used."""

from __future__ import annotations

import pytest

from segue.core.supervision.decide import Policy, Tally
from segue.core.supervision.spending import milestones, spending

FREE = Policy(("claude-code",), runs_max=0)
LIMITED = Policy(("claude-code",), runs_max=20, seconds_max=7_200, tokens_max=500_000, cost_max=5)
SPENT = Tally(runs=2, seconds=780, tokens=125_400, cost=1.2)


@pytest.mark.parametrize(
    ("policy", "tally", "share", "words"),
    [
        (FREE, Tally(), 0.0, ""),
        (FREE, Tally(runs=1, seconds=3), 0.0, "1 run, 3 s"),
        (FREE, SPENT, 0.41, "window 41 %, 2 runs, 13 min, 125k tokens, $1.20"),
        (LIMITED, SPENT, 0.41,
         "window 41 %, 2 runs of 20, 13 min of 2.0 h, 125k tokens of 500k, $1.20 of $5"),
        (LIMITED, Tally(runs=1), 0.0, "1 run of 20, 0 s of 2.0 h, 0 tokens of 500k, $0.00 of $5"),
    ],
)  # fmt: skip
def test_what_was_spent_is_said_beside_its_limit(
    policy: Policy, tally: Tally, share: float, words: str
) -> None:
    assert spending(policy, tally, share) == words


@pytest.mark.parametrize(
    ("policy", "tally", "share", "reached"),
    [
        (LIMITED, Tally(), 0.24, (0, 0, 0, 0)),
        (LIMITED, Tally(), 0.25, (1, 0, 0, 0)),
        (LIMITED, Tally(seconds=3_600, tokens=380_000, cost=5), 0.8, (3, 2, 3, 4)),
        (FREE, Tally(seconds=3_600, tokens=380_000, cost=2.5), 0.0, (0, 0, 0, 2)),
    ],
)
def test_it_is_said_again_at_each_quarter_and_without_a_limit_at_each_dollar(
    policy: Policy, tally: Tally, share: float, reached: tuple[int, ...]
) -> None:
    assert milestones(policy, tally, share) == reached
