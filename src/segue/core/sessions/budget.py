"""What a session may spend, and how to continue once that is spent.

Both limits and spending are declared; nothing here knows prices. Reaching a limit is not an error: the work
is saved, and the user gets three options.
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
    """Set limits, or let the session continue sparingly beyond them. A value of None stays as it is."""

    CLASHES: ClassVar[tuple[str, ...]] = ("budget.set",)
    LOOKS: ClassVar[bool] = True
    limit_cost: float | None = None
    limit_tokens: int | None = None
    limited: bool | None = None

    def outcome(self, state: SessionState) -> Bodies | Refusal:
        for amount in (self.limit_cost, self.limit_tokens):
            if amount is not None and not (isfinite(amount) and 0 <= amount <= AMOUNT_MAX):
                return Refusal("usage", f"{amount} is not a limit", "use 0 or more; 0 means no limit")
        names = ("limit_cost", "limit_tokens", "limited")
        values = {name: getattr(self, name) for name in names}
        changed = {k: v if v != getattr(state.budget, k) else None for k, v in values.items()}
        return [ev.BudgetSet(**changed)] if any(v is not None for v in changed.values()) else []


class Spend(Command):
    """Add to what was spent."""

    cost: float = 0.0
    tokens: int = 0

    def outcome(self, state: SessionState) -> Bodies | Refusal:
        if not all(isfinite(amount) and 0 <= amount <= AMOUNT_MAX for amount in (self.cost, self.tokens)):
            message = f"{self.cost} USD and {self.tokens} tokens cannot be spent"
            return Refusal("usage", message, "amounts must be 0 or more")
        return [ev.BudgetSpent(self.cost, self.tokens)] if self.cost or self.tokens else []


class Option(Value):
    """A way to continue after a limit was reached."""

    name: str
    about: str
    command: str


class Standing(Value):
    """What was spent, and the limits that apply."""

    current_spend: float = 0.0
    limit: float = 0.0
    """In US dollars; 0 means no limit."""
    tokens_used: int = 0
    tokens_limit: int = 0
    limited: bool = False
    exceeded: bool = False
    options: tuple[Option, ...] = ()

    @property
    def share(self) -> float:
        """The fraction spent of the limit that will be reached first; 0 without limits."""
        shares = [self.current_spend / self.limit] if self.limit else []
        shares += [self.tokens_used / self.tokens_limit] if self.tokens_limit else []
        return max(shares, default=0.0)


def standing(state: SessionState, *, limit_cost: float = 0.0, limit_tokens: int = 0) -> Standing:
    """What a session has spent of its own limits or, where it has none, of those passed in."""
    budget = state.budget
    spent, used = state.metrics.estimated_cost, budget.tokens_used
    cost, tokens = budget.limit_cost or limit_cost, budget.limit_tokens or limit_tokens
    exceeded = bool((cost and spent >= cost) or (tokens and used >= tokens))
    return Standing(
        spent, cost, used, tokens, budget.limited, exceeded,
        _options(state.id, spent, cost, used, tokens) if exceeded else (),
    )  # fmt: skip


def budget_words(budget: Standing) -> str:
    """What was spent of what, and in which way the session goes on; empty without limits and spending."""
    parts = [f"{budget.current_spend:g} of {budget.limit:g} USD"] if budget.limit else []
    parts += [f"{budget.current_spend:g} USD"] if budget.current_spend and not budget.limit else []
    if budget.tokens_limit or budget.tokens_used:
        limit = f" of {budget.tokens_limit:,}" if budget.tokens_limit else ""
        parts.append(f"{budget.tokens_used:,}{limit} tokens")
    if budget.exceeded:
        parts.append("a limit has been reached")
    if budget.limited:
        parts.append("it continues sparingly")
    return ", ".join(parts)


def _options(id: str, spent: float, cost: float, used: int, tokens: int) -> tuple[Option, ...]:
    raised = [f"--limit {_twice(max(spent, cost)):g}"] if cost else []
    raised += [f"--limit-tokens {int(_twice(max(used, tokens)))}"] if tokens else []
    return (
        Option(
            "continue_limited", "finish what is under way, as sparingly as possible",
            f"segue budget {id} --go-on && segue resume {id}",
        ),
        Option("pause", "stay paused; everything is saved", f"segue status {id}"),
        Option(
            "increase_budget", "raise the limit and continue",
            f"segue budget {id} {' '.join(raised)} && segue resume {id}",
        ),
    )  # fmt: skip


def _twice(amount: float) -> float:
    return round(amount * 2, 2)
