"""What a session may spend, and what it can do when that is spent.

Limits are declared, and so is what was spent; nothing here knows prices. A limit that is reached is no
error: the work is saved and the user has three ways to go on.
"""

from __future__ import annotations

from math import isfinite
from typing import ClassVar

from ..base.values import Value
from . import events as ev
from .command import Bodies, Command, Refusal
from .state import SessionState

AMOUNT_MAX = 1e12


class SetBudget(Command):
    """Set limits, or say that the work goes on sparingly beyond them."""

    CLASHES: ClassVar[tuple[str, ...]] = ("budget.set",)
    LOOKS: ClassVar[bool] = True
    limit_cost: float | None = None
    limit_tokens: int | None = None
    limited: bool | None = None

    def outcome(self, state: SessionState) -> Bodies | Refusal:
        for amount in (self.limit_cost, self.limit_tokens):
            if amount is not None and not (isfinite(amount) and 0 <= amount <= AMOUNT_MAX):
                return Refusal("usage", f"{amount} is no limit", "a number from 0 on; 0 means none")
        names = ("limit_cost", "limit_tokens", "limited")
        given = {name: getattr(self, name) for name in names}
        fresh = {k: v if v != getattr(state.budget, k) else None for k, v in given.items()}
        return [ev.BudgetSet(**fresh)] if any(v is not None for v in fresh.values()) else []


class Spend(Command):
    """Something was spent."""

    cost: float = 0.0
    tokens: int = 0

    def outcome(self, state: SessionState) -> Bodies | Refusal:
        if not all(isfinite(one) and 0 <= one <= AMOUNT_MAX for one in (self.cost, self.tokens)):
            return Refusal("usage", f"{self.cost} USD and {self.tokens} tokens", "amounts from 0 on")
        return [ev.BudgetSpent(self.cost, self.tokens)] if self.cost or self.tokens else []


class Option(Value):
    """A way to go on."""

    name: str
    about: str
    command: str


class Standing(Value):
    """What was spent, of what."""

    current_spend: float
    limit: float
    """In US dollars; 0: none."""
    tokens_used: int
    tokens_limit: int
    limited: bool
    exceeded: bool
    options: tuple[Option, ...] = ()

    @property
    def share(self) -> float:
        """How much of the limit that is nearer is spent; 0 without limits."""
        shares = [self.current_spend / self.limit] if self.limit else []
        shares += [self.tokens_used / self.tokens_limit] if self.tokens_limit else []
        return max(shares, default=0.0)


def standing(state: SessionState, *, limit_cost: float = 0.0, limit_tokens: int = 0) -> Standing:
    """How a session stands against its own limits, or else against those that are given."""
    budget = state.budget
    spent, used = state.metrics.estimated_cost, budget.tokens_used
    cost, tokens = budget.limit_cost or limit_cost, budget.limit_tokens or limit_tokens
    exceeded = bool((cost and spent >= cost) or (tokens and used >= tokens))
    return Standing(
        spent, cost, used, tokens, budget.limited, exceeded,
        _options(state.id, spent, cost, used, tokens) if exceeded else (),
    )  # fmt: skip


def _options(id: str, spent: float, cost: float, used: int, tokens: int) -> tuple[Option, ...]:
    raised = [f"--limit {_twice(max(spent, cost)):g}"] if cost else []
    raised += [f"--limit-tokens {int(_twice(max(used, tokens)))}"] if tokens else []
    return (
        Option(
            "continue_limited", "go on with what is under way, as sparingly as possible",
            f"segue budget {id} --go-on && segue resume {id}",
        ),
        Option("pause", "stay paused; everything is saved", f"segue resume {id}"),
        Option(
            "increase_budget", "raise the limit and go on",
            f"segue budget {id} {' '.join(raised)} && segue resume {id}",
        ),
    )  # fmt: skip


def _twice(amount: float) -> float:
    return round(amount * 2, 2)
