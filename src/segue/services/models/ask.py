"""Asking the configured models, one after the other, each call recorded in the ledger before it is made.

A model that has no key, would cost too much, does not answer, or gives an unreadable answer is followed by
the next one. If none is left, ModelFailed or OverBudget says why each failed, and the caller goes on without
a model. Nothing is sent that ``requests`` would not show.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import Any

from msgspec.structs import replace

from ...core.base.values import Value
from ...core.models import answer as answers, prompt, spending
from ...core.models.grounding import ClaimSource, Grounded, ObservedFacts, ground
from ...core.models.prompt import ModelQuestion
from ...effects import models as effect
from ...effects.models import ModelAnswer, ModelFault
from ...effects.redaction.redact import redact
from ...errors import ModelFailed, OverBudget
from ..workspace.workspace import Workspace
from . import ledger
from .config import ModelChoice, ModelConfig, load_required

Announce = Callable[[str], None]


class Attempt(Value):
    """A model that gave no usable answer, and why."""

    model: str
    why: str


class ModelReply(Value):
    """An answer, what it cost, and which models failed before."""

    value: Any
    model: str
    input: int
    output: int
    cost: float
    seconds: float
    bytes_sent: int
    attempts: tuple[Attempt, ...] = ()


class RequestPreview(Value):
    """The exact request that would be sent to a model, without the key, and the most that it can cost."""

    model: str
    url: str
    headers: dict[str, str]
    body: str
    bytes: int
    ceiling: float
    refused: str = ""
    """Why it would not be sent; empty if it would."""


def requests(workspace: Workspace, question: ModelQuestion, *, session: str = "") -> list[RequestPreview]:
    """What would be sent to each model. Nothing is sent. Raises NoModel."""
    config = load_required(workspace)
    previews = []
    for model in config.models:
        request = effect.request_of(model.endpoint, question)
        ceiling = ceiling_of(model, question)
        today, before, _ = ledger.ledgers(workspace, ledger.today())
        refused = spending.refusal(ceiling, session, today, before, config.caps) or _no_key(workspace, model)
        masked = effect.with_key(model.endpoint, request, effect.MASK if model.key else "")
        previews.append(
            RequestPreview(
                model.name, request.url, dict(masked.headers), request.body.decode(), len(request.body),
                ceiling, refused,
            )
        )  # fmt: skip
    return previews


def ceiling_of(model: ModelChoice, question: ModelQuestion) -> float:
    """The most that asking a model can cost, with or without a schema."""
    requests = [effect.request_of(model.endpoint, question, form=form) for form in (True, False)]
    size = max(len(request.body) for request in requests)
    return spending.ceiling(size, question.output_tokens_max, model.price)


def _no_key(workspace: Workspace, model: ModelChoice) -> str:
    if model.key and not model.secret(workspace.environment):
        return f"no key: {model.key} is not set"
    return ""


def ask(
    workspace: Workspace, question: ModelQuestion, *, session: str = "", config: ModelConfig | None = None,
    say: Announce | None = None, deadline: float = math.inf,
) -> ModelReply:  # fmt: skip
    """The answer of the first model that gives one. ``say`` is called with each model that is asked.
    ``deadline`` is a moment of the monotonic clock after which none is waited for. Raises NoModel, OverBudget
    if only caps stood in the way, or else ModelFailed."""
    config = config or load_required(workspace)
    attempts: list[Attempt] = []
    over = 0
    for model in config.models:
        left = deadline - time.monotonic()
        why = _no_key(workspace, model) if left > 0 else "the time is up"
        if not why:
            if say is not None:
                say(f"asking {model.name}")
            try:
                seconds = min(model.seconds, left)
                return _ask_model(workspace, model, config, question, session, tuple(attempts), seconds)
            except OverBudget as fault:
                why, over = fault.message, over + 1
            except ModelFault as fault:
                why = str(fault)
        attempts.append(Attempt(model.name, why))
    reasons = "; ".join(f"{attempt.model}: {attempt.why}" for attempt in attempts)
    kind = OverBudget if over and over == len(attempts) else ModelFailed
    raise kind(reasons or "no model answered", hint="`segue model test` tries each model")


def _ask_model(
    workspace: Workspace, model: ModelChoice, config: ModelConfig, question: ModelQuestion, session: str,
    attempts: tuple[Attempt, ...], seconds: float,
) -> ModelReply:  # fmt: skip
    ceiling = ceiling_of(model, question)
    call = ledger.reserve(
        workspace, ceiling, config.caps, model=model.name, purpose=question.purpose, session=session
    )
    cost, outcome, answer = ceiling, "cancelled", ModelAnswer("")
    try:
        key = model.secret(workspace.environment)
        answer = effect.ask(model.endpoint, question, key=key, seconds=seconds)
        cost = _cost(model, answer, ceiling)
        value = answers.value_of(answer.text)
        outcome = "answered" if value is not None else "unreadable"
        if value is None:
            said = bool(answer.text.strip())
            raise ModelFault("there is no JSON in its answer" if said else "its answer is empty")
    except ModelFault as fault:
        if outcome == "cancelled":
            cost, outcome = (ceiling if fault.sent else 0.0), "failed"
        raise
    finally:
        ledger.settle(
            workspace, call, cost=cost, input=answer.input, output=answer.output, seconds=answer.seconds,
            outcome=outcome,
        )  # fmt: skip
    sent = len(effect.request_of(model.endpoint, question).body)
    return ModelReply(value, model.name, answer.input, answer.output, cost, answer.seconds, sent, attempts)


def _cost(model: ModelChoice, answer: ModelAnswer, ceiling: float) -> float:
    """The cost that the server reports; if it reports none, computed from its tokens, else the ceiling."""
    if model.price is not None and model.price.free:
        return max(0.0, answer.cost)
    if answer.cost >= 0:
        return answer.cost
    return spending.cost_of(answer.input, answer.output, model.price) if answer.counted else ceiling


def hello() -> ModelQuestion:
    """The smallest question, to test whether a model answers with JSON at all."""
    form = prompt.closed({"ok": {"type": "boolean"}})
    return ModelQuestion("test", 'Answer with JSON only: {"ok": true}', "Are you there?", form, 40)


class Refined(Value):
    """The claims of a model that hold, those that were dropped and why, or why there was no answer."""

    grounded: Grounded = Grounded()
    asked: ModelReply | None = None
    fell_back: str = ""
    """Why no model had a part in it; empty if one answered."""


def claims_question(
    workspace: Workspace, purpose: str, sources: Sequence[ClaimSource], about: str = ""
) -> ModelQuestion:
    """The question for claims about these sources, in a length for the smallest window. Raises NoModel."""
    short = load_required(workspace).window < prompt.WINDOW_SHORT
    return prompt.question(purpose, about, sources, short=short)


def claims(
    workspace: Workspace, purpose: str, sources: Sequence[ClaimSource], facts: ObservedFacts, *,
    about: str = "", session: str = "", say: Announce | None = None, deadline: float = math.inf,
    trigger: str = "",
) -> Refined:  # fmt: skip
    """Ask for claims about these sources and ground them. If no model answers, the result says why.
    ``trigger`` is why it is asked without a command, for the ledger."""
    question = claims_question(workspace, purpose, sources, about)
    if trigger:
        question = replace(question, purpose=f"{purpose} ({trigger})")
    try:
        asked = ask(workspace, question, session=session, say=say, deadline=deadline)
    except (ModelFailed, OverBudget) as fault:
        return Refined(fell_back=fault.message)
    value = asked.value
    rows = value.get("claims") if isinstance(value, dict) else value
    return Refined(ground(rows if isinstance(rows, list) else [rows], sources, facts), asked)


def masked(sources: Sequence[ClaimSource]) -> list[ClaimSource]:
    """Sources without secrets."""
    return [ClaimSource(source.id, source.voice, redact(source.text), source.at) for source in sources]
