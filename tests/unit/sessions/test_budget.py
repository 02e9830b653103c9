"""What a session may spend: limits, spending, and the ways to go on once a limit is reached."""

from __future__ import annotations

import pytest
from tests.unit.sessions.test_commands import CREATE, after, kinds

from segue.core.sessions.budget import SetBudget, Spend, standing
from segue.core.sessions.commands import Refusal, decide
from segue.core.sessions.state import SessionState


def spent(*commands: SetBudget | Spend) -> SessionState:
    return after(CREATE, *commands)


@pytest.mark.parametrize("amount", [-1, -0.01, float("nan"), float("inf"), 1e12 + 1])
def test_an_amount_below_nothing_or_beyond_reason_is_refused(amount: float) -> None:
    for command in (SetBudget(limit_cost=amount), Spend(cost=amount)):
        outcome = decide(spent(), command)
        assert isinstance(outcome, Refusal) and outcome.code == "usage"


@pytest.mark.parametrize("tokens", [-1, 10**12 + 1])
def test_a_number_of_tokens_below_nothing_or_beyond_reason_is_refused(tokens: int) -> None:
    for command in (SetBudget(limit_tokens=tokens), Spend(tokens=tokens)):
        assert isinstance(decide(spent(), command), Refusal)


def test_limits_and_spending_may_be_as_large_as_the_largest_amount() -> None:
    state = spent(SetBudget(1e12, 10**12), Spend(1e12, 10**12))
    assert (state.budget.limit_tokens, state.budget.tokens_used) == (10**12, 10**12)
    assert (state.budget.limit_cost, state.metrics.estimated_cost) == (1e12, 1e12)


def test_a_limit_that_is_not_named_stays_and_one_of_nothing_lifts_it() -> None:
    state = spent(SetBudget(limit_cost=5.0), SetBudget(limit_tokens=100), SetBudget(limited=True))
    assert (state.budget.limit_cost, state.budget.limit_tokens, state.budget.limited) == (5.0, 100, True)
    lifted = after(SetBudget(limit_cost=0.0, limited=False), state=state)
    assert (lifted.budget.limit_cost, lifted.budget.limit_tokens, lifted.budget.limited) == (0.0, 100, False)


def test_setting_the_limits_that_are_set_is_no_event_and_only_what_changes_is_recorded() -> None:
    state = spent(SetBudget(limit_cost=5.0, limit_tokens=100))
    assert kinds(state, SetBudget(limit_cost=5.0, limit_tokens=100)) == []
    assert kinds(state, SetBudget()) == []
    outcome = decide(state, SetBudget(limit_cost=5.0, limit_tokens=200))
    assert not isinstance(outcome, Refusal)
    [body] = outcome
    assert (body.limit_cost, body.limit_tokens, body.limited) == (None, 200, None)  # type: ignore[attr-defined]


def test_spending_nothing_is_no_event_and_spending_either_is_one() -> None:
    assert kinds(spent(), Spend()) == []
    assert kinds(spent(), Spend(cost=0.1)) == kinds(spent(), Spend(tokens=1)) == ["budget.spent"]


def test_what_was_spent_adds_up() -> None:
    state = spent(Spend(0.1, 10), Spend(0.2, 5), Spend(tokens=1))
    assert standing(state).current_spend == pytest.approx(0.3) and standing(state).tokens_used == 16


@pytest.mark.parametrize(
    ("cost", "tokens", "exceeded"), [(4.99, 0, False), (5.0, 0, True), (0.0, 99, False), (0.0, 100, True)]
)
def test_a_limit_is_reached_when_all_of_it_is_spent(cost: float, tokens: int, exceeded: bool) -> None:
    found = standing(spent(SetBudget(5.0, 100), Spend(cost, tokens)))
    assert found.exceeded is exceeded and bool(found.options) is exceeded


def test_without_limits_nothing_is_ever_reached() -> None:
    found = standing(spent(Spend(1e6, 10**9)))
    assert not found.exceeded and found.share == 0.0 and (found.limit, found.tokens_limit) == (0.0, 0)


def test_a_session_goes_on_beyond_a_limit_only_if_somebody_said_so() -> None:
    assert not standing(spent(SetBudget(limit_cost=1.0))).limited
    assert standing(spent(SetBudget(limit_cost=1.0, limited=True))).limited


def test_the_limits_of_the_settings_hold_where_the_session_has_none_of_its_own() -> None:
    state = spent(SetBudget(limit_cost=5.0), Spend(3.0, 60))
    found = standing(state, limit_cost=1.0, limit_tokens=50)
    assert (found.limit, found.tokens_limit, found.exceeded) == (5.0, 50, True)


def test_the_share_is_that_of_the_limit_which_is_reached_first() -> None:
    assert standing(spent(SetBudget(10.0, 100), Spend(5.0, 20))).share == 0.5
    assert standing(spent(SetBudget(10.0, 100), Spend(1.0, 80))).share == 0.8
    assert standing(spent(SetBudget(limit_tokens=100), Spend(1.0, 80))).share == 0.8


def test_raising_a_limit_is_offered_as_twice_what_is_spent_or_allowed_for_the_limits_there_are() -> None:
    def offered(*commands: SetBudget | Spend) -> str:
        return next(
            one.command for one in standing(spent(*commands)).options if one.name == "increase_budget"
        )

    assert offered(SetBudget(5.0), Spend(6.25)) == "segue budget id --limit 12.5 && segue resume id"
    assert offered(SetBudget(limit_tokens=100), Spend(tokens=100)) == (
        "segue budget id --limit-tokens 200 && segue resume id"
    )
    assert offered(SetBudget(5.0, 100), Spend(1.005, 130)) == (
        "segue budget id --limit 10 --limit-tokens 260 && segue resume id"
    )
    assert offered(SetBudget(1.111), Spend(1.111)) == "segue budget id --limit 2.22 && segue resume id"
