"""Do the checks that had passed still pass? Run for real, in time, without becoming evidence.

A verification takes a proof away before it runs a check, and one that is cut short would leave nothing
proven. This only looks: what it finds is said, and `segue verify` proves it.
"""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from ...core.base.values import Value
from ...core.features.checks import Check
from ...core.features.verdict import had_passed
from ...core.sessions.state import SessionState
from ...effects.processes.checks import CheckOutcome, Runner, compiled, environment_of
from ...effects.redaction.redact import redact_bytes
from .verify import first_failure

if TYPE_CHECKING:
    from .features import Features

JOBS = 2


class Rechecked(Value):
    """Features by what became of their checks."""

    passed: tuple[str, ...] = ()
    failed: tuple[tuple[str, str], ...] = ()
    """(feature, the first line that says why)."""
    late: tuple[str, ...] = ()
    untrusted: tuple[str, ...] = ()


def recheck(features: Features, state: SessionState, until: float, holder: Any = None) -> Rechecked:
    """Run the checks of features that had passed, until a moment (monotonic). ``holder.runner`` has the
    runner meanwhile, for whoever must end it."""
    todo: list[tuple[str, Check]] = []
    untrusted = []
    for id, feature in state.features.items():
        if not had_passed(feature):
            continue
        if features.untrusted(feature):
            untrusted.append(id)
        else:
            todo += [(id, check) for check in feature.checks]
    if not todo:
        return Rechecked(untrusted=tuple(untrusted))
    with TemporaryDirectory(prefix="segue-") as scratch, Runner() as runner:
        if holder is not None:
            holder.runner = runner
        found = _run(features, runner, todo, until, Path(scratch))
        if holder is not None:
            holder.runner = None
    failed = {todo[place][0]: why for place, why in sorted(found.items()) if why}
    late = {todo[place][0] for place in range(len(todo)) if place not in found} - failed.keys()
    fine = {id for id, _ in todo} - failed.keys() - late
    order = list(dict.fromkeys(id for id, _ in todo))
    return Rechecked(
        tuple(id for id in order if id in fine), tuple(failed.items()),
        tuple(id for id in order if id in late), tuple(untrusted),
    )  # fmt: skip


def _run(
    features: Features, runner: Runner, todo: list[tuple[str, Check]], until: float, scratch: Path
) -> dict[int, str]:
    """Of each check that ended in time, why it failed; empty if it passed."""
    workspace = features.workspace
    more = workspace.settings.text("check_environment").replace(",", " ").split()
    waiting, limits = list(range(len(todo))), dict[int, float]()
    found: dict[int, str] = {}
    while (waiting or runner.running) and time.monotonic() < until:
        while waiting and runner.running < JOBS:
            place = waiting.pop(0)
            check = todo[place][1]
            limits[place] = max(0.1, min(check.limit_seconds, until - time.monotonic()))
            runner.start(
                str(place), replace(check, limit_seconds=limits[place]), root=workspace.working_tree.root,
                environment=environment_of(workspace.environment, more, check.environment),
                out=scratch / str(place), bytes_max=1_000_000,
            )  # fmt: skip
        for outcome in runner.wait(min(0.2, max(0.0, until - time.monotonic()))):
            place = int(outcome.id)
            if outcome.timed_out and limits[place] < todo[place][1].limit_seconds:
                continue  # by our limit, not by its own
            found[place] = _why(todo[place][1], outcome, scratch / outcome.id)
    return found


def _why(check: Check, outcome: CheckOutcome, output: Path) -> str:
    text = b""
    with suppress(OSError):
        text = redact_bytes(output.read_bytes())
    if outcome.fault:
        return outcome.fault
    if outcome.timed_out:
        return f"it took more than {check.limit_seconds:g} s"
    if outcome.exit_code != check.exit_code:
        return first_failure(text) or f"exit code {outcome.exit_code}"
    if check.pattern and compiled(check.pattern).search(text) is None:
        return f"its output does not have {check.pattern}"
    return ""
