"""Whether a run of a check proves what the check is there for.

``passed`` looks at facts (exit code, time, pattern, files) and at nothing that anybody said.
"""

from __future__ import annotations

from ..journal.event import Body
from .checks import Check
from .events import CheckRan, CheckReported, StepAttested

TRUSTS: dict[type[Body], str] = {CheckRan: "run", StepAttested: "attested", CheckReported: "reported"}
"""How far evidence is trusted: Segue ran it, somebody gave their word, somebody else's file says so."""


def passed(check: Check, ran: CheckRan) -> bool:
    """Whether a run proves what its check is there for."""
    ended = ran.exit_code == check.exit_code and not ran.signal and not ran.timed_out and not ran.fault
    still = bool(ran.covered) and ran.covered == ran.after
    return ended and still and (ran.found or not check.pattern)


def why_not(check: Check, ran: CheckRan) -> str:
    """The first thing that a failed run has to say, in a line."""
    if ran.fault:
        return ran.fault
    if ran.timed_out:
        return f"not over after {check.limit_seconds:g} s"
    if ran.signal:
        return f"ended by signal {ran.signal}"
    if ran.exit_code != check.exit_code:
        told = f"exit {ran.exit_code}" + (f" instead of {check.exit_code}" if check.exit_code else "")
        return ran.first or f"{told}: {check.text}"
    if check.pattern and not ran.found:
        return f"its output does not hold /{check.pattern}/"
    if not ran.covered:
        return "nobody looked at the covered files"
    return "covered files changed while it ran" if ran.covered != ran.after else ""
