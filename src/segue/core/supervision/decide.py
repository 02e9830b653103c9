"""What a supervisor does next: a function of what it sees, of what was spent, and of what the user allowed.

Pure. While an agent lives it is watched or ended; once it is gone, the next step is to prove, to launch, to
wait or to stop, and each says why. An agent's own "done" is only a claim: the gate of the features decides,
and without features an agent is believed if it had room left in its window. Nothing here can go on for ever:
runs are counted, runs without progress are counted, and waits grow.
"""

from __future__ import annotations

import re
from typing import Final, Literal

from ..base.lazy import regex
from ..base.values import Value, count

Trouble = Literal["", "rate", "auth", "overflow", "unreachable"]
Cause = Literal[
    "done", "crashed", "hung", "full", "rate", "auth", "overflow", "unreachable", "budget", "paused"
]  # fmt: skip
How = Literal["fresh", "resume"]
Outcome = Literal["done", "budget", "auth", "gave up", "paused", "blocked"]

RESUME_SHARE: Final = 0.5
"""Up to this share of the window, going on in the same conversation is better than a fresh one with a
brief."""
EMERGENCY_SHARE: Final = 0.9
RATE_LIMITED: Final = "rate limited"
_RATE = regex(
    r"rate.?limit|too many requests|\b429\b|\b529\b|overloaded|usage limit|quota|resource.?exhausted", re.I
)
_AUTH = regex(
    r"\b401\b|\b403\b|authenticat|unauthor|invalid (x-)?api.?key|api key not valid"
    r"|please (run /login|log ?in)|not logged in|permission.denied",
    re.I,
)
_OVERFLOW = regex(
    r"prompt is too long|context.?length|context window|maximum context|input is too long"
    r"|exceeds the maximum (number of )?tokens",
    re.I,
)
_UNREACHABLE = regex(
    r"\bE(?:CONN(?:REFUSED|RESET|ABORTED)|NOTFOUND|AI_AGAIN|TIMEDOUT|HOSTUNREACH|NETUNREACH)\b|getaddrinfo"
    r"|connection (?:was )?(?:refused|reset|error|failed|timed out)|fetch failed|error sending request"
    r"|(?:cannot|can't|could not|unable to|failed to) (?:connect|resolve|reach)|waiting for network"
    r"|name or service not known|network (?:error|is unreachable)|dns (?:error|lookup)",
    re.I,
)


class Policy(Value):
    """What the user allowed. A limit of 0 means no limit."""

    agents: tuple[str, ...]
    """The first one is used; the others take over when it cannot continue."""
    runs_max: int = 20
    seconds_max: float = 0.0
    tokens_max: int = 0
    cost_max: float = 0.0
    silent_seconds: float = 600.0
    """An agent that records nothing for this long counts as hung."""
    call_seconds: float = 1_800.0
    """The same while one of its commands runs."""
    threshold: float = 0.8
    """The share of the window at which the work continues in a fresh one."""
    fruitless_max: int = 3
    """Runs in a row without progress."""
    wait_seconds: float = 30.0
    wait_seconds_max: float = 1_800.0
    told_seconds_max: float = 21_600.0
    """The longest wait that an agent may ask for: a limit of five hours ends within it."""


class Tally(Value):
    """What was spent so far, over all runs."""

    runs: int = 0
    seconds: float = 0.0
    tokens: int = 0
    """Of windows and output; what is read again from a cache is not counted again."""
    cost: float = 0.0
    """Dollars, as far as agents report them."""
    fruitless: int = 0
    waits: int = 0
    """In a row."""
    out: tuple[str, ...] = ()
    """Agents that cannot continue: no login, or no progress."""


class Living(Value):
    """An agent at work, as it is seen now."""

    silent_seconds: float = 0.0
    in_call: bool = False
    """One of its commands or tools has no result yet."""
    share: float = 0.0
    """Of its window."""
    trouble: Trouble = ""
    troubled_seconds: float = 0.0
    """For how long it has been retrying in vain."""
    detail: str = ""
    """What it says about the trouble."""
    asked_to_stop: bool = False


class Gone(Value):
    """An agent whose process has ended."""

    agent: str
    cause: Cause
    native: str = ""
    """Of the conversation; empty if it never had one."""
    share: float = 0.0
    filled: float = 0.0
    """The most of its window that was used since it was last compacted."""
    progressed: bool = True
    resumed: bool = False
    """Whether it had continued an earlier conversation itself."""
    proven: bool | None = None
    """After a "done": whether the gate is open; None if nobody has looked yet."""
    checked: bool = False
    """Whether checks say so, and not only that nothing is left to do."""
    why_not: str = ""
    """Why it is not done, according to the gate or the plan."""
    retry_seconds: float = 0.0
    detail: str = ""


class Watch(Value, tag="watch"):
    """Leave the agent alone, and look again soon."""


class End(Value, tag="end"):
    """End the agent, gently first."""

    cause: Cause
    why: str


class Prove(Value, tag="prove"):
    """Run the checks, then decide again."""


class Launch(Value, tag="launch"):
    """Start an agent, after a wait if there is one."""

    agent: str
    how: How
    why: str
    wait_seconds: float = 0.0


class Waiting(Value):
    """A launch that waits for a rate limit to end, as it is stored for the next supervisor."""

    agent: str
    how: How
    why: str
    until: float
    """Seconds since 1970."""


class Stop(Value, tag="stop"):
    """Stop supervising, and why."""

    outcome: Outcome
    why: str


def trouble_of(text: str, status: int = 0) -> Trouble:
    """The kind of an agent's fault; empty for one that another try may fix."""
    if _OVERFLOW.search(text):
        return "overflow"
    if status in (429, 529) or (status not in (401, 403) and _RATE.search(text)):
        return "rate"
    if status in (401, 403) or _AUTH.search(text):
        return "auth"
    return "unreachable" if not status and _UNREACHABLE.search(text) else ""


def over_budget(policy: Policy, tally: Tally, *, launching: bool = False) -> str:
    """Which limit has been reached; empty if none has."""
    spent: tuple[tuple[str, float, float, str], ...] = (
        ("time", tally.seconds, policy.seconds_max, "s"),
        ("tokens", tally.tokens, policy.tokens_max, "tokens"),
        ("cost", tally.cost, policy.cost_max, "dollars"),
        ("runs", tally.runs if launching else 0, policy.runs_max, "runs"),
    )
    for name, used, most, unit in spent:
        if most and used >= most:
            return f"the limit of {most:g} {unit} is reached" if name != "time" else f"{most:g} s are over"
    return ""


def while_living(policy: Policy, tally: Tally, seen: Living) -> Watch | End:
    """What to do with an agent at work."""
    if seen.asked_to_stop:
        return End("paused", "you asked to stop")
    spent = over_budget(policy, tally)
    if spent:
        return End("budget", spent)
    if seen.share >= policy.threshold and (not seen.in_call or seen.share >= EMERGENCY_SHARE):
        return End("full", f"window {100 * seen.share:.0f} %")
    if seen.trouble in ("auth", "rate", "unreachable") and seen.troubled_seconds > policy.silent_seconds / 10:
        return End(seen.trouble, seen.detail or "it keeps retrying without success")
    patience = policy.call_seconds if seen.in_call else policy.silent_seconds
    if patience and seen.silent_seconds > patience:
        return End("hung", f"silent for {seen.silent_seconds:.0f} s")
    return Watch()


def once_gone(policy: Policy, tally: Tally, gone: Gone) -> Prove | Launch | Stop:
    """What to do after an agent's end."""
    if gone.cause == "paused":
        return Stop("paused", gone.detail or "you asked to stop")
    if gone.cause == "done" and gone.proven is None:
        return Prove()
    if gone.cause == "done" and gone.proven and (gone.checked or gone.filled < policy.threshold):
        return Stop("done", gone.detail)
    spent = over_budget(policy, tally, launching=True)
    if spent:
        return Stop("budget", spent)
    others = _others(policy, tally, gone.agent)
    if gone.cause == "auth":
        if others:
            return Launch(others[0], "fresh", f"{gone.agent} has no access")
        return Stop("auth", f"{gone.agent} has no access: {gone.detail or 'log in to it'}")
    if tally.fruitless >= policy.fruitless_max:
        why = f"{count(tally.fruitless, 'run')} of {gone.agent} without progress"
        return Launch(others[0], "fresh", why) if others else Stop("gave up", f"{why}: {_last(gone)}")
    if gone.cause == "rate":
        return _at_limit(policy, tally, gone.agent, _how(gone), limited(policy, tally, gone.retry_seconds))
    if gone.cause == "unreachable":
        wait = backoff(policy, tally.waits)
        return _after_wait(policy, tally, gone.agent, _how(gone), wait, "cannot reach its model")
    if gone.cause == "hung" and tally.fruitless and others:
        return Launch(others[0], "fresh", f"{gone.agent} hangs")
    return Launch(gone.agent, _how(gone), _why(gone, policy.threshold))


def picked_up(policy: Policy, tally: Tally, waiting: Waiting | None, now: float) -> Launch | Stop:
    """How to begin while no agent is running: with the launch that an earlier supervisor waited for, if
    any."""
    if waiting is None or waiting.agent not in policy.agents or waiting.agent in tally.out:
        return Launch(policy.agents[0], "fresh", "")
    rest = min(waiting.until - now, policy.told_seconds_max)
    if rest > 0:
        return _at_limit(policy, tally, waiting.agent, waiting.how, rest)
    return Launch(waiting.agent, waiting.how, waiting.why)


def _others(policy: Policy, tally: Tally, agent: str) -> list[str]:
    return [name for name in policy.agents if name != agent and name not in tally.out]


def _at_limit(policy: Policy, tally: Tally, agent: str, how: How, wait: float) -> Launch | Stop:
    """At a rate limit: another agent continues, or this one after a wait, if there is time for it."""
    return _after_wait(policy, tally, agent, how, wait, RATE_LIMITED)


def _after_wait(
    policy: Policy, tally: Tally, agent: str, how: How, wait: float, trouble: str
) -> Launch | Stop:
    others = _others(policy, tally, agent)
    is_limited = trouble == RATE_LIMITED
    told = f"{agent} is {trouble}" if is_limited else f"{agent} {trouble}"
    if others:
        return Launch(others[0], "fresh", told)
    if policy.seconds_max and tally.seconds + wait >= policy.seconds_max:
        longer = " for longer than the time left"
        return Stop("budget", told + longer if is_limited else f"{told}, and the time is up")
    return Launch(agent, how, trouble if is_limited else told, wait)


def limited(policy: Policy, tally: Tally, told_seconds: float) -> float:
    """How long to wait at a rate limit: as long as the agent says or, after repeated waits, at least the
    backoff."""
    if not told_seconds:
        return backoff(policy, tally.waits)
    least = backoff(policy, tally.waits - 1) if tally.waits else 0.0
    return min(max(told_seconds, least), policy.told_seconds_max)


def backoff(policy: Policy, waits: int) -> float:
    """How long to wait: twice as long each time, up to a limit."""
    return float(min(policy.wait_seconds * 2 ** min(waits, 30), policy.wait_seconds_max))


def _how(gone: Gone) -> How:
    """Whether to continue the same conversation: while there is room in it, and unless that just failed."""
    fits = (
        gone.cause in ("crashed", "rate", "unreachable", "done")
        and max(gone.share, gone.filled) < RESUME_SHARE
    )
    in_vain = gone.resumed and not gone.progressed
    return "resume" if gone.native and fits and not in_vain else "fresh"


def _why(gone: Gone, threshold: float) -> str:
    words = {"crashed": "crashed", "hung": "hung", "full": "handed over", "overflow": "window overflowed"}
    if gone.cause == "done" and gone.why_not:
        return f"not proven: {gone.why_not}"
    if gone.cause == "done":
        full = gone.filled >= threshold
        return (
            f"handed over (it stopped with its window {100 * gone.filled:.0f} % full)"
            if full
            else "not done yet"
        )
    return words.get(gone.cause, gone.cause) + (f" ({gone.detail})" if gone.detail else "")


def _last(gone: Gone) -> str:
    return gone.why_not if gone.cause == "done" and gone.why_not else gone.detail or gone.cause
