"""Asking a model: the ladder, one rung after the other, each call in the ledger before it is made.

A rung that has no key, costs too much, does not answer, or answers with nothing that can be read gives way
to the next; when none is left, ModelFailed or OverBudget says why each failed, and the caller goes on
without a model. Nothing is asked in the background, and nothing is sent that is not in ``requests``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ...core.base.values import Value
from ...core.models import answer as answers
from ...core.models import prompt
from ...core.models import spending as spend
from ...core.models.grounding import ClaimSource, Grounded, ObservedFacts, ground
from ...core.models.prompt import ModelQuestion
from ...effects import models as effect
from ...effects.models import ModelAnswer, ModelFault
from ...effects.redaction.redact import redact
from ...errors import ModelFailed, OverBudget
from . import config as ladders
from . import ledger as spending

if TYPE_CHECKING:
    from ..workspace.workspace import Workspace
    from .config import Ladder, ModelChoice

Telling = Callable[[str], None]


class Attempt(Value):
    """A rung that gave no answer, and why."""

    model: str
    why: str


class ModelReply(Value):
    """An answer, what it used, and which rungs failed before."""

    value: Any
    model: str
    input: int
    output: int
    cost: float
    seconds: float
    bytes_sent: int
    attempts: tuple[Attempt, ...] = ()


class RequestPreview(Value):
    """What would be sent to a rung, to the byte, and what it can cost; the key is not in it."""

    model: str
    url: str
    headers: dict[str, str]
    body: str
    bytes: int
    ceiling: float
    refused: str = ""
    """Why it would not be sent; empty if it would."""


def requests(workspace: Workspace, question: ModelQuestion, *, session: str = "") -> list[RequestPreview]:
    """What would be sent, rung by rung; nothing is."""
    ladder = ladders.wanted(workspace)
    found = []
    for rung in ladder.rungs:
        plain = effect.request_of(rung.endpoint, question)
        most = ceiling_of(rung, question)
        today, before, _ = spending._books(workspace, spending.today())
        why = spend.refusal(most, session, today, before, ladder.caps) or _no_key(workspace, rung)
        shown = effect.with_key(rung.endpoint, plain, effect.MASK if rung.key else "")
        body = plain.body.decode()
        found.append(
            RequestPreview(rung.name, plain.url, dict(shown.headers), body, len(plain.body), most, why)
        )
    return found


def ceiling_of(rung: ModelChoice, question: ModelQuestion) -> float:
    """What asking a rung can cost at most, in whichever form it is asked."""
    forms = [effect.request_of(rung.endpoint, question, form=form) for form in (True, False)]
    return spend.ceiling(max(len(one.body) for one in forms), question.output_tokens_max, rung.price)


def _no_key(workspace: Workspace, rung: ModelChoice) -> str:
    if rung.key and not rung.secret(workspace.environment):
        return f"no key: {rung.key} is not set"
    return ""


def ask(
    workspace: Workspace, question: ModelQuestion, *, session: str = "", ladder: Ladder | None = None,
    tell: Telling | None = None,
) -> ModelReply:  # fmt: skip
    """The answer of the first rung that gives one; OverBudget if caps alone stood in the way."""
    found = ladder or ladders.wanted(workspace)
    attempts: list[Attempt] = []
    over = 0
    for rung in found.rungs:
        why = _no_key(workspace, rung)
        if not why:
            if tell is not None:
                tell(f"asking {rung.name}")
            try:
                return _asked(workspace, rung, found, question, session, tuple(attempts))
            except OverBudget as fault:
                why, over = fault.message, over + 1
            except ModelFault as fault:
                why = str(fault)
        attempts.append(Attempt(rung.name, why))
    told = "; ".join(f"{one.model}: {one.why}" for one in attempts)
    kind = OverBudget if over and over == len(attempts) else ModelFailed
    raise kind(told or "no model answered", hint="`segue model test` asks each of them")


def _asked(
    workspace: Workspace,
    rung: ModelChoice,
    ladder: Ladder,
    question: ModelQuestion,
    session: str,
    attempts: tuple[Attempt, ...],
) -> ModelReply:
    most = ceiling_of(rung, question)
    call = spending.reserve(
        workspace, most, ladder.caps, model=rung.name, purpose=question.purpose, session=session
    )
    cost, outcome, found = most, "cancelled", ModelAnswer("")
    try:
        key = rung.secret(workspace.environment)
        found = effect.ask(rung.endpoint, question, key=key, seconds=rung.seconds)
        cost = _cost(rung, found, most)
        value = answers.value_of(found.text)
        outcome = "answered" if value is not None else "unreadable"
        if value is None:
            raise ModelFault(
                "there is no JSON in its answer" if found.text.strip() else "its answer is empty"
            )
    except ModelFault as fault:
        if outcome == "cancelled":
            cost, outcome = (most if fault.sent else 0.0), "failed"
        raise
    finally:
        spending.settle(
            workspace, call, cost=cost, input=found.input, output=found.output, seconds=found.seconds,
            outcome=outcome,
        )  # fmt: skip
    sent = len(effect.request_of(rung.endpoint, question).body)
    return ModelReply(value, rung.name, found.input, found.output, cost, found.seconds, sent, attempts)


def _cost(rung: ModelChoice, answer: ModelAnswer, most: float) -> float:
    """From what the server says that was used; where it says nothing, the ceiling."""
    if rung.price is not None and rung.price.free:
        return max(0.0, answer.cost)
    if answer.cost >= 0:
        return answer.cost
    return spend.cost_of(answer.input, answer.output, rung.price) if answer.counted else most


def hello() -> ModelQuestion:
    """The smallest question: whether a model answers at all, in the form that is asked for."""
    form = prompt.closed({"ok": {"type": "boolean"}})
    return ModelQuestion("test", 'Answer with JSON only: {"ok": true}', "Are you there?", form, 40)


class Refined(Value):
    """What a model added that holds, what was dropped and why, or why there was no answer."""

    grounded: Grounded = Grounded()
    asked: ModelReply | None = None
    fell_back: str = ""
    """Why it was done without a model; empty if one answered."""


def claims_question(
    workspace: Workspace, purpose: str, sources: Sequence[ClaimSource], about: str = ""
) -> ModelQuestion:
    """The question for claims, for the smallest window of the ladder."""
    short = ladders.wanted(workspace).window < prompt.WINDOW_SHORT
    return prompt.question(purpose, about, sources, short=short)


def claims(
    workspace: Workspace, purpose: str, sources: Sequence[ClaimSource], facts: ObservedFacts, *,
    about: str = "",
    session: str = "", tell: Telling | None = None,
) -> Refined:  # fmt: skip
    """Ask for claims about these sources and ground them; faults become words."""
    question = claims_question(workspace, purpose, sources, about)
    try:
        asked = ask(workspace, question, session=session, tell=tell)
    except (ModelFailed, OverBudget) as fault:
        return Refined(fell_back=fault.message)
    value = asked.value
    rows = value.get("claims") if isinstance(value, dict) else value
    return Refined(ground(rows if isinstance(rows, list) else [rows], sources, facts), asked)


def masked(sources: Sequence[ClaimSource]) -> list[ClaimSource]:
    """Sources without secrets."""
    return [ClaimSource(one.id, one.voice, redact(one.text), one.at) for one in sources]


__all__ = [
    "ModelReply",
    "Refined",
    "RequestPreview",
    "ask",
    "claims",
    "claims_question",
    "masked",
    "requests",
]
