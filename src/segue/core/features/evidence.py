"""Whether a check that ran has passed.

This is decided from what Segue observed (exit code, time, output, files), never from what anybody said.
"""

from __future__ import annotations

from ..journal.event import Body
from .checks import Check
from .events import CheckRan, CheckReported, StepAttested

TRUSTS: dict[type[Body], str] = {CheckRan: "run", StepAttested: "attested", CheckReported: "reported"}
"""How far each kind of evidence can be trusted: Segue ran the check itself, somebody attested to it, or a
report from elsewhere says so."""


def passed(check: Check, ran: CheckRan) -> bool:
    """Whether the command ended as the check demands and the covered files did not change meanwhile."""
    exited = ran.exit_code == check.exit_code and not ran.signal and not ran.timed_out and not ran.fault
    unchanged = bool(ran.covered) and ran.covered == ran.after
    return exited and unchanged and (ran.found or not check.pattern)


def why_not(check: Check, ran: CheckRan) -> str:
    """The most important reason why a check did not pass, in one line; empty if it passed."""
    if ran.fault:
        return ran.fault
    if ran.timed_out:
        return f"not finished after {check.limit_seconds:g} s"
    if ran.signal:
        return f"ended by signal {ran.signal}"
    if ran.exit_code != check.exit_code:
        exit = f"exit {ran.exit_code}" + (f" instead of {check.exit_code}" if check.exit_code else "")
        return ran.first or f"{exit}: {check.text}"
    if check.pattern and not ran.found:
        return f"its output does not match /{check.pattern}/"
    if not ran.covered:
        return "the covered files were not looked at"
    return "covered files changed while it ran" if ran.covered != ran.after else ""
